//! The functions that all plug-ins of one ggml share: its base library.

use crate::abi::{self, Graph, InitParams, Layout, LogCallback, Tensor};
use crate::dl::{self, Shared};
use crate::error::{LoadError, Stage};
use core::ffi::{c_char, c_void};
use std::path::{Path, PathBuf};

/// A context of ggml's, in which tensors and graphs are made.
#[repr(C)]
pub(crate) struct Context {
    opaque: [u8; 0],
}

pub(crate) type Name = unsafe extern "C" fn(i32) -> *const c_char;

/// Functions of the base library. Copied into what outlives a look-up; valid while the library is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Functions {
    pub(crate) init: unsafe extern "C" fn(InitParams) -> *mut Context,
    pub(crate) free: unsafe extern "C" fn(*mut Context),
    pub(crate) new_tensor:
        unsafe extern "C" fn(*mut Context, i32, i64, i64, i64, i64) -> *mut Tensor,
    pub(crate) new_graph: unsafe extern "C" fn(*mut Context, usize, bool) -> *mut Graph,
    pub(crate) graph_overhead: unsafe extern "C" fn(usize, bool) -> usize,
    pub(crate) tensor_overhead: unsafe extern "C" fn() -> usize,
    pub(crate) expand: unsafe extern "C" fn(*mut Graph, *mut Tensor),
    pub(crate) buffer_free: unsafe extern "C" fn(*mut abi::Buffer),
    pub(crate) buffer_set_usage: Option<unsafe extern "C" fn(*mut abi::Buffer, i32)>,
    pub(crate) op_name: Name,
    pub(crate) unary_name: Name,
    pub(crate) glu_name: Option<Name>,
    pub(crate) pool_params: Option<unsafe extern "C" fn(*mut c_void, i32)>,
    pub(crate) type_name: Name,
    pub(crate) block_len: unsafe extern "C" fn(i32) -> i64,
    pub(crate) type_size: unsafe extern "C" fn(i32) -> usize,
}

/// What a release has beyond what all have, told by the symbols it exports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Has {
    /// July 2025: masks with several planes, K and V of any type, SET_ROWS.
    pub(crate) set_rows: bool,
    pub(crate) scale_bias: bool,
    pub(crate) soft_max_sinks: bool,
    pub(crate) flash_sinks: bool,
    pub(crate) glu: bool,
    pub(crate) mxfp4: bool,
    pub(crate) rows_2d: bool,
}

#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) fns: Functions,
    pub(crate) has: Has,
    /// Whether it is ours and not ggml's.
    pub(crate) own: bool,
    /// Where the library lies in memory, to tell its strings from anything else.
    pub(crate) image: Option<usize>,
    /// The library itself, where the plug-in's handle doesn't reach it or had to be helped.
    pub(crate) held: Option<Shared>,
}

impl Base {
    /// The layout that goes with an interface version.
    pub(crate) fn layout(&self, version: i32) -> Layout {
        match (version, self.has.rows_2d) {
            (1, _) => Layout::V1,
            (_, false) => Layout::V2,
            (_, true) => Layout::V2Rows,
        }
    }
}

/// File names under which a base library may lie beside a plug-in.
fn beside(plugin: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    let ext = std::env::consts::DLL_EXTENSION;
    [format!("libggml-base.{ext}"), format!("ggml-base.{ext}")]
        .into_iter()
        .filter_map(move |name| Some(plugin.parent()?.join(name)))
        .filter(|p| p.is_file())
}

/// Opens the base library that lies beside a plug-in, if one does.
pub(crate) fn open_beside(plugin: &Path) -> Option<Shared> {
    beside(plugin).find_map(|p| Shared::open(&p).ok())
}

/// Looks the functions up, through the plug-in and then in `held`. `Ok(None)` when there is no base library at all.
///
/// # Errors
/// [`Stage::Base`] when some of the functions are missing.
pub(crate) fn find(
    plugin: &Shared,
    held: Option<Shared>,
    prefix: &str,
    path: &Path,
) -> Result<Option<Base>, LoadError> {
    // Windows looks for a symbol in one library only, not in those that it depends on.
    #[cfg(windows)]
    let held = held.or_else(|| open_beside(path));
    let look = |name: &str| {
        let name = format!("{prefix}{name}");
        plugin.symbol(&name).or_else(|| held.as_ref()?.symbol(&name))
    };
    let Some(op_name) = look("ggml_op_name") else { return Ok(None) };
    let origin = dl::origin(op_name);
    let (fns, has) = functions(&look, op_name, prefix, path)?;
    let image = origin.map(|(at, _)| at);
    let base = Base { fns, has, own: false, image, held };
    probe(&base, path)?;
    Ok(Some(base))
}

/// The functions, and what the release has, through any way of finding symbols.
///
/// # Errors
/// [`Stage::Base`] when some are missing.
pub(crate) fn functions(
    look: &dyn Fn(&str) -> Option<*mut c_void>,
    op_name: *mut c_void,
    prefix: &str,
    path: &Path,
) -> Result<(Functions, Has), LoadError> {
    let need = |name: &str| {
        look(name).ok_or_else(|| {
            LoadError::new(Stage::Base, path, format!("the base library has no `{prefix}{name}`"))
        })
    };
    macro_rules! function {
        ($address:expr) => {{
            let address: *mut c_void = $address;
            // SAFETY: the symbol's name says which function it is; ggml.h has declared it so since 2024.
            unsafe { dl::function(address) }
        }};
    }
    let fns = Functions {
        init: function!(need("ggml_init")?),
        free: function!(need("ggml_free")?),
        new_tensor: function!(need("ggml_new_tensor_4d")?),
        new_graph: function!(need("ggml_new_graph_custom")?),
        graph_overhead: function!(need("ggml_graph_overhead_custom")?),
        tensor_overhead: function!(need("ggml_tensor_overhead")?),
        expand: function!(need("ggml_build_forward_expand")?),
        buffer_free: function!(need("ggml_backend_buffer_free")?),
        buffer_set_usage: look("ggml_backend_buffer_set_usage").map(|a| function!(a)),
        op_name: function!(op_name),
        unary_name: function!(need("ggml_unary_op_name")?),
        glu_name: look("ggml_glu_op_name").map(|a| function!(a)),
        pool_params: look("ggml_threadpool_params_init").map(|a| function!(a)),
        type_name: function!(need("ggml_type_name")?),
        block_len: function!(need("ggml_blck_size")?),
        type_size: function!(need("ggml_type_size")?),
    };
    let has = Has {
        set_rows: look("ggml_set_rows").is_some(),
        scale_bias: look("ggml_scale_bias").is_some(),
        soft_max_sinks: look("ggml_soft_max_add_sinks").is_some(),
        flash_sinks: look("ggml_flash_attn_ext_add_sinks").is_some(),
        glu: look("ggml_glu").is_some(),
        mxfp4: look("quantize_mxfp4").is_some(),
        rows_2d: look("ggml_backend_tensor_set_2d").is_some(),
    };
    Ok((fns, has))
}

/// Sends the library's messages to our sink, if it can be told to.
pub(crate) fn redirect_log(plugin: &Shared, held: Option<&Shared>, prefix: &str) {
    type LogSet = unsafe extern "C" fn(Option<LogCallback>, *mut c_void);
    let name = format!("{prefix}ggml_log_set");
    let Some(address) = plugin.symbol(&name).or_else(|| held?.symbol(&name)) else { return };
    // SAFETY: the symbol's name says which function it is.
    let set: LogSet = unsafe { dl::function(address) };
    // SAFETY: the callback is part of this program, needs no word of its own and never unwinds.
    unsafe { set(Some(crate::logging::callback), core::ptr::null_mut()) };
}

/// Makes a tensor and looks whether its fields are where they should be.
///
/// # Errors
/// [`Stage::Base`] for a layout that isn't known.
pub(crate) fn probe(base: &Base, path: &Path) -> Result<(), LoadError> {
    // SAFETY: no parameters, no state.
    let overhead = unsafe { (base.fns.tensor_overhead)() };
    if !abi::check_tensor_overhead(overhead) {
        let reason = format!("its tensors take {overhead} bytes, a layout that is not known");
        return Err(LoadError::new(Stage::Base, path, reason));
    }
    let wrong = |what: &str| LoadError::new(Stage::Base, path, format!("unknown layout: {what}"));
    let mem_size = 16 << 10;
    let params = InitParams { mem_size, mem_buffer: core::ptr::null_mut(), no_alloc: true };
    // This also fills the tables that conversions need.
    // SAFETY: plain values.
    let ctx = unsafe { (base.fns.init)(params) };
    if ctx.is_null() {
        return Err(wrong("ggml_init gave nothing"));
    }
    // SAFETY: a new context with room for more than this one; type 0 is f32 in every release.
    let t = unsafe { (base.fns.new_tensor)(ctx, 0, 2, 3, 5, 7) };
    let read = if t.is_null() {
        None
    } else {
        // SAFETY: a tensor of the size that was checked.
        Some(unsafe { t.read() })
    };
    // SAFETY: made above, used no more.
    unsafe { (base.fns.free)(ctx) };
    let good = read.is_some_and(|t| {
        t.dtype == 0
            && t.ne == [2, 3, 5, 7]
            && t.nb == [4, 8, 24, 120]
            && t.op == 0
            && t.op_params == [0; 16]
            && t.src.iter().all(|s| s.is_null())
            && t.view_src.is_null()
            && t.data.is_null()
    });
    if good { Ok(()) } else { Err(wrong("the fields of a tensor are elsewhere")) }
}

/// Refuses a plug-in that was joined with the base library of another release, before anything of it is called.
///
/// glibc and musl join libraries by their internal name (`libggml-base.so`), not by their place, so a second release of
/// the same internal name gets the first one's base library. Names of their own would need a namespace of their own
/// (`dlmopen`), which brings a second C library whose thread-specific keys collide with the program's. Releases whose
/// base libraries have different internal names (`libggml-base.so` and `libggml-base.so.0`) live side by side.
///
/// # Errors
/// [`Stage::Base`], with both places.
pub(crate) fn right_one(
    plugin: &Shared,
    held: Option<&Shared>,
    prefix: &str,
    path: &Path,
) -> Result<(), LoadError> {
    let name = format!("{prefix}ggml_op_name");
    let address = plugin.symbol(&name).or_else(|| held?.symbol(&name));
    let Some((_, loaded)) = address.and_then(|a| dl::origin(a)) else { return Ok(()) };
    let Some(want) = beside(path).next() else { return Ok(()) };
    if loaded == want || same(&loaded, &want) || same(&loaded, path) {
        return Ok(());
    }
    let reason = format!(
        "it needs {}, but this process has joined it with another release of that library, {}: only one of the two can \
         be used in a process",
        want.display(),
        loaded.display()
    );
    Err(LoadError::new(Stage::Base, path, reason))
}

/// Whether two paths lead to one file, or to files with the same bytes.
fn same(a: &Path, b: &Path) -> bool {
    let (Ok(a), Ok(b)) = (std::fs::canonicalize(a), std::fs::canonicalize(b)) else { return false };
    let length = |p: &Path| std::fs::metadata(p).map(|m| m.len()).ok();
    a == b
        || length(&a) == length(&b)
            && matches!((std::fs::read(&a), std::fs::read(&b)), (Ok(a), Ok(b)) if a == b)
}

/// The loaded library whose base library a plug-in may have been joined with.
pub(crate) fn other_release(plugin: &Path) -> Option<PathBuf> {
    let mine = beside(plugin).next()?;
    let other = |p: &Path| {
        let theirs = beside(p).find(|t| t.file_name() == mine.file_name());
        theirs.is_some_and(|t| !same(&t, &mine))
    };
    crate::backend::loaded().into_iter().map(|l| l.path().to_owned()).find(|p| other(p))
}
