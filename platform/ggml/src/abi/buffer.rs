//! Kinds of memory, and pieces of it.

use super::{Device, Layout, Tensor};
use core::ffi::{c_char, c_void};

/// The functions of a kind of memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BufferTypeI {
    /// Name.
    pub get_name: Option<unsafe extern "C" fn(*mut BufferType) -> *const c_char>,
    /// A new buffer, or null.
    pub alloc_buffer: Option<unsafe extern "C" fn(*mut BufferType, usize) -> *mut Buffer>,
    /// Alignment of tensors.
    pub get_alignment: Option<unsafe extern "C" fn(*mut BufferType) -> usize>,
    /// Largest buffer; optional, no limit.
    pub get_max_size: Option<unsafe extern "C" fn(*mut BufferType) -> usize>,
    /// Bytes of a tensor with padding; optional, its own bytes.
    pub get_alloc_size: Option<unsafe extern "C" fn(*mut BufferType, *const Tensor) -> usize>,
    /// Whether it is host memory in the standard layout; optional, no.
    pub is_host: Option<unsafe extern "C" fn(*mut BufferType) -> bool>,
}

/// `ggml_backend_buffer_type`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BufferType {
    /// Functions.
    pub iface: BufferTypeI,
    /// Its device.
    pub device: *mut Device,
    /// The backend's own.
    pub context: *mut c_void,
}

/// `init_tensor` of version 1.
pub type InitVoid = unsafe extern "C" fn(*mut Buffer, *mut Tensor);
/// `init_tensor` of version 2; gives a [`Status`](super::Status).
pub type InitStatus = unsafe extern "C" fn(*mut Buffer, *mut Tensor) -> i32;

type Free = unsafe extern "C" fn(*mut Buffer);
type GetBase = unsafe extern "C" fn(*mut Buffer) -> *mut c_void;
type Memset = unsafe extern "C" fn(*mut Buffer, *mut Tensor, u8, usize, usize);
type Set = unsafe extern "C" fn(*mut Buffer, *mut Tensor, *const c_void, usize, usize);
type Get = unsafe extern "C" fn(*mut Buffer, *const Tensor, *mut c_void, usize, usize);
type Set2d = unsafe extern "C" fn(
    *mut Buffer,
    *mut Tensor,
    *const c_void,
    usize,
    usize,
    usize,
    usize,
    usize,
);
type Get2d = unsafe extern "C" fn(
    *mut Buffer,
    *const Tensor,
    *mut c_void,
    usize,
    usize,
    usize,
    usize,
    usize,
);
type Cpy = unsafe extern "C" fn(*mut Buffer, *const Tensor, *mut Tensor) -> bool;
type Clear = unsafe extern "C" fn(*mut Buffer, u8);
type Reset = unsafe extern "C" fn(*mut Buffer);

/// The functions of a buffer, in order. `Init` is [`InitVoid`] in version 1 and [`InitStatus`] in version 2; `Rows` is
/// `()` before two-dimensional transfers and [`Rows2d`] with them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BufferI<Init, Rows> {
    /// Frees what the buffer holds (not the structure); optional.
    pub free_buffer: Option<Free>,
    /// First address; may be a number that only the device understands.
    pub get_base: Option<GetBase>,
    /// Prepares a tensor; optional.
    pub init_tensor: Option<Init>,
    /// Fills; optional.
    pub memset_tensor: Option<Memset>,
    /// Writes: data, offset, size.
    pub set_tensor: Option<Set>,
    /// Reads: data, offset, size.
    pub get_tensor: Option<Get>,
    /// Two-dimensional transfers, where the layout has them.
    pub rows: Rows,
    /// Copies a tensor from anywhere, or says no; optional.
    pub cpy_tensor: Option<Cpy>,
    /// Fills the whole buffer.
    pub clear: Option<Clear>,
    /// Forgets what `init_tensor` did; optional.
    pub reset: Option<Reset>,
}

/// Two-dimensional transfers: data, offset, bytes of a piece, pieces, stride in the tensor, stride in the data.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Rows2d {
    /// Writes; optional.
    pub set: Option<Set2d>,
    /// Reads; optional.
    pub get: Option<Get2d>,
}

/// Number of functions of a buffer before two-dimensional transfers.
pub const BUFFER_FNS_SHORT: usize = 9;
/// Number of functions of a buffer with them.
pub const BUFFER_FNS_ROWS: usize = 11;

/// `ggml_backend_buffer`, of any layout.
#[derive(Debug)]
#[repr(C)]
pub struct Buffer {
    opaque: [usize; 0],
}

/// What follows a buffer's functions.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BufferTail {
    /// Its kind.
    pub buft: *mut BufferType,
    /// The backend's own.
    pub context: *mut c_void,
    /// Bytes.
    pub size: usize,
    /// [`Usage`](super::Usage).
    pub usage: i32,
}

/// A buffer of a known layout.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BufferHead<Init, Rows> {
    /// Functions.
    pub iface: BufferI<Init, Rows>,
    /// The rest.
    pub tail: BufferTail,
}

/// A buffer's functions, whatever the layout they came in.
#[derive(Clone, Copy, Debug)]
pub struct BufferFns {
    /// See [`BufferI`].
    pub get_base: Option<GetBase>,
    /// See [`BufferI`]; `init_void` for version 1.
    pub init_void: Option<InitVoid>,
    /// See [`BufferI`].
    pub init_tensor: Option<InitStatus>,
    /// See [`BufferI`].
    pub memset_tensor: Option<Memset>,
    /// See [`BufferI`].
    pub set_tensor: Option<Set>,
    /// See [`BufferI`].
    pub get_tensor: Option<Get>,
    /// See [`BufferI`].
    pub rows: Rows2d,
    /// See [`BufferI`].
    pub cpy_tensor: Option<Cpy>,
    /// See [`BufferI`].
    pub clear: Option<Clear>,
    /// See [`BufferI`].
    pub reset: Option<Reset>,
    /// See [`BufferI`].
    pub free_buffer: Option<Free>,
}

impl BufferFns {
    /// # Safety
    /// `buffer` points to a buffer of this layout.
    pub unsafe fn read(layout: Layout, buffer: *mut Buffer) -> (Self, BufferTail) {
        match layout {
            Layout::V1 => {
                // SAFETY: the caller promises the layout.
                let b = unsafe { buffer.cast::<BufferHead<InitVoid, ()>>().read() };
                (Self::from(&b.iface, b.iface.init_tensor, None, Rows2d::default()), b.tail)
            }
            Layout::V2 => {
                // SAFETY: as above.
                let b = unsafe { buffer.cast::<BufferHead<InitStatus, ()>>().read() };
                (Self::from(&b.iface, None, b.iface.init_tensor, Rows2d::default()), b.tail)
            }
            Layout::V2Rows => {
                // SAFETY: as above.
                let b = unsafe { buffer.cast::<BufferHead<InitStatus, Rows2d>>().read() };
                (Self::from(&b.iface, None, b.iface.init_tensor, b.iface.rows), b.tail)
            }
        }
    }

    fn from<I, R>(
        i: &BufferI<I, R>,
        init_void: Option<InitVoid>,
        init_tensor: Option<InitStatus>,
        rows: Rows2d,
    ) -> Self {
        Self {
            get_base: i.get_base,
            init_void,
            init_tensor,
            memset_tensor: i.memset_tensor,
            set_tensor: i.set_tensor,
            get_tensor: i.get_tensor,
            rows,
            cpy_tensor: i.cpy_tensor,
            clear: i.clear,
            reset: i.reset,
            free_buffer: i.free_buffer,
        }
    }

    /// Whether tensors are prepared before use.
    pub const fn prepares(&self) -> bool {
        self.init_void.is_some() || self.init_tensor.is_some()
    }
}

const WORD: usize = size_of::<usize>();
const _: () = {
    assert!(size_of::<BufferI<InitVoid, ()>>() == BUFFER_FNS_SHORT * WORD);
    assert!(size_of::<BufferI<InitStatus, Rows2d>>() == BUFFER_FNS_ROWS * WORD);
    assert!(size_of::<BufferType>() == 8 * WORD);
    assert!(size_of::<BufferHead<InitStatus, ()>>() == (BUFFER_FNS_SHORT + 4) * WORD);
};
