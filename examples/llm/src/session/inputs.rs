//! Fills a graph's inputs, runs it and reads the logits.

use super::Error;
use crate::model::Nodes;
use dinrail_core::graph::NodeId;
use dinrail_core::hal::{Span, Stream};
use dinrail_core::program::Program;

/// Minus infinity in half precision, little-endian.
const HIDDEN: [u8; 2] = 0xFC00u16.to_le_bytes();

const PIECE: usize = 256;

static SHOWN_PIECE: [u8; PIECE] = [0; PIECE];
static HIDDEN_PIECE: [u8; PIECE] = {
    let mut piece = [0; PIECE];
    let mut i = 0;
    while i < PIECE {
        piece[i] = HIDDEN[i % 2];
        i += 1;
    }
    piece
};

/// Evaluates `tokens` at positions from `past` on; the graph is for just as many.
pub(super) fn run(
    stream: &Stream,
    program: &Program<'_>,
    nodes: &Nodes,
    tokens: &[u32],
    past: usize,
    logits: Option<&mut [f32]>,
) -> Result<(), Error> {
    fill(program, nodes, tokens, past)?;
    stream.compute(program)?;
    stream.synchronize()?;
    if let Some(logits) = logits {
        program.get_f32(nodes.logits, logits)?;
    }
    Ok(())
}

/// Writes the inputs.
pub(super) fn fill(
    program: &Program<'_>,
    nodes: &Nodes,
    tokens: &[u32],
    past: usize,
) -> Result<(), Error> {
    let n = tokens.len();
    let positions = (0..n).map(|i| ((past + i) as u32).to_le_bytes());
    words(program, nodes.tokens, tokens.iter().map(|t| t.to_le_bytes()))?;
    words(program, nodes.positions, positions.clone())?;
    words(program, nodes.kv_index, positions)?;
    mask(program, nodes.mask, n, past)?;
    if !nodes.out_rows.is_none() {
        words(program, nodes.out_rows, core::iter::once((n as u32 - 1).to_le_bytes()))?;
    }
    Ok(())
}

struct Target<'a> {
    program: &'a Program<'a>,
    id: NodeId,
    at: usize,
}

impl Target<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let node = self.program.graph().node(self.id).ok_or(Error::Program)?;
        let (buffer, offset) = self.program.place(self.id).ok_or(Error::Program)?;
        buffer.set(Span { desc: &node.desc, offset }, self.at, bytes)?;
        self.at += bytes.len();
        Ok(())
    }

    fn fill(&mut self, piece: &[u8; PIECE], mut len: usize) -> Result<(), Error> {
        while len > 0 {
            let part = piece.get(..len).unwrap_or(piece);
            self.put(part)?;
            len -= part.len();
        }
        Ok(())
    }
}

fn words(
    program: &Program<'_>,
    id: NodeId,
    words: impl Iterator<Item = [u8; 4]>,
) -> Result<(), Error> {
    let mut target = Target { program, id, at: 0 };
    let mut piece = [0u8; PIECE];
    let mut filled = 0;
    for word in words {
        if let Some(to) = piece.get_mut(filled..filled + 4) {
            to.copy_from_slice(&word);
            filled += 4;
        }
        if filled == PIECE {
            target.put(&piece)?;
            filled = 0;
        }
    }
    target.put(piece.get(..filled).unwrap_or(&[]))
}

/// Token `i` sees the cells of all positions up to its own.
fn mask(program: &Program<'_>, id: NodeId, tokens: usize, past: usize) -> Result<(), Error> {
    let cells = program.graph().node(id).ok_or(Error::Program)?.desc.ne[0];
    let mut target = Target { program, id, at: 0 };
    for i in 0..tokens {
        let shown = (past + i + 1).min(cells);
        target.fill(&SHOWN_PIECE, 2 * shown)?;
        target.fill(&HIDDEN_PIECE, 2 * (cells - shown))?;
    }
    Ok(())
}
