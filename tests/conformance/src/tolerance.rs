//! How far a result may be from the oracle's. It follows from the operation, the element types, the number of terms and the
//! size of the values; the backend has no part in it.
//!
//! With `u = 2^-24` for arithmetic in f32, `n` terms, and root mean squares `A` and `B` of the two factors:
//!
//! * **Rounding to the result's type**: one unit in the last place, that is `2^-23`, `2^-10` (F16), `2^-7` (BF16) of the
//!   value. Results of one exactly rounded operation, copies and integers have this or nothing.
//! * **A sum of n products**: in the worst case partial sums grow like `j A B`, and each addition adds an independent
//!   error of up to `u` times the partial sum. The root of the sum of their squares is `u n^1.5 A B / sqrt(3)`; six times
//!   that is allowed.
//! * **Activations in another type**: a device may bring the second factor of a product to the precision of the first. For
//!   F16 and BF16 weights each element is off by up to half a unit, `2^-11` or `2^-8` of it. For quantised weights it is
//!   stored in 8 bits, off by at most half a step of `max|b| / 127`, evenly spread: a standard deviation of
//!   `step / sqrt(12)`. The products' errors are independent, so the sum's deviation is `sqrt(n) A` times that; six times
//!   that is allowed for each element, and 1.6 times that for the root mean square over all elements of the result, which
//!   a single missing block in some rows would exceed.
//! * **Exponentials**: a relative error of `u` times the exponent besides a few units.
//! * **Rotations**: an angle of `p` radians is known to `p u` times a few steps of computing its frequency.
//! * **Results in blocks** (quantised): two encoders may fall on different sides of a tie. Decoded elements may be one step
//!   apart, in at most one of 20 elements.

use crate::case::{Case, SOURCES};
use dinrail_core::op::{Glu, GluKind, Op, Unary};
use dinrail_core::tensor::DType;

/// Size of a source's values, infinities and NaNs left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Largest magnitude.
    pub max: f64,
    /// Root of the mean of squares.
    pub rms: f64,
}

/// What is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Of each element: this times its expected magnitude …
    pub relative: f64,
    /// … plus this.
    pub absolute: f64,
    /// Of the root mean square of the errors over the whole result; infinite where nothing is asked.
    pub rms: f64,
    /// How many elements may be off by more than `relative` allows, one of so many. 1: all, by `absolute`.
    pub one_of: usize,
}

impl Bound {
    /// Every element must be equal.
    pub const EXACT: Self = Self { relative: 0.0, absolute: 0.0, rms: f64::INFINITY, one_of: 1 };

    const fn of(relative: f64, absolute: f64) -> Self {
        Self { relative, absolute, rms: f64::INFINITY, one_of: 1 }
    }
}

/// Unit roundoff of f32.
const U: f64 = 5.960_464_477_539_063e-8;
/// How many standard deviations an error may have.
const SIGMAS: f64 = 6.0;

/// One unit in the last place, relative, and the smallest step of the type (none for those with a wide range).
const fn rounding(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F16 => (0.000_976_562_5, 5.97e-8),
        DType::BF16 => (0.007_812_5, 1e-37),
        DType::F64 => (4.5e-16, 1e-300),
        _ => (2.0 * U, 1e-37),
    }
}

/// Largest distance of neighbouring levels of a block type, for values up to 1.
const fn step(dtype: DType) -> f64 {
    match dtype {
        DType::Q4_0 | DType::IQ4_NL | DType::IQ4_XS => 0.25,
        DType::Q4_1 | DType::Q4_K => 2.0 / 15.0,
        DType::Q5_0 => 1.0 / 16.0,
        DType::Q5_1 | DType::Q5_K => 2.0 / 31.0,
        DType::Q8_0 | DType::Q8_1 | DType::Q8_K => 1.0 / 127.0,
        DType::Q2_K => 2.0 / 3.0,
        DType::Q3_K => 0.25,
        DType::Q6_K => 1.0 / 32.0,
        DType::MXFP4 => 0.5,
        _ => 1.0,
    }
}

pub(crate) fn sqrt(x: f64) -> f64 {
    // Newton's steps from above; a bound needs no more.
    let mut y = x.max(1.0);
    for _ in 0..64 {
        y = 0.5 * (y + x / y);
    }
    y
}

/// Six deviations of a sum of `n` products of values of root mean square `size`.
fn sum(n: usize, size: f64) -> f64 {
    let n = n as f64;
    SIGMAS * U * n * sqrt(n) * size / 1.732
}

/// Six deviations of a dot product of length `n` from bringing `b` to the precision of a factor of type `a`.
fn activations(n: usize, dtype: DType, a: &Stats, b: &Stats) -> f64 {
    let one = match dtype {
        // Half a unit, spread evenly over a binade: 0.41 of it.
        DType::F16 => 0.41 * 0.000_488_281_25 * b.rms + 3e-8,
        DType::BF16 => 0.41 * 0.003_906_25 * b.rms,
        t if t.is_quantized() => b.max / 127.0 / sqrt(12.0),
        _ => 0.0,
    };
    SIGMAS * sqrt(n as f64) * a.rms * one
}

fn dot(n: usize, dtype: DType, a: &Stats, b: &Stats) -> f64 {
    sum(n, a.rms * b.rms) + activations(n, dtype, a, b)
}

fn unary(u: &Unary, x: f64) -> Bound {
    match u {
        Unary::Abs
        | Unary::Sgn
        | Unary::Neg
        | Unary::Step
        | Unary::Relu
        | Unary::Floor
        | Unary::Ceil
        | Unary::Round
        | Unary::Trunc => Bound::EXACT,
        Unary::HardSwish | Unary::HardSigmoid => Bound::of(8.0 * U, 4.0 * U * x.min(10.0)),
        // Differences of two numbers about as large as x, where x isn't so large that one of them is nothing.
        _ => Bound::of((16.0 + 2.0 * x.min(104.0)) * U, 16.0 * U * x.clamp(1.0, 10.0)),
    }
}

fn glu(g: &Glu, s: &[Stats; SOURCES]) -> Bound {
    let (x, gate) = (s[0].max, if s[1].max > 0.0 { s[1].max } else { s[0].max });
    match g.kind {
        GluKind::Reglu => Bound::of(0.0, 0.0),
        _ => Bound::of((16.0 + 2.0 * x) * U, 16.0 * U * x.clamp(1.0, 10.0) * (gate + 1.0)),
    }
}

/// The bound on a case's result of type `dst`, whose largest expected magnitude is `largest`.
pub fn bound(case: &Case, dst: DType, s: &[Stats; SOURCES], largest: f64) -> Bound {
    if dst.is_integer() {
        return Bound::EXACT;
    }
    let ne = case.src[0].map_or([1; 4], |t| t.ne);
    let from = case.dtype();
    let n = ne[0];
    let root = sqrt(n as f64);
    let b = match &case.op {
        Op::Cpy if from == dst => Bound::EXACT,
        Op::Cpy | Op::GetRows if from.is_quantized() => Bound::of(4.0 * U, 4.0 * U * s[0].max),
        Op::GetRows => Bound::EXACT,
        Op::Cpy | Op::SetRows if !dst.is_quantized() => Bound::EXACT,
        Op::None
        | Op::Reshape
        | Op::View
        | Op::Permute { .. }
        | Op::Transpose
        | Op::Cont
        | Op::Dup
        | Op::Repeat
        | Op::Concat { .. }
        | Op::Set(_)
        | Op::DiagMaskInf { .. } => return Bound::EXACT,
        Op::Scale { bias, .. } if *bias == 0.0 => Bound::of(0.0, 0.0),
        Op::Scale { scale, bias } => {
            let size = f64::from(scale.abs()) * s[0].max + f64::from(bias.abs());
            Bound::of(0.0, 2.0 * U * size)
        }
        Op::Log => Bound::of(8.0 * U, 4.0 * U),
        Op::Sin | Op::Cos => Bound::of(0.0, 4.0 * U * (1.0 + s[0].max)),
        Op::Unary(u) => unary(u, s[0].max),
        Op::Glu(g) => glu(g, s),
        Op::Arange { start, stop, .. } => {
            Bound::of(0.0, 4.0 * U * f64::from(start.abs() + stop.abs()))
        }
        Op::Sum => Bound::of(0.0, sum(ne.iter().product(), s[0].rms)),
        Op::SumRows => Bound::of(0.0, sum(n, s[0].rms)),
        Op::Mean => Bound::of(2.0 * U, sum(n, s[0].rms) / (n.max(1) as f64)),
        Op::RmsNorm { .. } | Op::L2Norm { .. } => Bound::of(4.0 * U * (4.0 + root), 0.0),
        Op::Norm { .. } => Bound::of(4.0 * U * (4.0 + root), 16.0 * U * (4.0 + root)),
        Op::GroupNorm { .. } => {
            let root = sqrt((ne[0] * ne[1] * ne[2]) as f64);
            Bound::of(4.0 * U * (4.0 + root), 16.0 * U * (4.0 + root))
        }
        Op::MulMat { .. } => {
            let all = dot(n, from, &s[0], &s[1]);
            Bound { rms: 1.6 * all / SIGMAS, ..Bound::of(0.0, all) }
        }
        Op::SoftMax { scale, .. } => {
            let logit = f64::from(scale.abs()) * s[0].max + s[1].max;
            Bound::of((32.0 + 4.0 * logit.min(1e4) + root) * U, U)
        }
        Op::Rope(r) => {
            let angle = s[1].max / if s[2].max > 0.0 { 0.5 } else { 1.0 };
            let size = s[0].max * f64::from(r.attn_factor.abs()) * 1.5;
            Bound::of(0.0, size * U * (16.0 + 8.0 * angle))
        }
        Op::FlashAttn { scale, .. } => {
            let (k, keys) =
                (case.src[1].map_or(from, |t| t.dtype), case.src[1].map_or(0, |t| t.ne[1]));
            let scale = f64::from(scale.abs());
            let error = scale * dot(n, k, &s[1], &s[0]);
            let logit = scale * SIGMAS * root * s[0].rms * s[1].rms + s[3].max;
            let weights = (32.0 + 4.0 * logit + sqrt(keys as f64)) * U;
            Bound::of(0.0, s[2].max * (2.0 * error + weights))
        }
        // One operation, exactly rounded.
        _ => Bound::of(0.0, 0.0),
    };
    if dst.is_quantized() {
        let absolute = 1.05 * step(dst) * largest + b.absolute;
        return Bound { relative: 4.0 * U, absolute, rms: f64::INFINITY, one_of: 20 };
    }
    if b == Bound::EXACT {
        return b;
    }
    let (unit, floor) = rounding(dst);
    Bound {
        relative: b.relative + unit,
        absolute: b.absolute + floor,
        rms: b.rms + unit * largest,
        ..b
    }
}
