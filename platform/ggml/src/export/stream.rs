//! Streams, which ggml calls *backends*.

use super::cache::Cache;
use super::face::Dev;
use super::graph::{self, Translation};
use super::guard;
use super::host;
use super::transfer;
use crate::abi::{self, Graph, Status, StreamHead, StreamIRows, StreamRows, Tensor};
use core::ffi::{c_char, c_void};
use core::ptr::null_mut;
use dinrail_core::hal::{Params, Stream};
use dinrail_core::{Error, Result};

/// Says whether to stop.
pub(crate) type Abort = unsafe extern "C" fn(*mut c_void) -> bool;

/// Most streams with different numbers of threads: one for prompts and one for tokens is what hosts want.
const TEAMS: usize = 4;

/// A stream with some number of threads, and what it has computed.
struct Team {
    threads: Option<usize>,
    used: u64,
    // Before the stream, which may still use what is in it.
    cache: Cache,
    stream: Stream,
}

pub(crate) struct State {
    dev: &'static Dev,
    params: Option<String>,
    teams: Vec<Team>,
    current: usize,
    clock: u64,
    abort: Option<(Abort, *mut c_void)>,
    guid: [u8; 16],
}

type Head = StreamHead<StreamIRows>;

impl State {
    fn team(&self) -> Option<&Team> {
        self.teams.get(self.current)
    }

    /// Makes the stream with so many threads the current one.
    fn switch(&mut self, threads: Option<usize>) -> Result<()> {
        self.clock += 1;
        let clock = self.clock;
        if let Some(i) = self.teams.iter().position(|t| t.threads == threads) {
            if i != self.current {
                // Work of both is in the host's order.
                self.synchronize()?;
                self.current = i;
            }
            if let Some(t) = self.teams.get_mut(i) {
                t.used = clock;
            }
            return Ok(());
        }
        let params = Params { threads, text: self.params.as_deref() };
        let stream = self.dev.device.open(&params)?;
        self.synchronize()?;
        // The stream of the beginning goes unless it was used, and the oldest where there are many.
        self.teams.retain(|t| t.threads.is_some() || t.used > 0);
        if self.teams.len() >= TEAMS
            && let Some((i, _)) = self.teams.iter().enumerate().min_by_key(|(_, t)| t.used)
        {
            self.teams.swap_remove(i);
        }
        let used = if threads.is_some() { clock } else { 0 };
        self.teams.push(Team { threads, used, cache: Cache::default(), stream });
        self.current = self.teams.len() - 1;
        Ok(())
    }

    /// The stream in which work is queued.
    pub(crate) fn queue(&self) -> Result<&'static Stream> {
        let stream = core::ptr::from_ref(&self.team().ok_or(Error::NotFound)?.stream);
        // SAFETY: the host ends what it has queued before it ends the stream, and `switch` waits before one goes.
        Ok(unsafe { &*stream })
    }

    /// Says what went wrong; whether nothing did.
    pub(crate) fn report(&self, what: &str, r: Result<()>) -> bool {
        status(self.dev, what, r.map(|()| Status::Success)) == Status::Success as i32
    }

    fn synchronize(&self) -> Result<()> {
        self.team().map_or(Ok(()), |t| t.stream.synchronize())
    }

    /// # Safety
    /// `graph` points to a graph, whole with its tensors.
    unsafe fn compute(&mut self, graph: *const Graph) -> Result<Status> {
        // SAFETY: the caller promises.
        let nodes = unsafe { graph::nodes(graph) };
        self.clock += 1;
        let (clock, abort, dev) = (self.clock, self.abort, self.dev);
        let stale = Error::NotFound;
        let team = self.teams.get_mut(self.current).ok_or(stale)?;
        team.used = clock;
        // SAFETY: the caller promises.
        let found = unsafe { team.cache.find(dev, &team.stream, nodes) }?;
        found.map_or(Ok(Status::Success), |t| run(&team.stream, t, abort))
    }
}

/// Computes a translation; in steps where the host may want to stop in between.
fn run(
    stream: &Stream,
    translation: &Translation,
    abort: Option<(Abort, *mut c_void)>,
) -> Result<Status> {
    let Some(program) = translation.program() else { return Ok(Status::Success) };
    let Some((stop, word)) = abort else {
        stream.compute(program)?;
        return Ok(Status::Success);
    };
    let mut run = stream.begin(program);
    loop {
        // SAFETY: the host's own function with the word that it gave.
        if unsafe { stop(word) } {
            return Ok(Status::Aborted);
        }
        if run.poll()? {
            return Ok(Status::Success);
        }
    }
}

fn status(dev: &Dev, what: &str, r: Result<Status>) -> i32 {
    match r {
        Ok(s) => s as i32,
        Err(e) => {
            dev.face().complain(&format!("{}: {what}: {e}", dev.name.as_str()));
            match e {
                Error::OutOfMemory { .. } => Status::AllocFailed as i32,
                _ => Status::Failed as i32,
            }
        }
    }
}

/// # Safety
/// `s` is a stream of this plug-in, and nobody else uses it meanwhile.
unsafe fn state<'a>(s: *mut abi::Stream) -> &'a mut State {
    // SAFETY: the caller promises.
    let context = unsafe { (*s.cast::<Head>()).context };
    // SAFETY: as above: `open` put it there.
    unsafe { &mut *context.cast::<State>() }
}

/// As [`state`], to be looked at.
///
/// # Safety
/// `s` is a stream of this plug-in, and nobody changes it meanwhile.
pub(crate) unsafe fn shared<'a>(s: *mut abi::Stream) -> &'a State {
    // SAFETY: the caller promises.
    let context = unsafe { (*s.cast::<Head>()).context };
    // SAFETY: as above: `open` put it there.
    unsafe { &*context.cast::<State>() }
}

type Free = unsafe extern "C" fn(*mut abi::Stream);
/// What our streams are known by.
static FREE: Free = free;

/// Whether it is a stream of this plug-in.
///
/// # Safety
/// `s` points to a stream.
pub(crate) unsafe fn is_ours(s: *mut abi::Stream) -> bool {
    // SAFETY: the caller promises; the host's layout was checked.
    let f = unsafe { (*s.cast::<Head>()).iface.free };
    f.is_some_and(|f| core::ptr::fn_addr_eq(f, FREE))
}

pub(crate) unsafe extern "C" fn open(
    d: *mut abi::Device,
    params: *const c_char,
) -> *mut abi::Stream {
    guard(null_mut(), || {
        // SAFETY: the host passes what it got.
        let dev = unsafe { super::device::dev(d) };
        // SAFETY: a string of the host's, or null.
        let params = unsafe { host::text(params) };
        let params = (!params.is_empty()).then(|| params.to_owned());
        let mut state = State {
            dev,
            params,
            teams: Vec::new(),
            current: 0,
            clock: 0,
            abort: None,
            guid: [0; 16],
        };
        if let Err(e) = state.switch(None) {
            dev.face().complain(&format!("{}: opening a stream: {e}", dev.name.as_str()));
            return null_mut();
        }
        state.guid = state.team().map_or([0; 16], |t| t.stream.guid());
        let caps = dev.device.caps();
        let state = Box::into_raw(Box::new(state));
        // SAFETY: made above; it stays where it is until `free`.
        let guid = unsafe { &raw const (*state).guid };
        let iface = StreamIRows {
            get_name: Some(name),
            free: Some(FREE),
            set_tensor_async: caps.asynchronous.then_some(transfer::set as _),
            get_tensor_async: caps.asynchronous.then_some(transfer::get as _),
            rows: if caps.asynchronous { transfer::ROWS } else { StreamRows::default() },
            cpy_tensor_async: caps.asynchronous.then_some(transfer::copy as _),
            synchronize: caps.asynchronous.then_some(synchronize as _),
            graph_plan_create: Some(plan_create),
            graph_plan_free: Some(plan_free),
            graph_plan_update: None,
            graph_plan_compute: Some(plan_compute),
            graph_compute: Some(compute),
            event_record: caps.events.then_some(event_record as _),
            event_wait: caps.events.then_some(event_wait as _),
            graph_optimize: None,
        };
        let head = Head { guid, iface, device: d, context: state.cast() };
        Box::into_raw(Box::new(head)).cast()
    })
}

unsafe extern "C" fn name(s: *mut abi::Stream) -> *const c_char {
    // SAFETY: the host passes what it got; so in all functions of this file.
    unsafe { state(s) }.dev.name.as_ptr()
}

unsafe extern "C" fn free(s: *mut abi::Stream) {
    guard((), || {
        // SAFETY: `open` made it, and it comes back once.
        let head = unsafe { Box::from_raw(s.cast::<Head>()) };
        // SAFETY: as above.
        let state = unsafe { Box::from_raw(head.context.cast::<State>()) };
        let _ = state.synchronize();
        drop(state);
    });
}

unsafe extern "C" fn synchronize(s: *mut abi::Stream) {
    guard((), || {
        // SAFETY: as above.
        let state = unsafe { state(s) };
        let r = state.synchronize().map(|()| Status::Success);
        status(state.dev, "waiting", r);
    });
}

unsafe extern "C" fn compute(s: *mut abi::Stream, graph: *mut Graph) -> i32 {
    guard(Status::Failed as i32, || {
        // SAFETY: as above.
        let state = unsafe { state(s) };
        // SAFETY: the host passes a graph, whole with its tensors.
        let r = unsafe { state.compute(graph) };
        status(state.dev, "computing a graph", r)
    })
}

/// A plan holds the graph's nodes: their translation is found as for any other graph.
struct Plan {
    nodes: Vec<*mut Tensor>,
}

unsafe extern "C" fn plan_create(_s: *mut abi::Stream, graph: *const Graph) -> *mut c_void {
    guard(null_mut(), || {
        // SAFETY: the host passes a graph.
        let nodes = unsafe { graph::nodes(graph) }.to_vec();
        Box::into_raw(Box::new(Plan { nodes })).cast()
    })
}

unsafe extern "C" fn plan_free(_s: *mut abi::Stream, plan: *mut c_void) {
    guard((), || {
        if !plan.is_null() {
            // SAFETY: `plan_create` made it, and it comes back once.
            drop(unsafe { Box::from_raw(plan.cast::<Plan>()) });
        }
    });
}

unsafe extern "C" fn plan_compute(s: *mut abi::Stream, plan: *mut c_void) -> i32 {
    guard(Status::Failed as i32, || {
        // SAFETY: as above.
        let state = unsafe { state(s) };
        // SAFETY: `plan_create` made it.
        let plan = unsafe { &mut *plan.cast::<Plan>() };
        let n = i32::try_from(plan.nodes.len()).unwrap_or(0);
        let graph = Graph { size: n, n_nodes: n, n_leafs: 0, nodes: plan.nodes.as_mut_ptr() };
        // SAFETY: the host keeps the graph's tensors while it has a plan of it.
        let r = unsafe { state.compute(&raw const graph) };
        status(state.dev, "computing a plan", r)
    })
}

unsafe extern "C" fn event_record(s: *mut abi::Stream, e: *mut abi::Event) {
    guard((), || {
        // SAFETY: as above.
        let state = unsafe { state(s) };
        // SAFETY: an event of this plug-in's.
        let event = unsafe { super::device::event(e) };
        let r = state.team().map_or(Ok(()), |t| t.stream.record(event));
        status(state.dev, "recording an event", r.map(|()| Status::Success));
    });
}

unsafe extern "C" fn event_wait(s: *mut abi::Stream, e: *mut abi::Event) {
    guard((), || {
        // SAFETY: as above.
        let state = unsafe { state(s) };
        // SAFETY: an event of this plug-in's.
        let event = unsafe { super::device::event(e) };
        let r = state.team().map_or(Ok(()), |t| t.stream.wait(event));
        status(state.dev, "waiting for an event", r.map(|()| Status::Success));
    });
}

/// `ggml_backend_set_n_threads`.
pub(crate) unsafe extern "C" fn set_threads(s: *mut abi::Stream, n: i32) {
    guard((), || {
        // SAFETY: as above.
        let state = unsafe { state(s) };
        let threads = usize::try_from(n).ok().filter(|n| *n > 0);
        match state.switch(threads) {
            // A device with a number of its own keeps it.
            Ok(()) | Err(Error::Invalid { .. }) => {}
            Err(e) => {
                status(state.dev, "changing the number of threads", Err(e));
            }
        }
    });
}

/// `ggml_backend_set_abort_callback`.
pub(crate) unsafe extern "C" fn set_abort(
    s: *mut abi::Stream,
    f: Option<Abort>,
    word: *mut c_void,
) {
    // SAFETY: as above.
    unsafe { state(s) }.abort = f.map(|f| (f, word));
}
