//! The devices that share a model, and who has which layer.

use crate::args::Placement;
use crate::output::{self, Align, Table};
use crate::registry::{self, Chosen};
use crate::{Error, Result};
use dinrail::graph::NodeId;
use dinrail::hal::{DeviceKind, Stream};
use dinrail::op::Op;
use dinrail::sched::MAX_TARGETS;
use dinrail_layers::{Layer, Wall};
use dinrail_llm::session::split::{self, Shown};

/// Devices in the scheduler's order, the one that has what nobody else has at the end.
#[derive(Debug)]
pub struct Team {
    members: Vec<Chosen>,
    /// One for each member.
    streams: Vec<Stream>,
    /// Members that share the layers, in the order that the user gave, with their shares.
    on: Vec<(usize, f64)>,
    /// How many layers they share.
    layers: usize,
}

fn is_host(c: &Chosen) -> bool {
    c.device.kind() == DeviceKind::Cpu && c.device.buffer_type().is_host()
}

impl Team {
    /// The devices that the command line asks for, with a stream on each.
    ///
    /// # Errors
    /// A device that isn't there; shares or layers without devices to go to; as [`Chosen::open`].
    pub fn new(place: &Placement) -> Result<Self> {
        let named = match &place.device {
            Some(names) => registry::list(names)?,
            None => vec![registry::chosen(None)?],
        };
        if named.is_empty() {
            return Err(Error::new("--device: give a name, or leave it out for the best device"));
        }
        if named.len() >= MAX_TARGETS {
            return Err(Error::new(format_args!(
                "--device: {} devices are too many; name fewer than {MAX_TARGETS}",
                named.len()
            )));
        }
        // Where the prompt comes from, and what no other device can compute: the host's own processor.
        let mut order: Vec<usize> = (0..named.len()).collect();
        let mut members = Vec::new();
        let cpu = registry::chosen(Some("cpu")).ok().filter(is_host);
        let is_cpu =
            |c: &Chosen| cpu.as_ref().is_some_and(|cpu| core::ptr::addr_eq(cpu.device, c.device));
        let host = named.iter().rposition(is_cpu).or_else(|| named.iter().rposition(is_host));
        if let Some(host) = host {
            order.retain(|i| *i != host);
            order.push(host);
        }
        members.extend(order.iter().map(|i| named[*i].clone()));
        if host.is_none() {
            members.extend(cpu);
        }
        let rest = members.len() - 1;
        let target = |i: usize| order.iter().position(|o| *o == i).unwrap_or(rest);
        let mut on: Vec<usize> = (0..named.len()).map(target).collect();
        if let Some(n) = place.gpu_layers {
            // Counted are those that don't stay where they are.
            on.retain(|t| *t != rest);
            if n > 0 && on.is_empty() {
                return Err(Error::new(format_args!(
                    "--gpu-layers {}: there is no device beside {} to put layers on; name one with --device \
                     (`dinrail devices` lists them), or leave it out",
                    if n == usize::MAX { "all".to_owned() } else { n.to_string() },
                    members[rest].device.name()
                )));
            }
        }
        let shares = shares(place, &members, &on)?;
        if place.apart {
            for member in members.iter_mut().take(rest) {
                member.device = Box::leak(Box::new(Layer::new(member.device, Wall)));
            }
        }
        let on = on.into_iter().zip(shares).collect();
        let streams = open(&members, place.threads)?;
        Ok(Team { members, streams, on, layers: place.gpu_layers.unwrap_or(usize::MAX) })
    }

    /// Whether there is just one device, so that there is nothing to split.
    pub fn alone(&self) -> Option<&Chosen> {
        match self.members.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// The device that the model file is bound to.
    pub fn host(&self) -> &Chosen {
        // There is at least one.
        &self.members[self.members.len() - 1]
    }

    /// The devices that have layers, in words.
    pub fn name(&self) -> String {
        let name = |t: &usize| self.members[*t].device.name();
        let mut names: Vec<&str> = self.on.iter().map(|(t, _)| name(t)).collect();
        let rest = self.members.len() - 1;
        if !self.on.iter().any(|(t, _)| *t == rest) {
            names.push(name(&rest));
        }
        names.join(" + ")
    }

    /// The streams, the host's at the end.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Who has which of a model's layers.
    pub fn placement(&self, place: &Placement, layers: usize) -> split::Placement {
        let rest = self.members.len() - 1;
        split::Placement {
            offload: !place.no_offload,
            copies: place.copies.max(1),
            ..split::Placement::last(layers, self.layers, &self.on, rest)
        }
    }
}

fn open(members: &[Chosen], threads: Option<usize>) -> Result<Vec<Stream>> {
    let open = |c: &Chosen| match c.open(threads) {
        // Of several devices some have no threads to choose: those that can't have two either.
        Err(e) if members.len() > 1 && threads != Some(0) => match c.open(Some(2)) {
            Ok(_) => Err(e),
            Err(_) => c.open(None).map_err(|_| e),
        },
        other => other,
    };
    members.iter().map(open).collect()
}

fn shares(place: &Placement, members: &[Chosen], on: &[usize]) -> Result<Vec<f64>> {
    if place.tensor_split.is_empty() {
        let free: Vec<usize> = on.iter().map(|t| members[*t].device.memory().free).collect();
        let known = free.iter().all(|f| *f > 0);
        return Ok(free.iter().map(|f| if known { *f as f64 } else { 1.0 }).collect());
    }
    if place.tensor_split.len() != on.len() {
        return Err(Error::new(format_args!(
            "--tensor-split: {} shares for {} devices; give one for each of --device",
            place.tensor_split.len(),
            on.len()
        )));
    }
    if place.tensor_split.iter().all(|s| *s == 0.0) {
        return Err(Error::new("--tensor-split: all shares are 0; give one that is more"));
    }
    Ok(place.tensor_split.iter().map(|s| f64::from(*s)).collect())
}

/// `0-3 7` for layers 0 to 3 and layer 7; `out` for the output.
fn ranges(layers: &[bool]) -> String {
    let last = layers.len().saturating_sub(1);
    let mut parts = Vec::new();
    let mut i = 0;
    while i < last {
        let run = layers[i..last].iter().take_while(|l| **l).count();
        match run {
            0 => {}
            1 => parts.push(i.to_string()),
            _ => parts.push(format!("{i}-{}", i + run - 1)),
        }
        i += run.max(1);
    }
    if layers.last() == Some(&true) {
        parts.push("out".to_owned());
    }
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}

/// Shows the splits of one token's graph, and what each device is asked for. Nothing has been taken yet.
pub fn show(shown: &Shown<'_>) {
    let Shown { schedule, graph, marks, placement, sizes } = *shown;
    let name = |t: usize| schedule.streams().get(t).map_or("", |s| s.device().name());
    let mut table = Table::new(&[
        ("split", Align::Right),
        ("device", Align::Left),
        ("nodes", Align::Left),
        ("layers", Align::Left),
        ("computed", Align::Right),
        ("copied in", Align::Left),
    ]);
    for (i, split) in schedule.splits().iter().enumerate() {
        let nodes: Vec<NodeId> =
            (split.first..split.end).map(|n| schedule.origin(NodeId(n))).collect();
        let op = |n: &NodeId| graph.node(*n).map_or(Op::None, |n| n.op);
        let computed = nodes.iter().filter(|n| !op(n).is_view()).count();
        let within: Vec<bool> = marks
            .iter()
            .enumerate()
            .map(|(k, first)| {
                let end = marks.get(k + 1).copied().unwrap_or(graph.len());
                nodes.iter().any(|n| !op(n).is_view() && (*first..end).contains(&n.index()))
            })
            .collect();
        let copied: Vec<(NodeId, usize, usize)> = schedule.transfers(split).collect();
        let bytes: usize = copied.iter().map(|c| c.2).sum();
        let mut from: Vec<&str> = copied.iter().map(|c| name(c.1)).collect();
        from.dedup();
        let list: Vec<String> = copied.iter().map(|c| format!("{}:{}", c.0.index(), c.2)).collect();
        table.row(vec![
            i.to_string(),
            name(usize::from(split.target)).to_owned(),
            match (nodes.iter().map(|n| n.index()).min(), nodes.iter().map(|n| n.index()).max()) {
                (Some(a), Some(b)) => format!("{a}-{b}"),
                _ => "-".to_owned(),
            },
            ranges(&within),
            computed.to_string(),
            match copied.len() {
                0 => "-".to_owned(),
                n => format!(
                    "{n} tensors, {} from {} (node:bytes {})",
                    output::bytes(bytes as u64),
                    from.join(", "),
                    list.join(" ")
                ),
            },
        ]);
    }
    table.note();
    output::note("");
    let mut table = Table::new(&[
        ("device", Align::Left),
        ("layers", Align::Left),
        ("weights", Align::Right),
        ("cache", Align::Right),
        ("arena", Align::Right),
        ("of one token: tensors", Align::Right),
        ("scratch", Align::Right),
        ("inputs", Align::Right),
    ]);
    let bytes = |n: usize| output::bytes(n as u64);
    for (t, size) in sizes.iter().enumerate() {
        let mut layers: Vec<bool> = placement.layers.iter().map(|l| *l == t).collect();
        layers.push(placement.head == t);
        table.row(vec![
            name(t).to_owned(),
            ranges(&layers),
            if size.weights == 0 { "in the file".to_owned() } else { bytes(size.weights) },
            bytes(size.cache),
            bytes(size.arena),
            bytes(size.one.tensors),
            bytes(size.one.scratch),
            bytes(size.one.turning),
        ]);
    }
    table.note();
    output::note("");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_told_in_ranges() {
        let of = |text: &str| ranges(&text.bytes().map(|b| b == b'x').collect::<Vec<_>>());
        assert_eq!(of("xxx.x"), "0-2 out");
        assert_eq!(of("x.xx."), "0 2-3");
        assert_eq!(of("....x"), "out");
        assert_eq!(of("....."), "-");
    }
}
