//! Block layouts of the quantised types, byte for byte ggml's.

mod iq4;
mod k;
mod layout;
mod mxfp4;
mod q4;
mod q5;
mod q8;
mod tq;

pub use iq4::{IQ4_NL, IQ4_VALUES, IQ4_XS};
pub use k::{Q2_K, Q3_K, Q4_K, Q5_K, Q6_K};
pub use mxfp4::{MXFP4, MXFP4_VALUES};
pub use q4::{Q4_0, Q4_1};
pub use q5::{Q5_0, Q5_1};
pub use q8::{Q8_0, Q8_1, Q8_K};
pub use tq::{TQ1_0, TQ2_0};
