//! The kernels that are run.

use crate::{Apart, Case, Level, Memory, apart, checksum, run};
use dinrail_core::op::{Glu, GluKind, Op, Precision, Rope, RopeMode, Unary};
use dinrail_core::tensor::{DType, Desc};

/// Types of weights, with the length of a row of each, and whether rows of the type are also tried with one group more.
const WEIGHTS: [(DType, &str, usize); 20] = [
    (DType::F32, "F32", 83),
    (DType::F16, "F16", 83),
    (DType::F16, "F16 of whole words", 172),
    (DType::BF16, "BF16", 83),
    (DType::Q4_0, "Q4_0", 96),
    (DType::Q4_1, "Q4_1", 96),
    (DType::Q5_0, "Q5_0", 96),
    (DType::Q5_1, "Q5_1", 96),
    (DType::Q8_0, "Q8_0", 96),
    (DType::Q8_0, "Q8_0 in pairs of blocks", 128),
    (DType::Q2_K, "Q2_K", 256),
    (DType::Q3_K, "Q3_K", 256),
    (DType::Q4_K, "Q4_K", 256),
    (DType::Q5_K, "Q5_K", 256),
    (DType::Q6_K, "Q6_K", 256),
    (DType::IQ4_NL, "IQ4_NL", 96),
    (DType::IQ4_XS, "IQ4_XS", 256),
    (DType::MXFP4, "MXFP4", 96),
    (DType::TQ1_0, "TQ1_0", 256),
    (DType::TQ2_0, "TQ2_0", 256),
];

const UNARY: [(Unary, &str); 21] = [
    (Unary::Abs, "abs"),
    (Unary::Sgn, "sgn"),
    (Unary::Neg, "neg"),
    (Unary::Step, "step"),
    (Unary::Tanh, "tanh"),
    (Unary::Elu, "elu"),
    (Unary::Relu, "relu"),
    (Unary::Sigmoid, "sigmoid"),
    (Unary::Gelu, "gelu"),
    (Unary::GeluQuick, "gelu, quick"),
    (Unary::Silu, "silu"),
    (Unary::HardSwish, "hard swish"),
    (Unary::HardSigmoid, "hard sigmoid"),
    (Unary::Exp, "exp"),
    (Unary::Expm1, "expm1"),
    (Unary::Softplus, "softplus"),
    (Unary::GeluErf, "gelu, erf"),
    (Unary::Floor, "floor"),
    (Unary::Ceil, "ceil"),
    (Unary::Round, "round"),
    (Unary::Trunc, "trunc"),
];

const GLU: [(GluKind, &str); 5] = [
    (GluKind::Reglu, "reglu"),
    (GluKind::Geglu, "geglu"),
    (GluKind::Swiglu, "swiglu"),
    (GluKind::GegluErf, "geglu, erf"),
    (GluKind::GegluQuick, "geglu, quick"),
];

/// A tensor; a length of 0 where the lengths are not possible, which they all are.
fn d(dtype: DType, ne: [usize; 4]) -> Desc {
    Desc::new(dtype, ne).unwrap_or(Desc::d1(DType::F32, 0).unwrap_or_else(|_| unreachable!()))
}

fn f32s(ne: [usize; 4]) -> Desc {
    d(DType::F32, ne)
}

/// Runs every case at `level` and calls `each` with its name, a number that tells cases of one name apart, and the checksum
/// of the result (0 if it could not be run).
pub fn all(level: Level, memory: &mut Memory, each: &mut dyn FnMut(&'static str, u32, u32)) {
    every(&mut |number, case| {
        each(case.name, number, run(level, case, memory).map_or(0, checksum));
    });
}

/// Runs every case at `level` and at the portable one, and says how far the results are apart (`None` if the case could not
/// be run).
pub fn compare(
    level: Level,
    memory: &mut Memory,
    each: &mut dyn FnMut(&'static str, u32, Option<Apart>),
) {
    let mut room = [0; 8 * 1024];
    every(&mut |number, case| {
        let want = run(Level::Scalar, case, memory).and_then(|want| {
            let kept = room.get_mut(..want.len())?;
            kept.copy_from_slice(want);
            Some(kept.len())
        });
        let got = run(level, case, memory);
        let both = want.and_then(|n| room.get(..n)).zip(got);
        each(case.name, number, both.map(|(want, got)| apart(want, got)));
    });
}

/// Calls `f` with each case and its number.
fn every(f: &mut dyn FnMut(u32, &Case<'_>)) {
    let mut go = |name, number, op, dst, src: &[Desc], last: Option<&[u8]>| {
        f(number, &Case { name, op, dst, src, last });
    };
    products(&mut go);
    functions(&mut go);
    rows(&mut go);
    attention(&mut go);
}

type Go<'a> = dyn FnMut(&'static str, u32, Op, Desc, &[Desc], Option<&[u8]>) + 'a;

fn products(go: &mut Go<'_>) {
    let op = Op::MulMat { precision: Precision::Default };
    for (dtype, name, k) in WEIGHTS {
        // One column and several, an odd number of rows and an even one.
        for (i, (n, m)) in [(5, 1), (8, 1), (5, 3)].into_iter().enumerate() {
            let (a, b) = (d(dtype, [k, n, 1, 1]), f32s([k, m, 1, 1]));
            go(name, i as u32, op, f32s([n, m, 1, 1]), &[a, b], None);
        }
    }
    // Levels that weights in a firmware have: 7 is what is left of a vector, then 1 to 6.
    for k in [7, 1, 10, 11, 12, 13, 14] {
        let (a, b) = (f32s([k, 4, 1, 1]), f32s([k, 1, 1, 1]));
        go("F32, short rows", k as u32, op, f32s([4, 1, 1, 1]), &[a, b], None);
        let a = d(DType::F16, [k, 4, 1, 1]);
        go("F16, short rows", k as u32, op, f32s([4, 1, 1, 1]), &[a, b], None);
    }
}

fn functions(go: &mut Go<'_>) {
    let (x, y) = (f32s([37, 3, 1, 1]), f32s([37, 1, 1, 1]));
    for (f, name) in UNARY {
        go(name, 0, Op::Unary(f), x, &[x], None);
    }
    for (kind, name) in GLU {
        go(name, 0, Op::Glu(Glu { kind, swapped: false }), x, &[x, x], None);
    }
    // Beyond what a power of e can be.
    let mut wide = [0; 4 * 64];
    for (i, bytes) in wide.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *bytes = ((i as f32 - 32.0) * 4.3).to_le_bytes();
    }
    let z = f32s([64, 1, 1, 1]);
    for (f, name) in [(Unary::Silu, "silu"), (Unary::Exp, "exp"), (Unary::Tanh, "tanh")] {
        go(name, 1, Op::Unary(f), z, &[z], Some(&wide));
    }
    for (op, name) in [(Op::Add, "add"), (Op::Sub, "sub"), (Op::Mul, "mul"), (Op::Div, "div")] {
        go(name, 0, op, x, &[x, x], None);
        go(name, 1, op, x, &[x, y], None);
    }
    for (op, name) in [
        (Op::Scale { scale: 1.7, bias: 0.3 }, "scale"),
        (Op::Sqr, "sqr"),
        (Op::Sin, "sin"),
        (Op::Cos, "cos"),
        (Op::Log, "log"),
        (Op::Clamp { min: -0.5, max: 0.4 }, "clamp"),
    ] {
        go(name, 0, op, x, &[x], None);
    }
}

fn rows(go: &mut Go<'_>) {
    for (i, n) in [5, 64, 172, 600].into_iter().enumerate() {
        let x = f32s([n, 3, 1, 1]);
        let one = f32s([1, 3, 1, 1]);
        for (op, name, dst) in [
            (Op::Norm { eps: 1e-5 }, "norm", x),
            (Op::RmsNorm { eps: 1e-5 }, "rms norm", x),
            (Op::L2Norm { eps: 1e-5 }, "l2 norm", x),
            (Op::SoftMax { scale: 0.7, max_bias: 0.0 }, "soft-max", x),
            (Op::SumRows, "sum of rows", one),
            (Op::Mean, "mean", one),
        ] {
            go(name, i as u32, op, dst, &[x], None);
        }
    }
    for mode in [RopeMode::Normal, RopeMode::NeoX] {
        for (i, (n, dims, at)) in
            [(8, 8, 1i32), (64, 64, 117), (96, 64, 8191)].into_iter().enumerate()
        {
            let x = f32s([n, 4, 1, 1]);
            let position = d(DType::I32, [1, 1, 1, 1]);
            let op = Op::Rope(Rope::plain(dims, mode, 10_000.0));
            let number = i as u32 + if mode == RopeMode::Normal { 0 } else { 3 };
            go("rope", number, op, x, &[x, position], Some(&at.to_le_bytes()));
        }
    }
    let index = d(DType::I32, [3, 1, 1, 1]);
    for (dtype, name) in [
        (DType::F32, "rows of F32"),
        (DType::F16, "rows of F16"),
        (DType::Q8_0, "rows of Q8_0"),
        (DType::Q4_0, "rows of Q4_0"),
    ] {
        go(name, 0, Op::GetRows, f32s([64, 3, 1, 1]), &[d(dtype, [64, 5, 1, 1]), index], None);
    }
}

fn attention(go: &mut Go<'_>) {
    let op =
        Op::FlashAttn { scale: 0.35, max_bias: 0.0, softcap: 0.0, precision: Precision::Default };
    // Elements of a head, query heads, heads of keys, keys, tokens.
    let shapes =
        [[8, 4, 2, 37, 1], [8, 3, 1, 21, 1], [8, 2, 2, 9, 1], [32, 4, 2, 19, 1], [32, 4, 4, 19, 3]];
    for (i, [n, heads, cached, keys, tokens]) in shapes.into_iter().enumerate() {
        for (dtype, name) in [(DType::F32, "attention, F32"), (DType::F16, "attention, F16")] {
            let q = f32s([n, tokens, heads, 1]);
            let kv = d(dtype, [n, keys, cached, 1]);
            let dst = f32s([n, heads, tokens, 1]);
            go(name, 2 * i as u32, op, dst, &[q, kv, kv], None);
            // The last two keys hidden, and the third one, too.
            let mut mask = [0u8; 2 * 37 * 3];
            for t in 0..tokens {
                for hidden in [2, keys - 2, keys - 1] {
                    mask[2 * (t * keys + hidden) + 1] = 0xfc;
                }
            }
            let hidden = d(DType::F16, [keys, tokens, 1, 1]);
            let mask = mask.get(..2 * keys * tokens);
            go(name, 2 * i as u32 + 1, op, dst, &[q, kv, kv, hidden], mask);
        }
    }
}
