//! The graph of one token of a small Llama: as many nodes as a real one of five layers has.

use dinrail_core::graph::{Builder, GraphBuf, NodeId};
use dinrail_core::op::{GluKind, Rope, RopeMode};
use dinrail_core::tensor::DType;

pub const DIM: usize = 64;
const HEADS: usize = 8;
const HEAD: usize = DIM / HEADS;
const HIDDEN: usize = 160;
const LAYERS: usize = 5;
pub const CONTEXT: usize = 64;
pub const NODES: usize = 320;

pub struct Token {
    pub buf: GraphBuf<NODES>,
    pub x: NodeId,
    pub at: NodeId,
    pub row: NodeId,
    pub mask: NodeId,
    pub out: NodeId,
    pub weights: usize,
    pub cache: usize,
}

pub fn token(context: usize) -> Token {
    let mut buf = GraphBuf::<NODES>::new();
    let mut b = buf.builder();
    let mut weights = 0;
    let mut caches = 0;
    let x = b.input(DType::F32, [DIM, 1, 1, 1]);
    let at = b.input(DType::I32, [1, 1, 1, 1]);
    let row = b.input(DType::I64, [1, 1, 1, 1]);
    let mask = b.input(DType::F32, [context, 1, 1, 1]);
    let rope = Rope::plain(HEAD as u16, RopeMode::Normal, 10_000.0);
    let mut h = x;
    for _ in 0..LAYERS {
        let mut weight = |b: &mut Builder<'_>, ne: [usize; 4]| {
            let id = b.weight(DType::F32, ne, 1, weights);
            weights += (ne[0] * ne[1] * 4).next_multiple_of(64);
            id
        };
        let mut cache = |b: &mut Builder<'_>| {
            let id = b.leaf(DType::F16, [DIM, CONTEXT, 1, 1], 2, caches);
            caches += DIM * CONTEXT * 2;
            id
        };
        let norm = b.rms_norm(h, 1e-5);
        let g = weight(&mut b, [DIM, 1, 1, 1]);
        let norm = b.mul(norm, g);
        let mut project = |b: &mut Builder<'_>, to: usize| {
            let w = weight(b, [DIM, to, 1, 1]);
            b.mul_mat(w, norm)
        };
        let (q, k, v) = (project(&mut b, DIM), project(&mut b, DIM), project(&mut b, DIM));
        let (q, k) = (b.reshape(q, [HEAD, HEADS, 1, 1]), b.reshape(k, [HEAD, HEADS, 1, 1]));
        let q = b.rope(q, at, NodeId::NONE, rope);
        let k = b.rope(k, at, NodeId::NONE, rope);
        let k = b.reshape(k, [DIM, 1, 1, 1]);
        let (kc, vc) = (cache(&mut b), cache(&mut b));
        let (ks, vs) = (b.set_rows(k, row, kc), b.set_rows(v, row, vc));
        let (line, all) = (2 * DIM, 2 * DIM * context);
        let heads = [HEAD, context, HEADS, 1];
        let kv = b.view(ks, heads, [line, 2 * HEAD, all], 0);
        let vv = b.view(vs, heads, [line, 2 * HEAD, all], 0);
        let vt = b.transpose(vv);
        let vt = b.cont(vt);
        let q = b.permute(q, [0, 2, 1, 3]);
        let s = b.mul_mat(kv, q);
        let s = b.soft_max(s, mask, 1.0 / (HEAD as f32).sqrt(), 0.0);
        let o = b.mul_mat(vt, s);
        let o = b.permute(o, [0, 2, 1, 3]);
        let o = b.cont(o);
        let o = b.reshape(o, [DIM, 1, 1, 1]);
        let w = weight(&mut b, [DIM, DIM, 1, 1]);
        let o = b.mul_mat(w, o);
        h = b.add(h, o);
        let norm = b.rms_norm(h, 1e-5);
        let g = weight(&mut b, [DIM, 1, 1, 1]);
        let norm = b.mul(norm, g);
        let (w1, w3) = (weight(&mut b, [DIM, HIDDEN, 1, 1]), weight(&mut b, [DIM, HIDDEN, 1, 1]));
        let (a, c) = (b.mul_mat(w1, norm), b.mul_mat(w3, norm));
        let f = b.glu(a, c, GluKind::Swiglu);
        let w2 = weight(&mut b, [HIDDEN, DIM, 1, 1]);
        let f = b.mul_mat(w2, f);
        h = b.add(h, f);
    }
    b.output(h);
    b.finish().unwrap();
    Token { buf, x, at, row, mask, out: h, weights, cache: caches }
}
