//! Element types, shapes with strides, and the block layouts of quantised types.

pub mod block;
pub mod dtype;
pub mod float;
pub mod shape;
pub mod size;

pub use dtype::DType;
pub use shape::Desc;
