//! A heap that counts, and a small program.
#![allow(dead_code)]

use dinrail_core::graph::{GraphBuf, NodeId};
use dinrail_core::hal::host::Heap;
use dinrail_core::hal::{Buffer, Device, Params, Stream};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;
use dinrail_core::{Error, Result};
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

pub struct Counting(pub AtomicUsize);

impl Counting {
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub fn living(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

// SAFETY: each piece is the caller's alone until it is freed, and its bytes are set.
unsafe impl Heap for Counting {
    fn alloc(&self, bytes: usize, align: usize) -> Result<NonNull<u8>> {
        let none = Error::OutOfMemory { requested: bytes, available: usize::MAX };
        let layout = Layout::from_size_align(bytes, align).map_err(|_| none)?;
        self.0.fetch_add(1, Ordering::SeqCst);
        // SAFETY: core asks for at least one byte.
        NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).ok_or(none)
    }

    unsafe fn free(&self, ptr: NonNull<u8>, bytes: usize, align: usize) {
        self.0.fetch_sub(1, Ordering::SeqCst);
        let layout = Layout::from_size_align(bytes, align).unwrap();
        // SAFETY: the caller promises that this is what `alloc` gave.
        unsafe { std::alloc::dealloc(ptr.as_ptr(), layout) };
    }
}

/// Opens a stream, allocates two buffers, computes `w * x + x` with w in slot 1, and reads the result.
pub fn job(device: &'static dyn Device) -> Result<Vec<f32>> {
    let stream = device.open(&Params::default())?;
    let weights = Buffer::new(device.buffer_type(), 64)?;
    weights.write(0, &[2.0f32, 3.0, 4.0].map(f32::to_le_bytes).concat())?;
    let mut out = vec![0.0; 3];
    program(device, &weights, |p, x, y| {
        p.set_f32(x, &[1.0, 10.0, 100.0])?;
        compute(&stream, p)?;
        p.get_f32(y, &mut out)
    })?;
    Ok(out)
}

pub fn compute(stream: &Stream, program: &Program<'_>) -> Result<()> {
    stream.compute(program)?;
    stream.synchronize()
}

pub fn program<R>(
    device: &'static dyn Device,
    weights: &Buffer<'static>,
    f: impl FnOnce(&Program<'_>, NodeId, NodeId) -> Result<R>,
) -> Result<R> {
    let mut graph = GraphBuf::<8>::new();
    let mut b = graph.builder();
    let x = b.input(DType::F32, [3, 1, 1, 1]);
    let w = b.leaf(DType::F32, [3, 1, 1, 1], 1, 0);
    let wx = b.mul(w, x);
    let y = b.add(wx, x);
    b.output(y);
    b.finish()?;
    let plan = PlanBuf::<8>::new(graph.graph(), &Options { in_place: false, ..Options::DEFAULT })?;
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena)?;
    let bindings = [Binding::new(&arena), Binding::new(weights)];
    f(&Program::new(graph.graph(), plan.plan(), &bindings)?, x, y)
}

pub fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

pub fn reference(heap: &'static Counting) -> &'static dyn Device {
    use dinrail_core::hal::Backend;
    leak(dinrail_reference::Backend::new(Some(heap))).device(0).unwrap()
}
