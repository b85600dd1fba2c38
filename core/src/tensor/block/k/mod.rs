//! Blocks of 256 elements whose groups have quantised scales of their own: the K types.

mod q2;
mod q3;
mod q4;
mod q5;
mod q6;

pub use q2::Q2_K;
pub use q3::Q3_K;
pub use q4::Q4_K;
pub use q5::Q5_K;
pub use q6::Q6_K;
