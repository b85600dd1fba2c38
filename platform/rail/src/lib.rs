//! Tensor-compute core for programs that must fit.
#![no_std]
