//! A model on several devices: the same numbers as on one, whatever goes wrong on the way.

mod common;

use common::{devices, stories, with_session};
use dinrail_core::graph::NodeId;
use dinrail_core::hal::host::Heap;
use dinrail_core::hal::{Backend as _, Device, Params, Stream};
use dinrail_core::sched::Split;
use dinrail_core::{Error as CoreError, Result as CoreResult};
use dinrail_gguf::File;
use dinrail_layers::{Fault, Kind, Layer, Recorder, Trace, Validate, Violation, Wall};
use dinrail_llm::session::split::{Memory, Placement, Session, Shown};
use dinrail_llm::session::{Error, Evaluate, Next, Options};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const TOKENS: [u32; 18] =
    [1, 403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 338, 401];
const LAYERS: usize = 5;
const VOCAB: usize = 512;

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn cpu() -> &'static dyn Device {
    dinrail::registry().device_by_name("CPU").unwrap()
}

/// A device with memory of its own, of which every use is checked.
fn walled(device: &'static dyn Device) -> &'static dyn Device {
    fn report(violation: &Violation) {
        panic!("{violation:?}");
    }
    leak(Layer::new(leak(Layer::new(device, Validate::new(report))), Wall))
}

fn open(device: &'static dyn Device) -> Stream {
    device.open(&Params { threads: Some(1), ..Params::default() }).unwrap()
}

/// Runs `f` on a session of a model on these devices.
fn with<R>(
    file: &File<'_>,
    on: &[&Stream],
    options: &Options,
    placement: Placement,
    f: impl FnOnce(&mut Session<'_>) -> R,
) -> R {
    let host = on.last().unwrap().device();
    let model = host.buffer_from_host(file.as_bytes(), 0).unwrap();
    let ty = model.buffer_type();
    let mut memory = Memory::new(file.header(), on, ty, options, placement).unwrap();
    memory.allocate(on, file.as_bytes(), |_, _| {}).unwrap();
    let mut room = Vec::new();
    f(&mut memory.session(on, &model, &mut room).unwrap())
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Logits of a prompt in batches, and of some tokens behind it one by one.
fn told(session: &mut dyn Evaluate) -> Vec<u32> {
    let mut logits = vec![0.0; VOCAB];
    session.eval(&TOKENS[..11], &mut logits).unwrap();
    let mut all = bits(&logits);
    for token in &TOKENS[11..] {
        session.eval(&[*token], &mut logits).unwrap();
        all.extend(bits(&logits));
    }
    assert_eq!(session.used(), TOKENS.len());
    all
}

#[test]
fn the_same_bits_wherever_the_layers_are() {
    let options = Options { batch: 4, ..Options::context(32) };
    for name in ["stories260K-f32", "stories260K-Q8_0"] {
        let file = stories(name);
        let expected = with_session(cpu(), &file, options, 1, |s| told(s));
        // The same kernels behind a wall: everything that they read has to be carried there.
        let (far, near) = (open(walled(cpu())), open(cpu()));
        let two = [&far, &near];
        for n in 0..=LAYERS + 1 {
            for copies in [1, 3] {
                let placement = Placement { copies, ..Placement::last(LAYERS, n, &[(0, 1.0)], 1) };
                let got = with(&file, &two, &options, placement, |s| {
                    let splits = s.schedule().splits().len();
                    assert_eq!(splits > 1, n > 0, "{n} layers: {splits} splits");
                    told(s)
                });
                assert_eq!(got, expected, "{name}, {n} layers, {copies} copies");
            }
        }
        // Three devices, one of them twice, layers to and fro.
        let another = open(walled(cpu()));
        let three = [&far, &another, &near];
        let placement = Placement {
            layers: vec![0, 2, 1, 0, 1],
            head: 2,
            ..Placement::last(LAYERS, 0, &[], 2)
        };
        assert_eq!(with(&file, &three, &options, placement, |s| told(s)), expected);
    }
}

#[test]
fn devices_that_share_memory_copy_nothing_but_weights_stay_in_the_file() {
    let file = stories("stories260K-Q8_0");
    let reference = devices().into_iter().find(|d| d.name() == "Reference").unwrap();
    let (a, b) = (open(reference), open(cpu()));
    let on = [&a, &b];
    let host = cpu().buffer_from_host(file.as_bytes(), 0).unwrap();
    let placement = Placement::last(LAYERS, 6, &[(0, 1.0), (1, 1.0)], 1);
    let options = Options::context(32);
    let mut memory =
        Memory::new(file.header(), &on, host.buffer_type(), &options, placement).unwrap();
    assert!(memory.sizes().iter().all(|s| s.weights == 0 && s.arena > 0 && s.cache > 0));
    let computed = memory
        .show(&on, &host, 1, |&Shown { schedule, graph, marks, .. }| {
            let transfers = |s: &Split| schedule.transfers(s).count();
            assert_eq!(schedule.splits().iter().map(transfers).sum::<usize>(), 0);
            // Each layer is computed where it was asked for.
            (0..LAYERS)
                .map(|i| {
                    let nodes = (marks[i]..marks[i + 1]).map(|n| NodeId(n as u16));
                    let mut on: Vec<_> = nodes
                        .filter(|n| !graph.node(*n).unwrap().op.is_view())
                        .map(|n| schedule.target(n).unwrap())
                        .collect();
                    on.dedup();
                    on
                })
                .collect::<Vec<_>>()
        })
        .unwrap();
    assert_eq!(computed, [[0], [0], [0], [1], [1]]);
    // Two levels of one processor, and the oracle, tell the same story as one.
    let scalar = cpu().open(&Params { threads: Some(1), text: Some("level=scalar") }).unwrap();
    let best = open(cpu());
    let greedy = |s: &mut dyn Evaluate| {
        let mut logits = vec![0.0; VOCAB];
        let mut ids = TOKENS[..6].to_vec();
        s.eval(&ids, &mut logits).unwrap();
        for _ in 0..24 {
            let top = (0..VOCAB).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap();
            ids.push(top as u32);
            s.eval(&[top as u32], &mut logits).unwrap();
        }
        ids
    };
    let file = stories("stories260K-f32");
    let one = with_session(cpu(), &file, options, 1, |s| greedy(s));
    for pair in [[&scalar, &best], [&a, &best]] {
        let placement = Placement::last(LAYERS, 6, &[(0, 1.0), (1, 1.0)], 1);
        assert_eq!(with(&file, &pair, &options, placement, |s| greedy(s)), one);
    }
}

#[test]
fn run_one_is_run_a_hundred() {
    let file = stories("stories260K-Q8_0");
    let (far, near) = (open(walled(cpu())), open(cpu()));
    let on = [&far, &near];
    let options = Options { batch: 4, ..Options::context(24) };
    with(&file, &on, &options, Placement::last(LAYERS, 3, &[(0, 1.0)], 1), |s| {
        let first = told(s);
        for _ in 0..20 {
            s.reset();
            assert_eq!(told(s), first);
        }
        // Mistakes change nothing, and a prompt can be stopped between batches.
        let mut logits = vec![0.0; VOCAB];
        s.reset();
        assert_eq!(s.eval(&[], &mut logits), Err(Error::Empty));
        assert_eq!(s.eval(&[9999], &mut logits), Err(Error::Token { id: 9999, vocab: VOCAB }));
        let long = [1; 25];
        let full = Error::ContextFull { used: 0, new: 25, context: 24 };
        assert_eq!(s.eval(&long, &mut logits), Err(full));
        let mut seen = Vec::new();
        let stopped = s.eval_with(&TOKENS, &mut logits, &mut |done| {
            seen.push(done);
            if done >= 8 { Next::Stop } else { Next::Go }
        });
        assert_eq!(stopped, Err(Error::Core(CoreError::Cancelled)));
        assert_eq!((seen, s.used(), s.left()), (vec![4, 8], 8, 16));
        s.eval(&TOKENS[8..11], &mut logits).unwrap();
        assert_eq!(bits(&logits), first[..VOCAB]);
    });
}

/// A heap that counts.
struct Counting(AtomicUsize);

// SAFETY: each piece is the caller's alone until it is freed, and its bytes are set.
unsafe impl Heap for Counting {
    fn alloc(&self, bytes: usize, align: usize) -> CoreResult<NonNull<u8>> {
        let p = dinrail::host::HEAP.alloc(bytes, align)?;
        self.0.fetch_add(1, SeqCst);
        Ok(p)
    }

    unsafe fn free(&self, ptr: NonNull<u8>, bytes: usize, align: usize) {
        self.0.fetch_sub(1, SeqCst);
        // SAFETY: the caller promises that this is what `alloc` gave.
        unsafe { dinrail::host::HEAP.free(ptr, bytes, align) };
    }
}

/// One short story, of which each step is done again when it fails. Returns the logits and how many steps failed.
fn stubborn(device: &'static dyn Device, file: &File<'_>) -> (Vec<u32>, usize) {
    let mut failed = 0;
    let mut again = |e: CoreError| {
        assert_eq!(e, CoreError::Device { call: "fault", code: 7 });
        failed += 1;
        assert!(failed < 2, "a step fails once");
    };
    let core = |e: Error| match e {
        Error::Core(e) => e,
        other => panic!("{other}"),
    };
    let near = open(cpu());
    let far = device.open(&Params::default()).or_else(|e| {
        again(e);
        device.open(&Params::default())
    });
    let far = far.unwrap();
    let on = [&far, &near];
    let model = cpu().buffer_from_host(file.as_bytes(), 0).unwrap();
    let options = Options { batch: 2, ..Options::context(8) };
    let new = || {
        let placement = Placement::last(LAYERS, 2, &[(0, 1.0)], 1);
        Memory::new(file.header(), &on, model.buffer_type(), &options, placement)
    };
    let mut memory = new().unwrap_or_else(|e| {
        again(core(e));
        new().unwrap()
    });
    while let Err(e) = memory.allocate(&on, file.as_bytes(), |_, _| {}) {
        again(core(e));
    }
    loop {
        let mut room = Vec::new();
        let mut session = match memory.session(&on, &model, &mut room) {
            Ok(s) => s,
            Err(e) => {
                again(core(e));
                continue;
            }
        };
        let mut logits = vec![0.0; VOCAB];
        for end in [3, 4] {
            while session.used() < end {
                if let Err(e) = session.eval(&TOKENS[session.used()..end], &mut logits) {
                    again(core(e));
                }
            }
        }
        drop(session);
        return (bits(&logits), failed);
    }
}

#[test]
fn whatever_call_fails_the_next_one_works_and_nothing_is_lost() {
    static HEAP: Counting = Counting(AtomicUsize::new(0));
    let file = stories("stories260K-Q8_0");
    let reference = leak(dinrail_reference::Backend::new(Some(&HEAP))).device(0).unwrap();
    let fault =
        leak(Layer::new(reference, Fault::new(CoreError::Device { call: "fault", code: 7 })));
    let walled = leak(Layer::new(fault, Wall));
    let (expected, none) = stubborn(walled, &file);
    assert_eq!((none, HEAP.0.load(SeqCst)), (0, 0));
    let mut survived = 0;
    for kind in Kind::ALL.iter().copied().filter(|k| k.is_fallible()) {
        for n in 1.. {
            fault.hook().arm(kind, n);
            let (logits, failed) = stubborn(walled, &file);
            let fired = fault.hook().fired();
            fault.hook().arm(kind, 0);
            assert_eq!(failed, usize::from(fired), "{kind:?} {n}");
            assert_eq!(logits, expected, "{kind:?} {n}");
            assert_eq!(HEAP.0.load(SeqCst), 0, "{kind:?} {n} leaks");
            if !fired {
                break;
            }
            survived += 1;
        }
    }
    assert!(survived > 30, "only {survived} calls were failed");
    println!("{survived} failures survived");
}

#[test]
fn what_goes_across_is_what_the_schedule_says() {
    static CALLS: Recorder<256> = Recorder::new();
    let file = stories("stories260K-Q8_0");
    let traced = leak(Layer::new(cpu(), Trace::new(&CALLS)));
    let (far, near) = (open(leak(Layer::new(traced, Wall))), open(cpu()));
    let on = [&far, &near];
    let options = Options { batch: 1, ..Options::context(32) };
    with(&file, &on, &options, Placement::last(LAYERS, 2, &[(0, 1.0)], 1), |s| {
        let schedule = *s.schedule();
        let planned: usize = schedule
            .splits()
            .iter()
            .filter(|s| s.target == 0)
            .flat_map(|s| schedule.transfers(s).collect::<Vec<_>>())
            .map(|(_, from, bytes)| {
                assert_eq!(from, 1);
                bytes
            })
            .sum();
        assert!(planned > 64 * 4, "at least the state of one token");
        let sets = || -> usize {
            CALLS
                .calls()
                .filter(|c| c.kind == Kind::Set || c.kind == Kind::Copy)
                .map(|c| c.bytes)
                .sum()
        };
        let before = sets();
        let mut logits = vec![0.0; VOCAB];
        s.eval(&[1], &mut logits).unwrap();
        assert_eq!(sets() - before, planned);
        assert!(CALLS.count() < 256, "all calls were seen");
    });
}

#[test]
fn a_token_asks_no_device_what_it_can_and_takes_no_memory() {
    use dinrail_null::{Backend, Calls, Config};
    static CALLS: Calls = Calls::new();
    static ONE: Backend = Backend::new(Config { calls: Some(&CALLS), ..Config::DEFAULT });
    let file = stories("stories260K-Q8_0");
    let (far, near) = (open(ONE.device(0).unwrap()), open(cpu()));
    let on = [&far, &near];
    let options = Options { batch: 1, ..Options::context(32) };
    with(&file, &on, &options, Placement::last(LAYERS, 2, &[(0, 1.0)], 1), |s| {
        let splits = s.schedule().splits().iter().filter(|s| s.target == 0).count();
        let now = || [&CALLS.supports, &CALLS.alloc, &CALLS.open].map(|c| c.count());
        let (before, computed) = (now(), CALLS.compute.count());
        assert!(before[0] > 0 && before[1] > 0);
        let mut logits = vec![0.0; VOCAB];
        for t in 0..10 {
            s.eval(&[t], &mut logits).unwrap();
        }
        assert_eq!(now(), before);
        assert_eq!(CALLS.compute.count() - computed, 10 * splits);
    });
}

#[test]
fn a_prompt_of_any_length_fits_what_was_planned_for_the_longest() {
    const MOST: usize = 40;
    let file = stories("stories260K-Q8_0");
    let options = Options { batch: MOST, ..Options::context(MOST) };
    let (far, near) = (open(walled(cpu())), open(cpu()));
    let ids: Vec<u32> = TOKENS.iter().copied().cycle().take(MOST).collect();
    let each = |session: &mut dyn Evaluate| -> Vec<Vec<u32>> {
        let mut logits = vec![0.0; VOCAB];
        (1..=MOST)
            .map(|n| {
                session.reset();
                session.eval(&ids[..n], &mut logits).unwrap();
                bits(&logits)
            })
            .collect()
    };
    let expected = with_session(cpu(), &file, options, 1, |s| each(s));
    for copies in [1, 4] {
        let placement = Placement { copies, ..Placement::last(LAYERS, 3, &[(0, 1.0)], 1) };
        assert_eq!(with(&file, &[&far, &near], &options, placement, |s| each(s)), expected);
    }
}

#[test]
fn more_devices_than_a_scheduler_has_room_for_are_refused() {
    let file = stories("stories260K-Q8_0");
    let near = open(cpu());
    let ty = near.device().buffer_type();
    let options = Options::context(8);
    for n in [0, 17, 127, 300] {
        let on = vec![&near; n];
        let placement = Placement::last(LAYERS, 0, &[], 0);
        let refused = Memory::new(file.header(), &on, ty, &options, placement).unwrap_err();
        let why = CoreError::Invalid { what: "number of devices", value: n as i64 };
        assert_eq!(refused, Error::Core(why));
    }
    let on = vec![&near; 16];
    let placement = Placement::last(LAYERS, 0, &[], 0);
    assert!(Memory::new(file.header(), &on, ty, &options, placement).is_ok());
}
