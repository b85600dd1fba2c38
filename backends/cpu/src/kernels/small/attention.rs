//! `FLASH_ATTN_EXT` of one token: the logits of all keys that it sees fit the scratch memory, so there are three plain
//! passes, and what the mask hides costs a look.

use super::{f32s, math};
#[cfg(cortex_m_fpu)]
use crate::kernels::cortex_m::attention as fast;
use crate::kernels::matmul::vector::total;
#[cfg(cortex_m_fpu)]
use crate::kernels::matmul::vector::{Rows, Weights};
use crate::kernels::vec::{Elem, F16, F32, Lanes, Scalar};
use crate::{Args, Kernel};
use dinrail_core::error::{Error, Result, What};
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::DType;
use dinrail_core::tensor::float::f16_to_f32;

/// Lanes of the scalar level.
const LANES: usize = 8;

/// Keys up to which this is the better way: further apart, the logits leave a small cache.
const MOST_KEYS: usize = 4096;

pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    let (Some(a), Some(k), Some(v)) = (q.src.source(0), q.src.source(1), q.src.source(2)) else {
        return None;
    };
    let Op::FlashAttn { max_bias, softcap, .. } = q.op else { return None };
    if *max_bias != 0.0 || *softcap != 0.0 || q.src.source(4).is_some() {
        return None;
    }
    if let Some(m) = q.src.source(3)
        && (!matches!(m.dtype, DType::F16) || m.ne[2] != 1 || m.ne[3] != 1 || m.nb[0] != 2)
    {
        return None;
    }
    let lengths = a.ne[0].is_multiple_of(LANES) && v.ne[0].is_multiple_of(LANES);
    let one = a.ne[1] == 1 && a.ne[3] == 1 && k.ne[1] <= MOST_KEYS;
    if !f32s(a) || !f32s(q.dst) || !lengths || !one || !k.rows_contiguous() || !v.rows_contiguous()
    {
        return None;
    }
    match (k.dtype, v.dtype) {
        (DType::F32, DType::F32) => Some(run::<F32>),
        (DType::F16, DType::F16) => Some(run::<F16>),
        _ => None,
    }
}

/// Bytes of logits for a key and worker. Two heads at once go a faster way on Cortex-M.
const EACH: usize = if cfg!(cortex_m_fpu) { 8 } else { 4 };

pub(super) const fn scratch(q: &Query<'_>, workers: usize) -> usize {
    match q.src.source(1) {
        Some(k) => k.ne[1].saturating_mul(EACH).saturating_mul(workers).saturating_add(4),
        None => 0,
    }
}

/// Keys and values of a type.
trait Cached: Elem {
    /// Whether two heads can go at once.
    const TWO: bool = false;

    /// `sum of query[i] * key[i]` over `n` elements, in eight sums.
    ///
    /// # Safety
    /// Both are readable for `n` elements, a multiple of eight, and aligned for them.
    #[inline(always)]
    unsafe fn dot(query: *const f32, key: *const u8, n: usize) -> f32 {
        let mut sums = [0.0; LANES];
        for i in 0..n {
            // SAFETY: the caller's promise.
            let x = unsafe { query.wrapping_add(i).read() };
            // SAFETY: the caller's promise.
            let w =
                unsafe { Self::load(Scalar.single(), key.wrapping_add(i * Self::SIZE)) }.first();
            if let Some(sum) = sums.get_mut(i % LANES) {
                *sum += w * x;
            }
        }
        total(&sums)
    }

    /// `out[c] = scale * (query . keys[c])` for keys of `n` elements, the first one at `key`.
    ///
    /// # Safety
    /// As [`dot`](Self::dot) for each of `count` keys; there is room for as many results.
    #[inline(always)]
    unsafe fn dots(
        query: *const f32,
        (key, stride, n): (*const u8, usize, usize),
        count: usize,
        scale: f32,
        out: *mut f32,
    ) {
        for c in 0..count {
            // SAFETY: the caller's promise.
            let x = unsafe { Self::dot(query, key.wrapping_add(c.wrapping_mul(stride)), n) };
            // SAFETY: the caller's promise.
            unsafe { out.wrapping_add(c).write(x * scale) };
        }
    }

    /// `out[i] = factor * sum of weights[c] * rows[c][i]` for eight elements; rows with a weight of 0 may be looked at or not.
    ///
    /// # Safety
    /// There are `count` weights and rows, the first one at `row`, and room for the result, all aligned.
    #[inline(always)]
    unsafe fn weighted(
        weights: *const f32,
        count: usize,
        row: *const u8,
        stride: usize,
        factor: f32,
        out: *mut f32,
    ) {
        let mut sums = [0.0; LANES];
        for c in 0..count {
            // SAFETY: the caller's promise.
            let w = unsafe { weights.wrapping_add(c).read() };
            if w == 0.0 {
                continue;
            }
            let row = row.wrapping_add(c.wrapping_mul(stride));
            for (i, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                let x = unsafe { Self::load(Scalar.single(), row.wrapping_add(i * Self::SIZE)) };
                *sum += x.first() * w;
            }
        }
        for (i, sum) in sums.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { out.wrapping_add(i).write(sum * factor) };
        }
    }
}

impl Cached for F16 {}

#[cfg(not(cortex_m_fpu))]
impl Cached for F32 {}

#[cfg(cortex_m_fpu)]
impl Cached for F32 {
    const TWO: bool = true;

    #[inline(always)]
    unsafe fn dots(
        query: *const f32,
        (key, stride, n): (*const u8, usize, usize),
        count: usize,
        scale: f32,
        out: *mut f32,
    ) {
        let keys = Rows { first: key, stride, count };
        // SAFETY: the caller's promise.
        unsafe { <F32 as Weights>::product(keys, query, n, out) };
        for c in 0..count {
            let p = out.wrapping_add(c);
            // SAFETY: written above.
            let x = unsafe { p.read() };
            // SAFETY: the caller's promise.
            unsafe { p.write(x * scale) };
        }
    }

    #[inline(always)]
    unsafe fn weighted(
        weights: *const f32,
        count: usize,
        row: *const u8,
        stride: usize,
        factor: f32,
        out: *mut f32,
    ) {
        // SAFETY: the caller's promise.
        unsafe { fast::weighted_one(weights, count, row.cast(), stride, factor, out) }
    }
}

/// Whether a key is hidden.
///
/// # Safety
/// The mask has an element for the key.
#[inline(always)]
unsafe fn mask_of(mask: Option<*const u16>, c: usize) -> u16 {
    match mask {
        // SAFETY: the caller's promise.
        Some(m) => unsafe { m.wrapping_add(c).read() },
        None => 0,
    }
}

/// Minus infinity.
const HIDDEN: u16 = 0xfc00;

/// # Safety
/// As [`Kernel`], for a node that [`resolve`] gave it to.
unsafe fn run<E: Cached>(args: &Args<'_>) -> Result<()> {
    let [Some(q), Some(k), Some(v), mask, ..] = args.src else { return Ok(()) };
    let Op::FlashAttn { scale, .. } = *args.op else { return Ok(()) };
    let (heads, d) = (q.desc.ne[2], args.dst.desc);
    let mut keys = k.desc.ne[1];
    let need = keys * EACH * args.worker.count() + 4;
    if need > args.scratch_len {
        return Err(Error::Full { what: What::Scratch, need, have: args.scratch_len });
    }
    let gap = args.scratch.addr().wrapping_neg() % 4;
    let logits = args.scratch.wrapping_add(gap + keys * EACH * args.worker.index()).cast::<f32>();
    let mask = mask.map(|m| m.ptr.cast_const().cast::<u16>());
    // What comes behind the last key that is seen is the same for all heads.
    // SAFETY: the mask has an element for each key.
    while keys > 0 && unsafe { mask_of(mask, keys - 1) } == HIDDEN {
        keys -= 1;
    }
    // Most often the mask hides nothing before that.
    // SAFETY: as above.
    let masked = (0..keys).any(|c| unsafe { mask_of(mask, c) } != 0);
    let group = (heads / k.desc.ne[2].max(1)).max(1);
    let plain = E::TWO && !masked && keys > 0 && q.desc.ne[0] == LANES;
    let share = args.worker.share(heads);
    let mut next = share.start;
    while next < share.end {
        let head = next;
        #[cfg(cortex_m_fpu)]
        if plain && head % group + 1 < group && head + 1 < share.end {
            // SAFETY: there are two more heads with the same keys, of eight elements; the mask hides none of `keys`.
            unsafe { two(args, head, head / group, keys, scale, logits.cast()) };
            next += 2;
            continue;
        }
        let _ = plain;
        next += 1;
        let query = q.ptr.wrapping_add(q.desc.row_offset(0, head, 0)).cast::<f32>().cast_const();
        let key = k.ptr.wrapping_add(k.desc.row_offset(0, head / group, 0));
        let value = v.ptr.wrapping_add(v.desc.row_offset(0, head / group, 0));
        let at = (key.cast_const(), k.desc.nb[1], q.desc.ne[0]);
        // SAFETY: a key has as many elements as the query, and the scratch memory a float for each key.
        unsafe { E::dots(query, at, keys, scale, logits) };
        let mut max = f32::NEG_INFINITY;
        for c in 0..keys {
            let p = logits.wrapping_add(c);
            // SAFETY: written above.
            let mut x = unsafe { p.read() };
            if masked {
                // SAFETY: the mask has an element for each key.
                let m = unsafe { mask_of(mask, c) };
                x = if m == HIDDEN { f32::NEG_INFINITY } else { x + f16_to_f32(m) };
                // SAFETY: as above.
                unsafe { p.write(x) };
            }
            max = if x > max { x } else { max };
        }
        let mut sum = 0.0;
        for c in 0..keys {
            let p = logits.wrapping_add(c);
            // SAFETY: written above.
            let x = unsafe { p.read() };
            // A row that sees nothing has a maximum of minus infinity, and no weights.
            let w = if x == f32::NEG_INFINITY { 0.0 } else { math::exp(x - max) };
            sum += w;
            // SAFETY: as above.
            unsafe { p.write(w) };
        }
        let factor = if sum == 0.0 { 0.0 } else { 1.0 / sum };
        let to = args.dst.ptr.wrapping_add(d.row_offset(head, 0, 0)).cast::<f32>();
        for i in (0..v.desc.ne[0]).step_by(LANES) {
            let (row, to) = (value.wrapping_add(i * E::SIZE), to.wrapping_add(i));
            if keys == 0 {
                for i in 0..LANES {
                    // SAFETY: the row of the result is as long as a value, and this worker's.
                    unsafe { to.wrapping_add(i).write(0.0) };
                }
                continue;
            }
            // SAFETY: as above; a value is a whole number of vectors, and there are `keys` logits.
            unsafe { E::weighted(logits, keys, row, v.desc.nb[1], factor, to) };
        }
    }
    Ok(())
}

/// Heads `head` and the one behind it, with keys and values of `cached`.
///
/// # Safety
/// As [`Kernel`]. Keys and values are `F32`, at least one, and both heads are this worker's; their elements are eight,
/// and a value's a multiple of it. `logits` is writable for all keys.
#[cfg(cortex_m_fpu)]
unsafe fn two(
    args: &Args<'_>,
    head: usize,
    cached: usize,
    keys: usize,
    scale: f32,
    logits: *mut [f32; 2],
) {
    let [Some(q), Some(k), Some(v), ..] = args.src else { return };
    let query = [head, head + 1]
        .map(|h| q.ptr.wrapping_add(q.desc.row_offset(0, h, 0)).cast::<f32>().cast_const());
    let first = |o: &crate::Operand<'_>| {
        o.ptr.wrapping_add(o.desc.row_offset(0, cached, 0)).cast::<f32>().cast_const()
    };
    let out = [head, head + 1]
        .map(|h| args.dst.ptr.wrapping_add(args.dst.desc.row_offset(h, 0, 0)).cast::<f32>());
    let mut pair = fast::Pair {
        query,
        rows: first(&k),
        stride: k.desc.nb[1],
        count: keys,
        logits,
        scale,
        max: [0.0; 2],
        sum: [0.0; 2],
        factor: [0.0; 2],
        out,
    };
    // SAFETY: the caller's promise.
    unsafe { fast::dots(&mut pair) };
    // SAFETY: the caller's promise; the logits were written.
    unsafe { fast::softmax(&mut pair) };
    pair.factor = pair.sum.map(|sum| if sum == 0.0 { 0.0 } else { 1.0 / sum });
    (pair.rows, pair.stride) = (first(&v), v.desc.nb[1]);
    for _ in 0..v.desc.ne[0] / LANES {
        // SAFETY: the caller's promise; the weights were written.
        unsafe { fast::weighted(&pair) };
        pair.rows = pair.rows.wrapping_add(LANES);
        pair.out = pair.out.map(|p| p.wrapping_add(LANES));
    }
}
