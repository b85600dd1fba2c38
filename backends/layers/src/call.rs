//! A call, as hooks see it.

/// Which function was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// A stream is opened.
    Open,
    /// A stream ends.
    Close,
    /// A buffer is allocated.
    Alloc,
    /// A buffer is freed.
    Free,
    /// Bytes are written to a tensor.
    Set,
    /// Bytes are read from a tensor.
    Get,
    /// Part of a tensor is filled.
    Memset,
    /// A buffer is filled.
    Clear,
    /// A tensor is copied from another buffer.
    Copy,
    /// A tensor is prepared.
    Init,
    /// What was prepared is forgotten.
    Reset,
    /// A program is computed.
    Compute,
    /// A piece of a program is computed.
    Step,
    /// A stream is waited for.
    Synchronize,
    /// A program is prepared.
    Plan,
    /// A prepared program is changed.
    PlanUpdate,
    /// A prepared program is computed.
    PlanCompute,
    /// An event is made.
    EventNew,
    /// An event is freed.
    EventFree,
    /// An event is recorded.
    Record,
    /// A stream is made to wait for an event.
    Wait,
    /// The host waits for an event.
    EventSynchronize,
    /// A buffer is made of host memory.
    FromHost,
}

impl Kind {
    /// Every kind, in the order of its number.
    pub const ALL: &'static [Self] = &[
        Self::Open,
        Self::Close,
        Self::Alloc,
        Self::Free,
        Self::Set,
        Self::Get,
        Self::Memset,
        Self::Clear,
        Self::Copy,
        Self::Init,
        Self::Reset,
        Self::Compute,
        Self::Step,
        Self::Synchronize,
        Self::Plan,
        Self::PlanUpdate,
        Self::PlanCompute,
        Self::EventNew,
        Self::EventFree,
        Self::Record,
        Self::Wait,
        Self::EventSynchronize,
        Self::FromHost,
    ];

    /// Whether the function can fail. Those that give something back can't.
    pub const fn is_fallible(self) -> bool {
        !matches!(self, Self::Close | Self::Free | Self::Reset | Self::EventFree)
    }
}

/// A call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub kind: Kind,
    /// Bytes that it is about: of the buffer or of the transfer; 0 for others.
    pub bytes: usize,
    /// First byte in the buffer of a transfer; for `Compute` and its like the first node.
    pub at: usize,
    /// For `Compute` and its like the number of nodes; else 0.
    pub nodes: usize,
}

impl Call {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self { kind, bytes: 0, at: 0, nodes: 0 }
    }

    pub(crate) const fn transfer(kind: Kind, at: usize, bytes: usize) -> Self {
        Self { kind, bytes, at, nodes: 0 }
    }

    pub(crate) fn program(kind: Kind, range: core::ops::Range<usize>) -> Self {
        Self { kind, bytes: 0, at: range.start, nodes: range.len() }
    }
}
