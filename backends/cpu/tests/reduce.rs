//! Sums, means, the largest element, sorting.

mod common;

use common::{bytes, decode, encode, noise, rounded, values};
use dinrail_core::tensor::DType;

#[test]
fn sums_and_means() {
    for n in [1, 7, 64, 300, 4099] {
        let x = noise(n * 6, 19);
        let input = [encode(DType::F32, &x)];
        let close = |got: f32, want: f64| {
            assert!((f64::from(got) - want).abs() <= want.abs() * 1e-6, "{got} {want}");
        };
        let row = |r: usize| x[r * n..(r + 1) * n].iter().map(|x| f64::from(*x)).sum::<f64>();
        let rows = values(&input, |g| {
            let a = g.input(DType::F32, [n, 3, 2, 1]);
            g.sum_rows(a)
        });
        let means = values(&input, |g| {
            let a = g.input(DType::F32, [n, 3, 2, 1]);
            g.mean(a)
        });
        for r in 0..6 {
            close(rows[r], row(r));
            close(means[r], row(r) / n as f64);
        }
        for t in [DType::F32, DType::F16, DType::BF16] {
            let got = values(&[encode(t, &x)], |g| {
                let a = g.input(t, [n, 3, 2, 1]);
                let a = g.transpose(a);
                g.sum(a)
            });
            let want: f64 = rounded(t, &x).iter().map(|x| f64::from(*x)).sum();
            if t == DType::F32 {
                close(got[0], want);
            } else {
                assert!((f64::from(got[0]) - want).abs() <= want.abs() / 100.0);
            }
        }
    }
}

#[test]
fn the_first_of_the_largest() {
    let nan = f32::NAN;
    let low = f32::NEG_INFINITY;
    let rows = [
        [1.0, 3.0, 3.0, 2.0],
        [nan, -5.0, nan, -4.0],
        [nan; 4],
        [low; 4],
        [nan, low, low, nan],
        [0.0, f32::INFINITY, 7.0, f32::INFINITY],
    ];
    let got = values(&[encode(DType::F32, rows.as_flattened())], |g| {
        let a = g.input(DType::F32, [4, 6, 1, 1]);
        g.argmax(a)
    });
    assert_eq!(got, [1.0, 3.0, 0.0, 0.0, 1.0, 1.0]);
    let x = noise(50 * 400, 20);
    let got = values(&[encode(DType::F32, &x)], |g| {
        let a = g.input(DType::F32, [50, 400, 1, 1]);
        g.argmax(a)
    });
    for (row, got) in x.chunks(50).zip(got) {
        let want = (0..50).rev().max_by(|i, j| row[*i].total_cmp(&row[*j])).unwrap();
        assert_eq!(got, want as f32);
    }
}

#[test]
fn sorting_is_stable_and_survives_anything() {
    for n in [1, 2, 17, 1000] {
        // Many equal elements, some NaNs, both zeros.
        let x: Vec<f32> = noise(n * 12, 21)
            .iter()
            .map(|x| match (x * 20.0) as i32 {
                5 => f32::NAN,
                -5 => -f32::NAN,
                0 => f32::copysign(0.0, *x),
                k => k as f32,
            })
            .collect();
        for descending in [false, true] {
            let got = values(&[encode(DType::F32, &x)], |g| {
                let a = g.input(DType::F32, [n, 4, 3, 1]);
                g.argsort(a, descending)
            });
            for (row, got) in x.chunks(n).zip(got.chunks(n)) {
                let mut want: Vec<usize> = (0..n).collect();
                want.sort_by(|&i, &j| match (row[i].is_nan(), row[j].is_nan()) {
                    (false, false) if descending => row[j].partial_cmp(&row[i]).unwrap(),
                    (false, false) => row[i].partial_cmp(&row[j]).unwrap(),
                    (a, b) => a.cmp(&b),
                });
                assert!(want.iter().zip(got).all(|(w, g)| *w as f32 == *g));
            }
        }
    }
}

#[test]
fn one_long_row_is_sorted_quickly() {
    // A row that is sorted already and one that is all equal are the worst cases of naive methods.
    for f in [|i: usize| i as f32, |_| 1.0] {
        let x: Vec<f32> = (0..200_000).map(f).collect();
        let (desc, out) = bytes(2, &[encode(DType::F32, &x)], |g| {
            let a = g.input(DType::F32, [200_000, 1, 1, 1]);
            g.argsort(a, false)
        })
        .unwrap();
        assert!(decode(&desc, &out).iter().enumerate().all(|(i, x)| *x == i as f32));
    }
}
