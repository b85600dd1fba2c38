//! Conformance cases as data, run on every backend.
#![no_std]
