use super::*;
use crate::graph::GraphBuf;
use crate::tensor::DType;
use std::vec;
use std::vec::Vec;

/// No two tensors that are alive together overlap, whatever the graph.
fn assert_sound(graph: Graph<'_>, plan: Plan<'_>) {
    let nodes = graph.nodes();
    let n = nodes.len();
    // Data in arena memory as generations: replay writes and check that each read sees its own writer's value.
    let mut memory: Vec<Option<u16>> = vec![None; plan.summary().peak];
    let mut writer = vec![0u16; n];
    let bytes = |i: usize| {
        let l = plan.locs()[i];
        (l.slot == ARENA).then_some((l.offset, nodes[i].desc.bytes()))
    };
    let write = |memory: &mut Vec<Option<u16>>, i: usize, tag: u16| {
        if let Some((at, len)) = bytes(i) {
            assert!(at + len <= memory.len(), "node {i} past the peak");
            memory[at..at + len].fill(Some(tag));
        }
    };
    for i in 0..n {
        writer[i] = match nodes[i].place {
            Place::Within { source, .. } if nodes[i].op.is_view() => {
                writer[nodes[i].src[source as usize].index()]
            }
            _ => i as u16,
        };
        if nodes[i].op == Op::None {
            write(&mut memory, i, i as u16);
        }
    }
    for i in 0..n {
        if nodes[i].op.is_view() {
            continue;
        }
        for s in nodes[i].src.iter().filter(|s| !s.is_none()) {
            if let Some((at, len)) = bytes(s.index()) {
                for b in at..at + len {
                    assert_eq!(memory[b], Some(writer[s.index()]), "node {i} reads {s:?}");
                }
            }
        }
        write(&mut memory, i, i as u16);
    }
    for i in 0..n {
        if nodes[i].flags.has(Flags::OUTPUT) {
            let (at, len) = bytes(i).unwrap();
            assert!(memory[at..at + len].iter().all(|m| *m == Some(writer[i])), "output {i}");
        }
    }
}

#[test]
fn chain_runs_in_place() {
    let mut g = GraphBuf::<8>::new();
    let mut b = g.builder();
    let x = b.input(DType::F32, [256, 1, 1, 1]);
    let y = b.relu(x);
    let z = b.sqr(y);
    b.output(z);
    b.finish().unwrap();
    let p = PlanBuf::<8>::new(g.graph(), &Options::DEFAULT).unwrap();
    assert_eq!(p.plan().summary().peak, 1024);
    assert_eq!(p.plan().summary().lower_bound, 1024);
    assert_sound(g.graph(), p.plan());
}

#[test]
fn outputs_are_protected_through_views() {
    let mut g = GraphBuf::<8>::new();
    let mut b = g.builder();
    let x = b.input(DType::F32, [64, 1, 1, 1]);
    let y = b.sqr(x);
    let v = b.view_1d(y, 32, 128);
    b.output(v);
    let z = b.relu(y);
    let w = b.add(z, z);
    b.output(w);
    b.finish().unwrap();
    let p = PlanBuf::<8>::new(g.graph(), &Options::DEFAULT).unwrap();
    let (v, w) = (p.plan().loc(v).unwrap(), p.plan().loc(w).unwrap());
    assert!(v.offset + 128 <= w.offset || w.offset + 256 <= v.offset);
    assert_sound(g.graph(), p.plan());
}

#[test]
fn no_reuse_under_another_view() {
    // b is a transposed view of a: computing a + b over a would read what it just wrote.
    let mut g = GraphBuf::<8>::new();
    let mut b = g.builder();
    let x = b.input(DType::F32, [8, 8, 1, 1]);
    let t = b.transpose(x);
    let y = b.add(x, t);
    b.output(y);
    b.finish().unwrap();
    let p = PlanBuf::<8>::new(g.graph(), &Options::DEFAULT).unwrap();
    assert_ne!(p.plan().loc(x), p.plan().loc(y));
}

#[test]
fn random_graphs_are_sound_and_near_the_bound() {
    let mut seed = 7u32;
    let mut rnd = move |n: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % n
    };
    for round in 0..200 {
        let mut nodes = vec![Node::EMPTY; 80];
        let mut b = crate::graph::Builder::new(&mut nodes);
        let lens = [16usize, 32, 64, 128];
        let mut ids: Vec<NodeId> = Vec::new();
        for l in lens {
            ids.push(b.input(DType::F32, [l, 1, 1, 1]));
        }
        while b.len() < 78 {
            let a = ids[ids.len() - 1 - rnd(6.min(ids.len() as u32)) as usize];
            let c = ids[rnd(ids.len() as u32) as usize];
            let (da, dc) = (b.desc(a).unwrap(), b.desc(c).unwrap());
            let id = match rnd(6) {
                0 => b.relu(a),
                1 if da.ne[0] > 16 => b.view_1d(a, da.ne[0] / 2, da.ne[0] / 2 * 4),
                2 => b.concat(a, c, 0),
                3 if dc.repeats_to(&da) => b.add(a, c),
                4 => b.sum(a),
                _ => b.scale(a, 2.0, 0.0),
            };
            if rnd(12) == 0 {
                b.output(id);
            }
            ids.push(id);
        }
        let graph = b.finish().unwrap();
        let mut work = vec![Work::EMPTY; graph.len()];
        let mut locs = vec![Loc::ZERO; graph.len()];
        let s = plan(graph, &Options::DEFAULT, &mut work, &mut locs).unwrap();
        assert!(s.peak >= s.lower_bound);
        assert!(s.peak <= s.lower_bound * 2, "round {round}: {s:?}");
        assert_sound(graph, Plan::from_parts(&locs, s));
    }
}

#[test]
fn capacity_and_alignment_are_checked() {
    let mut g = GraphBuf::<4>::new();
    let mut b = g.builder();
    let x = b.input(DType::F32, [4, 1, 1, 1]);
    b.relu(x);
    b.finish().unwrap();
    assert!(matches!(
        PlanBuf::<1>::new(g.graph(), &Options::DEFAULT),
        Err(Error::Full { need: 2, have: 1, .. })
    ));
    let bad = Options { align: 24, ..Options::DEFAULT };
    assert!(matches!(PlanBuf::<4>::new(g.graph(), &bad), Err(Error::Size(_))));
}

const fn autoencoder() -> GraphBuf<64> {
    let widths = [640usize, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640];
    let mut g = GraphBuf::new();
    let mut b = g.builder();
    let mut x = b.input(DType::F32, [widths[0], 1, 1, 1]);
    let mut at = 0;
    let mut i = 0;
    while i < 10 {
        let w = b.weight(DType::F32, [widths[i], widths[i + 1], 1, 1], 1, at);
        at += widths[i] * widths[i + 1] * 4;
        let bias = b.weight(DType::F32, [widths[i + 1], 1, 1, 1], 1, at);
        at += widths[i + 1] * 4;
        x = b.mul_mat(w, x);
        x = b.add(x, bias);
        if i < 9 {
            x = b.relu(x);
        }
        i += 1;
    }
    b.output(x);
    match b.finish() {
        Ok(_) => g,
        Err(_) => panic!("the autoencoder's graph is wrong"),
    }
}

#[test]
fn a_const_plan_is_an_array_length() {
    const GRAPH: GraphBuf<64> = autoencoder();
    const PLAN: PlanBuf<64> = match PlanBuf::new(GRAPH.graph(), &Options::DEFAULT) {
        Ok(p) => p,
        Err(_) => panic!("the autoencoder can't be planned"),
    };
    static ARENA_BYTES: [u8; PLAN.plan().summary().arena] = [0; PLAN.plan().summary().arena];
    // The widest step holds 640 inputs and 128 results.
    assert_eq!(ARENA_BYTES.len(), (640 + 128) * 4);
    assert_eq!(PLAN.plan().summary().lower_bound, ARENA_BYTES.len());
    assert_sound(GRAPH.graph(), PLAN.plan());
}

#[test]
fn lives_can_be_read_after_planning() {
    let mut g = GraphBuf::<8>::new();
    let mut b = g.builder();
    let x = b.input(DType::F32, [16, 1, 1, 1]);
    let y = b.relu(x); // takes over x
    let v = b.reshape(y, [4, 4, 1, 1]);
    let z = b.sum(v); // 64 bytes, as padded
    let w = b.add(v, z);
    b.output(w);
    b.finish().unwrap();
    let (mut work, mut locs) = ([Work::EMPTY; 8], [Loc::ZERO; 8]);
    let s = plan(g.graph(), &Options::DEFAULT, &mut work, &mut locs).unwrap();
    let life = |id: NodeId| work[id.index()].life(g.graph().node(id).unwrap(), id.index());
    assert_eq!(life(x), (0, 1));
    assert_eq!(life(y), (1, 4), "a view keeps what it shows");
    assert_eq!(life(z), (3, 4));
    assert_eq!(life(w), (4, g.graph().len()), "an output lives to the end");
    assert_eq!(work[v.index()].root(), x, "x, y, the view and w share memory");
    assert_eq!(work[w.index()].root(), x);
    assert_eq!((work[x.index()].bytes(), work[x.index()].held()), (64, (0, 5)));
    assert_eq!(work[y.index()].bytes(), 0);
    let at = |t: usize| -> usize {
        let alive = work.iter().filter(|w| w.held().0 <= t && t <= w.held().1);
        alive.map(Work::bytes).sum()
    };
    assert_eq!((0..5).map(at).max(), Some(s.lower_bound));
}
