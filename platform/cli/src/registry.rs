//! Which devices there are, and which ones to take.

use crate::{Error, Result, output};
use dinrail::hal::{Backend, Device, DeviceKind, Params, Stream};

/// Every device with its backend.
pub fn devices() -> impl Iterator<Item = (&'static dyn Backend, &'static dyn Device)> {
    dinrail::registry()
        .backends()
        .flat_map(|(_, b)| (0..b.device_count()).filter_map(move |i| Some((b, b.device(i)?))))
}

/// The device that `device` is again, driven by another backend.
pub fn twin(device: &dyn Device) -> Option<&'static dyn Device> {
    dinrail::registry().twin_of(device)
}

/// A device that was asked for, with what its streams are opened with: `NAME` or `NAME:PARAMETERS`.
#[derive(Clone)]
pub struct Chosen {
    /// The device.
    pub device: &'static dyn Device,
    /// Parameters in the backend's own words, such as `level=scalar`.
    pub text: Option<String>,
}

impl core::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}:{}", self.device.name(), self.text.as_deref().unwrap_or(""))
    }
}

impl Chosen {
    /// Opens a stream.
    ///
    /// # Errors
    /// 0 threads, or what the device says.
    pub fn open(&self, threads: Option<usize>) -> Result<Stream> {
        if threads == Some(0) {
            return Err(Error::new(
                "--threads 0: give 1 or more, or leave it out for one per core",
            ));
        }
        let (name, text) = (self.device.name(), self.text.as_deref());
        self.device.open(&Params { threads, text }).map_err(|e| match (text, threads) {
            (Some(text), _) => Error::new(format_args!("--device {name}:{text}: {e}")),
            (None, Some(n)) => Error::new(format_args!(
                "--threads {n}: device {name} can't have so many ({e}); give fewer, or leave it out for one per core"
            )),
            (None, None) => Error::new(format_args!("device {name}: {e}")),
        })
    }
}

/// The device of this name or kind, or the best one.
///
/// # Errors
/// A name that no device has: what there is, and what may have been meant.
pub fn device(name: Option<&str>) -> Result<&'static dyn Device> {
    Ok(chosen(name)?.device)
}

/// As [`device`], with parameters.
///
/// # Errors
/// As `device`.
pub fn chosen(name: Option<&str>) -> Result<Chosen> {
    let Some(name) = name else { return best() };
    let (bare, text) = match name.split_once(':') {
        Some((bare, text)) => (bare, Some(text.to_owned()).filter(|t| !t.is_empty())),
        None => (name, None),
    };
    if bare.eq_ignore_ascii_case("best") {
        return Ok(Chosen { text, ..best()? });
    }
    let registry = dinrail::registry();
    let device = registry
        .device_by_name(bare)
        .or_else(|| kind(bare).and_then(|k| registry.device_by_kind(k)))
        .ok_or_else(|| missing(bare))?;
    Ok(Chosen { device, text })
}

/// The devices of a list, `A,B,…`, in its order.
///
/// # Errors
/// As [`device`], for the first that isn't there.
pub fn list(names: &str) -> Result<Vec<Chosen>> {
    names.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| chosen(Some(n))).collect()
}

fn best() -> Result<Chosen> {
    let device = dinrail::registry().best_device().ok_or_else(|| {
        Error::new(
            "no device is compiled in: build with a backend feature, such as `--features cpu`",
        )
    })?;
    Ok(Chosen { device, text: None })
}

fn kind(name: &str) -> Option<DeviceKind> {
    use DeviceKind::{Accelerator, Cpu, Gpu, IntegratedGpu};
    [Cpu, Gpu, IntegratedGpu, Accelerator].into_iter().find(|k| k.name().eq_ignore_ascii_case(name))
}

/// Nobody answers to this name or kind: never a reason to take another device without a word.
fn missing(name: &str) -> Error {
    let there: Vec<(&str, DeviceKind)> = devices().map(|(_, d)| (d.name(), d.kind())).collect();
    let mut line = unknown(name, &there);
    for (_, backend) in dinrail::registry().backends() {
        if backend.device_count() == 0
            && let Some(reason) = backend.reason()
        {
            line += &format!("; {} has none: {}", backend.name(), output::printable(reason));
        }
    }
    let backends: Vec<&str> = dinrail::registry().backends().map(|(_, b)| b.name()).collect();
    if let Some(hint) = hint(name, &backends) {
        line += &hint;
    }
    Error::new(line)
}

/// How to get a backend that isn't there.
fn hint(name: &str, backends: &[&str]) -> Option<String> {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if backends.iter().any(|b| b.eq_ignore_ascii_case(name)) {
        return None;
    }
    let is = |names: &[&'static str]| names.iter().find(|n| n.eq_ignore_ascii_case(name)).copied();
    if let Some(feature) = is(&["vulkan", "metal"]) {
        return Some(format!("; this program was built without the feature {feature}"));
    }
    is(&[
        "gpu", "igpu", "accel", "cuda", "rocm", "hip", "musa", "sycl", "opencl", "cann", "blas",
        "rpc",
    ])
    .map(|_| "; --load takes a backend from a shared library".to_owned())
}

fn unknown(name: &str, there: &[(&str, DeviceKind)]) -> String {
    let wanted = name.to_lowercase();
    let close = there
        .iter()
        .map(|(n, _)| (strsim::jaro_winkler(&wanted, &n.to_lowercase()), n))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let names: Vec<String> = there
        .iter()
        .map(|(n, k)| match k.name() {
            k if k.eq_ignore_ascii_case(n) => (*n).to_owned(),
            k => format!("{n} ({k})"),
        })
        .collect();
    let there_are = match names.as_slice() {
        [] => "none is compiled in".to_owned(),
        _ => format!("there are: {}", names.join(", ")),
    };
    match (kind(name), close) {
        (Some(k), _) => format!("--device {name}: there is no {} here; {there_are}", k.name()),
        (None, Some((_, close))) => {
            format!("--device {name}: no device has this name; did you mean {close}? ({there_are})")
        }
        (None, None) => format!("--device {name}: no device has this name; {there_are}"),
    }
}

/// Opens a stream.
///
/// # Errors
/// As [`Chosen::open`].
pub fn open(device: &'static dyn Device, threads: Option<usize>) -> Result<Stream> {
    Chosen { device, text: None }.open(threads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use DeviceKind::{Cpu, Gpu};

    #[test]
    fn close_names_are_suggested() {
        let line = |name| unknown(name, &[("CPU", Cpu), ("CUDA0", Gpu), ("Reference", Cpu)]);
        assert!(line("cpu0").contains("did you mean CPU?"), "{}", line("cpu0"));
        assert!(line("cuda").contains("did you mean CUDA0?"), "{}", line("cuda"));
        assert!(line("referense").contains("did you mean Reference?"));
        assert!(!line("xyz").contains("did you mean"), "{}", line("xyz"));
        assert!(line("xyz").contains("CPU, CUDA0 (GPU), Reference (CPU)"));
        assert!(line("igpu").contains("there is no IGPU here"), "{}", line("igpu"));
    }

    #[test]
    fn what_is_not_there_can_be_got() {
        assert!(hint("vulkan0", &["CPU"]).unwrap().contains("without the feature vulkan"));
        assert_eq!(hint("Vulkan0", &["Vulkan", "CPU"]), None);
        assert!(hint("CUDA1", &["CPU"]).unwrap().contains("--load"));
        assert_eq!(hint("toaster", &["CPU"]), None);
    }
}
