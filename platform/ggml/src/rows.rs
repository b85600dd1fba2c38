//! Row numbers, looked at before kernels use them.
//!
//! ggml's CPU backend stops the process on a row number outside its table. Those that the caller writes and the host
//! can read are checked here before each computation; they are a few numbers per token. Numbers that the graph itself
//! computes (the order of a sort, the place of a maximum) are in range by what they are.

use dinrail_core::graph::NodeId;
use dinrail_core::hal::HostView;
use dinrail_core::op::Op;
use dinrail_core::program::Program;
use dinrail_core::tensor::{DType, Desc};
use dinrail_core::{Error, Result};

/// A node of row numbers, and how many rows there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    node: NodeId,
    desc: Desc,
    count: usize,
}

/// The row numbers of a program that must be looked at.
pub(crate) fn of(program: &Program<'_>) -> Vec<Rows> {
    let graph = program.graph();
    let one = |node: &dinrail_core::graph::Node| {
        let table = match node.op {
            Op::GetRows => node.source(0)?,
            Op::SetRows => node.source(2)?,
            _ => return None,
        };
        let numbers = node.source(1)?;
        let desc = graph.node(numbers)?.desc;
        Some(Rows { node: numbers, desc, count: graph.node(table)?.desc.ne[1] })
    };
    let mut all: Vec<Rows> = program.nodes().filter_map(|(_, n)| one(n)).collect();
    all.retain(|r| is_written_by_the_caller(program, r.node) && program.view(r.node).is_ok());
    all
}

fn is_written_by_the_caller(program: &Program<'_>, mut id: NodeId) -> bool {
    while let Some(n) = program.graph().node(id) {
        match n.op {
            Op::None => return true,
            _ if n.op.is_view() => match n.source(0) {
                Some(s) => id = s,
                None => return false,
            },
            _ => return false,
        }
    }
    false
}

/// Looks at the numbers that are there now.
///
/// # Errors
/// [`Error::Invalid`] with the first that is no row.
pub(crate) fn check(program: &Program<'_>, all: &[Rows]) -> Result<()> {
    all.iter().try_for_each(|r| check_one(r, &program.view(r.node)?))
}

fn check_one(r: &Rows, view: &HostView<'_>) -> Result<()> {
    let (ne, nb) = (r.desc.ne, r.desc.nb);
    for i2 in 0..ne[2] * ne[3] {
        for i1 in 0..ne[1] {
            let row = (i2 % ne[2]) * nb[2] + (i2 / ne[2]) * nb[3] + i1 * nb[1];
            for i0 in 0..ne[0] {
                let at = row + i0 * nb[0];
                let n = match r.desc.dtype {
                    DType::I64 => view.i64(at),
                    _ => i64::from(view.i32(at)),
                };
                if !usize::try_from(n).is_ok_and(|n| n < r.count) {
                    return Err(Error::Invalid { what: "row number", value: n });
                }
            }
        }
    }
    Ok(())
}
