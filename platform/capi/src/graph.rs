//! Graphs
//!
//! A graph is built in memory of the caller's: an array of `dinrail_node`, one for each node.
//!
//! ```c
//! static dinrail_node nodes[8];
//! dinrail_graph graph = {0};
//! dinrail_graph_begin(&graph, nodes, 8, NULL);
//! dinrail_id x = dinrail_graph_input(&graph, DINRAIL_F32, 4, 1, 1, 1);
//! dinrail_id y = dinrail_op_silu(&graph, x);
//! dinrail_graph_output(&graph, y);
//! if (dinrail_graph_finish(&graph, &error)) ...
//! ```
//!
//! Building needs no error handling: the first mistake is remembered, every later call returns `DINRAIL_NONE`, and
//! `dinrail_graph_finish` tells. Operations mean what those of the same name mean in ggml; lengths are innermost first.
//! A graph is used by one thread while it is built, and by any number afterwards. It needs no closing.

use crate::border::{Holder, Out, answer, filled, guard, holder, some};
use crate::device::dinrail_device;
use crate::error::{Fault, dinrail_error, dinrail_status};
use crate::text::dinrail_str;
use core::cell::UnsafeCell;
use dinrail::Error;
use dinrail::graph::{Builder, Flags, Graph, Node, NodeId};
use dinrail::hal::Query;
use dinrail::op::Op;
use dinrail::tensor::{DType, Desc};

/// Number of a node in its graph.
pub type dinrail_id = u32;
/// No node: an optional source that is left out, or what a call returns after a mistake.
pub const DINRAIL_NONE: u32 = 0xFFFF_FFFF;

/// Type of a tensor's elements, with ggml's numbers.
pub type dinrail_dtype = u32;
/// IEEE 754 binary32.
pub const DINRAIL_F32: u32 = 0;
/// IEEE 754 binary16.
pub const DINRAIL_F16: u32 = 1;
/// 4 bits, symmetric: one scale for 32 elements. 4.5 bits per element.
pub const DINRAIL_Q4_0: u32 = 2;
/// 4 bits, scale and minimum for 32 elements. 5 bits per element.
pub const DINRAIL_Q4_1: u32 = 3;
/// 5 bits, symmetric: one scale for 32 elements. 5.5 bits per element.
pub const DINRAIL_Q5_0: u32 = 6;
/// 5 bits, scale and minimum for 32 elements. 6 bits per element.
pub const DINRAIL_Q5_1: u32 = 7;
/// 8 bits, symmetric: one scale for 32 elements. 8.5 bits per element.
pub const DINRAIL_Q8_0: u32 = 8;
/// 8 bits, one scale and the scaled sum for 32 elements: the activation side of a dot product.
pub const DINRAIL_Q8_1: u32 = 9;
/// 2 bits, 4-bit scales and minimums for each 16 of 256 elements. 2.625 bits per element.
pub const DINRAIL_Q2_K: u32 = 10;
/// 3 bits, 6-bit scales for each 16 of 256 elements. 3.4375 bits per element.
pub const DINRAIL_Q3_K: u32 = 11;
/// 4 bits, 6-bit scales and minimums for each 32 of 256 elements. 4.5 bits per element.
pub const DINRAIL_Q4_K: u32 = 12;
/// 5 bits, 6-bit scales and minimums for each 32 of 256 elements. 5.5 bits per element.
pub const DINRAIL_Q5_K: u32 = 13;
/// 6 bits, 8-bit scales for each 16 of 256 elements. 6.5625 bits per element.
pub const DINRAIL_Q6_K: u32 = 14;
/// 8 bits, an `f32` scale and sums of each 16 of 256 elements: the activation side of a dot product.
pub const DINRAIL_Q8_K: u32 = 15;
/// 4 bits into a table of unevenly spaced values, one scale for 32 elements. 4.5 bits per element.
pub const DINRAIL_IQ4_NL: u32 = 20;
/// As `DINRAIL_IQ4_NL`, with 6-bit scales for each 32 of 256 elements. 4.25 bits per element.
pub const DINRAIL_IQ4_XS: u32 = 23;
/// Signed 8-bit integer.
pub const DINRAIL_I8: u32 = 24;
/// Signed 16-bit integer.
pub const DINRAIL_I16: u32 = 25;
/// Signed 32-bit integer.
pub const DINRAIL_I32: u32 = 26;
/// Signed 64-bit integer.
pub const DINRAIL_I64: u32 = 27;
/// IEEE 754 binary64.
pub const DINRAIL_F64: u32 = 28;
/// The upper half of a binary32.
pub const DINRAIL_BF16: u32 = 30;
/// Ternary, five elements to the byte, one scale for 256 elements. 1.6875 bits per element.
pub const DINRAIL_TQ1_0: u32 = 34;
/// Ternary, four elements to the byte, one scale for 256 elements. 2.0625 bits per element.
pub const DINRAIL_TQ2_0: u32 = 35;
/// 4-bit floats (E2M1) with a shared power of two for 32 elements. 4.25 bits per element.
pub const DINRAIL_MXFP4: u32 = 39;

/// Memory for one node. Its contents are the library's.
#[repr(C)]
pub struct dinrail_node {
    wide_: [u64; 8],
    words_: [usize; 14],
}

/// A graph that is being built, or is finished.
#[repr(C)]
pub struct dinrail_graph {
    wide_: UnsafeCell<[u64; 6]>,
    words_: UnsafeCell<[usize; 6]>,
}

/// What the object holds.
pub(crate) enum State {
    Building(Builder<'static>),
    Finished(Graph<'static>),
    /// A mistake was made.
    Failed(Error),
}

holder!(dinrail_graph holds State, 2, "graph");

/// Type, lengths and strides of a tensor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_desc {
    /// Type of the elements.
    pub dtype: dinrail_dtype,
    /// Bytes from the first to the last element, gaps included.
    pub bytes: usize,
    /// Lengths, innermost first; 1 where there is no such dimension.
    pub ne: [usize; 4],
    /// Strides in bytes; `nb[0]` is the distance of blocks.
    pub nb: [usize; 4],
}

pub(crate) fn desc_of(d: &Desc) -> dinrail_desc {
    dinrail_desc { dtype: d.dtype.to_ggml(), bytes: d.bytes(), ne: d.ne, nb: d.nb }
}

pub(crate) fn dtype_from(dtype: dinrail_dtype) -> Result<DType, Fault> {
    let value = i64::from(dtype);
    DType::from_ggml(dtype).ok_or(Error::Invalid { what: "element type", value }.into())
}

/// A slot that a program may bind something of its own to: 0 is the arena, and those from 200 on are for schedulers.
fn slot_from(slot: u32) -> Result<u8, Fault> {
    match u8::try_from(slot) {
        Ok(slot @ 1..=199) => Ok(slot),
        _ => Err(Error::Invalid { what: "number of a slot", value: i64::from(slot) }.into()),
    }
}

/// A node's number as core has it. One that no graph has stays one that no graph has.
pub(crate) fn id(id: dinrail_id) -> NodeId {
    match id {
        DINRAIL_NONE => NodeId::NONE,
        n => NodeId(u16::try_from(n).unwrap_or(u16::MAX).min(u16::MAX - 1)),
    }
}

/// Lays down a node.
pub(crate) fn lay(
    graph: Option<&mut dinrail_graph>,
    f: impl FnOnce(&mut Builder<'static>) -> NodeId,
) -> dinrail_id {
    guard(DINRAIL_NONE, || match graph.map(|g| g.value_mut()) {
        Some(Ok(State::Building(builder))) => {
            let id = f(builder);
            if id.is_none() { DINRAIL_NONE } else { u32::from(id.0) }
        }
        _ => DINRAIL_NONE,
    })
}

/// Remembers a mistake that was found on this side of the border.
pub(crate) fn mistake(builder: &mut Builder<'static>, fault: Fault) -> NodeId {
    match fault {
        Fault::Core(e) => builder.fail(e),
        _ => builder.fail(Error::Invalid { what: "parameter", value: 0 }),
    }
}

impl dinrail_graph {
    /// The finished graph.
    pub(crate) fn graph(&self) -> Result<Graph<'static>, Fault> {
        match self.value()? {
            State::Finished(graph) => Ok(*graph),
            State::Building(_) => Err(Fault::Unfinished),
            State::Failed(e) => Err((*e).into()),
        }
    }
}

/// Starts a graph of up to `count` nodes (at most 65534). What the object held before is forgotten.
///
/// Threads: the graph's.
///
/// # Safety
/// `nodes` has `count` entries, which live, and are used by nobody else, as long as the graph or what was made of it is
/// used.
#[unsafe(export_name = symbol!("graph_begin"))]
pub unsafe extern "C" fn dinrail_graph_begin(
    graph: Option<&mut dinrail_graph>,
    nodes: *mut dinrail_node,
    count: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let graph = some(graph, "graph")?;
        // SAFETY: the caller promises it.
        let nodes: &'static mut [Node] = unsafe { filled(nodes, count, Node::EMPTY, "nodes") }?;
        graph.put(State::Building(Builder::new(nodes)));
        Ok(())
    })
}

/// Ends building. Tells the first mistake if there was one.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("graph_finish"))]
pub extern "C" fn dinrail_graph_finish(
    graph: Option<&mut dinrail_graph>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let graph = some(graph, "graph")?;
        match graph.take().ok_or(Fault::NotOpen("graph"))? {
            State::Building(builder) => match builder.finish() {
                Ok(done) => {
                    graph.put(State::Finished(done));
                    Ok(())
                }
                Err(e) => {
                    graph.put(State::Failed(e));
                    Err(e.into())
                }
            },
            done => {
                graph.put(done);
                Err(Fault::Finished)
            }
        }
    })
}

/// Number of nodes so far; 0 after a mistake.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("graph_len"))]
pub extern "C" fn dinrail_graph_len(graph: Option<&dinrail_graph>) -> usize {
    guard(0, || match graph.map(|g| g.value()) {
        Some(Ok(State::Building(builder))) => builder.len(),
        Some(Ok(State::Finished(graph))) => graph.len(),
        _ => 0,
    })
}

/// Type, lengths and strides of a node, also while the graph is built.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("graph_desc"))]
pub extern "C" fn dinrail_graph_desc(
    graph: Option<&dinrail_graph>,
    node: dinrail_id,
    out: Out<dinrail_desc>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let desc = match some(graph, "graph")?.value()? {
            State::Building(builder) => match builder.error() {
                Some(e) => return Err(e.into()),
                None => builder.desc(id(node)),
            },
            State::Finished(graph) => graph.node(id(node)).map(|n| n.desc),
            State::Failed(e) => return Err((*e).into()),
        };
        some(out, "out")?
            .write(desc_of(&desc.ok_or(Fault::Missing("node of this number in the graph"))?));
        Ok(())
    })
}

/// ggml's name of an operation; functions of one element and gated units have their own.
pub(crate) fn op_name(op: &Op) -> &'static str {
    match op {
        Op::Unary(u) => u.name(),
        Op::Glu(g) => g.kind.name(),
        op => op.kind().name(),
    }
}

/// The name of a node's operation, as ggml has it, such as "MUL_MAT"; functions of one element and gated
/// units by their own, such as "SILU". Empty for no node.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("graph_op"))]
pub extern "C" fn dinrail_graph_op(graph: Option<&dinrail_graph>, node: dinrail_id) -> dinrail_str {
    guard(dinrail_str::NONE, || {
        let node = graph.and_then(|g| g.graph().ok()).and_then(|g| g.node(id(node)));
        node.map_or(dinrail_str::NONE, |n| dinrail_str::of(op_name(&n.op)))
    })
}

/// Whether a device has a kernel for a node of a finished graph. `true` is a promise.
///
/// Threads: any.
#[unsafe(export_name = symbol!("device_supports"))]
pub extern "C" fn dinrail_device_supports(
    device: dinrail_device,
    graph: Option<&dinrail_graph>,
    node: dinrail_id,
) -> bool {
    guard(false, || {
        let (Ok(device), Some(Ok(graph))) = (device.get(), graph.map(|g| g.graph())) else {
            return false;
        };
        let sources = Query::sources(graph, id(node));
        graph.node(id(node)).is_some_and(|n| device.supports(&Query::of(n, &sources)))
    })
}

/// A leaf that the caller fills before each run, placed in the arena. Its memory may be used again after the last node that
/// reads it, so fill it anew before the next run.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("graph_input"))]
pub extern "C" fn dinrail_graph_input(
    graph: Option<&mut dinrail_graph>,
    dtype: dinrail_dtype,
    ne0: usize,
    ne1: usize,
    ne2: usize,
    ne3: usize,
) -> dinrail_id {
    lay(graph, |b| match dtype_from(dtype) {
        Ok(dtype) => b.input(dtype, [ne0, ne1, ne2, ne3]),
        Err(e) => mistake(b, e),
    })
}

/// A leaf at byte `offset` of what is bound to a slot (1 to 199): a cache, or an input in memory of the caller's own.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("graph_leaf"))]
pub extern "C" fn dinrail_graph_leaf(
    graph: Option<&mut dinrail_graph>,
    dtype: dinrail_dtype,
    ne0: usize,
    ne1: usize,
    ne2: usize,
    ne3: usize,
    slot: u32,
    offset: usize,
) -> dinrail_id {
    lay(graph, |b| match (dtype_from(dtype), slot_from(slot)) {
        (Ok(dtype), Ok(slot)) => b.leaf(dtype, [ne0, ne1, ne2, ne3], slot, offset),
        (Err(e), _) | (_, Err(e)) => mistake(b, e),
    })
}

/// A leaf as `dinrail_graph_leaf` makes it, marked as weights.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("graph_weight"))]
pub extern "C" fn dinrail_graph_weight(
    graph: Option<&mut dinrail_graph>,
    dtype: dinrail_dtype,
    ne0: usize,
    ne1: usize,
    ne2: usize,
    ne3: usize,
    slot: u32,
    offset: usize,
) -> dinrail_id {
    lay(graph, |b| match (dtype_from(dtype), slot_from(slot)) {
        (Ok(dtype), Ok(slot)) => b.weight(dtype, [ne0, ne1, ne2, ne3], slot, offset),
        (Err(e), _) | (_, Err(e)) => mistake(b, e),
    })
}

/// Marks a node's data to be read after the run: its memory is not used again.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("graph_output"))]
pub extern "C" fn dinrail_graph_output(graph: Option<&mut dinrail_graph>, node: dinrail_id) {
    lay(graph, |b| {
        if b.desc(id(node)).is_none() && b.error().is_none() {
            let what = "number of a node that is to be an output";
            return b.fail(Error::Invalid { what, value: i64::from(node) });
        }
        b.mark(id(node), Flags::OUTPUT);
        NodeId::NONE
    });
}

/// The name of an element type, such as "q4_0"; empty for a number that no type has.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("dtype_name"))]
pub extern "C" fn dinrail_dtype_name(dtype: dinrail_dtype) -> dinrail_str {
    dtype_from(dtype).map_or(dinrail_str::NONE, |t| dinrail_str::of(t.name()))
}

/// Elements of a block, of which a row is a whole number; 1 for types without blocks, 0 for no type.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("dtype_block_len"))]
pub extern "C" fn dinrail_dtype_block_len(dtype: dinrail_dtype) -> usize {
    dtype_from(dtype).map_or(0, DType::block_len)
}

/// Bytes of a block; 0 for no type.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("dtype_block_bytes"))]
pub extern "C" fn dinrail_dtype_block_bytes(dtype: dinrail_dtype) -> usize {
    dtype_from(dtype).map_or(0, DType::block_bytes)
}
