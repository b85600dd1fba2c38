//! A program's nodes, one after the other, on one worker or on a team.
//!
//! All workers of a team walk over the nodes together and decide the same at each: what to pass over, what worker 0
//! does alone, where to wait for each other. They wait only between two nodes of which at least one was shared.

use crate::kernel::{Args, Operand};
use crate::{Kernel, Level, cost, kernels};
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::{MAX_SRC, NodeId};
use dinrail_core::hal::host::{Threads, Worker};
use dinrail_core::hal::{Key, Query};
use dinrail_core::op::Op;
use dinrail_core::program::{Binding, Program};

/// Nodes to compute.
pub(crate) type Range = core::ops::Range<usize>;

/// What is the same for all nodes of a run.
#[derive(Clone, Copy)]
struct Context<'p, 'a> {
    level: Level,
    program: &'p Program<'a>,
    workers: usize,
    /// Whether any bound memory is in a layout that kernels don't know, so that each node has to be looked at.
    repacked: bool,
}

impl<'p, 'a> Context<'p, 'a> {
    fn new(level: Level, program: &'p Program<'a>, workers: usize) -> Self {
        let odd = |b: &Binding<'_>| b.buffer().is_some_and(|b| b.buffer_type().is_repacked());
        Self { level, program, workers, repacked: program.bindings().iter().any(odd) }
    }

    /// A node's address, in memory whose layout kernels know.
    #[inline]
    fn address(&self, id: NodeId) -> Result<*mut u8> {
        if self.repacked
            && self.program.place(id).is_some_and(|(b, _)| b.buffer_type().is_repacked())
        {
            return Err(Error::ForeignObject { object: "repacked buffer" });
        }
        self.program.address(id)
    }
}

/// A node that is ready to be computed.
struct Task<'a> {
    kernel: Kernel,
    op: &'a Op,
    dst: Operand<'a>,
    src: [Option<Operand<'a>>; MAX_SRC],
    scratch: (*mut u8, usize),
    /// Whether one worker does it. Without compare-and-swap there are no others.
    #[cfg_attr(not(target_has_atomic = "ptr"), allow(dead_code))]
    small: bool,
}

impl<'a> Task<'a> {
    /// Node `i`; `None` where there is nothing to compute.
    fn new(context: &Context<'_, 'a>, i: usize) -> Result<Option<Self>> {
        let Context { level, program, workers, .. } = *context;
        let graph = program.graph();
        let id = NodeId(i as u16);
        let node = graph.node(id).ok_or(Error::NotFound)?;
        if node.op.is_view() || node.desc.is_empty() {
            return Ok(None);
        }
        let sources = Query::sources(graph, id);
        let query = Query::of(node, &sources);
        let Some(kernel) = kernels::resolve(level, &query) else {
            return Err(Error::Unsupported { node: id, op: node.op.kind() });
        };
        let small = workers == 1 || cost::is_small(&query);
        let need = kernels::scratch(level, &query, if small { 1 } else { workers });
        let mut src = [None; MAX_SRC];
        for (to, from) in src.iter_mut().zip(node.src) {
            if let Some(source) = graph.node(from) {
                *to = Some(Operand { desc: &source.desc, ptr: context.address(from)? });
            }
        }
        Ok(Some(Self {
            kernel,
            op: &node.op,
            dst: Operand { desc: &node.desc, ptr: context.address(id)? },
            src,
            scratch: program.scratch(need)?,
            small,
        }))
    }

    /// Computes this worker's part.
    fn run(&self, worker: &Worker<'_>) -> Result<()> {
        let args = Args {
            op: self.op,
            dst: self.dst,
            src: self.src,
            worker,
            scratch: self.scratch.0,
            scratch_len: self.scratch.1,
        };
        // SAFETY: `Program::new` has checked that every tensor lies in its buffer and the result in writable memory;
        // buffers can't be used by other threads meanwhile, and the workers of this call meet at barriers between
        // nodes; a stream is only opened with a level that the machine has.
        unsafe { (self.kernel)(&args) }
    }
}

/// Computes nodes on the calling thread.
pub(crate) fn alone(level: Level, program: &Program<'_>, range: Range) -> Result<()> {
    let context = Context::new(level, program, 1);
    for i in range {
        if let Some(task) = Task::new(&context, i)? {
            task.run(&Worker::ALONE)?;
        }
    }
    Ok(())
}

cfg_if::cfg_if! {
    if #[cfg(target_has_atomic = "8")] {
        use core::cell::UnsafeCell;
        use core::sync::atomic::{AtomicUsize, Ordering};
        use dinrail_core::sync::Gate;

        /// The first error of a run, and when it happened.
        struct Failure {
            /// Number of the stretch between two barriers in which it happened. No worker goes beyond the barrier at
            /// the end of that stretch, so there is only one such number in a run.
            stretch: AtomicUsize,
            gate: Gate,
            /// Node and error; behind the gate.
            first: UnsafeCell<Option<(usize, Error)>>,
        }

        // SAFETY: `first` is only touched inside the gate, which lets one thread in at a time.
        unsafe impl Sync for Failure {}

        impl Failure {
            const fn new() -> Self {
                Self {
                    stretch: AtomicUsize::new(usize::MAX),
                    gate: Gate::new(),
                    first: UnsafeCell::new(None),
                }
            }

            /// Notes an error. That of the earliest node stays.
            fn note(&self, stretch: usize, node: usize, error: Error) {
                let store = || {
                    // SAFETY: inside the gate, so no other reference to it exists.
                    let first = unsafe { &mut *self.first.get() };
                    if first.is_none_or(|(n, _)| node < n) {
                        *first = Some((node, error));
                    }
                };
                while self.gate.pass(store).is_none() {
                    core::hint::spin_loop();
                }
                self.stretch.store(stretch, Ordering::Release);
            }

            /// Whether anything failed up to the end of a stretch; asked after its barrier. A fast worker may have
            /// failed in the next stretch already, which doesn't count yet: everyone has to find the same.
            fn until(&self, stretch: usize) -> bool {
                self.stretch.load(Ordering::Acquire) <= stretch
            }
        }

        fn work(context: &Context<'_, '_>, range: Range, worker: &Worker<'_>, failure: &Failure) {
            let mut stretch = 0;
            let mut mine_failed = false;
            // Whether the node before this one was small; none before the first.
            let mut before = None;
            for i in range {
                let task = match Task::new(context, i) {
                    Ok(Some(task)) => task,
                    Ok(None) => continue,
                    // Everyone gets here, if none has stopped at a barrier, and all do that at the same one.
                    Err(e) => return failure.note(stretch, i, e),
                };
                if before.is_some_and(|small: bool| !small || !task.small) {
                    worker.wait();
                    if failure.until(stretch) {
                        return;
                    }
                    stretch += 1;
                }
                before = Some(task.small);
                let done = match (task.small, worker.index()) {
                    (true, 0) if !mine_failed => task.run(&Worker::ALONE),
                    (true, _) => Ok(()),
                    (false, _) => task.run(worker),
                };
                if let Err(e) = done {
                    failure.note(stretch, i, e);
                    mine_failed = true;
                }
            }
        }

        /// Computes nodes on a team.
        pub(crate) fn team(
            level: Level,
            threads: &dyn Threads,
            key: Key<'_>,
            program: &Program<'_>,
            range: Range,
        ) -> Result<()> {
            // Workers see the program through this; buffers aren't `Sync`, for host memory has no lock.
            struct Shared<'p, 'a>(Context<'p, 'a>);
            // SAFETY: the caller lends the program for the whole run and does nothing else meanwhile. Workers only read
            // it, and reading a buffer's address and size is safe from several threads.
            unsafe impl Sync for Shared<'_, '_> {}
            impl<'p, 'a> Shared<'p, 'a> {
                fn context(&self) -> &Context<'p, 'a> {
                    &self.0
                }
            }

            let failure = Failure::new();
            let shared = Shared(Context::new(level, program, threads.count(key)));
            threads.run(key, &|worker| {
                work(shared.context(), range.clone(), worker, &failure);
            });
            match failure.first.into_inner() {
                Some((_, error)) => Err(error),
                None => Ok(()),
            }
        }
    } else {
        /// Without compare-and-swap no stream has a team.
        pub(crate) fn team(
            level: Level,
            _threads: &dyn Threads,
            _key: Key<'_>,
            program: &Program<'_>,
            range: Range,
        ) -> Result<()> {
            alone(level, program, range)
        }
    }
}
