//! Element-wise operations against plain loops, on one and several workers.

mod common;

use common::{bytes, coords, encode, index, noise, rounded, values};
use dinrail_core::graph::{Builder, NodeId};
use dinrail_core::op::{Op, Window};
use dinrail_core::tensor::DType;

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn binary(op: Op, a: (DType, [usize; 4]), b: (DType, [usize; 4]), f: fn(f32, f32) -> f32) {
    let (n, m) = (a.1.iter().product(), b.1.iter().product());
    let (x, y) = (noise(n, 1), noise(m, 2));
    let got = values(&[encode(a.0, &x), encode(b.0, &y)], |g| {
        let (a, b) = (g.input(a.0, a.1), g.input(b.0, b.1));
        g.op(op, &[a, b])
    });
    let (x, y) = (rounded(a.0, &x), rounded(b.0, &y));
    let want: Vec<f32> = (0..n)
        .map(|k| {
            let i = coords(k, a.1);
            let j = core::array::from_fn(|d| i[d] % b.1[d]);
            f(x[k], y[index(j, b.1)])
        })
        .collect();
    assert_eq!(got, rounded(a.0, &want), "{op:?} {a:?} {b:?}");
}

#[test]
fn two_operands_of_every_float_with_broadcasting() {
    let shapes = [
        ([7, 3, 2, 2], [7, 3, 2, 2]),
        ([33, 3, 2, 2], [33, 1, 2, 1]),
        ([33, 4, 2, 1], [1, 2, 1, 1]),
        ([12, 5, 1, 1], [3, 5, 1, 1]),
        ([300, 41, 1, 1], [300, 1, 1, 1]),
        ([10001, 1, 1, 1], [10001, 1, 1, 1]),
        ([5000, 2, 1, 1], [1, 1, 1, 1]),
    ];
    for a in FLOATS {
        for b in FLOATS {
            for (na, nb) in shapes {
                binary(Op::Add, (a, na), (b, nb), |x, y| x + y);
            }
            binary(Op::Sub, (a, [33, 3, 2, 2]), (b, [33, 1, 2, 1]), |x, y| x - y);
            binary(Op::Mul, (a, [33, 3, 2, 2]), (b, [11, 3, 1, 2]), |x, y| x * y);
            binary(Op::Div, (a, [33, 3, 2, 2]), (b, [33, 3, 2, 2]), |x, y| x / y);
            binary(Op::Add1, (a, [33, 3, 2, 2]), (b, [1, 1, 1, 1]), |x, y| x + y);
        }
    }
}

#[test]
fn sums_with_blocks() {
    for a in [DType::Q8_0, DType::Q4_0, DType::Q6_K] {
        binary(Op::Add, (a, [512, 3, 2, 1]), (DType::F32, [512, 1, 2, 1]), |x, y| x + y);
        binary(Op::Add, (a, [512, 40, 1, 1]), (DType::F16, [512, 40, 1, 1]), |x, y| x + y);
        binary(Op::Add, (a, [768, 2, 1, 1]), (DType::F32, [12, 1, 1, 1]), |x, y| x + y);
        binary(Op::Add1, (a, [256, 2, 1, 1]), (DType::F32, [1, 1, 1, 1]), |x, y| x + y);
    }
}

#[test]
fn permuted_operands() {
    let (na, nb) = ([5, 40, 60, 1], [40, 5, 60, 1]);
    let (x, y) = (noise(12000, 3), noise(12000, 4));
    let got = values(&[encode(DType::F32, &x), encode(DType::F32, &y)], |g| {
        let (a, b) = (g.input(DType::F32, na), g.input(DType::F32, nb));
        let (a, b) = (g.permute(a, [0, 2, 1, 3]), g.transpose(b));
        let b = g.permute(b, [0, 2, 1, 3]);
        g.op(Op::Mul, &[a, b])
    });
    for (k, got) in got.iter().enumerate() {
        let [i, j, l, _] = coords(k, [5, 60, 40, 1]);
        assert_eq!(*got, x[index([i, l, j, 0], na)] * y[index([l, i, j, 0], nb)]);
    }
    // A column of single elements counts as contiguous, whatever the distance of its elements.
    let got = values(&[encode(DType::F32, &x[..8]), encode(DType::F32, &y[..8])], |g| {
        let (a, b) = (g.input(DType::F32, [8, 1, 1, 1]), g.input(DType::F32, [8, 1, 1, 1]));
        let (a, b) = (g.transpose(a), g.transpose(b));
        g.op(Op::Add, &[a, b])
    });
    assert_eq!(got, (0..8).map(|i| x[i] + y[i]).collect::<Vec<_>>());
}

fn map(dtype: DType, build: fn(&mut Builder<'_>, NodeId) -> NodeId, f: impl Fn(f32) -> f32) {
    for (ne, flip) in [([33, 3, 2, 2], true), ([9001, 1, 1, 1], false), ([6, 40, 50, 1], true)] {
        let x: Vec<f32> = noise(ne.iter().product(), 5).iter().map(|x| x * 4.0 + 4.5).collect();
        let got = values(&[encode(dtype, &x)], |g| {
            let a = g.input(dtype, ne);
            let a = if flip { g.transpose(a) } else { a };
            build(g, a)
        });
        let x = rounded(dtype, &x);
        for (k, got) in got.iter().enumerate() {
            let [i0, i1, i2, i3] = coords(k, if flip { [ne[1], ne[0], ne[2], ne[3]] } else { ne });
            let from = x[index(if flip { [i1, i0, i2, i3] } else { [i0, i1, i2, i3] }, ne)];
            let want = rounded(dtype, &[f(from)])[0];
            assert!(
                (got - want).abs()
                    <= want.abs() * 1e-2 * (dtype.block_bytes() == 2) as u8 as f32
                        + want.abs() * 4e-7
                        + 1e-7,
                "{got} {want}"
            );
        }
    }
}

#[test]
fn one_operand_of_every_float_and_layout() {
    for t in FLOATS {
        map(t, |g, a| g.scale(a, 2.5, 0.0), |x| x * 2.5);
        map(t, |g, a| g.scale(a, -2.5, 0.25), |x| x * -2.5 + 0.25);
        map(t, |g, a| g.sqr(a), |x| x * x);
        map(t, |g, a| g.sqrt(a), f32::sqrt);
        map(t, |g, a| g.log(a), f32::ln);
        map(t, |g, a| g.sin(a), f32::sin);
        map(t, |g, a| g.cos(a), f32::cos);
        map(t, |g, a| g.clamp(a, 2.0, 6.5), |x| x.clamp(2.0, 6.5));
    }
}

#[test]
fn windows() {
    let (x, y) = (noise(100 * 100, 6), noise(10 * 9 * 5, 7));
    let w = Window { nb: [400, 4000, 40000], offset: 44 };
    for add in [false, true] {
        let got = values(&[encode(DType::F32, &x), encode(DType::F32, &y)], |g| {
            let (a, b) =
                (g.input(DType::F32, [100, 100, 1, 1]), g.input(DType::F32, [10, 9, 5, 1]));
            if add { g.acc(a, b, w) } else { g.set(a, b, w) }
        });
        let mut want = x.clone();
        for (k, y) in y.iter().enumerate() {
            let [i, j, l, _] = coords(k, [10, 9, 5, 1]);
            let at = 11 + i + j * 100 + l * 1000;
            want[at] = if add { want[at] + y } else { *y };
        }
        assert!(got == want);
    }
    // Rows over each other: all of them are added.
    let over = Window { nb: [0, 0, 0], offset: 0 };
    let got = values(&[encode(DType::F32, &x), encode(DType::F32, &y)], |g| {
        let (a, b) = (g.input(DType::F32, [100, 100, 1, 1]), g.input(DType::F32, [10, 9, 5, 1]));
        g.acc(a, b, over)
    });
    let want = (0..45).fold(x[3], |s, r| s + y[r * 10 + 3]);
    assert_eq!((got[3], got[10]), (want, x[10]));
    let words = |v: &[f32]| encode(DType::I32, v);
    let got = values(&[words(&[1.0, 2.0, 3.0, 4.0]), words(&[9.0, 8.0])], |g| {
        let (a, b) = (g.input(DType::I32, [4, 1, 1, 1]), g.input(DType::I32, [2, 1, 1, 1]));
        g.set(a, b, Window { nb: [16, 16, 16], offset: 4 })
    });
    assert_eq!(got, [1.0, 9.0, 8.0, 4.0]);
}

#[test]
fn nothing_in_nothing_out() {
    let empty = [0, 3, 2, 1];
    let none: [Vec<u8>; 0] = [];
    let builds: [fn(&mut Builder<'_>, NodeId) -> NodeId; 16] = [
        |g, a| g.add(a, a),
        |g, a| g.scale(a, 2.0, 1.0),
        |g, a| g.cont(a),
        |g, a| g.concat(a, a, 0),
        |g, a| g.concat(a, a, 2),
        |g, a| g.repeat(a, [0, 6, 2, 1]),
        |g, a| g.diag_mask_inf(a, 0),
        |g, a| g.argsort(a, false),
        |g, a| g.acc(a, a, Window { nb: [0; 3], offset: 0 }),
        |g, a| g.relu(a),
        |g, a| g.rms_norm(a, 1e-5),
        |g, a| g.sqrt(a),
        |g, a| g.clamp(a, 0.0, 1.0),
        |g, a| g.op(Op::Cpy, &[a, a]),
        |g, a| g.sin(a),
        |g, a| g.dup(a),
    ];
    for (i, build) in builds.into_iter().enumerate() {
        for threads in [1, 2] {
            let (_, out) = bytes(threads, &none, |g| {
                let a = g.input(DType::F32, empty);
                build(g, a)
            })
            .unwrap_or_else(|e| panic!("{i}: {e}"));
            assert!(out.is_empty());
        }
    }
    // Sums of nothing are zeros, and have their bytes.
    let sum = |g: &mut Builder<'_>| {
        let a = g.input(DType::F32, empty);
        g.sum(a)
    };
    assert_eq!(values(&none, sum), [0.0]);
    let rows = |g: &mut Builder<'_>| {
        let a = g.input(DType::F32, empty);
        g.sum_rows(a)
    };
    assert_eq!(values(&none, rows), [0.0; 6]);
}
