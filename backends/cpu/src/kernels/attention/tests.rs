use crate::Level;
use crate::kernels::softmax::tests::slope64;
use crate::kernels::vec::harness::{Tensor, close, noise, on_levels, run};
use dinrail_core::op::{Op, Precision};
use dinrail_core::tensor::DType;
use std::format;
use std::vec::Vec;

const INF: f32 = f32::INFINITY;

fn op(scale: f32, max_bias: f32, softcap: f32) -> Op {
    Op::FlashAttn { scale, max_bias, softcap, precision: Precision::F32 }
}

/// The operation, row by row in f64.
fn exact(op: &Op, src: &[Option<&Tensor>]) -> Vec<f64> {
    let Op::FlashAttn { scale, max_bias, softcap, .. } = *op else { unreachable!() };
    let (q, k, v) = (src[0].unwrap(), src[1].unwrap(), src[2].unwrap());
    let (mask, sinks) = (src.get(3).copied().flatten(), src.get(4).copied().flatten());
    let [_, tokens, heads, sequences] = q.desc.ne;
    let (keys, kv_heads) = (k.desc.ne[1], k.desc.ne[2]);
    let mut out = Vec::new();
    for s in 0..sequences {
        for t in 0..tokens {
            for h in 0..heads {
                let (kh, ks) = (h / (heads / kv_heads), s / (sequences / k.desc.ne[3]));
                let row = q.row(t, h, s);
                let m = mask.map(|m| m.row(t, h % m.desc.ne[2], s % m.desc.ne[3]));
                let mut logits = Vec::new();
                for c in 0..keys {
                    let hidden = m.as_ref().is_some_and(|m| m[c] == -INF);
                    let key = k.row(c, kh, ks);
                    let dot: f64 =
                        row.iter().zip(key).map(|(a, b)| f64::from(*a) * f64::from(b)).sum();
                    let mut x = dot * f64::from(scale);
                    if softcap != 0.0 {
                        x = f64::from(softcap) * (x / f64::from(softcap)).tanh();
                    }
                    let bias =
                        m.as_ref().map_or(0.0, |m| slope64(max_bias, h, heads) * f64::from(m[c]));
                    logits.push(if hidden { f64::NEG_INFINITY } else { x + bias });
                }
                let sink = sinks.map_or(f64::NEG_INFINITY, |s| f64::from(s.row(0, 0, 0)[h]));
                let max = logits.iter().copied().fold(sink, f64::max);
                let shift = if max == f64::NEG_INFINITY { 0.0 } else { max };
                let mut sum = (sink - shift).exp();
                let mut values = std::vec![0.0; v.desc.ne[0]];
                for (c, x) in logits.iter().enumerate() {
                    let w = (x - shift).exp();
                    sum += w;
                    if w != 0.0 {
                        for (y, x) in values.iter_mut().zip(v.row(c, kh, ks)) {
                            *y += w * f64::from(x);
                        }
                    }
                }
                out.extend(values.iter().map(|y| if sum == 0.0 { 0.0 } else { y / sum }));
            }
        }
    }
    out
}

/// Attention as a model has it: keys and values in a cache `[d, kv_heads, n]`, seen as `[d, n, kv_heads]`.
struct Case {
    d: usize,
    dv: usize,
    tokens: usize,
    keys: usize,
    heads: usize,
    kv_heads: usize,
    sequences: usize,
    k: DType,
    v: DType,
}

impl Case {
    fn tensors(&self) -> [Tensor; 3] {
        let c = self;
        let q = Tensor::laid_out(
            DType::F32,
            [c.d, c.tokens, c.heads, c.sequences],
            [2, 1, 3],
            0,
            |i| noise(i) * 2.0,
        );
        let k = Tensor::laid_out(c.k, [c.d, c.keys, c.kv_heads, c.sequences], [2, 1, 3], 0, |i| {
            noise(i + 31) * 1.5
        });
        let v = Tensor::laid_out(c.v, [c.dv, c.keys, c.kv_heads, c.sequences], [2, 1, 3], 0, |i| {
            noise(i + 77)
        });
        [q, k, v]
    }

    /// What token `t` (the last ones of the keys) may see.
    fn causal(&self) -> Tensor {
        let past = self.keys.saturating_sub(self.tokens);
        Tensor::new(DType::F16, [self.keys, self.tokens, 1, 1], |i| {
            if i % self.keys > past + i / self.keys { -INF } else { 0.0 }
        })
    }

    fn check(&self, level: Level, op: &Op, mask: Option<&Tensor>, sinks: Option<&Tensor>) {
        let [q, k, v] = self.tensors();
        let src = [Some(&q), Some(&k), Some(&v), mask, sinks];
        let one = run(level, op, &src, 1).unwrap();
        let what = format!(
            "{level:?} d {}/{} {} tokens {} keys {}/{} heads {:?} {:?} {op:?}",
            self.d, self.dv, self.tokens, self.keys, self.heads, self.kv_heads, self.k, self.v
        );
        close(&one.values(), &exact(op, &src), 1e-5, 2e-6, &what);
        for workers in [2, 5] {
            assert_eq!(run(level, op, &src, workers).unwrap().bits(), one.bits(), "{what}");
        }
    }
}

const PLAIN: Case = Case {
    d: 64,
    dv: 64,
    tokens: 1,
    keys: 128,
    heads: 9,
    kv_heads: 3,
    sequences: 1,
    k: DType::F16,
    v: DType::F16,
};

fn head_lengths(level: Level) {
    for (d, dv) in
        [(1, 1), (4, 4), (8, 8), (7, 13), (40, 40), (64, 64), (80, 72), (128, 128), (192, 128)]
    {
        for tokens in [1, 5] {
            for k in [DType::F32, DType::F16, DType::BF16] {
                let c = Case { d, dv, tokens, k, v: k, keys: 45, ..PLAIN };
                c.check(level, &op(0.2, 0.0, 0.0), Some(&c.causal()), None);
            }
        }
    }
}

fn numbers_of_keys_tokens_and_heads(level: Level) {
    for (tokens, keys, heads, kv_heads, sequences) in [
        (1, 1, 1, 1, 1),
        (1, 31, 4, 1, 1),
        (1, 33, 4, 4, 1),
        (3, 64, 5, 5, 2),
        (2, 300, 8, 2, 1),
        (1, 1000, 9, 3, 2),
        (33, 70, 2, 1, 1),
        (40, 129, 6, 2, 2),
        (17, 17, 7, 7, 1),
    ] {
        let c = Case { d: 16, dv: 24, tokens, keys, heads, kv_heads, sequences, ..PLAIN };
        c.check(level, &op(0.25, 0.0, 0.0), None, None);
        c.check(level, &op(0.25, 0.0, 0.0), Some(&c.causal()), None);
    }
}

fn types_of_keys_and_values(level: Level) {
    for (k, v) in [
        (DType::Q8_0, DType::Q8_0),
        (DType::Q4_0, DType::Q4_0),
        (DType::Q5_1, DType::Q5_1),
        (DType::F16, DType::Q8_0),
        (DType::Q8_0, DType::F32),
        (DType::F32, DType::F16),
        (DType::BF16, DType::F16),
    ] {
        for tokens in [1, 19] {
            let c = Case { k, v, tokens, keys: 50, ..PLAIN };
            c.check(level, &op(0.125, 0.0, 0.0), Some(&c.causal()), None);
        }
    }
}

fn caps_biases_and_sinks(level: Level) {
    for tokens in [1, 4, 20] {
        for (heads, kv_heads) in [(4, 4), (6, 2), (12, 3)] {
            let c = Case { d: 32, dv: 32, tokens, keys: 600, heads, kv_heads, ..PLAIN };
            let mask = Tensor::new(DType::F16, [c.keys, tokens, 1, 1], |i| {
                if i % 5 == 0 { -INF } else { -((i % c.keys) as f32) / 64.0 }
            });
            let per_head = Tensor::new(DType::F16, [c.keys, tokens + 3, heads, 1], |i| {
                if i % 7 < 3 { -INF } else { noise(i) }
            });
            let sinks = Tensor::new(DType::F32, [heads, 1, 1, 1], |i| noise(i) * 6.0);
            c.check(level, &op(0.3, 0.0, 5.0), Some(&mask), None);
            c.check(level, &op(0.3, 8.0, 0.0), Some(&mask), None);
            c.check(level, &op(0.3, 0.0, 0.0), Some(&per_head), Some(&sinks));
            c.check(level, &op(0.3, 8.0, 2.0), Some(&per_head), Some(&sinks));
        }
    }
}

fn rows_that_see_nothing_are_zeros(level: Level) {
    for tokens in [1, 3, 30] {
        for keys in [5, 64, 700] {
            let c = Case { tokens, keys, ..PLAIN };
            let all = Tensor::new(DType::F16, [keys, tokens, 1, 1], |_| -INF);
            let [q, k, v] = c.tensors();
            let src = [Some(&q), Some(&k), Some(&v), Some(&all)];
            let got = run(level, &op(0.125, 0.0, 0.0), &src, 2).unwrap();
            assert!(got.values().iter().all(|x| *x == 0.0));
            // Even with a sink, and where other rows see something.
            let sinks = Tensor::new(DType::F32, [9, 1, 1, 1], |_| 0.5);
            let some = Tensor::new(DType::F16, [keys, tokens, 1, 1], |i| {
                if i / keys % 2 == 0 { -INF } else { 0.0 }
            });
            c.check(level, &op(0.125, 0.0, 0.0), Some(&some), Some(&sinks));
        }
    }
}

fn unwritten_cache_behind_the_last_key_is_not_touched(level: Level) {
    for tokens in [1, 12] {
        for (k, v) in [(DType::F16, DType::F16), (DType::F32, DType::F32)] {
            let c = Case { tokens, keys: 700, k, v, ..PLAIN };
            let [q, good_k, good_v] = c.tensors();
            let seen = 77;
            let mask = Tensor::new(DType::F16, [c.keys, tokens, 1, 1], |i| {
                if i % c.keys >= seen { -INF } else { 0.0 }
            });
            let spoil = |t: &Tensor| {
                let ne = t.desc.ne;
                let values = t.values();
                Tensor::laid_out(t.desc.dtype, ne, [2, 1, 3], 0, |i| {
                    if i / ne[0] % ne[1] >= seen { f32::NAN } else { values[i] as f32 }
                })
            };
            let (bad_k, bad_v) = (spoil(&good_k), spoil(&good_v));
            let run = |k: &Tensor, v: &Tensor| {
                run(level, &op(0.125, 0.0, 0.0), &[Some(&q), Some(k), Some(v), Some(&mask)], 1)
                    .unwrap()
            };
            assert_eq!(run(&bad_k, &bad_v).bits(), run(&good_k, &good_v).bits());
        }
    }
}

fn nans_come_through(level: Level) {
    let c = Case { keys: 40, ..PLAIN };
    let [q, _, v] = c.tensors();
    let k = Tensor::laid_out(DType::F16, [64, 40, 3, 1], [2, 1, 3], 0, |i| {
        if i == 5 { f32::NAN } else { noise(i) }
    });
    let got = run(level, &op(0.125, 0.0, 0.0), &[Some(&q), Some(&k), Some(&v)], 1).unwrap();
    // The first key head serves the first three query heads.
    for h in 0..9 {
        assert_eq!(got.row(h, 0, 0).iter().all(|x| x.is_nan()), h < 3, "head {h}");
    }
}

fn nothing_at_all(level: Level) {
    for (tokens, keys) in [(0, 8), (0, 0), (2, 0)] {
        let c = Case { tokens, keys, ..PLAIN };
        let [q, k, v] = c.tensors();
        let got = run(level, &op(0.125, 0.0, 0.0), &[Some(&q), Some(&k), Some(&v)], 2).unwrap();
        assert!(got.values().iter().all(|x| *x == 0.0));
    }
}

on_levels!(
    head_lengths,
    numbers_of_keys_tokens_and_heads,
    types_of_keys_and_values,
    caps_biases_and_sinks,
    rows_that_see_nothing_are_zeros,
    unwritten_cache_behind_the_last_key_is_not_touched,
    nans_come_through,
    nothing_at_all,
);
