//! Tensors and what surrounds them.

use super::Buffer;
use core::ffi::{c_char, c_void};
use core::mem::{offset_of, size_of};

/// Most sources of a tensor.
pub const MAX_SRC: usize = 10;

/// `ggml_tensor`. Its layout is public and has been the same since November 2024.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Tensor {
    /// `ggml_type`.
    pub dtype: i32,
    /// Where its data lies.
    pub buffer: *mut Buffer,
    /// Lengths.
    pub ne: [i64; 4],
    /// Strides in bytes.
    pub nb: [usize; 4],
    /// `ggml_op`.
    pub op: i32,
    /// Parameters of the operation; see [`params`](super::params).
    pub op_params: [i32; 16],
    /// [`TensorFlag`]s.
    pub flags: i32,
    /// Sources.
    pub src: [*mut Tensor; MAX_SRC],
    /// The tensor that this one is a view of; never a view itself.
    pub view_src: *mut Tensor,
    /// First byte in `view_src`.
    pub view_offs: usize,
    /// First byte.
    pub data: *mut c_void,
    /// Name, ended by a zero.
    pub name: [u8; 64],
    /// What the buffer's type keeps with it.
    pub extra: *mut c_void,
    /// Unused.
    pub padding: [u8; 8],
}

impl Tensor {
    /// All zeros.
    pub const ZERO: Self = Self {
        dtype: 0,
        buffer: core::ptr::null_mut(),
        ne: [0; 4],
        nb: [0; 4],
        op: 0,
        op_params: [0; 16],
        flags: 0,
        src: [core::ptr::null_mut(); MAX_SRC],
        view_src: core::ptr::null_mut(),
        view_offs: 0,
        data: core::ptr::null_mut(),
        name: [0; 64],
        extra: core::ptr::null_mut(),
        padding: [0; 8],
    };
}

/// Marks on a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum TensorFlag {
    /// Written by the caller.
    Input = 1,
    /// Read by the caller.
    Output = 2,
    /// Trainable.
    Param = 4,
    /// A loss.
    Loss = 8,
    /// To be computed (2026 and later).
    Compute = 16,
}

/// A graph. Its layout is internal and differs between releases; only its head is the same in all.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Graph {
    /// Room.
    pub size: i32,
    /// Number of nodes.
    pub n_nodes: i32,
    /// Number of leaves.
    pub n_leafs: i32,
    /// The nodes in order.
    pub nodes: *mut *mut Tensor,
}

/// `ggml_init_params`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InitParams {
    /// Bytes of the pool.
    pub mem_size: usize,
    /// The pool, or null to have it allocated.
    pub mem_buffer: *mut c_void,
    /// Whether tensors get no data.
    pub no_alloc: bool,
}

/// `ggml_log_callback`: level (1 debug to 4 error, 5 continues a line), text, the caller's word.
pub type LogCallback = unsafe extern "C" fn(level: i32, text: *const c_char, user: *mut c_void);

/// Bytes that a context needs for an object beside the tensor itself.
pub const OBJECT_BYTES: usize = 2 * size_of::<usize>() + 2 * size_of::<usize>();

/// Whether what `ggml_tensor_overhead` says agrees with [`Tensor`].
pub const fn check_tensor_overhead(bytes: usize) -> bool {
    bytes == size_of::<Tensor>() + OBJECT_BYTES
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<Tensor>() == 336);
    assert!(offset_of!(Tensor, buffer) == 8);
    assert!(offset_of!(Tensor, ne) == 16);
    assert!(offset_of!(Tensor, nb) == 48);
    assert!(offset_of!(Tensor, op) == 80);
    assert!(offset_of!(Tensor, op_params) == 84);
    assert!(offset_of!(Tensor, flags) == 148);
    assert!(offset_of!(Tensor, src) == 152);
    assert!(offset_of!(Tensor, view_src) == 232);
    assert!(offset_of!(Tensor, view_offs) == 240);
    assert!(offset_of!(Tensor, data) == 248);
    assert!(offset_of!(Tensor, name) == 256);
    assert!(offset_of!(Tensor, extra) == 320);
    assert!(offset_of!(Graph, nodes) == 16);
};
