//! What all levels share: preparing the columns, dividing the work, and broadcasting over the outer dimensions.

use super::activations::{self, ALIGN, Columns, FloatColumns, Layout, Source};
use super::format::Format;
use super::plan;
use crate::Level;
use crate::kernel::{Args, Operand};
use core::marker::PhantomData;
use core::num::NonZeroUsize;
use core::ops::Range;
use dinrail_core::error::{Error, Result, What};
use dinrail_core::graph::NodeId;
use dinrail_core::hal::host::Worker;
use dinrail_core::tensor::{DType, Desc};

/// Rows that a worker takes at once. Every engine's block of rows divides it.
pub const UNIT: usize = 16;

/// A part of a product: some rows of the weights with some columns.
pub struct Tile<'a, B, X> {
    rows: *const u8,
    row_stride: usize,
    row_len: usize,
    n: usize,
    /// The columns.
    pub x: X,
    m: usize,
    out: *mut u8,
    out_stride: usize,
    /// Columns of the whole product: what an engine's choices may depend on, for [`m`](Self::m) varies with the
    /// number of workers.
    pub whole_m: usize,
    /// Working memory of this worker, a multiple of [`ALIGN`], as much as the engine asked for.
    pub workspace: *mut u8,
    life: PhantomData<&'a B>,
}

impl<'a, B, X> Tile<'a, B, X> {
    /// Rows of the weights.
    #[inline(always)]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Columns.
    #[inline(always)]
    pub fn m(&self) -> usize {
        self.m
    }

    /// Items of a row.
    #[inline(always)]
    pub fn row_len(&self) -> usize {
        self.row_len
    }

    /// Row `r`; an empty one past the last.
    #[inline(always)]
    pub fn row(&self, r: usize) -> &'a [B] {
        if r >= self.n || self.row_len == 0 {
            return &[];
        }
        let p = self.rows.wrapping_add(r.wrapping_mul(self.row_stride)).cast::<B>();
        // SAFETY: a tile is only made of rows that can be read during `'a` and are aligned for their type.
        unsafe { core::slice::from_raw_parts(p, self.row_len) }
    }

    /// Where the result of row `r` and column `c` goes; nothing outside the tile.
    #[inline(always)]
    pub fn set(&self, r: usize, c: usize, value: f32) {
        if r < self.n && c < self.m {
            let p = self.out.wrapping_add(r * 4 + c.wrapping_mul(self.out_stride)).cast::<f32>();
            // SAFETY: a tile is only made of results that this worker alone writes.
            unsafe { p.write(value) };
        }
    }

    /// Results of rows `r..r + N` and column `c`, those that are inside the tile.
    #[inline(always)]
    pub fn set_rows<const N: usize>(&self, r: usize, c: usize, values: [f32; N]) {
        if r + N <= self.n && c < self.m {
            let p =
                self.out.wrapping_add(r * 4 + c.wrapping_mul(self.out_stride)).cast::<[f32; N]>();
            // SAFETY: as in `set`.
            unsafe { p.write(values) };
        } else {
            for (k, x) in values.iter().enumerate() {
                self.set(r + k, c, *x);
            }
        }
    }
}

/// A level's way to multiply one quantised type.
pub trait Engine {
    /// The weights.
    type F: Format;
    /// The level, which [`plan`] asks about.
    const LEVEL: Level;

    /// Runs [`activations::quantise`] with the level's instructions.
    ///
    /// # Safety
    /// That function's contract, and the processor has the level's instructions.
    unsafe fn quantise(source: &Source<'_>, range: Range<usize>, base: *mut u8, layout: Layout);

    /// Computes a tile.
    ///
    /// # Safety
    /// The processor has the level's instructions.
    unsafe fn tile(tile: &Tile<'_, <Self::F as Format>::Block, Columns<'_>>);
}

/// A level's way to multiply one float type.
pub trait FloatEngine {
    /// An element as it is stored.
    type Element;

    /// Computes a tile.
    ///
    /// # Safety
    /// The processor has the level's instructions.
    unsafe fn tile(tile: &Tile<'_, Self::Element, FloatColumns<'_>>);
}

/// Everything that follows from the descriptions alone, so that `scratch` and the kernels can't disagree.
#[derive(Clone, Copy)]
pub struct Needs {
    /// Bytes of the prepared columns.
    pub columns: usize,
    /// Bytes for each worker.
    pub each: usize,
}

impl Needs {
    /// Bytes in all, with room to align the start.
    pub const fn total(&self, workers: usize) -> usize {
        let each = self.each.saturating_mul(workers);
        let sum = self.columns.saturating_add(each);
        if sum == 0 { 0 } else { sum.saturating_add(ALIGN) }
    }

    /// The aligned start of the scratch memory.
    fn check(&self, args: &Args<'_>) -> Result<*mut u8> {
        let need = self.total(args.worker.count());
        if need > args.scratch_len {
            return Err(Error::Full { what: What::Scratch, need, have: args.scratch_len });
        }
        let gap = args.scratch.addr().wrapping_neg() % ALIGN;
        Ok(args.scratch.wrapping_add(gap))
    }
}

/// Whether the columns are rounded to half precision: those that meet weights of half precision are, as in ggml.
pub const fn halved(a: &Desc, b: &Desc) -> bool {
    matches!((a.dtype, b.dtype), (DType::F16, DType::F32))
}

/// Whether the columns can be read where they are.
pub const fn in_place(a: &Desc, b: &Desc) -> bool {
    matches!(b.dtype, DType::F32) && b.rows_contiguous() && !halved(a, b)
}

/// Bytes for the columns of a float product.
pub const fn float_needs(a: &Desc, b: &Desc) -> Needs {
    let row = b.ne[0].saturating_mul(4).saturating_add(ALIGN - 1) & !(ALIGN - 1);
    Needs { columns: if in_place(a, b) { 0 } else { row.saturating_mul(b.rows()) }, each: 0 }
}

/// The two sources.
pub fn operands<'a>(args: &Args<'a>) -> Result<(Operand<'a>, Operand<'a>)> {
    match (args.src[0], args.src[1]) {
        (Some(a), Some(b)) => Ok((a, b)),
        _ => Err(Error::Unsupported { node: NodeId::NONE, op: args.op.kind() }),
    }
}

/// The kernel of a quantised type. See [`Kernel`](crate::Kernel) for its contract.
///
/// # Safety
/// A kernel's contract.
pub unsafe fn quantised<E: Engine>(args: &Args<'_>) -> Result<()> {
    let (a, b) = operands(args)?;
    let (columns, m) = (b.desc.rows(), b.desc.ne[1]);
    let (layout, needs) = plan(E::LEVEL, E::F::DTYPE, b.desc);
    let base = needs.check(args)?;
    if a.desc.ne[1] == 0 || columns == 0 {
        return Ok(());
    }
    let source = Source { desc: b.desc, ptr: b.ptr };
    let share = args.worker.share(columns * layout.groups);
    // SAFETY: the operands are valid; the scratch memory has room and each worker writes its own groups.
    unsafe { E::quantise(&source, share, base, layout) };
    args.worker.wait();
    let workspace = base.wrapping_add(needs.columns + needs.each * args.worker.index());
    split(&a, &b, &args.dst, args.worker, |part| {
        // SAFETY: all columns were written before the barrier.
        let all = unsafe { Columns::new(base, columns, layout) };
        let first = part.slice * m;
        let tile = Tile {
            rows: part.rows,
            row_stride: a.desc.nb[1],
            row_len: layout.groups / E::F::GROUPS,
            n: part.n,
            x: all.sub(first + part.columns.start..first + part.columns.end),
            m: part.columns.len(),
            out: part.out,
            out_stride: args.dst.desc.nb[1],
            whole_m: m,
            workspace,
            life: PhantomData,
        };
        // SAFETY: a kernel is only called where its level's instructions are there.
        unsafe { E::tile(&tile) };
    });
    Ok(())
}

/// The kernel of a float type. See [`Kernel`](crate::Kernel) for its contract.
///
/// # Safety
/// A kernel's contract.
pub unsafe fn float<E: FloatEngine>(args: &Args<'_>) -> Result<()> {
    let (a, b) = operands(args)?;
    let needs = float_needs(a.desc, b.desc);
    let base = needs.check(args)?;
    let (columns, k) = (b.desc.rows(), b.desc.ne[0]);
    if a.desc.ne[1] == 0 || columns == 0 {
        return Ok(());
    }
    let stride = needs.columns / columns;
    let own = !in_place(a.desc, b.desc);
    if own {
        let source = Source { desc: b.desc, ptr: b.ptr };
        // SAFETY: the operands are valid; the scratch memory has room and each worker writes its own rows.
        unsafe {
            activations::widen(
                &source,
                args.worker.share(columns),
                base,
                stride,
                halved(a.desc, b.desc),
            )
        };
        args.worker.wait();
    }
    split(&a, &b, &args.dst, args.worker, |part| {
        let (start, step) = if !own {
            let ne2 = b.desc.ne[2].max(1);
            let (i2, i3) = (part.slice % ne2, part.slice / ne2);
            (b.ptr.wrapping_add(b.desc.row_offset(0, i2, i3)).cast_const(), b.desc.nb[1])
        } else {
            (base.wrapping_add(part.slice * b.desc.ne[1] * stride).cast_const(), stride)
        };
        // SAFETY: the columns are operand or were written before the barrier.
        let all = unsafe { FloatColumns::new(start, step, b.desc.ne[1], k) };
        let tile = Tile {
            rows: part.rows,
            row_stride: a.desc.nb[1],
            row_len: k,
            n: part.n,
            x: all.sub(part.columns.clone()),
            m: part.columns.len(),
            out: part.out,
            out_stride: args.dst.desc.nb[1],
            whole_m: b.desc.ne[1],
            workspace: base,
            life: PhantomData,
        };
        // SAFETY: a kernel is only called where its level's instructions are there.
        unsafe { E::tile(&tile) };
    });
    Ok(())
}

/// Rows and columns of one slice of the outer dimensions.
struct Part {
    rows: *const u8,
    n: usize,
    /// Slice of the right-hand side and the result.
    slice: usize,
    columns: Range<usize>,
    out: *mut u8,
}

/// Calls `f` with the worker's share of the result: some units of rows, of some columns where there are few rows, of
/// some slices. How much is called together changes nothing in the results.
fn split(
    a: &Operand<'_>,
    b: &Operand<'_>,
    dst: &Operand<'_>,
    worker: &Worker<'_>,
    mut f: impl FnMut(Part),
) {
    let (n, m) = (a.desc.ne[1], b.desc.ne[1]);
    // Nothing here is 0 for a product that isn't empty. With a type that says so there is no check for a division by zero,
    // on any target.
    let one = |n: usize| NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN);
    let slices = b.desc.ne[2] * b.desc.ne[3];
    let units = one(n.div_ceil(UNIT));
    let few = units.get() * slices < 4 * worker.count() && worker.count() > 1;
    let width = one(if few { m.min(32) } else { m });
    let strips = one(m.div_ceil(width.get()));
    let ne2 = one(b.desc.ne[2]);
    let (repeat2, repeat3) =
        (one(b.desc.ne[2] / one(a.desc.ne[2])), one(b.desc.ne[3] / one(a.desc.ne[3])));
    let width = width.get();
    let work = worker.share(units.get() * strips.get() * slices);
    let mut at = work.start;
    while at < work.end {
        let (unit, strip, slice) = (at % units, at / units % strips, at / units / strips);
        let count = (units.get() - unit).min(work.end - at);
        let first = unit * UNIT;
        let (i2, i3) = (slice % ne2, slice / ne2);
        let columns = strip * width..((strip + 1) * width).min(m);
        f(Part {
            rows: a
                .ptr
                .wrapping_add(a.desc.row_offset(first, i2 / repeat2, i3 / repeat3))
                .cast_const(),
            n: (n - first).min(count * UNIT),
            slice,
            out: dst.ptr.wrapping_add(dst.desc.row_offset(columns.start, i2, i3) + 4 * first),
            columns,
        });
        at += count;
    }
}
