//! Bare-metal services: arena, one core.
#![no_std]
