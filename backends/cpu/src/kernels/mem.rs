//! A tensor's memory with checked access: what the kernels that only move, convert or combine elements are written
//! on. All their unsafe code is here.

use crate::Operand;
use core::marker::PhantomData;
use dinrail_core::tensor::float::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, nearest_int};
use dinrail_core::tensor::{DType, Desc, block};

/// Elements that are converted at a time: a whole number of blocks of every type.
pub(super) const STAGE: usize = 256;

/// Values that any bytes make.
///
/// # Safety
/// * Every bit pattern is a value.
/// * There are no padding bytes.
pub(super) unsafe trait Plain: Copy {
    /// What a read outside gives.
    const ZERO: Self;
}

macro_rules! plain {
    ($($t:ty = $zero:expr;)*) => {$(
        // SAFETY: a number or an array of numbers.
        unsafe impl Plain for $t {
            const ZERO: Self = $zero;
        }
    )*};
}

plain! {
    u8 = 0; u16 = 0; u32 = 0; u64 = 0; i32 = 0; i64 = 0; f32 = 0.0; [f32; 16] = [0.0; 16];
}

/// A tensor's bytes. Like `&[Cell<u8>]`: several may be the same memory. Access outside reads zeros and writes
/// nothing; debug builds assert. Core has checked that tensors lie in their buffers, so that doesn't happen to code
/// that follows strides.
#[derive(Clone, Copy)]
pub(super) struct Mem<'a> {
    /// Type, lengths and strides.
    pub desc: &'a Desc,
    ptr: *mut u8,
    len: usize,
    memory: PhantomData<&'a core::cell::Cell<u8>>,
}

/// Bytes from the first to the last element. As [`Desc::bytes`], which core has called before: nothing wraps here.
#[inline]
fn span(desc: &Desc) -> usize {
    if desc.is_empty() {
        return 0;
    }
    let (block, size) = (desc.dtype.block_len(), desc.dtype.block_bytes());
    let blocks = if block == 1 { desc.ne[0] } else { desc.ne[0] / block };
    let last = blocks.wrapping_sub(1).wrapping_mul(desc.nb[0]);
    last.wrapping_add(desc.row_offset(desc.ne[1] - 1, desc.ne[2] - 1, desc.ne[3] - 1))
        .wrapping_add(size)
}

impl<'a> Mem<'a> {
    /// # Safety
    /// * The operand is valid for what its description says during `'a`, the result of a kernel for writes too.
    /// * No other thread writes bytes meanwhile that are used through this, and none uses bytes that are written
    ///   through this: workers divide the result, and meet at a barrier before they use each other's bytes.
    pub unsafe fn new(operand: &Operand<'a>) -> Self {
        let len = span(operand.desc);
        Self { desc: operand.desc, ptr: operand.ptr, len, memory: PhantomData }
    }

    /// The address of byte `offset`, if `n` bytes from there lie inside.
    #[inline(always)]
    fn at(&self, offset: usize, n: usize) -> Option<*mut u8> {
        let inside = offset <= self.len && n <= self.len - offset;
        debug_assert!(inside, "bytes {offset}+{n} of {}", self.len);
        inside.then(|| self.ptr.wrapping_add(offset))
    }

    /// The value at byte `offset`.
    #[inline(always)]
    pub fn get<T: Plain>(&self, offset: usize) -> T {
        match self.at(offset, size_of::<T>()) {
            // SAFETY: the bytes lie inside, are readable by the contract of `new`, and any bytes make a `T`.
            Some(p) => unsafe { p.cast::<T>().read_unaligned() },
            None => T::ZERO,
        }
    }

    /// Stores a value at byte `offset`.
    #[inline(always)]
    pub fn set<T: Plain>(&self, offset: usize, value: T) {
        if let Some(p) = self.at(offset, size_of::<T>()) {
            // SAFETY: the bytes lie inside and are writable by the contract of `new`.
            unsafe { p.cast::<T>().write_unaligned(value) };
        }
    }

    /// Bytes to read. Only for the length of one call below, in which nothing is written.
    fn bytes(&self, offset: usize, n: usize) -> &[u8] {
        match self.at(offset, n) {
            // SAFETY: the bytes lie inside and are readable; the caller drops the slice before anything is written, and
            // other threads write elsewhere.
            Some(p) if n > 0 => unsafe { core::slice::from_raw_parts(p, n) },
            _ => &[],
        }
    }

    /// Copies bytes from another tensor; both may be the same memory.
    #[inline]
    pub fn copy(&self, to: usize, from: &Mem<'_>, at: usize, n: usize) {
        if let (Some(to), Some(from)) = (self.at(to, n), from.at(at, n)) {
            // SAFETY: both ranges lie inside; `copy` lets them overlap.
            unsafe { core::ptr::copy(from, to, n) };
        }
    }

    /// Copies `count` blocks of `size` bytes with a stride on either side.
    pub fn copy_blocks(
        &self,
        to: (usize, usize),
        from: (&Mem<'_>, usize, usize),
        count: usize,
        size: usize,
    ) {
        let ((to, to_step), (source, at, step)) = (to, from);
        if to_step == size && step == size {
            return self.copy(to, source, at, count * size);
        }
        let each = |one: &dyn Fn(usize, usize)| {
            for i in 0..count {
                one(
                    to.wrapping_add(i.wrapping_mul(to_step)),
                    at.wrapping_add(i.wrapping_mul(step)),
                );
            }
        };
        match size {
            1 => each(&|to, at| self.set::<u8>(to, source.get(at))),
            2 => each(&|to, at| self.set::<u16>(to, source.get(at))),
            4 => each(&|to, at| self.set::<u32>(to, source.get(at))),
            8 => each(&|to, at| self.set::<u64>(to, source.get(at))),
            _ => each(&|to, at| self.copy(to, source, at, size)),
        }
    }

    /// Reads elements as floats: those of the blocks that start at byte `offset` and follow each other `step` bytes
    /// apart.
    #[inline]
    pub fn load(&self, offset: usize, step: usize, out: &mut [f32]) {
        let dtype = self.desc.dtype;
        let (block, size) = (dtype.block_len(), dtype.block_bytes());
        if step == size || out.len() == block {
            return self.decode(offset, out.len() / block * size, out);
        }
        let at = |i: usize| offset.wrapping_add(i.wrapping_mul(step));
        match dtype {
            DType::F32 => out.iter_mut().enumerate().for_each(|(i, x)| *x = self.get(at(i))),
            DType::F16 => {
                out.iter_mut().enumerate().for_each(|(i, x)| *x = f16_to_f32(self.get(at(i))));
            }
            DType::BF16 => {
                out.iter_mut().enumerate().for_each(|(i, x)| *x = bf16_to_f32(self.get(at(i))));
            }
            _ => {
                for (i, part) in out.chunks_mut(block).enumerate() {
                    self.decode(at(i), size, part);
                }
            }
        }
    }

    /// Reads packed elements of a type that the caller knows when it is compiled, so that no other type's code is
    /// needed.
    #[inline(always)]
    pub fn load_as(&self, dtype: DType, offset: usize, out: &mut [f32]) {
        let bytes = self.bytes(offset, out.len() / dtype.block_len() * dtype.block_bytes());
        let done = block::decode_row(dtype, bytes, out);
        debug_assert!(done.is_ok(), "pieces are whole blocks");
    }

    #[inline]
    fn decode(&self, offset: usize, n: usize, out: &mut [f32]) {
        let done = block::decode_row(self.desc.dtype, self.bytes(offset, n), out);
        debug_assert!(done.is_ok(), "pieces are whole blocks");
    }

    /// Stores floats as elements; otherwise as [`load`](Self::load).
    #[inline]
    pub fn store(&self, offset: usize, step: usize, values: &[f32]) {
        let dtype = self.desc.dtype;
        let (block, size) = (dtype.block_len(), dtype.block_bytes());
        if step == size || values.len() == block {
            return self.encode(offset, values.len() / block * size, values);
        }
        let at = |i: usize| offset.wrapping_add(i.wrapping_mul(step));
        match dtype {
            DType::F32 => values.iter().enumerate().for_each(|(i, x)| self.set(at(i), *x)),
            DType::F16 => {
                values.iter().enumerate().for_each(|(i, x)| self.set(at(i), f32_to_f16(*x)));
            }
            DType::BF16 => {
                values.iter().enumerate().for_each(|(i, x)| self.set(at(i), f32_to_bf16(*x)));
            }
            _ => {
                for (i, part) in values.chunks(block).enumerate() {
                    self.encode(at(i), size, part);
                }
            }
        }
    }

    fn encode(&self, offset: usize, n: usize, values: &[f32]) {
        let bytes = match self.at(offset, n) {
            // SAFETY: the bytes lie inside and are writable; this thread alone uses them by the contract of `new`, and
            // no other reference to them is alive in this function.
            Some(p) if n > 0 => unsafe { core::slice::from_raw_parts_mut(p, n) },
            _ => &mut [],
        };
        if self.desc.dtype as u8 == DType::Q8_0 as u8 {
            return encode_q8_0(values, bytes);
        }
        let done = block::encode_row(self.desc.dtype, values, bytes);
        debug_assert!(done.is_ok(), "pieces are whole blocks");
    }

    /// The `n` words at byte `offset`, to be sorted in place; `None` if they are not aligned.
    pub fn words(&mut self, offset: usize, n: usize) -> Option<&mut [i32]> {
        let p = self.at(offset, n * 4)?.cast::<i32>();
        if !p.is_aligned() || n == 0 {
            return None;
        }
        // SAFETY: the bytes lie inside, are aligned, any bytes make an `i32`, and this thread alone uses them by the
        // contract of `new` while `self` is borrowed.
        Some(unsafe { core::slice::from_raw_parts_mut(p, n) })
    }
}

/// As ggml's processor kernels store activations and caches: halves go to the even level, where a model file's encoder
/// takes them away from zero. Numbers with few bits (bf16) are halves often.
fn encode_q8_0(values: &[f32], bytes: &mut [u8]) {
    const LEN: usize = DType::Q8_0.block_len();
    const SIZE: usize = DType::Q8_0.block_bytes();
    for (x, out) in values.chunks_exact(LEN).zip(bytes.chunks_exact_mut(SIZE)) {
        let most = x.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let inverse = if most > 0.0 { 127.0 / most } else { 0.0 };
        let (d, qs) = out.split_at_mut(2);
        d.copy_from_slice(&f32_to_f16(most / 127.0).to_le_bytes());
        for (q, v) in qs.iter_mut().zip(x) {
            *q = (nearest_int(v * inverse) as i8).cast_unsigned();
        }
    }
}
