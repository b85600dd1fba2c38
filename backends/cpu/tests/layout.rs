//! Operations that move elements, against plain loops, on one and several workers.

mod common;

use common::{bytes, coords, encode, index, noise, rounded, values};
use dinrail_core::error::Error;
use dinrail_core::graph::Builder;
use dinrail_core::op::Op;
use dinrail_core::tensor::{DType, block};

fn through_f32(t: DType) -> bool {
    (t.is_float() && t != DType::F64) || t.is_quantized()
}

/// What is left of values that a copy stores. `Q8_0` takes halves to the even level, as ggml's processor kernels do.
fn stored(to: DType, values: &[f32]) -> Vec<f32> {
    if to != DType::Q8_0 {
        return rounded(to, values);
    }
    let levels = |x: &[f32]| -> Vec<f32> {
        let most = x.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let d = rounded(DType::F16, &[most / 127.0])[0];
        x.iter().map(|v| (v * (127.0 / most)).round_ties_even() * d).collect()
    };
    values.chunks(32).flat_map(levels).collect()
}

#[test]
fn copies_between_all_types() {
    for &from in DType::ALL {
        for &to in DType::ALL {
            let words = [(DType::F32, DType::I32), (DType::I32, DType::F32)];
            if from != to
                && !(through_f32(from) && through_f32(to) && block::can_encode(to))
                && !words.contains(&(from, to))
            {
                let refused = bytes(1, &[], |g| {
                    let (a, b) = (g.input(from, [256, 1, 1, 1]), g.input(to, [256, 1, 1, 1]));
                    g.op(Op::Cpy, &[a, b])
                });
                assert!(matches!(refused, Err(Error::Unsupported { .. })), "{from} {to}");
                continue;
            }
            // Rows are cut differently on both sides: 24 rows of 512 and 48 of 256.
            let x: Vec<f32> = noise(512 * 24, 8).iter().map(|x| x * 100.0).collect();
            let got = values(&[encode(from, &x)], |g| {
                let a = g.input(from, [512, 4, 3, 2]);
                let b = g.input(to, [256, 4, 3, 4]);
                g.op(Op::Cpy, &[a, b])
            });
            let x = rounded(from, &x);
            assert!(got == if from == to { x } else { stored(to, &x) }, "{from} to {to}");
        }
    }
}

#[test]
fn blocks_are_cut_anywhere_between_rows() {
    // A block of 256 comes from eight rows of 32, and goes to eight.
    for (from, to, wide, narrow) in
        [(DType::Q8_0, DType::Q6_K, 32, 256), (DType::Q4_K, DType::Q4_0, 256, 32)]
    {
        let x = noise(256 * 36, 9);
        let got = values(&[encode(from, &x)], |g| {
            let a = g.input(from, [wide, 9216 / wide, 1, 1]);
            let b = g.input(to, [narrow, 9216 / narrow, 1, 1]);
            g.op(Op::Cpy, &[a, b])
        });
        assert!(got == rounded(to, &rounded(from, &x)));
    }
}

#[test]
fn permuted_sources_and_targets() {
    let ne = [32, 20, 4, 5];
    let x = noise(32 * 400, 10);
    for t in [DType::F32, DType::F16, DType::I8, DType::I16, DType::I64, DType::F64] {
        let x: Vec<f32> = rounded(t, &x.iter().map(|x| (x * 100.0).trunc()).collect::<Vec<_>>());
        let got = values(&[encode(t, &x)], |g| {
            let a = g.input(t, ne);
            let a = g.permute(a, [2, 0, 3, 1]);
            g.cont(a)
        });
        let out = [20, 5, 32, 4];
        for (k, got) in got.iter().enumerate() {
            let [a, b, c, d] = coords(k, out);
            assert_eq!(*got, x[index([c, a, d, b], ne)], "{t}");
        }
    }
    // Blocks stay whole.
    for t in [DType::Q4_0, DType::Q8_0] {
        let got = values(&[encode(t, &x)], |g| {
            let a = g.input(t, ne);
            let a = g.permute(a, [0, 2, 1, 3]);
            g.dup(a)
        });
        let x = rounded(t, &x);
        for (k, got) in got.iter().enumerate() {
            let [a, b, c, d] = coords(k, [32, 4, 20, 5]);
            assert_eq!(*got, x[index([a, c, b, d], ne)], "{t}");
        }
    }
    // Into a transposed target, with a change of type.
    let got = values(&[encode(DType::F32, &x)], |g| {
        let a = g.input(DType::F32, [128, 100, 1, 1]);
        let b = g.input(DType::F16, [100, 128, 1, 1]);
        let b = g.transpose(b);
        g.op(Op::Cpy, &[a, b])
    });
    assert!(got == rounded(DType::F16, &x));
}

#[test]
fn concatenation_along_every_dimension() {
    for t in [DType::F32, DType::F16, DType::I32, DType::I8, DType::Q8_0] {
        for dim in 0..4u8 {
            let (na, mut nb) = ([64, 3, 20, 2], [64, 3, 20, 2]);
            nb[usize::from(dim)] = if dim == 0 { 32 } else { 5 };
            let n: usize = nb.iter().product();
            let x: Vec<f32> = noise(7680, 11).iter().map(|x| (x * 100.0).trunc()).collect();
            let y: Vec<f32> = noise(n, 12).iter().map(|x| (x * 100.0).trunc()).collect();
            let got = values(&[encode(t, &x), encode(t, &y)], |g| {
                let (a, b) = (g.input(t, na), g.input(t, nb));
                g.concat(a, b, dim)
            });
            let (x, y, d) = (rounded(t, &x), rounded(t, &y), usize::from(dim));
            let mut ne = na;
            ne[d] += nb[d];
            for (k, got) in got.iter().enumerate() {
                let mut i = coords(k, ne);
                let want = if i[d] < na[d] {
                    x[index(i, na)]
                } else {
                    i[d] -= na[d];
                    y[index(i, nb)]
                };
                assert_eq!(*got, want, "{t} {dim}");
            }
        }
    }
    let (x, y) = (noise(12, 1), noise(6, 2));
    let got = values(&[encode(DType::F32, &x), encode(DType::F32, &y)], |g| {
        let (a, b) = (g.input(DType::F32, [3, 4, 1, 1]), g.input(DType::F32, [3, 2, 1, 1]));
        let (a, b) = (g.transpose(a), g.transpose(b));
        g.concat(a, b, 0)
    });
    for (k, got) in got.iter().enumerate() {
        let (i, j) = (k % 6, k / 6);
        assert_eq!(*got, if i < 4 { x[i * 3 + j] } else { y[(i - 4) * 3 + j] });
    }
}

#[test]
fn repetition() {
    for t in [DType::F32, DType::F16, DType::I16, DType::Q5_0] {
        for (from, to) in [
            ([32, 3, 2, 1], [96, 6, 2, 20]),
            ([32, 1, 1, 2], [32, 40, 9, 2]),
            ([64, 2, 1, 1], [64, 2, 1, 1]),
        ] {
            let x: Vec<f32> =
                noise(from.iter().product(), 13).iter().map(|x| (x * 100.0).trunc()).collect();
            let got = values(&[encode(t, &x)], |g| {
                let a = g.input(t, from);
                g.repeat(a, to)
            });
            let x = rounded(t, &x);
            for (k, got) in got.iter().enumerate() {
                let i = coords(k, to);
                assert_eq!(*got, x[index(core::array::from_fn(|d| i[d] % from[d]), from)]);
            }
        }
    }
    let one = values(&[encode(DType::F32, &[7.5])], |g| {
        let a = g.input(DType::F32, [1, 1, 1, 1]);
        g.repeat(a, [9000, 2, 1, 1])
    });
    assert!(one.len() == 18000 && one.iter().all(|x| *x == 7.5));
}

#[test]
fn rows_by_number() {
    for &t in DType::ALL {
        if (t.is_integer() && t != DType::I32) || t == DType::F64 {
            continue;
        }
        let x: Vec<f32> = noise(512 * 9 * 2, 14).iter().map(|x| (x * 100.0).trunc()).collect();
        let at = [3.0, 0.0, 8.0, 3.0, 1.0, 2.0, 7.0, 7.0, 0.0, 4.0];
        let got = values(&[encode(t, &x), encode(DType::I32, &at)], |g| {
            let (a, b) = (g.input(t, [512, 9, 2, 1]), g.input(DType::I32, [5, 2, 1, 1]));
            g.op(Op::GetRows, &[a, b])
        });
        let x = rounded(t, &x);
        for (r, at) in at.iter().enumerate() {
            let from = (*at as usize + r / 5 * 9) * 512;
            assert!(got[r * 512..(r + 1) * 512] == x[from..from + 512], "{t}");
        }
    }
}

#[test]
fn rows_are_stored_and_the_last_of_equals_stays() {
    for &t in DType::ALL {
        if t.is_integer() || t == DType::F64 || !block::can_encode(t) {
            continue;
        }
        for wide in [DType::I32, DType::I64] {
            let (x, old) = (noise(256 * 40, 15), noise(256 * 64, 16));
            let at: Vec<f32> = (0..20).map(|i| ((i * 7) % 16) as f32).collect();
            let got = values(&[encode(DType::F32, &x), encode(wide, &at), encode(t, &old)], |g| {
                let a = g.input(DType::F32, [256, 20, 2, 1]);
                let b = g.input(wide, [20, 1, 1, 1]);
                let c = g.input(t, [256, 32, 2, 1]);
                g.set_rows(a, b, c)
            });
            let (mut want, x) = (rounded(t, &old), rounded(t, &x));
            for (r, row) in x.chunks(256).enumerate() {
                let to = (at[r % 20] as usize + r / 20 * 32) * 256;
                want[to..to + 256].copy_from_slice(row);
            }
            assert!(got == want, "{t}");
        }
    }
}

#[test]
fn a_row_number_outside_is_an_error_on_any_worker() {
    let x = noise(64 * 400, 17);
    for bad in [-1.0, 400.0, 1e9] {
        for place in [0, 150, 299] {
            let mut at = vec![1.0; 300];
            at[place] = bad;
            let inputs = [encode(DType::F32, &x), encode(DType::I32, &at)];
            for threads in [1, 2, 3] {
                let got = bytes(threads, &inputs, |g| {
                    let a = g.input(DType::F32, [64, 400, 1, 1]);
                    let b = g.input(DType::I32, [300, 1, 1, 1]);
                    let y = g.op(Op::GetRows, &[a, b]);
                    let z = g.sqr(y);
                    g.add(z, y)
                });
                assert_eq!(
                    got.unwrap_err(),
                    Error::Invalid { what: "row index", value: bad as i64 }
                );
                let stored = bytes(threads, &inputs[1..], |g| {
                    let b = g.input(DType::I32, [300, 1, 1, 1]);
                    let c = g.input(DType::F16, [64, 400, 1, 1]);
                    let a = g.arange(0.0, 19200.0, 1.0);
                    let a = g.reshape(a, [64, 300, 1, 1]);
                    g.set_rows(a, b, c)
                });
                assert!(matches!(stored, Err(Error::Invalid { what: "row index", .. })));
            }
        }
    }
}

#[test]
fn masks_and_ranges() {
    let x = noise(100 * 90 * 2, 18);
    let got = values(&[encode(DType::F32, &x)], |g| {
        let a = g.input(DType::F32, [100, 90, 2, 1]);
        g.diag_mask_inf(a, 10)
    });
    for (k, got) in got.iter().enumerate() {
        let [i, j, ..] = coords(k, [100, 90, 2, 1]);
        assert_eq!(*got, if i > j + 10 { f32::NEG_INFINITY } else { x[k] });
    }
    let range = |g: &mut Builder<'_>| g.arange(-2.0, 9000.0, 0.75);
    let got = values(&[], range);
    assert_eq!(got.len(), 12003);
    assert!(got.iter().enumerate().all(|(i, x)| *x == -2.0 + 0.75 * i as f32));
}
