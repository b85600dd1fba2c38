//! Which devices there are, and which one to take.

use crate::{Error, Result};
use dinrail::hal::{Backend, Device, Params, Stream};

/// Every device with its backend.
pub fn devices() -> impl Iterator<Item = (&'static dyn Backend, &'static dyn Device)> {
    dinrail::registry()
        .backends()
        .flat_map(|(_, b)| (0..b.device_count()).filter_map(move |i| Some((b, b.device(i)?))))
}

/// The device of this name, or the best one.
///
/// # Errors
/// A name that no device has: what there is, and what may have been meant.
pub fn device(name: Option<&str>) -> Result<&'static dyn Device> {
    let Some(name) = name else {
        return dinrail::registry().best_device().ok_or_else(|| {
            Error::new(
                "no device is compiled in: build with a backend feature, such as `--features cpu`",
            )
        });
    };
    dinrail::registry().device_by_name(name).ok_or_else(|| {
        let names: Vec<&str> = devices().map(|(_, d)| d.name()).collect();
        unknown(name, &names)
    })
}

fn unknown(name: &str, names: &[&str]) -> Error {
    let wanted = name.to_lowercase();
    let close = names
        .iter()
        .map(|n| (strsim::jaro_winkler(&wanted, &n.to_lowercase()), n))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let there_are = match names {
        [] => "none is compiled in".to_owned(),
        _ => format!("there are: {}", names.join(", ")),
    };
    match close {
        Some((_, close)) => Error::new(format_args!(
            "--device {name}: no device has this name; did you mean {close}? ({there_are})"
        )),
        None => Error::new(format_args!("--device {name}: no device has this name; {there_are}")),
    }
}

/// Opens a stream.
///
/// # Errors
/// 0 threads, or what the device says.
pub fn open(device: &'static dyn Device, threads: Option<usize>) -> Result<Stream> {
    if threads == Some(0) {
        return Err(Error::new("--threads 0: give 1 or more, or leave it out for one per core"));
    }
    device.open(&Params { threads, ..Params::default() }).map_err(|e| match threads {
        Some(n) => Error::new(format_args!(
            "--threads {n}: device {} can't have so many ({e}); give fewer, or leave it out for one per core",
            device.name()
        )),
        None => Error::new(format_args!("device {}: {e}", device.name())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_suggested() {
        let line = |name| match unknown(name, &["CPU", "CUDA0", "Reference"]) {
            Error::Message(line) => line,
            other => panic!("{other:?}"),
        };
        assert!(line("cpu0").contains("did you mean CPU?"), "{}", line("cpu0"));
        assert!(line("cuda").contains("did you mean CUDA0?"), "{}", line("cuda"));
        assert!(line("referense").contains("did you mean Reference?"));
        assert!(!line("xyz").contains("did you mean"), "{}", line("xyz"));
        assert!(line("xyz").contains("CPU, CUDA0, Reference"));
    }
}
