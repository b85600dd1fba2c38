//! What a host's graph costs the exported plug-in beside its computation: nanoseconds per node of a graph that comes for
//! the first time, and of one that comes again. The device computes nothing.

use dinrail_ggml::abi::{Graph, Reg, StreamHead, StreamIRows, Tensor, TensorFlag, names};
use dinrail_ggml::export::Export;
use dinrail_null::{Backend, Config};
use std::hint::black_box;
use std::time::{Duration, Instant};

static NULL: Backend = Backend::new(Config { supports: true, ..Config::DEFAULT });
static EXPORT: Export = Export::new(&NULL);

const LAYERS: usize = 30;
const DIM: i64 = 64;

struct Host {
    tensors: usize,
    nodes: Vec<*mut Tensor>,
    buffer: *mut dinrail_ggml::abi::Buffer,
    base: *mut u8,
    used: usize,
}

impl Host {
    fn tensor(&mut self, op: &core::ffi::CStr, ne: [i64; 4], src: &[*mut Tensor]) -> *mut Tensor {
        let op = names::OPS.iter().position(|n| *n == op).unwrap() as i32;
        let t = Box::leak(Box::new(Tensor { op, ne, ..Tensor::ZERO }));
        t.nb[0] = 4;
        for i in 1..4 {
            t.nb[i] = t.nb[i - 1] * ne[i - 1] as usize;
        }
        t.src[..src.len()].copy_from_slice(src);
        (t.buffer, t.data) = (self.buffer, self.base.wrapping_add(self.used).cast());
        self.used += (t.nb[3] * ne[3] as usize).next_multiple_of(64);
        t.flags = TensorFlag::Compute as i32;
        self.tensors += 1;
        let t: *mut Tensor = t;
        if op != 0 {
            self.nodes.push(t);
        }
        t
    }
}

fn least(rounds: usize, mut f: impl FnMut()) -> Duration {
    let mut one = || {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    (0..rounds).map(|_| one()).min().unwrap_or_default()
}

fn main() {
    let reg: *mut Reg = EXPORT.dinrail();
    // SAFETY: a registration.
    let listed = unsafe { (*reg).iface };
    // SAFETY: its own function; so in all that follows.
    let device = unsafe { listed.get_device.unwrap()(reg, 0) };
    // SAFETY: as above.
    let iface = unsafe { (*device).iface };
    // SAFETY: as above.
    let stream = unsafe { iface.init_backend.unwrap()(device, core::ptr::null()) };
    // SAFETY: as above.
    let functions = unsafe { (*stream.cast::<StreamHead<StreamIRows>>()).iface };
    // SAFETY: as above.
    let ty = unsafe { iface.get_buffer_type.unwrap()(device) };
    // SAFETY: as above.
    let kind = unsafe { (*ty).iface };
    // SAFETY: as above.
    let buffer = unsafe { kind.alloc_buffer.unwrap()(ty, 32 << 20) };
    // SAFETY: a buffer of the newest layout.
    let (fns, _) =
        unsafe { dinrail_ggml::abi::BufferFns::read(dinrail_ggml::abi::Layout::V2Rows, buffer) };
    // SAFETY: the buffer's own function.
    let base = unsafe { fns.get_base.unwrap()(buffer) }.cast();
    let mut h = Host { tensors: 0, nodes: Vec::new(), buffer, base, used: 0 };
    let row = [DIM, 1, 1, 1];
    let mut x = h.tensor(c"NONE", row, &[]);
    for _ in 0..LAYERS {
        for _ in 0..8 {
            let w = h.tensor(c"NONE", [DIM, DIM, 1, 1], &[]);
            let scale = h.tensor(c"NONE", row, &[]);
            let norm = h.tensor(c"RMS_NORM", row, &[x]);
            let scaled = h.tensor(c"MUL", row, &[norm, scale]);
            let product = h.tensor(c"MUL_MAT", row, &[w, scaled]);
            x = h.tensor(c"ADD", row, &[product, x]);
        }
    }
    let n = h.nodes.len();
    let mut graph =
        Graph { size: n as i32, n_nodes: n as i32, n_leafs: 0, nodes: h.nodes.as_mut_ptr() };
    let compute = functions.graph_compute.unwrap();
    let mut go = || {
        // SAFETY: the stream's own function on a whole graph.
        assert_eq!(unsafe { compute(black_box(stream), &mut graph) }, 0);
    };
    go();
    let per = |d: Duration| d.as_nanos() as f64 / n as f64;
    let again = per(least(2000, &mut go));
    let mut eps = 0.0f32;
    let first = h.nodes[0];
    let anew = per(least(200, || {
        eps += 1.0;
        // SAFETY: a tensor of this host's, which nobody else uses now.
        unsafe { (*first).op_params[0] = eps.to_bits().cast_signed() };
        go();
    }));
    let supports = iface.supports_op.unwrap();
    let asked = per(least(200, || {
        for t in &h.nodes {
            // SAFETY: the device's own function on a whole tensor.
            assert!(unsafe { supports(device, black_box(*t)) });
        }
    }));
    println!("{n} nodes with {} tensors, nanoseconds per node", h.tensors);
    println!("  comes again       {again:8.1}");
    println!("  first time        {anew:8.1}");
    println!("  supports_op       {asked:8.1}");
    // SAFETY: given back once.
    unsafe { functions.free.unwrap()(stream) };
}
