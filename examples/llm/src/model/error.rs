use core::fmt;

use super::Name;
use dinrail_core::tensor::DType;

/// Why a model file is not a model that can be built.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A key is missing, or holds what can't be used.
    Key {
        /// The key.
        key: Name,
        /// What is wrong with it.
        problem: Problem,
    },
    /// An architecture without a graph here.
    Architecture {
        /// What the file says.
        found: Name,
    },
    /// A tensor that the architecture needs.
    Missing {
        /// Its name.
        tensor: Name,
    },
    /// A tensor of the wrong shape. Lengths are innermost first.
    Shape {
        /// Its name.
        tensor: Name,
        /// The shape that follows from the metadata.
        expected: [u64; 4],
        /// The shape in the file.
        found: [u64; 4],
    },
    /// A tensor of a type that can't serve here.
    Type {
        /// Its name.
        tensor: Name,
        /// What can.
        expected: &'static str,
        /// The type in the file.
        found: DType,
    },
    /// The memory for the layers' table is too small.
    Layers {
        /// Entries needed.
        need: usize,
        /// Entries handed in.
        have: usize,
    },
}

/// What is wrong with a metadata key.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// It isn't there and has no default.
    Missing,
    /// Its value has another type.
    Type {
        /// The type that it must have.
        expected: &'static str,
    },
    /// A number that can't be.
    Value {
        /// What it is.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// A variant of the architecture that has no graph here.
    Unsupported {
        /// Which.
        what: &'static str,
    },
}

struct Lengths([u64; 4]);

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0;
        match (b, c, d) {
            (1, 1, 1) => write!(f, "[{a}]"),
            (_, 1, 1) => write!(f, "[{a}, {b}]"),
            (_, _, 1) => write!(f, "[{a}, {b}, {c}]"),
            _ => write!(f, "[{a}, {b}, {c}, {d}]"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Key { key, problem: Problem::Missing } => {
                write!(f, "metadata key {key} is missing: convert the model anew")
            }
            Error::Key { key, problem: Problem::Type { expected } } => {
                write!(f, "metadata key {key} must be {expected}: convert the model anew")
            }
            Error::Key { key, problem: Problem::Value { value, expected } } => {
                write!(
                    f,
                    "metadata key {key} is {value} but must be {expected}: convert the model anew"
                )
            }
            Error::Key { key, problem: Problem::Unsupported { what } } => {
                write!(f, "metadata key {key} asks for {what}, which has no graph here")
            }
            Error::Architecture { found } => write!(
                f,
                "architecture \"{found}\" has no graph here; those that have one: llama, qwen2, qwen3"
            ),
            Error::Missing { tensor } => {
                write!(f, "tensor {tensor} is missing: the file is not a whole model")
            }
            Error::Shape { tensor, expected, found } => write!(
                f,
                "tensor {tensor} has shape {} but the metadata ask for {}: convert the model anew",
                Lengths(*found),
                Lengths(*expected)
            ),
            Error::Type { tensor, expected, found } => {
                write!(
                    f,
                    "tensor {tensor} is {} but must be {expected}: convert the model anew",
                    found.name()
                )
            }
            Error::Layers { need, have } => {
                write!(f, "the model has {need} layers, the table has room for {have}")
            }
        }
    }
}

impl core::error::Error for Error {}
