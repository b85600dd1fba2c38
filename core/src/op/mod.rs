//! Operations: their parameters, their names, and one shape rule each.
//!
//! An [`Op`] means what the operation of the same name means in ggml, operand order and broadcasting included.
//! Each family of operations has a file with its shape rule; [`infer`] is the one entrance to them. Backends may rely
//! on it: a node in a [`Graph`](crate::graph::Graph) has passed its rule.

mod attention;
mod elementwise;
mod layout;
mod matmul;
mod reduce;
mod rows;

pub use attention::{Rope, RopeMode};
pub use elementwise::{Glu, GluKind, Unary};

use crate::graph::MAX_SRC;
use crate::tensor::size::SizeError;
use crate::tensor::{DType, Desc};

/// An operation with its parameters. Sources are listed in the order of ggml's `src` array.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Op {
    /// No computation: a leaf (weights, inputs, caches).
    None,
    /// The same elements under other lengths. `[a]`, a contiguous.
    Reshape,
    /// A window on a tensor with lengths and strides of its own. `[a]`
    View,
    /// Dimension `i` of the source becomes dimension `axes[i]`. `[a]`
    Permute {
        /// Where each source dimension goes.
        axes: [u8; 4],
    },
    /// Dimensions 0 and 1 change places. `[a]`
    Transpose,
    /// A contiguous copy. `[a]`
    Cont,
    /// A contiguous copy (ggml has both names). `[a]`
    Dup,
    /// Copies and converts `a` into the memory of `b`; the result is `b`. `[a, b]`
    Cpy,
    /// `a + b`, b repeated to a's shape. `[a, b]`
    Add,
    /// `a - b`, b repeated to a's shape. `[a, b]`
    Sub,
    /// `a * b`, b repeated to a's shape. `[a, b]`
    Mul,
    /// `a / b`, b repeated to a's shape. `[a, b]`
    Div,
    /// `a + b` with b a single element. `[a, b]`
    Add1,
    /// a copy of `a` with `b` added to the window that the parameters describe. `[a, b]`
    Acc(Window),
    /// a copy of `a` with `b` stored into the window that the parameters describe. `[a, b]`
    Set(Window),
    /// `a * scale + bias`. `[a]`
    Scale {
        /// Factor.
        scale: f32,
        /// Summand.
        bias: f32,
    },
    /// Square. `[a]`
    Sqr,
    /// Square root. `[a]`
    Sqrt,
    /// Natural logarithm. `[a]`
    Log,
    /// Sine. `[a]`
    Sin,
    /// Cosine. `[a]`
    Cos,
    /// Sum of all elements. `[a]`
    Sum,
    /// Sum of each row. `[a]`
    SumRows,
    /// Mean of each row. `[a]`
    Mean,
    /// Index of the largest element of each row, the first of equals. `[a]`
    Argmax,
    /// `a` repeated to a larger shape. `[a]`
    Repeat,
    /// `a` and `b` one after the other along a dimension. `[a, b]`
    Concat {
        /// The dimension that grows.
        dim: u8,
    },
    /// Row minus its mean, divided by `sqrt(variance + eps)`. `[a]`
    Norm {
        /// Added to the variance.
        eps: f32,
    },
    /// Row divided by `sqrt(mean of squares + eps)`. `[a]`
    RmsNorm {
        /// Added to the mean of squares.
        eps: f32,
    },
    /// As `Norm`, over groups of channels (dimension 2). `[a]`
    GroupNorm {
        /// Number of groups.
        groups: u32,
        /// Added to the variance.
        eps: f32,
    },
    /// Row divided by `max(sqrt(sum of squares), eps)`. `[a]`
    L2Norm {
        /// Lower bound of the divisor.
        eps: f32,
    },
    /// `dst[n, m] = sum over k of a[k, n] * b[k, m]`, a repeated over dimensions 2 and 3 of b. `[a, b]`
    MulMat {
        /// Whether the product must be accumulated in f32.
        precision: Precision,
    },
    /// Rows of `a` picked by the indices `b` (I32). `[a, b]`
    GetRows,
    /// Stores the rows `a` (F32) at the row numbers `b` (I32 or I64) of `c`; the result is `c`. `[a, b, c]`
    SetRows,
    /// Elements with column > row + `past` become minus infinity. `[a]`
    DiagMaskInf {
        /// Columns that every row may see in addition.
        past: u32,
    },
    /// `softmax(a * scale + slope * mask)` by row, optionally with one sink logit per head. `[a, mask?, sinks?]`
    SoftMax {
        /// Factor on the input.
        scale: f32,
        /// ALiBi: 0 for none.
        max_bias: f32,
    },
    /// Rotary position embedding by positions `b` (I32), with frequency factors `c`. `[a, b, c?]`
    Rope(Rope),
    /// Limits each element to a range. `[a]`
    Clamp {
        /// Lower limit.
        min: f32,
        /// Upper limit.
        max: f32,
    },
    /// An activation function or another function of one element. `[a]`
    Unary(Unary),
    /// A gated unit: `f(x) * g`, halves of `a`, or of `a` and `b`. `[a, b?]`
    Glu(Glu),
    /// `softmax(q k^T * scale + slope * mask) v` per head, without storing the products. `[q, k, v, mask?, sinks?]`
    FlashAttn {
        /// Factor on the products.
        scale: f32,
        /// ALiBi: 0 for none.
        max_bias: f32,
        /// `softcap * tanh(x / softcap)` on the products; 0 for none.
        softcap: f32,
        /// Whether the products must be accumulated in f32.
        precision: Precision,
    },
    /// `start, start + step, ..` up to but not including `stop`. `[]`
    Arange {
        /// First value.
        start: f32,
        /// Upper bound.
        stop: f32,
        /// Distance.
        step: f32,
    },
    /// Indices that sort each row. `[a]`
    Argsort {
        /// Largest first.
        descending: bool,
    },
}

/// Where `Acc` and `Set` put their second source: strides and offset in bytes, within the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Window {
    /// Strides of dimensions 1 to 3, in bytes.
    pub nb: [usize; 3],
    /// First byte.
    pub offset: usize,
}

/// How exact a product must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Precision {
    /// What the device does fastest.
    #[default]
    Default,
    /// At least f32 accumulation.
    F32,
}

macro_rules! kinds {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// An operation without its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        #[repr(u8)]
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum Kind { $($variant),* }

        impl Kind {
            /// Every kind, in declaration order.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant),*];

            /// ggml's name of the operation.
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name),* }
            }
        }

        impl Op {
            /// The operation without its parameters.
            pub const fn kind(&self) -> Kind {
                match self { $(Op::$variant { .. } => Kind::$variant),* }
            }
        }
    };
}

kinds! {
    None = "NONE", Reshape = "RESHAPE", View = "VIEW", Permute = "PERMUTE", Transpose = "TRANSPOSE",
    Cont = "CONT", Dup = "DUP", Cpy = "CPY", Add = "ADD", Sub = "SUB", Mul = "MUL", Div = "DIV",
    Add1 = "ADD1", Acc = "ACC", Set = "SET", Scale = "SCALE", Sqr = "SQR", Sqrt = "SQRT", Log = "LOG",
    Sin = "SIN", Cos = "COS", Sum = "SUM", SumRows = "SUM_ROWS", Mean = "MEAN", Argmax = "ARGMAX",
    Repeat = "REPEAT", Concat = "CONCAT", Norm = "NORM", RmsNorm = "RMS_NORM",
    GroupNorm = "GROUP_NORM", L2Norm = "L2_NORM", MulMat = "MUL_MAT", GetRows = "GET_ROWS",
    SetRows = "SET_ROWS", DiagMaskInf = "DIAG_MASK_INF", SoftMax = "SOFT_MAX", Rope = "ROPE",
    Clamp = "CLAMP", Unary = "UNARY", Glu = "GLU", FlashAttn = "FLASH_ATTN_EXT", Arange = "ARANGE",
    Argsort = "ARGSORT",
}

/// What is wrong with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Reason {
    MissingSource,
    TooManySources,
    UnknownSource,
    ShapeMismatch,
    NotBroadcastable,
    InnerLength,
    TypeMismatch,
    TypeNotAllowed,
    NotContiguous,
    Transposed,
    OutOfRange,
    BadParameter,
    MaskMissing,
    Overflow,
    Block,
    ResultShape,
}

impl Reason {
    /// One sentence for a person.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::MissingSource => "a source is missing",
            Reason::TooManySources => "it has more sources than this operation takes",
            Reason::UnknownSource => "a source is not a node of this graph before it",
            Reason::ShapeMismatch => "the sources' lengths do not fit each other",
            Reason::NotBroadcastable => {
                "the second source can't be repeated to the first one's shape"
            }
            Reason::InnerLength => "the innermost lengths (ne0) differ",
            Reason::TypeMismatch => "the types do not fit each other",
            Reason::TypeNotAllowed => "this operation does not take this element type",
            Reason::NotContiguous => "a source must be contiguous; insert CONT",
            Reason::Transposed => "the first source is transposed; insert CONT",
            Reason::OutOfRange => "it reaches outside its source",
            Reason::BadParameter => "a parameter is out of range",
            Reason::MaskMissing => "ALiBi (max_bias > 0) needs a mask",
            Reason::Overflow => "its size does not fit in the address space",
            Reason::Block => "its rows are not a whole number of blocks of its type",
            Reason::ResultShape => "the result's type or shape is not what the sources give",
        }
    }
}

impl Reason {
    pub(crate) const fn from_size(e: SizeError) -> Self {
        match e {
            SizeError::Block { .. } => Reason::Block,
            _ => Reason::Overflow,
        }
    }
}

/// The sources of a node that is being checked.
#[derive(Clone, Copy, Debug)]
pub struct Sources {
    desc: [Desc; MAX_SRC],
    present: u16,
}

impl Sources {
    /// No sources.
    pub const NONE: Self =
        Self { desc: [Desc { ne: [0; 4], nb: [0; 4], dtype: DType::F32 }; MAX_SRC], present: 0 };

    /// With source `i` set; an `i` past the last source is ignored.
    pub const fn with(mut self, i: usize, desc: Desc) -> Self {
        if i < MAX_SRC {
            self.desc[i] = desc;
            self.present |= 1 << i;
        }
        self
    }

    /// Source `i`, if there is one.
    pub const fn source(&self, i: usize) -> Option<&Desc> {
        if i < MAX_SRC && self.present & (1 << i) != 0 { Some(&self.desc[i]) } else { None }
    }

    const fn need(&self, i: usize) -> Result<&Desc, Reason> {
        match self.source(i) {
            Some(d) => Ok(d),
            None => Err(Reason::MissingSource),
        }
    }

    /// Refuses sources from number `n` on.
    const fn at_most(&self, n: usize) -> Result<(), Reason> {
        if self.present >> n != 0 { Err(Reason::TooManySources) } else { Ok(()) }
    }
}

impl Op {
    /// Feeds the parameters to a hasher, floats by their bits.
    pub fn hash_parameters(&self, h: &mut impl core::hash::Hasher) {
        let mut f = |x: f32| h.write_u32(x.to_bits());
        match *self {
            Op::Permute { axes } => h.write(&axes),
            Op::Acc(w) | Op::Set(w) => {
                for n in w.nb {
                    h.write_u64(n as u64);
                }
                h.write_u64(w.offset as u64);
            }
            Op::Scale { scale, bias } => [scale, bias].into_iter().for_each(&mut f),
            Op::Clamp { min, max } => [min, max].into_iter().for_each(&mut f),
            Op::SoftMax { scale, max_bias } => [scale, max_bias].into_iter().for_each(&mut f),
            Op::Arange { start, stop, step } => [start, stop, step].into_iter().for_each(&mut f),
            Op::Norm { eps } | Op::RmsNorm { eps } | Op::L2Norm { eps } => f(eps),
            Op::GroupNorm { groups, eps } => {
                f(eps);
                h.write_u32(groups);
            }
            Op::Concat { dim } => h.write_u8(dim),
            Op::MulMat { precision } => h.write_u8(precision as u8),
            Op::DiagMaskInf { past } => h.write_u32(past),
            Op::Rope(r) => {
                for x in [r.base, r.scale, r.ext_factor, r.attn_factor, r.beta_fast, r.beta_slow] {
                    f(x);
                }
                h.write_u16(r.dims);
                h.write_u8(r.mode as u8);
                h.write_u32(r.trained_context);
            }
            Op::Unary(u) => {
                if let Unary::Xielu { alpha_n, alpha_p, beta, eps } = u {
                    [alpha_n, alpha_p, beta, eps].into_iter().for_each(&mut f);
                }
                h.write(u.name().as_bytes());
            }
            Op::Glu(g) => {
                if let GluKind::SwigluOai { alpha, limit } = g.kind {
                    [alpha, limit].into_iter().for_each(&mut f);
                }
                h.write(g.kind.name().as_bytes());
                h.write_u8(u8::from(g.swapped));
            }
            Op::FlashAttn { scale, max_bias, softcap, precision } => {
                [scale, max_bias, softcap].into_iter().for_each(&mut f);
                h.write_u8(precision as u8);
            }
            Op::Argsort { descending } => h.write_u8(u8::from(descending)),
            _ => {}
        }
    }

    /// How many sources the operation may have (the last ones may be optional).
    pub const fn max_sources(&self) -> usize {
        match self {
            Op::None | Op::Arange { .. } => 0,
            Op::Cpy
            | Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Add1
            | Op::Acc(_)
            | Op::Set(_)
            | Op::Concat { .. }
            | Op::MulMat { .. }
            | Op::GetRows
            | Op::Glu(_) => 2,
            Op::SetRows | Op::SoftMax { .. } | Op::Rope(_) => 3,
            Op::FlashAttn { .. } => 5,
            _ => 1,
        }
    }

    /// The source whose memory the result *is*, for operations that are a view or write in place by definition.
    pub const fn alias(&self) -> Option<usize> {
        match self {
            Op::Reshape | Op::View | Op::Permute { .. } | Op::Transpose => Some(0),
            Op::Cpy => Some(1),
            Op::SetRows => Some(2),
            _ => None,
        }
    }

    /// Whether a device has nothing to do for it.
    pub const fn is_view(&self) -> bool {
        matches!(self, Op::None | Op::Reshape | Op::View | Op::Permute { .. } | Op::Transpose)
    }

    /// Whether each result element depends only on the element of the same index in source `i` (or on its row, read
    /// whole before it is written), so that the result may take that source's memory when nobody needs it any more
    /// and both have the same layout.
    pub const fn may_reuse(&self, i: usize) -> bool {
        match self {
            Op::Add | Op::Sub | Op::Mul | Op::Div => i < 2,
            Op::Scale { .. }
            | Op::Sqr
            | Op::Sqrt
            | Op::Log
            | Op::Sin
            | Op::Cos
            | Op::Add1
            | Op::Clamp { .. }
            | Op::Unary(_)
            | Op::Norm { .. }
            | Op::RmsNorm { .. }
            | Op::L2Norm { .. }
            | Op::DiagMaskInf { .. }
            | Op::SoftMax { .. }
            | Op::Rope(_) => i == 0,
            _ => false,
        }
    }
}

/// The type, lengths and strides of the result of `op` on `src`, or what is wrong.
///
/// `want` gives the lengths where the operation doesn't fix them (`Reshape`, `Repeat`). A `View` is not inferred;
/// [`Builder::view`](crate::graph::Builder::view) checks it against its source.
///
/// # Errors
/// The [`Reason`] why the operation can't be applied.
pub const fn infer(op: &Op, src: &Sources, want: Option<[usize; 4]>) -> Result<Desc, Reason> {
    if let Err(e) = src.at_most(op.max_sources()) {
        return Err(e);
    }
    match op {
        Op::None | Op::View => Err(Reason::BadParameter),
        Op::Reshape => layout::reshape(src, want),
        Op::Permute { axes } => layout::permute(src, axes),
        Op::Transpose => layout::permute(src, &[1, 0, 2, 3]),
        Op::Cont | Op::Dup => layout::dup(src),
        Op::Cpy => layout::cpy(src),
        Op::Repeat => layout::repeat(src, want),
        Op::Concat { dim } => layout::concat(src, *dim),
        Op::Add | Op::Sub | Op::Mul | Op::Div => elementwise::binary(src),
        Op::Add1 => elementwise::add1(src),
        Op::Acc(w) => layout::window(src, w, true),
        Op::Set(w) => layout::window(src, w, false),
        Op::Sqr | Op::Sqrt | Op::Log | Op::Sin | Op::Cos | Op::Scale { .. } => {
            elementwise::float_map(src)
        }
        Op::Clamp { min, max } => elementwise::clamp(src, *min, *max),
        Op::Unary(u) => elementwise::unary(src, u),
        Op::Glu(g) => elementwise::glu(src, g),
        Op::Arange { start, stop, step } => elementwise::arange(*start, *stop, *step),
        Op::Sum => reduce::sum(src),
        Op::SumRows => reduce::rows(src),
        Op::Mean => reduce::mean(src),
        Op::Argmax => reduce::argmax(src),
        Op::Argsort { .. } => reduce::argsort(src),
        Op::Norm { eps } | Op::RmsNorm { eps } | Op::L2Norm { eps } => reduce::norm(src, *eps),
        Op::GroupNorm { groups, eps } => reduce::group_norm(src, *groups, *eps),
        Op::MulMat { .. } => matmul::mul_mat(src),
        Op::GetRows => rows::get(src),
        Op::SetRows => rows::set(src),
        Op::DiagMaskInf { .. } => attention::diag_mask(src),
        Op::SoftMax { max_bias, .. } => attention::soft_max(src, *max_bias),
        Op::Rope(r) => attention::rope(src, r),
        Op::FlashAttn { max_bias, .. } => attention::flash(src, *max_bias),
    }
}

/// A contiguous result, with the size checked.
pub(crate) const fn fresh(dtype: DType, ne: [usize; 4]) -> Result<Desc, Reason> {
    match Desc::new(dtype, ne) {
        Ok(d) => Ok(d),
        Err(e) => Err(Reason::from_size(e)),
    }
}

pub(crate) const fn is(d: &Desc, t: DType) -> bool {
    d.dtype as u8 == t as u8
}
