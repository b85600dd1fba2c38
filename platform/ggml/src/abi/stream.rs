//! Streams (ggml's *backend*).

use super::{Device, Event, Graph, Layout, Tensor};
use core::ffi::{c_char, c_void};

type SetAsync = unsafe extern "C" fn(*mut Stream, *mut Tensor, *const c_void, usize, usize);
type GetAsync = unsafe extern "C" fn(*mut Stream, *const Tensor, *mut c_void, usize, usize);
type Set2dAsync = unsafe extern "C" fn(
    *mut Stream,
    *mut Tensor,
    *const c_void,
    usize,
    usize,
    usize,
    usize,
    usize,
);
type Get2dAsync = unsafe extern "C" fn(
    *mut Stream,
    *const Tensor,
    *mut c_void,
    usize,
    usize,
    usize,
    usize,
    usize,
);
type CpyAsync = unsafe extern "C" fn(*mut Stream, *mut Stream, *const Tensor, *mut Tensor) -> bool;
type PlanCreate = unsafe extern "C" fn(*mut Stream, *const Graph) -> *mut c_void;
type PlanFree = unsafe extern "C" fn(*mut Stream, *mut c_void);
type PlanUpdate = unsafe extern "C" fn(*mut Stream, *mut c_void, *const Graph);
type PlanCompute = unsafe extern "C" fn(*mut Stream, *mut c_void) -> i32;
type Compute = unsafe extern "C" fn(*mut Stream, *mut Graph) -> i32;
type OnEvent = unsafe extern "C" fn(*mut Stream, *mut Event);

/// The functions of a stream, in order. `Rows` is `()` before two-dimensional transfers and [`StreamRows`] with them;
/// `Optimize` is `()` in version 1, and one optional function in version 2.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StreamI<Rows, Optimize> {
    /// Name.
    pub get_name: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    /// Ends it and frees its structure.
    pub free: Option<unsafe extern "C" fn(*mut Stream)>,
    /// Queued write; optional.
    pub set_tensor_async: Option<SetAsync>,
    /// Queued read; optional.
    pub get_tensor_async: Option<GetAsync>,
    /// Two-dimensional transfers, where the layout has them.
    pub rows: Rows,
    /// Queued copy between streams (source, target); optional.
    pub cpy_tensor_async: Option<CpyAsync>,
    /// Waits for the queue; optional.
    pub synchronize: Option<unsafe extern "C" fn(*mut Stream)>,
    /// Prepares a graph; optional.
    pub graph_plan_create: Option<PlanCreate>,
    /// Frees a prepared graph; optional.
    pub graph_plan_free: Option<PlanFree>,
    /// Changes a prepared graph; optional.
    pub graph_plan_update: Option<PlanUpdate>,
    /// Computes a prepared graph; optional.
    pub graph_plan_compute: Option<PlanCompute>,
    /// Computes a graph; gives a [`Status`](super::Status).
    pub graph_compute: Option<Compute>,
    /// Queues a mark; optional.
    pub event_record: Option<OnEvent>,
    /// Waits for a mark; optional.
    pub event_wait: Option<OnEvent>,
    /// May re-order a graph's nodes. Its parameters differ between releases of version 2; optional.
    pub graph_optimize: Optimize,
}

/// Functions of a stream in the newest layout.
pub type StreamIRows =
    StreamI<StreamRows, Option<unsafe extern "C" fn(*mut Stream, *mut Graph, *mut c_void)>>;

/// Two-dimensional transfers: data, offset, bytes of a piece, pieces, stride in the tensor, stride in the data.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct StreamRows {
    /// Queued write; optional.
    pub set: Option<Set2dAsync>,
    /// Queued read; optional.
    pub get: Option<Get2dAsync>,
}

/// `ggml_backend`, of any layout: a pointer to 16 bytes of identity comes first, the functions follow.
#[derive(Debug)]
#[repr(C)]
pub struct Stream {
    /// Identity of the implementation, or null.
    pub guid: *const [u8; 16],
    opaque: [usize; 0],
}

/// A stream of a known layout.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StreamHead<I> {
    /// Identity of the implementation, or null.
    pub guid: *const [u8; 16],
    /// Functions.
    pub iface: I,
    /// Its device.
    pub device: *mut Device,
    /// The backend's own.
    pub context: *mut c_void,
}

/// A stream's functions, whatever the layout they came in. `graph_optimize` is left out: what it re-orders must be
/// allocated by ggml.
#[derive(Clone, Copy, Debug)]
pub struct StreamFns {
    /// See [`StreamI`].
    pub common: StreamI<StreamRows, ()>,
}

impl StreamFns {
    /// The identity and the functions.
    ///
    /// # Safety
    /// `stream` points to a stream of this layout.
    pub unsafe fn read(layout: Layout, stream: *mut Stream) -> (Self, *const [u8; 16]) {
        match layout {
            // Version 2 added a function at the end only.
            Layout::V1 | Layout::V2 => {
                // The part up to `graph_optimize`, `device` and `context` not being looked at.
                // SAFETY: the caller promises the layout; both versions are at least this long.
                let s = unsafe { stream.cast::<StreamHead<StreamI<(), ()>>>().read() };
                (Self { common: with(&s.iface, StreamRows::default()) }, s.guid)
            }
            Layout::V2Rows => {
                // SAFETY: the caller promises the layout.
                let s = unsafe { stream.cast::<StreamHead<StreamIRows>>().read() };
                (Self { common: with(&s.iface, s.iface.rows) }, s.guid)
            }
        }
    }
}

fn with<R, O>(i: &StreamI<R, O>, rows: StreamRows) -> StreamI<StreamRows, ()> {
    StreamI {
        get_name: i.get_name,
        free: i.free,
        set_tensor_async: i.set_tensor_async,
        get_tensor_async: i.get_tensor_async,
        rows,
        cpy_tensor_async: i.cpy_tensor_async,
        synchronize: i.synchronize,
        graph_plan_create: i.graph_plan_create,
        graph_plan_free: i.graph_plan_free,
        graph_plan_update: i.graph_plan_update,
        graph_plan_compute: i.graph_plan_compute,
        graph_compute: i.graph_compute,
        event_record: i.event_record,
        event_wait: i.event_wait,
        graph_optimize: (),
    }
}

const WORD: usize = size_of::<usize>();
const _: () = {
    assert!(size_of::<StreamI<(), ()>>() == 13 * WORD);
    assert!(size_of::<StreamIRows>() == 16 * WORD);
};
