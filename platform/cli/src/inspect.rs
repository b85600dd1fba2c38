//! `dinrail inspect`

use crate::engine::Model;
use crate::models::{self, Size};
use crate::output::{self, Align, Table, printable, style};
use crate::{Error, Result, args, registry};
use dinrail::graph::Node;
use dinrail::hal::{Device, Query};
use dinrail::plan::{self, Loc, Work};
use dinrail_gguf::{File, Info, Value};
use dinrail_llm::model::{Config, Shape};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// GGUF file
    file: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Positions to reckon with; the trained context, at most 4096, if left out
    #[arg(short, long, visible_alias = "ctx-size", value_name = "N", value_parser = args::count, allow_negative_numbers = true)]
    ctx: Option<usize>,
}

/// Shows a file.
///
/// # Errors
/// A file that can't be read, or is no GGUF. One that can't be run is no error here: why not is part of what is shown.
pub fn run(args: &Args) -> Result {
    if args.ctx == Some(0) {
        return Err(Error::new("--ctx 0: give 1 or more, or leave it out for the trained context"));
    }
    let model = Model::open(&args.file)?;
    let file = model.file()?;
    let size = Size { batch: None, context: args.ctx };
    let verdicts: Vec<Verdict> =
        registry::devices().map(|(_, d)| Verdict::of(&model, &file, size, d)).collect();
    if args.json { as_json(&model, &file, &verdicts) } else { as_text(&model, &file, &verdicts) }
}

/// Whether a device can run the model.
struct Verdict {
    device: &'static str,
    outcome: core::result::Result<Need, String>,
}

/// Memory that running takes, in bytes.
struct Need {
    weights: usize,
    cache: usize,
    arena: usize,
    free: usize,
    /// Weights are used where they lie, in pages that give way when memory is short.
    mapped: bool,
}

impl Need {
    fn taken(&self) -> usize {
        let weights = if self.mapped { 0 } else { self.weights };
        weights.saturating_add(self.cache).saturating_add(self.arena)
    }

    fn fits(&self) -> bool {
        self.free == 0 || self.taken() <= self.free
    }
}

impl Verdict {
    fn of(model: &Model, file: &File<'_>, size: Size, device: &'static dyn Device) -> Self {
        let outcome = need(model, file, size, device).map_err(|e| match e {
            Error::Message(line) => {
                let path = format!("{}: ", model.path().display());
                line.strip_prefix(&path).map_or(line.clone(), str::to_owned)
            }
            other => format!("{other:?}"),
        });
        Verdict { device: device.name(), outcome }
    }
}

fn need(model: &Model, file: &File<'_>, size: Size, device: &'static dyn Device) -> Result<Need> {
    let header = file.header();
    let mut nodes: Vec<Node> = Vec::new();
    let graph = models::graph(model, header, size, &mut nodes)?;
    for (i, node) in graph.nodes().iter().enumerate().filter(|(_, n)| !n.op.is_view()) {
        let id = dinrail::graph::NodeId(i as u16);
        let sources = Query::sources(graph, id);
        if !device.supports(&Query::of(node, &sources)) {
            let weights = sources.source(0).map_or("", |d| d.dtype.name());
            return Err(Error::new(format_args!(
                "this device can't compute {} on {weights}: use another device or another type",
                node.op.kind().name()
            )));
        }
    }
    let stream = registry::open(device, None)?;
    let options = plan::Options {
        align: device.buffer_type().alignment(),
        scratch: stream.scratch(graph),
        in_place: true,
    };
    let mut work = vec![Work::EMPTY; graph.len()];
    let mut locs = vec![Loc::ZERO; graph.len()];
    let summary = plan::plan(graph, &options, &mut work, &mut locs)?;
    let cache = match Config::read(header) {
        Ok(config) => {
            let cells = size.context.unwrap_or_else(|| config.context.min(models::DEFAULT_CONTEXT));
            Shape::token(cells).cache_bytes(&config)?
        }
        Err(_) => 0,
    };
    let free = match device.memory().free {
        0 => dinrail::host::memory().free,
        free => free,
    };
    Ok(Need {
        weights: file.as_bytes().len(),
        cache,
        arena: summary.arena,
        free,
        mapped: device.caps().buffer_from_host,
    })
}

/// A value, long arrays and strings cut short.
fn short(value: &Value<'_>) -> String {
    const MOST: usize = 80;
    let text = match value {
        Value::Str(s) => format!("\"{}\"", printable(&s.to_string())),
        Value::Array(a) => {
            let first: Vec<String> = a.iter().take(6).map(|v| short(&v)).collect();
            let more = if a.len() > first.len() { ", …" } else { "" };
            format!("{} × {:?} [{}{more}]", a.len(), a.kind(), first.join(", "))
        }
        Value::U8(v) => v.to_string(),
        Value::I8(v) => v.to_string(),
        Value::U16(v) => v.to_string(),
        Value::I16(v) => v.to_string(),
        Value::U32(v) => v.to_string(),
        Value::I32(v) => v.to_string(),
        Value::F32(v) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::U64(v) => v.to_string(),
        Value::I64(v) => v.to_string(),
        Value::F64(v) => v.to_string(),
    };
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn shape(info: &Info<'_>) -> String {
    let n = info.n_dims.max(1) as usize;
    let lengths: Vec<String> = info.ne.iter().take(n).map(u64::to_string).collect();
    lengths.join(" × ")
}

/// Tensors, elements and bytes of each type.
fn types(file: &File<'_>) -> BTreeMap<&'static str, (usize, u64, u64)> {
    let mut types = BTreeMap::new();
    for t in file.tensors() {
        let (n, elements, bytes) = types.entry(t.dtype.name()).or_insert((0, 0u64, 0u64));
        *n += 1;
        *elements = elements.saturating_add(t.ne.iter().fold(1u64, |a, n| a.saturating_mul(*n)));
        *bytes = bytes.saturating_add(t.size);
    }
    types
}

fn as_text(model: &Model, file: &File<'_>, verdicts: &[Verdict]) -> Result {
    let (head, good, bad) = (style::HEAD, style::GOOD, style::BAD);
    output::line(format_args!(
        "{head}{}{head:#}: GGUF {}, {}, {} keys, {} tensors, data from byte {}, alignment {}",
        model.path().display(),
        file.version(),
        output::bytes(file.as_bytes().len() as u64),
        file.metadata().len(),
        file.tensors().len(),
        file.data_offset(),
        file.alignment()
    ))?;
    output::line("")?;
    let mut keys =
        Table::new(&[("key", Align::Left), ("type", Align::Left), ("value", Align::Left)]);
    for (key, value) in file.metadata() {
        keys.row(vec![printable(key), format!("{:?}", value.kind()), short(&value)]);
    }
    keys.print()?;
    output::line("")?;
    let mut tensors = Table::new(&[
        ("tensor", Align::Left),
        ("type", Align::Left),
        ("shape", Align::Right),
        ("size", Align::Right),
        ("offset", Align::Right),
    ]);
    for t in file.tensors() {
        tensors.row(vec![
            printable(t.name),
            t.dtype.name().to_owned(),
            shape(&t.info()),
            output::bytes(t.size),
            t.offset.to_string(),
        ]);
    }
    tensors.print()?;
    output::line("")?;
    let mut sums = Table::new(&[
        ("type", Align::Left),
        ("tensors", Align::Right),
        ("elements", Align::Right),
        ("size", Align::Right),
    ]);
    for (name, (n, elements, bytes)) in types(file) {
        sums.row(vec![name.to_owned(), n.to_string(), elements.to_string(), output::bytes(bytes)]);
    }
    sums.print()?;
    output::line("")?;
    for v in verdicts {
        let text = match &v.outcome {
            Ok(n) => {
                let parts = format!(
                    "cache {}, arena {}, model {}{}",
                    output::bytes(n.cache as u64),
                    output::bytes(n.arena as u64),
                    output::bytes(n.weights as u64),
                    if n.mapped { " (used in place)" } else { "" },
                );
                match n.fits() {
                    true => format!("{good}runs{good:#}: {parts}"),
                    false => format!(
                        "{bad}does not fit{bad:#}: {parts}; {} are needed, {} are free: ask for a smaller --ctx",
                        output::bytes(n.taken() as u64),
                        output::bytes(n.free as u64)
                    ),
                }
            }
            Err(why) => format!("{bad}does not run{bad:#}: {why}"),
        };
        output::line(format_args!("{head}{}{head:#} {text}", v.device))?;
    }
    Ok(())
}

fn value_json(value: &Value<'_>) -> Json {
    match value {
        Value::Str(s) => json!(s.to_string()),
        Value::Array(a) => {
            let first: Vec<Json> = a.iter().take(8).map(|v| value_json(&v)).collect();
            json!({ "type": format!("{:?}", a.kind()), "len": a.len(), "first": first })
        }
        Value::Bool(v) => json!(v),
        Value::F32(v) => json!(v),
        Value::F64(v) => json!(v),
        Value::U64(v) => json!(v),
        other => json!(other.as_i64()),
    }
}

fn as_json(model: &Model, file: &File<'_>, verdicts: &[Verdict]) -> Result {
    let metadata: serde_json::Map<String, Json> =
        file.metadata().map(|(k, v)| (k.to_owned(), value_json(&v))).collect();
    let tensors: Vec<Json> = file
        .tensors()
        .map(|t| {
            json!({ "name": t.name, "type": t.dtype.name(), "shape": t.ne[..t.n_dims.max(1) as usize],
                "offset": t.offset, "size": t.size })
        })
        .collect();
    let types: serde_json::Map<String, Json> = types(file)
        .into_iter()
        .map(|(name, (n, elements, bytes))| {
            (name.to_owned(), json!({ "tensors": n, "elements": elements, "size": bytes }))
        })
        .collect();
    let devices: Vec<Json> = verdicts
        .iter()
        .map(|v| match &v.outcome {
            Ok(n) => {
                json!({ "device": v.device, "runs": n.fits(), "model": n.weights, "cache": n.cache,
                "arena": n.arena, "free": n.free, "in_place": n.mapped })
            }
            Err(why) => json!({ "device": v.device, "runs": false, "reason": why }),
        })
        .collect();
    output::json(&json!({
        "file": model.path().display().to_string(),
        "size": file.as_bytes().len(),
        "version": file.version(),
        "alignment": file.alignment(),
        "data_offset": file.data_offset(),
        "metadata": metadata,
        "tensors": tensors,
        "types": types,
        "devices": devices,
    }))
}
