//! From a file to a backend, in steps that can each fail.

use crate::abi::{self, InitFn, Reg, ScoreFn};
use crate::backend::{Library, Loaded, Parts};
use crate::base;
use crate::brought;
use crate::dl::{self, Shared};
use crate::error::{LoadError, Stage};
use crate::numbers::Numbers;
use crate::own;
use crate::text;
use core::ffi::c_char;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most devices that a library is believed to have.
const MOST_DEVICES: usize = 256;

/// An open library of which nothing was called yet but its initialisers. Dropping it closes the library.
#[derive(Debug)]
pub struct Candidate {
    path: PathBuf,
    plugin: Shared,
    held: Option<Shared>,
    prefix: &'static str,
    init: InitFn,
    score: Option<ScoreFn>,
}

impl Candidate {
    /// Opens a file. Its initialisers run, so ask first whether the file can be trusted.
    ///
    /// # Errors
    /// [`Stage::Open`] with the system's words; [`Stage::Symbol`] for a library that is no plug-in; [`Stage::Base`] for
    /// one that the system joined with another release of ggml.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let before = brought::loads();
        let (plugin, held) = match Shared::open(path) {
            Ok(s) => (s, None),
            Err(e) => {
                // The system may not look beside the plug-in for what it needs: then that is opened first.
                let Some(held) = base::open_beside(path) else { return Err(e) };
                let again = Shared::open(path).map_err(|e| e.hint(another_release(path)));
                (again?, Some(held))
            }
        };
        brought::note(before, path);
        let found = ["", abi::PREFIX]
            .into_iter()
            .find_map(|prefix| Some((prefix, plugin.symbol(&format!("{prefix}{}", abi::INIT))?)));
        let Some((prefix, init)) = found else {
            let reason = format!("no symbol `{}`: not a plug-in of ggml's", abi::INIT);
            return Err(LoadError::new(Stage::Symbol, path, reason));
        };
        base::right_one(&plugin, held.as_ref(), prefix, path)?;
        // A plug-in of dinrail's has an entrance of its own for programs that bring no base library.
        let init = plugin.symbol(abi::names::INIT).unwrap_or(init);
        // SAFETY: the symbol's name says which function it is.
        let init: InitFn = unsafe { dl::function(init) };
        let score = plugin.symbol(&format!("{prefix}{}", abi::SCORE)).map(|s| {
            // SAFETY: as above.
            unsafe { dl::function::<ScoreFn>(s) }
        });
        Ok(Self { path: path.to_owned(), plugin, held, prefix, init, score })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How well the library suits this machine: higher is better, 0 is "not at all", `None` where it has no opinion
    /// (use it, after all that have one).
    ///
    /// This and the entry point are called before the version is known: their types are the same in all versions.
    ///
    /// # Errors
    /// [`Stage::Score`] for a negative score.
    pub fn score(&self) -> Result<Option<u32>, LoadError> {
        let Some(score) = self.score else { return Ok(None) };
        base::redirect_log(&self.plugin, self.held.as_ref(), self.prefix);
        // SAFETY: the function takes nothing and only looks at the processor.
        let n = unsafe { score() };
        match u32::try_from(n) {
            Ok(n) => Ok(Some(n)),
            Err(_) => Err(self.wrong(Stage::Score, format!("its score is {n}"))),
        }
    }

    fn wrong(&self, stage: Stage, reason: impl Into<String>) -> LoadError {
        LoadError::new(stage, &self.path, reason)
    }

    /// Starts the library and lists its devices. A library that is in use already gives the backend that it has.
    ///
    /// A device that the library counts and does not give is left out; [`Library::notes`] says which.
    ///
    /// # Errors
    /// [`Stage::Init`], [`Stage::Version`], [`Stage::Base`], [`Stage::Devices`].
    pub fn init(mut self) -> Result<&'static Library, LoadError> {
        base::redirect_log(&self.plugin, self.held.as_ref(), self.prefix);
        let before = brought::loads();
        // SAFETY: the entry point takes nothing; its type is the same in all versions.
        let reg = unsafe { (self.init)() };
        // What it opened itself counts, too.
        brought::note(before, &self.path);
        brought::keep();
        if reg.is_null() {
            return Err(
                self.wrong(Stage::Init, "its entry point gave null: no usable device or driver")
            );
        }
        if !reg.is_aligned() {
            return Err(self.wrong(Stage::Init, "its entry point gave a pointer that can't be one"));
        }
        // SAFETY: the first word of a registration is the version, in every version.
        let version = unsafe { reg.cast::<i32>().read() };
        if !(1..=abi::VERSION).contains(&version) {
            let reason =
                format!("interface version {version}; 1 to {} are understood", abi::VERSION);
            return Err(self.wrong(Stage::Version, reason));
        }
        // SAFETY: versions 1 and 2 have this layout.
        let whole = unsafe { reg.read() };
        let name = self.reg_name(reg, &whole)?;
        let mut notes = Vec::new();
        let devices = self.devices(reg, &whole, &mut notes)?;
        let found = base::find(&self.plugin, self.held.take(), self.prefix, &self.path)?;
        let found = found.or_else(|| own::base(reg, &whole.iface));
        let layout = match &found {
            Some(b) => b.layout(version),
            None if version == 1 => abi::Layout::V1,
            None => abi::Layout::V2Rows,
        };
        let numbers = found.as_ref().map(|b| Arc::new(Numbers::of(b, layout)));
        if numbers.is_none() {
            notes.push("no base library: it can be listed but computes nothing".into());
        }
        let (fns, held) = match found {
            Some(b) => (Some(b.fns), b.held),
            None => (None, None),
        };
        let loaded = Loaded {
            plugin: self.plugin,
            held,
            fns,
            numbers,
            layout,
            reg,
            iface: whole.iface,
            devices,
        };
        Ok(Library::adopt(self.path, name, version.unsigned_abs(), notes, loaded))
    }

    fn reg_name(&self, reg: *mut Reg, whole: &Reg) -> Result<String, LoadError> {
        let Some(get) = whole.iface.get_name else {
            return Err(self.wrong(Stage::Devices, "the function for its name is null"));
        };
        // SAFETY: the registration's own function.
        let name = unsafe { get(reg) };
        // SAFETY: a name of the library's, or null.
        let name = unsafe { text::copy(name) }.filter(|n| !n.is_empty());
        name.ok_or_else(|| self.wrong(Stage::Devices, "it has no name"))
    }

    fn devices(
        &self,
        reg: *mut Reg,
        whole: &Reg,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Parts>, LoadError> {
        let (Some(count), Some(get)) = (whole.iface.get_device_count, whole.iface.get_device)
        else {
            return Err(self.wrong(Stage::Devices, "the functions that list its devices are null"));
        };
        // SAFETY: the registration's own function.
        let n = unsafe { count(reg) };
        if n > MOST_DEVICES {
            return Err(self.wrong(Stage::Devices, format!("it says that it has {n} devices")));
        }
        let mut devices: Vec<Parts> = Vec::new();
        for i in 0..n {
            // SAFETY: the registration's own function, with an index below its own count.
            let ptr = unsafe { get(reg, i) };
            match device(ptr, &devices) {
                Ok(parts) => devices.push(parts),
                Err(reason) => notes.push(format!("device {i} of {n} left out: {reason}")),
            }
        }
        Ok(devices)
    }
}

/// What to think of when symbols are missing although the base library lies beside the plug-in.
fn another_release(path: &Path) -> Option<String> {
    Some(format!(
        "{} is loaded in this process with another release of ggml's base library: only one of the two can be used in a \
         process",
        base::other_release(path)?.display()
    ))
}

/// Looks at a device before it is believed.
fn device(ptr: *mut abi::Device, others: &[Parts]) -> Result<Parts, &'static str> {
    if ptr.is_null() || !ptr.is_aligned() {
        return Err("the library gives null for it");
    }
    if others.iter().any(|d| d.ptr == ptr) {
        return Err("the library gave it before under another number");
    }
    // SAFETY: what the library says is a device, of the layout that both versions have.
    let iface = unsafe { (*ptr).iface };
    let text = |get: Option<unsafe extern "C" fn(*mut abi::Device) -> *const c_char>| {
        // SAFETY: the device's own function.
        let p = unsafe { get?(ptr) };
        // SAFETY: a text of the library's, or null.
        unsafe { text::copy(p) }
    };
    let name = text(iface.get_name).filter(|n| !n.is_empty()).ok_or("it has no name")?;
    let description = text(iface.get_description).unwrap_or_default();
    if iface.init_backend.is_none()
        || iface.get_buffer_type.is_none()
        || iface.supports_op.is_none()
    {
        return Err("it lacks functions that no device can do without");
    }
    let kind = match iface.get_type {
        // SAFETY: the device's own function.
        Some(f) => unsafe { f(ptr) },
        None => return Err("it does not say what kind it is"),
    };
    Ok(Parts { ptr, iface, name, description, kind })
}
