//! `dinrail devices`

use crate::output::{self, Align, Table};
use crate::{Result, load, registry};
use dinrail::hal::Caps;
use serde_json::json;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    load: load::Choice,
}

/// Lists the devices.
///
/// # Errors
/// What printing gives.
pub fn run(args: &Args) -> Result {
    let report = args.load.load();
    match (&report, args.json) {
        (Some(report), true) => {
            output::json(&json!({ "devices": as_json(), "load": load::as_json(report) }))
        }
        (Some(report), false) => {
            output::text(report)?;
            output::line("")?;
            table()
        }
        (None, true) => output::json(&as_json()),
        (None, false) => table(),
    }
}

fn caps(caps: Caps) -> Vec<&'static str> {
    [
        (caps.asynchronous, "async"),
        (caps.host_buffer, "pinned"),
        (caps.buffer_from_host, "zero-copy"),
        (caps.events, "events"),
    ]
    .into_iter()
    .filter_map(|(there, name)| there.then_some(name))
    .collect()
}

fn as_json() -> serde_json::Value {
    registry::devices()
        .map(|(b, d)| {
            let memory = d.memory();
            json!({
                "backend": b.name(),
                "device": d.name(),
                "kind": d.kind().name(),
                "description": d.description(),
                "memory_free": memory.free,
                "memory_total": memory.total,
                "level": d.level(),
                "caps": caps(d.caps()),
                "id": d.id(),
            })
        })
        .collect()
}

/// Prints the table.
///
/// # Errors
/// What printing gives.
pub fn table() -> Result {
    let mut table = Table::new(&[
        ("backend", Align::Left),
        ("device", Align::Left),
        ("kind", Align::Left),
        ("memory free / total", Align::Right),
        ("level", Align::Left),
        ("capabilities", Align::Left),
        ("description", Align::Left),
    ]);
    let or_dash =
        |text: &str| if text.is_empty() { "-".to_owned() } else { output::printable(text) };
    for (b, d) in registry::devices() {
        let memory = d.memory();
        table.row(vec![
            b.name().to_owned(),
            d.name().to_owned(),
            d.kind().name().to_owned(),
            match memory.total {
                0 => "-".to_owned(),
                total => {
                    format!(
                        "{} / {}",
                        output::bytes(memory.free as u64),
                        output::bytes(total as u64)
                    )
                }
            },
            or_dash(d.level()),
            or_dash(&caps(d.caps()).join(" ")),
            or_dash(d.description()),
        ]);
    }
    table.print()
}
