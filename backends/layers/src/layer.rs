//! What all layers share: the wrapper, and the hooks that tell them apart.

use crate::handle;
use crate::{Call, Kind};
use alloc::vec::Vec;
use dinrail_core::error::Result;
use dinrail_core::hal::{Buffer, Device, Stream};
use dinrail_core::program::{Binding, Program};

/// What a layer does round each call. Every function has a default that does nothing more than the wrapped device.
pub trait Hook: Sync {
    /// Before the call. An error is the call's result, and the wrapped device never sees the call.
    ///
    /// # Errors
    /// Whatever the layer wants the caller to see.
    fn before(&self, call: &Call) -> Result<()> {
        let _ = call;
        Ok(())
    }

    /// After the call, with how it went.
    fn after(&self, call: &Call, result: Result<()>) {
        let _ = (call, result);
    }

    /// Computes a program. Everything that the layer's own memory holds has been replaced by the wrapped device's.
    ///
    /// # Errors
    /// Those of the wrapped device.
    fn compute(&self, stream: &Stream, program: &Program<'_>) -> Result<()> {
        stream.compute(program)
    }

    /// Whether the device may use no memory but the layer's own.
    fn is_walled(&self) -> bool {
        false
    }

    /// Bytes to allocate in front of and behind every buffer.
    fn margin(&self) -> usize {
        0
    }

    /// A buffer was allocated, margins included.
    ///
    /// # Errors
    /// Those of the wrapped device.
    fn allocated(&self, buffer: &Buffer<'_>) -> Result<()> {
        let _ = buffer;
        Ok(())
    }

    /// A buffer is about to be freed.
    fn freed(&self, buffer: &Buffer<'_>) {
        let _ = buffer;
    }
}

/// A device, wrapped. It is its own kind of memory and drives its own streams, so that one `static` is all there is.
pub struct Layer<H: Hook + 'static> {
    pub(crate) device: &'static dyn Device,
    pub(crate) hook: H,
}

impl<H: Hook> Layer<H> {
    /// Wraps `device`.
    pub const fn new(device: &'static dyn Device, hook: H) -> Self {
        Self { device, hook }
    }

    /// The wrapped device.
    pub const fn device(&self) -> &'static dyn Device {
        self.device
    }

    /// What the layer does.
    pub const fn hook(&self) -> &H {
        &self.hook
    }

    pub(crate) fn around<T>(&self, call: Call, f: impl FnOnce() -> Result<T>) -> Result<T> {
        let result = self.hook.before(&call).and_then(|()| f());
        self.hook.after(&call, result.as_ref().map(|_| ()).map_err(|e| *e));
        result
    }

    pub(crate) fn round<T>(&self, call: Call, f: impl FnOnce() -> T) -> T {
        // A function that gives something back can't fail.
        let _ = self.hook.before(&call);
        let value = f();
        self.hook.after(&call, Ok(()));
        value
    }

    /// Calls `f` with the program on the wrapped device's memory.
    pub(crate) fn unwrapped<R>(
        &self,
        kind: Kind,
        program: &Program<'_>,
        f: impl FnOnce(&Program<'_>) -> Result<R>,
    ) -> Result<R> {
        let bindings: Vec<_> = program.bindings().iter().map(|b| self.binding(b)).collect();
        let call = Call::program(kind, program.range());
        self.around(call, || f(&program.rebind(&bindings)?))
    }

    fn binding<'a>(&self, outer: &Binding<'a>) -> Binding<'a> {
        let Some(buffer) = outer.buffer() else { return Binding::NONE };
        // SAFETY: the key is only looked into.
        match unsafe { buffer.key_for(self) } {
            // SAFETY: the key is of a buffer of this layer, whose words `alloc` makes with `keep` of a `Buffer`; the
            // program borrows the outer buffer, so the inner one lives as long.
            Some(key) => Binding::at(
                unsafe { handle::inner::<Buffer<'static>>(key) },
                outer.offset() + self.hook.margin(),
            ),
            None => *outer,
        }
    }
}

impl<H: Hook> core::fmt::Debug for Layer<H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Layer").field("device", &self.device.name()).finish_non_exhaustive()
    }
}
