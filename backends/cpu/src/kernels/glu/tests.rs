use crate::Level;
use crate::kernels::vec::harness::{Tensor, close, noise, on_levels, run};
use crate::kernels::vec::tests::{erf64, gelu64};
use dinrail_core::op::{Glu, GluKind, Op};
use dinrail_core::tensor::DType;
use std::format;
use std::vec::Vec;

const ALL: [GluKind; 6] = [
    GluKind::Reglu,
    GluKind::Geglu,
    GluKind::Swiglu,
    GluKind::SwigluOai { alpha: 1.702, limit: 2.5 },
    GluKind::GegluErf,
    GluKind::GegluQuick,
];

fn exact(kind: &GluKind, x: f64, g: f64) -> f64 {
    match *kind {
        GluKind::Reglu => x.max(0.0) * g,
        GluKind::Geglu => gelu64(x) * g,
        GluKind::Swiglu => x / (1.0 + (-x).exp()) * g,
        GluKind::SwigluOai { alpha, limit } => {
            let (alpha, limit) = (f64::from(alpha), f64::from(limit));
            let x = x.min(limit);
            x / (1.0 + (-alpha * x).exp()) * (g.clamp(-limit, limit) + 1.0)
        }
        GluKind::GegluErf => 0.5 * x * (1.0 + erf64(x * core::f64::consts::FRAC_1_SQRT_2)) * g,
        GluKind::GegluQuick => x / (1.0 + (-1.702 * x).exp()) * g,
        ref other => unreachable!("{other:?}"),
    }
}

fn both_forms_of_every_kind(level: Level) {
    for kind in ALL {
        for (dtype, relative) in [(DType::F32, 3e-6), (DType::F16, 6e-4), (DType::BF16, 4e-3)] {
            for n in [1, 3, 8, 13, 32, 33, 69] {
                let what = format!("{level:?} {} {dtype:?} {n}", kind.name());
                let check = |got: &Tensor, x: &[f64], g: &[f64]| {
                    let want: Vec<f64> =
                        x.iter().zip(g).map(|(x, g)| exact(&kind, *x, *g)).collect();
                    close(&got.values(), &want, relative, 1e-6, &what);
                };
                let both =
                    Tensor::laid_out(dtype, [2 * n, 3, 2, 1], [2, 1, 3], 20, |i| noise(i) * 4.0);
                for swapped in [false, true] {
                    let got =
                        run(level, &Op::Glu(Glu { kind, swapped }), &[Some(&both)], 1).unwrap();
                    let half = |second: bool| -> Vec<f64> {
                        let at = if second { n } else { 0 };
                        (0..6).flat_map(|r| both.row64(r)[at..at + n].to_vec()).collect()
                    };
                    check(&got, &half(swapped), &half(!swapped));
                }
                let x = Tensor::laid_out(dtype, [n, 3, 2, 1], [2, 1, 3], 4, |i| noise(i + 7) * 4.0);
                let g = Tensor::new(dtype, [n, 3, 2, 1], |i| noise(i + 99) * 4.0);
                let op = Op::Glu(Glu { kind, swapped: false });
                let got = run(level, &op, &[Some(&x), Some(&g)], 1).unwrap();
                check(&got, &x.values(), &g.values());
            }
        }
    }
}

fn workers_change_nothing(level: Level) {
    let x = Tensor::new(DType::F32, [1536, 13, 1, 1], |i| noise(i) * 5.0);
    let op = Op::Glu(Glu { kind: GluKind::Swiglu, swapped: false });
    let one = run(level, &op, &[Some(&x)], 1).unwrap();
    assert_eq!(run(level, &op, &[Some(&x)], 3).unwrap().bits(), one.bits());
    let none = Tensor::new(DType::F32, [4, 0, 1, 1], noise);
    run(level, &op, &[Some(&none)], 2).unwrap();
}

on_levels!(both_forms_of_every_kind, workers_change_nothing);
