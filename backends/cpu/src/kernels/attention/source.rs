//! Where keys and values come from: types that vectors load directly, or anything that can be decoded.

use crate::kernels::vec::{Elem, F32, LANES, Simd};
use core::marker::PhantomData;
use dinrail_core::tensor::{DType, block, float};

/// A kind of key and value rows.
pub(super) trait Source {
    /// What the products load, where they load the tensor itself.
    type Direct: Elem;
    /// Whether they may.
    const DIRECT: bool;
    /// Whether the tensor is F32 anyway, so that converting it would change nothing.
    const WIDE: bool;
    /// Whether rows are of two bytes an element, and may be of half precision.
    const SHORT: bool;

    /// Converts a row of `n` elements to F32.
    ///
    /// # Safety
    /// `from` is readable for a row of `n` elements of `dtype`, `to` writable for `n` floats, apart from each other.
    unsafe fn convert<S: Simd>(s: S, dtype: DType, from: *const u8, to: *mut f32, n: usize);
}

/// Elements of one type, keys and values alike.
pub(super) struct Plain<E>(PhantomData<E>);

impl<E: Elem> Source for Plain<E> {
    type Direct = E;
    const DIRECT: bool = true;
    const WIDE: bool = E::SIZE == 4;
    const SHORT: bool = E::SIZE == 2;

    #[inline(always)]
    unsafe fn convert<S: Simd>(s: S, _dtype: DType, from: *const u8, to: *mut f32, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { widen::<S, E>(s, from, to, n) }
    }
}

/// Any type, or two different ones.
pub(super) struct Any;

impl Source for Any {
    type Direct = F32;
    const DIRECT: bool = false;
    const WIDE: bool = false;
    const SHORT: bool = false;

    #[inline(always)]
    unsafe fn convert<S: Simd>(s: S, dtype: DType, from: *const u8, to: *mut f32, n: usize) {
        match dtype {
            // SAFETY: the caller's promise.
            DType::Q8_0 => unsafe { q8_0(s, from, to, n) },
            // SAFETY: the caller's promise.
            DType::Q4_0 => unsafe { q4_0(s, from, to, n) },
            _ => {
                // SAFETY: the caller promises `n` floats, and no other reference to them.
                let to = unsafe { core::slice::from_raw_parts_mut(to, n) };
                let bytes = n / dtype.block_len().max(1) * dtype.block_bytes();
                // SAFETY: the caller promises a row.
                let from = unsafe { core::slice::from_raw_parts(from, bytes) };
                // The row was checked by core, so there is nothing to report.
                let _ = block::decode_row(dtype, from, to);
            }
        }
    }
}

/// # Safety
/// As [`Source::convert`].
#[inline(always)]
unsafe fn widen<S: Simd, E: Elem>(s: S, from: *const u8, to: *mut f32, n: usize) {
    let mut i = 0;
    while i + LANES <= n {
        // SAFETY: `i + LANES <= n`.
        let v = unsafe { E::load(s, from.wrapping_add(i * E::SIZE)) };
        // SAFETY: `i + LANES <= n`.
        unsafe { s.store(to.wrapping_add(i), v) };
        i += LANES;
    }
    if i < n {
        // SAFETY: `n - i` elements are left.
        let v = unsafe { E::load_part(s, from.wrapping_add(i * E::SIZE), n - i) };
        // SAFETY: `n - i` elements are left.
        unsafe { F32::store_part(s, to.wrapping_add(i).cast(), v, n - i) };
    }
}

/// Elements of a block of `Q8_0` or `Q4_0`.
const BLOCK: usize = 32;

/// A block's scale.
///
/// # Safety
/// `p` is readable for two bytes.
#[inline(always)]
unsafe fn scale(p: *const u8) -> f32 {
    // SAFETY: the caller's promise.
    float::f16_to_f32(u16::from_le(unsafe { p.cast::<u16>().read_unaligned() }))
}

/// Writes 32 bytes times a scale.
///
/// # Safety
/// `levels` is readable for 32 bytes, `to` writable for 32 floats.
#[inline(always)]
unsafe fn scaled<S: Simd>(s: S, levels: *const i8, d: f32, to: *mut f32) {
    let d = s.splat(d);
    for i in 0..BLOCK / LANES {
        // SAFETY: inside the 32 bytes.
        let v = unsafe { s.load_i8(levels.wrapping_add(i * LANES)) };
        // SAFETY: inside the 32 floats.
        unsafe { s.store(to.wrapping_add(i * LANES), v * d) };
    }
}

/// # Safety
/// As [`Source::convert`], of `Q8_0`.
#[inline(always)]
unsafe fn q8_0<S: Simd>(s: S, from: *const u8, to: *mut f32, n: usize) {
    for b in 0..n / BLOCK {
        let block = from.wrapping_add(b * 34);
        // SAFETY: the row has this block.
        let d = unsafe { scale(block) };
        // SAFETY: the row has this block, the result these 32 floats.
        unsafe { scaled(s, block.wrapping_add(2).cast(), d, to.wrapping_add(b * BLOCK)) };
    }
}

/// # Safety
/// As [`Source::convert`], of `Q4_0`.
#[inline(always)]
unsafe fn q4_0<S: Simd>(s: S, from: *const u8, to: *mut f32, n: usize) {
    for b in 0..n / BLOCK {
        let block = from.wrapping_add(b * 18);
        // SAFETY: the row has this block.
        let d = unsafe { scale(block) };
        // SAFETY: the row has this block.
        let packed = unsafe { block.wrapping_add(2).cast::<[u8; 16]>().read_unaligned() };
        let mut levels = [0i8; BLOCK];
        let (low, high) = levels.split_at_mut(16);
        for ((low, high), p) in low.iter_mut().zip(high).zip(packed) {
            *low = (p & 15) as i8 - 8;
            *high = (p >> 4) as i8 - 8;
        }
        // SAFETY: 32 levels, and the result has these 32 floats.
        unsafe { scaled(s, levels.as_ptr(), d, to.wrapping_add(b * BLOCK)) };
    }
}
