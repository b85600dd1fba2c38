//! The oracle against values computed by hand. Each expectation can be followed with a pocket calculator from the
//! definition of the operation; none was read off a program's output.

use dinrail_core::Error;
use dinrail_core::graph::{Builder, GraphBuf, NodeId};
use dinrail_core::hal::{Backend as _, Buffer, Params};
use dinrail_core::op::{Glu, GluKind, Op, Precision, Rope, RopeMode, Unary, Window};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType::{self, *};
use dinrail_core::tensor::block::{decode_row, encode_row};

static REFERENCE: dinrail_reference::Backend = dinrail_reference::Backend::new(None);

/// A source: type, lengths, values.
type Src<'a> = (DType, [usize; 4], &'a [f32]);

#[repr(align(64))]
struct Arena([u8; 8192]);

/// Computes one operation on `src`; the result as numbers.
fn compute(
    src: &[Src<'_>],
    op: impl FnOnce(&mut Builder<'_>, &[NodeId]) -> NodeId,
) -> Result<Vec<f32>, Error> {
    let mut graph = GraphBuf::<16>::new();
    let mut b = graph.builder();
    let ids: Vec<_> = src.iter().map(|(t, ne, _)| b.input(*t, *ne)).collect();
    let y = op(&mut b, &ids);
    b.output(y);
    b.finish()?;
    let plan = PlanBuf::<16>::new(graph.graph(), &Options { in_place: false, ..Options::DEFAULT })?;
    let device = REFERENCE.device(0).unwrap();
    let mut memory = Box::new(Arena([0; 8192]));
    let arena = Buffer::from_bytes_mut(device.buffer_type(), &mut memory.0);
    let bindings = [Binding::new(&arena)];
    let program = Program::new(graph.graph(), plan.plan(), &bindings)?;
    for (id, (t, ne, values)) in ids.iter().zip(src) {
        let n: usize = ne.iter().product();
        assert_eq!(n, values.len());
        let mut bytes = vec![0; n / t.block_len() * t.block_bytes()];
        encode_row(*t, values, &mut bytes).unwrap();
        program.set(*id, &bytes)?;
    }
    device.open(&Params::default())?.compute(&program)?;
    let d = graph.graph().node(y).unwrap().desc;
    assert!(d.is_contiguous());
    let mut bytes = vec![0; d.bytes()];
    program.get(y, &mut bytes)?;
    let mut out = vec![0.0; d.elements()];
    decode_row(d.dtype, &bytes, &mut out).unwrap();
    Ok(out)
}

fn op(op: Op, src: &[Src<'_>]) -> Vec<f32> {
    compute(src, |b, ids| b.op(op, ids)).unwrap()
}

#[track_caller]
fn close(got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len());
    for (g, e) in got.iter().zip(expected) {
        assert!(
            (g - e).abs() <= 2e-6 * e.abs().max(1.0) || g == e,
            "{got:?}, expected {expected:?}"
        );
    }
}

const fn row(n: usize) -> [usize; 4] {
    [n, 1, 1, 1]
}

const INF: f32 = f32::INFINITY;

#[test]
fn arithmetic_repeats_the_second_source() {
    let a = (F32, [2, 2, 1, 1], &[1.0, 2.0, 3.0, 4.0][..]);
    let b = (F32, row(2), &[10.0, 20.0][..]);
    assert_eq!(op(Op::Add, &[a, b]), [11.0, 22.0, 13.0, 24.0]);
    assert_eq!(op(Op::Sub, &[a, b]), [-9.0, -18.0, -7.0, -16.0]);
    assert_eq!(op(Op::Mul, &[a, b]), [10.0, 40.0, 30.0, 80.0]);
    assert_eq!(op(Op::Div, &[a, b]), [0.1, 0.1, 0.3, 0.2]);
    let column = (F32, [1, 2, 1, 1], &[10.0, 20.0][..]);
    assert_eq!(op(Op::Add, &[a, column]), [11.0, 12.0, 23.0, 24.0]);
    assert_eq!(op(Op::Add1, &[a, (F32, row(1), &[0.5])]), [1.5, 2.5, 3.5, 4.5]);
    // 1 + 2^-11 lies between two neighbours of f16 and goes to the even one.
    assert_eq!(op(Op::Add, &[(F16, row(1), &[1.0]), (F32, row(1), &[0.000_488_281_25])]), [1.0]);
}

#[test]
fn maps() {
    let x = (F32, row(4), &[0.25, 1.0, 4.0, 9.0][..]);
    assert_eq!(op(Op::Sqrt, &[x]), [0.5, 1.0, 2.0, 3.0]);
    assert_eq!(op(Op::Sqr, &[x]), [0.0625, 1.0, 16.0, 81.0]);
    close(&op(Op::Log, &[x]), &[-1.386_294_4, 0.0, 1.386_294_4, 2.197_224_6]);
    assert_eq!(op(Op::Scale { scale: 2.0, bias: -1.0 }, &[x]), [-0.5, 1.0, 7.0, 17.0]);
    assert_eq!(op(Op::Clamp { min: 0.5, max: 4.0 }, &[x]), [0.5, 1.0, 4.0, 4.0]);
    let angles =
        (F32, row(3), &[0.0, core::f32::consts::FRAC_PI_6, core::f32::consts::FRAC_PI_2][..]);
    close(&op(Op::Sin, &[angles]), &[0.0, 0.5, 1.0]);
    close(&op(Op::Cos, &[angles]), &[1.0, 0.866_025_4, 0.0]);
    assert_eq!(op(Op::Arange { start: 1.0, stop: 2.0, step: 0.4 }, &[]), [1.0, 1.4, 1.8]);
}

#[test]
fn unary_functions() {
    let check = |u: Unary, expected: [f32; 3]| {
        close(&op(Op::Unary(u), &[(F32, row(3), &[-2.0, 0.0, 1.0])]), &expected);
    };
    check(Unary::Abs, [2.0, 0.0, 1.0]);
    check(Unary::Sgn, [-1.0, 0.0, 1.0]);
    check(Unary::Neg, [2.0, 0.0, -1.0]);
    check(Unary::Step, [0.0, 0.0, 1.0]);
    check(Unary::Tanh, [-0.964_027_6, 0.0, 0.761_594_2]);
    check(Unary::Elu, [-0.864_664_7, 0.0, 1.0]);
    check(Unary::Relu, [0.0, 0.0, 1.0]);
    check(Unary::Sigmoid, [0.119_202_92, 0.5, 0.731_058_6]);
    // sqrt(2/pi) (x + 0.044715 x^3) is -1.881 146 for -2 and 0.833 562 4 for 1.
    check(Unary::Gelu, [-0.045_402_3, 0.0, 0.841_192]);
    // x / (1 + exp(-1.702 x)): -2 / 31.091 94…, 1 / 1.182 318 6…
    check(Unary::GeluQuick, [-2.0 / (1.0 + 3.404f32.exp()), 0.0, 1.0 / (1.0 + (-1.702f32).exp())]);
    check(Unary::GeluErf, [-0.045_500_26, 0.0, 0.841_344_8]);
    check(Unary::Silu, [-0.238_405_84, 0.0, 0.731_058_6]);
    check(Unary::HardSwish, [-2.0 / 6.0, 0.0, 4.0 / 6.0]);
    check(Unary::HardSigmoid, [1.0 / 6.0, 0.5, 4.0 / 6.0]);
    check(Unary::Exp, [0.135_335_28, 1.0, core::f32::consts::E]);
    check(Unary::Expm1, [-0.864_664_7, 0.0, 1.718_281_8]);
    check(Unary::Softplus, [0.126_928, core::f32::consts::LN_2, 1.313_261_7]);
    // 3 + 0.5 above zero; (expm1(-2) + 2) * 2 - 2 * 0.5 and (expm1(-0.5) - 0) * 2 below, with eps -0.5.
    let xielu = Unary::Xielu { alpha_n: 2.0, alpha_p: 3.0, beta: 0.5, eps: -0.5 };
    check(xielu, [1.270_670_6, -0.786_938_7, 3.5]);
    let halves = |u| op(Op::Unary(u), &[(F32, row(4), &[-1.5, -0.5, 0.5, 2.5])]);
    assert_eq!(halves(Unary::Floor), [-2.0, -1.0, 0.0, 2.0]);
    assert_eq!(halves(Unary::Ceil), [-1.0, 0.0, 1.0, 3.0]);
    assert_eq!(halves(Unary::Round), [-2.0, -1.0, 1.0, 3.0]);
    assert_eq!(halves(Unary::Trunc), [-1.0, 0.0, 0.0, 2.0]);
}

#[test]
fn gated_units() {
    let glu = |kind, swapped, src: &[Src<'_>]| op(Op::Glu(Glu { kind, swapped }), src);
    let halves = [(F32, row(4), &[-1.0, 2.0, 3.0, 5.0][..])];
    assert_eq!(glu(GluKind::Reglu, false, &halves), [0.0, 10.0]);
    assert_eq!(glu(GluKind::Reglu, true, &halves), [-3.0, 10.0]);
    let two = [(F32, row(2), &[1.0, 2.0][..]), (F32, row(2), &[3.0, 0.5][..])];
    close(&glu(GluKind::Swiglu, false, &two), &[3.0 * 0.731_058_6, 0.880_797_1]);
    close(&glu(GluKind::Geglu, false, &two), &[3.0 * 0.841_192, 0.977_298_85]);
    close(&glu(GluKind::GegluErf, false, &two), &[3.0 * 0.841_344_8, 0.977_249_9]);
    let quick = [1.0 / (1.0 + (-1.702f32).exp()) * 3.0, 1.0 / (1.0 + (-3.404f32).exp())];
    close(&glu(GluKind::GegluQuick, false, &two), &quick);
    // x is limited from above only, the gate on both sides: (1, 1) and then (1, 0.5).
    let oai = GluKind::SwigluOai { alpha: 1.0, limit: 1.0 };
    close(&glu(oai, false, &two), &[0.731_058_6 * 2.0, 0.731_058_6 * 1.5]);
    let low = [(F32, row(2), &[-5.0, -3.0][..])];
    close(&glu(oai, false, &low), &[0.0]);
}

#[test]
fn reductions() {
    let a = (F32, [3, 2, 1, 1], &[1.0, 5.0, 3.0, -1.0, -2.0, -1.0][..]);
    assert_eq!(op(Op::Sum, &[a]), [5.0]);
    assert_eq!(op(Op::SumRows, &[a]), [9.0, -4.0]);
    close(&op(Op::Mean, &[a]), &[3.0, -4.0 / 3.0]);
    assert_eq!(op(Op::Argmax, &[a]), [1.0, 0.0]);
    assert_eq!(op(Op::Argsort { descending: false }, &[a]), [0.0, 2.0, 1.0, 1.0, 0.0, 2.0]);
    assert_eq!(op(Op::Argsort { descending: true }, &[a]), [1.0, 2.0, 0.0, 0.0, 2.0, 1.0]);
}

#[test]
fn norms() {
    let x = (F32, row(4), &[1.0, 3.0, 5.0, 7.0][..]);
    // Mean 4, variance 5, with eps 4 a divisor of 3; mean of squares 21, with eps 4 a divisor of 5.
    close(&op(Op::Norm { eps: 4.0 }, &[x]), &[-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0]);
    close(&op(Op::RmsNorm { eps: 4.0 }, &[x]), &[0.2, 0.6, 1.0, 1.4]);
    let y = (F32, row(2), &[3.0, 4.0][..]);
    close(&op(Op::L2Norm { eps: 1e-12 }, &[y]), &[0.6, 0.8]);
    // The divisor is the larger of length and eps, not their sum.
    close(&op(Op::L2Norm { eps: 10.0 }, &[y]), &[0.3, 0.4]);
    // Three channels in two groups: two and one. The first has mean 1 and variance 1, the second 7 and 0.
    let channels = (F32, [1, 1, 3, 1], &[0.0, 2.0, 7.0][..]);
    close(&op(Op::GroupNorm { groups: 2, eps: 3.0 }, &[channels]), &[-0.5, 0.5, 0.0]);
}

#[test]
fn products() {
    let p = Op::MulMat { precision: Precision::Default };
    let a = (F32, [2, 3, 1, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]);
    let b = (F32, [2, 2, 1, 1], &[1.0, 10.0, -1.0, 0.5][..]);
    assert_eq!(op(p, &[a, b]), [21.0, 43.0, 65.0, 0.0, -1.0, -2.0]);
    // Two matrices shared by four: neighbours share.
    let a = (F32, [1, 1, 2, 1], &[2.0, 3.0][..]);
    let b = (F32, [1, 1, 4, 1], &[1.0, 10.0, 100.0, 1000.0][..]);
    assert_eq!(op(p, &[a, b]), [2.0, 20.0, 300.0, 3000.0]);
    // -8 to 7 with scale 1 are exact in Q4_0.
    let q: Vec<f32> = (0..32).map(|i| (i % 16) as f32 - 8.0).collect();
    let ones = [1.0; 32];
    assert_eq!(op(p, &[(Q4_0, row(32), &q), (F32, row(32), &ones)]), [-16.0]);
}

#[test]
fn rows_by_number() {
    let a = (F16, [2, 3, 1, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]);
    assert_eq!(op(Op::GetRows, &[a, (I32, row(2), &[2.0, 0.0])]), [5.0, 6.0, 1.0, 2.0]);
    let c = (F16, [2, 3, 1, 1], &[9.0; 6][..]);
    let from = (F32, [2, 2, 1, 1], &[1.0, 2.0, 3.0, 4.0][..]);
    let at = (I64, row(2), &[2.0, 0.0][..]);
    assert_eq!(op(Op::SetRows, &[from, at, c]), [3.0, 4.0, 9.0, 9.0, 1.0, 2.0]);
    for bad in [3.0, -1.0] {
        let result = compute(&[a, (I32, row(1), &[bad])], |b, s| b.get_rows(s[0], s[1]));
        assert!(matches!(result, Err(Error::Invalid { value, .. }) if value as f32 == bad));
        let index = (I64, row(2), &[0.0, bad][..]);
        let result = compute(&[from, index, c], |b, s| b.set_rows(s[0], s[1], s[2]));
        assert!(matches!(result, Err(Error::Invalid { value, .. }) if value as f32 == bad));
    }
}

#[test]
fn layouts() {
    let a = (F32, [3, 2, 1, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]);
    let transposed = |b: &mut Builder<'_>, s: &[NodeId]| {
        let t = b.transpose(s[0]);
        b.cont(t)
    };
    assert_eq!(compute(&[a], transposed).unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let b = (F32, [1, 2, 1, 1], &[7.0, 8.0][..]);
    assert_eq!(op(Op::Concat { dim: 0 }, &[a, b]), [1.0, 2.0, 3.0, 7.0, 4.0, 5.0, 6.0, 8.0]);
    let repeated = compute(&[b], |b, s| b.repeat(s[0], [2, 4, 1, 1])).unwrap();
    assert_eq!(repeated, [7.0, 7.0, 8.0, 8.0, 7.0, 7.0, 8.0, 8.0]);
    // From element 1 on, one row further down for each row of b.
    let w = Window { nb: [12, 24, 24], offset: 4 };
    assert_eq!(op(Op::Acc(w), &[a, b]), [1.0, 9.0, 3.0, 4.0, 13.0, 6.0]);
    assert_eq!(op(Op::Set(w), &[a, b]), [1.0, 7.0, 3.0, 4.0, 8.0, 6.0]);
    let to = (I32, [2, 3, 1, 1], &[0.0; 6][..]);
    let from = (F32, [3, 2, 1, 1], &[1.9, -1.9, 3.0, 4.0, 5.0, 1e20][..]);
    assert_eq!(op(Op::Cpy, &[from, to]), [1.0, -1.0, 3.0, 4.0, 5.0, i32::MAX as f32]);
}

#[test]
fn masks_and_soft_max() {
    let zeros = (F32, [3, 2, 1, 1], &[0.0; 6][..]);
    assert_eq!(op(Op::DiagMaskInf { past: 1 }, &[zeros]), [0.0, 0.0, -INF, 0.0, 0.0, 0.0]);
    let soft = |scale, max_bias, src: &[Src<'_>]| op(Op::SoftMax { scale, max_bias }, src);
    let ln = [0.0, core::f32::consts::LN_2, 3f32.ln()];
    close(&soft(1.0, 0.0, &[(F32, row(3), &ln)]), &[1.0 / 6.0, 2.0 / 6.0, 3.0 / 6.0]);
    close(&soft(2.0, 0.0, &[(F32, row(3), &ln)]), &[1.0 / 14.0, 4.0 / 14.0, 9.0 / 14.0]);
    // Far beyond what exp can take.
    close(&soft(1.0, 0.0, &[(F32, row(2), &[3e38, 3e38])]), &[0.5, 0.5]);
    let mask = (F16, row(3), &[0.0, -INF, 0.0][..]);
    close(&soft(1.0, 0.0, &[(F32, row(3), &ln), mask]), &[0.25, 0.0, 0.75]);
    let all = (F32, row(3), &[-INF; 3][..]);
    assert_eq!(soft(1.0, 0.0, &[(F32, row(3), &ln), all]), [0.0; 3]);
    assert_eq!(soft(1.0, 0.0, &[all]), [0.0; 3]);
    // Two heads, max_bias 2: slopes 2^-1 and 2^-2. Biases of -2 ln 2 and -4 ln 2 halve in both.
    let scores = (F32, [2, 1, 2, 1], &[0.0; 4][..]);
    let bias = [0.0, -2.0 * ln[1], 0.0, -4.0 * ln[1]];
    let third = [2.0 / 3.0, 1.0 / 3.0];
    close(&soft(1.0, 2.0, &[scores, (F32, [2, 1, 2, 1], &bias)]), &[third, third].concat());
    // Three heads: the largest power of two is 2; the third head has 2^(-bias / 2 / 2) = 2^-0.5.
    let scores = (F32, [2, 1, 3, 1], &[0.0; 6][..]);
    let bias = [0.0, -2.0 * ln[1], 0.0, -4.0 * ln[1], 0.0, -core::f32::consts::SQRT_2 * ln[1]];
    let mask = (F32, [2, 1, 3, 1], &bias[..]);
    close(&soft(1.0, 2.0, &[scores, mask]), &[third, third, third].concat());
}

#[test]
fn sinks_take_a_share() {
    // One sink of weight 2 beside two of weight 1.
    let soft = |b: &mut Builder<'_>, s: &[NodeId]| {
        b.op(Op::SoftMax { scale: 1.0, max_bias: 0.0 }, &[s[0], NodeId::NONE, s[1]])
    };
    let src = [(F32, row(2), &[0.0; 2][..]), (F32, row(1), &[core::f32::consts::LN_2][..])];
    close(&compute(&src, soft).unwrap(), &[0.25, 0.25]);
}

#[test]
fn rotation() {
    let x = (F32, [4, 1, 2, 1], &[1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 2.0][..]);
    let at = (I32, row(2), &[0.0, 1.0][..]);
    let rope = |r: Rope, src: &[Src<'_>]| op(Op::Rope(r), src);
    // Base 4, four dimensions: angles 1 and 1/2.
    let ((s1, c1), (s2, c2)) = (1f32.sin_cos(), 0.5f32.sin_cos());
    let same = [1.0, 0.0, 0.0, 2.0];
    let normal = Rope::plain(4, RopeMode::Normal, 4.0);
    close(&rope(normal, &[x, at]), &[same, [c1, s1, -2.0 * s2, 2.0 * c2]].concat());
    let neox = Rope::plain(4, RopeMode::NeoX, 4.0);
    close(&rope(neox, &[x, at]), &[same, [c1, -2.0 * s2, s1, 2.0 * c2]].concat());
    // Only the first pair turns, the rest is copied.
    let part = Rope::plain(2, RopeMode::NeoX, 4.0);
    close(&rope(part, &[x, at]), &[same, [c1, s1, 0.0, 2.0]].concat());
    // Angles divided by the factors: 1/2 and 1/2 again.
    let factors = (F32, row(2), &[2.0, 1.0][..]);
    close(&rope(normal, &[x, at, factors]), &[same, [c2, s2, -2.0 * s2, 2.0 * c2]].concat());
    // Half the speed, three times the size.
    let scaled = Rope { scale: 0.5, attn_factor: 3.0, ..normal };
    let (s3, c3) = 0.25f32.sin_cos();
    let expected = [[3.0, 0.0, 0.0, 6.0], [3.0 * c2, 3.0 * s2, -6.0 * s3, 6.0 * c3]].concat();
    close(&rope(scaled, &[x, at]), &expected);
}

#[test]
fn yarn() {
    // Base 4, four dimensions, trained on 16 * 2 pi positions (101 is near enough to fall on the same side of every
    // rounding): a wave that turns n times lies in dimension 4 ln(16 / n) / (2 ln 4) = log2(16 / n), so the ramp goes from
    // floor(log2 16 / 16.5) below 0, thus 0, to ceil(log2 16 / 8.1) = 1. Pair 0 is extrapolated, pair 1 interpolated.
    let r = Rope {
        trained_context: 101,
        scale: 0.5,
        ext_factor: 1.0,
        beta_fast: 16.5,
        beta_slow: 8.1,
        ..Rope::plain(4, RopeMode::Normal, 4.0)
    };
    let x = (F32, [4, 1, 1, 1], &[1.0, 0.0, 1.0, 0.0][..]);
    let m = 1.0 + 0.1 * core::f32::consts::LN_2;
    let ((s1, c1), (s2, c2)) = (1f32.sin_cos(), 0.25f32.sin_cos());
    let got = op(Op::Rope(r), &[x, (I32, row(1), &[1.0])]);
    close(&got, &[m * c1, m * s1, m * c2, m * s2]);
}

#[test]
fn attention() {
    let flash = |scale, softcap, src: &[Src<'_>]| {
        let precision = Precision::Default;
        op(Op::FlashAttn { scale, max_bias: 0.0, softcap, precision }, src)
    };
    // Products ln 2 and 0: weights 2/3 and 1/3.
    let q = (F32, [1, 1, 1, 1], &[core::f32::consts::LN_2][..]);
    let k = (F32, [1, 2, 1, 1], &[1.0, 0.0][..]);
    let v = (F32, [2, 2, 1, 1], &[3.0, 6.0, 9.0, 0.0][..]);
    close(&flash(1.0, 0.0, &[q, k, v]), &[5.0, 4.0]);
    close(&flash(2.0, 0.0, &[q, k, v]), &[4.2, 4.8]);
    // 10 tanh(x / 10) with x = 10 atanh(0.1 ln 2), so that the capped product is ln 2.
    let x = (0.1 * core::f32::consts::LN_2).atanh() * 10.0;
    close(&flash(1.0, 10.0, &[(F32, [1, 1, 1, 1], &[x]), k, v]), &[5.0, 4.0]);
    // What lies behind a masked key doesn't matter, be it NaN.
    let v = (F32, [2, 2, 1, 1], &[3.0, 6.0, f32::NAN, f32::NAN][..]);
    let k = (F32, [1, 2, 1, 1], &[1.0, f32::NAN][..]);
    close(&flash(1.0, 0.0, &[q, k, v, (F16, row(2), &[0.0, -INF])]), &[3.0, 6.0]);
    assert_eq!(flash(1.0, 0.0, &[q, k, v, (F16, row(2), &[-INF, -INF])]), [0.0, 0.0]);
}

#[test]
fn attention_lays_heads_side_by_side() {
    // Two tokens, four heads, two of them for each of two heads of keys; one key each, so every result is its value.
    let q = (F32, [1, 2, 4, 1], &[1.0; 8][..]);
    let k = (F32, [1, 1, 2, 1], &[1.0; 2][..]);
    let v = (F32, [1, 1, 2, 1], &[10.0, 20.0][..]);
    let precision = Precision::Default;
    let flash = Op::FlashAttn { scale: 1.0, max_bias: 0.0, softcap: 0.0, precision };
    assert_eq!(op(flash, &[q, k, v]), [10.0, 10.0, 20.0, 20.0, 10.0, 10.0, 20.0, 20.0]);
}
