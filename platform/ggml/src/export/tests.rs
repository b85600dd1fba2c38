//! What a host sees, function by function, with a host made of this crate's own base library.

mod queue;

use super::Export;
use super::codes::Codes;
use crate::abi::params::{self, Codes as _};
use crate::abi::{
    self, BufferFns, Device, DeviceI, Graph, Layout, Reg, Status, StreamHead, StreamIRows, Tensor,
};
use crate::base::{Base, Context};
use crate::numbers::Numbers;
use crate::own;
use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use dinrail_core::hal::{self, Backend as _, Stream};
use dinrail_core::op::{Glu, GluKind, Kind, Op, Precision, Rope, RopeMode, Unary, Window};
use dinrail_core::program::Program;
use dinrail_core::tensor::DType;
use dinrail_core::{Error, Result};
use dinrail_layers::{Call, Hook, Layer};
use dinrail_reference::Backend;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
struct SystemHeap;

// SAFETY: each piece is the caller's alone until it is freed, and its bytes are set.
unsafe impl hal::host::Heap for SystemHeap {
    fn alloc(&self, bytes: usize, align: usize) -> Result<core::ptr::NonNull<u8>> {
        let none = Error::OutOfMemory { requested: bytes, available: usize::MAX };
        let layout = core::alloc::Layout::from_size_align(bytes, align).map_err(|_| none)?;
        if bytes > 1 << 30 {
            return Err(none);
        }
        // SAFETY: core asks for at least one byte.
        core::ptr::NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).ok_or(none)
    }

    unsafe fn free(&self, ptr: core::ptr::NonNull<u8>, bytes: usize, align: usize) {
        let layout = core::alloc::Layout::from_size_align(bytes, align).unwrap();
        // SAFETY: the caller promises that this is what `alloc` gave.
        unsafe { std::alloc::dealloc(ptr.as_ptr(), layout) };
    }
}

static REFERENCE: Backend = Backend::new(Some(&SystemHeap));
static EXPORT: Export = Export::new(&REFERENCE);

fn device(reg: *mut Reg) -> (*mut Device, DeviceI) {
    assert!(!reg.is_null());
    // SAFETY: a registration with a device.
    let r = unsafe { reg.read() };
    assert_eq!(r.api_version, 2);
    // SAFETY: its own function.
    let d = unsafe { r.iface.get_device.unwrap()(reg, 0) };
    assert!(!d.is_null());
    // SAFETY: a device.
    (d, unsafe { d.read() }.iface)
}

fn name(p: *const core::ffi::c_char) -> &'static str {
    // SAFETY: names of static things.
    unsafe { CStr::from_ptr(p) }.to_str().unwrap()
}

/// A tensor of a host's in these tests, which nobody else uses meanwhile.
fn at<'a>(t: *mut Tensor) -> &'a mut Tensor {
    // SAFETY: every tensor here is one of a living context.
    unsafe { &mut *t }
}

/// The functions of a kind of memory.
fn of_type(ty: *mut abi::BufferType) -> abi::BufferTypeI {
    // SAFETY: every kind of memory here is one that a device gave.
    unsafe { (*ty).iface }
}

/// A host with a context, a stream and a buffer of the device.
struct Host {
    base: Base,
    numbers: Numbers,
    ctx: *mut Context,
    reg: *mut Reg,
    device: *mut Device,
    iface: DeviceI,
    stream: *mut abi::Stream,
    buffer: *mut abi::Buffer,
    fns: BufferFns,
    used: usize,
}

const SIZE: usize = 1 << 16;

impl Host {
    fn new(reg: *mut Reg) -> Self {
        let base = own::ours();
        let numbers = Numbers::of(&base, Layout::V2Rows);
        let params = abi::InitParams { mem_size: 0, mem_buffer: null_mut(), no_alloc: true };
        // SAFETY: plain values.
        let ctx = unsafe { (base.fns.init)(params) };
        let (device, iface) = device(reg);
        // SAFETY: the device's own function.
        let stream = unsafe { iface.init_backend.unwrap()(device, core::ptr::null()) };
        assert!(!stream.is_null());
        // SAFETY: the device's own function.
        let ty = unsafe { iface.get_buffer_type.unwrap()(device) };
        // SAFETY: the type's own function.
        let buffer = unsafe { of_type(ty).alloc_buffer.unwrap()(ty, SIZE) };
        assert!(!buffer.is_null());
        // SAFETY: a buffer of this layout.
        let (fns, _) = unsafe { BufferFns::read(Layout::V2Rows, buffer) };
        Self { base, numbers, ctx, reg, device, iface, stream, buffer, fns, used: 0 }
    }

    /// A tensor in the buffer.
    fn tensor(&mut self, dtype: DType, ne: [i64; 4]) -> *mut Tensor {
        let n = i32::from(dtype as u8);
        // SAFETY: a living context.
        let t = unsafe { (self.base.fns.new_tensor)(self.ctx, n, ne[0], ne[1], ne[2], ne[3]) };
        // SAFETY: a new tensor.
        let r = unsafe { &mut *t };
        r.nb[0] = dtype.block_bytes();
        r.nb[1] = r.nb[0] * (ne[0] as usize / dtype.block_len());
        r.nb[2] = r.nb[1] * ne[1] as usize;
        r.nb[3] = r.nb[2] * ne[2] as usize;
        // SAFETY: the buffer's own function.
        let base = unsafe { self.fns.get_base.unwrap()(self.buffer) }.cast::<u8>();
        (r.buffer, r.data) = (self.buffer, base.wrapping_add(self.used).cast());
        self.used += (r.nb[3] * ne[3] as usize).next_multiple_of(64);
        assert!(self.used <= SIZE);
        t
    }

    fn op(&mut self, op: Op, ne: [i64; 4], src: &[*mut Tensor]) -> *mut Tensor {
        let t = self.tensor(DType::F32, ne);
        // SAFETY: a new tensor.
        let r = unsafe { &mut *t };
        r.op = self.numbers.op(op.kind()).unwrap();
        r.op_params = params::encode(&op, 0, &self.numbers).unwrap();
        r.src[..src.len()].copy_from_slice(src);
        t
    }

    fn set(&self, t: *mut Tensor, x: &[f32]) {
        let n = size_of_val(x);
        // SAFETY: the buffer's own function, with memory of `x`.
        unsafe { self.fns.set_tensor.unwrap()(self.buffer, t, x.as_ptr().cast(), 0, n) };
    }

    fn get(&self, t: *mut Tensor, n: usize) -> Vec<f32> {
        let mut x = vec![0.0f32; n];
        // SAFETY: the buffer's own function, with memory of `x`.
        unsafe {
            self.fns.get_tensor.unwrap()(self.buffer, t, x.as_mut_ptr().cast(), 0, n * 4);
        }
        x
    }

    fn graph(&self, nodes: &[*mut Tensor]) -> *mut Graph {
        // SAFETY: a living context.
        let g = unsafe { (self.base.fns.new_graph)(self.ctx, nodes.len(), false) };
        for &t in nodes {
            // SAFETY: graph and tensor of this context.
            unsafe { (self.base.fns.expand)(g, t) };
        }
        g
    }

    fn iface(&self) -> StreamIRows {
        // SAFETY: a stream of this layout.
        unsafe { (*self.stream.cast::<StreamHead<StreamIRows>>()).iface }
    }

    fn compute(&self, g: *mut Graph) -> i32 {
        // SAFETY: the stream's own function.
        unsafe { self.iface().graph_compute.unwrap()(self.stream, g) }
    }

    fn supports(&self, t: *mut Tensor) -> bool {
        // SAFETY: the device's own function.
        unsafe { self.iface.supports_op.unwrap()(self.device, t) }
    }

    fn proc(&self, name: &CStr) -> *mut c_void {
        // SAFETY: a registration.
        let iface = unsafe { (*self.reg).iface };
        // SAFETY: its own function.
        unsafe { iface.get_proc_address.unwrap()(self.reg, name.as_ptr()) }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: everything is given back once, with its own functions.
        unsafe { self.iface().free.unwrap()(self.stream) };
        // SAFETY: as above.
        unsafe { (self.base.fns.buffer_free)(self.buffer) };
        // SAFETY: as above.
        unsafe { (self.base.fns.free)(self.ctx) };
    }
}

const OK: i32 = Status::Success as i32;
const FAILED: i32 = Status::Failed as i32;

#[test]
fn a_host_sees_the_device() {
    let host = Host::new(EXPORT.dinrail());
    let i = host.iface;
    // SAFETY: the device's own functions.
    assert_eq!(name(unsafe { i.get_name.unwrap()(host.device) }), "Reference");
    // SAFETY: as above.
    assert_eq!(unsafe { i.get_type.unwrap()(host.device) }, abi::DeviceType::Cpu as i32);
    let mut props = core::mem::MaybeUninit::<abi::Props>::zeroed();
    // SAFETY: as above.
    unsafe { i.get_props.unwrap()(host.device, props.as_mut_ptr().cast()) };
    // SAFETY: zeroed and filled.
    let props = unsafe { props.assume_init() };
    assert!(props.buffer_from_host_ptr && !props.asynchronous && !props.events);
    assert!(i.event_new.is_none() && i.get_host_buffer_type.is_none());
    assert!(!host.proc(c"ggml_backend_cpu_numa_init").is_null());
    assert!(!host.proc(c"dinrail_ggml_release").is_null());
    assert!(host.proc(c"something").is_null());
    assert_eq!(EXPORT.dinrail(), host.reg, "the same again");
    // This process has no base library of ggml's, so a host of that kind can't be verified.
    assert!(EXPORT.ggml().is_null());
}

#[test]
fn what_a_host_lent_and_what_it_computes() {
    let mut host = Host::new(EXPORT.dinrail());
    let a = host.tensor(DType::F32, [4, 1, 1, 1]);
    let b = host.tensor(DType::F32, [4, 1, 1, 1]);
    let sum = host.op(Op::Add, [4, 1, 1, 1], &[a, b]);
    let twice = host.op(Op::Scale { scale: 2.0, bias: 1.0 }, [4, 1, 1, 1], &[sum]);
    assert!(host.supports(sum) && host.supports(twice));
    let g = host.graph(&[sum, twice]);
    for x in [1.0, 5.0] {
        host.set(a, &[x; 4]);
        host.set(b, &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(host.compute(g), OK);
        let want: Vec<f32> = (1..=4).map(|i| (x + i as f32) * 2.0 + 1.0).collect();
        assert_eq!(host.get(twice, 4), want);
    }
    // Memory in no buffer.
    let loose = [10.0f32, 20.0, 30.0, 40.0];
    (at(b).buffer, at(b).data) = (null_mut(), loose.as_ptr().cast_mut().cast());
    assert_eq!(host.compute(g), OK);
    assert_eq!(host.get(sum, 4), [15.0, 25.0, 35.0, 45.0]);
    // A plan is a graph as well.
    let i = host.iface();
    // SAFETY: the stream's own functions.
    let plan = unsafe { i.graph_plan_create.unwrap()(host.stream, g) };
    // SAFETY: as above.
    assert_eq!(unsafe { i.graph_plan_compute.unwrap()(host.stream, plan) }, OK);
    // SAFETY: as above.
    unsafe { i.graph_plan_free.unwrap()(host.stream, plan) };
    // Nodes that the host didn't mark are left alone.
    at(sum).flags = 0;
    host.set(sum, &[7.0; 4]);
    assert_eq!(host.compute(g), OK);
    assert_eq!((host.get(sum, 4)[0], host.get(twice, 4)[0]), (7.0, 15.0));
    assert_eq!(host.compute(host.graph(&[])), OK);
}

#[test]
fn casts_and_copies_in_any_shape() {
    let mut host = Host::new(EXPORT.dinrail());
    let a = host.tensor(DType::F32, [2, 3, 1, 1]);
    host.set(a, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    // A view with its dimensions exchanged, made contiguous under other lengths.
    let v = host.op(Op::Transpose, [3, 2, 1, 1], &[a]);
    at(v).nb = [8, 4, 24, 24];
    (at(v).view_src, at(v).data) = (a, at(a).data);
    let c = host.op(Op::Cont, [6, 1, 1, 1], &[v]);
    // A cast names itself as its target.
    let t = host.op(Op::Cpy, [3, 2, 1, 1], &[v]);
    at(t).src[1] = t;
    assert!(host.supports(c) && host.supports(t) && host.supports(v));
    assert_eq!(host.compute(host.graph(&[v, c, t])), OK);
    assert_eq!(host.get(c, 6), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    assert_eq!(host.get(t, 6), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut host = Host::new(EXPORT.dinrail());
    let a = host.tensor(DType::F32, [4, 1, 1, 1]);
    let good = host.op(Op::Sqr, [4, 1, 1, 1], &[a]);
    let g = host.graph(&[good]);
    assert_eq!(host.compute(g), OK);
    let wrong = |what: &str, change: &dyn Fn(&mut Tensor), whole: bool| {
        let before = *at(good);
        change(at(good));
        assert!(!whole || !host.supports(good), "{what}");
        assert_eq!(host.compute(g), FAILED, "{what}");
        *at(good) = before;
        assert_eq!(host.compute(g), OK, "{what}, undone");
    };
    wrong("an operation that nobody has", &|t| t.op = 9999, true);
    wrong("a negative operation", &|t| t.op = -1, true);
    wrong("an operation that dinrail hasn't got", &|t| t.op = 82, true);
    wrong("a type that nobody has", &|t| t.dtype = 77, true);
    wrong("a negative length", &|t| t.ne[0] = -4, true);
    wrong("a length that wraps", &|t| (t.ne[0], t.ne[1]) = (i64::MAX, i64::MAX), true);
    wrong("another shape than the source's", &|t| t.ne[0] = 3, true);
    wrong("no source", &|t| t.src[0] = null_mut(), true);
    wrong("a source too many", &|t| t.src[9] = t.src[0], true);
    wrong(
        "in place, in a layout that isn't the source's",
        &|t| {
            (t.view_src, t.view_offs) = (t.src[0], 4);
        },
        true,
    );
    wrong("no memory", &|t| t.data = null_mut(), false);
    wrong("memory before the buffer", &|t| t.data = core::ptr::without_provenance_mut(64), false);
    wrong("memory behind the buffer", &|t| t.data = t.data.wrapping_byte_add(SIZE), false);
    wrong("an address that no float has", &|t| t.data = t.data.wrapping_byte_add(1), false);
    // Transfers outside leave everything as it was.
    host.set(a, &[1.0, 2.0, 3.0, 4.0]);
    let set = host.fns.set_tensor.unwrap();
    for (at, n) in [(SIZE, 4), (usize::MAX - 2, 4), (SIZE - 8, 16)] {
        // SAFETY: the buffer's own function; the bytes are never read.
        unsafe { set(host.buffer, a, [9u8; 16].as_ptr().cast(), at, n) };
    }
    assert_eq!(host.get(a, 4), [1.0, 2.0, 3.0, 4.0]);
    // SAFETY: the device's own functions.
    let ty = unsafe { host.iface.get_buffer_type.unwrap()(host.device) };
    // SAFETY: as above.
    let none = unsafe { of_type(ty).alloc_buffer.unwrap()(ty, 1 << 40) };
    assert!(none.is_null());
}

/// Notes the numbers of programs, panics and fails when told to.
#[derive(Default)]
struct Watch {
    ids: Mutex<Vec<u64>>,
    mood: AtomicUsize,
}

impl Hook for &'static Watch {
    fn before(&self, _: &Call) -> Result<()> {
        match self.mood.load(Ordering::Relaxed) {
            2 => Err(Error::OutOfMemory { requested: 1, available: 0 }),
            _ => Ok(()),
        }
    }

    fn compute(&self, stream: &Stream, program: &Program<'_>) -> Result<()> {
        assert!(self.mood.load(Ordering::Relaxed) != 1, "on purpose");
        self.ids.lock().unwrap().push(program.range().len() as u64);
        stream.compute(program)
    }
}

struct One(&'static Layer<&'static Watch>);

impl hal::Backend for One {
    fn name(&self) -> &str {
        "One"
    }
    fn device_count(&self) -> usize {
        1
    }
    fn device(&'static self, _: usize) -> Option<&'static dyn hal::Device> {
        Some(self.0)
    }
}

/// A device whose memory the host may not touch, that panics and fails.
#[test]
fn no_panic_crosses_the_border() {
    let watch: &'static Watch = Box::leak(Box::default());
    let layer = Box::leak(Box::new(Layer::new(REFERENCE.device(0).unwrap(), watch)));
    let backend: &'static One = Box::leak(Box::new(One(layer)));
    let export: &'static Export = Box::leak(Box::new(Export::new(backend)));
    let mut host = Host::new(export.dinrail());
    let a = host.tensor(DType::F32, [4, 1, 1, 1]);
    let b = host.op(Op::Sqr, [4, 1, 1, 1], &[a]);
    let g = host.graph(&[b]);
    host.set(a, &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(host.compute(g), OK);
    assert_eq!(host.get(b, 4), [1.0, 4.0, 9.0, 16.0]);
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    watch.mood.store(1, Ordering::Relaxed);
    let panicked = host.compute(g);
    std::panic::set_hook(quiet);
    assert_eq!(panicked, FAILED);
    watch.mood.store(2, Ordering::Relaxed);
    assert_eq!(host.compute(g), Status::AllocFailed as i32);
    watch.mood.store(0, Ordering::Relaxed);
    assert_eq!(host.compute(g), OK);
    assert_eq!(watch.ids.lock().unwrap().len(), 2);
}

#[test]
fn parameters_come_back() {
    let numbers = Numbers::of(&own::ours(), Layout::V2Rows);
    let codes = Codes::of(&numbers, true);
    let precision = Precision::F32;
    let window = Window { nb: [16, 32, 64], offset: 8 };
    let glu = |kind| Op::Glu(Glu { kind, swapped: true });
    let xielu = Unary::Xielu { alpha_n: 0.5, alpha_p: 0.25, beta: 2.0, eps: -1e-6 };
    let all = [
        Op::Cont,
        Op::Dup,
        Op::Cpy,
        Op::Add,
        Op::Sub,
        Op::Mul,
        Op::Div,
        Op::Add1,
        Op::Acc(window),
        Op::Set(window),
        Op::Scale { scale: 2.0, bias: -1.0 },
        Op::Sqr,
        Op::Sqrt,
        Op::Log,
        Op::Sin,
        Op::Cos,
        Op::Sum,
        Op::SumRows,
        Op::Mean,
        Op::Argmax,
        Op::Repeat,
        Op::Concat { dim: 2 },
        Op::Norm { eps: 1e-5 },
        Op::RmsNorm { eps: 1e-6 },
        Op::GroupNorm { groups: 7, eps: 1e-4 },
        Op::L2Norm { eps: 1e-3 },
        Op::MulMat { precision },
        Op::GetRows,
        Op::SetRows,
        Op::DiagMaskInf { past: 3 },
        Op::SoftMax { scale: 0.5, max_bias: 8.0 },
        Op::Rope(Rope::plain(64, RopeMode::NeoX, 1e4)),
        Op::Rope(Rope {
            ext_factor: 1.0,
            trained_context: 4096,
            ..Rope::plain(8, RopeMode::Normal, 5e5)
        }),
        Op::Clamp { min: -1.0, max: 2.0 },
        Op::Unary(Unary::GeluErf),
        Op::Unary(xielu),
        glu(GluKind::Geglu),
        glu(GluKind::SwigluOai { alpha: 1.5, limit: 7.0 }),
        Op::FlashAttn { scale: 0.1, max_bias: 8.0, softcap: 30.0, precision },
        Op::Arange { start: 1.0, stop: 9.0, step: 2.0 },
        Op::Argsort { descending: true },
    ];
    for op in all {
        let dtype = 0;
        let t = Tensor {
            op: numbers.op(op.kind()).unwrap(),
            op_params: params::encode(&op, 0, &numbers).unwrap(),
            dtype,
            ..Tensor::ZERO
        };
        let kind = codes.kind(t.op).unwrap();
        assert_eq!(codes.op(kind, &t), Some(op));
    }
    // A mode with several positions per token, and units of later releases, are not what they look like.
    let mut rope = Tensor::ZERO;
    rope.op_params =
        params::encode(&Op::Rope(Rope::plain(64, RopeMode::NeoX, 1e4)), 0, &numbers).unwrap();
    rope.op_params[2] = 8;
    assert_eq!(codes.op(Kind::Rope, &rope), None);
    (rope.op_params[2], rope.op_params[15]) = (2, 32);
    assert_eq!(codes.op(Kind::Rope, &rope), None, "a parameter that came later");
    let mut clamped = Tensor::ZERO;
    clamped.op_params[0] = 6;
    assert_eq!(codes.op(Kind::Glu, &clamped), None);
    assert_eq!(numbers.unary("SILU"), Some(10));
    for t in DType::ALL {
        assert_eq!(codes.dtype(i32::from(*t as u8)), Some(*t));
    }
    assert_eq!(codes.dtype(-1), None);
}

#[test]
fn a_score_that_panics_is_none() {
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let score = super::score(|| panic!("on purpose"));
    std::panic::set_hook(quiet);
    assert_eq!((score, super::score(|| 7), super::score(|| u32::MAX)), (0, 7, i32::MAX));
}
