//! Masks, soft-max, rotary embedding, attention.

use super::{Work, layout};
use crate::Args;
use crate::table::Family;
use core::f32::consts::PI;
use dinrail_core::hal::Query;
use dinrail_core::op::{Rope, RopeMode};
use dinrail_core::tensor::DType::{F32, I32};

/// Longest head that the attention kernel has room for.
const LONGEST_HEAD: usize = 512;

pub(super) fn diag_mask<'w>(args: &'w mut Args, q: &Query<'_>, past: u32) -> Option<Work<'w>> {
    let a = q.src.source(0)?;
    let mut w = Work::new(args, Family::DiagMask, [F32; 3], q.dst, &[a]);
    w.n([q.dst.elements(), past as usize, 0, 0]);
    w.invocations(q.dst.elements());
    Some(w)
}

/// ALiBi: how many heads have the first step of slopes, and log2 of both steps.
fn alibi(heads: usize, max_bias: f32) -> (usize, [f32; 2]) {
    let first = 1usize << heads.max(1).ilog2();
    (first, [-max_bias / first as f32, -max_bias / 2.0 / first as f32])
}

pub(super) fn soft_max<'w>(
    args: &'w mut Args,
    q: &Query<'_>,
    scale: f32,
    max_bias: f32,
) -> Option<Work<'w>> {
    let a = q.src.source(0)?;
    let (mask, sinks) = (q.src.source(1), q.src.source(2));
    let types = [F32, F32, mask.map_or(F32, |m| m.dtype)];
    let mut w =
        Work::new(args, Family::SoftMax, types, q.dst, &[a, mask.unwrap_or(a), sinks.unwrap_or(a)]);
    w.sources = [0, u8::from(mask.is_some()), if sinks.is_some() { 2 } else { 0 }, 0, 0];
    let (first, steps) = alibi(a.ne[2], max_bias);
    w.n([first, usize::from(mask.is_some()), usize::from(sinks.is_some()), 0]);
    w.args.f(0, &[scale, max_bias, steps[0], steps[1]]);
    w.groups = a.rows();
    Some(w)
}

/// YaRN: the dimension (in pairs) that makes `turns` rotations within the context that the model was trained with.
fn dimension(r: &Rope, turns: f32) -> f32 {
    let n = r.trained_context as f32 / (turns * 2.0 * PI);
    f32::from(r.dims) * libm::logf(n) / (2.0 * libm::logf(r.base))
}

pub(super) fn rope<'w>(args: &'w mut Args, q: &Query<'_>, r: &Rope) -> Option<Work<'w>> {
    let (a, b) = (q.src.source(0)?, q.src.source(1)?);
    let factors = q.src.source(2);
    let halves = match r.mode {
        RopeMode::Normal => 0,
        RopeMode::NeoX => 1,
        _ => return None,
    };
    let mut w = Work::new(
        args,
        Family::Rope,
        [q.dst.dtype, a.dtype, I32],
        q.dst,
        &[a, b, factors.unwrap_or(b)],
    );
    w.sources = [0, 1, if factors.is_some() { 2 } else { 1 }, 0, 0];
    let (mut ramp, mut magnitude) = ([0.0, 1.0], r.attn_factor);
    if r.ext_factor != 0.0 {
        let low = libm::floorf(dimension(r, r.beta_fast)).max(0.0);
        let high = libm::ceilf(dimension(r, r.beta_slow)).min(f32::from(r.dims) - 1.0);
        ramp = [low, (high - low).max(0.001)];
        magnitude *= 1.0 + 0.1 * libm::logf(1.0 / r.scale);
    }
    let step = -2.0 * libm::log2f(r.base) / f32::from(r.dims);
    let n = a.ne[0].div_ceil(2) * a.rows();
    w.n([n, usize::from(r.dims), halves, usize::from(factors.is_some())]);
    w.args.f(0, &[step, r.scale, r.ext_factor, magnitude, ramp[0], ramp[1]]);
    w.invocations(n);
    Some(w)
}

pub(super) fn flash<'w>(
    args: &'w mut Args,
    q: &Query<'_>,
    scale: f32,
    max_bias: f32,
    softcap: f32,
) -> Option<Work<'w>> {
    let (a, k, v) = (q.src.source(0)?, q.src.source(1)?, q.src.source(2)?);
    let (mask, sinks) = (q.src.source(3), q.src.source(4));
    if a.ne[0] > LONGEST_HEAD || v.ne[0] > LONGEST_HEAD {
        return None;
    }
    let sources = [a, k, v, mask.unwrap_or(a), sinks.unwrap_or(a)];
    let mut w = Work::new(args, Family::FlashAttn, [F32, k.dtype, v.dtype], q.dst, &sources);
    w.sources = [0, 1, 2, if mask.is_some() { 3 } else { 0 }, if sinks.is_some() { 4 } else { 0 }];
    let (first, steps) = alibi(a.ne[2], max_bias);
    w.n([first, usize::from(mask.is_some()), usize::from(sinks.is_some()), layout::chunks(k)]);
    // The cap is on the scaled product, as are its units.
    w.args.f(0, &[scale, max_bias, steps[0], steps[1], softcap]);
    w.args.sink_stride(sinks.map_or(0, |s| s.nb[0] as u32));
    w.groups = a.rows();
    Some(w)
}
