//! A processor.

use super::{Buffer, BufferType, Key, Live, Raw, Stream};
use crate::error::{Error, Result};
use crate::graph::{Graph, NodeId};
use crate::op::{Op, Sources};
use crate::tensor::Desc;

/// What kind of processor a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum DeviceKind {
    /// The host's own processor and memory.
    Cpu,
    /// A graphics processor with memory of its own.
    Gpu,
    /// A graphics processor that uses the host's memory.
    IntegratedGpu,
    /// Something to be used together with the CPU (BLAS, AMX).
    Accelerator,
    /// Several devices that act as one.
    Meta,
}

impl DeviceKind {
    /// Short name.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceKind::Cpu => "CPU",
            DeviceKind::Gpu => "GPU",
            DeviceKind::IntegratedGpu => "IGPU",
            DeviceKind::Accelerator => "ACCEL",
            DeviceKind::Meta => "META",
        }
    }
}

/// Memory of a device in bytes; 0 where unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Memory {
    /// Free at this moment.
    pub free: usize,
    /// In all.
    pub total: usize,
}

/// What a device can do beyond computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Caps {
    /// Transfers and graphs are queued, and run while the host goes on.
    pub asynchronous: bool,
    /// There is a buffer type for pinned host memory.
    pub host_buffer: bool,
    /// Buffers can be made of memory that the host lends.
    pub buffer_from_host: bool,
    /// There are events.
    pub events: bool,
}

/// How to open a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params<'a> {
    /// Number of threads, for devices that use host threads; `None` for the device's default.
    pub threads: Option<usize>,
    /// Anything else, in the backend's own words.
    pub text: Option<&'a str>,
}

/// A node, as a device sees it when it is asked whether it has a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The operation.
    pub op: &'a Op,
    /// The result.
    pub dst: &'a Desc,
    /// The sources.
    pub src: &'a Sources,
}

impl<'a> Query<'a> {
    /// The sources of node `id` of a graph, to be asked about with [`Query::of`].
    pub fn sources(graph: Graph<'_>, id: NodeId) -> Sources {
        let mut sources = Sources::NONE;
        if let Some(node) = graph.node(id) {
            for (i, s) in node.src.iter().enumerate() {
                if let Some(n) = graph.node(*s) {
                    sources = sources.with(i, n.desc);
                }
            }
        }
        sources
    }

    /// Asks about a node with its sources.
    pub fn of(node: &'a crate::graph::Node, src: &'a Sources) -> Self {
        Self { op: &node.op, dst: &node.desc, src }
    }
}

/// A processor with its kinds of memory.
///
/// Listing a device is cheap; opening a stream may be slow the first time.
///
/// Functions that give something out for good take `&'static self`, so that a device can hold its kinds of memory itself.
/// An implementor that doesn't need that writes `&self`.
///
/// # Concurrency
/// Every function may be called from any thread. Those that return names or properties may be called from an interrupt.
pub trait Device: Sync {
    /// Short name, unique in a registry, such as `CPU` or `CUDA0`.
    fn name(&self) -> &str;

    /// A name for people, such as the model of the processor.
    fn description(&self) -> &str;

    /// Free and total memory.
    fn memory(&self) -> Memory {
        Memory::default()
    }

    /// What kind of processor it is.
    fn kind(&self) -> DeviceKind;

    /// Instruction level or architecture that its kernels were made for, such as `avx2` or `sm_90`; empty if that
    /// says nothing.
    fn level(&self) -> &str {
        ""
    }

    /// What it can do.
    fn caps(&self) -> Caps {
        Caps::default()
    }

    /// Identity of the hardware (PCI address, lower case), the same for all backends that drive it.
    fn id(&self) -> Option<&str> {
        None
    }

    /// Counts living handles, for a device of a backend that can be unloaded.
    fn live(&'static self) -> Option<&'static Live> {
        None
    }

    /// Opens a queue of work.
    ///
    /// # Errors
    /// [`Error::Invalid`] for parameters that can't be; [`Error::Device`] when the hardware refuses.
    fn open(&'static self, params: &Params<'_>) -> Result<Stream>;

    /// The kind of memory that kernels use.
    fn buffer_type(&'static self) -> &'static dyn BufferType;

    /// Host memory from which transfers are fast.
    fn host_buffer_type(&'static self) -> Option<&'static dyn BufferType> {
        None
    }

    /// Other kinds of memory that kernels can use (weights in another order), best first.
    fn extra_buffer_type(&'static self, i: usize) -> Option<&'static dyn BufferType> {
        let _ = i;
        None
    }

    /// A buffer made of host memory that the caller lends for `'m`; only for reading. `max_tensor` is the size of the
    /// largest tensor that will lie in it, in bytes.
    ///
    /// # Errors
    /// [`Error::NotOffered`] where the device can't use host memory; [`Error::Misaligned`].
    fn buffer_from_host<'m>(
        &'static self,
        bytes: &'m [u8],
        max_tensor: usize,
    ) -> Result<Buffer<'m>> {
        let _ = (bytes, max_tensor);
        Err(Error::NotOffered { function: "buffer_from_host" })
    }

    /// Whether a stream of this device can compute the node. `true` is a promise.
    fn supports(&self, query: &Query<'_>) -> bool;

    /// Whether a stream of this device can compute the node with its first source, weights, in memory of this kind.
    ///
    /// Memory that re-orders what lies in it ([`extra_buffer_type`](Self::extra_buffer_type)) takes only matrices that
    /// there are kernels for: ask with [`Op::MulMat`](crate::op::Op::MulMat) before a matrix is put there.
    ///
    /// # Implementors
    /// The default is right for devices whose extra memory, if they have any, is laid out as usual.
    ///
    /// # Allocation
    /// May allocate a small buffer.
    fn supports_weights(&self, query: &Query<'_>, ty: &'static dyn BufferType) -> bool {
        !ty.is_repacked() && self.supports_buffer_type(ty) && self.supports(query)
    }

    /// Whether kernels can use memory of this kind.
    fn supports_buffer_type(&self, ty: &dyn BufferType) -> bool;

    /// Whether the device wants this node even if its weights lie in host memory, because computing it here is worth
    /// the copy.
    fn offload(&self, query: &Query<'_>) -> bool {
        let _ = query;
        false
    }

    /// A new event.
    ///
    /// # Errors
    /// [`Error::NotOffered`] where there are none.
    fn event_new(&self) -> Result<Raw> {
        Err(Error::NotOffered { function: "event_new" })
    }

    /// Gives an event back.
    fn event_free(&self, key: Key<'_>) {
        let _ = key;
    }

    /// Waits for an event on the host.
    ///
    /// # Errors
    /// What the device reports.
    fn event_synchronize(&self, key: Key<'_>) -> Result<()> {
        let _ = key;
        Err(Error::NotOffered { function: "event_synchronize" })
    }
}
