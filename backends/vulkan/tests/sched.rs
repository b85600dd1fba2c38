//! One graph on two devices and the host, with runs that overlap: whatever call fails, the error is told, nothing is
//! lost, and the next run is right. The devices are those of Vulkan, and, where there are none, wrapped oracles.

mod common;

use common::{FULL, PLAIN};
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::{Builder, Graph, Node, NodeId};
use dinrail_core::hal::{Backend as _, Buffer, Device, Params, Stream};
use dinrail_core::op::Op;
use dinrail_core::program::Binding;
use dinrail_core::sched::{self, MAX_COPIES, Ready, Room, Schedule, Scheduler};
use dinrail_core::tensor::DType;
use dinrail_layers::{Fault, Kind, Layer};
use dinrail_vulkan::{Backend, Options};

const LOST: Error = Error::Device { call: "on purpose", code: 7 };
const N: usize = 40;
/// Rows, so that devices have something to do.
const SHAPE: [usize; 4] = [N, 8, 1, 1];

static ORACLE: dinrail_reference::Backend =
    dinrail_reference::Backend::new(Some(&dinrail_host::HEAP));

fn faulty(device: &'static dyn Device) -> &'static Layer<Fault> {
    Box::leak(Box::new(Layer::new(device, Fault::new(LOST))))
}

/// Pairs of devices that can't reach each other's memory: two of Vulkan, one beside an oracle, two oracles.
fn pairs() -> Vec<[&'static Layer<Fault>; 2]> {
    let oracle = || faulty(ORACLE.device(0).unwrap());
    let mut pairs = vec![[oracle(), oracle()]];
    if let (Some(full), Some(plain)) = (common::device(&FULL), common::device(&PLAIN)) {
        pairs.push([faulty(full), faulty(plain)]);
        pairs.push([faulty(plain), oracle()]);
    }
    pairs
}

fn silent() {
    for backend in [&FULL, &PLAIN] {
        if common::device(backend).is_some() {
            common::silent(backend);
        }
    }
}

/// `y = (x * w0 + w0)^2 * w1 + x`: w0 on the first device, w1 on the second, x on the host.
fn graph(nodes: &mut [Node]) -> (Graph<'_>, NodeId, NodeId) {
    let mut b = Builder::new(nodes);
    let x = b.input(DType::F32, SHAPE);
    let w0 = b.weight(DType::F32, [N, 1, 1, 1], 1, 0);
    let w1 = b.weight(DType::F32, [N, 1, 1, 1], 2, 0);
    let y = b.mul(x, w0);
    let y = b.add(y, w0);
    let y = b.op(Op::Sqr, &[y]);
    let y = b.mul(y, w1);
    let y = b.add(y, x);
    b.output(y);
    (b.finish().unwrap(), x, y)
}

fn wanted(x: f32) -> Vec<f32> {
    let of = |i: usize| {
        let (w0, w1) = ((i % 5) as f32, (i % 3) as f32 - 1.0);
        (x * w0 + w0).powi(2) * w1 + x
    };
    (0..N).map(of).cycle().take(N * SHAPE[1]).collect()
}

fn weights(device: &'static dyn Device, of: impl Fn(usize) -> f32) -> Result<Buffer<'static>> {
    let buffer = Buffer::new(device.buffer_type(), N * 4)?;
    buffer.write(0, &(0..N).flat_map(|i| of(i).to_le_bytes()).collect::<Vec<u8>>())?;
    Ok(buffer)
}

/// Everything that a run needs.
struct Setting {
    streams: Vec<Stream>,
    weights: [Buffer<'static>; 2],
}

impl Setting {
    fn new(pair: [&'static dyn Device; 2]) -> Result<Self> {
        let devices: [&'static dyn Device; 3] = [pair[0], pair[1], ORACLE.device(0).unwrap()];
        let streams = devices.iter().map(|d| d.open(&Params::default()));
        Ok(Self {
            streams: streams.collect::<Result<_>>()?,
            weights: [
                weights(pair[0], |i| (i % 5) as f32)?,
                weights(pair[1], |i| (i % 3) as f32 - 1.0)?,
            ],
        })
    }

    /// Splits [`graph`], joins it with memory, and hands it to `then`.
    fn with<R>(
        &self,
        copies: usize,
        then: impl FnOnce(&mut Ready<'_>, NodeId, NodeId) -> Result<R>,
    ) -> Result<R> {
        let mut nodes = vec![Node::EMPTY; 16];
        let (graph, x, y) = graph(&mut nodes);
        let streams: Vec<&Stream> = self.streams.iter().collect();
        let mut room = Room::<64, 16>::new();
        let options = sched::Options { copies, ..sched::Options::DEFAULT };
        let mut s = Scheduler::new(&streams, room.storage(), options)?;
        self.bound(&mut s, graph, |ready, schedule| then(ready, schedule.node(x), schedule.node(y)))
    }

    fn bound<R>(
        &self,
        s: &mut Scheduler<'_, '_>,
        graph: Graph<'_>,
        then: impl FnOnce(&mut Ready<'_>, &Schedule<'_>) -> Result<R>,
    ) -> Result<R> {
        let [one, two] = &self.weights;
        let user = [Binding::NONE, Binding::new(one), Binding::new(two)];
        s.split(graph, &user)?;
        assert!(s.schedule()?.splits().len() >= 2, "the graph is on both devices");
        let arenas = (0..self.streams.len())
            .map(|t| Buffer::new(s.arena_type(t).unwrap(), s.arena_size(t)))
            .collect::<Result<Vec<_>>>()?;
        let arenas: Vec<Binding<'_>> = arenas.iter().map(Binding::new).collect();
        let schedule = s.schedule()?;
        let mut room = vec![Binding::NONE; schedule.bindings()];
        let mut ready = schedule.bind(&user, &arenas, &mut room)?;
        then(&mut ready, &schedule)
    }
}

fn set(ready: &mut Ready<'_>, x: NodeId, to: f32) -> Result<()> {
    ready.begin()?.set_f32(x, &[to; N * SHAPE[1]])
}

fn check(ready: &Ready<'_>, y: NodeId, x: f32) -> Result<()> {
    let mut out = vec![0.0; N * SHAPE[1]];
    ready.program().get_f32(y, &mut out)?;
    assert_eq!(out, wanted(x));
    Ok(())
}

/// Runs that overlap, of which one may fail; then, with the same memory, some that must not.
fn session(pair: [&'static dyn Device; 2], plan: bool) -> Result<()> {
    let mut result = Ok(());
    let set_up = Setting::new(pair).and_then(|setting| {
        setting.with(MAX_COPIES, |ready, x, y| {
            let (splits, copies) = (ready.schedule().splits().len(), ready.schedule().copies());
            let sections: Vec<_> =
                (0..splits * copies).map(|i| ready.section(i % splits, i / splits)).collect();
            let mut prepared = Vec::new();
            for section in sections.iter().filter(|_| plan) {
                prepared.push(
                    match section.as_ref().map(|(stream, program)| stream.plan(program)) {
                        Some(Err(Error::NotOffered { .. })) | None => None,
                        Some(made) => Some(made?),
                    },
                );
            }
            let mut several = || {
                for i in 0..6 {
                    set(ready, x, i as f32)?;
                    ready.run_prepared(&prepared)?;
                    if i == 3 {
                        check(ready, y, i as f32)?;
                    }
                }
                ready.synchronize()?;
                check(ready, y, 5.0)
            };
            result = several();
            if result.is_err() {
                // What failed once doesn't fail again, and what it left behind does no harm.
                several().expect("after a run that failed");
            }
            Ok(())
        })
    });
    set_up.and(result)
}

#[test]
fn any_call_may_fail_while_runs_overlap() {
    for pair in pairs() {
        for plan in [false, true] {
            let devices = pair.map(|layer| layer as &'static dyn Device);
            session(devices, plan).unwrap();
            let mut fired = 0;
            for layer in pair {
                for kind in Kind::ALL {
                    for n in 1.. {
                        layer.hook().arm(*kind, n);
                        let result = session(devices, plan);
                        if !layer.hook().fired() {
                            result.unwrap();
                            break;
                        }
                        assert_eq!(result, Err(LOST), "{kind:?} {n}");
                        fired += 1;
                    }
                    layer.hook().arm(*kind, 0);
                }
            }
            println!("{} and {}: {fired} failures", pair[0].name(), pair[1].name());
            assert!(fired > 30);
        }
    }
    silent();
}

#[test]
fn any_vulkan_call_may_fail_while_runs_overlap() {
    // Failures of these are nobody else's.
    static ONE: Backend = Backend::with(common::WATCHED);
    static TWO: Backend = Backend::with(Options { map: false, ..common::WATCHED });
    let (Some(one), Some(two)) = (common::device(&ONE), common::device(&TWO)) else { return };
    for plan in [false, true] {
        session([one, two], plan).unwrap();
        for (backend, code) in [(&ONE, -2), (&TWO, -4)] {
            let mut fired = 0;
            for n in 1.. {
                backend.fail(0, n, code).unwrap();
                let result = session([one, two], plan);
                if backend.fail(0, 0, 0).unwrap() > 0 {
                    result.unwrap();
                    break;
                }
                match result {
                    // A failure while something is given back has nobody to tell.
                    Ok(()) | Err(Error::OutOfMemory { .. }) => {}
                    Err(Error::Device { code: got, .. }) => assert_eq!(got, i64::from(code)),
                    Err(e) => panic!("call {n}: {e}"),
                }
                fired += 1;
            }
            println!("{fired} calls");
            assert!(fired > 40);
        }
    }
    common::silent(&ONE);
    common::silent(&TWO);
}

#[test]
fn a_run_that_was_stopped_is_forgotten() {
    for pair in pairs() {
        let setting = Setting::new(pair.map(|layer| layer as &'static dyn Device)).unwrap();
        let mut nodes = vec![Node::EMPTY; 16];
        let (graph, x, y) = graph(&mut nodes);
        let streams: Vec<&Stream> = setting.streams.iter().collect();
        let mut room = Room::<64, 16>::new();
        let options = sched::Options { copies: MAX_COPIES, ..sched::Options::DEFAULT };
        let mut s = Scheduler::new(&streams, room.storage(), options).unwrap();
        for stop in 0..4 {
            // Stopped behind the node after `stop` others, with runs under way before it.
            let done = setting.bound(&mut s, graph, |ready, schedule| {
                let (x, y) = (schedule.node(x), schedule.node(y));
                for i in 0..2 {
                    set(ready, x, i as f32)?;
                    ready.run()?;
                }
                set(ready, x, 9.0)?;
                let mut seen = 0;
                let stopped = ready.run_watched(
                    |_| true,
                    |_, _| {
                        seen += 1;
                        seen <= stop
                    },
                );
                assert_eq!((stopped, seen), (Err(Error::Cancelled), stop + 1));
                // The same memory at once, and all copies of it.
                for i in 0..MAX_COPIES + 1 {
                    set(ready, x, i as f32)?;
                    ready.run()?;
                    check(ready, y, i as f32)?;
                }
                // Left in the middle for good.
                set(ready, x, 3.0)?;
                let _ = ready.run_watched(|_| true, |_, _| false);
                Ok(())
            });
            done.unwrap();
            // The scheduler begins anew.
            s.reset();
            assert!(s.schedule().is_err());
        }
        setting
            .bound(&mut s, graph, |ready, schedule| {
                set(ready, schedule.node(x), 2.0)?;
                ready.run()?;
                check(ready, schedule.node(y), 2.0)
            })
            .unwrap();
    }
    silent();
}

#[test]
fn steps_may_be_left_in_the_middle() {
    let mut devices = vec![ORACLE.device(0).unwrap()];
    devices.extend([&FULL, &PLAIN].iter().filter_map(|b| common::device(b)));
    for device in devices {
        let small = common::Small::new(device).unwrap();
        let stream = device.open(&Params::default()).unwrap();
        let check = |x: f32| {
            small
                .with(|program| {
                    program.set_f32(common::A, &[x; common::N])?;
                    program.set_f32(common::B, &[2.0; common::N])?;
                    let mut run = stream.begin(program);
                    while !run.poll()? {}
                    let mut y = [0.0; common::N];
                    program.get_f32(common::Y, &mut y)?;
                    assert_eq!(y, [(x + 2.0) * 2.0; common::N]);
                    Ok(())
                })
                .unwrap();
        };
        check(1.0);
        for polls in 0..4 {
            small
                .with(|program| {
                    program.set_f32(common::A, &[50.0; common::N])?;
                    let mut run = stream.begin(program);
                    for _ in 0..polls {
                        run.poll()?;
                    }
                    Ok(())
                })
                .unwrap();
            check(polls as f32);
        }
    }
    silent();
}
