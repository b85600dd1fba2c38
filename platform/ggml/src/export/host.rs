//! Who loaded the plug-in, and what the numbers in its tensors mean.
//!
//! A plug-in of ggml's is linked to the base library that its host uses, so both have the same numbers and layouts. Ours
//! isn't: it looks for that library in the process, asks it for the names behind its numbers, and makes a tensor and a
//! graph with it to see whether their fields are where they should be. What can't be verified is refused: no base
//! library, two of different releases, or tables of functions in another order than ours.

use super::codes::Codes;
use crate::abi::{self, Graph, InitParams, Layout, TensorFlag};
use crate::base::{self, Base};
use crate::dl::{self, Shared};
use crate::numbers::Numbers;
use crate::own;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::null_mut;
use std::path::{Path, PathBuf};

/// `ggml_log_internal`: level, format, what goes into it.
type LogInternal = unsafe extern "C" fn(i32, *const c_char, ...);
/// `ggml_backend_dev_by_type`.
type DeviceByType = unsafe extern "C" fn(i32) -> *mut abi::Device;

/// What is known of the host.
pub(crate) struct Host {
    pub(crate) codes: Codes,
    log: Option<LogInternal>,
    /// Whether it had a CPU device when the plug-in was started.
    pub(crate) has_cpu: bool,
}

impl Host {
    /// dinrail, which uses the numbers that plug-ins say they use.
    pub(crate) fn dinrail() -> Result<Self, String> {
        let base = own::ours();
        let marks = probe_graph(&base)?;
        let codes = Codes::of(&Numbers::of(&base, Layout::V2Rows), marks);
        Ok(Self { codes, log: None, has_cpu: false })
    }

    /// ggml, whose base library must be in this process.
    ///
    /// # Errors
    /// Why it can't be served.
    pub(crate) fn ggml() -> Result<Self, String> {
        let present = dl::present();
        let mut known: Option<(Codes, PathBuf)> = None;
        let mut seen: Vec<*mut c_void> = Vec::new();
        let mut log = None;
        for (library, prefix) in present.iter().flat_map(|l| [(l, ""), (l, abi::PREFIX)]) {
            let look = |name: &str| library.symbol(&format!("{prefix}{name}"));
            let Some(op_name) = look("ggml_op_name") else { continue };
            // Looking in one library finds what those have that it depends on.
            if seen.contains(&op_name) {
                continue;
            }
            seen.push(op_name);
            let path = dl::origin(op_name).map(|(_, p)| p).unwrap_or_default();
            let codes = codes(&look, op_name, prefix, &path)?;
            match &known {
                Some((other, first)) if *other != codes => {
                    return Err(format!(
                        "two releases of ggml are in this process, {} and {}: it can't be told whose tensors these are",
                        first.display(),
                        path.display()
                    ));
                }
                Some(_) => {}
                None => known = Some((codes, path)),
            }
            // SAFETY: the symbol's name says which function it is.
            log = log.or(look("ggml_log_internal").map(|a| unsafe { dl::function(a) }));
        }
        let Some((codes, _)) = known else {
            return Err("no base library of ggml is in this process, so its numbers of operations can't be known".into());
        };
        Ok(Self { codes, log, has_cpu: has_cpu(&present) })
    }

    /// Says what went wrong where the host's messages go.
    pub(crate) fn complain(&self, text: &str) {
        say(self.log, text);
    }
}

fn say(log: Option<LogInternal>, text: &str) {
    const ERROR: i32 = 4;
    match log {
        Some(log) => {
            let text = format!("dinrail: {text}\n\0");
            // SAFETY: a format for one string, and that string, which ends with a zero.
            unsafe { log(ERROR, c"%s".as_ptr(), text.as_ptr()) };
        }
        None => log::error!(target: "dinrail", "{text}"),
    }
}

/// A complaint before the host is known: through any base library that is there.
pub(crate) fn complain(text: &str) {
    let address = dl::present().iter().find_map(|l| l.symbol("ggml_log_internal"));
    // SAFETY: the symbol's name says which function it is.
    say(address.map(|a| unsafe { dl::function(a) }), text);
}

fn codes(
    look: &dyn Fn(&str) -> Option<*mut c_void>,
    op_name: *mut c_void,
    prefix: &str,
    path: &Path,
) -> Result<Codes, String> {
    let (fns, has) = base::functions(look, op_name, prefix, path).map_err(|e| e.to_string())?;
    if !has.rows_2d {
        return Err(format!(
            "{}: this release of ggml orders its functions in another way (ggml 0.9.8 and later are served)",
            path.display()
        ));
    }
    let image = dl::origin(op_name).map(|(at, _)| at);
    let base = Base { fns, has, own: false, image, held: None };
    base::probe(&base, path).map_err(|e| e.to_string())?;
    let marks = probe_graph(&base).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Codes::of(&Numbers::of(&base, Layout::V2Rows), marks))
}

/// Makes a graph and looks whether its head is where it should be; whether its nodes are marked.
fn probe_graph(base: &Base) -> Result<bool, String> {
    const SIZE: usize = 8;
    // SAFETY: plain numbers.
    let graph = unsafe { (base.fns.graph_overhead)(SIZE, false) };
    let params =
        InitParams { mem_size: graph + (16 << 10), mem_buffer: null_mut(), no_alloc: true };
    // SAFETY: plain values.
    let ctx = unsafe { (base.fns.init)(params) };
    if ctx.is_null() {
        return Err("ggml_init gave nothing".into());
    }
    // SAFETY: a new context with room for all of this; type 0 is f32 in every release.
    let a = unsafe { (base.fns.new_tensor)(ctx, 0, 2, 1, 1, 1) };
    // SAFETY: as above.
    let b = unsafe { (base.fns.new_tensor)(ctx, 0, 2, 1, 1, 1) };
    // SAFETY: as above.
    let g = unsafe { (base.fns.new_graph)(ctx, SIZE, false) };
    let mut found = None;
    if !a.is_null() && !b.is_null() && !g.is_null() {
        // SAFETY: a tensor of the layout that was checked, which nobody else knows.
        let node = unsafe { &mut *b };
        // Number 1 is `DUP` in every release.
        (node.op, node.src[0]) = (1, a);
        // SAFETY: graph and tensor are of this context.
        unsafe { (base.fns.expand)(g, b) };
        // SAFETY: the head of a graph is the same in all releases, which is what is being looked at.
        let head: Graph = unsafe { g.read() };
        if head.n_nodes == 1 && head.size >= SIZE as i32 && !head.nodes.is_null() {
            // SAFETY: a graph of one node has a list of at least one.
            let first = unsafe { head.nodes.read() };
            // SAFETY: the tensor that was made above.
            let flags = unsafe { (*b).flags };
            found = (first == b).then_some(flags & TensorFlag::Compute as i32 != 0);
        }
    }
    // SAFETY: made above, used no more.
    unsafe { (base.fns.free)(ctx) };
    found.ok_or_else(|| "the fields of a graph are elsewhere".into())
}

/// Whether ggml's registry, where it is in this process, holds a CPU device.
fn has_cpu(present: &[Shared]) -> bool {
    let names = ["ggml_backend_dev_by_type", "lm_ggml_backend_dev_by_type"];
    let find = |l: &Shared| names.into_iter().find_map(|n| l.symbol(n));
    present.iter().find_map(find).is_some_and(|address| {
        // SAFETY: the symbol's name says which function it is.
        let by_type: DeviceByType = unsafe { dl::function(address) };
        // SAFETY: a plain number. The registry exists: it is what started this plug-in.
        !unsafe { by_type(abi::DeviceType::Cpu as i32) }.is_null()
    })
}

/// A C string as text; empty for null or what isn't UTF-8.
///
/// # Safety
/// `p` is null or a string that lives as long as the result is used.
pub(crate) unsafe fn text<'a>(p: *const c_char) -> &'a str {
    if p.is_null() {
        return "";
    }
    // SAFETY: the caller promises a string.
    unsafe { CStr::from_ptr(p) }.to_str().unwrap_or("")
}
