//! What the conformance suite doesn't look at: transfers, order between streams, events, prepared programs.

mod common;

use common::{A, B, N, Small, Y, bytes};
use dinrail_core::error::Error;
use dinrail_core::graph::GraphBuf;
use dinrail_core::hal::{Buffer, Device, Event, Params, Prepared, Rows, Span};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::{DType, Desc};
use dinrail_layers::{Call, Layer, Trace};
use dinrail_vulkan::Backend;

static BACKENDS: [&Backend; 2] = [&common::FULL, &common::PLAIN];

/// Runs a test on every way to look at the device.
fn each(test: impl Fn(&'static dyn Device)) {
    for backend in BACKENDS {
        if let Some(device) = common::device(backend) {
            test(device);
            common::silent(backend);
        }
    }
}

#[test]
fn a_device_describes_itself() {
    each(|device| {
        assert_eq!(device.name(), "Vulkan0");
        assert!(!device.description().is_empty());
        let memory = device.memory();
        assert!(memory.total > 0 && memory.free <= memory.total);
        assert!(device.caps().asynchronous && device.caps().events);
        assert!(device.supports_buffer_type(device.buffer_type()));
        assert_eq!(device.buffer_type().device().map(|d| d.name()), Some("Vulkan0"));
        if let Some(id) = device.id() {
            assert_eq!((id.len(), id.to_lowercase().as_str()), (12, id));
        }
    });
}

#[test]
fn bytes_arrive_where_they_belong() {
    each(|device| {
        // Longer than what goes through staging memory at once.
        let size = (4 << 20) + 12345;
        let buffer = Buffer::new(device.buffer_type(), size).unwrap();
        let mut want: Vec<u8> = (0..size).map(|i| ((i * 7) >> 3) as u8).collect();
        buffer.write(0, &want).unwrap();
        for (at, len, value) in [(0, 1, 1), (5, 2, 2), (9, 11, 3), (16, 16, 4), (30, 1001, 5)] {
            let d = Desc::d1(DType::I8, size).unwrap();
            buffer.memset(Span { desc: &d, offset: 0 }, at, len, value).unwrap();
            want[at..at + len].fill(value);
        }
        let d = Desc::d1(DType::I8, size - 64).unwrap();
        let rows = Rows { len: 3, count: 5, stride: 7, host_stride: 4 };
        let data: Vec<u8> = (100..120).collect();
        buffer.set_2d(Span { desc: &d, offset: 64 }, 1, rows, &data).unwrap();
        for i in 0..5 {
            want[65 + 7 * i..68 + 7 * i].copy_from_slice(&data[4 * i..4 * i + 3]);
        }
        let mut got = vec![0; size];
        buffer.read(0, &mut got).unwrap();
        assert!(got == want);
        let mut back = [0; 20];
        buffer.get_2d(Span { desc: &d, offset: 64 }, 1, rows, &mut back).unwrap();
        assert_eq!(
            (back[0..3].to_vec(), back[16..19].to_vec()),
            (data[0..3].to_vec(), data[16..19].to_vec())
        );
        // To another buffer, to overlapping bytes, and from host memory.
        let other = Buffer::new(device.buffer_type(), size).unwrap();
        let half = Desc::d1(DType::I8, size / 2).unwrap();
        let at = |offset| Span { desc: &half, offset };
        other.copy_from(at(3), &buffer, at(1)).unwrap();
        let mut got = vec![0; size / 2];
        other.read(3, &mut got).unwrap();
        assert!(got == want[1..1 + size / 2]);
        let pinned = Buffer::new(device.host_buffer_type().unwrap(), size).unwrap();
        assert!(pinned.host().is_some());
        pinned.write(0, &want).unwrap();
        other.clear(0).unwrap();
        other.copy_from(at(8), &pinned, at(2)).unwrap();
        other.read(8, &mut got).unwrap();
        assert!(got == want[2..2 + size / 2]);
    });
}

#[test]
fn too_much_memory_is_an_error_with_both_numbers() {
    each(|device| {
        let max = device.buffer_type().max_size();
        assert!(matches!(Buffer::new(device.buffer_type(), max + 1), Err(Error::Full { .. })));
        let mut held = Vec::new();
        let error = loop {
            match Buffer::new(device.buffer_type(), max) {
                Ok(b) => held.push(b),
                Err(e) => break Some(e),
            }
            // A device in software promises memory that it takes when it is touched.
            if held.len() > 64 {
                break None;
            }
        };
        if let Some(e) = error {
            assert!(
                matches!(e, Error::OutOfMemory { requested, available } if requested == max && available < usize::MAX)
            );
        }
        drop(held);
        Buffer::new(device.buffer_type(), 1 << 20).unwrap().clear(1).unwrap();
    });
}

#[test]
fn work_is_ordered_within_and_between_streams() {
    each(|device| {
        let small = Small::new(device).unwrap();
        let (one, two) =
            (device.open(&Params::default()).unwrap(), device.open(&Params::default()).unwrap());
        let mut out = vec![vec![0; N * 4]; 20];
        let inputs: Vec<_> = (0..20).map(|i| bytes(&[i as f32; N])).collect();
        small
            .with(|program| {
                one.scope(|s| {
                    s.set(&small.arena, small.span(B), 0, &inputs[1])?;
                    for (i, out) in out.iter_mut().enumerate() {
                        s.set(&small.arena, small.span(A), 0, &inputs[i])?;
                        one.compute(program)?;
                        s.get(&small.arena, small.span(Y), 0, out)?;
                    }
                    Ok(())
                })?;
                for (i, out) in out.iter().enumerate() {
                    assert_eq!(*out, bytes(&[i as f32 + 1.0; N]));
                }
                // A synchronous transfer is behind what is queued.
                one.compute(program)?;
                program.set_f32(A, &[5.0; N])?;
                let event = Event::new(device)?;
                event.synchronize()?;
                one.compute(program)?;
                one.record(&event)?;
                two.wait(&event)?;
                two.copy(&one, (&small.arena, small.span(Y)), (&small.arena, small.span(B)))?;
                one.compute(program)?;
                let mut y = [0.0; N];
                program.get_f32(Y, &mut y)?;
                assert_eq!(y, [66.0; N]);
                Ok(())
            })
            .unwrap();
    });
}

#[test]
fn events_of_strangers_are_waited_for_or_refused() {
    let (Some(one), Some(other)) = (common::device(&common::FULL), common::device(&common::PLAIN))
    else {
        return;
    };
    let foreign = Err(Error::ForeignObject { object: "event" });
    let (small, also) = (Small::new(one).unwrap(), Small::new(other).unwrap());
    let streams = [one, other].map(|d| d.open(&Params::default()).unwrap());
    let event = Event::new(other).unwrap();
    // Nothing recorded: nothing to wait for.
    streams.iter().for_each(|s| s.wait(&event).unwrap());
    event.synchronize().unwrap();
    for i in 0..4 {
        let x = i as f32;
        also.with(|program| {
            program.set_f32(A, &[x; N])?;
            program.set_f32(B, &[3.0; N])?;
            streams[1].compute(program)?;
            assert_eq!(streams[0].record(&event), foreign, "an event of another device");
            streams[1].record(&event)
        })
        .unwrap();
        // Work of the first device behind that of the second.
        streams[0].wait(&event).unwrap();
        let (from, to) = ((&also.arena, also.span(Y)), (&small.arena, small.span(A)));
        streams[0].copy(&streams[1], from, to).unwrap();
        small
            .with(|program| {
                program.set_f32(B, &[1.0; N])?;
                streams[0].compute(program)?;
                let mut y = [0.0; N];
                program.get_f32(Y, &mut y)?;
                assert_eq!(y, [(x + 3.0) * 3.0 + 1.0; N]);
                Ok(())
            })
            .unwrap();
    }
    // A layer's events are its own, not those of the device in it.
    let layer = Layer::new(one, Trace::new(&|_: &Call, _: dinrail_core::Result<()>| {}));
    let layer: &'static Layer<_> = Box::leak(Box::new(layer));
    let outer = Event::new(layer).unwrap();
    assert_eq!(streams[0].record(&outer), foreign);
    let stream = layer.open(&Params::default()).unwrap();
    assert_eq!(stream.record(&Event::new(one).unwrap()), foreign);
    stream.record(&outer).unwrap();
    streams[0].wait(&outer).unwrap();
    // A mark stays when the stream that set it is gone.
    drop(stream);
    outer.synchronize().unwrap();
    let [_, stream] = streams;
    drop(stream);
    event.synchronize().unwrap();
    // Memory of a stranger is no memory at all.
    let stream = one.open(&Params::default()).unwrap();
    also.with(|program| {
        let foreign = Err(Error::ForeignObject { object: "buffer" });
        assert_eq!(stream.compute(program), foreign);
        assert_eq!(stream.plan(program).map(drop), foreign);
        let host = bytes(&[0.0; N]);
        assert_eq!(stream.scope(|s| s.set(&also.arena, also.span(A), 0, &host)), foreign);
        stream.synchronize()
    })
    .unwrap();
    common::silent(&common::FULL);
    common::silent(&common::PLAIN);
}

#[test]
fn a_prepared_program_follows_its_data_and_its_updates() {
    each(|device| {
        let (small, other) = (Small::new(device).unwrap(), Small::new(device).unwrap());
        let stream = device.open(&Params::default()).unwrap();
        let bindings = [[Binding::new(&small.arena)], [Binding::new(&other.arena)]];
        let programs = bindings.each_ref().map(|b| small.program(b).unwrap());
        let check = |prepared: &Prepared<'_>, i: usize, x: f32| {
            let (program, mut y) = (&programs[i], [0.0; N]);
            program.set_f32(A, &[x; N]).unwrap();
            program.set_f32(B, &[2.0; N]).unwrap();
            prepared.compute().unwrap();
            program.get_f32(Y, &mut y).unwrap();
            assert_eq!(y, [(x + 2.0) * 2.0; N]);
        };
        let mut prepared = stream.plan(&programs[0]).unwrap();
        for i in 0..3 {
            check(&prepared, 0, i as f32);
        }
        for i in 0..6 {
            // Queued work goes on while the program is changed.
            prepared.compute().unwrap();
            prepared.update(&programs[(i + 1) % 2]).unwrap();
            check(&prepared, (i + 1) % 2, 10.0 + i as f32);
        }
        drop(prepared);
        stream.synchronize().unwrap();
    });
}

#[test]
fn tensors_without_elements_are_tensors() {
    each(|device| {
        let mut graph = GraphBuf::<8>::new();
        let mut b = graph.builder();
        let (x, none) = (b.input(DType::F32, [4, 3, 1, 1]), b.input(DType::F32, [4, 0, 1, 1]));
        let also = b.silu(none);
        let y = b.concat(x, also, 1);
        let z = b.scale(y, 2.0, 0.0);
        b.output(also);
        b.output(z);
        b.finish().unwrap();
        let options = Options { align: device.buffer_type().alignment(), ..Options::DEFAULT };
        let plan = PlanBuf::<8>::new(graph.graph(), &options).unwrap();
        let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
        let bindings = [Binding::new(&arena)];
        let program = Program::new(graph.graph(), plan.plan(), &bindings).unwrap();
        let stream = device.open(&Params::default()).unwrap();
        program.set_f32(none, &[]).unwrap();
        program.set_f32(x, &[1.5; 12]).unwrap();
        stream.compute(&program).unwrap();
        let mut out = [0.0; 12];
        program.get_f32(also, &mut []).unwrap();
        program.get_f32(z, &mut out).unwrap();
        assert_eq!(out, [3.0; 12]);
        // No bytes at all are a buffer too, on which everything of no length succeeds.
        let empty = Buffer::new(device.buffer_type(), 0).unwrap();
        empty.write(0, &[]).unwrap();
        empty.read(0, &mut []).unwrap();
        empty.clear(1).unwrap();
        let d = Desc::d1(DType::F32, 0).unwrap();
        let span = || Span { desc: &d, offset: 0 };
        empty.copy_from(span(), &arena, span()).unwrap();
        stream
            .scope(|s| {
                s.set(&empty, span(), 0, &[])?;
                s.get(&empty, span(), 0, &mut [])
            })
            .unwrap();
    });
}

#[test]
fn tensors_may_lie_anywhere_in_large_memory() {
    // Larger than what a binding can hold on a device in software (128 MiB), and than half of that from every end.
    const MIB: usize = 1 << 20;
    const SIZE: usize = 300 * MIB;
    each(|device| {
        if device.buffer_type().max_size() < SIZE {
            return println!("skipped: the device has no such memory");
        }
        let large = Buffer::new(device.buffer_type(), SIZE).unwrap();
        let ends = [64, 128, 192].map(|n| n * MIB - 600);
        let places = [0, ends[0], 100 * MIB, ends[1], 160 * MIB + 4, SIZE - 4 * N];
        let mut graph = GraphBuf::<24>::new();
        let mut b = graph.builder();
        let mut sum = b.input(DType::F32, [N, 1, 1, 1]);
        let x = sum;
        for at in places {
            let w = b.leaf(DType::F32, [N, 1, 1, 1], 1, at);
            sum = b.add(sum, w);
        }
        // And written to.
        let last = b.leaf(DType::F32, [N, 1, 1, 1], 1, ends[2]);
        let y = b.cpy(sum, last);
        b.output(y);
        b.finish().unwrap();
        let plan = PlanBuf::<24>::new(graph.graph(), &Options::DEFAULT).unwrap();
        let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
        let bindings = [Binding::new(&arena), Binding::new(&large)];
        let program = Program::new(graph.graph(), plan.plan(), &bindings).unwrap();
        for (i, at) in places.into_iter().enumerate() {
            large.write(at, &bytes(&[(1 << i) as f32; N])).unwrap();
        }
        program.set_f32(x, &[0.5; N]).unwrap();
        let stream = device.open(&Params::default()).unwrap();
        stream.compute(&program).unwrap();
        let mut out = vec![0; 4 * N];
        large.read(ends[2], &mut out).unwrap();
        assert!(out == bytes(&[63.5; N]));
    });
}

#[test]
fn a_run_of_one_node_is_done_when_it_says_so() {
    each(|device| {
        let pinned = device.host_buffer_type().unwrap();
        if !device.supports_buffer_type(pinned) {
            return println!("skipped: the device doesn't compute on host memory");
        }
        // Long enough to be under way still when the first question comes; the host sees it without asking the device.
        const LAST: usize = (1 << 22) - 1;
        let mut graph = GraphBuf::<1>::new();
        let mut b = graph.builder();
        let y = b.arange(0.0, (LAST + 1) as f32, 1.0);
        b.output(y);
        b.finish().unwrap();
        let plan = PlanBuf::<1>::new(graph.graph(), &Options::DEFAULT).unwrap();
        let arena = Buffer::new(pinned, plan.plan().summary().arena).unwrap();
        let bindings = [Binding::new(&arena)];
        let program = Program::new(graph.graph(), plan.plan(), &bindings).unwrap();
        let stream = device.open(&Params::default()).unwrap();
        for _ in 0..4 {
            arena.clear(0).unwrap();
            let mut run = stream.begin(&program);
            while !run.poll().unwrap() {}
            assert_eq!(arena.view(4 * LAST, 4).unwrap().f32(0), LAST as f32);
        }
    });
}

#[test]
fn memory_may_be_dropped_while_work_is_queued() {
    each(|device| {
        let stream = device.open(&Params::default()).unwrap();
        for _ in 0..3 {
            let small = Small::new(device).unwrap();
            small.with(|program| stream.compute(program)).unwrap();
        }
        stream.synchronize().unwrap();
    });
}

#[test]
fn a_model_in_host_memory_is_used_where_it_is() {
    each(|device| {
        if !device.caps().buffer_from_host {
            return println!("skipped: the device can't use host memory");
        }
        // Not at the start of a page.
        let memory: Vec<u8> = bytes(&(0..5000).map(|i| i as f32).collect::<Vec<_>>());
        let lent = &memory[100..];
        let weights = device.buffer_from_host(lent, lent.len()).unwrap();
        assert!(!weights.is_writable());
        let mut graph = GraphBuf::<3>::new();
        let mut b = graph.builder();
        let w = b.weight(DType::F32, [64, 16, 1, 1], 1, 40);
        let x = b.input(DType::F32, [64, 1, 1, 1]);
        let y = b.mul_mat(w, x);
        b.output(y);
        b.finish().unwrap();
        let plan = PlanBuf::<3>::new(graph.graph(), &Options::DEFAULT).unwrap();
        let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
        let bindings = [Binding::new(&arena), Binding::new(&weights)];
        let program = Program::new(graph.graph(), plan.plan(), &bindings).unwrap();
        let mut one_hot = [0.0; 64];
        one_hot[3] = 1.0;
        program.set_f32(x, &one_hot).unwrap();
        let stream = device.open(&Params::default()).unwrap();
        stream.compute(&program).unwrap();
        let mut out = [0.0; 16];
        program.get_f32(y, &mut out).unwrap();
        let want: Vec<f32> = (0..16).map(|r| (35 + 3 + 64 * r) as f32).collect();
        assert_eq!(out.to_vec(), want);
    });
}
