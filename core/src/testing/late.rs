//! A device that does everything as late as it may: work lies in a queue until somebody waits for it. Whoever forgets to
//! wait reads old numbers or overwrites what is still needed, every time.

use super::cells;
use crate::error::{Error, Result};
use crate::hal::{
    Allocation, Buffer, BufferType, Caps, Device, DeviceKind, Key, Params, Query, Raw, Span,
    Stream, StreamOps,
};
use crate::op::{Kind, Op};
use crate::program::Program;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::boxed::Box;
use std::sync::{Mutex, MutexGuard};
use std::vec;
use std::vec::Vec;

/// Bytes of a buffer, by the address of its cells.
#[derive(Clone, Copy)]
struct At {
    buffer: usize,
    offset: usize,
    len: usize,
}

impl At {
    fn cells(&self) -> &'static Mutex<Vec<u8>> {
        let p = core::ptr::with_exposed_provenance::<Mutex<Vec<u8>>>(self.buffer);
        // SAFETY: the address of a buffer that `free` has not ended: it empties the queue first.
        unsafe { &*p }
    }
    fn read(&self) -> Vec<u8> {
        self.cells().lock().unwrap()[self.offset..self.offset + self.len].to_vec()
    }
    fn write(&self, data: &[u8]) {
        self.cells().lock().unwrap()[self.offset..self.offset + self.len].copy_from_slice(data);
    }
    fn floats(&self) -> Vec<f32> {
        self.read().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    }
}

enum Work {
    Compute(Op, Vec<At>, At),
    Upload(Vec<u8>, At),
    Copy(At, At),
}

struct Item {
    /// The device whose queue it is in, and the one that it reads from.
    device: usize,
    from: usize,
    work: Work,
    done: bool,
}

/// The queues of all devices that can copy from each other, in the order in which things were queued.
#[derive(Default)]
pub(crate) struct World {
    items: Mutex<Vec<Item>>,
    devices: Mutex<Vec<&'static Late>>,
}

impl World {
    pub fn leak() -> &'static World {
        Box::leak(Box::default())
    }

    /// How much is queued and not done.
    pub fn pending(&self) -> usize {
        self.items.lock().unwrap().iter().filter(|i| !i.done).count()
    }

    fn push(&self, device: usize, from: usize, work: Work) {
        self.items.lock().unwrap().push(Item { device, from, work, done: false });
    }

    /// Does what is asked for, and before it only what must be.
    fn settle(&self, wanted: impl Fn(usize, &Item) -> bool) {
        let mut items = self.items.lock().unwrap();
        for i in 0..items.len() {
            if wanted(i, &items[i]) {
                exec(&mut items, i);
            }
        }
    }
}

fn exec(items: &mut MutexGuard<'_, Vec<Item>>, i: usize) {
    if items[i].done {
        return;
    }
    let of = |item: &Item| [item.device, item.from];
    let mine = of(&items[i]);
    for j in 0..i {
        if !items[j].done && of(&items[j]).iter().any(|d| mine.contains(d)) {
            exec(items, j);
        }
    }
    items[i].done = true;
    match &items[i].work {
        Work::Upload(data, to) => to.write(data),
        Work::Copy(from, to) => to.write(&from.read()),
        Work::Compute(op, sources, to) => {
            let a = sources[0].floats();
            let b = || sources[1].floats().into_iter().cycle();
            let out: Vec<f32> = match op {
                Op::Add => a.iter().zip(b()).map(|(x, y)| x + y).collect(),
                Op::Mul => a.iter().zip(b()).map(|(x, y)| x * y).collect(),
                Op::Sqr => a.iter().map(|x| x * x).collect(),
                Op::Cpy => a,
                _ => unreachable!("not a toy operation"),
            };
            to.write(&out.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
        }
    }
}

pub(crate) struct Late {
    name: &'static str,
    number: usize,
    world: &'static World,
    /// Whether it has events, and copies to and from its like without waiting.
    caps: Caps,
    /// Whether it uses the memory of the others of its world as it is.
    open: bool,
    memory: LateMemory,
    events: Mutex<Vec<usize>>,
    /// Buffers and events.
    pub living: AtomicUsize,
}

struct LateMemory(AtomicUsize);

const OPS: &[Kind] = &[Kind::Add, Kind::Mul, Kind::Sqr, Kind::Cpy];

impl Late {
    pub fn leak(
        world: &'static World,
        name: &'static str,
        number: usize,
        events: bool,
        asynchronous: bool,
    ) -> &'static Late {
        Late::with(world, name, number, events, asynchronous, false)
    }

    pub fn with(
        world: &'static World,
        name: &'static str,
        number: usize,
        events: bool,
        asynchronous: bool,
        open: bool,
    ) -> &'static Late {
        let late: &'static Late = Box::leak(Box::new(Late {
            name,
            number,
            world,
            caps: Caps { events, asynchronous, ..Caps::default() },
            open,
            memory: LateMemory(AtomicUsize::new(0)),
            events: Mutex::new(vec![]),
            living: AtomicUsize::new(0),
        }));
        let address = core::ptr::from_ref(late).expose_provenance();
        late.memory.0.store(address, SeqCst);
        world.devices.lock().unwrap().push(late);
        late
    }

    fn at(&self, buffer: &Buffer<'_>, offset: usize, len: usize) -> Option<At> {
        let others = self.world.devices.lock().unwrap();
        // SAFETY: all of these are one backend, and the key is only looked at.
        let key_for = |d: &Late| unsafe { buffer.key_for(&d.memory) };
        let others = others.iter().filter(|_| self.open).find_map(|d| key_for(d));
        let key = key_for(self).or(others)?;
        let buffer = key.pointer::<Mutex<Vec<u8>>>().expose_provenance();
        Some(At { buffer, offset, len })
    }

    fn mine(&self) -> impl Fn(usize, &Item) -> bool + use<> {
        let number = self.number;
        move |_, item| item.device == number
    }

    /// All that touches its memory.
    fn drain(&self) {
        self.world.settle(|_, item| item.device == self.number || item.from == self.number);
    }
}

fn of(address: &AtomicUsize) -> &'static Late {
    // SAFETY: `leak` stored the address of a leaked `Late`.
    unsafe { &*core::ptr::with_exposed_provenance::<Late>(address.load(SeqCst)) }
}

impl BufferType for LateMemory {
    fn name(&self) -> &str {
        of(&self.0).name
    }
    fn device(&'static self) -> Option<&'static dyn Device> {
        Some(of(&self.0))
    }
    fn alloc(&'static self, size: usize) -> Result<Allocation> {
        of(&self.0).living.fetch_add(1, SeqCst);
        let p = Box::into_raw(Box::new(Mutex::new(vec![0xAAu8; size])));
        Ok(Allocation::new(Raw::pointer(p)))
    }
    fn free(&self, key: Key<'_>, _: usize) {
        of(&self.0).drain();
        of(&self.0).living.fetch_sub(1, SeqCst);
        // SAFETY: it came from `alloc` and is freed once.
        drop(unsafe { Box::from_raw(key.pointer::<Mutex<Vec<u8>>>()) });
    }
    fn set(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()> {
        of(&self.0).drain();
        let from = at.offset + offset;
        cells(key).lock().unwrap()[from..from + data.len()].copy_from_slice(data);
        Ok(())
    }
    fn get(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()> {
        of(&self.0).drain();
        let from = at.offset + offset;
        data.copy_from_slice(&cells(key).lock().unwrap()[from..from + data.len()]);
        Ok(())
    }
}

impl Device for Late {
    fn name(&self) -> &str {
        self.name
    }
    fn description(&self) -> &str {
        "late"
    }
    fn kind(&self) -> DeviceKind {
        DeviceKind::Gpu
    }
    fn caps(&self) -> Caps {
        self.caps
    }
    fn open(&'static self, _: &Params<'_>) -> Result<Stream> {
        Ok(Stream::stateless(self, self))
    }
    fn buffer_type(&'static self) -> &'static dyn BufferType {
        &self.memory
    }
    fn supports(&self, q: &Query<'_>) -> bool {
        OPS.contains(&q.op.kind())
    }
    fn supports_buffer_type(&self, ty: &dyn BufferType) -> bool {
        let others = self.world.devices.lock().unwrap();
        let others = others.iter().any(|d| core::ptr::addr_eq(ty, &d.memory));
        core::ptr::addr_eq(ty, &self.memory) || self.open && others
    }
    fn event_new(&self) -> Result<Raw> {
        if !self.caps.events {
            return Err(Error::NotOffered { function: "event_new" });
        }
        let mut events = self.events.lock().unwrap();
        events.push(0);
        self.living.fetch_add(1, SeqCst);
        Ok(Raw::index(events.len() - 1))
    }
    fn event_free(&self, _: Key<'_>) {
        self.living.fetch_sub(1, SeqCst);
    }
    fn event_synchronize(&self, key: Key<'_>) -> Result<()> {
        let end = self.events.lock().unwrap()[key.index()];
        self.world.settle(|i, item| i < end && item.device == self.number);
        Ok(())
    }
}

impl StreamOps for Late {
    fn name(&self) -> &str {
        self.name
    }
    fn free(&self, _: Key<'_>) {
        self.drain();
    }
    fn synchronize(&self, _: Key<'_>) -> Result<()> {
        self.world.settle(self.mine());
        Ok(())
    }
    fn event_record(&self, _: Key<'_>, event: Key<'_>) -> Result<()> {
        let end = self.world.items.lock().unwrap().len();
        self.events.lock().unwrap()[event.index()] = end;
        Ok(())
    }
    fn upload(
        &self,
        _: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &[u8],
    ) -> Result<bool> {
        let to = self.at(buffer, at.offset + offset, data.len());
        let Some(to) = to.filter(|_| self.caps.asynchronous) else { return Ok(false) };
        self.world.push(self.number, self.number, Work::Upload(data.to_vec(), to));
        Ok(true)
    }
    fn copy_async(
        &self,
        _: Key<'_>,
        from: &Stream,
        source: (&Buffer<'_>, Span<'_>),
        target: (&Buffer<'_>, Span<'_>),
    ) -> Result<bool> {
        let devices = self.world.devices.lock().unwrap().clone();
        let other = devices.into_iter().find(|d| core::ptr::addr_eq(*d, from.device()));
        let (Some(other), true) = (other, self.caps.asynchronous) else { return Ok(false) };
        let len = source.1.desc.bytes();
        let a = other.at(source.0, source.1.offset, len);
        let b = self.at(target.0, target.1.offset, len);
        let (Some(a), Some(b)) = (a, b) else { return Ok(false) };
        self.world.push(self.number, other.number, Work::Copy(a, b));
        Ok(true)
    }
    fn compute(&self, _: Key<'_>, program: &Program<'_>) -> Result<()> {
        for (id, node) in program.nodes() {
            if node.op.is_view() {
                continue;
            }
            if !OPS.contains(&node.op.kind()) {
                return Err(Error::Unsupported { node: id, op: node.op.kind() });
            }
            let place = |id| {
                let (buffer, offset) = program.place(id).unwrap();
                let len = program.graph().node(id).unwrap().desc.bytes();
                self.at(buffer, offset, len).expect("it can only reach its own memory")
            };
            let sources = node.src.iter().filter(|s| !s.is_none()).map(|s| place(*s)).collect();
            let work = Work::Compute(node.op, sources, place(id));
            self.world.push(self.number, self.number, work);
        }
        Ok(())
    }
}
