//! The table of backends.
//!
//! It has two parts. The built-in part is a `const` slice that a crate above writes from its Cargo features, in order of
//! preference. The run-time part has room for `N` more. With `N = 0` there is no lock and no atomic in it, and
//! [`register`](Registry::register) always answers "full".
//!
//! Look-ups take no lock and never wait, so an interrupt may call them while another context registers. Entries of the
//! run-time part are written once: a slot belongs to the backend that first took it, and unloading marks it as out of
//! use. Registering that backend again brings it back under a new generation, so an old [`Handle`] stays invalid.

use crate::error::{Error, Result, What};
use crate::hal::{Backend, Device, DeviceKind, Live, Params, Stream};
use crate::sync::{Gate, Slot};

#[cfg(test)]
mod tests;

#[derive(Clone, Copy)]
enum Entry {
    Backend(&'static dyn Backend),
    Device(&'static dyn Device),
}

impl Entry {
    fn same(&self, other: &Entry) -> bool {
        match (self, other) {
            (Entry::Backend(a), Entry::Backend(b)) => core::ptr::addr_eq(*a, *b),
            (Entry::Device(a), Entry::Device(b)) => core::ptr::addr_eq(*a, *b),
            _ => false,
        }
    }

    /// Whether a device of this name is likely to be in it, by the backend's name.
    fn is_likely(&self, name: &str) -> bool {
        match self {
            Entry::Backend(b) => {
                name.get(..b.name().len()).is_some_and(|head| same_name(head, b.name()))
            }
            Entry::Device(_) => true,
        }
    }

    fn may_have(&self, kind: DeviceKind) -> bool {
        match self {
            Entry::Backend(b) => b.may_have(kind),
            Entry::Device(_) => true,
        }
    }

    fn devices(self) -> impl Iterator<Item = &'static dyn Device> {
        let count = match self {
            Entry::Backend(b) => b.device_count(),
            Entry::Device(_) => 1,
        };
        (0..count).filter_map(move |i| match self {
            Entry::Backend(b) => b.device(i),
            Entry::Device(d) => Some(d),
        })
    }
}

/// Names a registered backend (or single device) for as long as it stays registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Handle {
    index: u16,
    generation: u32,
}

impl Handle {
    /// Position in the table.
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

/// A table of backends with `N` run-time slots.
pub struct Registry<const N: usize = 0> {
    built_in: &'static [&'static dyn Backend],
    slots: [Slot<Entry>; N],
    gate: Gate,
}

impl<const N: usize> core::fmt::Debug for Registry<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.backends().map(|(_, b)| b.name())).finish()
    }
}

/// Whether two names are the same, without regard to (ASCII) case.
fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// Whether two PCI addresses are one. Some drivers leave the domain out where it is 0.
fn same_hardware(a: &str, b: &str) -> bool {
    fn without_domain(id: &str) -> &str {
        id.strip_prefix("0000:").filter(|rest| rest.contains(':')).unwrap_or(id)
    }
    same_name(without_domain(a), without_domain(b))
}

impl<const N: usize> Registry<N> {
    /// A table with these built-in backends, first choice first.
    pub const fn new(built_in: &'static [&'static dyn Backend]) -> Self {
        Self { built_in, slots: [const { Slot::new() }; N], gate: Gate::new() }
    }

    /// How many run-time slots there are.
    pub const fn capacity(&self) -> usize {
        N
    }

    fn entry(&self, index: usize) -> Option<(Handle, Entry)> {
        let i = index as u16;
        match self.built_in.get(index) {
            Some(b) => Some((Handle { index: i, generation: 1 }, Entry::Backend(*b))),
            None => {
                let (generation, entry) = self.slots.get(index - self.built_in.len())?.read()?;
                // Even: out of use.
                (generation % 2 == 1).then_some((Handle { index: i, generation }, entry))
            }
        }
    }

    /// What look-ups see, in their order: a backend that was [registered over](Self::register_over) a built-in one stands
    /// in its place.
    fn entries(&self) -> impl Iterator<Item = (Handle, Entry)> + '_ {
        let built_in = self.built_in.len();
        (0..built_in + N).filter_map(move |i| match self.built_in.get(i) {
            Some(b) => self.cover(*b).or_else(|| self.entry(i)),
            None => self.entry(i).filter(|(_, e)| !self.covers(e)),
        })
    }

    fn cover(&self, built_in: &dyn Backend) -> Option<(Handle, Entry)> {
        (self.built_in.len()..self.built_in.len() + N)
            .filter_map(|i| self.entry(i))
            .find(|(_, e)| matches!(e, Entry::Backend(b) if same_name(b.name(), built_in.name())))
    }

    fn covers(&self, entry: &Entry) -> bool {
        let Entry::Backend(b) = entry else { return false };
        self.built_in.iter().any(|built_in| same_name(b.name(), built_in.name()))
    }

    /// All backends, built-in ones first, with their handles.
    pub fn backends(&self) -> impl Iterator<Item = (Handle, &'static dyn Backend)> + '_ {
        self.entries().filter_map(|(h, e)| match e {
            Entry::Backend(b) => Some((h, b)),
            Entry::Device(_) => None,
        })
    }

    /// All devices, in the order of their backends. A device that its backend can't give is passed over.
    pub fn devices(&self) -> impl Iterator<Item = &'static dyn Device> + '_ {
        self.entries().flat_map(|(_, e)| e.devices())
    }

    /// How many backends there are.
    pub fn backend_count(&self) -> usize {
        self.backends().count()
    }

    /// How many devices there are.
    pub fn device_count(&self) -> usize {
        self.devices().count()
    }

    /// The backend of a handle.
    ///
    /// # Errors
    /// [`Error::Stale`] if it was unloaded; [`Error::NotFound`] for a handle of a single device or another table.
    pub fn backend(&self, handle: Handle) -> Result<&'static dyn Backend> {
        match self.entry(handle.index()) {
            Some((h, Entry::Backend(b))) if h == handle => Ok(b),
            Some((h, _)) if h == handle => Err(Error::NotFound),
            Some(_) => Err(Error::Stale),
            None if handle.index() < self.built_in.len() + N => Err(Error::Stale),
            None => Err(Error::NotFound),
        }
    }

    /// The backend of this name.
    pub fn backend_by_name(&self, name: &str) -> Option<(Handle, &'static dyn Backend)> {
        self.backends().find(|(_, b)| same_name(b.name(), name))
    }

    /// The device of this name. Backends that the name begins with are asked first, so that looking for `CPU` starts no
    /// graphics driver.
    pub fn device_by_name(&self, name: &str) -> Option<&'static dyn Device> {
        [true, false].into_iter().find_map(|likely| {
            self.entries()
                .filter(|(_, e)| e.is_likely(name) == likely)
                .find_map(|(_, e)| e.devices().find(|d| same_name(d.name(), name)))
        })
    }

    /// Devices of a kind, of the backends that [expect](Backend::may_have) to have some, or of the others.
    fn of_kind(
        &self,
        kind: DeviceKind,
        expected: bool,
    ) -> impl Iterator<Item = &'static dyn Device> + '_ {
        self.entries()
            .filter(move |(_, e)| e.may_have(kind) == expected)
            .flat_map(|(_, e)| e.devices())
            .filter(move |d| d.kind() == kind)
    }

    /// The first device of this kind that a backend expects to have. Of CPUs, one that computes in the host's own memory
    /// before one that only runs on the host, such as a graphics driver in software.
    fn expected(&self, kind: DeviceKind) -> Option<&'static dyn Device> {
        let mut all = self.of_kind(kind, true);
        let first = all.next()?;
        if kind != DeviceKind::Cpu || first.buffer_type().is_host() {
            return Some(first);
        }
        all.find(|d| d.buffer_type().is_host()).or(Some(first))
    }

    /// The first device of this kind. Of CPUs, one that computes in the host's own memory before one that only runs on
    /// the host, such as a graphics driver in software. Backends that don't [expect](Backend::may_have) to have one are
    /// asked when no other has: looking for a CPU starts no graphics driver.
    pub fn device_by_kind(&self, kind: DeviceKind) -> Option<&'static dyn Device> {
        self.expected(kind).or_else(|| self.of_kind(kind, false).next())
    }

    /// The device of another backend, earlier in the table, that is the same piece of hardware by its
    /// [`id`](Device::id): a graphics card that two backends drive is then used once. Two devices of one backend are
    /// two, whatever their ids (parts of one card).
    pub fn twin_of(&self, device: &dyn Device) -> Option<&'static dyn Device> {
        let id = device.id().filter(|id| !id.is_empty())?;
        let own = |e: &Entry| e.devices().any(|d| core::ptr::addr_eq(d, device));
        self.entries()
            .take_while(|(_, e)| !own(e))
            .flat_map(|(_, e)| e.devices())
            .find(|d| d.id().is_some_and(|other| same_hardware(other, id)))
    }

    /// All devices but those that are an earlier one [again](Self::twin_of).
    pub fn distinct_devices(&self) -> impl Iterator<Item = &'static dyn Device> + '_ {
        self.devices().filter(|d| self.twin_of(*d).is_none())
    }

    /// The device to use when nobody says which: the first GPU, else the first integrated one, else the first CPU.
    /// Accelerators work beside a CPU and are never it. Backends that don't [expect](Backend::may_have) to have such
    /// a device are asked when no other has any: where there is no graphics processor, no driver for one is started.
    pub fn best_device(&self) -> Option<&'static dyn Device> {
        let kinds = [DeviceKind::Gpu, DeviceKind::IntegratedGpu, DeviceKind::Cpu];
        let expected = kinds.into_iter().find_map(|k| self.expected(k));
        expected.or_else(|| kinds.into_iter().find_map(|k| self.of_kind(k, false).next()))
    }

    /// Opens a stream on the device of this name.
    ///
    /// # Errors
    /// [`Error::NotFound`], or those of [`Device::open`].
    pub fn open_by_name(&self, name: &str, params: &Params<'_>) -> Result<Stream> {
        self.device_by_name(name).ok_or(Error::NotFound)?.open(params)
    }

    /// Opens a stream on the first device of this kind.
    ///
    /// # Errors
    /// [`Error::NotFound`], or those of [`Device::open`].
    pub fn open_by_kind(&self, kind: DeviceKind, params: &Params<'_>) -> Result<Stream> {
        self.device_by_kind(kind).ok_or(Error::NotFound)?.open(params)
    }

    /// Opens a stream on the [`best_device`](Self::best_device).
    ///
    /// # Errors
    /// [`Error::NotFound`], or those of [`Device::open`].
    pub fn open_best(&self, params: &Params<'_>) -> Result<Stream> {
        self.best_device().ok_or(Error::NotFound)?.open(params)
    }

    /// Adds a backend. The same backend again gives the handle that it has.
    ///
    /// # Errors
    /// [`Error::Full`] when all `N` slots are taken, [`Error::NameTaken`] for a different backend of the same name,
    /// [`Error::Busy`] when another context is registering at this moment. Nothing is changed then.
    pub fn register(&self, backend: &'static dyn Backend) -> Result<Handle> {
        self.add(Entry::Backend(backend), false)
    }

    /// As [`register`](Self::register), but a built-in backend of the same name is no obstacle: this one takes its place in
    /// all look-ups until it is taken out of use. The handle of the built-in one stays valid.
    ///
    /// # Errors
    /// As `register`; [`Error::NameTaken`] for a run-time backend of the same name.
    pub fn register_over(&self, backend: &'static dyn Backend) -> Result<Handle> {
        self.add(Entry::Backend(backend), true)
    }

    /// Adds a single device. Otherwise as [`register`](Self::register).
    ///
    /// # Errors
    /// As `register`.
    pub fn register_device(&self, device: &'static dyn Device) -> Result<Handle> {
        self.add(Entry::Device(device), false)
    }

    fn handle_of(&self, entry: &Entry) -> Option<Handle> {
        (0..self.built_in.len() + N)
            .filter_map(|i| self.entry(i))
            .find_map(|(h, e)| e.same(entry).then_some(h))
    }

    fn add(&self, entry: Entry, over: bool) -> Result<Handle> {
        if let Some(handle) = self.handle_of(&entry) {
            return Ok(handle);
        }
        if N == 0 {
            return Err(Error::Full { what: What::Backends, need: 1, have: 0 });
        }
        self.gate.pass(|| self.add_alone(entry, over)).unwrap_or(Err(Error::Busy))
    }

    #[allow(unsafe_code)]
    fn add_alone(&self, entry: Entry, over: bool) -> Result<Handle> {
        let stays = |h: Handle| !over || h.index() >= self.built_in.len();
        let taken = match entry {
            Entry::Backend(b) => self.backend_by_name(b.name()).is_some_and(|(h, _)| stays(h)),
            Entry::Device(d) => self.device_by_name(d.name()).is_some(),
        };
        if taken {
            // Somebody may have added this very entry since the caller looked.
            return self.handle_of(&entry).ok_or(Error::NameTaken);
        }
        for (i, slot) in self.slots.iter().enumerate() {
            let index = (self.built_in.len() + i) as u16;
            match slot.read() {
                Some((state, old)) if old.same(&entry) => {
                    // It was here before: `entries` has not found it, so it is out of use.
                    slot.turn();
                    return Ok(Handle { index, generation: state + 1 });
                }
                Some(_) => {}
                None => {
                    // SAFETY: this runs behind the gate or under `&mut`, so no other `fill` does.
                    unsafe { slot.fill(entry) };
                    crate::log::debug!("registered in slot {}", index);
                    return Ok(Handle { index, generation: 1 });
                }
            }
        }
        Err(Error::Full { what: What::Backends, need: N + 1, have: N })
    }

    /// As [`register`](Self::register), before the table is shared: without a gate, and so without a critical section on
    /// cores that lack compare-and-swap.
    ///
    /// # Errors
    /// As `register`, but never busy.
    pub fn register_mut(&mut self, backend: &'static dyn Backend) -> Result<Handle> {
        let entry = Entry::Backend(backend);
        match self.handle_of(&entry) {
            Some(handle) => Ok(handle),
            None => self.add_alone(entry, false),
        }
    }

    /// Takes a backend out of use. Its slot stays reserved for it.
    ///
    /// # Errors
    /// [`Error::InUse`] with the number of living streams, buffers and events; [`Error::BuiltIn`]; [`Error::Stale`];
    /// [`Error::Busy`]. Nothing is changed then.
    pub fn unregister(&self, handle: Handle) -> Result<()> {
        if handle.index() < self.built_in.len() {
            return Err(Error::BuiltIn);
        }
        self.gate.pass(|| self.remove_alone(handle)).unwrap_or(Err(Error::Busy))
    }

    fn remove_alone(&self, handle: Handle) -> Result<()> {
        let (h, entry) = self.entry(handle.index()).ok_or(Error::Stale)?;
        if h != handle {
            return Err(Error::Stale);
        }
        let (mut streams, mut buffers, mut events) = (0, 0, 0);
        let mut seen: Option<&'static Live> = None;
        for live in entry.devices().filter_map(|d| d.live()) {
            // Devices of one backend usually share their counters.
            if !seen.is_some_and(|s| core::ptr::eq(s, live)) {
                streams += live.streams.count();
                buffers += live.buffers.count();
                events += live.events.count();
                seen = Some(live);
            }
        }
        if streams + buffers + events > 0 {
            return Err(Error::InUse { streams, buffers, events });
        }
        if let Some(slot) = self.slots.get(handle.index() - self.built_in.len()) {
            slot.turn();
        }
        Ok(())
    }
}
