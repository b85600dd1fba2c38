//! What one device writes into another one's memory.

use super::*;

/// A GPU that can't write where its own memory asks for it, and a CPU that can but doesn't reach that memory.
fn write_elsewhere(
    gpu_ops: &'static [Kind],
    bound: bool,
    wish: bool,
    then: fn(&mut Builder<'_>, NodeId, NodeId) -> NodeId,
) -> (Result<()>, NodeId) {
    let gpu = Toy::leak("gpu", DeviceKind::Gpu, gpu_ops);
    let cpu = Toy::leak("cpu", DeviceKind::Cpu, &[Kind::Cpy, Kind::Add]);
    let (a, b) = (gpu.open(&Params::default()).unwrap(), cpu.open(&Params::default()).unwrap());
    let streams = [&a, &b];
    let cache = floats(gpu, &[1., 2., 3., 4.]);
    let user = [Binding::NONE, Binding::new(&cache)];
    let mut nodes = vec![Node::EMPTY; 16];
    let mut build = Builder::new(&mut nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let kv = if bound {
        build.leaf(DType::F32, [4, 1, 1, 1], 1, 0)
    } else {
        build.op(crate::op::Op::Sqr, &[x])
    };
    let written = build.cpy(x, kv);
    let end = then(&mut build, kv, written);
    build.output(end);
    let graph = build.finish().unwrap();
    let mut room = Room::<40, 8>::new();
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    if wish {
        s.wish(written, Some(1)).unwrap();
    }
    let result = s.split(graph, &user);
    if result.is_ok() {
        let (x, end) = (s.schedule().unwrap().node(x), s.schedule().unwrap().node(end));
        with(&s, &user, |ready| {
            ready.program().set_f32(x, &[2., 3., 4., 5.]).unwrap();
            ready.run().unwrap();
            ready.synchronize().unwrap();
            let mut out = [0.0; 4];
            ready.program().get_f32(end, &mut out).unwrap();
            assert_eq!(out, [4., 9., 16., 25.]);
            if bound {
                let mut bytes = [0; 4];
                cache.read(0, &mut bytes).unwrap();
                assert_eq!(f32::from_le_bytes(bytes), 2.0);
            }
        })
        .unwrap();
    }
    (result, written)
}

#[test]
fn what_is_written_is_never_lost_in_a_copy() {
    const SQR: crate::op::Op = crate::op::Op::Sqr;
    const READER: &[Kind] = &[Kind::Sqr];
    const WRITER: &[Kind] = &[Kind::Sqr, Kind::Cpy];
    // A device that can write there does.
    for bound in [true, false] {
        let (result, _) = write_elsewhere(WRITER, bound, false, |b, kv, _| b.op(SQR, &[kv]));
        assert_eq!(result, Ok(()));
    }
    // Nobody who reaches the cache can write it: an error, where the cache would stay as it was.
    for (ops, wish) in [(READER, false), (READER, true), (WRITER, true)] {
        for bound in [true, false] {
            let (result, node) = write_elsewhere(ops, bound, wish, |b, kv, _| b.op(SQR, &[kv]));
            assert_eq!(result, Err(Error::Unsupported { node, op: Kind::Cpy }), "{wish} {bound}");
        }
    }
    // Who goes on with the result alone misses nothing.
    let (result, _) = write_elsewhere(READER, false, false, |b, _, w| b.op(SQR, &[w]));
    assert_eq!(result, Ok(()));
}
