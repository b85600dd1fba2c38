//! The right-hand side as the kernels read it: columns of 8-bit groups, or of `f32`.
//!
//! Quantised weights meet activations that are rounded once per node to groups of 32 bytes with an `f32` scale (the
//! strongest element becomes ±127, ties to even), and the scaled sums that weights with an offset need. Where ggml stores
//! scales and sums in half precision they are rounded so here, for a model to give the same numbers; but they are kept as
//! `f32`, and a number that a half can't hold stays as it is: sums overflow on activations that an f16 still holds.

use super::format::GROUP;
use crate::kernels::vec::half;
use core::marker::PhantomData;
use core::ops::Range;
use dinrail_core::tensor::float::{bf16_to_f32, f16_to_f32};
use dinrail_core::tensor::{DType, Desc};

/// Start of the working memory is rounded up to this, and every column begins at a multiple of it.
pub const ALIGN: usize = 64;

/// What the columns of a product hold beside their bytes, scales and sums.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Groups of a column.
    pub groups: usize,
    /// The scaled sums of the first and second half of each group, too.
    pub halves: bool,
    /// The levels as 16-bit numbers, too.
    pub wide: bool,
    /// Scales are rounded to half precision, as in ggml's `Q8_0` and `Q8_1` blocks.
    pub half_scales: bool,
    /// So are the scaled sums, as in ggml's `Q8_1` blocks.
    pub half_sums: bool,
}

impl Layout {
    /// Bytes from one column to the next.
    pub const fn stride(&self) -> usize {
        let mut each = GROUP + 8;
        if self.halves {
            each += 8;
        }
        if self.wide {
            each += 2 * GROUP;
        }
        self.groups.saturating_mul(each).saturating_add(ALIGN - 1) & !(ALIGN - 1)
    }

    const fn scales_at(&self) -> usize {
        self.groups * GROUP
    }

    const fn sums_at(&self) -> usize {
        self.scales_at() + self.groups * 4
    }

    const fn halves_at(&self) -> usize {
        self.sums_at() + self.groups * 4
    }

    const fn wide_at(&self) -> usize {
        self.halves_at() + if self.halves { self.groups * 8 } else { 0 }
    }
}

/// One column. All slices that the layout has are one item a group long, the others empty.
#[derive(Clone, Copy, Default)]
pub struct Column<'a> {
    /// Levels.
    pub q: &'a [[i8; GROUP]],
    /// Scale.
    pub d: &'a [f32],
    /// Scale times the sum of the levels.
    pub s: &'a [f32],
    /// Scale times the sum of the first and of the second half of the levels.
    pub halves: &'a [[f32; 2]],
    /// Levels.
    pub wide: &'a [[i16; GROUP]],
}

/// Columns that lie behind each other.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    base: *const u8,
    count: usize,
    layout: Layout,
    life: PhantomData<&'a u8>,
}

impl<'a> Columns<'a> {
    /// `count` columns from `base` on.
    ///
    /// # Safety
    /// * `base` is a multiple of 4 and so many columns of this layout were written there with [`quantise`].
    /// * Nobody writes to them during `'a`.
    pub unsafe fn new(base: *const u8, count: usize, layout: Layout) -> Self {
        Self { base, count, layout, life: PhantomData }
    }

    /// Columns `range`, cut to those that there are.
    pub fn sub(&self, range: Range<usize>) -> Self {
        let start = range.start.min(self.count);
        let count = range.end.min(self.count).saturating_sub(start);
        Self { base: self.base.wrapping_add(start * self.layout.stride()), count, ..*self }
    }

    /// Groups of each.
    pub fn groups(&self) -> usize {
        self.layout.groups
    }

    /// Column `c`; one without groups past the last.
    #[inline(always)]
    pub fn column(&self, c: usize) -> Column<'a> {
        if c >= self.count {
            return Column::default();
        }
        let base = self.base.wrapping_add(c * self.layout.stride());
        /// # Safety
        /// `count` items of `T` lie at `base + at`, aligned, and stay as they are during `'a`.
        unsafe fn part<'a, T>(base: *const u8, at: usize, count: usize) -> &'a [T] {
            // SAFETY: the caller's promise.
            unsafe { core::slice::from_raw_parts(base.wrapping_add(at).cast(), count) }
        }
        let l = &self.layout;
        let (halves, wide) =
            (if l.halves { l.groups } else { 0 }, if l.wide { l.groups } else { 0 });
        Column {
            // SAFETY: `new` was promised this part.
            q: unsafe { part(base, 0, l.groups) },
            // SAFETY: as above; offsets are multiples of 4.
            d: unsafe { part(base, l.scales_at(), l.groups) },
            // SAFETY: as above.
            s: unsafe { part(base, l.sums_at(), l.groups) },
            // SAFETY: as above, or no item.
            halves: unsafe { part(base, l.halves_at(), halves) },
            // SAFETY: as above, or no item.
            wide: unsafe { part(base, l.wide_at(), wide) },
        }
    }
}

/// The rows of the right-hand side, of any float type and with any strides.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Lengths and strides.
    pub desc: &'a Desc,
    /// First byte.
    pub ptr: *const u8,
}

impl Source<'_> {
    /// Where row `i` begins, counting through the outer three dimensions.
    fn row(&self, i: usize) -> *const u8 {
        let (n1, n2) = (self.desc.ne[1].max(1), self.desc.ne[2].max(1));
        self.ptr.wrapping_add(self.desc.row_offset(i % n1, i / n1 % n2, i / n1 / n2))
    }

    /// Elements `first..` of a row that begins at `row`.
    ///
    /// # Safety
    /// The elements can be read.
    #[inline(always)]
    unsafe fn read(&self, row: *const u8, first: usize, out: &mut [f32]) {
        let nb = self.desc.nb[0];
        let from = row.wrapping_add(first.wrapping_mul(nb));
        if matches!(self.desc.dtype, DType::F32) && nb == 4 {
            // SAFETY: elements lie side by side and can be read; `out` is other memory.
            unsafe { core::ptr::copy_nonoverlapping(from, out.as_mut_ptr().cast(), out.len() * 4) };
            return;
        }
        for (i, y) in out.iter_mut().enumerate() {
            let p = from.wrapping_add(i * nb);
            *y = match self.desc.dtype {
                // SAFETY: the element can be read.
                DType::F16 => f16_to_f32(unsafe { p.cast::<u16>().read_unaligned() }),
                // SAFETY: the element can be read.
                DType::BF16 => bf16_to_f32(unsafe { p.cast::<u16>().read_unaligned() }),
                // SAFETY: the element can be read.
                _ => unsafe { p.cast::<f32>().read_unaligned() },
            };
        }
    }
}

/// Levels, scale and the sums of the halves of 32 activations. A group with a NaN or an infinity gets zeros and a NaN
/// for a scale, which makes every product with it NaN.
#[inline(always)]
pub fn quantise_group(x: &[f32; GROUP]) -> ([i8; GROUP], f32, [i32; 2]) {
    // Magnitudes order like their bits, NaNs above infinity above the rest.
    let bits = x.iter().fold(0u32, |max, x| max.max(x.to_bits() & 0x7fff_ffff));
    let d = f32::from_bits(bits) / 127.0;
    let inverse = 127.0 / f32::from_bits(bits);
    // Also for a scale so small that it has no inverse.
    let usable = bits < 0x7f80_0000 && inverse < f32::INFINITY;
    let id = if usable { inverse } else { 0.0 };
    let mut q = [0i8; GROUP];
    let mut sums = [0i32; 2];
    for (half, (x, q)) in
        sums.iter_mut().zip(x.chunks_exact(GROUP / 2).zip(q.chunks_exact_mut(GROUP / 2)))
    {
        for (x, q) in x.iter().zip(q) {
            let x = if usable { *x } else { 0.0 };
            // In [2^23, 2^24) the last place is worth one, so the addition rounds.
            let level = (x * id + 12_582_912.0).to_bits() as i32 - 0x4b40_0000;
            *q = level as i8;
            *half += level;
        }
    }
    (q, if bits < 0x7f80_0000 { d } else { f32::NAN }, sums)
}

/// Writes groups `range` of all columns, counted through, to `base`.
///
/// # Safety
/// * `source` can be read, and has as many rows as there are columns.
/// * `base` is a multiple of 4 and the columns have room there, which nobody else reads or writes.
#[inline(always)]
pub unsafe fn quantise(source: &Source<'_>, range: Range<usize>, base: *mut u8, layout: Layout) {
    if layout.groups == 0 {
        return;
    }
    let (mut c, mut g) = (range.start / layout.groups, range.start % layout.groups);
    let (mut row, mut column) = (source.row(c), base.wrapping_add(c * layout.stride()));
    for _ in range {
        let mut x = [0f32; GROUP];
        // SAFETY: the source can be read, and a row has this group.
        unsafe { source.read(row, g * GROUP, &mut x) };
        let (q, d, sums) = quantise_group(&x);
        let exact = d;
        let d = if layout.half_scales { half(d) } else { d };
        let scaled = sums.map(|s| d * s as f32);
        let at = |offset: usize| column.wrapping_add(offset);
        // SAFETY: the column has room for each of its groups.
        unsafe { at(g * GROUP).cast::<[i8; GROUP]>().write(q) };
        // SAFETY: as above, and a multiple of 4.
        unsafe { at(layout.scales_at() + 4 * g).cast::<f32>().write(d) };
        let total = (sums[0] + sums[1]) as f32;
        let sum = if layout.half_sums { half(exact * total) } else { d * total };
        // SAFETY: as above.
        unsafe { at(layout.sums_at() + 4 * g).cast::<f32>().write(sum) };
        if layout.halves {
            // SAFETY: as above.
            unsafe { at(layout.halves_at() + 8 * g).cast::<[f32; 2]>().write(scaled) };
        }
        if layout.wide {
            let place = at(layout.wide_at() + 2 * GROUP * g).cast::<[i16; GROUP]>();
            // SAFETY: as above.
            unsafe { place.write(q.map(i16::from)) };
        }
        g += 1;
        if g == layout.groups {
            (c, g) = (c + 1, 0);
            (row, column) = (source.row(c), base.wrapping_add(c * layout.stride()));
        }
    }
}

/// Columns of `f32`, each without gaps.
#[derive(Clone, Copy)]
pub struct FloatColumns<'a> {
    base: *const u8,
    stride: usize,
    count: usize,
    len: usize,
    life: PhantomData<&'a f32>,
}

impl<'a> FloatColumns<'a> {
    /// `count` columns of `len` elements, `stride` bytes apart.
    ///
    /// # Safety
    /// * The columns can be read, aligned for `f32`, and nobody writes to them during `'a`.
    pub unsafe fn new(base: *const u8, stride: usize, count: usize, len: usize) -> Self {
        Self { base, stride, count, len, life: PhantomData }
    }

    /// Columns `range`, cut to those that there are.
    pub fn sub(&self, range: Range<usize>) -> Self {
        let start = range.start.min(self.count);
        let count = range.end.min(self.count).saturating_sub(start);
        Self { base: self.base.wrapping_add(start.wrapping_mul(self.stride)), count, ..*self }
    }

    /// Column `c`; an empty one past the last.
    #[inline(always)]
    pub fn column(&self, c: usize) -> &'a [f32] {
        if c >= self.count || self.len == 0 {
            return &[];
        }
        let p = self.base.wrapping_add(c.wrapping_mul(self.stride)).cast::<f32>();
        // SAFETY: `new` was promised this column.
        unsafe { core::slice::from_raw_parts(p, self.len) }
    }
}

/// Writes rows `range` of the source as `f32` to `base`, `stride` bytes apart, with `halves` rounded to half precision.
///
/// # Safety
/// * `source` can be read.
/// * `base` and `stride` are multiples of 4, and there is room, which nobody else reads or writes.
pub unsafe fn widen(
    source: &Source<'_>,
    range: Range<usize>,
    base: *mut u8,
    stride: usize,
    halves: bool,
) {
    for i in range {
        let p = base.wrapping_add(i * stride).cast::<f32>();
        // SAFETY: there is room for the row; any bits are an f32.
        let out = unsafe { core::slice::from_raw_parts_mut(p, source.desc.ne[0]) };
        // SAFETY: the source can be read.
        unsafe { source.read(source.row(i), 0, out) };
        if halves {
            out.iter_mut().for_each(|x| *x = half(*x));
        }
    }
}
