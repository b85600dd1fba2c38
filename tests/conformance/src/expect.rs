//! What a device is known not to do.

use crate::case::Case;
use dinrail_core::op::Kind;
use dinrail_core::tensor::DType;

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The device has no kernel and won't get one: `supports` must say no.
    Unsupported,
    /// The device gets it wrong for now. When it no longer does, the entry must go.
    Fails,
}

/// An entry of a device's list.
#[derive(Clone, Copy, Debug)]
pub struct Expect {
    /// The operation.
    pub op: Kind,
    /// The type that the support table files it under; `None` for all.
    pub dtype: Option<DType>,
    /// The group; `None` for all.
    pub group: Option<&'static str>,
    /// What is known.
    pub known: Known,
}

impl Expect {
    /// An operation on any type is unsupported for good.
    pub const fn unsupported(op: Kind) -> Self {
        Self { op, dtype: None, group: None, known: Known::Unsupported }
    }

    /// An operation on one type is unsupported for good.
    pub const fn unsupported_type(op: Kind, dtype: DType) -> Self {
        Self { op, dtype: Some(dtype), group: None, known: Known::Unsupported }
    }

    /// Cases of a group fail for now.
    pub const fn fails(op: Kind, group: &'static str) -> Self {
        Self { op, dtype: None, group: Some(group), known: Known::Fails }
    }

    /// Whether the entry is about a case.
    pub fn is_about(&self, case: &Case) -> bool {
        self.op == case.op.kind()
            && self.dtype.is_none_or(|t| t == case.filed_under())
            && self.group.is_none_or(|g| g == case.group)
    }
}
