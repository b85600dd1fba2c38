//! How an operation's parameters lie in a tensor's sixteen 32-bit words.
//!
//! | operation | words |
//! |---|---|
//! | `VIEW` | 0–1 offset in bytes (one machine word) |
//! | `PERMUTE` | 0–3 where each dimension goes |
//! | `ACC`, `SET` | 0–2 strides of dimensions 1 to 3, 3 offset (all in bytes), 4 in place |
//! | `SCALE` | 0 factor, 1 summand (f32; version 1 before July 2025 has no summand) |
//! | `CONCAT` | 0 dimension |
//! | `NORM`, `RMS_NORM`, `L2_NORM` | 0 eps (f32) |
//! | `GROUP_NORM` | 0 groups, 1 eps (f32) |
//! | `MUL_MAT` | 0 precision |
//! | `DIAG_MASK_INF` | 0 past |
//! | `SOFT_MAX` | 0 scale, 1 max bias (f32) |
//! | `ROPE` | 1 dimensions, 2 mode (0 neighbours, 2 halves), 4 trained context, 5 base, 6 scale, 7 extrapolation, 8 magnitude, 9 beta fast, 10 beta slow (f32), 11–14 sections |
//! | `CLAMP` | 0 lowest, 1 highest (f32) |
//! | `UNARY` | 0 number of the function; xIELU: 1 alpha n, 2 alpha p, 3 beta, 4 eps (f32) |
//! | `GLU` | 0 number of the function, 1 swapped; OpenAI's SwiGLU: 2 alpha, 3 limit (f32) |
//! | `FLASH_ATTN_EXT` | 0 scale, 1 max bias, 2 soft cap (f32), 3 precision |
//! | `ARANGE` | 0 start, 1 stop, 2 step (f32) |
//! | `ARGSORT` | 0 order (0 rising, 1 falling) |

use dinrail_core::op::{GluKind, Op, Precision, RopeMode, Unary, Window};

/// What differs between releases.
pub trait Codes {
    /// Number of a function of one element, by ggml's name.
    fn unary(&self, name: &str) -> Option<i32>;
    /// Number of a gated unit, by ggml's name.
    fn glu(&self, name: &str) -> Option<i32>;
    /// Number of the precision "f32".
    fn precision_f32(&self) -> i32;
}

fn float(x: f32) -> i32 {
    x.to_bits().cast_signed()
}

fn window(w: &Window) -> Option<[i32; 16]> {
    let mut p = [0; 16];
    for (to, n) in p.iter_mut().zip([w.nb[0], w.nb[1], w.nb[2], w.offset]) {
        *to = i32::try_from(n).ok()?;
    }
    Some(p)
}

/// The words of an operation; `view` is a view's offset from its source. `None` where the release can't say it.
pub fn encode(op: &Op, view: usize, codes: &dyn Codes) -> Option<[i32; 16]> {
    let mut p = [0i32; 16];
    let precision = |x: Precision| match x {
        Precision::F32 => codes.precision_f32(),
        Precision::Default => 0,
    };
    match *op {
        Op::View => {
            let words = (view as u64).to_ne_bytes();
            p[0] = i32::from_ne_bytes([words[0], words[1], words[2], words[3]]);
            if size_of::<usize>() == 8 {
                p[1] = i32::from_ne_bytes([words[4], words[5], words[6], words[7]]);
            }
        }
        Op::Permute { axes } => {
            for (to, a) in p.iter_mut().zip(axes) {
                *to = i32::from(a);
            }
        }
        Op::Acc(w) | Op::Set(w) => p = window(&w)?,
        Op::Scale { scale, bias } => (p[0], p[1]) = (float(scale), float(bias)),
        Op::Concat { dim } => p[0] = i32::from(dim),
        Op::Norm { eps } | Op::RmsNorm { eps } | Op::L2Norm { eps } => p[0] = float(eps),
        Op::GroupNorm { groups, eps } => (p[0], p[1]) = (i32::try_from(groups).ok()?, float(eps)),
        Op::MulMat { precision: x } => p[0] = precision(x),
        Op::DiagMaskInf { past } => p[0] = i32::try_from(past).ok()?,
        Op::SoftMax { scale, max_bias } => (p[0], p[1]) = (float(scale), float(max_bias)),
        Op::Rope(r) => {
            p[1] = i32::from(r.dims);
            p[2] = match r.mode {
                RopeMode::Normal => 0,
                RopeMode::NeoX => 2,
                _ => return None,
            };
            p[4] = i32::try_from(r.trained_context).ok()?;
            let floats = [r.base, r.scale, r.ext_factor, r.attn_factor, r.beta_fast, r.beta_slow];
            for (to, x) in p.iter_mut().skip(5).zip(floats) {
                *to = float(x);
            }
        }
        Op::Clamp { min, max } => (p[0], p[1]) = (float(min), float(max)),
        Op::Unary(u) => {
            p[0] = codes.unary(u.name())?;
            if let Unary::Xielu { alpha_n, alpha_p, beta, eps } = u {
                for (to, x) in p.iter_mut().skip(1).zip([alpha_n, alpha_p, beta, eps]) {
                    *to = float(x);
                }
            }
        }
        Op::Glu(g) => {
            (p[0], p[1]) = (codes.glu(g.kind.name())?, i32::from(g.swapped));
            if let GluKind::SwigluOai { alpha, limit } = g.kind {
                (p[2], p[3]) = (float(alpha), float(limit));
            }
        }
        Op::FlashAttn { scale, max_bias, softcap, precision: x } => {
            (p[0], p[1], p[2]) = (float(scale), float(max_bias), float(softcap));
            p[3] = precision(x);
        }
        Op::Arange { start, stop, step } => {
            (p[0], p[1], p[2]) = (float(start), float(stop), float(step));
        }
        Op::Argsort { descending } => p[0] = i32::from(descending),
        _ => {}
    }
    Some(p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dinrail_core::op::{Glu, Rope};

    struct Fixed;
    impl Codes for Fixed {
        fn unary(&self, name: &str) -> Option<i32> {
            (name == "SILU").then_some(10)
        }
        fn glu(&self, name: &str) -> Option<i32> {
            (name == "SWIGLU").then_some(2)
        }
        fn precision_f32(&self) -> i32 {
            10
        }
    }

    #[test]
    fn words_lie_where_the_table_says() {
        let f = |x: f32| x.to_bits().cast_signed();
        let p = encode(&Op::Rope(Rope::plain(64, RopeMode::NeoX, 1e4)), 0, &Fixed).unwrap();
        assert_eq!(p[..5], [0, 64, 2, 0, 0]);
        assert_eq!(p[5..11], [1e4, 1.0, 0.0, 1.0, 32.0, 1.0].map(f));
        assert_eq!(p[11..], [0; 5]);
        let p = encode(&Op::View, 0x1_0000_0002, &Fixed).unwrap();
        assert_eq!(p[..2], [2, 1]);
        let w = Window { nb: [4, 8, usize::MAX], offset: 0 };
        assert_eq!(encode(&Op::Acc(w), 0, &Fixed), None);
        assert_eq!(encode(&Op::Unary(Unary::Silu), 0, &Fixed).unwrap()[0], 10);
        assert_eq!(encode(&Op::Unary(Unary::Relu), 0, &Fixed), None);
        let g = Op::Glu(Glu { kind: GluKind::Swiglu, swapped: true });
        assert_eq!(encode(&g, 0, &Fixed).unwrap()[..2], [2, 1]);
        let m = Op::MulMat { precision: Precision::F32 };
        assert_eq!(encode(&m, 0, &Fixed).unwrap()[0], 10);
    }
}
