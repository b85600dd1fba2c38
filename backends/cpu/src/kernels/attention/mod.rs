//! Attention without storing the products: soft-max is corrected as larger logits turn up.
//!
//! The rows of the result that read the same keys and values (the tokens of all query heads of one key head) form tiles
//! of up to [`TILE`] rows, so that a key is loaded, and converted where it has to be, once per tile. Keys come in chunks
//! of [`CHUNK`]; a chunk that the mask hides from the whole tile costs a look at the mask, so a static graph over the
//! full context costs what is visible.
//!
//! With keys and values in half precision, queries and weights are rounded to half precision as well, as in the
//! products that ggml makes of unfused attention, so that a model gives the same numbers as there. A weight can only be
//! rounded once its row's sum is known, so all logits of a tile are kept, or the keys are passed over twice where there
//! are too many. `Precision::F32` asks for neither.
//!
//! Otherwise, where there are few rows (generation), the keys are cut into parts as well, whose results are joined afterwards. All
//! cuts follow from the shapes alone, so the bits don't depend on the number of workers.

mod product;
mod source;
mod tile;

use super::vec::{Bf16, F16, F32, Lanes, Simd, math, per_level, pick, row, scalar_math};
use crate::{Args, Kernel, Level};
use dinrail_core::error::{Error, Result, What};
use dinrail_core::hal::Query;
use dinrail_core::op::{Op, Precision};
use dinrail_core::tensor::{DType, Desc};
use source::{Any, Plain, Source};
use tile::{Tile, Workspace};

/// Rows of a tile at most.
const TILE: usize = 32;

/// Keys that are looked at together. A multiple of four vectors.
const CHUNK: usize = 32;

/// Rows per key head up to which the keys are cut into parts.
const FEW: usize = 8;

/// Logits of a tile that are kept, so that a key is read once although weights are only rounded when a row's sum is known:
/// 256 KiB. With more of them the keys are passed over twice.
const KEPT: usize = 1 << 16;

/// Keys of a part at least, and the largest number of parts.
const PART: usize = 256;
const PARTS: usize = 16;

/// How the work is cut.
#[derive(Clone, Copy)]
struct Cut {
    /// Elements of a key and of a value.
    d: usize,
    dv: usize,
    /// Keys.
    keys: usize,
    /// Query heads per key head; key heads; sequences.
    group: usize,
    kv_heads: usize,
    sequences: usize,
    /// Rows per key head, rows of a tile, tiles per key head.
    rows: usize,
    tile: usize,
    tiles: usize,
    /// Keys of a part, parts.
    part: usize,
    parts: usize,
    /// Logits of a row that there is room for: a chunk's, or all.
    logits: usize,
}

impl Cut {
    const fn new(q: &Desc, k: &Desc, v: &Desc, halves: bool) -> Self {
        let kv_heads = if k.ne[2] == 0 { 1 } else { k.ne[2] };
        let (group, keys) = (q.ne[2] / kv_heads, k.ne[1]);
        let rows = group.saturating_mul(q.ne[1]);
        let tile = if rows < TILE { rows } else { TILE };
        let tiles = if tile == 0 { 0 } else { rows.div_ceil(tile) };
        let mut part = keys;
        if rows <= FEW && !halves {
            part = keys.div_ceil(PARTS).next_multiple_of(CHUNK);
            if part < PART {
                part = PART;
            }
        }
        let parts = if part == 0 { 1 } else { keys.div_ceil(part) };
        let parts = if parts == 0 { 1 } else { parts };
        let sequences = q.ne[3];
        let all = keys.div_ceil(CHUNK).saturating_mul(CHUNK);
        let logits = if halves && all.saturating_mul(tile) <= KEPT { all } else { CHUNK };
        let logits = if logits < CHUNK { CHUNK } else { logits };
        Self {
            d: k.ne[0],
            dv: v.ne[0],
            keys,
            group,
            kv_heads,
            sequences,
            rows,
            tile,
            tiles,
            part,
            parts,
            logits,
        }
    }

    /// Whether a row's logits are kept.
    const fn keeps(&self) -> bool {
        self.logits >= self.keys
    }

    /// Floats of one worker's workspace, a multiple of a cache line.
    const fn workspace(&self) -> usize {
        let rows = self.tile.saturating_mul(self.d + self.dv + self.logits + 2);
        let chunk = CHUNK.saturating_mul(self.d + self.dv);
        (rows.saturating_add(chunk)).next_multiple_of(16)
    }

    /// Floats of one row's partial result: its sum, its largest logit, its values.
    const fn partial(&self) -> usize {
        self.dv + 2
    }

    /// Floats of all partial results.
    const fn partials(&self) -> usize {
        if self.parts == 1 {
            return 0;
        }
        let rows = self.rows.saturating_mul(self.kv_heads).saturating_mul(self.sequences);
        rows.saturating_mul(self.parts).saturating_mul(self.partial()).next_multiple_of(16)
    }

    /// Bytes of scratch memory.
    const fn bytes(&self, workers: usize) -> usize {
        self.workspace().saturating_mul(workers).saturating_add(self.partials()).saturating_mul(4)
    }
}

/// What all rows share.
struct Problem<'a> {
    args: &'a Args<'a>,
    q: &'a Desc,
    mask: Option<crate::Operand<'a>>,
    cut: Cut,
    scale: f32,
    softcap: f32,
    max_bias: f32,
    /// Whether queries and weights are rounded to half precision.
    halves: bool,
    sinks: Option<crate::Operand<'a>>,
}

/// Whether queries and weights are rounded to half precision.
const fn halves(op: &Op, k: &Desc, v: &Desc) -> bool {
    matches!((k.dtype, v.dtype), (DType::F16, DType::F16))
        && matches!(op, Op::FlashAttn { precision: Precision::Default, .. })
}

/// One row of the result: where it is, and what concerns it.
#[derive(Clone, Copy)]
struct Place {
    token: usize,
    head: usize,
    sequence: usize,
}

impl Problem<'_> {
    /// Row `row` of a key head.
    #[inline(always)]
    fn place(&self, kv_head: usize, sequence: usize, row: usize) -> Place {
        let group = self.cut.group.max(1);
        Place { token: row / group, head: kv_head * group + row % group, sequence }
    }

    /// The mask of a row.
    #[inline(always)]
    fn mask(&self, at: Place) -> Option<*const u16> {
        let m = self.mask?;
        // A division takes longer than a small head's product with a key.
        let wrap = |i: usize, n: usize| if n <= 1 { 0 } else { i % n };
        let (i2, i3) = (wrap(at.head, m.desc.ne[2]), wrap(at.sequence, m.desc.ne[3]));
        Some(m.ptr.wrapping_add(m.desc.row_offset(at.token, i2, i3)).cast_const().cast())
    }

    /// The ALiBi slope of a row.
    #[inline(always)]
    fn slope(&self, at: Place) -> f32 {
        scalar_math::alibi_slope(self.max_bias, at.head, self.q.ne[2])
    }
}

/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn run<S: Simd, T: Source>(s: S, args: &Args<'_>) -> Result<()> {
    let [Some(q), Some(k), Some(v), mask, sinks, ..] = args.src else { return Ok(()) };
    let Op::FlashAttn { scale, max_bias, softcap, .. } = *args.op else { return Ok(()) };
    let halves = T::SHORT && halves(args.op, k.desc, v.desc);
    let cut = Cut::new(q.desc, k.desc, v.desc, halves);
    let (need, have) = (cut.bytes(args.worker.count()), args.scratch_len);
    if need > have {
        return Err(Error::Full { what: What::Scratch, need, have });
    }
    if args.dst.desc.is_empty() {
        return Ok(());
    }
    let scale = if softcap == 0.0 { scale } else { scale / softcap };
    let problem = Problem { args, q: q.desc, mask, cut, scale, softcap, max_bias, halves, sinks };
    let (partials, workspaces) = {
        let base = args.scratch.cast::<f32>();
        (base, base.wrapping_add(cut.partials()))
    };
    let mine = workspaces.wrapping_add(cut.workspace().wrapping_mul(args.worker.index()));
    let work = Workspace::new(mine, &cut);

    // Units in turn rather than in ranges: with a mask, neighbours cost alike.
    let units = cut.tiles * cut.kv_heads * cut.sequences * cut.parts;
    let few = cut.keys.saturating_mul(cut.rows * cut.kv_heads).saturating_mul(cut.d) < 1 << 15;
    let (mut unit, step) = match (few, args.worker.index()) {
        (false, index) => (index, args.worker.count().max(1)),
        (true, 0) => (0, 1),
        (true, _) => (units, 1),
    };
    while unit < units {
        let (kv_head, rest) = take(unit, cut.kv_heads);
        let (tile, rest) = take(rest, cut.tiles);
        let (part, sequence) = take(rest, cut.parts);
        let first = tile * cut.tile;
        let count = cut.tile.min(cut.rows - first);
        let key = part * cut.part;
        let last = cut.keys.min(key + cut.part);
        let kv_sequence = sequence / (cut.sequences / k.desc.ne[3].max(1)).max(1);
        let t = Tile {
            problem: &problem,
            kv_head,
            sequence,
            first,
            count,
            k: (k.ptr.wrapping_add(k.desc.row_offset(0, kv_head, kv_sequence)), k.desc),
            v: (v.ptr.wrapping_add(v.desc.row_offset(0, kv_head, kv_sequence)), v.desc),
            work: &work,
        };
        // SAFETY: the caller's promise about the operands and the scratch memory; this unit is this worker's alone.
        unsafe { t.attend::<S, T>(s, q.ptr, key, last) };
        for r in 0..count {
            let at = problem.place(kv_head, sequence, first + r);
            let result = work.result(r);
            if cut.parts == 1 {
                // SAFETY: the row of the result belongs to this unit.
                unsafe { finish(s, &problem, at, result) };
            } else {
                let index = partial_index(&problem, at, part);
                let to = partials.wrapping_add(index.wrapping_mul(cut.partial()));
                // SAFETY: the partial result belongs to this unit; `need` covers all of them.
                unsafe { result.save(to) };
            }
        }
        unit += step;
    }
    if cut.parts > 1 {
        args.worker.wait();
        let rows = cut.rows * cut.kv_heads * cut.sequences;
        for r in args.worker.share(rows) {
            let (kv_head, rest) = take(r, cut.kv_heads);
            let (row, sequence) = take(rest, cut.rows);
            let at = problem.place(kv_head, sequence, row);
            // SAFETY: every part was saved before the barrier, and the row is this worker's alone.
            unsafe { join(s, &problem, at, partials, &work) };
        }
    }
    Ok(())
}

/// Remainder and quotient, the divisor being at least 1.
#[inline(always)]
fn take(n: usize, by: usize) -> (usize, usize) {
    (n % by.max(1), n / by.max(1))
}

/// Number of a row's partial result of a part.
#[inline(always)]
fn partial_index(p: &Problem<'_>, at: Place, part: usize) -> usize {
    let heads = p.cut.group * p.cut.kv_heads;
    ((at.sequence * p.q.ne[1] + at.token) * heads + at.head) * p.cut.parts + part
}

/// A row before it is divided by its sum.
#[derive(Clone, Copy)]
struct Sums {
    /// Sum of the weights relative to the largest logit.
    sum: *mut f32,
    /// Largest logit.
    max: *mut f32,
    /// Weighted values.
    values: *mut f32,
    dv: usize,
}

impl Sums {
    /// Copies everything to a partial result.
    ///
    /// # Safety
    /// `to` is writable for `dv + 2` floats.
    unsafe fn save(&self, to: *mut f32) {
        // SAFETY: the workspace is readable.
        let sum = unsafe { self.sum.read_unaligned() };
        // SAFETY: the caller's promise.
        unsafe { to.write_unaligned(sum) };
        // SAFETY: the workspace is readable.
        let max = unsafe { self.max.read_unaligned() };
        // SAFETY: the caller's promise.
        unsafe { to.wrapping_add(1).write_unaligned(max) };
        // SAFETY: the caller's promise; the workspace and the partial results are apart.
        unsafe { core::ptr::copy_nonoverlapping(self.values, to.wrapping_add(2), self.dv) };
    }

    /// A partial result.
    fn saved(at: *mut f32, dv: usize) -> Self {
        Self { sum: at, max: at.wrapping_add(1), values: at.wrapping_add(2), dv }
    }
}

/// `e^x` of one number.
#[inline(always)]
fn exp<S: Simd>(s: S, x: f32) -> f32 {
    math::exp(s.map().splat(x)).first()
}

/// Joins the parts of a row in their order, and writes it.
///
/// # Safety
/// As [`run`], after all parts were saved.
#[inline(always)]
unsafe fn join<S: Simd>(s: S, p: &Problem<'_>, at: Place, partials: *mut f32, work: &Workspace) {
    let into = work.result(0);
    let part = |i: usize| {
        let index = partial_index(p, at, i);
        Sums::saved(partials.wrapping_add(index.wrapping_mul(p.cut.partial())), p.cut.dv)
    };
    let mut max = f32::NEG_INFINITY;
    for i in 0..p.cut.parts {
        // SAFETY: saved before.
        let m = unsafe { part(i).max.read_unaligned() };
        max = if m > max { m } else { max };
    }
    let mut sum = 0.0;
    for j in 0..into.dv {
        // SAFETY: `j` is inside the row.
        unsafe { into.values.wrapping_add(j).write_unaligned(0.0) };
    }
    for i in 0..p.cut.parts {
        let from = part(i);
        // SAFETY: saved before.
        let part_sum = unsafe { from.sum.read_unaligned() };
        if part_sum == 0.0 {
            continue;
        }
        // SAFETY: saved before.
        let m = unsafe { from.max.read_unaligned() };
        let factor = if m == max { 1.0 } else { exp(s, m - max) };
        sum += part_sum * factor;
        // SAFETY: both rows have `dv` elements and are apart.
        unsafe { row::axpy::<S, F32>(s, factor, from.values.cast(), into.values, into.dv) };
    }
    // SAFETY: the workspace is this worker's own.
    unsafe { into.sum.write_unaligned(sum) };
    // SAFETY: the workspace is this worker's own.
    unsafe { into.max.write_unaligned(max) };
    // SAFETY: the row of the result belongs to this worker.
    unsafe { finish(s, p, at, into) };
}

/// What a row's weights are multiplied by: one over their sum, the sink's weight included. 0 for a row that saw no key.
///
/// # Safety
/// The workspace is this worker's own.
#[inline(always)]
unsafe fn normaliser<S: Simd>(s: S, p: &Problem<'_>, at: Place, from: Sums) -> f32 {
    // SAFETY: the workspace is this worker's own.
    let mut sum = unsafe { from.sum.read_unaligned() };
    let mut factor = 1.0;
    if let Some(k) = p.sinks {
        let sink = k.ptr.wrapping_add(at.head.wrapping_mul(k.desc.nb[0])).cast::<f32>();
        // SAFETY: core has checked that there is one value per head.
        let sink = unsafe { sink.read_unaligned() };
        // SAFETY: the workspace is this worker's own.
        let max = unsafe { from.max.read_unaligned() };
        if sink > max {
            factor = exp(s, max - sink);
            sum = sum * factor + 1.0;
        } else if sink != f32::NEG_INFINITY {
            sum += exp(s, sink - max);
        }
    }
    if sum == 0.0 { 0.0 } else { factor / sum }
}

/// Divides by the sum, unless the weights are normalised already, and writes the row of the result.
///
/// # Safety
/// As [`run`]; the row of the result belongs to the caller.
#[inline(always)]
unsafe fn finish<S: Simd>(s: S, p: &Problem<'_>, at: Place, from: Sums) {
    // SAFETY: the workspace is this worker's own.
    let factor = if p.halves { 1.0 } else { unsafe { normaliser(s, p, at, from) } };
    let d = p.args.dst.desc;
    let to = p.args.dst.ptr.wrapping_add(d.row_offset(at.head, at.token, at.sequence));
    let m = s.map();
    let factor = m.splat(factor);
    row::map_row!(m, F32, from.values.cast(), to, from.dv, |v| v * factor);
}

per_level! {
    kv_f32 = run::<_, Plain<F32>>;
    kv_f16 = run::<_, Plain<F16>>;
    kv_bf16 = run::<_, Plain<Bf16>>;
    kv_any = run::<_, Any>;
}

/// The kernel of a level for a node.
pub(super) const fn resolve(level: Level, q: &Query<'_>) -> Option<Kernel> {
    let (Some(a), Some(k), Some(v)) = (q.src.source(0), q.src.source(1), q.src.source(2)) else {
        return None;
    };
    let f32s = a.dtype as u8 == DType::F32 as u8 && q.dst.dtype as u8 == DType::F32 as u8;
    let rows = a.rows_contiguous() && k.rows_contiguous() && v.rows_contiguous();
    if !f32s || !rows || !q.dst.rows_contiguous() {
        return None;
    }
    if k.dtype as u8 != v.dtype as u8 {
        return Some(pick!(level, kv_any));
    }
    Some(match k.dtype {
        DType::F32 => pick!(level, kv_f32),
        DType::F16 => pick!(level, kv_f16),
        DType::BF16 => pick!(level, kv_bf16),
        _ => pick!(level, kv_any),
    })
}

/// Bytes of scratch memory for a node.
pub(super) const fn scratch(_level: Level, q: &Query<'_>, workers: usize) -> usize {
    match (q.src.source(0), q.src.source(1), q.src.source(2)) {
        (Some(a), Some(k), Some(v)) => Cut::new(a, k, v, halves(q.op, k, v)).bytes(workers),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
