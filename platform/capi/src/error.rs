//! Errors
//!
//! Functions that can fail return a status, 0 when all went well, and fill a `dinrail_error` if they are given one. The
//! error carries the numbers that a program needs; `dinrail_error_text` makes a sentence of it.

use crate::border::guard;
use crate::text::{Cut, copy_out};
use core::ffi::c_char;
use core::mem::MaybeUninit;
use dinrail::tensor::size::SizeError;
use dinrail::{Error, gguf};

/// 0, or what kind of error it is.
pub type dinrail_status = i32;

/// All went well.
pub const DINRAIL_OK: i32 = 0;
/// A fixed capacity is used up. Numbers: needed, there.
pub const DINRAIL_ERROR_FULL: i32 = 1;
/// Memory could not be had. Numbers: bytes asked for, bytes left (-1: not known).
pub const DINRAIL_ERROR_OUT_OF_MEMORY: i32 = 2;
/// A size, a block or an alignment that can't be.
pub const DINRAIL_ERROR_SIZE: i32 = 3;
/// A node whose sources don't fit its operation. Numbers: node.
pub const DINRAIL_ERROR_NODE: i32 = 4;
/// The device has no kernel for a node. Numbers: node (-1: none).
pub const DINRAIL_ERROR_UNSUPPORTED: i32 = 5;
/// The device, or this build of the library, lacks an optional function.
pub const DINRAIL_ERROR_NOT_OFFERED: i32 = 6;
/// Bytes outside of what is there. Numbers: first byte asked for, number of bytes, bytes that are there.
pub const DINRAIL_ERROR_RANGE: i32 = 7;
/// A node lives in a slot that nothing is bound to. Numbers: node, slot.
pub const DINRAIL_ERROR_UNBOUND: i32 = 8;
/// Memory at an address that doesn't suit it. Numbers: address, what it must be a multiple of.
pub const DINRAIL_ERROR_MISALIGNED: i32 = 9;
/// A write to memory that may only be read.
pub const DINRAIL_ERROR_READ_ONLY: i32 = 10;
/// The host can't reach this memory.
pub const DINRAIL_ERROR_NOT_HOST: i32 = 11;
/// A plan that was made for another graph. Numbers: nodes in the graph, nodes in the plan.
pub const DINRAIL_ERROR_MISMATCH: i32 = 12;
/// An event, buffer or stream of another device.
pub const DINRAIL_ERROR_FOREIGN: i32 = 13;
/// A different backend has this name.
pub const DINRAIL_ERROR_NAME_TAKEN: i32 = 14;
/// Nothing answers to this name, kind or number.
pub const DINRAIL_ERROR_NOT_FOUND: i32 = 15;
/// The backend was unloaded; or what a plan, program or run was made of is no longer what it was then.
pub const DINRAIL_ERROR_STALE: i32 = 16;
/// The backend is in use. Numbers: streams, buffers, events.
pub const DINRAIL_ERROR_IN_USE: i32 = 17;
/// A compiled-in backend can't be unloaded.
pub const DINRAIL_ERROR_BUILT_IN: i32 = 18;
/// The registry is being changed elsewhere: try again.
pub const DINRAIL_ERROR_BUSY: i32 = 19;
/// A value that the function can't take. Numbers: the value.
pub const DINRAIL_ERROR_INVALID: i32 = 20;
/// The device failed. Numbers: its own code.
pub const DINRAIL_ERROR_DEVICE: i32 = 21;
/// Stopped on request.
pub const DINRAIL_ERROR_CANCELLED: i32 = 22;
/// A pointer is NULL that must not be.
pub const DINRAIL_ERROR_NULL: i32 = 64;
/// An object that was never opened, is closed, or was copied from elsewhere.
pub const DINRAIL_ERROR_NOT_OPEN: i32 = 65;
/// An object that is open already, and would be lost.
pub const DINRAIL_ERROR_ALREADY_OPEN: i32 = 66;
/// A string that is not UTF-8.
pub const DINRAIL_ERROR_NOT_UTF8: i32 = 67;
/// A graph that is not finished yet, or is finished already.
pub const DINRAIL_ERROR_UNFINISHED: i32 = 68;
/// The operating system said no. Numbers: its code.
pub const DINRAIL_ERROR_SYSTEM: i32 = 69;
/// A backend could not be loaded.
pub const DINRAIL_ERROR_LOAD: i32 = 70;
/// A GGUF file is damaged or of a kind that can't be read. Numbers: where in the file, and what stands there.
pub const DINRAIL_ERROR_GGUF: i32 = 80;
/// A file needs more scratch memory to be checked. Numbers: words that are enough.
pub const DINRAIL_ERROR_GGUF_SCRATCH: i32 = 81;
/// A mistake of dinrail's own, caught before it could reach the program. Please report it.
pub const DINRAIL_ERROR_INTERNAL: i32 = 99;

/// What went wrong. Copy it as you like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_error {
    /// The same number that the function returned.
    pub code: dinrail_status,
    /// Whether the library filled this.
    mark_: u32,
    /// What the code's description says; 0 where it says nothing.
    pub numbers: [i64; 3],
    /// For `dinrail_error_text`.
    fault_: MaybeUninit<[u64; 8]>,
}

/// Everything that a function of this interface can answer.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    Core(Error),
    Gguf(gguf::Error),
    Null(&'static str),
    NotOpen(&'static str),
    AlreadyOpen(&'static str),
    NotUtf8(&'static str),
    TooLarge(&'static str, usize),
    Unfinished,
    Finished,
    /// What a file or a graph hasn't.
    Missing(&'static str),
    /// What this was made of has changed.
    Changed(&'static str),
    /// A plan that was made for a graph of as many nodes, but for another one.
    OtherPlan(usize),
    /// Memory that is copied to or from itself.
    Overlap(&'static str),
    #[cfg(feature = "std")]
    NoFile(&'static str),
    #[cfg(feature = "std")]
    Forked,
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    System(i32),
    Load(&'static str),
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    Panic,
}

impl From<Error> for Fault {
    fn from(e: Error) -> Self {
        Fault::Core(e)
    }
}

impl From<gguf::Error> for Fault {
    fn from(e: gguf::Error) -> Self {
        Fault::Gguf(e)
    }
}

const _: () = assert!(
    size_of::<Fault>() <= size_of::<[u64; 8]>() && align_of::<Fault>() <= align_of::<u64>()
);

const FILLED: u32 = 0xD1A0_E440;

impl dinrail_error {
    /// No error.
    pub(crate) const NONE: Self =
        Self { code: DINRAIL_OK, mark_: FILLED, numbers: [0; 3], fault_: MaybeUninit::uninit() };

    pub(crate) fn of(fault: Fault) -> Self {
        let (code, numbers) = explain(&fault);
        let mut this = Self { code, mark_: FILLED ^ code as u32, numbers, ..Self::NONE };
        let at: *mut Fault = this.fault_.as_mut_ptr().cast();
        // SAFETY: the field has the room and the alignment, as checked above.
        unsafe { at.write(fault) };
        this
    }

    fn fault(&self) -> Option<Fault> {
        if self.code == DINRAIL_OK || self.mark_ != FILLED ^ self.code as u32 {
            return None;
        }
        let at: *const Fault = self.fault_.as_ptr().cast();
        // SAFETY: the mark says that `of` wrote it.
        Some(unsafe { at.read() })
    }
}

/// A number for C; what doesn't fit is "not known".
fn n(x: usize) -> i64 {
    i64::try_from(x).unwrap_or(-1)
}

fn wide(x: u64) -> i64 {
    i64::try_from(x).unwrap_or(-1)
}

fn explain(fault: &Fault) -> (dinrail_status, [i64; 3]) {
    match *fault {
        Fault::Core(e) => of_core(&e),
        Fault::Gguf(gguf::Error::Scratch { words }) => {
            (DINRAIL_ERROR_GGUF_SCRATCH, [i64::from(words), 0, 0])
        }
        Fault::Gguf(gguf::Error::NotFound) => (DINRAIL_ERROR_NOT_FOUND, [0; 3]),
        Fault::Gguf(e) => (DINRAIL_ERROR_GGUF, of_gguf(&e)),
        Fault::Null(_) => (DINRAIL_ERROR_NULL, [0; 3]),
        Fault::NotOpen(_) => (DINRAIL_ERROR_NOT_OPEN, [0; 3]),
        Fault::AlreadyOpen(_) => (DINRAIL_ERROR_ALREADY_OPEN, [0; 3]),
        Fault::NotUtf8(_) => (DINRAIL_ERROR_NOT_UTF8, [0; 3]),
        Fault::TooLarge(_, size) => (DINRAIL_ERROR_SIZE, [n(size), 0, 0]),
        Fault::Unfinished | Fault::Finished => (DINRAIL_ERROR_UNFINISHED, [0; 3]),
        Fault::Missing(_) => (DINRAIL_ERROR_NOT_FOUND, [0; 3]),
        Fault::Changed(_) => (DINRAIL_ERROR_STALE, [0; 3]),
        Fault::OtherPlan(nodes) => (DINRAIL_ERROR_MISMATCH, [n(nodes), n(nodes), 0]),
        Fault::Overlap(_) => (DINRAIL_ERROR_INVALID, [0; 3]),
        #[cfg(feature = "std")]
        Fault::NoFile(_) => (DINRAIL_ERROR_SYSTEM, [0; 3]),
        #[cfg(feature = "std")]
        Fault::Forked => (DINRAIL_ERROR_STALE, [0; 3]),
        Fault::System(code) => (DINRAIL_ERROR_SYSTEM, [i64::from(code), 0, 0]),
        Fault::Load(_) => (DINRAIL_ERROR_LOAD, [0; 3]),
        Fault::Panic => (DINRAIL_ERROR_INTERNAL, [0; 3]),
    }
}

fn of_core(e: &Error) -> (dinrail_status, [i64; 3]) {
    let node = |id: dinrail::graph::NodeId| if id.is_none() { -1 } else { n(id.index()) };
    match *e {
        Error::Full { need, have, .. } => (DINRAIL_ERROR_FULL, [n(need), n(have), 0]),
        Error::OutOfMemory { requested, available } => {
            (DINRAIL_ERROR_OUT_OF_MEMORY, [n(requested), n(available), 0])
        }
        Error::Size(SizeError::Block { ne0, .. }) => (DINRAIL_ERROR_SIZE, [wide(ne0), 0, 0]),
        Error::Size(_) => (DINRAIL_ERROR_SIZE, [0; 3]),
        Error::Node { node: id, .. } => (DINRAIL_ERROR_NODE, [node(id), 0, 0]),
        Error::Unsupported { node: id, .. } => (DINRAIL_ERROR_UNSUPPORTED, [node(id), 0, 0]),
        Error::NotOffered { .. } => (DINRAIL_ERROR_NOT_OFFERED, [0; 3]),
        Error::Range { offset, len, size } => (DINRAIL_ERROR_RANGE, [n(offset), n(len), n(size)]),
        Error::Unbound { node: id, slot } => {
            (DINRAIL_ERROR_UNBOUND, [node(id), i64::from(slot), 0])
        }
        Error::Misaligned { address, align } => {
            (DINRAIL_ERROR_MISALIGNED, [n(address), n(align), 0])
        }
        Error::ReadOnly => (DINRAIL_ERROR_READ_ONLY, [0; 3]),
        Error::NotHost => (DINRAIL_ERROR_NOT_HOST, [0; 3]),
        Error::Mismatch { graph, plan } => (DINRAIL_ERROR_MISMATCH, [n(graph), n(plan), 0]),
        Error::ForeignObject { .. } => (DINRAIL_ERROR_FOREIGN, [0; 3]),
        Error::NameTaken => (DINRAIL_ERROR_NAME_TAKEN, [0; 3]),
        Error::NotFound => (DINRAIL_ERROR_NOT_FOUND, [0; 3]),
        Error::Stale => (DINRAIL_ERROR_STALE, [0; 3]),
        Error::InUse { streams, buffers, events } => {
            (DINRAIL_ERROR_IN_USE, [n(streams), n(buffers), n(events)])
        }
        Error::BuiltIn => (DINRAIL_ERROR_BUILT_IN, [0; 3]),
        Error::Busy => (DINRAIL_ERROR_BUSY, [0; 3]),
        Error::Invalid { value, .. } => (DINRAIL_ERROR_INVALID, [value, 0, 0]),
        Error::Device { code, .. } => (DINRAIL_ERROR_DEVICE, [code, 0, 0]),
        Error::Cancelled => (DINRAIL_ERROR_CANCELLED, [0; 3]),
        // A variant that is younger than this interface: the text says what it is.
        _ => (DINRAIL_ERROR_INTERNAL, [0; 3]),
    }
}

fn of_gguf(e: &gguf::Error) -> [i64; 3] {
    use gguf::Error as E;
    match *e {
        E::BigEndian { version } | E::Version { version } => [4, i64::from(version), 0],
        E::Truncated { at, need, len } => [wide(at), wide(need), wide(len)],
        E::NeedMore { bytes } => [wide(bytes), 0, 0],
        E::SourceEnded { at, len } => [wide(at), wide(len), 0],
        E::Count { at, count, left, .. } => [wide(at), wide(count), wide(left)],
        E::EmptyName { at } | E::NestedArray { at } => [wide(at), 0, 0],
        E::NameTooLong { at, len, max } => [wide(at), wide(len), wide(max)],
        E::NotUtf8 { item } => [i64::from(item.at), i64::from(item.index), 0],
        E::ValueType { at, id } | E::AlignmentType { at, id } => [wide(at), i64::from(id), 0],
        E::Bool { at, value } => [wide(at), i64::from(value), 0],
        E::Alignment { at, value } => [wide(at), i64::from(value), 0],
        E::DuplicateKey { first, second }
        | E::DuplicateTensor { first, second }
        | E::Overlap { first, second } => {
            [i64::from(second.at), i64::from(second.index), i64::from(first.index)]
        }
        E::Dimensions { tensor, n_dims: v } | E::TensorType { tensor, id: v } => {
            [i64::from(tensor.at), i64::from(tensor.index), i64::from(v)]
        }
        E::Size { tensor, .. } => [i64::from(tensor.at), i64::from(tensor.index), 0],
        E::Misaligned { tensor, offset, alignment } => {
            [i64::from(tensor.at), wide(offset), i64::from(alignment)]
        }
        E::OutOfFile { offset, size, data_len, .. } => [wide(offset), wide(size), wide(data_len)],
        _ => [0; 3],
    }
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Fault::Core(e) => e.fmt(f),
            Fault::Gguf(e) => e.fmt(f),
            Fault::Null(name) => write!(f, "`{name}` is NULL"),
            Fault::NotOpen(name) => write!(
                f,
                "this {name} was never opened, is closed, or is a copy of one; use the object itself, where it was opened"
            ),
            Fault::AlreadyOpen(name) => {
                write!(f, "this {name} is open already; close it before it is used again")
            }
            Fault::NotUtf8(name) => write!(f, "`{name}` is not UTF-8"),
            Fault::TooLarge(name, size) => {
                write!(f, "`{name}` has {size} items or bytes, more than there is memory")
            }
            Fault::Unfinished => f.write_str("the graph is not finished; call dinrail_graph_finish"),
            Fault::Finished => {
                f.write_str("the graph is finished; call dinrail_graph_begin for another one")
            }
            Fault::Missing(what) => write!(f, "there is no {what}"),
            Fault::Changed(name) => write!(
                f,
                "this {name} was made of slots, buffers, nodes or places that have changed since, or are gone; make it anew"
            ),
            Fault::OtherPlan(nodes) => write!(
                f,
                "the plan was made for another graph of {nodes} nodes too; plan this graph anew"
            ),
            Fault::Overlap(name) => write!(
                f,
                "`{name}` overlaps the memory that it is copied from or to; copy it by way of other memory"
            ),
            #[cfg(feature = "std")]
            Fault::NoFile(what) => f.write_str(what),
            #[cfg(feature = "std")]
            Fault::Forked => f.write_str(
                "this stream was opened before the process forked; a child process opens streams of its own",
            ),
            #[cfg(feature = "std")]
            Fault::System(code) => std::io::Error::from_raw_os_error(code).fmt(f),
            #[cfg(not(feature = "std"))]
            Fault::System(code) => write!(f, "system error {code}"),
            Fault::Load(reason) => f.write_str(reason),
            Fault::Panic => f.write_str(
                "a mistake of dinrail's own was caught; results of this call are unspecified. Please report it",
            ),
        }
    }
}

/// Writes one line for people that says what went wrong, where, and what to do; ends it with a 0, and cuts it off (between
/// characters) where `size` bytes are not enough. Returns the length of the whole line without the 0. A program that
/// doesn't call this has no code for formatting in it.
///
/// Threads: any.
///
/// # Safety
/// `text` is NULL or has room for `size` bytes.
#[unsafe(export_name = symbol!("error_text"))]
pub unsafe extern "C" fn dinrail_error_text(
    error: Option<&dinrail_error>,
    text: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller promises it.
    let out = unsafe { copy_out(text, size) };
    guard(0, || {
        let mut cut = Cut::new(out);
        let _ = match error {
            None => core::fmt::Write::write_str(&mut cut, "`error` is NULL"),
            Some(e) => match e.fault() {
                Some(fault) => core::fmt::Write::write_fmt(&mut cut, format_args!("{fault}")),
                None if e.code == DINRAIL_OK => core::fmt::Write::write_str(&mut cut, "no error"),
                // The program's own, or memory that never was an error.
                None => {
                    let name = status_name(e.code).to_bytes();
                    let name = core::str::from_utf8(name).unwrap_or("");
                    core::fmt::Write::write_fmt(
                        &mut cut,
                        format_args!("{name}, which this library didn't say"),
                    )
                }
            },
        };
        cut.finish()
    })
}

macro_rules! names {
    ($($code:ident)*) => {
        fn status_name(status: dinrail_status) -> &'static core::ffi::CStr {
            match status {
                $($code => {
                    const NAME: &core::ffi::CStr =
                        match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($code), "\0").as_bytes()) {
                            Ok(name) => name,
                            Err(_) => panic!("a name with a zero"),
                        };
                    NAME
                })*
                _ => c"unknown status",
            }
        }
        #[cfg(test)]
        pub(crate) const ALL: &[dinrail_status] = &[$($code),*];
    };
}

names! {
    DINRAIL_OK DINRAIL_ERROR_FULL DINRAIL_ERROR_OUT_OF_MEMORY DINRAIL_ERROR_SIZE DINRAIL_ERROR_NODE
    DINRAIL_ERROR_UNSUPPORTED DINRAIL_ERROR_NOT_OFFERED DINRAIL_ERROR_RANGE DINRAIL_ERROR_UNBOUND
    DINRAIL_ERROR_MISALIGNED DINRAIL_ERROR_READ_ONLY DINRAIL_ERROR_NOT_HOST DINRAIL_ERROR_MISMATCH
    DINRAIL_ERROR_FOREIGN DINRAIL_ERROR_NAME_TAKEN DINRAIL_ERROR_NOT_FOUND DINRAIL_ERROR_STALE
    DINRAIL_ERROR_IN_USE DINRAIL_ERROR_BUILT_IN DINRAIL_ERROR_BUSY DINRAIL_ERROR_INVALID
    DINRAIL_ERROR_DEVICE DINRAIL_ERROR_CANCELLED DINRAIL_ERROR_NULL DINRAIL_ERROR_NOT_OPEN
    DINRAIL_ERROR_ALREADY_OPEN DINRAIL_ERROR_NOT_UTF8 DINRAIL_ERROR_UNFINISHED DINRAIL_ERROR_SYSTEM
    DINRAIL_ERROR_LOAD DINRAIL_ERROR_GGUF DINRAIL_ERROR_GGUF_SCRATCH DINRAIL_ERROR_INTERNAL
}

/// The name of a status, such as "DINRAIL_ERROR_FULL"; never NULL.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("status_name"))]
pub extern "C" fn dinrail_status_name(status: dinrail_status) -> *const c_char {
    status_name(status).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dinrail::error::What;

    fn text(e: &dinrail_error, size: usize) -> (String, usize) {
        let mut buffer = vec![b'#'; size + 1];
        // SAFETY: the buffer has `size` bytes.
        let n = unsafe { dinrail_error_text(Some(e), buffer.as_mut_ptr().cast(), size) };
        assert_eq!(buffer[size], b'#');
        let end = buffer.iter().position(|b| *b == 0).unwrap_or(0);
        (String::from_utf8(buffer[..end].to_vec()).unwrap(), n)
    }

    #[test]
    fn numbers_and_text() {
        let e = dinrail_error::of(Error::Full { what: What::Arena, need: 9, have: 8 }.into());
        assert_eq!((e.code, e.numbers), (DINRAIL_ERROR_FULL, [9, 8, 0]));
        let (line, n) = text(&e, 200);
        assert!(line.starts_with("out of arena bytes: 9 needed, capacity is 8"), "{line}");
        assert_eq!(line.len(), n);
        assert_eq!(text(&e, 7), ("out of".into(), n));
        assert_eq!(text(&e, 1), (String::new(), n));
        assert_eq!(text(&e, 0), (String::new(), n));
        let unknown = Error::OutOfMemory { requested: 7, available: usize::MAX };
        assert_eq!(dinrail_error::of(unknown.into()).numbers, [7, -1, 0]);
        let mut odd = e;
        odd.code = 3;
        assert_eq!(text(&odd, 99).0, "DINRAIL_ERROR_SIZE, which this library didn't say");
        assert_eq!(text(&dinrail_error::NONE, 99).0, "no error");
    }

    #[test]
    fn every_status_has_a_name_of_its_own() {
        let names: std::collections::HashSet<_> = ALL.iter().map(|s| status_name(*s)).collect();
        assert_eq!(names.len(), ALL.len());
        assert_eq!(status_name(-1), c"unknown status");
    }

    #[test]
    fn panics_become_a_status() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let mut e = MaybeUninit::uninit();
        let status = crate::border::answer(Some(&mut e), || panic!("oh"));
        std::panic::set_hook(hook);
        assert_eq!(status, DINRAIL_ERROR_INTERNAL);
        // SAFETY: it was filled.
        assert!(text(unsafe { e.assume_init_ref() }, 200).0.contains("Please report"));
    }
}
