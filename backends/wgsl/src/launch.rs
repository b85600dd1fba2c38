//! From a node to a launch: which kernel, with which arguments, on how many workgroups.
//!
//! [`launch`] answers `supports` too: a device supports what this finds a kernel for.

mod attention;
mod elementwise;
mod layout;
mod matmul;
mod reduce;
mod rows;

use crate::table::{self, Family, Features, KERNELS};
use crate::{Args, Kernel};
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::{DType, Desc};

/// What a device limits.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Features beyond plain compute shaders.
    pub features: Features,
    /// Bytes that a binding can hold at most.
    pub binding: usize,
    /// What bindings' first bytes are multiples of.
    pub alignment: usize,
}

/// A kernel ready to be launched.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Number in [`KERNELS`].
    pub kernel: u16,
    /// Workgroups along x and y; none for a node without elements.
    pub groups: [u32; 2],
    /// The arguments, but for where bindings begin: see [`Args::move_by`].
    pub args: Args,
    /// The node's source behind each of the bindings from 2 on.
    pub sources: [u8; 5],
    /// How many of them there are.
    pub count: u8,
}

impl Launch {
    /// The kernel.
    pub fn kernel(&self) -> &'static Kernel {
        // Made by `Work::launch` only, from a number that the table gave.
        KERNELS.get(usize::from(self.kernel)).unwrap_or(&KERNELS[0])
    }
}

/// Most workgroups along one dimension that every device takes.
const MAX_GROUPS: usize = 65535;

/// A launch in the making.
struct Work {
    family: Family,
    types: [DType; 3],
    args: Args,
    sources: [u8; 5],
    count: u8,
    /// Workgroups.
    groups: usize,
}

impl Work {
    /// A kernel that writes `dst` and reads `sources`, one workgroup for each `groups`.
    fn new(family: Family, types: [DType; 3], dst: &Desc, sources: &[&Desc]) -> Self {
        let mut args = Args::new();
        args.tensor(0, dst);
        for (i, s) in sources.iter().take(4).enumerate() {
            args.tensor(i + 1, s);
        }
        let mut numbers = [0u8; 5];
        numbers.iter_mut().enumerate().for_each(|(i, n)| *n = i as u8);
        Self { family, types, args, sources: numbers, count: sources.len() as u8, groups: 0 }
    }

    /// One invocation for each of `n`; they find the number in `n.x`.
    fn invocations(&mut self, n: usize) {
        self.groups = n.div_ceil(self.family.workgroup() as usize);
    }

    fn n(&mut self, n: [usize; 4]) {
        self.args.n(n.map(|n| n as u32));
    }

    fn launch(mut self, features: Features) -> Option<Launch> {
        let kernel = table::find(self.family, self.types, features)?;
        let x = self.groups.min(MAX_GROUPS);
        let y = if x == 0 { 0 } else { self.groups.div_ceil(x) };
        if y > MAX_GROUPS {
            return None;
        }
        self.args.groups(u32::try_from(self.groups).ok()?);
        let Self { args, sources, count, .. } = self;
        Some(Launch { kernel, groups: [x as u32, y as u32], args, sources, count })
    }
}

/// Whether 32-bit offsets and a binding reach the whole tensor.
fn reachable(d: &Desc, limits: &Limits) -> bool {
    let room = limits.binding.min(u32::MAX as usize).saturating_sub(limits.alignment + 4);
    d.bytes() <= room && d.ne.iter().all(|&n| u32::try_from(n).is_ok()) && d.elements() <= room * 8
}

/// Products of this many columns or more are worth copying their weights for.
const MANY_COLUMNS: usize = 32;

/// Whether a node is worth copying its weights to the device for: what `Device::offload` answers, where the device
/// supports it.
pub fn worth_copying(q: &Query<'_>) -> bool {
    matches!(q.op, Op::MulMat { .. }) && q.dst.ne[1] >= MANY_COLUMNS
}

/// The launch that computes a node; `None` if there is no kernel for it.
pub fn launch(q: &Query<'_>, limits: &Limits) -> Option<Launch> {
    let sources = (0..q.op.max_sources()).filter_map(|i| q.src.source(i));
    if !reachable(q.dst, limits) || !sources.into_iter().all(|s| reachable(s, limits)) {
        return None;
    }
    let work = match q.op {
        Op::Cont | Op::Dup | Op::Cpy | Op::Repeat | Op::Concat { .. } => layout::work(q)?,
        Op::Acc(w) => layout::window(q, w, true)?,
        Op::Set(w) => layout::window(q, w, false)?,
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Add1 => elementwise::binary(q)?,
        Op::Scale { .. }
        | Op::Sqr
        | Op::Sqrt
        | Op::Log
        | Op::Sin
        | Op::Cos
        | Op::Clamp { .. }
        | Op::Unary(_) => elementwise::map(q)?,
        Op::Glu(g) => elementwise::glu(q, g)?,
        Op::Arange { .. } => elementwise::arange(q)?,
        Op::Sum | Op::SumRows | Op::Mean => reduce::sums(q)?,
        Op::Norm { .. } | Op::RmsNorm { .. } | Op::L2Norm { .. } | Op::GroupNorm { .. } => {
            reduce::norm(q)?
        }
        Op::Argmax | Op::Argsort { .. } => reduce::order(q)?,
        Op::MulMat { .. } => matmul::work(q)?,
        Op::GetRows => rows::get(q)?,
        Op::SetRows => rows::set(q)?,
        Op::DiagMaskInf { past } => attention::diag_mask(q, *past)?,
        Op::SoftMax { scale, max_bias } => attention::soft_max(q, *scale, *max_bias)?,
        Op::Rope(r) => attention::rope(q, r)?,
        Op::FlashAttn { scale, max_bias, softcap, .. } => {
            attention::flash(q, *scale, *max_bias, *softcap)?
        }
        _ => return None,
    };
    work.launch(limits.features)
}
