//! Rotary position embedding.

use super::Ctx;
use core::f64::consts::PI;
use dinrail_core::error::Result;
use dinrail_core::op::{Rope, RopeMode};

/// The dimension in which a wave turns `rotations` times over the context that the model was trained with.
fn dimension(r: &Rope, rotations: f32) -> f64 {
    let waves = f64::from(r.trained_context) / (f64::from(rotations) * 2.0 * PI);
    f64::from(r.dims) * libm::log(waves) / (2.0 * libm::log(f64::from(r.base)))
}

/// How much pair `i` is extrapolated, 1 to the left of YaRN's ramp and 0 to the right of it.
fn extrapolated(r: &Rope, i: usize) -> f64 {
    let low = libm::floor(dimension(r, r.beta_fast)).max(0.0);
    let high = libm::ceil(dimension(r, r.beta_slow)).min(f64::from(r.dims) - 1.0);
    let along = (i as f64 - low) / (high - low).max(0.001);
    1.0 - along.clamp(0.0, 1.0)
}

/// Turns each pair by position times frequency; what lies behind `dims` is copied.
pub fn rope(ctx: &Ctx<'_>, r: &Rope) -> Result<()> {
    let (a, positions, factors) = (ctx.src(0)?, ctx.src(1)?, ctx.optional(2)?);
    let dims = usize::from(r.dims);
    let (ext, scale) = (f64::from(r.ext_factor), f64::from(r.scale));
    let mut magnitude = f64::from(r.attn_factor);
    if r.ext_factor != 0.0 {
        magnitude *= 1.0 + 0.1 * libm::log(1.0 / scale);
    }
    a.rows(|[i1, i2, i3]| {
        let position = positions.get([i2, 0, 0, 0]);
        for i in 0..dims / 2 {
            let frequency = libm::pow(f64::from(r.base), -2.0 * i as f64 / dims as f64);
            let factor = factors.as_ref().map_or(1.0, |f| f.get([i, 0, 0, 0]));
            let full = position * frequency / factor;
            let stretched = scale * full;
            let angle = if r.ext_factor == 0.0 {
                stretched
            } else {
                let share = extrapolated(r, i) * ext;
                stretched * (1.0 - share) + full * share
            };
            let (sin, cos) = libm::sincos(angle);
            let (sin, cos) = (sin * magnitude, cos * magnitude);
            let (first, second) = match r.mode {
                RopeMode::NeoX => (i, i + dims / 2),
                _ => (2 * i, 2 * i + 1),
            };
            let (first, second) = ([first, i1, i2, i3], [second, i1, i2, i3]);
            // Both are read before either is written: the result may be the source.
            let (x, y) = (a.get(first), a.get(second));
            ctx.dst.put(first, x * cos - y * sin);
            ctx.dst.put(second, x * sin + y * cos);
        }
        for i0 in dims..a.desc.ne[0] {
            ctx.dst.put([i0, i1, i2, i3], a.get([i0, i1, i2, i3]));
        }
    });
    Ok(())
}
