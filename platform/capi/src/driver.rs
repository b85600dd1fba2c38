//! Backends of the program's own
//!
//! A driver makes an accelerator known that the library has never heard of: one device that computes in host memory, node
//! by node, through functions of the program's. Everything that takes a device takes this one too. The library checks
//! shapes, ranges, alignment and who may write before it calls; a driver only says which nodes it has a kernel for, and
//! computes them.

use crate::border::{Holder, Out, aligned, answer, holder, some, string};
use crate::device::{dinrail_backend, dinrail_device_kind, kind_from};
use crate::error::{Fault, dinrail_error, dinrail_status};
use crate::graph::{desc_of, dinrail_desc};
use crate::text::dinrail_str;
use core::cell::UnsafeCell;
use core::ffi::{c_char, c_void};
use dinrail::Error;
use dinrail::graph::{MAX_SRC, Node, NodeId};
use dinrail::hal::{
    Backend, Buffer, BufferType, Caps, Device, DeviceKind, HostMemory, Key, Live, Memory, Params,
    Query, Stream, StreamOps, host,
};
use dinrail::op::{GluKind, Op, RopeMode, Unary};
use dinrail::program::Program;
use dinrail::tensor::Desc;

/// A source or the result of a node.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_operand {
    /// Its first byte; NULL if it has no bytes, and while support is asked for.
    pub data: *mut c_void,
    /// Type, lengths and strides.
    pub desc: dinrail_desc,
}

/// A node as a driver sees it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_task {
    /// The operation by ggml's name, such as "MUL_MAT"; functions of one element and gated units by their own, such as "SILU"
    /// and "SWIGLU".
    pub op: dinrail_str,
    /// The result. It may lie in the memory of a source, where the operation allows.
    pub dst: dinrail_operand,
    /// The sources; one that is left out has the element type DINRAIL_NONE.
    pub src: [dinrail_operand; 8],
    /// The operation's numbers, in the order of its function here: scale and bias, eps, base and so on; 0 from the last on.
    pub reals: [f32; 8],
    /// Its whole numbers, likewise: `dim`, `axis0`, `exact`, `swapped`, strides and offset and so on.
    pub integers: [i64; 8],
}

const _: () = assert!(MAX_SRC == 8);

/// What a driver is and can do. The functions may be called by any thread, for different streams at the same time. They may
/// use the library, but not the stream and program they are called for; and they return: neither an exception nor
/// `longjmp` leaves them.
#[repr(C)]
pub struct dinrail_driver_info {
    /// Name of backend and device, unique in the table.
    pub name: *const c_char,
    /// A name for people; NULL for none.
    pub description: *const c_char,
    /// One of DINRAIL_DEVICE_*.
    pub kind: dinrail_device_kind,
    /// Whether there is a kernel for a task. The answer is a promise, and always the same.
    pub supports:
        Option<unsafe extern "C" fn(user: *mut c_void, task: *const dinrail_task) -> bool>,
    /// Computes a task. Anything but 0 is an error of the device: it ends the computation as DINRAIL_ERROR_DEVICE with
    /// this number.
    pub compute: Option<unsafe extern "C" fn(user: *mut c_void, task: *const dinrail_task) -> i32>,
    /// Handed to the functions.
    pub user: *mut c_void,
}

/// Memory for a driver, for as long as the program runs. Filled with zeros before its first use.
#[repr(C)]
pub struct dinrail_driver {
    words_: UnsafeCell<[usize; 32]>,
}
holder!(dinrail_driver holds Driver, 11, "driver");

/// The functions of a driver as the registry wants them.
pub(crate) struct Driver {
    name: &'static str,
    description: &'static str,
    kind: DeviceKind,
    supports: unsafe extern "C" fn(*mut c_void, *const dinrail_task) -> bool,
    compute: unsafe extern "C" fn(*mut c_void, *const dinrail_task) -> i32,
    user: *mut c_void,
    memory: HostMemory,
    live: Live,
}

// SAFETY: what can change are counters that are made for it; the program's functions may be called by any thread, as their
// documentation says.
unsafe impl Sync for Driver {}

#[cfg(feature = "std")]
static HEAP: Option<&'static dyn host::Heap> = Some(&dinrail::host::HEAP);
#[cfg(not(feature = "std"))]
static HEAP: Option<&'static dyn host::Heap> = None;

/// The parameters of an operation, in the order of the C function's.
fn numbers(op: &Op) -> ([f32; 8], [i64; 8]) {
    fn put<T: Copy + Default>(values: &[T]) -> [T; 8] {
        let mut out = [T::default(); 8];
        for (to, from) in out.iter_mut().zip(values) {
            *to = *from;
        }
        out
    }
    let (none, zero) = ([0.0; 8], [0; 8]);
    let size = |n: usize| n as i64;
    match *op {
        Op::Permute { axes } => (none, put(&axes.map(i64::from))),
        Op::Acc(w) | Op::Set(w) => {
            (none, put(&[size(w.nb[0]), size(w.nb[1]), size(w.nb[2]), size(w.offset)]))
        }
        Op::Scale { scale, bias } => (put(&[scale, bias]), zero),
        Op::Clamp { min, max } => (put(&[min, max]), zero),
        Op::SoftMax { scale, max_bias } => (put(&[scale, max_bias]), zero),
        Op::Arange { start, stop, step } => (put(&[start, stop, step]), zero),
        Op::Norm { eps } | Op::RmsNorm { eps } | Op::L2Norm { eps } => (put(&[eps]), zero),
        Op::GroupNorm { groups, eps } => (put(&[eps]), put(&[i64::from(groups)])),
        Op::Concat { dim } => (none, put(&[i64::from(dim)])),
        Op::MulMat { precision } => (none, put(&[precision as i64])),
        Op::DiagMaskInf { past } => (none, put(&[i64::from(past)])),
        Op::Argsort { descending } => (none, put(&[i64::from(descending)])),
        Op::Rope(r) => {
            let mode = match r.mode {
                RopeMode::Normal => crate::params::DINRAIL_ROPE_NORMAL,
                _ => crate::params::DINRAIL_ROPE_NEOX,
            };
            (
                put(&[r.base, r.scale, r.ext_factor, r.attn_factor, r.beta_fast, r.beta_slow]),
                put(&[i64::from(r.dims), i64::from(mode), i64::from(r.trained_context)]),
            )
        }
        Op::Unary(Unary::Xielu { alpha_n, alpha_p, beta, eps }) => {
            (put(&[alpha_n, alpha_p, beta, eps]), zero)
        }
        Op::Glu(g) => match g.kind {
            GluKind::SwigluOai { alpha, limit } => {
                (put(&[alpha, limit]), put(&[i64::from(g.swapped)]))
            }
            _ => (none, put(&[i64::from(g.swapped)])),
        },
        Op::FlashAttn { scale, max_bias, softcap, precision } => {
            (put(&[scale, max_bias, softcap]), put(&[precision as i64]))
        }
        _ => (none, zero),
    }
}

const ABSENT: dinrail_operand = dinrail_operand {
    data: core::ptr::null_mut(),
    desc: dinrail_desc { dtype: crate::graph::DINRAIL_NONE, bytes: 0, ne: [0; 4], nb: [0; 4] },
};

fn operand(desc: &Desc, data: *mut u8) -> dinrail_operand {
    dinrail_operand { data: data.cast(), desc: desc_of(desc) }
}

fn task(op: &Op, dst: dinrail_operand, src: [dinrail_operand; MAX_SRC]) -> dinrail_task {
    let (reals, integers) = numbers(op);
    dinrail_task { op: dinrail_str::of(crate::graph::op_name(op)), dst, src, reals, integers }
}

impl Driver {
    fn compute_node(&self, program: &Program<'_>, id: NodeId, node: &Node) -> Result<(), Error> {
        let mut src = [ABSENT; MAX_SRC];
        for (to, from) in src.iter_mut().zip(node.src) {
            if let Some(source) = program.graph().node(from) {
                *to = operand(&source.desc, program.address(from)?);
            }
        }
        let task = task(&node.op, operand(&node.desc, program.address(id)?), src);
        // SAFETY: the program's own function, with what it is promised.
        if !unsafe { (self.supports)(self.user, &task) } {
            return Err(Error::Unsupported { node: id, op: node.op.kind() });
        }
        // SAFETY: as above.
        match unsafe { (self.compute)(self.user, &task) } {
            0 => Ok(()),
            code => Err(Error::Device { call: "compute", code: i64::from(code) }),
        }
    }
}

impl Backend for Driver {
    fn name(&self) -> &str {
        self.name
    }

    fn device_count(&self) -> usize {
        1
    }

    fn device(&'static self, i: usize) -> Option<&'static dyn Device> {
        (i == 0).then_some(self)
    }
}

impl Device for Driver {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn memory(&self) -> Memory {
        self.memory.memory()
    }

    fn kind(&self) -> DeviceKind {
        self.kind
    }

    fn caps(&self) -> Caps {
        Caps { buffer_from_host: true, ..Caps::default() }
    }

    fn live(&'static self) -> Option<&'static Live> {
        Some(&self.live)
    }

    fn open(&'static self, params: &Params<'_>) -> Result<Stream, Error> {
        match params.threads {
            None | Some(1) => Ok(Stream::stateless(self, self)),
            Some(n) => {
                let value = i64::try_from(n).unwrap_or(i64::MAX);
                Err(Error::Invalid { what: "number of threads of a driver", value })
            }
        }
    }

    fn buffer_type(&'static self) -> &'static dyn BufferType {
        &self.memory
    }

    fn buffer_from_host<'m>(&'static self, bytes: &'m [u8], _: usize) -> Result<Buffer<'m>, Error> {
        Ok(Buffer::from_bytes(self.buffer_type(), bytes))
    }

    fn supports(&self, query: &Query<'_>) -> bool {
        if query.op.is_view() {
            return true;
        }
        let mut src = [ABSENT; MAX_SRC];
        for (i, to) in src.iter_mut().enumerate() {
            if let Some(desc) = query.src.source(i) {
                *to = operand(desc, core::ptr::null_mut());
            }
        }
        let task = task(query.op, operand(query.dst, core::ptr::null_mut()), src);
        // SAFETY: the program's own function, with what it is promised.
        unsafe { (self.supports)(self.user, &task) }
    }

    fn supports_buffer_type(&self, ty: &dyn BufferType) -> bool {
        ty.is_host() && !ty.is_repacked()
    }
}

impl StreamOps for Driver {
    fn name(&self) -> &str {
        self.name
    }

    fn free(&self, _: Key<'_>) {}

    fn compute(&self, _: Key<'_>, program: &Program<'_>) -> Result<(), Error> {
        for (id, node) in program.nodes() {
            if !node.op.is_view() && !node.desc.is_empty() {
                self.compute_node(program, id, node)?;
            }
        }
        Ok(())
    }

    fn step(&self, _: Key<'_>, program: &Program<'_>, next: usize) -> Result<usize, Error> {
        let end = program.range().end;
        for (id, node) in program.nodes().filter(|(id, _)| id.index() >= next) {
            if !node.op.is_view() && !node.desc.is_empty() {
                self.compute_node(program, id, node)?;
                return Ok(id.index() + 1);
            }
        }
        Ok(end)
    }
}

/// Makes a driver known. The same driver again is no error: it gives the same backend, also after it was taken out.
/// DINRAIL_ERROR_FULL where the table has no room (a library without `std` has room for as many as `DINRAIL_SLOTS` said when
/// it was built, else for none); DINRAIL_ERROR_NAME_TAKEN where another backend has the name. Nothing is changed then.
///
/// Threads: the driver's; not from an interrupt.
///
/// # Safety
/// `driver` and what `info` points to live, and stay as they are, as long as the program runs.
#[unsafe(export_name = symbol!("backend_register"))]
pub unsafe extern "C" fn dinrail_backend_register(
    driver: *mut dinrail_driver,
    info: Option<&dinrail_driver_info>,
    out: Out<dinrail_backend>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        aligned(driver, 1, "driver")?;
        // Shared: where it is known, other threads may be inside it.
        // SAFETY: the caller promises it.
        let known = unsafe { &*driver }.is_open();
        if !known {
            let info = some(info, "info")?;
            // SAFETY: the caller promises it.
            let name = unsafe { string(info.name, "name") };
            // SAFETY: as above.
            let description = unsafe { string(info.description, "description") };
            let name = some(name?, "name")?;
            if name.is_empty() {
                return Err(Error::Invalid { what: "length of a driver's name", value: 0 }.into());
            }
            let made = Driver {
                name,
                description: description?.unwrap_or(name),
                kind: kind_from(info.kind)?,
                supports: some(info.supports, "supports")?,
                compute: some(info.compute, "compute")?,
                user: info.user,
                memory: HostMemory::new("driver", HEAP),
                live: Live::new(),
            };
            // SAFETY: nobody knows of it yet, and the caller lends it to one thread at a time.
            unsafe { &mut *driver }.put(made);
        }
        // SAFETY: the caller keeps the object for ever.
        let object: &'static dinrail_driver = unsafe { &*driver };
        let backend: &'static dyn Backend = object.value()?;
        match dinrail::registry().register(backend) {
            Ok(_) => {
                if let Some(out) = out {
                    out.write(dinrail_backend::of(backend));
                }
                Ok(())
            }
            Err(e) => {
                if !known {
                    // SAFETY: it was not taken into the table, so nobody knows of it.
                    let _ = unsafe { &mut *driver }.take();
                }
                Err(e.into())
            }
        }
    })
}

/// Takes a backend out of the table, if it was put there while the program ran. DINRAIL_ERROR_IN_USE, with their numbers, where
/// streams of it are open (of a plug-in, also buffers and events).
///
/// Threads: any; not from an interrupt.
#[unsafe(export_name = symbol!("backend_unregister"))]
pub extern "C" fn dinrail_backend_unregister(
    backend: dinrail_backend,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let backend = backend.get()?;
        let registry = dinrail::registry();
        let mut all = registry.backends();
        let handle = all.find(|(_, b)| core::ptr::addr_eq(*b, backend)).map(|(h, _)| h);
        let handle = handle.ok_or(Fault::Core(Error::Stale))?;
        // A library is closed as well; what was not loaded is not the loader's.
        #[cfg(feature = "dynamic")]
        match dinrail::loader::unload(handle) {
            Ok(()) => return Ok(()),
            Err(failure) => match failure.cause() {
                Some(Error::NotFound) => {}
                Some(cause) => return Err(cause.into()),
                None => return Err(Fault::Load("the library could not be closed")),
            },
        }
        Ok(registry.unregister(handle)?)
    })
}
