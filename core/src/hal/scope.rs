//! Transfers that a stream queues.

use super::{Buffer, Rows, Span, Stream};
use crate::error::{Error, Result};
use crate::program::Program;
use core::marker::PhantomData;

/// Transfers whose host memory is borrowed until the scope ends. See [`Stream::scope`].
pub struct Scope<'env> {
    stream: &'env Stream,
    data: PhantomData<core::cell::Cell<&'env mut ()>>,
}

impl<'env> Scope<'env> {
    pub(super) fn of(stream: &'env Stream) -> Self {
        Self { stream, data: PhantomData }
    }

    /// Queues a copy of `data` to byte `offset` of a tensor.
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::ReadOnly`], or what the device reports.
    pub fn set(
        &self,
        buffer: &'env Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &'env [u8],
    ) -> Result<()> {
        if !buffer.check_transfer(&at, offset, data.len(), true)? {
            return Ok(());
        }
        self.stream.ops.set_async(self.stream.key(), buffer, at, offset, data)
    }

    /// Queues a copy from byte `offset` of a tensor.
    ///
    /// # Errors
    /// [`Error::Range`], or what the device reports.
    pub fn get(
        &self,
        buffer: &'env Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &'env mut [u8],
    ) -> Result<()> {
        if !buffer.check_transfer(&at, offset, data.len(), false)? {
            return Ok(());
        }
        self.stream.ops.get_async(self.stream.key(), buffer, at, offset, data)
    }

    /// [`set`](Self::set) for pieces of equal length.
    ///
    /// # Errors
    /// As `set`.
    pub fn set_2d(
        &self,
        buffer: &'env Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &'env [u8],
    ) -> Result<()> {
        if !buffer.check_2d(&at, offset, rows, data.len())? {
            return Ok(());
        }
        if !buffer.is_writable() {
            return Err(Error::ReadOnly);
        }
        self.stream.ops.set_2d_async(self.stream.key(), buffer, at, offset, rows, data)
    }

    /// [`get`](Self::get) for pieces of equal length.
    ///
    /// # Errors
    /// As `get`.
    pub fn get_2d(
        &self,
        buffer: &'env Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &'env mut [u8],
    ) -> Result<()> {
        if !buffer.check_2d(&at, offset, rows, data.len())? {
            return Ok(());
        }
        self.stream.ops.get_2d_async(self.stream.key(), buffer, at, offset, rows, data)
    }

    /// Queues a program.
    ///
    /// # Errors
    /// As [`Stream::compute`].
    pub fn compute(&self, program: &'env Program<'env>) -> Result<()> {
        self.stream.compute(program)
    }
}

impl core::fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Scope").field(&self.stream).finish()
    }
}
