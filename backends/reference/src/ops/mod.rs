//! Operations, one file per family as in core.

mod attention;
mod elementwise;
mod layout;
mod matmul;
mod reduce;
mod rope;
mod rows;

use crate::element::Tensor;
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::{Node, NodeId};
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::program::Program;

/// A node that is being computed.
pub struct Ctx<'a> {
    program: &'a Program<'a>,
    node: &'a Node,
    /// The result.
    pub dst: Tensor<'a>,
}

impl<'a> Ctx<'a> {
    /// Source `i`, if the node has one.
    pub fn optional(&self, i: usize) -> Result<Option<Tensor<'a>>> {
        let Some(id) = self.node.source(i) else { return Ok(None) };
        let node = self.program.graph().node(id).ok_or(Error::NotFound)?;
        Tensor::of(self.program, id, &node.desc).map(Some)
    }

    /// Source `i`, which the operation can't do without.
    pub fn src(&self, i: usize) -> Result<Tensor<'a>> {
        self.optional(i)?.ok_or(Error::NotFound)
    }
}

/// Whether there is code for a node. Core's shape rules have been checked.
pub fn supports(q: &Query<'_>) -> bool {
    match q.op {
        // What integers do when they overflow, ggml doesn't say.
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Add1 => !q.dst.dtype.is_integer(),
        Op::None
        | Op::Reshape
        | Op::View
        | Op::Permute { .. }
        | Op::Transpose
        | Op::Cont
        | Op::Dup
        | Op::Cpy
        | Op::Acc(_)
        | Op::Set(_)
        | Op::Scale { .. }
        | Op::Sqr
        | Op::Sqrt
        | Op::Log
        | Op::Sin
        | Op::Cos
        | Op::Sum
        | Op::SumRows
        | Op::Mean
        | Op::Argmax
        | Op::Repeat
        | Op::Concat { .. }
        | Op::Norm { .. }
        | Op::RmsNorm { .. }
        | Op::GroupNorm { .. }
        | Op::L2Norm { .. }
        | Op::MulMat { .. }
        | Op::GetRows
        | Op::SetRows
        | Op::DiagMaskInf { .. }
        | Op::SoftMax { .. }
        | Op::Rope(_)
        | Op::Clamp { .. }
        | Op::Unary(_)
        | Op::Glu(_)
        | Op::FlashAttn { .. }
        | Op::Arange { .. }
        | Op::Argsort { .. } => true,
        _ => false,
    }
}

/// [`supports`] for a node of a program; the error says which node it is.
pub fn check(program: &Program<'_>, id: NodeId, node: &Node) -> Result<()> {
    let sources = Query::sources(program.graph(), id);
    if supports(&Query::of(node, &sources)) {
        return Ok(());
    }
    Err(Error::Unsupported { node: id, op: node.op.kind() })
}

/// Computes one node.
pub fn compute<'a>(program: &'a Program<'a>, id: NodeId, node: &'a Node) -> Result<()> {
    if node.op.is_view() || node.desc.is_empty() {
        return Ok(());
    }
    let ctx = Ctx { program, node, dst: Tensor::of(program, id, &node.desc)? };
    match node.op {
        Op::Cont | Op::Dup | Op::Cpy => layout::copy(&ctx),
        Op::Repeat => layout::repeat(&ctx),
        Op::Concat { dim } => layout::concat(&ctx, dim),
        Op::Acc(w) => layout::window(&ctx, &w, true),
        Op::Set(w) => layout::window(&ctx, &w, false),
        Op::Add => elementwise::binary(&ctx, |a, b| a + b),
        Op::Sub => elementwise::binary(&ctx, |a, b| a - b),
        Op::Mul => elementwise::binary(&ctx, |a, b| a * b),
        Op::Div => elementwise::binary(&ctx, |a, b| a / b),
        Op::Add1 => elementwise::binary(&ctx, |a, b| a + b),
        Op::Scale { scale, bias } => {
            elementwise::map(&ctx, |x| x * f64::from(scale) + f64::from(bias))
        }
        Op::Clamp { min, max } => elementwise::map(&ctx, |x| elementwise::clamp(x, min, max)),
        Op::Sqr => elementwise::map(&ctx, |x| x * x),
        Op::Sqrt => elementwise::map(&ctx, libm::sqrt),
        Op::Log => elementwise::map(&ctx, libm::log),
        Op::Sin => elementwise::map(&ctx, libm::sin),
        Op::Cos => elementwise::map(&ctx, libm::cos),
        Op::Unary(u) => elementwise::map(&ctx, |x| elementwise::unary(&u, x)),
        Op::Glu(g) => elementwise::glu(&ctx, &g),
        Op::Arange { start, step, .. } => elementwise::arange(&ctx, start, step),
        Op::Sum => reduce::sum(&ctx),
        Op::SumRows => reduce::rows(&ctx, |sum, _| sum),
        Op::Mean => reduce::rows(&ctx, |sum, n| sum / n),
        Op::Argmax => reduce::argmax(&ctx),
        Op::Argsort { descending } => reduce::argsort(&ctx, descending),
        Op::Norm { eps } => reduce::norm(&ctx, f64::from(eps)),
        Op::RmsNorm { eps } => reduce::rms_norm(&ctx, f64::from(eps)),
        Op::L2Norm { eps } => reduce::l2_norm(&ctx, f64::from(eps)),
        Op::GroupNorm { groups, eps } => reduce::group_norm(&ctx, groups, f64::from(eps)),
        Op::MulMat { .. } => matmul::mul_mat(&ctx),
        Op::GetRows => rows::get(&ctx),
        Op::SetRows => rows::set(&ctx),
        Op::DiagMaskInf { past } => attention::diag_mask(&ctx, past),
        Op::SoftMax { scale, max_bias } => attention::soft_max(&ctx, scale, max_bias),
        Op::Rope(r) => rope::rope(&ctx, &r),
        Op::FlashAttn { scale, max_bias, softcap, .. } => {
            attention::flash(&ctx, scale, max_bias, softcap)
        }
        _ => Err(Error::Unsupported { node: id, op: node.op.kind() }),
    }
}
