use crate::Level;
use crate::kernels::vec::harness::{Tensor, close, noise, on_levels, run, run_in_place};
use dinrail_core::op::Op;
use dinrail_core::tensor::DType;
use std::format;
use std::vec::Vec;

const INF: f32 = f32::INFINITY;

/// ALiBi's slope by its definition.
pub(crate) fn slope64(max_bias: f32, head: usize, heads: usize) -> f64 {
    if max_bias == 0.0 {
        return 1.0;
    }
    let whole = 2f64.powi((heads as f64).log2().floor() as i32);
    let m0 = 2f64.powf(-f64::from(max_bias) / whole);
    let m1 = 2f64.powf(-f64::from(max_bias) / 2.0 / whole);
    let h = head as f64;
    if h < whole { m0.powf(h + 1.0) } else { m1.powf(2.0 * (h - whole) + 1.0) }
}

fn exact(op: &Op, x: &Tensor, mask: Option<&Tensor>, sinks: Option<&Tensor>) -> Vec<f64> {
    let Op::SoftMax { scale, max_bias } = *op else { unreachable!() };
    let ne = x.desc.ne;
    let mut out = Vec::new();
    for r in 0..x.desc.rows() {
        let (i1, i2, i3) = (r % ne[1], r / ne[1] % ne[2], r / ne[1] / ne[2]);
        let slope = slope64(max_bias, i2, ne[2]);
        let m = mask.map(|m| m.row(i1, i2 % m.desc.ne[2], i3 % m.desc.ne[3]));
        let logits: Vec<f64> = x
            .row64(r)
            .iter()
            .enumerate()
            .map(|(i, v)| {
                v * f64::from(scale) + m.as_ref().map_or(0.0, |m| slope * f64::from(m[i]))
            })
            .collect();
        let sink = sinks.map_or(f64::NEG_INFINITY, |s| f64::from(s.row(0, 0, 0)[i2]));
        let max = logits.iter().copied().fold(sink, f64::max);
        let shift = if max == f64::NEG_INFINITY { 0.0 } else { max };
        let weights: Vec<f64> = logits.iter().map(|v| (v - shift).exp()).collect();
        let sum = weights.iter().sum::<f64>() + (sink - shift).exp();
        out.extend(weights.iter().map(|w| if sum == 0.0 { 0.0 } else { w / sum }));
    }
    out
}

fn rows_of_any_length(level: Level) {
    let op = Op::SoftMax { scale: 0.7, max_bias: 0.0 };
    for n in (1..=70).chain([1000]) {
        let x = Tensor::new(DType::F32, [n, 3, 2, 1], |i| noise(i + n) * 20.0);
        let got = run(level, &op, &[Some(&x)], 1).unwrap();
        let what = format!("{level:?} {n}");
        close(&got.values(), &exact(&op, &x, None, None), 6e-6, 1e-12, &what);
        let again = run_in_place(level, &op, &[Some(&x)]).unwrap();
        assert_eq!(again.bits(), got.bits(), "in place");
    }
}

fn masks_biases_and_sinks(level: Level) {
    for n in [1, 5, 8, 31, 64, 67] {
        let x = Tensor::new(DType::F32, [n, 3, 6, 2], |i| noise(i + n) * 4.0);
        let sinks = Tensor::new(DType::F32, [6, 1, 1, 1], |i| noise(i) * 3.0);
        for dtype in [DType::F16, DType::F32] {
            for (m1, m2, m3) in [(3, 1, 1), (5, 2, 1), (3, 6, 2)] {
                let mask = Tensor::new(dtype, [n, m1, m2, m3], |i| {
                    if i % 3 == 1 { -INF } else { noise(i) * 2.0 }
                });
                for max_bias in [0.0, 8.0] {
                    for sinks in [None, Some(&sinks)] {
                        let op = Op::SoftMax { scale: 0.125, max_bias };
                        let src = [Some(&x), Some(&mask), sinks];
                        let got = run(level, &op, &src, 1).unwrap();
                        let want = exact(&op, &x, Some(&mask), sinks);
                        close(
                            &got.values(),
                            &want,
                            5e-6,
                            1e-9,
                            &format!("{level:?} {n} {m1} {m2}"),
                        );
                    }
                }
            }
        }
    }
}

fn rows_without_anything_to_see(level: Level) {
    let op = Op::SoftMax { scale: 1.0, max_bias: 0.0 };
    let rows = |values: [f32; 4]| {
        let x = Tensor::new(DType::F32, [4, 1, 1, 1], |i| values[i]);
        run(level, &op, &[Some(&x)], 1).unwrap().values()
    };
    assert_eq!(rows([-INF; 4]), [0.0; 4]);
    assert_eq!(rows([-INF, f32::MIN, -INF, -INF]), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(rows([f32::MAX, f32::MIN, 0.0, -INF]), [1.0, 0.0, 0.0, 0.0]);
    assert!(rows([1.0, INF, 0.0, 0.0])[1].is_nan());
    assert!(rows([f32::NAN, 0.0, 0.0, 0.0]).iter().all(|v| v.is_nan()));
    assert!(rows([f32::NAN, -INF, -INF, -INF])[0].is_nan());
    // The mask alone may hide everything, in one row of two.
    let x = Tensor::new(DType::F32, [11, 2, 1, 1], noise);
    let mask = Tensor::new(DType::F16, [11, 2, 1, 1], |i| if i < 11 { -INF } else { 0.0 });
    let got = run(level, &op, &[Some(&x), Some(&mask)], 1).unwrap();
    assert!(got.row64(0).iter().all(|v| *v == 0.0));
    assert!((got.row64(1).iter().sum::<f64>() - 1.0).abs() < 1e-6);
    let none = Tensor::new(DType::F32, [0, 2, 1, 1], noise);
    run(level, &op, &[Some(&none)], 2).unwrap();
}

fn workers_change_nothing(level: Level) {
    let x = Tensor::new(DType::F32, [259, 9, 3, 1], |i| noise(i) * 9.0);
    let op = Op::SoftMax { scale: 0.3, max_bias: 0.0 };
    let one = run(level, &op, &[Some(&x)], 1).unwrap();
    for workers in [2, 4] {
        assert_eq!(run(level, &op, &[Some(&x)], workers).unwrap().bits(), one.bits());
    }
}

on_levels!(
    rows_of_any_length,
    masks_biases_and_sinks,
    rows_without_anything_to_see,
    workers_change_nothing,
);
