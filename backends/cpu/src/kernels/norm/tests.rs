use crate::Level;
use crate::kernels::vec::harness::{Tensor, close, noise, on_levels, run, run_in_place};
use dinrail_core::op::Op;
use dinrail_core::tensor::DType;
use std::format;
use std::vec::Vec;

const EPS: f32 = 1e-5;

fn exact(op: &Op, x: &[f64]) -> Vec<f64> {
    let n = x.len() as f64;
    let squares: f64 = x.iter().map(|v| v * v).sum();
    match *op {
        Op::Norm { eps } | Op::GroupNorm { eps, .. } => {
            let mean = x.iter().sum::<f64>() / n;
            let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            x.iter().map(|v| (v - mean) / (variance + f64::from(eps)).sqrt()).collect()
        }
        Op::RmsNorm { eps } => {
            x.iter().map(|v| v / (squares / n + f64::from(eps)).sqrt()).collect()
        }
        Op::L2Norm { eps } => x.iter().map(|v| v / squares.sqrt().max(f64::from(eps))).collect(),
        ref other => unreachable!("{other:?}"),
    }
}

const ROWS: [Op; 3] = [Op::Norm { eps: EPS }, Op::RmsNorm { eps: EPS }, Op::L2Norm { eps: EPS }];

fn rows_of_any_length(level: Level) {
    for op in ROWS {
        for n in (1..=70).chain([576, 4097]) {
            let x = Tensor::laid_out(DType::F32, [n, 2, 3, 1], [2, 1, 3], 8, |i| {
                noise(i + n) * 3.0 + 0.7
            });
            let got = run(level, &op, &[Some(&x)], 1).unwrap();
            let want: Vec<f64> = (0..6).flat_map(|r| exact(&op, &x.row64(r))).collect();
            close(&got.values(), &want, 2e-6, 3e-6, &format!("{level:?} {op:?} {n}"));
            let again = run_in_place(level, &op, &[Some(&x)]).unwrap();
            assert_eq!(again.bits(), got.bits(), "in place");
        }
    }
}

fn rows_far_from_zero_keep_their_variance(level: Level) {
    // The mean is 1000 times the deviation: one pass over sums of squares would lose it.
    let x = Tensor::new(DType::F32, [512, 1, 1, 1], |i| 1000.0 + noise(i));
    let op = Op::Norm { eps: EPS };
    let got = run(level, &op, &[Some(&x)], 1).unwrap();
    close(&got.values(), &exact(&op, &x.row64(0)), 1e-3, 1e-3, "offset");
}

fn zeros_nans_and_nothing(level: Level) {
    for op in ROWS {
        let zero = Tensor::new(DType::F32, [19, 1, 1, 1], |_| 0.0);
        assert!(run(level, &op, &[Some(&zero)], 1).unwrap().values().iter().all(|v| *v == 0.0));
        // A NaN spoils its own row and no other.
        let x = Tensor::new(DType::F32, [19, 2, 1, 1], |i| if i == 3 { f32::NAN } else { 1.5 });
        let got = run(level, &op, &[Some(&x)], 1).unwrap();
        assert!(got.row64(0).iter().all(|v| v.is_nan()));
        assert!(got.row64(1).iter().all(|v| v.is_finite()));
        for ne in [[0, 2, 1, 1], [2, 0, 1, 1]] {
            let none = Tensor::new(DType::F32, ne, noise);
            run(level, &op, &[Some(&none)], 2).unwrap();
        }
    }
}

fn groups_of_channels(level: Level) {
    // Five channels in two groups: three and two. In three groups of two: the last has one.
    for (channels, groups) in [(4, 2), (5, 2), (5, 3), (6, 1), (3, 3)] {
        let op = Op::GroupNorm { groups, eps: EPS };
        let x = Tensor::new(DType::F32, [7, 5, channels, 2], |i| noise(i) * 2.0 - 0.3);
        let each = channels.div_ceil(groups as usize) * 35;
        let mut want = Vec::new();
        for sequence in x.values().chunks(channels * 35) {
            for group in sequence.chunks(each) {
                want.extend(exact(&op, group));
            }
        }
        for workers in [1, 3] {
            let got = run(level, &op, &[Some(&x)], workers).unwrap();
            close(&got.values(), &want, 2e-6, 2e-6, &format!("{level:?} {channels}/{groups}"));
        }
    }
}

fn workers_change_nothing(level: Level) {
    let x = Tensor::new(DType::F32, [577, 29, 1, 1], noise);
    for op in ROWS {
        let one = run(level, &op, &[Some(&x)], 1).unwrap();
        for workers in [2, 5] {
            assert_eq!(run(level, &op, &[Some(&x)], workers).unwrap().bits(), one.bits());
        }
    }
}

on_levels!(
    rows_of_any_length,
    rows_far_from_zero_keep_their_variance,
    zeros_nans_and_nothing,
    groups_of_channels,
    workers_change_nothing,
);
