use crate::Level;
use crate::kernels::vec::harness::{Tensor, close, noise, on_levels, run, run_in_place};
use dinrail_core::op::{Op, Rope, RopeMode};
use dinrail_core::tensor::DType;
use std::format;
use std::vec::Vec;

const MODES: [RopeMode; 2] = [RopeMode::Normal, RopeMode::NeoX];

/// The rotation in f64, but with the angles' base multiplied up in f32, which is part of what the operation means.
fn exact(r: &Rope, x: &Tensor, positions: &[i32], factors: Option<&Tensor>) -> Vec<f64> {
    let [n, heads, tokens, sequences] = x.desc.ne;
    let dims = usize::from(r.dims);
    let step = r.base.powf(-2.0 / f32::from(r.dims));
    let turning = |turns: f32| {
        f64::from(r.dims)
            * (f64::from(r.trained_context) / f64::from(turns) / core::f64::consts::TAU).ln()
            / (2.0 * f64::from(r.base).ln())
    };
    let low = turning(r.beta_fast).floor().max(0.0);
    let high = turning(r.beta_slow).ceil().min(f64::from(r.dims) - 1.0);
    let mut out = Vec::new();
    for row in 0..heads * tokens * sequences {
        let mut y = x.row64(row);
        let source = y.clone();
        let mut theta = positions[row / heads % tokens] as f32;
        for i in 0..dims / 2 {
            let extrapolated = f64::from(theta / factors.map_or(1.0, |f| f.row(0, 0, 0)[i]));
            let interpolated = extrapolated * f64::from(r.scale);
            let (mut angle, mut magnitude) = (interpolated, f64::from(r.attn_factor));
            if r.ext_factor != 0.0 {
                let ramp = 1.0 - ((i as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0);
                let mix = ramp * f64::from(r.ext_factor);
                angle = interpolated * (1.0 - mix) + extrapolated * mix;
                magnitude *= 1.0 + 0.1 * (1.0 / f64::from(r.scale)).ln();
            }
            let (sin, cos) = angle.sin_cos();
            let (a, b) = match r.mode {
                RopeMode::Normal => (2 * i, 2 * i + 1),
                _ => (i, i + dims / 2),
            };
            y[a] = (source[a] * cos - source[b] * sin) * magnitude;
            y[b] = (source[a] * sin + source[b] * cos) * magnitude;
            theta *= step;
        }
        assert_eq!(y.len(), n);
        out.extend(y);
    }
    out
}

fn every_row_length(level: Level) {
    let positions = [0, 1, 77, 4000, 131_071];
    let p = Tensor::i32(&positions);
    for mode in MODES {
        for (dims, n) in [
            (2, 2),
            (2, 7),
            (6, 6),
            (8, 11),
            (16, 16),
            (48, 64),
            (64, 64),
            (70, 71),
            (128, 128),
            (600, 601),
        ] {
            let r = Rope::plain(dims, mode, 10_000.0);
            for (dtype, tolerance) in [(DType::F32, 1e-6), (DType::F16, 6e-4)] {
                let x = Tensor::laid_out(dtype, [n, 3, 5, 2], [2, 1, 3], 4, noise);
                let got = run(level, &Op::Rope(r), &[Some(&x), Some(&p)], 1).unwrap();
                let want = exact(&r, &x, &positions, None);
                // An angle is rounded to f32, and 131071 rad have a unit of 1/128.
                let what = format!("{level:?} {mode:?} {dims}/{n} {dtype:?}");
                close(&got.values(), &want, 0.0, tolerance, &what);
                let again = run_in_place(level, &Op::Rope(r), &[Some(&x), Some(&p)]).unwrap();
                assert_eq!(again.bits(), got.bits(), "in place");
            }
        }
    }
}

fn factors_and_yarn(level: Level) {
    let positions = [0, 3, 900, 20_000];
    let p = Tensor::i32(&positions);
    for mode in MODES {
        for n in [32usize, 64, 128] {
            let x = Tensor::new(DType::F32, [n, 2, 4, 1], noise);
            let f = Tensor::new(DType::F32, [n / 2, 1, 1, 1], |i| 1.0 + i as f32 * 0.37);
            let mut r = Rope::plain(n as u16, mode, 500_000.0);
            let got = run(level, &Op::Rope(r), &[Some(&x), Some(&p), Some(&f)], 1).unwrap();
            close(&got.values(), &exact(&r, &x, &positions, Some(&f)), 0.0, 2e-6, "factors");
            r.base = 10_000.0;
            r.trained_context = 4096;
            r.scale = 0.25;
            r.attn_factor = 1.1;
            for ext_factor in [0.0, 1.0, 0.5] {
                r.ext_factor = ext_factor;
                let got = run(level, &Op::Rope(r), &[Some(&x), Some(&p)], 1).unwrap();
                let want = exact(&r, &x, &positions, None);
                // Mixed angles are rounded to f32: 20000 rad have a unit of 1/512.
                let what = format!("{level:?} yarn {mode:?} {n} {ext_factor}");
                close(
                    &got.values(),
                    &want,
                    0.0,
                    if ext_factor == 0.0 { 2e-6 } else { 4e-3 },
                    &what,
                );
            }
        }
    }
}

fn workers_change_nothing(level: Level) {
    let positions: Vec<i32> = (0..37).map(|i| i * 31).collect();
    let p = Tensor::i32(&positions);
    for mode in MODES {
        let x = Tensor::new(DType::F32, [64, 9, 37, 1], noise);
        let op = Op::Rope(Rope::plain(64, mode, 10_000.0));
        let one = run(level, &op, &[Some(&x), Some(&p)], 1).unwrap();
        for workers in [2, 5] {
            assert_eq!(run(level, &op, &[Some(&x), Some(&p)], workers).unwrap().bits(), one.bits());
        }
    }
    let none = Tensor::new(DType::F32, [64, 0, 37, 1], noise);
    run(level, &Op::Rope(Rope::plain(64, MODES[0], 1e4)), &[Some(&none), Some(&p)], 2).unwrap();
}

on_levels!(every_row_length, factors_and_yarn, workers_change_nothing);
