//! What numbers and parameters in a host's tensors mean.

use crate::abi::Tensor;
use crate::abi::params::Codes as _;
use crate::numbers::Numbers;
use dinrail_core::op::{Glu, GluKind, Kind, Op, Precision, Rope, RopeMode, Unary, Window};
use dinrail_core::tensor::{DType, Desc};

/// No entry.
const NONE: u8 = u8::MAX;

/// Functions of one element; xIELU's parameters come from the tensor.
const UNARY: [Unary; 22] = {
    let mut all = [Unary::Xielu { alpha_n: 0.0, alpha_p: 0.0, beta: 0.0, eps: 0.0 }; 22];
    let mut i = 0;
    while i < Unary::PLAIN.len() {
        all[i] = Unary::PLAIN[i];
        i += 1;
    }
    all
};

/// Gated units; OpenAI's parameters come from the tensor.
const GLU: [GluKind; 6] = [
    GluKind::Reglu,
    GluKind::Geglu,
    GluKind::Swiglu,
    GluKind::SwigluOai { alpha: 0.0, limit: 0.0 },
    GluKind::GegluErf,
    GluKind::GegluQuick,
];

/// The numbers of one release, by number.
#[derive(Clone, PartialEq)]
pub(crate) struct Codes {
    kinds: [u8; 192],
    unary: [u8; 64],
    glu: [u8; 16],
    types: [u8; 64],
    precision_f32: i32,
    /// Whether nodes that are to be computed are marked.
    pub(crate) marks: bool,
}

fn enter<const N: usize>(table: &mut [u8; N], number: Option<i32>, i: usize) {
    let at = number.and_then(|n| usize::try_from(n).ok()).and_then(|n| table.get_mut(n));
    if let (Some(to), Ok(i)) = (at, u8::try_from(i)) {
        *to = i;
    }
}

fn look<const N: usize>(table: &[u8; N], number: i32) -> Option<usize> {
    let i = *table.get(usize::try_from(number).ok()?)?;
    (i != NONE).then_some(usize::from(i))
}

fn float(word: i32) -> f32 {
    f32::from_bits(word.cast_unsigned())
}

fn length(word: i32) -> Option<usize> {
    usize::try_from(word).ok()
}

impl Codes {
    pub(crate) fn of(n: &Numbers, marks: bool) -> Self {
        let mut this = Self {
            kinds: [NONE; 192],
            unary: [NONE; 64],
            glu: [NONE; 16],
            types: [NONE; 64],
            precision_f32: n.precision_f32(),
            marks,
        };
        for (i, k) in Kind::ALL.iter().enumerate() {
            enter(&mut this.kinds, n.op(*k), i);
        }
        for (i, u) in UNARY.iter().enumerate() {
            enter(&mut this.unary, n.unary(u.name()), i);
        }
        for (i, g) in GLU.iter().enumerate() {
            enter(&mut this.glu, n.glu(g.name()), i);
        }
        for (i, t) in DType::ALL.iter().enumerate() {
            enter(&mut this.types, n.dtype(*t), i);
        }
        this
    }

    /// The operation of a number, if dinrail has it.
    #[inline]
    pub(crate) fn kind(&self, op: i32) -> Option<Kind> {
        Kind::ALL.get(look(&self.kinds, op)?).copied()
    }

    /// The type of a number, if dinrail has it and both lay it out alike.
    #[inline]
    pub(crate) fn dtype(&self, number: i32) -> Option<DType> {
        DType::ALL.get(look(&self.types, number)?).copied()
    }

    /// Type, lengths and strides.
    #[inline]
    pub(crate) fn desc(&self, t: &Tensor) -> Option<Desc> {
        let dtype = self.dtype(t.dtype)?;
        let [a, b, c, d] = t.ne;
        let n = |x: i64| usize::try_from(x).ok();
        Some(Desc { ne: [n(a)?, n(b)?, n(c)?, n(d)?], nb: t.nb, dtype })
    }

    fn precision(&self, word: i32) -> Precision {
        if word == self.precision_f32 { Precision::F32 } else { Precision::Default }
    }

    /// The operation with its parameters; `None` for what dinrail hasn't got, which includes parameters that a later
    /// release added: ggml leaves the words that an operation doesn't use at zero.
    pub(crate) fn op(&self, kind: Kind, t: &Tensor) -> Option<Op> {
        let p = &t.op_params;
        if p.get(words(kind)..)?.iter().any(|w| *w != 0) {
            return None;
        }
        Some(match kind {
            Kind::None => Op::None,
            Kind::Reshape | Kind::View | Kind::Permute | Kind::Transpose => Op::View,
            Kind::Cont => Op::Cont,
            Kind::Dup => Op::Dup,
            Kind::Cpy => Op::Cpy,
            Kind::Add => Op::Add,
            Kind::Sub => Op::Sub,
            Kind::Mul => Op::Mul,
            Kind::Div => Op::Div,
            Kind::Add1 => Op::Add1,
            Kind::Acc => Op::Acc(window(p)?),
            Kind::Set => Op::Set(window(p)?),
            Kind::Scale => Op::Scale { scale: float(p[0]), bias: float(p[1]) },
            Kind::Sqr => Op::Sqr,
            Kind::Sqrt => Op::Sqrt,
            Kind::Log => Op::Log,
            Kind::Sin => Op::Sin,
            Kind::Cos => Op::Cos,
            Kind::Sum => Op::Sum,
            Kind::SumRows => Op::SumRows,
            Kind::Mean => Op::Mean,
            Kind::Argmax => Op::Argmax,
            Kind::Repeat => Op::Repeat,
            Kind::Concat => Op::Concat { dim: u8::try_from(p[0]).ok()? },
            Kind::Norm => Op::Norm { eps: float(p[0]) },
            Kind::RmsNorm => Op::RmsNorm { eps: float(p[0]) },
            Kind::GroupNorm => {
                Op::GroupNorm { groups: u32::try_from(p[0]).ok()?, eps: float(p[1]) }
            }
            Kind::L2Norm => Op::L2Norm { eps: float(p[0]) },
            Kind::MulMat => Op::MulMat { precision: self.precision(p[0]) },
            Kind::GetRows => Op::GetRows,
            Kind::SetRows => Op::SetRows,
            Kind::DiagMaskInf => Op::DiagMaskInf { past: u32::try_from(p[0]).ok()? },
            Kind::SoftMax => Op::SoftMax { scale: float(p[0]), max_bias: float(p[1]) },
            Kind::Rope => Op::Rope(rope(p)?),
            Kind::Clamp => Op::Clamp { min: float(p[0]), max: float(p[1]) },
            Kind::Unary => Op::Unary(self.unary(p)?),
            Kind::Glu => Op::Glu(Glu { kind: self.glu(p)?, swapped: p[1] != 0 }),
            Kind::FlashAttn => Op::FlashAttn {
                scale: float(p[0]),
                max_bias: float(p[1]),
                softcap: float(p[2]),
                precision: self.precision(p[3]),
            },
            Kind::Arange => Op::Arange { start: float(p[0]), stop: float(p[1]), step: float(p[2]) },
            Kind::Argsort => Op::Argsort { descending: p[0] == 1 },
            _ => return None,
        })
    }

    fn unary(&self, p: &[i32; 16]) -> Option<Unary> {
        Some(match *UNARY.get(look(&self.unary, p[0])?)? {
            Unary::Xielu { .. } => Unary::Xielu {
                alpha_n: float(p[1]),
                alpha_p: float(p[2]),
                beta: float(p[3]),
                eps: float(p[4]),
            },
            other => other,
        })
    }

    fn glu(&self, p: &[i32; 16]) -> Option<GluKind> {
        Some(match *GLU.get(look(&self.glu, p[0])?)? {
            GluKind::SwigluOai { .. } => {
                GluKind::SwigluOai { alpha: float(p[2]), limit: float(p[3]) }
            }
            other => other,
        })
    }
}

/// How many of the words are known.
const fn words(kind: Kind) -> usize {
    match kind {
        Kind::View | Kind::Reshape | Kind::Permute | Kind::Transpose | Kind::None => 16,
        Kind::Concat | Kind::Norm | Kind::RmsNorm | Kind::L2Norm => 1,
        Kind::DiagMaskInf | Kind::Argsort => 1,
        // The second is a hint that changes no result.
        Kind::MulMat => 2,
        Kind::Scale | Kind::GroupNorm | Kind::SoftMax | Kind::Clamp => 2,
        Kind::Arange => 3,
        Kind::Glu | Kind::FlashAttn => 4,
        Kind::Acc | Kind::Set | Kind::Unary => 5,
        // Up to the sections of modes that aren't served.
        Kind::Rope => 15,
        _ => 0,
    }
}

fn window(p: &[i32; 16]) -> Option<Window> {
    Some(Window { nb: [length(p[0])?, length(p[1])?, length(p[2])?], offset: length(p[3])? })
}

/// The modes that work on one position per token.
fn rope(p: &[i32; 16]) -> Option<Rope> {
    Some(Rope {
        dims: u16::try_from(p[1]).ok()?,
        mode: match p[2] {
            0 => RopeMode::Normal,
            2 => RopeMode::NeoX,
            _ => return None,
        },
        trained_context: u32::try_from(p[4]).ok()?,
        base: float(p[5]),
        scale: float(p[6]),
        ext_factor: float(p[7]),
        attn_factor: float(p[8]),
        beta_fast: float(p[9]),
        beta_slow: float(p[10]),
    })
}
