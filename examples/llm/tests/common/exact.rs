//! The stories model by hand, in double precision: what its numbers mean, without a graph.
//!
//! The cache is rounded to half precision. The peer rounds two more things, for its products of half-precision matrices
//! take half-precision vectors: the queries and the attention weights. `Rounding::Peer` does so too.

use dinrail_core::tensor::float::{f16_to_f32, f32_to_f16};
use dinrail_gguf::File;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    Cache,
    Peer,
}

const WIDTH: usize = 64;
const HEADS: usize = 8;
const KV: usize = 4;
const D: usize = 8;
const LAYERS: usize = 5;
const VOCAB: usize = 512;

fn half(x: f64) -> f64 {
    f64::from(f16_to_f32(f32_to_f16(x as f32)))
}

struct Weights<'a>(File<'a>);

impl Weights<'_> {
    fn read(&self, name: &str) -> Vec<f64> {
        let t = self.0.tensor(name).unwrap();
        t.bytes()
            .chunks_exact(4)
            .map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap())))
            .collect()
    }
}

/// `w` has one row for each element of the result.
fn product(w: &[f64], x: &[f64]) -> Vec<f64> {
    w.chunks_exact(x.len()).map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
}

fn norm(x: &[f64], w: &[f64]) -> Vec<f64> {
    let mean = x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64;
    x.iter().zip(w).map(|(x, w)| x / (mean + 1e-5).sqrt() * w).collect()
}

fn rotate(x: &mut [f64], position: usize) {
    for head in x.chunks_exact_mut(D) {
        for (i, pair) in head.chunks_exact_mut(2).enumerate() {
            let angle = position as f64 * 10000f64.powf(-2.0 * i as f64 / D as f64);
            let (sin, cos) = angle.sin_cos();
            let (a, b) = (pair[0], pair[1]);
            pair[0] = a * cos - b * sin;
            pair[1] = a * sin + b * cos;
        }
    }
}

/// Logits behind the last token.
pub fn logits(file: &File<'_>, tokens: &[u32], rounding: Rounding) -> Vec<f32> {
    let w = Weights(*file);
    let embed = w.read("token_embd.weight");
    assert_eq!(embed.len(), WIDTH * VOCAB);
    let row = |t: &u32| embed[*t as usize * WIDTH..][..WIDTH].to_vec();
    let mut stream: Vec<Vec<f64>> = tokens.iter().map(row).collect();
    for l in 0..LAYERS {
        let get = |part: &str| w.read(&format!("blk.{l}.{part}.weight"));
        let (wq, wk, wv, wo) = (get("attn_q"), get("attn_k"), get("attn_v"), get("attn_output"));
        let (gate, up, down) = (get("ffn_gate"), get("ffn_up"), get("ffn_down"));
        let (before, between) = (get("attn_norm"), get("ffn_norm"));
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (t, x) in stream.iter_mut().enumerate() {
            let h = norm(x, &before);
            let (mut q, mut k, mut v) = (product(&wq, &h), product(&wk, &h), product(&wv, &h));
            rotate(&mut q, t);
            rotate(&mut k, t);
            k.iter_mut().chain(&mut v).for_each(|x| *x = half(*x));
            if rounding == Rounding::Peer {
                q.iter_mut().for_each(|x| *x = half(*x));
            }
            keys.push(k);
            values.push(v);
            let mut a = vec![0.0; HEADS * D];
            for (head, out) in a.chunks_exact_mut(D).enumerate() {
                let at = head / (HEADS / KV) * D;
                let q = &q[head * D..][..D];
                let dot = |k: &Vec<f64>| q.iter().zip(&k[at..]).map(|(a, b)| a * b).sum::<f64>();
                let scores: Vec<f64> = keys.iter().map(|k| dot(k) / (D as f64).sqrt()).collect();
                let max = scores.iter().copied().fold(f64::MIN, f64::max);
                let sum: f64 = scores.iter().map(|s| (s - max).exp()).sum();
                for (s, v) in scores.iter().zip(&values) {
                    let share = (s - max).exp() / sum;
                    let share = if rounding == Rounding::Peer { half(share) } else { share };
                    out.iter_mut().zip(&v[at..]).for_each(|(o, v)| *o += share * v);
                }
            }
            x.iter_mut().zip(product(&wo, &a)).for_each(|(x, y)| *x += y);
            let h = norm(x, &between);
            let gated: Vec<f64> = product(&gate, &h)
                .into_iter()
                .zip(product(&up, &h))
                .map(|(g, u)| g / (1.0 + (-g).exp()) * u)
                .collect();
            x.iter_mut().zip(product(&down, &gated)).for_each(|(x, y)| *x += y);
        }
    }
    let x = norm(stream.last().unwrap(), &w.read("output_norm.weight"));
    let output = file.tensor("output.weight").map_or(embed.clone(), |t| w.read(t.name));
    product(&output, &x).into_iter().map(|x| x as f32).collect()
}
