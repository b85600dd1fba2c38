//! Numbers of operations, functions and types, which differ between releases: found by name.

use crate::abi::Layout;
use crate::abi::params::Codes;
use crate::base::{Base, Has, Name};
use crate::dl;
use crate::text;
use core::ffi::c_void;
use dinrail_core::op::Kind;
use dinrail_core::tensor::DType;
use std::collections::HashMap;

/// Most operations, and functions of one element, that a release is believed to have.
const MOST_OPS: i32 = 192;
const MOST_UNARY: i32 = 64;
const MOST_GLU: i32 = 16;

/// The numbers of one release.
#[derive(Debug)]
pub(crate) struct Numbers {
    ops: Vec<Option<i32>>,
    unary: HashMap<String, i32>,
    glu: HashMap<String, i32>,
    types: Vec<bool>,
    pub(crate) layout: Layout,
    pub(crate) has: Has,
    /// Whether they are those of a plug-in of dinrail's, whose kernels are not ggml's.
    pub(crate) own: bool,
}

/// The library's own memory, as far as it was asked about.
struct Image {
    start: Option<usize>,
    /// Pages that are known to be part of it: asking the system is slow, and names lie together.
    pages: Vec<usize>,
}

impl Image {
    fn holds(&mut self, p: *const c_void) -> bool {
        let Some(start) = self.start else { return true };
        let page = p.addr() >> 12;
        if self.pages.contains(&page) {
            return true;
        }
        let inside = dl::origin(p).is_some_and(|(of, _)| of == start);
        if inside {
            self.pages.push(page);
        }
        inside
    }
}

/// The name with number `i`, or `None` past the last one. The functions check no bound, so what they give is trusted
/// only if it points into the library and looks like a name.
fn name(f: Name, i: i32, image: &mut Image) -> Option<String> {
    // SAFETY: the function reads one word of a table; `i` is small, so that word lies in the library's data, where
    // further tables of names follow.
    let p = unsafe { f(i) };
    if p.is_null() || !image.holds(p.cast()) {
        return None;
    }
    // SAFETY: a string in the library's data.
    unsafe { text::copy(p) }
}

/// Names with their numbers, from 0 until something that isn't a name in capitals, or until `last`.
fn table(f: Name, most: i32, image: &mut Image, last: &str) -> HashMap<String, i32> {
    let mut all = HashMap::new();
    for i in 0..most {
        let Some(n) = name(f, i, image) else { break };
        let capital = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        if n.is_empty() || !n.bytes().all(capital) {
            break;
        }
        let end = n == last;
        all.entry(n).or_insert(i);
        if end {
            break;
        }
    }
    all
}

impl Numbers {
    /// Asks the base library.
    pub(crate) fn of(base: &Base, layout: Layout) -> Self {
        let image = &mut Image { start: base.image, pages: Vec::new() };
        let last = if base.has.glu { "GLU" } else { "OPT_STEP_ADAMW" };
        let ops = table(base.fns.op_name, MOST_OPS, image, last);
        let unary = table(base.fns.unary_name, MOST_UNARY, image, "");
        let glu = base.fns.glu_name.map(|f| table(f, MOST_GLU, image, "GEGLU_QUICK"));
        Self {
            ops: Kind::ALL.iter().map(|k| ops.get(k.name()).copied()).collect(),
            unary,
            glu: glu.unwrap_or_default(),
            types: DType::ALL.iter().map(|&t| agrees(base, t, image)).collect(),
            layout,
            has: base.has,
            own: base.own,
        }
    }

    /// Number of an operation; `None` if the release lacks it.
    pub(crate) fn op(&self, kind: Kind) -> Option<i32> {
        self.ops.get(kind as usize).copied().flatten()
    }

    /// Number of a type; `None` if the release lacks it or lays it out differently.
    pub(crate) fn dtype(&self, t: DType) -> Option<i32> {
        let i = DType::ALL.iter().position(|&x| x == t)?;
        self.types.get(i)?.then(|| i32::from(t as u8))
    }
}

/// A type's number is written in model files and never changes; its name and block must be what we have.
fn agrees(base: &Base, t: DType, image: &mut Image) -> bool {
    if t == DType::MXFP4 && !base.has.mxfp4 {
        return false;
    }
    let n = i32::from(t as u8);
    if name(base.fns.type_name, n, image).is_none_or(|s| s != t.name()) {
        return false;
    }
    // SAFETY: the number names a type of this release.
    let len = unsafe { (base.fns.block_len)(n) };
    // SAFETY: as above.
    let size = unsafe { (base.fns.type_size)(n) };
    usize::try_from(len) == Ok(t.block_len()) && size == t.block_bytes()
}

impl Codes for Numbers {
    fn unary(&self, name: &str) -> Option<i32> {
        self.unary.get(name).copied()
    }

    fn glu(&self, name: &str) -> Option<i32> {
        self.glu.get(name).copied()
    }

    fn precision_f32(&self) -> i32 {
        crate::abi::precision_f32(self.layout)
    }
}
