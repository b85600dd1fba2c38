//! Gated units: a function of one half times the other.

use super::vec::{Bf16, Elem, F16, F32, Lanes, Simd, lanes, math, per_level, pick, share, split};
use crate::{Args, Kernel, Level};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::{Glu, GluKind, Op};
use dinrail_core::tensor::DType;

/// A gate on vectors, with its parameters.
trait Gate: Copy {
    /// Reads the parameters.
    fn of(op: &Op) -> Self;
    /// `f(x) * g`.
    fn apply<F: Lanes>(self, x: F, g: F) -> F;
}

/// Row by row: x and gate are halves of one row, or rows of two sources.
///
/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn run<S: Simd, E: Elem, G: Gate>(s: S, args: &Args<'_>) -> Result<()> {
    let [Some(a), b, ..] = args.src else { return Ok(()) };
    let (s, f) = (s.map(), G::of(args.op));
    let to = args.dst.desc;
    let n = to.ne[0];
    let half = n.wrapping_mul(E::SIZE);
    let (first, second) = match (b, args.op) {
        (None, Op::Glu(Glu { swapped: true, .. })) => (half, 0),
        (None, _) => (0, half),
        (Some(_), _) => (0, 0),
    };
    let gate = b.unwrap_or(a);
    for row in share(args.worker, to.rows(), n) {
        let (i1, i2, i3) = split(row, &to.ne);
        let x = a.ptr.wrapping_add(a.desc.row_offset(i1, i2, i3).wrapping_add(first));
        let g = gate.ptr.wrapping_add(gate.desc.row_offset(i1, i2, i3).wrapping_add(second));
        let y = args.dst.ptr.wrapping_add(to.row_offset(i1, i2, i3));
        let mut i = 0;
        while i + lanes(s) <= n {
            let at = i * E::SIZE;
            // SAFETY: the rows have `n` elements each, and `i + lanes <= n`.
            let vx = unsafe { E::load(s, x.wrapping_add(at)) };
            // SAFETY: as x.
            let vg = unsafe { E::load(s, g.wrapping_add(at)) };
            // SAFETY: as x.
            unsafe { E::store(s, y.wrapping_add(at), f.apply(vx, vg)) };
            i += lanes(s);
        }
        if i < n {
            let at = i * E::SIZE;
            // SAFETY: `n - i` elements are left in each row.
            let vx = unsafe { E::load_part(s, x.wrapping_add(at), n - i) };
            // SAFETY: as x.
            let vg = unsafe { E::load_part(s, g.wrapping_add(at), n - i) };
            // SAFETY: as x.
            unsafe { E::store_part(s, y.wrapping_add(at), f.apply(vx, vg), n - i) };
        }
    }
    Ok(())
}

macro_rules! gates {
    ($($name:ident, $f16:ident, $bf16:ident = |$s:ident, $x:ident| $value:expr;)*) => {
        $(
            #[allow(non_camel_case_types)]
            #[derive(Clone, Copy)]
            struct $name;

            impl Gate for $name {
                fn of(_: &Op) -> Self {
                    Self
                }

                #[inline(always)]
                fn apply<F: Lanes>(self, $x: F, g: F) -> F {
                    let $s = $x.token();
                    $value * g
                }
            }
        )*

        per_level! {
            $(
                $name = run::<_, F32, super::$name>;
                $f16 = run::<_, F16, super::$name>;
                $bf16 = run::<_, Bf16, super::$name>;
            )*
            swiglu_oai = run::<_, F32, Oai>;
            swiglu_oai_f16 = run::<_, F16, Oai>;
            swiglu_oai_bf16 = run::<_, Bf16, Oai>;
        }
    };
}

gates! {
    reglu, reglu_f16, reglu_bf16 = |s, x| x.max(s.splat(0.0));
    geglu, geglu_f16, geglu_bf16 = |_s, x| math::gelu(x);
    swiglu, swiglu_f16, swiglu_bf16 = |_s, x| math::silu(x);
    geglu_erf, geglu_erf_f16, geglu_erf_bf16 = |_s, x| math::gelu_erf(x);
    geglu_quick, geglu_quick_f16, geglu_quick_bf16 = |_s, x| math::gelu_quick(x);
}

#[derive(Clone, Copy)]
struct Oai {
    alpha: f32,
    limit: f32,
}

impl Gate for Oai {
    fn of(op: &Op) -> Self {
        match *op {
            Op::Glu(Glu { kind: GluKind::SwigluOai { alpha, limit }, .. }) => Self { alpha, limit },
            _ => Self { alpha: 0.0, limit: 0.0 },
        }
    }

    #[inline(always)]
    fn apply<F: Lanes>(self, x: F, g: F) -> F {
        let s = x.token();
        let (one, limit) = (s.splat(1.0), s.splat(self.limit));
        // In this order the limits let NaNs pass.
        let x = limit.min(x);
        let g = limit.min((-limit).max(g));
        x / (one + math::exp(x * s.splat(-self.alpha))) * (g + one)
    }
}

/// The kernel of a level for a node.
pub(super) const fn resolve(level: Level, q: &Query<'_>) -> Option<Kernel> {
    let (Op::Glu(g), Some(a)) = (q.op, q.src.source(0)) else { return None };
    if a.dtype as u8 != q.dst.dtype as u8 || !a.rows_contiguous() || !q.dst.rows_contiguous() {
        return None;
    }
    if let Some(b) = q.src.source(1)
        && (b.dtype as u8 != a.dtype as u8 || !b.rows_contiguous())
    {
        return None;
    }
    macro_rules! by_type {
        ($f32:ident $f16:ident $bf16:ident) => {
            match a.dtype {
                DType::F32 => pick!(level, $f32),
                DType::F16 => pick!(level, $f16),
                DType::BF16 => pick!(level, $bf16),
                _ => return None,
            }
        };
    }
    Some(match g.kind {
        GluKind::Reglu => by_type!(reglu reglu_f16 reglu_bf16),
        GluKind::Geglu => by_type!(geglu geglu_f16 geglu_bf16),
        GluKind::Swiglu => by_type!(swiglu swiglu_f16 swiglu_bf16),
        GluKind::SwigluOai { .. } => by_type!(swiglu_oai swiglu_oai_f16 swiglu_oai_bf16),
        GluKind::GegluErf => by_type!(geglu_erf geglu_erf_f16 geglu_erf_bf16),
        GluKind::GegluQuick => by_type!(geglu_quick geglu_quick_f16 geglu_quick_bf16),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
