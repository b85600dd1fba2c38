//! Wrappers round any device: Trace, Fault, Validate.
#![no_std]
