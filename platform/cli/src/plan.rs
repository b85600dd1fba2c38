//! `dinrail plan`

mod svg;

use crate::engine::Model;
use crate::models::{self, Size};
use crate::output::{self, Align, Table, style};
use crate::{Error, Result, args, registry};
use dinrail::graph::{ARENA, Flags, Graph, Node, Place};
use dinrail::op::Op;
use dinrail::plan::{self, Loc, Summary, Work};
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// GGUF file of a model that has a graph here
    file: PathBuf,
    /// Also write a picture: offset in the arena over the nodes' order
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Positions; the trained context, at most 4096, if left out
    #[arg(short, long, visible_alias = "ctx-size", value_name = "N", value_parser = args::count, allow_negative_numbers = true)]
    ctx: Option<usize>,
    /// Tokens or frames at a time
    #[arg(short, long, visible_alias = "batch-size", value_name = "N", value_parser = args::count, allow_negative_numbers = true)]
    batch: Option<usize>,
    /// Device whose alignment and scratch memory to reckon with, instead of the best one
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
}

/// A tensor in the arena: from when to when, from where to where.
#[derive(Clone, Copy, Debug)]
struct Block {
    node: usize,
    first: usize,
    last: usize,
    offset: usize,
    bytes: usize,
}

/// Shows the plan.
///
/// # Errors
/// Whatever is wrong with the file, or with writing the picture.
pub fn run(args: &Args) -> Result {
    if args.batch == Some(0) || args.ctx == Some(0) {
        return Err(Error::new("--batch and --ctx: give 1 or more, or leave them out"));
    }
    let device = registry::device(args.device.as_deref())?;
    let stream = registry::open(device, None)?;
    let model = Model::open(&args.file)?;
    let file = model.file()?;
    let size = Size { batch: args.batch, context: args.ctx };
    let mut nodes: Vec<Node> = Vec::new();
    let graph = models::graph(&model, file.header(), size, &mut nodes)?;
    let options = plan::Options {
        align: device.buffer_type().alignment(),
        scratch: stream.scratch(graph),
        in_place: true,
    };
    let mut work = vec![Work::EMPTY; graph.len()];
    let mut locs = vec![Loc::ZERO; graph.len()];
    let summary = plan::plan(graph, &options, &mut work, &mut locs)?;

    if let Some(path) = &args.svg {
        let picture = svg::draw(graph, &blocks(graph, &work, &locs), &summary);
        dinrail_gguf::replace_file(path, |f| std::io::Write::write_all(f, picture.as_bytes()))
            .map_err(|e: std::io::Error| {
                Error::at(path, format_args!("can't write the picture: {e}"))
            })?;
    }
    print(graph, &locs, &work, &summary)
}

/// The tensors that lie in the arena, with the planner's own account of their lives.
fn blocks(graph: Graph<'_>, work: &[Work], locs: &[Loc]) -> Vec<Block> {
    let end = graph.len().saturating_sub(1);
    graph
        .nodes()
        .iter()
        .enumerate()
        .filter(|(_, n)| matches!(n.place, Place::Arena) && !n.desc.is_empty())
        .map(|(i, n)| {
            let (first, last) = work[i].life(n, i);
            Block {
                node: i,
                first,
                last: last.min(end),
                offset: locs[i].offset,
                bytes: n.desc.bytes(),
            }
        })
        .collect()
}

/// Bytes in use at node `at`, padded as the planner does; memory that two tensors share counts once.
fn live(work: &[Work], at: usize) -> usize {
    let alive = work.iter().filter(|w| w.held().0 <= at && at <= w.held().1);
    alive.map(Work::bytes).sum()
}

/// What a node does, with the name of the function where the operation has many.
fn operation(node: &Node) -> String {
    match node.op {
        Op::None if node.flags.has(Flags::INPUT) => "input".to_owned(),
        Op::None if node.flags.has(Flags::WEIGHT) => "weight".to_owned(),
        Op::None => "memory".to_owned(),
        Op::Unary(f) => f.name().to_owned(),
        Op::Glu(g) => g.kind.name().to_owned(),
        op => op.kind().name().to_owned(),
    }
}

fn shape(node: &Node) -> String {
    let n = node.desc.ne.iter().rposition(|n| *n != 1).map_or(1, |i| i + 1);
    let lengths: Vec<String> = node.desc.ne.iter().take(n).map(usize::to_string).collect();
    lengths.join(" × ")
}

fn print(graph: Graph<'_>, locs: &[Loc], work: &[Work], summary: &Summary) -> Result {
    let mut table = Table::new(&[
        ("node", Align::Right),
        ("operation", Align::Left),
        ("sources", Align::Left),
        ("type", Align::Left),
        ("shape", Align::Right),
        ("bytes", Align::Right),
        ("slot", Align::Right),
        ("offset", Align::Right),
        ("arena in use", Align::Right),
    ]);
    for (i, (node, loc)) in graph.nodes().iter().zip(locs).enumerate() {
        let sources: Vec<String> = node
            .src
            .iter()
            .map(|s| if s.is_none() { "-".to_owned() } else { s.index().to_string() })
            .collect();
        let given = sources.iter().rposition(|s| s != "-").map_or(0, |i| i + 1);
        table.row(vec![
            i.to_string(),
            operation(node),
            sources[..given].join(" "),
            node.desc.dtype.name().to_owned(),
            shape(node),
            node.desc.bytes().to_string(),
            if loc.slot == ARENA { "arena".to_owned() } else { loc.slot.to_string() },
            loc.offset.to_string(),
            if node.op.is_view() { String::new() } else { live(work, i).to_string() },
        ]);
    }
    table.print()?;
    let (head, over) = (style::HEAD, summary.peak.saturating_sub(summary.lower_bound));
    let percent = 100.0 * over as f64 / summary.lower_bound.max(1) as f64;
    output::line("")?;
    output::line(format_args!(
        "{head}{} nodes{head:#}, arena {} bytes ({}): tensors {}, scratch {}",
        graph.len(),
        summary.arena,
        output::bytes(summary.arena as u64),
        summary.peak,
        summary.scratch
    ))?;
    output::line(format_args!(
        "{head}peak {} bytes, lower bound {} bytes{head:#}: {percent:.1} % above what any arrangement needs",
        summary.peak, summary.lower_bound
    ))
}
