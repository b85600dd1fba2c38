//! The memory of a case: sources and result with sentinels in front, between and behind, in one piece.

use crate::case::{Case, SOURCES};
use crate::tolerance::Stats;
use dinrail_core::error::Result;
use dinrail_core::graph::{Graph, GraphBuf, NodeId};
use dinrail_core::tensor::block::decode_row;
use dinrail_core::tensor::{DType, Desc};

/// Slot that the memory is bound to.
pub const SLOT: u8 = 1;
/// Bytes between tensors, at least.
const GAP: usize = 64;

/// What bytes hold that belong to no tensor.
fn sentinel(i: usize) -> u8 {
    (i as u8).wrapping_mul(37) ^ 0x5A
}

/// What a result holds before it is computed: as floats, a NaN.
const POISON: u8 = 0xFF;

/// A case's graph, with everything at fixed offsets.
pub struct Image {
    graph: GraphBuf<12>,
    /// Packed tensors in memory behind the sources.
    stored: [Option<(Desc, usize)>; SOURCES],
    /// The sources.
    pub src: [Option<(Desc, usize)>; SOURCES],
    /// The result's node, layout and first byte.
    pub node: NodeId,
    pub desc: Desc,
    pub at: usize,
    /// Bytes in all.
    pub len: usize,
    /// The result is memory of its own.
    fresh: bool,
}

fn padded(n: usize, align: usize) -> usize {
    n.next_multiple_of(align.max(GAP))
}

impl Image {
    /// Lays a case out for memory of an alignment. `within` puts the result in the memory of that source, as a planner
    /// may do.
    pub fn new(case: &Case, align: usize, within: Option<usize>) -> Result<Self> {
        let mut graph = GraphBuf::new();
        let mut b = graph.builder();
        let mut end = padded(GAP, align);
        let mut ids = [NodeId::NONE; SOURCES];
        let (mut stored, mut src) = ([None; SOURCES], [None; SOURCES]);
        for (i, t) in case.src.iter().enumerate() {
            let Some(t) = t else { continue };
            let desc = Desc::new(t.dtype, t.stored())?;
            stored[i] = Some((desc, end));
            let leaf = b.len();
            ids[i] = t.build(&mut b, SLOT, end);
            // A view may start later than its tensor.
            let offset = if b.len() > leaf + 1 && t.layout == crate::Layout::Window {
                desc.nb[0] + desc.nb[1]
            } else {
                0
            };
            src[i] = b.desc(ids[i]).map(|d| (d, end + offset));
            end = padded(end + desc.bytes() + GAP, align);
        }
        let at = match within.and_then(|i| src[i]) {
            Some((_, offset)) => offset,
            None => end,
        };
        let count = case.src.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
        let node = case.build(&mut b, ids.get(..count).unwrap_or_default(), SLOT, at);
        let desc = b.desc(node);
        b.finish()?;
        let desc = desc.ok_or(dinrail_core::Error::NotFound)?;
        let (at, fresh) = match case.op.alias().and_then(|i| src[i]) {
            Some((_, offset)) => (offset, false),
            None => (at, within.is_none()),
        };
        let len = padded(end + desc.bytes() + GAP, align);
        Ok(Self { graph, stored, src, node, desc, at, len, fresh })
    }

    pub fn graph(&self) -> Graph<'_> {
        self.graph.graph()
    }

    /// Fills memory with sentinels, sources and, where the result goes, poison.
    pub fn write(&self, case: &Case, bytes: &mut [u8]) {
        for (i, b) in bytes.iter_mut().enumerate() {
            *b = sentinel(i);
        }
        for (i, (stored, t)) in self.stored.iter().zip(&case.src).enumerate() {
            if let (Some((d, at)), Some(t)) = (stored, t) {
                let seed = (case.number * SOURCES + i) as u64;
                t.fill.write(seed, d, bytes.get_mut(*at..at + d.bytes()).unwrap_or_default());
            }
        }
        if self.fresh {
            self.blocks(self.at, |_, at, size| {
                bytes.get_mut(at..at + size).unwrap_or_default().fill(POISON);
            });
        }
    }

    /// Calls `f` with number, first byte and size of each block of a result that starts at a byte.
    pub fn blocks(&self, start: usize, mut f: impl FnMut(usize, usize, usize)) {
        each_block(&self.desc, start, &mut f);
    }

    /// Sizes of the sources' values.
    pub fn stats(&self, bytes: &[u8]) -> [Stats; SOURCES] {
        self.src.map(|s| {
            let Some((d, at)) = s else { return Stats::default() };
            let (mut max, mut squares, mut n) = (0.0f64, 0.0, 0u32);
            each_block(&d, at, &mut |_, at, _| {
                values(d.dtype, bytes, at, &mut |x| {
                    if x.is_finite() {
                        max = max.max(x.abs());
                        squares += x * x;
                        n += 1;
                    }
                });
            });
            Stats { max, rms: crate::tolerance::sqrt(squares / f64::from(n.max(1))) }
        })
    }
}

fn each_block(d: &Desc, start: usize, f: &mut impl FnMut(usize, usize, usize)) {
    let (len, size) = (d.dtype.block_len(), d.dtype.block_bytes());
    let mut n = 0;
    for i3 in 0..d.ne[3] {
        for i2 in 0..d.ne[2] {
            for i1 in 0..d.ne[1] {
                for i0 in 0..d.ne[0] / len {
                    f(n, start + i0 * d.nb[0] + d.row_offset(i1, i2, i3), size);
                    n += 1;
                }
            }
        }
    }
}

/// Calls `f` with each value of the block at a byte.
pub fn values(dtype: DType, bytes: &[u8], at: usize, f: &mut impl FnMut(f64)) {
    let block = bytes.get(at..at + dtype.block_bytes()).unwrap_or_default();
    match (dtype, block.first_chunk()) {
        (DType::F64, Some(b)) => f(f64::from_le_bytes(*b)),
        (DType::I64, Some(b)) => f(i64::from_le_bytes(*b) as f64),
        _ => {
            let mut out = [0.0; 256];
            let out = out.get_mut(..dtype.block_len()).unwrap_or_default();
            // The lengths are those of one block, so this can't fail.
            decode_row(dtype, block, out).unwrap_or_default();
            out.iter().for_each(|x| f(f64::from(*x)));
        }
    }
}
