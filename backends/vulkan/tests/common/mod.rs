//! Devices in the ways that tests look at them.
#![allow(dead_code)]

use dinrail_core::error::Result;
use dinrail_core::graph::{Flags, GraphBuf, NodeId};
use dinrail_core::hal::{Backend as _, Buffer, Device, Event, Params, Span};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;
use dinrail_vulkan::{Backend, Features};

/// With the validation layer looking on, where it is installed.
pub const WATCHED: dinrail_vulkan::Options =
    dinrail_vulkan::Options { validate: true, ..dinrail_vulkan::Options::DEFAULT };

/// Everything that the device has.
pub static FULL: Backend = Backend::with(WATCHED);
/// As a device without subgroups and 16-bit floats, and with memory that the host can't reach.
pub static PLAIN: Backend =
    Backend::with(dinrail_vulkan::Options { map: false, features: Features::NONE, ..WATCHED });

/// The first device; `None`, with a word about it, where there is none.
pub fn device(backend: &'static Backend) -> Option<&'static dyn Device> {
    let device = backend.device(0);
    if device.is_none() {
        println!("skipped: {}", backend.reason().unwrap_or("the first device can't be used"));
    }
    device
}

/// Fails if the validation layer complained.
pub fn silent(backend: &'static Backend) {
    match backend.complaints() {
        Some(n) => assert_eq!(
            n.load(std::sync::atomic::Ordering::Relaxed),
            0,
            "complaints of the validation layer"
        ),
        None => println!("the validation layer is not installed"),
    }
}

/// A graph `y = (a + b) * b`, on memory of a device.
pub struct Small {
    graph: GraphBuf<4>,
    plan: PlanBuf<4>,
    /// Its memory.
    pub arena: Buffer<'static>,
}

/// The nodes of [`Small`].
pub const A: NodeId = NodeId(0);
pub const B: NodeId = NodeId(1);
pub const Y: NodeId = NodeId(3);
/// Elements of each of them.
pub const N: usize = 300;

impl Small {
    pub fn new(device: &'static dyn Device) -> Result<Self> {
        let mut graph = GraphBuf::<4>::new();
        let mut builder = graph.builder();
        let a = builder.input(DType::F32, [N, 1, 1, 1]);
        let b = builder.input(DType::F32, [N, 1, 1, 1]);
        builder.mark(a, Flags::OUTPUT);
        builder.mark(b, Flags::OUTPUT);
        let sum = builder.add(a, b);
        let y = builder.mul(sum, b);
        builder.output(y);
        builder.finish()?;
        let options = Options { align: device.buffer_type().alignment(), ..Options::DEFAULT };
        let plan = PlanBuf::new(graph.graph(), &options)?;
        let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena)?;
        Ok(Self { graph, plan, arena })
    }

    /// Calls `f` with the program.
    pub fn with<R>(&self, f: impl FnOnce(&Program<'_>) -> Result<R>) -> Result<R> {
        f(&self.program(&[Binding::new(&self.arena)])?)
    }

    /// The program on some memory.
    pub fn program<'a>(&'a self, bindings: &'a [Binding<'a>]) -> Result<Program<'a>> {
        Program::new(self.graph.graph(), self.plan.plan(), bindings)
    }

    /// Where a node lies.
    pub fn span(&self, id: NodeId) -> Span<'_> {
        let desc = &self.graph.graph().node(id).unwrap().desc;
        Span { desc, offset: self.plan.plan().loc(id).unwrap().offset }
    }
}

/// The bytes of numbers.
pub fn bytes(x: &[f32]) -> Vec<u8> {
    x.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Uses every part of the interface that calls Vulkan, and checks the results where nothing failed.
pub fn use_everything(device: &'static dyn Device, lent: &[u8]) -> Result<()> {
    let small = Small::new(device)?;
    let pinned = device.host_buffer_type().map(|t| Buffer::new(t, 1000)).transpose()?;
    let borrowed = match device.caps().buffer_from_host {
        true => Some(device.buffer_from_host(lent, lent.len())?),
        false => None,
    };
    small.arena.clear(7)?;
    small.arena.memset(small.span(A), 1, 1001, 3)?;
    let (one, other) = (device.open(&Params::default())?, device.open(&Params::default())?);
    let (a, b) = (bytes(&[2.0; N]), bytes(&[3.0; N]));
    let mut y = vec![0; N * 4];
    let event = Event::new(device)?;
    small.with(|program| {
        program.set(B, &a)?;
        one.scope(|s| {
            s.set(&small.arena, small.span(A), 0, &a)?;
            s.set(&small.arena, small.span(B), 0, &b)?;
            // Recorded to be submitted once, to be submitted again, and submitted again.
            one.compute(program)?;
            one.compute(program)?;
            one.compute(program)?;
            one.record(&event)?;
            other.wait(&event)?;
            s.get(&small.arena, small.span(Y), 0, &mut y)
        })?;
        assert_eq!(y, bytes(&[15.0; N]));
        other.copy(&one, (&small.arena, small.span(Y)), (&small.arena, small.span(A)))?;
        let mut prepared = other.plan(program)?;
        prepared.compute()?;
        prepared.update(program)?;
        prepared.compute()?;
        other.synchronize()?;
        event.synchronize()?;
        program.get(Y, &mut y)?;
        assert_eq!(y, bytes(&[54.0; N]));
        Ok(())
    })?;
    let mut got = vec![0; lent.len()];
    if let Some(borrowed) = &borrowed {
        borrowed.read(0, &mut got)?;
        assert_eq!(got, lent);
    }
    if let Some(p) = &pinned {
        p.write(0, &[1; 1000])?;
    }
    Ok(())
}
