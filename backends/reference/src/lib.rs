//! The oracle: plain loops, f64 accumulation.
#![no_std]
