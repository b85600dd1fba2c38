//! SIMD CPU backend, no_std.
#![no_std]
