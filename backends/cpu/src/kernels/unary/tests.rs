use crate::Level;
use crate::kernels::vec::harness::{Tensor, close, noise, on_levels, run, run_in_place};
use crate::kernels::vec::tests::{erf64, gelu64};
use dinrail_core::op::{Op, Unary};
use dinrail_core::tensor::DType;
use std::format;
use std::vec::Vec;

const XIELU: Unary = Unary::Xielu { alpha_n: 0.7, alpha_p: 0.9, beta: 0.5, eps: -1e-6 };

fn exact(u: &Unary, x: f64) -> f64 {
    let hard = ((x + 3.0) / 6.0).clamp(0.0, 1.0);
    match *u {
        Unary::Abs => x.abs(),
        Unary::Sgn => f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
        Unary::Neg => -x,
        Unary::Step => f64::from(u8::from(x > 0.0)),
        Unary::Tanh => x.tanh(),
        Unary::Elu => {
            if x > 0.0 {
                x
            } else {
                x.exp_m1()
            }
        }
        Unary::Relu => {
            if x > 0.0 {
                x
            } else {
                0.0
            }
        }
        Unary::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Unary::Gelu => {
            if x <= -10.0 {
                0.0
            } else {
                gelu64(x)
            }
        }
        Unary::GeluQuick => x / (1.0 + (-1.702 * x).exp()),
        Unary::Silu => x / (1.0 + (-x).exp()),
        Unary::HardSwish => x * hard,
        Unary::HardSigmoid => hard,
        Unary::Exp => x.exp(),
        Unary::Expm1 => x.exp_m1(),
        Unary::Softplus => {
            if x > 20.0 {
                x
            } else {
                x.exp().ln_1p()
            }
        }
        Unary::GeluErf => 0.5 * x * (1.0 + erf64(x * core::f64::consts::FRAC_1_SQRT_2)),
        Unary::Xielu { alpha_n, alpha_p, beta, eps } => {
            let [n, p, b, e] = [alpha_n, alpha_p, beta, eps].map(f64::from);
            if x > 0.0 { p * x * x + b * x } else { (x.min(e).exp_m1() - x) * n + b * x }
        }
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round(),
        Unary::Trunc => x.trunc(),
        ref other => unreachable!("{other:?}"),
    }
}

fn all() -> impl Iterator<Item = Unary> {
    Unary::PLAIN.into_iter().chain([XIELU])
}

/// Half a unit in the last place of the type, relative, beside what the functions are allowed; and the least number.
fn rounding(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F16 => (1.0 / 2048.0, 6e-8),
        DType::BF16 => (1.0 / 256.0, 1e-38),
        _ => (0.0, 0.0),
    }
}

fn every_function_and_type_at_any_length(level: Level) {
    for u in all() {
        let op = Op::Unary(u);
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            for n in (1..=70).step_by(if dtype == DType::F32 { 1 } else { 7 }) {
                let x = Tensor::laid_out(dtype, [n, 2, 3, 1], [2, 1, 3], 12, |i| {
                    // e^10 is within an f16.
                    noise(i + n * 1000) * if i % 3 == 0 { 10.0 } else { 2.0 }
                });
                let want: Vec<f64> = x.values().iter().map(|v| exact(&u, *v)).collect();
                let got = run(level, &op, &[Some(&x)], 1).unwrap();
                let (relative, absolute) = rounding(dtype);
                close(
                    &got.values(),
                    &want,
                    2e-6 + relative,
                    3e-7 + absolute,
                    &format!("{level:?} {} {dtype:?} {n}", u.name()),
                );
                if n == 23 {
                    let again = run_in_place(level, &op, &[Some(&x)]).unwrap();
                    assert_eq!(again.bits(), got.bits(), "in place");
                }
            }
        }
    }
}

fn infinities_and_nans_are_what_ggml_makes_of_them(level: Level) {
    let values = [f32::NEG_INFINITY, f32::INFINITY, f32::NAN, -0.0, 0.0];
    for u in all() {
        let x = Tensor::new(DType::F32, [5, 1, 1, 1], |i| values[i]);
        let got = run(level, &Op::Unary(u), &[Some(&x)], 1).unwrap().values();
        let want: Vec<f64> = values.iter().map(|v| exact(&u, f64::from(*v))).collect();
        let want = match u {
            // The sign of a NaN says nothing, nor does its clamp; ggml's comparisons are false for it.
            Unary::Xielu { .. } => continue,
            _ => want,
        };
        close(&got, &want, 1e-6, 1e-7, &format!("{level:?} {}", u.name()));
    }
}

fn workers_change_nothing(level: Level) {
    let x = Tensor::new(DType::F32, [3000, 3, 2, 1], |i| noise(i) * 5.0);
    let op = Op::Unary(Unary::Gelu);
    let one = run(level, &op, &[Some(&x)], 1).unwrap();
    for workers in [2, 3, 7] {
        assert_eq!(run(level, &op, &[Some(&x)], workers).unwrap().bits(), one.bits());
    }
}

fn empty_tensors(level: Level) {
    for ne in [[0, 3, 1, 1], [3, 0, 1, 1], [3, 2, 1, 0]] {
        let x = Tensor::new(DType::F32, ne, noise);
        run(level, &Op::Unary(Unary::Silu), &[Some(&x)], 2).unwrap();
    }
}

on_levels!(
    every_function_and_type_at_any_length,
    infinities_and_nans_are_what_ggml_makes_of_them,
    workers_change_nothing,
    empty_tensors,
);
