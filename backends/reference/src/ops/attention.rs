//! Masks, soft-max, attention in one node.

use super::Ctx;
use crate::element::Tensor;
use dinrail_core::error::Result;

/// Minus infinity where the column is beyond row + `past`.
pub fn diag_mask(ctx: &Ctx<'_>, past: u32) -> Result<()> {
    let a = ctx.src(0)?;
    ctx.dst.fill(|at| if at[0] > at[1] + past as usize { f64::NEG_INFINITY } else { a.get(at) });
    Ok(())
}

/// ALiBi's slope of a head (arXiv:2108.12409, with the paper's rule for head counts that are no power of two). 1 where
/// there is no bias.
fn slope(head: usize, heads: usize, max_bias: f32) -> f64 {
    if max_bias <= 0.0 {
        return 1.0;
    }
    let bias = f64::from(max_bias);
    // The largest power of two that isn't above the number of heads.
    let whole = 1usize << heads.ilog2();
    let exponent = if head < whole {
        -bias * (head + 1) as f64 / whole as f64
    } else {
        -bias / 2.0 * (2 * (head - whole) + 1) as f64 / whole as f64
    };
    libm::exp2(exponent)
}

/// A mask's element for a score, 0 where there is no mask.
fn masked(mask: Option<&Tensor<'_>>, [i0, i1, i2, i3]: [usize; 4]) -> f64 {
    mask.map_or(0.0, |m| m.get([i0, i1, i2 % m.desc.ne[2], i3 % m.desc.ne[3]]))
}

/// What a soft-max over `logits` divides by, and the largest of them; `None` where all are minus infinity. A sink takes
/// part in both without having a place of its own.
fn partition(logits: impl Iterator<Item = f64> + Clone, sink: Option<f64>) -> Option<(f64, f64)> {
    let nan = logits.clone().any(f64::is_nan);
    let largest = logits.clone().fold(sink.unwrap_or(f64::NEG_INFINITY), f64::max);
    if nan {
        return Some((f64::NAN, f64::NAN));
    }
    if largest == f64::NEG_INFINITY {
        return None;
    }
    let sum: f64 = logits.chain(sink).map(|x| libm::exp(x - largest)).sum();
    Some((sum, largest))
}

/// Soft-max of each row of `a * scale + slope * mask`. A row that is masked altogether gives zeros.
pub fn soft_max(ctx: &Ctx<'_>, scale: f32, max_bias: f32) -> Result<()> {
    let (a, mask, sinks) = (ctx.src(0)?, ctx.optional(1)?, ctx.optional(2)?);
    let [n, _, heads, _] = a.desc.ne;
    a.rows(|[i1, i2, i3]| {
        let slope = slope(i2, heads, max_bias);
        let logit = |i0| {
            let at = [i0, i1, i2, i3];
            a.get(at) * f64::from(scale) + slope * masked(mask.as_ref(), at)
        };
        let sink = sinks.as_ref().map(|s| s.get([i2, 0, 0, 0]));
        let sums = partition((0..n).map(logit), sink);
        ctx.dst.fill_row([i1, i2, i3], |at| match sums {
            Some((sum, largest)) => libm::exp(logit(at[0]) - largest) / sum,
            None => 0.0,
        });
    });
    Ok(())
}

/// Elements of a result row that are summed at a time.
const PIECE: usize = 256;

/// `softmax(q k^T * scale + slope * mask) v` for each query and head. Keys masked by minus infinity are never looked at,
/// so what lies in unused parts of a cache doesn't matter.
pub fn flash(ctx: &Ctx<'_>, scale: f32, max_bias: f32, softcap: f32) -> Result<()> {
    let (q, k, v) = (ctx.src(0)?, ctx.src(1)?, ctx.src(2)?);
    let (mask, sinks) = (ctx.optional(3)?, ctx.optional(4)?);
    let [d, tokens, heads, sequences] = q.desc.ne;
    let [_, n, kv_heads, kv_sequences] = k.desc.ne;
    let dv = v.desc.ne[0];
    let (scale, cap) = (f64::from(scale), f64::from(softcap));
    for s in 0..sequences {
        for h in 0..heads {
            let slope = slope(h, heads, max_bias);
            let (ks, kh) = (s / (sequences / kv_sequences), h / (heads / kv_heads));
            let sink = sinks.as_ref().map(|x| x.get([h, 0, 0, 0]));
            for t in 0..tokens {
                let logit = |i: usize| {
                    let bias = slope * masked(mask.as_ref(), [i, t, h, s]);
                    if bias == f64::NEG_INFINITY {
                        return bias;
                    }
                    let product = |j| q.get([j, t, h, s]) * k.get([j, i, kh, ks]);
                    let x = (0..d).map(product).sum::<f64>() * scale;
                    let x = if softcap == 0.0 { x } else { cap * libm::tanh(x / cap) };
                    x + bias
                };
                let sums = partition((0..n).map(logit), sink);
                for first in (0..dv).step_by(PIECE) {
                    let mut out = [0.0; PIECE];
                    let out = &mut out[..PIECE.min(dv - first)];
                    if let Some((sum, largest)) = sums {
                        for i in 0..n {
                            let weight = libm::exp(logit(i) - largest) / sum;
                            if weight == 0.0 {
                                continue;
                            }
                            for (j, o) in out.iter_mut().enumerate() {
                                *o += weight * v.get([first + j, i, kh, ks]);
                            }
                        }
                    }
                    for (j, o) in out.iter().enumerate() {
                        ctx.dst.put([first + j, h, t, s], *o);
                    }
                }
            }
        }
    }
    Ok(())
}
