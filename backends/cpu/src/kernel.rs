//! What a kernel is.

use dinrail_core::error::Result;
use dinrail_core::graph::MAX_SRC;
use dinrail_core::hal::host::Worker;
use dinrail_core::op::Op;
use dinrail_core::tensor::Desc;

/// A tensor in host memory.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Type, lengths and strides.
    pub desc: &'a Desc,
    /// First byte. Null if and only if the tensor is empty.
    pub ptr: *mut u8,
}

/// What a kernel works on. Core has checked shapes, ranges and alignment; see `dinrail_core::hal`.
#[derive(Debug)]
pub struct Args<'a> {
    /// The operation with its parameters.
    pub op: &'a Op,
    /// The result. May be the same memory as a source where `Op::may_reuse` allows.
    pub dst: Operand<'a>,
    /// The sources.
    pub src: [Option<Operand<'a>>; MAX_SRC],
    /// Which worker of how many this is.
    pub worker: &'a Worker<'a>,
    /// Working memory shared by all workers, 64-byte aligned where the arena is.
    pub scratch: *mut u8,
    /// Bytes of it: at least what [`scratch`](crate::kernels::scratch) said for this node.
    pub scratch_len: usize,
}

/// Computes one node, called once on every worker at the same time.
///
/// # Safety
/// * The operands are valid for what their descriptions say, the result for writes, during the call.
/// * No other thread touches the result or the scratch memory, but the workers of this call.
/// * The processor has the instructions of the level that the kernel was resolved for.
///
/// # Implementors
/// * Workers divide the result among them by rows, never along a sum, so that the bits don't depend on their number.
/// * Each worker passes the same number of barriers (`args.worker.wait()`), also when it finds an error.
/// * The executor puts a barrier between nodes.
pub type Kernel = unsafe fn(&Args<'_>) -> Result<()>;
