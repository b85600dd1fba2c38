//! std services: memory, threads, memory maps.
#![no_std]
