//! Plans
//!
//! A plan says where each tensor of a graph lies in one arena, and how large that arena must be, before anything is
//! allocated. It needs no closing.

use crate::border::{Holder, Out, aligned, answer, filled, guard, holder, some};
use crate::error::{Fault, dinrail_error, dinrail_status};
use crate::graph::dinrail_graph;
use crate::stamp::Stamp;
use core::cell::UnsafeCell;
use dinrail::graph::Graph;
use dinrail::plan::{Loc, Options, Plan, Work, plan};

/// The place of one node, kept with the plan. Its contents are the library's.
#[repr(C)]
pub struct dinrail_place {
    words_: [usize; 2],
}

/// Working memory of the planner for one node, needed only while `dinrail_plan_make` runs.
#[repr(C)]
pub struct dinrail_work {
    wide_: [u64; 1],
    words_: [usize; 6],
}

/// A finished plan.
#[repr(C)]
pub struct dinrail_plan {
    words_: UnsafeCell<[usize; 12]>,
}

/// A plan, and the graph that it was made for.
pub(crate) struct Planned {
    plan: Plan<'static>,
    graph: Stamp,
}

holder!(dinrail_plan holds Planned, 3, "plan");

/// What the planner is asked for. Start from `DINRAIL_PLAN_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_plan_options {
    /// Alignment of every tensor in the arena, in bytes, a power of two: at least the buffer type's.
    pub align: usize,
    /// Bytes kept free for kernels to work in: what `dinrail_stream_scratch` says.
    pub scratch: usize,
    /// Whether every result is kept, to look at each. Takes more memory.
    pub keep_all: bool,
}

/// The options as a C program may have left them: a byte that is neither 0 nor 1 is no `bool` of Rust's.
#[repr(C)]
struct Given {
    align: usize,
    scratch: usize,
    keep_all: u8,
}
const _: () = assert!(
    size_of::<Given>() == size_of::<dinrail_plan_options>()
        && core::mem::offset_of!(Given, keep_all)
            == core::mem::offset_of!(dinrail_plan_options, keep_all)
);

/// What a plan costs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_plan_summary {
    /// Bytes that the arena must have: tensors and scratch.
    pub arena: usize,
    /// Bytes that tensors take at the fullest moment.
    pub peak: usize,
    /// The largest sum of tensors that are alive at one moment, which no arrangement can beat.
    pub lower_bound: usize,
    /// Bytes of scratch memory.
    pub scratch: usize,
    /// What the arena's first byte must be a multiple of.
    pub align: usize,
}

/// Plans a finished graph. NULL for `options` stands for `DINRAIL_PLAN_OPTIONS_INIT`. DINRAIL_ERROR_FULL where `count` is less
/// than the number of nodes.
///
/// Threads: the plan's. Nothing of the graph changes.
///
/// # Safety
/// `options` is NULL or points to options; `places` has `count` entries, which live, and are used by nobody else, as long as the plan is used; `work` has `count`
/// entries, which are free again on return.
#[unsafe(export_name = symbol!("plan_make"))]
pub unsafe extern "C" fn dinrail_plan_make(
    target: Option<&mut dinrail_plan>,
    graph: Option<&dinrail_graph>,
    options: *const dinrail_plan_options,
    places: *mut dinrail_place,
    work: *mut dinrail_work,
    count: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let target = some(target, "plan")?;
        let graph = some(graph, "graph")?.graph()?;
        let n = graph.len();
        if count < n {
            let what = dinrail::error::What::Plan;
            return Err(dinrail::Error::Full { what, need: n, have: count }.into());
        }
        // SAFETY: the caller promises it.
        let locs: &'static mut [Loc] = unsafe { filled(places, n, Loc::ZERO, "places") }?;
        // SAFETY: as above.
        let work = unsafe { filled(work, n, Work::EMPTY, "work") }?;
        let options = if options.is_null() {
            Options::DEFAULT
        } else {
            aligned(options, 1, "options")?;
            // SAFETY: the caller promises it; the two have the same fields.
            let given = unsafe { options.cast::<Given>().read() };
            Options { align: given.align, scratch: given.scratch, in_place: given.keep_all == 0 }
        };
        let summary = plan(graph, &options, work, locs)?;
        target
            .put(Planned { plan: Plan::from_parts(locs, summary), graph: Stamp::of_graph(graph) });
        Ok(())
    })
}

/// What a plan costs.
///
/// Threads: any.
#[unsafe(export_name = symbol!("plan_get_summary"))]
pub extern "C" fn dinrail_plan_get_summary(
    plan: Option<&dinrail_plan>,
    out: Out<dinrail_plan_summary>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let s = *some(plan, "plan")?.value()?.plan.summary();
        some(out, "out")?.write(dinrail_plan_summary {
            arena: s.arena,
            peak: s.peak,
            lower_bound: s.lower_bound,
            scratch: s.scratch,
            align: s.align,
        });
        Ok(())
    })
}

/// Bytes that the arena must have; 0 for no plan. Short for `dinrail_plan_get_summary`.
///
/// Threads: any.
#[unsafe(export_name = symbol!("plan_arena"))]
pub extern "C" fn dinrail_plan_arena(plan: Option<&dinrail_plan>) -> usize {
    guard(0, || plan.and_then(|p| p.value().ok()).map_or(0, |p| p.plan.summary().arena))
}

impl dinrail_plan {
    /// The plan, if it was made for this graph.
    pub(crate) fn plan_of(&self, graph: Graph<'_>) -> Result<Plan<'static>, Fault> {
        let planned = self.value()?;
        // Of another number of nodes, the core says both.
        if planned.plan.len() == graph.len() && planned.graph != Stamp::of_graph(graph) {
            return Err(Fault::OtherPlan(graph.len()));
        }
        Ok(planned.plan)
    }
}
