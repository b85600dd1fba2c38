//! Graphs whose results are known, for any device.
#![allow(dead_code)]

pub mod llama;

use dinrail_core::graph::{GraphBuf, NodeId};
use dinrail_core::hal::{Buffer, Device, Params, Stream};
use dinrail_core::op::{GluKind, Rope, RopeMode, Unary};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;

/// Bytes of this process that are in memory.
pub fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(text.split(' ').nth(1)?.parse::<usize>().ok()? * 4096)
}

/// Runs `round` a thousand times, a few before memory counts; `true` for those that are to compute something.
pub fn flat(round: impl Fn(bool)) {
    for i in 0..30 {
        round(i % 10 == 0);
    }
    let before = resident();
    for i in 0..1000 {
        round(i % 100 == 0);
    }
    let grown = resident().zip(before).map_or(0, |(a, b)| a.saturating_sub(b));
    println!("memory grew by {grown} bytes in 1000 rounds");
    assert!(grown < 1 << 20, "memory grew by {grown} bytes");
}

/// The plug-in of examples/plugin, which `cargo test` builds beside this test.
pub fn example_plugin() -> Option<std::path::PathBuf> {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let here = std::env::current_exe().unwrap();
    let file =
        here.parent()?.parent()?.join("examples").join(format!("{DLL_PREFIX}plugin{DLL_SUFFIX}"));
    if !file.is_file() {
        println!("skipped: no {} (cargo test builds it with the examples)", file.display());
        return None;
    }
    Some(file)
}

pub fn stream(device: &'static dyn Device) -> Stream {
    device.open(&Params { threads: Some(2), text: None }).unwrap()
}

/// Numbers between -1 and 1 that look random and are the same every time.
pub fn noise(n: usize, seed: u32) -> Vec<f32> {
    let mut x = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        (x >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

pub fn close(got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * (1.0 + w.abs()), "element {i}: {g} is not {w}");
    }
}

/// A graph with everything in the arena, planned and bound to memory of the device.
pub fn run<const N: usize>(
    device: &'static dyn Device,
    buf: &GraphBuf<N>,
    inputs: &[(NodeId, Vec<f32>)],
    outputs: &[NodeId],
) -> Vec<Vec<f32>> {
    let options = Options { align: device.buffer_type().alignment(), ..Options::DEFAULT };
    let plan = PlanBuf::<N>::new(buf.graph(), &options).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    let bindings = [Binding::new(&arena)];
    let program = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
    let stream = stream(device);
    for (id, data) in inputs {
        program.set_f32(*id, data).unwrap();
    }
    stream.compute(&program).unwrap();
    stream.synchronize().unwrap();
    let get = |id: &NodeId| {
        let mut out = vec![0.0; buf.graph().node(*id).unwrap().desc.elements()];
        program.get_f32(*id, &mut out).unwrap();
        out
    };
    outputs.iter().map(get).collect()
}

pub fn elementwise(device: &'static dyn Device) {
    let mut buf = GraphBuf::<16>::new();
    let mut b = buf.builder();
    let x = b.input(DType::F32, [8, 3, 1, 1]);
    let y = b.input(DType::F32, [8, 1, 1, 1]);
    let sum = b.add(x, y);
    let scaled = b.scale(sum, 0.5, 0.0);
    let act = b.unary(scaled, Unary::Silu);
    let t = b.transpose(act);
    let c = b.cont(t);
    let m = b.mul(x, y);
    b.output(c);
    b.output(m);
    b.finish().unwrap();
    let (xs, ys) = (noise(24, 1), noise(8, 2));
    let out = run(device, &buf, &[(x, xs.clone()), (y, ys.clone())], &[c, m]);
    let act = |i: usize| {
        let v = (xs[i] + ys[i % 8]) * 0.5;
        v / (1.0 + (-v).exp())
    };
    let want: Vec<f32> = (0..24).map(|k| act(k % 3 * 8 + k / 3)).collect();
    close(&out[0], &want, 1e-5);
    let want: Vec<f32> = (0..24).map(|i| xs[i] * ys[i % 8]).collect();
    close(&out[1], &want, 1e-6);
}

pub fn matrices(device: &'static dyn Device) {
    let (k, n, m) = (64, 10, 3);
    let mut buf = GraphBuf::<8>::new();
    let mut b = buf.builder();
    let w = b.input(DType::F32, [k, n, 1, 1]);
    let x = b.input(DType::F32, [k, m, 1, 1]);
    let norm = b.rms_norm(x, 1e-5);
    let y = b.mul_mat(w, norm);
    b.output(y);
    b.finish().unwrap();
    let (ws, xs) = (noise(k * n, 3), noise(k * m, 4));
    let out = run(device, &buf, &[(w, ws.clone()), (x, xs.clone())], &[y]);
    let mut want = vec![0.0; n * m];
    for j in 0..m {
        let row = &xs[j * k..][..k];
        let r = 1.0 / (row.iter().map(|v| v * v).sum::<f32>() / k as f32 + 1e-5).sqrt();
        for i in 0..n {
            want[j * n + i] = ws[i * k..][..k].iter().zip(row).map(|(a, b)| a * b * r).sum();
        }
    }
    close(&out[0], &want, 1e-4);
}

/// A key-value cache in a slot of its own, written through a view, read permuted; soft-max, rope and a gated unit.
pub fn attention(device: &'static dyn Device) {
    let (d, tokens) = (8, 4);
    let mut buf = GraphBuf::<32>::new();
    let mut b = buf.builder();
    let x = b.input(DType::F32, [d, 1, tokens, 1]);
    let at = b.input(DType::I32, [tokens, 1, 1, 1]);
    let cache = b.leaf(DType::F16, [d, 16, 1, 1], 1, 0);
    let rope = Rope::plain(d as u16, RopeMode::Normal, 10_000.0);
    let q = b.rope(x, at, NodeId::NONE, rope);
    let flat = b.reshape(q, [d, tokens, 1, 1]);
    let window =
        b.view(cache, [d, tokens, 1, 1], [2 * d, 2 * d * tokens, 2 * d * tokens], 2 * d * 2);
    let stored = b.cpy(flat, window);
    let keys = b.view(stored, [d, tokens, 1, 1], [2 * d, 2 * d * tokens, 2 * d * tokens], 0);
    let scores = b.mul_mat(keys, flat);
    let masked = b.diag_mask_inf(scores, 0);
    let soft = b.soft_max(masked, NodeId::NONE, 1.0, 0.0);
    let gate = b.glu(soft, soft, GluKind::Swiglu);
    for id in [q, soft, gate] {
        b.output(id);
    }
    b.finish().unwrap();
    let graph = buf.graph();
    let options = Options { align: device.buffer_type().alignment(), ..Options::DEFAULT };
    let plan = PlanBuf::<32>::new(graph, &options).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    let kv = Buffer::new(device.buffer_type(), 2 * d * 16).unwrap();
    kv.clear(0).unwrap();
    let bindings = [Binding::new(&arena), Binding::new(&kv)];
    let program = Program::new(graph, plan.plan(), &bindings).unwrap();
    let stream = stream(device);
    let xs = noise(d * tokens, 5);
    let mut rotated = xs.clone();
    for (p, row) in rotated.chunks_mut(d).enumerate() {
        for i in 0..d / 2 {
            let (sin, cos) = (p as f32 * 10_000f32.powf(-2.0 * i as f32 / d as f32)).sin_cos();
            let (a, b) = (row[2 * i], row[2 * i + 1]);
            (row[2 * i], row[2 * i + 1]) = (a * cos - b * sin, a * sin + b * cos);
        }
    }
    for round in 0..3 {
        program.set_f32(x, &xs).unwrap();
        program.set_i32(at, &[0, 1, 2, 3]).unwrap();
        let has_glu = match stream.compute(&program) {
            Ok(()) => true,
            // Releases before July 2025 have no gated units.
            Err(dinrail_core::Error::Unsupported { node, .. }) if node == gate => return,
            Err(e) => panic!("{e}"),
        };
        stream.synchronize().unwrap();
        let mut out = vec![0.0; d * tokens];
        program.get_f32(q, &mut out).unwrap();
        close(&out, &rotated, 1e-5);
        let mut out = vec![0.0; tokens * tokens];
        program.get_f32(soft, &mut out).unwrap();
        for (i, row) in out.chunks(tokens).enumerate() {
            let score = |j: usize| -> f32 {
                let (a, b) = (&rotated[i * d..][..d], &rotated[j * d..][..d]);
                a.iter().zip(b).map(|(x, y)| x * y).sum()
            };
            let e: Vec<f32> = (0..=i).map(|j| score(j).exp()).collect();
            let total: f32 = e.iter().sum();
            let want: Vec<f32> = (0..tokens).map(|j| e.get(j).map_or(0.0, |e| e / total)).collect();
            close(row, &want, 2e-3);
        }
        let mut gated = vec![0.0; tokens * tokens];
        program.get_f32(gate, &mut gated).unwrap();
        let want: Vec<f32> = out.iter().map(|&s| s / (1.0 + (-s).exp()) * s).collect();
        close(&gated, &want, 2e-3);
        assert!(has_glu);
        // What was stored lies where the view was, and nowhere else.
        let mut bytes = vec![0u8; 2 * d * 16];
        kv.read(0, &mut bytes).unwrap();
        assert!(bytes[..2 * d * 2].iter().all(|&b| b == 0), "round {round}");
        assert!(bytes[2 * d * 2..][..2 * d].iter().any(|&b| b != 0));
        assert!(bytes[2 * d * (2 + tokens)..].iter().all(|&b| b == 0));
    }
}

/// Weights in memory that the caller lends, and an arena in the caller's own, used in place.
pub fn lent_memory(device: &'static dyn Device) {
    use dinrail_core::tensor::Desc;
    #[repr(align(64))]
    struct Aligned([u8; 4096]);
    let mut memory = Aligned([0; 4096]);
    let (k, n) = (32, 4);
    let ws = noise(k * n, 6);
    for (to, w) in memory.0.chunks_exact_mut(4).zip(&ws) {
        to.copy_from_slice(&w.to_le_bytes());
    }
    let mut buf = GraphBuf::<8>::new();
    let mut b = buf.builder();
    let w = b.weight(DType::F32, [k, n, 1, 1], 1, 0);
    let x = b.input(DType::F32, [k, 1, 1, 1]);
    let y = b.mul_mat(w, x);
    b.output(y);
    b.finish().unwrap();
    let plan = PlanBuf::<8>::new(buf.graph(), &Options::DEFAULT).unwrap();
    let ty = device.buffer_type();
    let lent = device.buffer_from_host(&memory.0, 4096).unwrap();
    assert!(
        !lent.is_writable() && lent.host().unwrap().as_ptr().addr() == memory.0.as_ptr().addr()
    );
    let plain = Buffer::from_bytes(ty, &memory.0);
    let mut arena = Aligned([0; 4096]);
    let arena = Buffer::from_bytes_mut(ty, &mut arena.0[4..]);
    let stream = stream(device);
    let xs = noise(k, 7);
    for weights in [&lent, &plain] {
        let bindings = [Binding::new(&arena), Binding::new(weights)];
        let program = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
        program.set_f32(x, &xs).unwrap();
        stream.compute(&program).unwrap();
        let mut out = vec![0.0; n];
        program.get_f32(y, &mut out).unwrap();
        let want: Vec<f32> =
            ws.chunks(k).map(|row| row.iter().zip(&xs).map(|(a, b)| a * b).sum()).collect();
        close(&out, &want, 1e-5);
    }
    let d = Desc::d1(DType::F32, 4).unwrap();
    assert!(matches!(
        lent.set(dinrail_core::hal::Span { desc: &d, offset: 0 }, 0, &[0; 4]),
        Err(dinrail_core::Error::ReadOnly)
    ));
    // An address that the device can't use in place.
    assert!(matches!(
        device.buffer_from_host(&memory.0[1..], 8),
        Err(dinrail_core::Error::Misaligned { .. })
    ));
}

/// Runs the conformance suite and prints what went wrong.
pub fn conformance(
    device: &'static dyn Device,
    known: &[dinrail_conformance::Expect],
) -> dinrail_conformance::Report {
    use dinrail_conformance::{Suite, cases};
    let mut work = vec![0; Suite::WORK];
    let params = Params { threads: Some(1), text: None };
    let mut suite = Suite::new(device, &params, &mut work).unwrap();
    // Which case was the last, where a library stops the process.
    let trace = std::env::var_os("DINRAIL_TRACE_CASES").is_some();
    let cases = cases().inspect(|c| {
        if trace {
            println!("{c}");
        }
    });
    let report = suite.run_all(cases, known, |f| println!("{f}"));
    println!("{report:?}");
    report
}

/// Where ggml's CPU backend, of any release, computes something else than the reference does:
///
/// * GELU and its quick form are read from a table of 16-bit floats (three digits), also inside gated units;
/// * infinities give NaN in some functions of one element;
/// * a row that is masked everywhere gives NaN in soft-max, where the reference gives zeros;
/// * of equal largest elements `argmax` gives the last;
/// * products with `q4_1` and `q5_1` overflow the 16-bit sum of a block of large activations;
/// * attention adds up values in 16-bit floats.
pub const GGML_CPU: &[dinrail_conformance::Expect] = {
    use dinrail_conformance::Expect;
    use dinrail_core::op::Kind;
    &[
        Expect::fails(Kind::Unary, "unary"),
        Expect::fails(Kind::Unary, "unary special"),
        Expect::fails(Kind::SoftMax, "soft_max masked"),
        Expect::fails(Kind::SoftMax, "soft_max all masked"),
        Expect::fails(Kind::Argmax, "argmax"),
        Expect::fails(Kind::MulMat, "mul_mat large activations"),
        Expect::fails(Kind::FlashAttn, "flash_attn"),
    ]
};
