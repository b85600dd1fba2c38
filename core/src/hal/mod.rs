//! The hardware interface: what a backend provides, and the handles that callers hold.
//!
//! | concept | trait for implementors | handle for callers |
//! |---|---|---|
//! | what is compiled in or loaded | [`Backend`] | `&'static dyn Backend` |
//! | a processor | [`Device`] | `&'static dyn Device` |
//! | a kind of memory | [`BufferType`] | `&'static dyn BufferType` |
//! | a piece of memory | functions of [`BufferType`] | [`Buffer`] |
//! | a queue of work | [`StreamOps`] | [`Stream`] |
//! | a mark in a queue | functions of [`Device`] and [`StreamOps`] | [`Event`] |
//!
//! # The contract
//!
//! A handle holds the trait object that made it and one opaque word, [`Raw`]; the trait's functions get that word back
//! as a [`Key`], which only the handles of this crate can make. So a backend may rely on: a `Key` is one that it handed
//! out itself and that was not freed yet. Dropping a handle frees it.
//!
//! Core checks once, in the handles and in [`Program::new`](crate::program::Program::new): ranges lie inside buffers,
//! nodes obey their operations' shape rules, every place is bound, aligned and inside its buffer, and nothing writes to
//! memory that may only be read. A backend need not check these again. It must check what core can't know: whether it
//! has a kernel (`supports`), and values inside tensors that are used as indices.
//!
//! A backend never panics and never aborts on a request; it returns an [`Error`](crate::Error). After an error the
//! results of that call are unspecified, and everything else is still usable.

mod backend;
mod buffer;
mod buffer_type;
mod device;
mod event;
pub mod host;
mod host_memory;
mod raw;
mod scope;
mod stream;
mod view;

#[cfg(test)]
mod tests;

pub use backend::{Backend, Proc};
pub use buffer::{Buffer, Usage};
pub use buffer_type::{Allocation, BufferType, Rows, Span};
pub use device::{Caps, Device, DeviceKind, Memory, Params, Query};
pub use event::Event;
pub use host_memory::HostMemory;
pub use raw::{Key, Live, Raw};
pub use scope::Scope;
pub use stream::{Prepared, Run, Stream, StreamOps};
pub use view::HostView;
