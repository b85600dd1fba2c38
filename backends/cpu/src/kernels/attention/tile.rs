//! One tile of rows over a range of keys.

use super::product::{Rows, logits, weighted};
use super::{CHUNK, Cut, Problem, Source, Sums, TILE, normaliser};
use crate::kernels::vec::row::{self, map_row};
use crate::kernels::vec::{Elem, F32, Lanes, Simd, halves, lanes, math};
use dinrail_core::tensor::{DType, Desc};

/// Rows up to which keys and values are loaded in their own type; with more of them, converting once is cheaper.
const DIRECT_ROWS: usize = 4;

/// Minus infinity in half precision: a hidden key.
const HIDDEN: u16 = 0xfc00;

/// A worker's part of the scratch memory.
pub(super) struct Workspace {
    /// Scaled queries, `d` floats per row.
    queries: *mut f32,
    /// Weighted values, `dv` floats per row.
    values: *mut f32,
    /// Logits, then weights, `logits` floats per row.
    weights: *mut f32,
    /// Largest logit, one float per row.
    max: *mut f32,
    /// Sum of weights, one float per row.
    sum: *mut f32,
    /// Converted keys and values of a chunk.
    keys: *mut f32,
    converted: *mut f32,
    d: usize,
    dv: usize,
    logits: usize,
}

impl Workspace {
    /// Divides memory of [`Cut::workspace`] floats.
    pub(super) fn new(at: *mut f32, cut: &Cut) -> Self {
        let (d, dv, rows) = (cut.d, cut.dv, cut.tile);
        let queries = at;
        let values = queries.wrapping_add(rows * d);
        let weights = values.wrapping_add(rows * dv);
        let max = weights.wrapping_add(rows * cut.logits);
        let sum = max.wrapping_add(rows);
        let keys = sum.wrapping_add(rows);
        let converted = keys.wrapping_add(CHUNK * d);
        let logits = cut.logits;
        Self { queries, values, weights, max, sum, keys, converted, d, dv, logits }
    }

    /// Row `r` as far as it has come.
    pub(super) fn result(&self, r: usize) -> Sums {
        Sums {
            sum: self.sum.wrapping_add(r),
            max: self.max.wrapping_add(r),
            values: self.values.wrapping_add(r * self.dv),
            dv: self.dv,
        }
    }

    #[inline(always)]
    fn query(&self, r: usize) -> *mut f32 {
        self.queries.wrapping_add(r * self.d)
    }

    /// Row `r`'s logits from key `at` on.
    #[inline(always)]
    fn weight(&self, r: usize, at: usize) -> *mut f32 {
        self.weights.wrapping_add(r * self.logits + at)
    }
}

/// A tile of rows of one key head of one sequence.
pub(super) struct Tile<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) kv_head: usize,
    pub(super) sequence: usize,
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) k: (*mut u8, &'a Desc),
    pub(super) v: (*mut u8, &'a Desc),
    pub(super) work: &'a Workspace,
}

/// The rows of a tile that see a key of the chunk, and how many keys there are up to the last one that is seen.
///
/// Keys behind that one are not touched: in a cache that is still being filled they may be anything, and not even a
/// weight of 0 would make a NaN harmless.
#[derive(Clone, Copy)]
struct Live {
    rows: [u8; TILE],
    count: usize,
    keys: usize,
}

/// What is known of the first chunks when the keys are passed over again.
type Seen = [Live; 16];

impl Tile<'_> {
    /// Leaves the sums of all rows over the keys `from..to` in the workspace.
    ///
    /// # Safety
    /// The operands are valid, `q` is the query's first byte, and the workspace is this worker's.
    #[inline(always)]
    pub(super) unsafe fn attend<S: Simd, T: Source>(
        &self,
        s: S,
        q: *mut u8,
        from: usize,
        to: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe { self.start(s, q) };
        // Where conversions are arithmetic rather than instructions, once is always cheaper (and smaller).
        let direct = T::WIDE || T::DIRECT && S::WIDE && self.count <= DIRECT_ROWS;
        let (dk, dv) = (self.k.1, self.v.1);
        let passes: &[Pass] = match T::SHORT && self.problem.halves {
            true if self.problem.cut.keeps() => &[Pass::Keep, Pass::Use],
            true => &[Pass::Measure, Pass::Apply],
            false => &[Pass::Both],
        };
        let mut seen: Seen = [Live { rows: [0; TILE], count: 0, keys: 0 }; 16];
        for &pass in passes {
            if matches!(pass, Pass::Use) {
                // SAFETY: the caller's promise; the logits of this part were kept.
                unsafe { self.exponentiate(s, from, to, &seen) };
            }
            if matches!(pass, Pass::Apply | Pass::Use) {
                // SAFETY: the caller's promise.
                unsafe { self.settle(s) };
            }
            let (keys, values) =
                (!matches!(pass, Pass::Use), !matches!(pass, Pass::Keep | Pass::Measure));
            let mut first = from;
            while first < to {
                let n = CHUNK.min(to - first);
                let live = match (pass, seen.get_mut(first / CHUNK)) {
                    (Pass::Use, Some(live)) => *live,
                    (_, slot) => {
                        // SAFETY: the caller's promise.
                        let live = unsafe { self.live(first, n) };
                        if let Some(slot) = slot {
                            *slot = live;
                        }
                        live
                    }
                };
                if live.count == 0 {
                    first += n;
                    continue;
                }
                let (here, n) = (first, live.keys);
                first += CHUNK.min(to - first);
                let k = Rows {
                    at: self.k.0.wrapping_add(here.wrapping_mul(dk.nb[1])).cast_const(),
                    stride: dk.nb[1],
                };
                let v = Rows {
                    at: self.v.0.wrapping_add(here.wrapping_mul(dv.nb[1])).cast_const(),
                    stride: dv.nb[1],
                };
                if direct {
                    // SAFETY: `n` keys and values from `here` on are inside their tensors.
                    unsafe { self.chunk::<S, T::Direct>(s, k, v, here, n, &live, pass) };
                } else {
                    let (wide_k, wide_v) = (self.work.keys, self.work.converted);
                    if keys {
                        // SAFETY: the keys are inside their tensor, and there is room for a chunk.
                        unsafe { convert::<S, T>(s, dk.dtype, k, n, wide_k, self.work.d) };
                    }
                    if values {
                        // SAFETY: as above.
                        unsafe { convert::<S, T>(s, dv.dtype, v, n, wide_v, self.work.dv) };
                    }
                    let k = Rows { at: wide_k.cast_const().cast(), stride: self.work.d * 4 };
                    let v = Rows { at: wide_v.cast_const().cast(), stride: self.work.dv * 4 };
                    // SAFETY: the workspace holds `n` keys and values.
                    unsafe { self.chunk::<S, F32>(s, k, v, here, n, &live, pass) };
                }
            }
        }
    }

    /// Turns kept logits of the keys `from..to` into powers, and sums them up.
    ///
    /// # Safety
    /// As [`attend`](Self::attend), after a pass that kept them.
    #[inline(always)]
    unsafe fn exponentiate<S: Simd>(&self, s: S, from: usize, to: usize, seen: &Seen) {
        let (w, m) = (self.work, s.map());
        let mut first = from;
        while first < to {
            let n = CHUNK.min(to - first);
            // SAFETY: the caller's promise.
            let live = match seen.get(first / CHUNK) {
                Some(live) => *live,
                // SAFETY: the caller's promise.
                None => unsafe { self.live(first, n) },
            };
            for &r in live.rows.iter().take(live.count) {
                let r = usize::from(r);
                let x = w.weight(r, first);
                // SAFETY: one float per row.
                let max = unsafe { w.max.wrapping_add(r).read_unaligned() };
                let shift = m.splat(if max == f32::NEG_INFINITY { 0.0 } else { max });
                map_row!(m, F32, x.cast_const().cast(), x.cast(), CHUNK, |v| math::exp(v - shift));
                let sum_at = w.sum.wrapping_add(r);
                // SAFETY: one float per row.
                let sum = unsafe { sum_at.read_unaligned() };
                // SAFETY: the row has CHUNK powers.
                let chunk = unsafe { row::sum(s, x, CHUNK) };
                // SAFETY: one float per row.
                unsafe { sum_at.write_unaligned(sum + chunk) };
            }
            first += n;
        }
    }

    /// Replaces every row's sum by what its weights are to be multiplied by.
    ///
    /// # Safety
    /// As [`attend`](Self::attend).
    #[inline(always)]
    unsafe fn settle<S: Simd>(&self, s: S) {
        for r in 0..self.count {
            let at = self.problem.place(self.kv_head, self.sequence, self.first + r);
            // SAFETY: the workspace is this worker's own.
            let factor = unsafe { normaliser(s, self.problem, at, self.work.result(r)) };
            // SAFETY: one float per row.
            unsafe { self.work.sum.wrapping_add(r).write_unaligned(factor) };
        }
    }

    /// Scaled queries, empty sums.
    ///
    /// # Safety
    /// As [`attend`](Self::attend).
    #[inline(always)]
    unsafe fn start<S: Simd>(&self, s: S, q: *mut u8) {
        let (p, w) = (self.problem, self.work);
        let m = s.map();
        let scale = m.splat(p.scale);
        for r in 0..self.count {
            let at = p.place(self.kv_head, self.sequence, self.first + r);
            let from = q.wrapping_add(p.q.row_offset(at.token, at.head, at.sequence));
            map_row!(m, F32, from.cast_const(), w.query(r).cast(), w.d, |v| {
                if p.halves { halves(m, v) } else { v * scale }
            });
            for j in 0..w.dv {
                // SAFETY: `j` is inside the row's values.
                unsafe { w.values.wrapping_add(r * w.dv + j).write_unaligned(0.0) };
            }
            // SAFETY: one float per row.
            unsafe { w.max.wrapping_add(r).write_unaligned(f32::NEG_INFINITY) };
            // SAFETY: one float per row.
            unsafe { w.sum.wrapping_add(r).write_unaligned(0.0) };
        }
    }

    /// Which rows see any of `n` keys from `first` on.
    ///
    /// # Safety
    /// As [`attend`](Self::attend).
    #[inline(always)]
    unsafe fn live(&self, first: usize, n: usize) -> Live {
        let mut live = Live { rows: [0; TILE], count: 0, keys: 0 };
        for r in 0..self.count {
            let at = self.problem.place(self.kv_head, self.sequence, self.first + r);
            let seen = match self.problem.mask(at) {
                // SAFETY: the mask's row has a value for every key.
                Some(m) => unsafe { visible(m.wrapping_add(first), n) },
                None => n,
            };
            if seen > 0
                && let Some(slot) = live.rows.get_mut(live.count)
            {
                *slot = r as u8;
                live.count += 1;
                live.keys = live.keys.max(seen);
            }
        }
        live
    }

    /// One chunk of keys and values.
    ///
    /// # Safety
    /// As [`attend`](Self::attend); `k` and `v` are `n` rows of `E`, the first one being key `first`.
    #[inline(always)]
    unsafe fn chunk<S: Simd, E: Elem>(
        &self,
        s: S,
        k: Rows,
        v: Rows,
        first: usize,
        n: usize,
        live: &Live,
        pass: Pass,
    ) {
        let w = self.work;
        let at = if matches!(pass, Pass::Keep | Pass::Use) { first } else { 0 };
        let all = live.rows.get(..live.count).unwrap_or(&[]);
        let mut rest = if matches!(pass, Pass::Use) { &[] } else { all };
        macro_rules! block {
            ($r:literal, $rows:expr) => {{
                let q = $rows.map(|r| w.query(usize::from(r)).cast_const());
                let out = $rows.map(|r| w.weight(usize::from(r), at));
                // SAFETY: the queries and the logits are in the workspace, the keys the caller's promise.
                unsafe { logits::<S, E, $r>(s, q, k, w.d, n, out) };
            }};
        }
        loop {
            rest = match *rest {
                // Four are better as two and two than as three and one.
                [a, b, c, ref rest @ ..] if S::WIDE && rest.len() != 1 => {
                    block!(3, [a, b, c]);
                    rest
                }
                [a, b, ref rest @ ..] if S::WIDE => {
                    block!(2, [a, b]);
                    rest
                }
                [a, ref rest @ ..] => {
                    block!(1, [a]);
                    rest
                }
                [] => break,
            };
        }
        for &r in live.rows.iter().take(live.count) {
            // SAFETY: the logits are there.
            unsafe { self.weigh(s, usize::from(r), first, n, pass) };
        }
        if matches!(pass, Pass::Measure | Pass::Keep) {
            return;
        }
        let mut rest = all;
        macro_rules! block {
            ($r:literal, $j:literal, $rows:expr) => {{
                let p = $rows.map(|r| w.weight(usize::from(r), at).cast_const());
                let out = $rows.map(|r| w.values.wrapping_add(usize::from(r) * w.dv));
                // SAFETY: the weights and the sums are in the workspace, the values the caller's promise.
                unsafe { weighted::<S, E, $r, $j>(s, p, v, out, n, w.dv) };
            }};
        }
        loop {
            rest = match *rest {
                [a, b, c, d, ref rest @ ..] if S::WIDE => {
                    block!(4, 2, [a, b, c, d]);
                    rest
                }
                [a, b, c, ref rest @ ..] if S::WIDE => {
                    block!(3, 4, [a, b, c]);
                    rest
                }
                [a, b, ref rest @ ..] if S::WIDE => {
                    block!(2, 4, [a, b]);
                    rest
                }
                [a, ref rest @ ..] if S::WIDE => {
                    block!(1, 8, [a]);
                    rest
                }
                [a, ref rest @ ..] => {
                    block!(1, 1, [a]);
                    rest
                }
                [] => break,
            };
        }
    }

    /// Turns a row's logits into weights, and corrects its sums where the largest logit has changed.
    ///
    /// # Safety
    /// The row's logits are in the workspace; otherwise as [`attend`](Self::attend).
    #[inline(always)]
    unsafe fn weigh<S: Simd>(&self, s: S, r: usize, first: usize, n: usize, pass: Pass) {
        let (p, w) = (self.problem, self.work);
        let at = p.place(self.kv_head, self.sequence, self.first + r);
        let x = w.weight(r, if matches!(pass, Pass::Keep | Pass::Use) { first } else { 0 });
        let m = s.map();
        let (max_at, sum_at) = (w.max.wrapping_add(r), w.sum.wrapping_add(r));
        if matches!(pass, Pass::Use) {
            // SAFETY: one float per row.
            let factor = m.splat(unsafe { sum_at.read_unaligned() });
            map_row!(m, F32, x.cast_const().cast(), x.cast(), CHUNK, |v| halves(m, v * factor));
            return;
        }
        for c in n..CHUNK {
            // SAFETY: `c` is inside the row's logits.
            unsafe { x.wrapping_add(c).write_unaligned(f32::NEG_INFINITY) };
        }
        if p.halves {
            // After the product, as where the two are operations of their own.
            let scale = m.splat(p.scale);
            map_row!(m, F32, x.cast_const().cast(), x.cast(), n, |v| v * scale);
        }
        if p.softcap != 0.0 {
            let cap = m.splat(p.softcap);
            map_row!(m, F32, x.cast_const().cast(), x.cast(), n, |v| math::tanh(v) * cap);
        }
        if let Some(mask) = p.mask(at) {
            // SAFETY: the mask's row has a value for every key.
            unsafe { add_mask(m, x, mask.wrapping_add(first), p.slope(at), n) };
        }
        // SAFETY: one float per row.
        let old = unsafe { max_at.read_unaligned() };
        if matches!(pass, Pass::Apply) {
            // SAFETY: one float per row.
            let factor = m.splat(unsafe { sum_at.read_unaligned() });
            let shift = m.splat(if old == f32::NEG_INFINITY { 0.0 } else { old });
            map_row!(m, F32, x.cast_const().cast(), x.cast(), CHUNK, |v| {
                halves(m, math::exp(v - shift) * factor)
            });
            return;
        }
        // SAFETY: the row has CHUNK logits.
        let new = unsafe { row::largest(s, x, CHUNK) };
        let new = if new > old { new } else { old };
        if matches!(pass, Pass::Keep) {
            // SAFETY: one float per row.
            unsafe { max_at.write_unaligned(new) };
            return;
        }
        // Nothing but -inf, or NaNs among them, which must come through: any shift will do.
        let shift = if new == f32::NEG_INFINITY { 0.0 } else { new };
        {
            let shift = m.splat(shift);
            let mut i = 0;
            while i < CHUNK {
                // SAFETY: CHUNK is a multiple of any number of lanes.
                let v = unsafe { m.load(x.wrapping_add(i)) };
                // SAFETY: as the load.
                unsafe { m.store(x.wrapping_add(i), math::exp(v - shift)) };
                i += lanes(m);
            }
        }
        // SAFETY: the row has CHUNK weights.
        let chunk = unsafe { row::sum(s, x, CHUNK) };
        // SAFETY: one float per row.
        let mut sum = unsafe { sum_at.read_unaligned() };
        if new != old {
            let factor = math::exp(m.splat(old - shift)).first();
            sum *= factor;
            // SAFETY: the row has `dv` values; they are still zeros where only sums are taken.
            unsafe { row::scale(s, w.values.wrapping_add(r * w.dv), factor, w.dv) };
        }
        // SAFETY: one float per row.
        unsafe { sum_at.write_unaligned(sum + chunk) };
        // SAFETY: one float per row.
        unsafe { max_at.write_unaligned(new) };
    }
}

/// What a walk over the keys is for.
#[derive(Clone, Copy)]
enum Pass {
    /// Sums and weighted values at once.
    Both,
    /// Logits, which are kept, and the largest.
    Keep,
    /// Weighted values, by weights that kept powers are normalised and rounded to.
    Use,
    /// Largest logits and sums.
    Measure,
    /// Weighted values, by weights that are normalised and rounded to half precision.
    Apply,
}

/// Converts `n` rows of `len` elements to F32, side by side.
///
/// # Safety
/// The rows are readable, and there is room for all at `to`.
#[inline(always)]
unsafe fn convert<S: Simd, T: Source>(
    s: S,
    dtype: DType,
    rows: Rows,
    n: usize,
    to: *mut f32,
    len: usize,
) {
    for c in 0..n {
        let from = rows.at.wrapping_add(c.wrapping_mul(rows.stride));
        // SAFETY: the caller's promise.
        unsafe { T::convert(s, dtype, from, to.wrapping_add(c * len), len) };
    }
}

/// How many of `n` keys there are up to the last one that is not hidden.
///
/// # Safety
/// `m` is readable for `n` values.
#[inline(always)]
unsafe fn visible(m: *const u16, n: usize) -> usize {
    let mut seen = 0;
    for i in 0..n {
        // SAFETY: `i < n`.
        seen |= unsafe { m.wrapping_add(i).read_unaligned() } ^ HIDDEN;
    }
    let mut n = if seen == 0 { 0 } else { n };
    // SAFETY: `n - 1` is one of the values.
    while n > 0 && unsafe { m.wrapping_add(n - 1).read_unaligned() } == HIDDEN {
        n -= 1;
    }
    n
}

/// `x += slope * mask`, and minus infinity where the mask is, whatever x is.
///
/// # Safety
/// `x` is readable and writable, the mask readable for `n` elements.
#[inline(always)]
unsafe fn add_mask<S: Simd>(s: S, x: *mut f32, mask: *const u16, slope: f32, n: usize) {
    use crate::kernels::vec::F16;
    let (slope, hidden) = (s.splat(slope), s.splat(f32::NEG_INFINITY));
    let add = |v: S::F, m: S::F| S::F::select(m.le(hidden), hidden, m.mul_add(slope, v));
    let mut i = 0;
    while i < n {
        let left = n - i;
        let (at, m) = (x.wrapping_add(i), mask.wrapping_add(i).cast::<u8>());
        if left >= lanes(s) {
            // SAFETY: a whole vector is left.
            let v = unsafe { s.load(at) };
            // SAFETY: a whole vector is left.
            let m = unsafe { F16::load(s, m) };
            // SAFETY: a whole vector is left.
            unsafe { s.store(at, add(v, m)) };
        } else {
            // SAFETY: `left` elements are left.
            let v = unsafe { F32::load_part(s, at.cast(), left) };
            // SAFETY: `left` elements are left.
            let m = unsafe { F16::load_part(s, m, left) };
            // SAFETY: `left` elements are left.
            unsafe { F32::store_part(s, at.cast(), add(v, m), left) };
        }
        i += lanes(s);
    }
}
