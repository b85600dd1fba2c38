//! The picture: time to the right, offset upwards, one box for each tensor.

use super::{Block, operation, shape};
use dinrail::graph::Graph;
use dinrail::plan::Summary;
use std::fmt::Write as _;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 600.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 40.0;

/// Draws a plan.
pub(super) fn draw(graph: Graph<'_>, blocks: &[Block], summary: &Summary) -> String {
    let mut out = String::new();
    // A `String` takes everything.
    let _ = write(&mut out, graph, blocks, summary);
    out
}

fn write(
    out: &mut String,
    graph: Graph<'_>,
    blocks: &[Block],
    summary: &Summary,
) -> core::fmt::Result {
    let high = summary.arena.max(summary.lower_bound).max(1) as f64;
    let x = |t: usize| LEFT + WIDTH * t as f64 / graph.len().max(1) as f64;
    let y = |offset: usize| TOP + HEIGHT * (1.0 - offset as f64 / high);
    let (w, h) = (LEFT + WIDTH + 20.0, TOP + HEIGHT + 50.0);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" font-family=\"sans-serif\" font-size=\"12\">"
    )?;
    writeln!(out, "<rect width=\"{w}\" height=\"{h}\" fill=\"white\"/>")?;
    writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"20\">{} nodes, arena {} bytes, peak {}, lower bound {}</text>",
        graph.len(),
        summary.arena,
        summary.peak,
        summary.lower_bound
    )?;
    for b in blocks {
        let node = &graph.nodes()[b.node];
        let hue = node.op.kind() as u32 * 47 % 360;
        writeln!(
            out,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"hsl({hue},60%,70%)\" \
             stroke=\"black\" stroke-width=\"0.3\"><title>node {}: {}, {} {}, {} bytes at {}, alive {} to {}</title>\
             </rect>",
            x(b.first),
            y(b.offset + b.bytes),
            x(b.last + 1) - x(b.first),
            y(b.offset) - y(b.offset + b.bytes),
            b.node,
            operation(node),
            node.desc.dtype.name(),
            shape(node),
            b.bytes,
            b.offset,
            b.first,
            b.last
        )?;
    }
    for (bytes, name, colour) in
        [(summary.peak, "peak", "black"), (summary.lower_bound, "lower bound", "red")]
    {
        let at = y(bytes);
        writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{:.2}\" y1=\"{at:.2}\" y2=\"{at:.2}\" stroke=\"{colour}\" \
             stroke-dasharray=\"4\"><title>{name}: {bytes} bytes</title></line>",
            LEFT + WIDTH
        )?;
    }
    for quarter in 0..=4 {
        let offset = (high * f64::from(quarter) / 4.0) as usize;
        writeln!(
            out,
            "<text x=\"{}\" y=\"{:.2}\" text-anchor=\"end\">{offset}</text>",
            LEFT - 6.0,
            y(offset) + 4.0
        )?;
    }
    writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{}\">nodes in the order of computation; offset in bytes</text>",
        TOP + HEIGHT + 30.0
    )?;
    writeln!(out, "</svg>")
}
