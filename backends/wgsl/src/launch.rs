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
struct Work<'w> {
    family: Family,
    types: [DType; 3],
    args: &'w mut Args,
    sources: [u8; 5],
    count: u8,
    /// Workgroups.
    groups: usize,
}

impl<'w> Work<'w> {
    /// A kernel that writes `dst` and reads `sources`, one workgroup for each `groups`.
    fn new(
        args: &'w mut Args,
        family: Family,
        types: [DType; 3],
        dst: &Desc,
        sources: &[&Desc],
    ) -> Self {
        *args = Args::new();
        args.tensor(0, dst);
        for (i, s) in sources.iter().take(4).enumerate() {
            args.tensor(i + 1, s);
        }
        Self {
            family,
            types,
            args,
            sources: [0, 1, 2, 3, 4],
            count: sources.len() as u8,
            groups: 0,
        }
    }

    /// One invocation for each of `n`; they find the number in `n.x`.
    fn invocations(&mut self, n: usize) {
        self.groups = n.div_ceil(self.family.workgroup() as usize);
    }

    fn n(&mut self, n: [usize; 4]) {
        self.args.n(n.map(|n| n as u32));
    }

    /// Which kernel, on how many workgroups. The arguments stay where they are.
    fn kernel(self, features: Features) -> Option<Chosen> {
        let kernel = table::find(self.family, self.types, features)?;
        let x = self.groups.min(MAX_GROUPS);
        let y = if x == 0 { 0 } else { self.groups.div_ceil(x) };
        if y > MAX_GROUPS {
            return None;
        }
        self.args.groups(u32::try_from(self.groups).ok()?);
        let Self { sources, count, .. } = self;
        Some(Chosen { kernel, groups: [x as u32, y as u32], sources, count })
    }
}

/// A launch but for its arguments.
struct Chosen {
    kernel: u16,
    groups: [u32; 2],
    sources: [u8; 5],
    count: u8,
}

/// A tensor's length in bytes, if 32-bit offsets and a binding reach all of it.
pub(crate) fn reachable(d: &Desc, limits: &Limits) -> Option<usize> {
    let room = limits.binding.min(u32::MAX as usize).saturating_sub(limits.alignment + 4);
    let bytes = d.bytes();
    // No length has a bit that 32-bit numbers lack.
    let short = u32::try_from(d.ne.iter().fold(0, |all, n| all | n)).is_ok();
    (bytes <= room && short && d.elements() <= room * 8).then_some(bytes)
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
    let reaches = |d: &Desc| reachable(d, limits).is_some();
    let sources = (0..q.op.max_sources()).filter_map(|i| q.src.source(i));
    if !reaches(q.dst) || !sources.into_iter().all(reaches) {
        return None;
    }
    let mut launch = Launch::NOTHING;
    launch.choose(q, limits.features).then_some(launch)
}

impl Launch {
    /// Does nothing.
    pub(crate) const NOTHING: Self =
        Self { kernel: 0, groups: [0; 2], args: Args::new(), sources: [0; 5], count: 0 };

    /// Makes it the launch that computes a node, whose tensors are all reachable; `false` if there is no kernel for it.
    #[must_use]
    pub(crate) fn choose(&mut self, q: &Query<'_>, features: Features) -> bool {
        let args = &mut self.args;
        let Some(Chosen { kernel, groups, sources, count }) =
            work(q, args).and_then(|w| w.kernel(features))
        else {
            return false;
        };
        (self.kernel, self.groups, self.sources, self.count) = (kernel, groups, sources, count);
        true
    }
}

fn work<'w>(q: &Query<'_>, args: &'w mut Args) -> Option<Work<'w>> {
    Some(match q.op {
        Op::Cont | Op::Dup | Op::Cpy | Op::Repeat | Op::Concat { .. } => layout::work(args, q)?,
        Op::Acc(w) => layout::window(args, q, w, true)?,
        Op::Set(w) => layout::window(args, q, w, false)?,
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Add1 => elementwise::binary(args, q)?,
        Op::Scale { .. }
        | Op::Sqr
        | Op::Sqrt
        | Op::Log
        | Op::Sin
        | Op::Cos
        | Op::Clamp { .. }
        | Op::Unary(_) => elementwise::map(args, q)?,
        Op::Glu(g) => elementwise::glu(args, q, g)?,
        Op::Arange { .. } => elementwise::arange(args, q)?,
        Op::Sum | Op::SumRows | Op::Mean => reduce::sums(args, q)?,
        Op::Norm { .. } | Op::RmsNorm { .. } | Op::L2Norm { .. } | Op::GroupNorm { .. } => {
            reduce::norm(args, q)?
        }
        Op::Argmax | Op::Argsort { .. } => reduce::order(args, q)?,
        Op::MulMat { .. } => matmul::work(args, q)?,
        Op::GetRows => rows::get(args, q)?,
        Op::SetRows => rows::set(args, q)?,
        Op::DiagMaskInf { past } => attention::diag_mask(args, q, *past)?,
        Op::SoftMax { scale, max_bias } => attention::soft_max(args, q, *scale, *max_bias)?,
        Op::Rope(r) => attention::rope(args, q, r)?,
        Op::FlashAttn { scale, max_bias, softcap, .. } => {
            attention::flash(args, q, *scale, *max_bias, *softcap)?
        }
        _ => return None,
    })
}
