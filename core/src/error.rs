//! What can go wrong, as a small value.
//!
//! Every variant carries the numbers that a person needs to act; [`Display`](core::fmt::Display) turns them into
//! one line that says what, where, and what to do. No variant owns memory, so an error can cross an interrupt, a
//! plug-in boundary or a `const` evaluation.

use crate::graph::NodeId;
use crate::op::{Kind, Reason};
use crate::tensor::size::SizeError;

/// A result of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// The objects that a table, a buffer or a device can run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum What {
    /// Node storage of a graph.
    Nodes,
    /// Storage of a plan.
    Plan,
    /// Run-time slots of the registry.
    Backends,
    /// The arena that intermediate results live in.
    Arena,
    /// Working memory that kernels need beside the arena.
    Scratch,
    /// A buffer of a device.
    Buffer,
    /// Splits or copies of a scheduler.
    Splits,
    /// Anything that a backend keeps in a fixed pool (streams, events, worker threads).
    Pool,
}

impl What {
    const fn text(self) -> &'static str {
        match self {
            What::Nodes => "graph nodes",
            What::Plan => "plan entries",
            What::Backends => "registry slots",
            What::Arena => "arena bytes",
            What::Scratch => "scratch bytes",
            What::Buffer => "buffer bytes",
            What::Splits => "scheduler splits",
            What::Pool => "pool entries",
        }
    }
}

/// An error of the core or of a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// A fixed capacity is used up. Nothing was changed.
    Full {
        /// What is full.
        what: What,
        /// How many were asked for.
        need: usize,
        /// How many there are.
        have: usize,
    },
    /// Memory of the given size could not be had.
    OutOfMemory {
        /// Bytes asked for.
        requested: usize,
        /// Bytes that were left, or `usize::MAX` where that isn't known.
        available: usize,
    },
    /// A size, a block or an alignment that can't be.
    Size(SizeError),
    /// A node whose sources don't fit its operation.
    Node {
        /// Index of the node.
        node: NodeId,
        /// Its operation.
        op: Kind,
        /// What is wrong with it.
        reason: Reason,
    },
    /// The device has no kernel for this node.
    Unsupported {
        /// Index of the node (`NodeId::NONE` outside a graph).
        node: NodeId,
        /// Its operation.
        op: Kind,
    },
    /// The device or stream lacks this optional function.
    NotOffered {
        /// Name of the function.
        function: &'static str,
    },
    /// Bytes outside a tensor, buffer or slot were asked for.
    Range {
        /// First byte asked for.
        offset: usize,
        /// Number of bytes.
        len: usize,
        /// Bytes that are there.
        size: usize,
    },
    /// A node is placed in a slot that nothing is bound to.
    Unbound {
        /// Index of the node.
        node: NodeId,
        /// Number of the slot.
        slot: u8,
    },
    /// Memory at an address that its element type can't be read from.
    Misaligned {
        /// The address or offset.
        address: usize,
        /// The alignment that is needed.
        align: usize,
    },
    /// A write to memory that may only be read, such as a model in flash or in a file.
    ReadOnly,
    /// Host access to memory that the host can't reach.
    NotHost,
    /// A plan or a program that was made for another graph.
    Mismatch {
        /// Nodes in the graph.
        graph: usize,
        /// Nodes in the plan.
        plan: usize,
    },
    /// An event, buffer or stream of another device.
    ForeignObject {
        /// The kind of object.
        object: &'static str,
    },
    /// A different backend has this name already (names ignore case).
    NameTaken,
    /// No backend or device answers to this name, kind or index.
    NotFound,
    /// The handle belongs to a backend that was unloaded.
    Stale,
    /// The backend can't be unloaded: it is still in use.
    InUse {
        /// Streams that are open.
        streams: usize,
        /// Buffers that are alive.
        buffers: usize,
        /// Events that are alive.
        events: usize,
    },
    /// The backend is compiled in and can't be unloaded.
    BuiltIn,
    /// Somebody else is changing the table at this moment. Try again.
    Busy,
    /// A value that the function can't take.
    Invalid {
        /// Name of the value.
        what: &'static str,
        /// What it was.
        value: i64,
    },
    /// The device failed. `code` is the number that its own interface gave.
    Device {
        /// The call that failed.
        call: &'static str,
        /// The device's own code.
        code: i64,
    },
    /// The computation was stopped on request.
    Cancelled,
}

impl From<SizeError> for Error {
    fn from(e: SizeError) -> Self {
        Error::Size(e)
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Error::Full { what, need, have } => {
                write!(f, "out of {}: {need} needed, capacity is {have}; ", what.text())?;
                f.write_str(match what {
                    What::Nodes | What::Plan => "raise the N of GraphBuf<N> and PlanBuf<N>",
                    What::Backends => "raise the N of Registry<N> (for `dinrail`: build it with a larger DINRAIL_SLOTS)",
                    What::Arena | What::Scratch | What::Buffer => {
                        "bind a larger buffer, or make the context or batch smaller"
                    }
                    What::Splits => "raise the capacity of the scheduler",
                    What::Pool => "close one that is not needed, or raise the pool's capacity",
                })
            }
            Error::OutOfMemory { requested, available: usize::MAX } => {
                write!(f, "out of memory: {requested} bytes could not be allocated")
            }
            Error::OutOfMemory { requested, available } => {
                write!(f, "out of memory: {requested} bytes asked for, {available} left")
            }
            Error::Size(e) => e.fmt(f),
            Error::Node { node, op, reason } => {
                write!(f, "node {} ({}): {}", node.index(), op.name(), reason.text())
            }
            Error::Unsupported { node: NodeId::NONE, op } => {
                write!(f, "this device can't compute {} on these types and shapes", op.name())
            }
            Error::Unsupported { node, op } => write!(
                f,
                "node {}: this device can't compute {} on these types and shapes; ask `supports` first or use another device",
                node.index(),
                op.name()
            ),
            Error::NotOffered { function } => {
                write!(f, "this device does not offer `{function}`")
            }
            Error::Range { offset, len, size } => {
                write!(f, "bytes {offset}+{len} are outside the {size} bytes that are there")
            }
            Error::Unbound { node, slot } => {
                write!(
                    f,
                    "node {} lives in slot {slot}, but no buffer is bound to it",
                    node.index()
                )
            }
            Error::Misaligned { address, align } => {
                write!(f, "address {address:#x} is not a multiple of {align}; align the memory")
            }
            Error::ReadOnly => f.write_str("this memory may only be read"),
            Error::NotHost => f.write_str(
                "the host can't reach this memory; use `get` and `set` instead of a pointer",
            ),
            Error::Mismatch { graph, plan } => {
                write!(
                    f,
                    "the plan has {plan} nodes but the graph has {graph}; plan this graph anew"
                )
            }
            Error::ForeignObject { object } => {
                write!(f, "this {object} was made by another device")
            }
            Error::NameTaken => f.write_str("a different backend is registered under this name"),
            Error::NotFound => f.write_str("no backend or device matches"),
            Error::Stale => f.write_str("this handle belongs to a backend that was unloaded"),
            Error::InUse { streams, buffers, events } => write!(
                f,
                "still in use: {streams} streams, {buffers} buffers, {events} events; drop them first"
            ),
            Error::BuiltIn => f.write_str("a compiled-in backend can't be unloaded"),
            Error::Busy => f.write_str("the registry is being changed elsewhere; try again"),
            Error::Invalid { what, value } => write!(f, "{what} can't be {value}"),
            Error::Device { call, code } => write!(f, "the device failed in {call} (code {code})"),
            Error::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl core::error::Error for Error {}

/// `?` for `const fn`s, where the operator isn't allowed.
macro_rules! tri {
    ($e:expr) => {
        match $e {
            Ok(v) => v,
            Err(e) => return Err(e),
        }
    };
}
pub(crate) use tri;
