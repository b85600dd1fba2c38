//! Vectors: algorithms are written once over the trait here.
