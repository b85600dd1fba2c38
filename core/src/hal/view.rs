//! Safe access to host memory that others may also look at.
#![allow(unsafe_code)]

use crate::tensor::float;
use core::marker::PhantomData;

/// A piece of host memory, read and written byte-wise with bounds checks, like `&[Cell<u8>]`. Several views may
/// overlap, as the source and the result of an operation in place do.
///
/// Reads outside give zeros and writes outside (or to read-only memory) are dropped, in release builds; debug builds
/// assert. [`Program`](crate::program::Program) has checked that a node's tensors lie inside, so neither happens to
/// code that follows strides.
#[derive(Clone, Copy, Debug)]
pub struct HostView<'a> {
    ptr: *mut u8,
    len: usize,
    writable: bool,
    memory: PhantomData<&'a core::cell::Cell<u8>>,
}

macro_rules! number {
    ($($read:ident $write:ident $t:ty;)*) => {$(
        /// The little-endian number at a byte offset.
        #[inline]
        pub fn $read(&self, offset: usize) -> $t {
            <$t>::from_le_bytes(self.read(offset))
        }

        /// Stores a number, little-endian, at a byte offset.
        #[inline]
        pub fn $write(&self, offset: usize, value: $t) {
            self.write(offset, &value.to_le_bytes());
        }
    )*};
}

impl<'a> HostView<'a> {
    /// # Safety
    /// * `ptr` is valid for reads of `len` bytes, and for writes if `writable`, during `'a`.
    /// * Nobody writes there from another thread during `'a`, unless the two parties use disjoint bytes.
    pub(crate) const unsafe fn new(ptr: *mut u8, len: usize, writable: bool) -> Self {
        Self { ptr, len, writable, memory: PhantomData }
    }

    /// A view of the caller's own memory.
    pub const fn of(bytes: &'a mut [u8]) -> Self {
        Self { ptr: bytes.as_mut_ptr(), len: bytes.len(), writable: true, memory: PhantomData }
    }

    /// Number of bytes.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `N` bytes at an offset.
    #[inline]
    pub fn read<const N: usize>(&self, offset: usize) -> [u8; N] {
        let mut out = [0; N];
        self.copy_to(offset, &mut out);
        out
    }

    /// Copies bytes out.
    #[inline]
    pub fn copy_to(&self, offset: usize, out: &mut [u8]) {
        if offset > self.len || out.len() > self.len - offset {
            debug_assert!(false, "read of {}+{} in {} bytes", offset, out.len(), self.len);
            out.fill(0);
            return;
        }
        // SAFETY: the range was checked, so the address is inside the view.
        let from = unsafe { self.ptr.add(offset) };
        // SAFETY: `new` promised that these bytes are readable; `out` is exclusive, so the two can't overlap.
        unsafe { core::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) };
    }

    /// Copies bytes in.
    #[inline]
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        if !self.writable || offset > self.len || bytes.len() > self.len - offset {
            debug_assert!(false, "write of {}+{} in {} bytes", offset, bytes.len(), self.len);
            return;
        }
        // SAFETY: the range was checked, so the address is inside the view.
        let to = unsafe { self.ptr.add(offset) };
        // SAFETY: `new` promised that these bytes are writable, and no reference to them exists: views only copy.
        unsafe { core::ptr::copy(bytes.as_ptr(), to, bytes.len()) };
    }

    number! {
        u8 set_u8 u8; i8 set_i8 i8; u16 set_u16 u16; i16 set_i16 i16; i32 set_i32 i32; i64 set_i64 i64;
        f32 set_f32 f32; f64 set_f64 f64;
    }

    /// The half-precision number at a byte offset.
    #[inline]
    pub fn f16(&self, offset: usize) -> f32 {
        float::f16_to_f32(self.u16(offset))
    }

    /// The bfloat16 number at a byte offset.
    #[inline]
    pub fn bf16(&self, offset: usize) -> f32 {
        float::bf16_to_f32(self.u16(offset))
    }
}
