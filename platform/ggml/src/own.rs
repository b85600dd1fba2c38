//! A base library of our own, for plug-ins that bring none: dinrail's.
//!
//! It has what a translation calls, with the numbers and layouts of one release, which the plug-in says it uses.

use crate::abi::names::{GLU, OPS, RELEASE, RELEASE_FUNCTION, UNARY};
use crate::abi::{self, BufferFns, Graph, InitParams, Layout, Tensor, TensorFlag};
use crate::backend::find_proc;
use crate::base::{Base, Context, Functions, Has};
use crate::dl;
use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use dinrail_core::tensor::DType;

/// Our base library, if the plug-in says that it goes with it.
pub(crate) fn base(reg: *mut abi::Reg, iface: &abi::RegI) -> Option<Base> {
    // SAFETY: the registration was read before.
    if unsafe { (*reg).api_version } != abi::VERSION {
        return None;
    }
    let address = find_proc(reg, iface, RELEASE_FUNCTION)?;
    // SAFETY: this is the type that goes with the name.
    let release: unsafe extern "C" fn() -> u32 = unsafe { dl::function(address) };
    // SAFETY: the function takes nothing and gives a constant.
    if unsafe { release() } != RELEASE {
        return None;
    }
    Some(ours())
}

/// The library itself.
pub(crate) fn ours() -> Base {
    let has = Has {
        set_rows: true,
        scale_bias: true,
        soft_max_sinks: true,
        flash_sinks: true,
        glu: true,
        mxfp4: true,
        rows_2d: true,
    };
    Base { fns: FUNCTIONS, has, own: true, image: None, held: None }
}

const FUNCTIONS: Functions = Functions {
    init,
    free,
    new_tensor,
    new_graph,
    graph_overhead,
    tensor_overhead,
    expand,
    buffer_free,
    buffer_set_usage: Some(set_usage),
    op_name,
    unary_name,
    glu_name: Some(glu_name),
    pool_params: None,
    type_name,
    block_len,
    type_size,
};

/// A graph with room behind what is known of it, for a plug-in that copies more.
#[repr(C)]
struct Whole {
    head: Graph,
    zeros: [usize; 24],
    nodes: Vec<*mut Tensor>,
}

#[derive(Default)]
struct Made {
    tensors: Vec<*mut Tensor>,
    graphs: Vec<*mut Whole>,
}

unsafe extern "C" fn init(_params: InitParams) -> *mut Context {
    Box::into_raw(Box::<Made>::default()).cast()
}

unsafe extern "C" fn free(ctx: *mut Context) {
    // SAFETY: `init` made it, and it comes back once.
    let made = unsafe { Box::from_raw(ctx.cast::<Made>()) };
    for t in made.tensors {
        // SAFETY: `new_tensor` made it from a box.
        drop(unsafe { Box::from_raw(t) });
    }
    for g in made.graphs {
        // SAFETY: `new_graph` made it from a box.
        drop(unsafe { Box::from_raw(g) });
    }
}

unsafe extern "C" fn new_tensor(
    ctx: *mut Context,
    dtype: i32,
    a: i64,
    b: i64,
    c: i64,
    d: i64,
) -> *mut Tensor {
    let t = Box::into_raw(Box::new(Tensor { dtype, ne: [a, b, c, d], ..Tensor::ZERO }));
    // SAFETY: `init` made it; one thread uses it at a time.
    let made = unsafe { &mut *ctx.cast::<Made>() };
    made.tensors.push(t);
    t
}

unsafe extern "C" fn new_graph(ctx: *mut Context, size: usize, _grads: bool) -> *mut Graph {
    let head = Graph { size: size as i32, n_nodes: 0, n_leafs: 0, nodes: null_mut() };
    let mut whole = Box::new(Whole { head, zeros: [0; 24], nodes: Vec::with_capacity(size) });
    whole.head.nodes = whole.nodes.as_mut_ptr();
    let g = Box::into_raw(whole);
    // SAFETY: as in `new_tensor`.
    let made = unsafe { &mut *ctx.cast::<Made>() };
    made.graphs.push(g);
    g.cast()
}

unsafe extern "C" fn expand(graph: *mut Graph, t: *mut Tensor) {
    // SAFETY: `new_graph` made it; one thread uses it at a time.
    let g = unsafe { &mut *graph.cast::<Whole>() };
    if g.nodes.len() < g.nodes.capacity() {
        // SAFETY: a tensor of this graph's context.
        unsafe { (*t).flags |= TensorFlag::Compute as i32 };
        g.nodes.push(t);
        g.head.n_nodes += 1;
    }
}

unsafe extern "C" fn graph_overhead(_size: usize, _grads: bool) -> usize {
    0
}

unsafe extern "C" fn tensor_overhead() -> usize {
    size_of::<Tensor>() + abi::OBJECT_BYTES
}

unsafe extern "C" fn buffer_free(buffer: *mut abi::Buffer) {
    // SAFETY: a buffer of the layout that goes with the release.
    let (fns, _) = unsafe { BufferFns::read(Layout::V2Rows, buffer) };
    if let Some(f) = fns.free_buffer {
        // SAFETY: the buffer's own function.
        unsafe { f(buffer) };
    }
    #[cfg(unix)]
    // SAFETY: such a plug-in allocates the structure with `malloc`, as `RELEASE_FUNCTION` says.
    unsafe {
        libc::free(buffer.cast());
    }
}

unsafe extern "C" fn set_usage(buffer: *mut abi::Buffer, usage: i32) {
    type Head = abi::BufferHead<abi::InitStatus, abi::Rows2d>;
    // SAFETY: a buffer of the layout that goes with the release.
    unsafe { (*buffer.cast::<Head>()).tail.usage = usage };
}

fn entry(names: &[&'static CStr], i: i32) -> *const c_char {
    let name = usize::try_from(i).ok().and_then(|i| names.get(i));
    name.map_or(core::ptr::null(), |n| n.as_ptr())
}

unsafe extern "C" fn op_name(i: i32) -> *const c_char {
    entry(&OPS, i)
}

unsafe extern "C" fn unary_name(i: i32) -> *const c_char {
    entry(&UNARY, i)
}

unsafe extern "C" fn glu_name(i: i32) -> *const c_char {
    entry(&GLU, i)
}

fn dtype(i: i32) -> Option<DType> {
    DType::from_ggml(u32::try_from(i).ok()?)
}

/// Names of types that end with a zero, for C; without a heap, since a plug-in that is loaded and unloaded leaves behind
/// what its statics own.
static TYPES: [[u8; 16]; DType::ALL.len()] = {
    let mut all = [[0; 16]; DType::ALL.len()];
    let mut i = 0;
    while i < all.len() {
        let name = DType::ALL[i].name().as_bytes();
        let mut at = 0;
        while at < name.len() {
            // A name that leaves no room for the zero does not compile.
            assert!(at < 15);
            all[i][at] = name[at];
            at += 1;
        }
        i += 1;
    }
    all
};

unsafe extern "C" fn type_name(i: i32) -> *const c_char {
    let at = dtype(i).and_then(|t| DType::ALL.iter().position(|&x| x == t));
    at.and_then(|at| TYPES.get(at)).map_or(core::ptr::null(), |n| n.as_ptr().cast())
}

unsafe extern "C" fn block_len(i: i32) -> i64 {
    dtype(i).map_or(0, |t| t.block_len() as i64)
}

unsafe extern "C" fn type_size(i: i32) -> usize {
    dtype(i).map_or(0, DType::block_bytes)
}
