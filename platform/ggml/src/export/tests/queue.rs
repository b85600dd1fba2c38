//! A device with a queue, in which nothing is done before somebody waits for it.

use super::super::buffer;
use super::{EXPORT, Export, Host, OK, REFERENCE, at};
use crate::abi::{self, StreamHead, StreamIRows, Tensor};
use core::ffi::c_void;
use core::ptr::null;
use dinrail_core::Result;
use dinrail_core::hal::{
    self, Backend as _, Buffer, BufferType, Caps, Device, DeviceKind, Key, Params, Query, Raw,
    Rows, Span, Stream, StreamOps,
};
use dinrail_core::op::Op;
use dinrail_core::program::Program;
use dinrail_core::tensor::DType;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes to be copied, by their addresses.
struct Job {
    from: usize,
    to: usize,
    len: usize,
}

/// The reference device, whose streams wait with transfers until they must.
struct Late {
    inner: &'static dyn Device,
    /// One for all streams, so that it is in everybody's order.
    queue: Mutex<Vec<Job>>,
}

impl Late {
    fn push(&self, from: *const u8, to: *mut u8, len: usize) {
        let (from, to) = (from.expose_provenance(), to.expose_provenance());
        self.queue.lock().unwrap().push(Job { from, to, len });
    }

    fn drain(&self) {
        for job in self.queue.lock().unwrap().drain(..) {
            let from = core::ptr::with_exposed_provenance::<u8>(job.from);
            let to = core::ptr::with_exposed_provenance_mut::<u8>(job.to);
            // SAFETY: whoever queued it keeps the memory until he has waited.
            unsafe { from.copy_to(to, job.len) };
        }
    }

    fn place(buffer: &Buffer<'_>, at: Span<'_>, offset: usize) -> *mut u8 {
        buffer.host().unwrap().as_ptr().wrapping_add(at.offset + offset)
    }
}

impl Device for Late {
    fn name(&self) -> &str {
        "Late"
    }
    fn description(&self) -> &str {
        "does everything late"
    }
    fn kind(&self) -> DeviceKind {
        DeviceKind::Gpu
    }
    fn caps(&self) -> Caps {
        Caps { asynchronous: true, ..Caps::default() }
    }
    fn open(&'static self, params: &Params<'_>) -> Result<Stream> {
        let inner = Box::into_raw(Box::new(self.inner.open(params)?));
        // SAFETY: `free` takes the word for what it is, once.
        Ok(unsafe { Stream::new(self, self, Raw::pointer(inner)) })
    }
    fn buffer_type(&'static self) -> &'static dyn BufferType {
        self.inner.buffer_type()
    }
    fn supports(&self, query: &Query<'_>) -> bool {
        self.inner.supports(query)
    }
    fn supports_buffer_type(&self, ty: &dyn BufferType) -> bool {
        self.inner.supports_buffer_type(ty)
    }
}

impl StreamOps for Late {
    fn name(&self) -> &str {
        "Late"
    }
    fn free(&self, key: Key<'_>) {
        self.drain();
        // SAFETY: `open` made it, and it comes back once.
        drop(unsafe { Box::from_raw(key.pointer::<Stream>()) });
    }
    fn set_async(
        &self,
        _: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &[u8],
    ) -> Result<()> {
        self.push(data.as_ptr(), Self::place(buffer, at, offset), data.len());
        Ok(())
    }
    fn get_async(
        &self,
        _: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &mut [u8],
    ) -> Result<()> {
        self.push(Self::place(buffer, at, offset), data.as_mut_ptr(), data.len());
        Ok(())
    }
    fn set_2d_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &[u8],
    ) -> Result<()> {
        (0..rows.count).try_for_each(|i| {
            let piece = &data[i * rows.host_stride..][..rows.len];
            self.set_async(key, buffer, at, offset + i * rows.stride, piece)
        })
    }
    fn copy_async(
        &self,
        _: Key<'_>,
        from: &Stream,
        source: (&Buffer<'_>, Span<'_>),
        target: (&Buffer<'_>, Span<'_>),
    ) -> Result<bool> {
        if !core::ptr::addr_eq(from.device(), self) {
            return Ok(false);
        }
        let (a, b) = (Self::place(source.0, source.1, 0), Self::place(target.0, target.1, 0));
        self.push(a, b, source.1.desc.bytes());
        Ok(true)
    }
    fn synchronize(&self, _: Key<'_>) -> Result<()> {
        self.drain();
        Ok(())
    }
    fn compute(&self, key: Key<'_>, program: &Program<'_>) -> Result<()> {
        self.drain();
        // SAFETY: `open` made it, and the stream is alive.
        unsafe { &*key.pointer::<Stream>() }.compute(program)
    }
}

impl hal::Backend for Late {
    fn name(&self) -> &str {
        "Late"
    }
    fn device_count(&self) -> usize {
        1
    }
    fn device(&'static self, _: usize) -> Option<&'static dyn Device> {
        Some(self)
    }
}

fn host() -> Host {
    let late = Late { inner: REFERENCE.device(0).unwrap(), queue: Mutex::default() };
    let export = Box::leak(Box::new(Export::new(Box::leak(Box::new(late)))));
    Host::new(export.dinrail())
}

impl Host {
    fn wait(&self) {
        // SAFETY: the stream's own function.
        unsafe { self.iface().synchronize.unwrap()(self.stream) };
    }

    fn set_async(&self, t: *mut Tensor, x: &[f32], at: usize) {
        let (f, n) = (self.iface().set_tensor_async.unwrap(), size_of_val(x));
        // SAFETY: the stream's own function; the tests wait while `x` is there.
        unsafe { f(self.stream, t, x.as_ptr().cast(), at, n) };
    }

    fn get_async(&self, t: *mut Tensor, x: &mut [f32], at: usize) {
        let (f, n) = (self.iface().get_tensor_async.unwrap(), size_of_val(x));
        // SAFETY: as in `set_async`.
        unsafe { f(self.stream, t, x.as_mut_ptr().cast(), at, n) };
    }

    fn copy_async(&self, source: *mut abi::Stream, from: *mut Tensor, to: *mut Tensor) -> bool {
        // SAFETY: the stream's own function, with streams and tensors of these tests.
        unsafe { self.iface().cpy_tensor_async.unwrap()(source, self.stream, from, to) }
    }
}

#[test]
fn transfers_are_queued() {
    let mut host = host();
    let a = host.tensor(DType::F32, [4, 1, 1, 1]);
    let b = host.op(Op::Sqr, [4, 1, 1, 1], &[a]);
    let g = host.graph(&[b]);
    host.set(a, &[0.0; 4]);
    let (data, part, mut out) = ([1.0, 2.0, 3.0, 4.0], [7.0], [0.0; 3]);
    host.set_async(a, &data, 0);
    host.set_async(a, &part, 8);
    assert_eq!(host.get(a, 4), [0.0; 4], "nobody has waited");
    assert_eq!(host.compute(g), OK);
    host.get_async(b, &mut out, 4);
    assert_eq!(out, [0.0; 3], "nobody has waited");
    host.wait();
    assert_eq!((host.get(a, 4), out), (vec![1.0, 2.0, 7.0, 4.0], [4.0, 49.0, 16.0]));
    // Outside of the tensor's memory, and without any: said, and nothing is changed.
    host.set_async(a, &data, super::SIZE - 8);
    host.set_async(a, &data, usize::MAX - 4);
    let before = *at(a);
    at(a).buffer = core::ptr::null_mut();
    host.set_async(a, &data, 0);
    *at(a) = before;
    host.wait();
    assert_eq!(host.get(a, 4), [1.0, 2.0, 7.0, 4.0]);
    // A view lies where what it is of lies.
    let v = host.op(Op::View, [2, 1, 1, 1], &[a]);
    (at(v).view_src, at(v).data, at(v).buffer) =
        (a, at(a).data.wrapping_byte_add(8), core::ptr::null_mut());
    host.set_async(v, &[5.0], 4);
    host.wait();
    assert_eq!(host.get(a, 4), [1.0, 2.0, 7.0, 5.0]);
    // A stream that goes finishes what it has.
    host.set_async(a, &data, 0);
    let i = host.iface;
    // SAFETY: the device's own function.
    let new = unsafe { i.init_backend.unwrap()(host.device, null()) };
    // SAFETY: the stream's own function.
    unsafe { host.iface().free.unwrap()(core::mem::replace(&mut host.stream, new)) };
    assert_eq!(host.get(a, 4), data);
}

#[test]
fn rows_are_queued() {
    let mut host = host();
    let a = host.tensor(DType::F32, [4, 3, 1, 1]);
    host.set(a, &[0.0; 12]);
    let (data, mut out) = ([1.0f32, 2.0, 9.0, 3.0, 4.0, 9.0, 5.0, 6.0], [0.0f32; 9]);
    let rows = host.iface().rows;
    // Three pieces of two numbers: four numbers apart there, three here.
    // SAFETY: the stream's own function; what it uses is there until it was waited for.
    unsafe { rows.set.unwrap()(host.stream, a, data.as_ptr().cast(), 4, 8, 3, 16, 12) };
    assert_eq!(host.get(a, 12), [0.0; 12], "nobody has waited");
    // SAFETY: as above. This one isn't queued by the device: core waits.
    unsafe { rows.get.unwrap()(host.stream, a, out.as_mut_ptr().cast(), 4, 8, 3, 16, 12) };
    host.wait();
    assert_eq!(host.get(a, 12), [0.0, 1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 5.0, 6.0, 0.0]);
    assert_eq!(out, [1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 5.0, 6.0, 0.0]);
    // SAFETY: as above; nothing is read for what can't be.
    unsafe { rows.set.unwrap()(host.stream, a, data.as_ptr().cast(), 4, 8, 3, usize::MAX / 2, 12) };
    host.wait();
    assert_eq!(host.get(a, 12)[0], 0.0);
}

#[test]
fn copies_between_streams_are_queued() {
    let (mut host, mut plain) = (host(), Host::new(EXPORT.dinrail()));
    let a = host.tensor(DType::F32, [4, 1, 1, 1]);
    let b = host.tensor(DType::F32, [4, 1, 1, 1]);
    host.set(a, &[0.0; 4]);
    host.set(b, &[0.0; 4]);
    // SAFETY: the device's own function.
    let second = unsafe { host.iface.init_backend.unwrap()(host.device, null()) };
    let data = [1.0, 2.0, 3.0, 4.0];
    host.set_async(a, &data, 0);
    assert!(host.copy_async(second, a, b));
    assert_eq!(host.get(b, 4), [0.0; 4], "nobody has waited");
    host.wait();
    assert_eq!(host.get(b, 4), data, "behind what was queued before");
    // What is of another shape or type the host copies itself.
    let other = host.tensor(DType::F32, [2, 2, 1, 1]);
    assert!(!host.copy_async(second, a, other));
    let types = host.tensor(DType::F16, [4, 1, 1, 1]);
    assert!(!host.copy_async(second, a, types));
    // From a device without a queue: done at once.
    let there = plain.tensor(DType::F32, [4, 1, 1, 1]);
    plain.set(there, &[8.0; 4]);
    assert!(host.copy_async(plain.stream, there, b));
    assert_eq!(host.get(b, 4), [8.0; 4]);
    let i = plain.iface();
    assert!(i.set_tensor_async.is_none() && i.get_tensor_async.is_none());
    assert!(i.rows.set.is_none() && i.rows.get.is_none() && i.cpy_tensor_async.is_none());
    assert!(i.synchronize.is_none());
    // From a stream of somebody else's: not ours to copy.
    unsafe extern "C" fn free(_: *mut abi::Stream) {}
    // SAFETY: a stream of this layout.
    let mut foreign = unsafe { second.cast::<StreamHead<StreamIRows>>().read() };
    foreign.iface.free = Some(free);
    assert!(!host.copy_async((&raw mut foreign).cast(), a, b));
    // SAFETY: the stream's own function.
    unsafe { host.iface().free.unwrap()(second) };
}

/// What lies in memory of another backend's goes through that one's functions, behind the queue.
#[test]
fn memory_of_others() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn free(_: *mut abi::Buffer) {}
    unsafe extern "C" fn set(
        _: *mut abi::Buffer,
        _: *mut Tensor,
        _: *const c_void,
        at: usize,
        n: usize,
    ) {
        CALLS.fetch_add(at + n, Ordering::Relaxed);
    }
    let mut host = host();
    let a = host.tensor(DType::F32, [4, 1, 1, 1]);
    let b = host.tensor(DType::F32, [4, 1, 1, 1]);
    host.set(a, &[0.0; 4]);
    // SAFETY: a buffer of this layout.
    let mut foreign = unsafe { host.buffer.cast::<buffer::Head>().read() };
    foreign.iface.free_buffer = Some(free);
    foreign.iface.set_tensor = Some(set);
    foreign.iface.get_tensor = None;
    at(b).buffer = (&raw mut foreign).cast();
    let (data, mut out) = ([1.0; 4], [9.0; 4]);
    host.set_async(a, &data, 0);
    host.set_async(b, &data[..2], 4);
    assert_eq!(CALLS.load(Ordering::Relaxed), 12);
    assert_eq!(host.get(a, 4), data, "the queue was waited for");
    // A function that isn't there: said, nothing else.
    host.get_async(b, &mut out, 0);
    assert_eq!(out, [9.0; 4]);
    assert!(!host.copy_async(host.stream, a, b) && !host.copy_async(host.stream, b, a));
    at(b).buffer = host.buffer;
}
