//! A small device for tests of this crate: memory that the host can't touch, a queue that runs late, a few
//! operations, and counters for everything.
#![allow(unsafe_code)]

mod late;

pub(crate) use late::{Late, World};

use crate::error::{Error, Result};
use crate::hal::{
    Allocation, Backend, Buffer, BufferType, Device, DeviceKind, Key, Live, Memory, Params, Query,
    Raw, Span, Stream, StreamOps,
};
use crate::op::{Kind, Op};
use crate::program::Program;
use crate::tensor::DType;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::boxed::Box;
use std::sync::Mutex;
use std::vec;
use std::vec::Vec;

pub(crate) struct Toy {
    pub name: &'static str,
    pub kind: DeviceKind,
    /// What it can compute.
    pub ops: &'static [Kind],
    /// Which nodes it asks for.
    pub offloads: bool,
    /// Identity of the hardware.
    pub id: Option<&'static str>,
    /// Whether it expects to have a device of its kind.
    pub expects: bool,
    /// Whether its memory counts as the host's.
    pub host: bool,
    /// How often it was asked for its devices.
    pub asked: AtomicUsize,
    pub live: Live,
    pub computed: Mutex<Vec<Kind>>,
    pub copied_in: AtomicUsize,
    /// Bytes that may still be allocated.
    pub budget: AtomicUsize,
    pub events: AtomicUsize,
    memory: ToyMemory,
}

struct ToyMemory(core::sync::atomic::AtomicPtr<Toy>);

impl Toy {
    pub fn leak(name: &'static str, kind: DeviceKind, ops: &'static [Kind]) -> &'static Toy {
        Toy::with(name, kind, ops, |_| {})
    }

    pub fn with(
        name: &'static str,
        kind: DeviceKind,
        ops: &'static [Kind],
        change: impl FnOnce(&mut Toy),
    ) -> &'static Toy {
        let mut toy = Box::new(Toy {
            name,
            kind,
            ops,
            offloads: false,
            id: None,
            expects: true,
            host: false,
            asked: AtomicUsize::new(0),
            live: Live::new(),
            computed: Mutex::new(Vec::new()),
            copied_in: AtomicUsize::new(0),
            budget: AtomicUsize::new(usize::MAX),
            events: AtomicUsize::new(0),
            memory: ToyMemory(core::sync::atomic::AtomicPtr::new(core::ptr::null_mut())),
        });
        change(&mut toy);
        let toy: &'static Toy = Box::leak(toy);
        toy.memory.0.store(core::ptr::from_ref(toy).cast_mut(), SeqCst);
        toy
    }

    pub fn offloading(name: &'static str, ops: &'static [Kind]) -> &'static Toy {
        Toy::with(name, DeviceKind::Gpu, ops, |t| t.offloads = true)
    }
}

impl ToyMemory {
    fn toy(&self) -> &'static Toy {
        // SAFETY: `leak` stored a pointer to a leaked Toy.
        unsafe { &*self.0.load(SeqCst) }
    }
}

/// The bytes behind a key.
fn cells(key: Key<'_>) -> &'static Mutex<Vec<u8>> {
    // SAFETY: every key of this type is a leaked box until it is freed, and tests don't use it afterwards.
    unsafe { &*key.pointer::<Mutex<Vec<u8>>>() }
}

impl BufferType for ToyMemory {
    fn name(&self) -> &str {
        self.toy().name
    }
    fn device(&'static self) -> Option<&'static dyn Device> {
        Some(self.toy())
    }
    fn live(&'static self) -> Option<&'static Live> {
        Some(&self.toy().live)
    }
    fn is_host(&self) -> bool {
        self.toy().host
    }
    fn alloc(&'static self, size: usize) -> Result<Allocation> {
        let available = self.toy().budget.load(SeqCst);
        if size > available {
            return Err(Error::OutOfMemory { requested: size, available });
        }
        if available != usize::MAX {
            self.toy().budget.fetch_sub(size, SeqCst);
        }
        let mut bytes = vec![0xAAu8; size];
        let host = self.toy().host.then(|| core::ptr::NonNull::from(bytes.as_mut_slice()).cast());
        let p = Box::into_raw(Box::new(Mutex::new(bytes)));
        // SAFETY: the bytes don't move; they are freed with the box.
        Ok(unsafe { Allocation::new(Raw::pointer(p)).on_host(host) })
    }
    fn free(&self, key: Key<'_>, size: usize) {
        if self.toy().budget.load(SeqCst) != usize::MAX {
            self.toy().budget.fetch_add(size, SeqCst);
        }
        // SAFETY: it came from `alloc` and is freed once.
        drop(unsafe { Box::from_raw(key.pointer::<Mutex<Vec<u8>>>()) });
    }
    fn set(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()> {
        self.toy().copied_in.fetch_add(data.len(), SeqCst);
        let from = at.offset + offset;
        cells(key).lock().unwrap()[from..from + data.len()].copy_from_slice(data);
        Ok(())
    }
    fn get(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()> {
        let from = at.offset + offset;
        data.copy_from_slice(&cells(key).lock().unwrap()[from..from + data.len()]);
        Ok(())
    }
}

impl Device for Toy {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "toy"
    }
    fn memory(&self) -> Memory {
        Memory::default()
    }
    fn kind(&self) -> DeviceKind {
        self.kind
    }
    fn id(&self) -> Option<&str> {
        self.id
    }
    fn live(&'static self) -> Option<&'static Live> {
        Some(&self.live)
    }
    fn open(&'static self, _: &Params<'_>) -> Result<Stream> {
        Ok(Stream::stateless(self, self))
    }
    fn buffer_type(&'static self) -> &'static dyn BufferType {
        &self.memory.toy().memory
    }
    fn supports(&self, q: &Query<'_>) -> bool {
        self.ops.contains(&q.op.kind())
    }
    fn supports_buffer_type(&self, ty: &dyn BufferType) -> bool {
        core::ptr::addr_eq(ty, &self.memory)
    }
    fn offload(&self, q: &Query<'_>) -> bool {
        self.offloads && q.op.kind() == Kind::Mul
    }
    fn event_new(&self) -> Result<Raw> {
        self.events.fetch_add(1, SeqCst);
        Ok(Raw::index(7))
    }
    fn event_free(&self, key: Key<'_>) {
        assert_eq!(key.index(), 7);
        self.events.fetch_sub(1, SeqCst);
    }
    fn event_synchronize(&self, _: Key<'_>) -> Result<()> {
        Ok(())
    }
}

impl StreamOps for Toy {
    fn name(&self) -> &str {
        self.name
    }
    fn free(&self, _: Key<'_>) {}
    fn event_record(&self, _: Key<'_>, _: Key<'_>) -> Result<()> {
        Ok(())
    }
    fn event_wait(&self, _: Key<'_>, _: Key<'_>) -> Result<()> {
        Ok(())
    }
    fn compute(&self, _: Key<'_>, program: &Program<'_>) -> Result<()> {
        for (id, node) in program.nodes() {
            if node.op.is_view() || node.desc.is_empty() {
                continue;
            }
            if !self.ops.contains(&node.op.kind()) {
                return Err(Error::Unsupported { node: id, op: node.op.kind() });
            }
            self.computed.lock().unwrap().push(node.op.kind());
            let read = |i: usize| -> Result<Vec<f32>> {
                let id = node.source(i).unwrap();
                let (buffer, _) = program.place(id).unwrap();
                // It can only reach its own memory.
                assert!(buffer.is_of(&self.memory), "{} reads foreign memory", self.name);
                let n = program.graph().node(id).unwrap().desc.elements();
                let mut v = vec![0.0; n];
                program.get_f32(id, &mut v)?;
                Ok(v)
            };
            assert_eq!(node.desc.dtype, DType::F32);
            let a = read(0)?;
            let out: Vec<f32> = match node.op {
                Op::Add => a.iter().zip(read(1)?.iter().cycle()).map(|(x, y)| x + y).collect(),
                Op::Mul => a.iter().zip(read(1)?.iter().cycle()).map(|(x, y)| x * y).collect(),
                Op::Sqr => a.iter().map(|x| x * x).collect(),
                Op::Cpy => a,
                Op::Sum => vec![a.iter().sum()],
                _ => unreachable!("not a toy operation"),
            };
            program.set_f32(id, &out)?;
        }
        Ok(())
    }
}

impl Backend for Toy {
    fn name(&self) -> &str {
        self.name
    }
    fn may_have(&self, kind: DeviceKind) -> bool {
        self.expects && kind == self.kind
    }
    fn device_count(&self) -> usize {
        self.asked.fetch_add(1, SeqCst);
        2
    }
    /// Two devices, one of which failed to start.
    fn device(&self, i: usize) -> Option<&'static dyn Device> {
        (i == 0).then(|| self.memory.toy() as &'static dyn Device)
    }
}

/// A buffer on a toy with these numbers.
pub(crate) fn floats(toy: &'static Toy, data: &[f32]) -> Buffer<'static> {
    let b = Buffer::new(toy.buffer_type(), data.len() * 4).unwrap();
    let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
    b.write(0, &bytes).unwrap();
    b
}
