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
                "same_as": registry::twin(d).map(|t| t.name()),
            })
        })
        .collect()
}

/// Prints the table: each piece of hardware once, and below it who else drives it.
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
    let mut again = Vec::new();
    for (b, d) in registry::devices() {
        if let Some(twin) = registry::twin(d) {
            again.push((b, d, twin));
            continue;
        }
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
            or_dash(&match d.id() {
                Some(id) => format!("{} [{id}]", d.description()),
                None => d.description().to_owned(),
            }),
        ]);
    }
    table.print()?;
    for (b, d, twin) in again {
        output::line(output::printable(&format!(
            "{} of {} is {} again ({}); --device {} takes it all the same",
            d.name(),
            b.name(),
            twin.name(),
            d.id().unwrap_or_default(),
            d.name(),
        )))?;
    }
    for (_, b) in dinrail::registry().backends() {
        if let (0, Some(reason)) = (b.device_count(), b.reason()) {
            output::note(output::printable(&format!("{} has no device: {reason}", b.name())));
        }
    }
    Ok(())
}
