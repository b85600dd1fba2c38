//! A layer as the functions of its streams. Asynchronous transfers are core's defaults, which wait and then go through the
//! layer's memory.

use crate::handle::{end, inner, inner_mut, keep};
use crate::{Call, Hook, Kind, Layer};
use dinrail_core::error::Result;
use dinrail_core::graph::Graph;
use dinrail_core::hal::{Event, Key, Prepared, Raw, Stream, StreamOps};
use dinrail_core::program::Program;

/// The wrapped device's stream.
fn stream(key: Key<'_>) -> &Stream {
    // SAFETY: `open` made the word of a `Stream`, which is alive while there is a key.
    unsafe { inner::<Stream>(key) }
}

impl<H: Hook> StreamOps for Layer<H> {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn guid(&self) -> [u8; 16] {
        *b"dinrail-layer-01"
    }

    fn free(&self, key: Key<'_>) {
        // SAFETY: `open` made the word of a `Stream`, and core frees it once.
        self.round(Call::new(Kind::Close), || unsafe { end::<Stream>(key) });
    }

    fn synchronize(&self, key: Key<'_>) -> Result<()> {
        self.around(Call::new(Kind::Synchronize), || stream(key).synchronize())
    }

    fn plan_create(&self, key: Key<'_>, program: &Program<'_>) -> Result<Raw> {
        // SAFETY: as in `stream`. The reference goes into a `Prepared` that `plan_free` ends; core's own handle of it
        // borrows the outer stream, so the inner stream outlives it.
        let stream: &'static Stream = unsafe { inner::<Stream>(key) };
        self.unwrapped(Kind::Plan, program, |p| stream.plan(p).map(keep))
    }

    fn plan_free(&self, _key: Key<'_>, plan: Key<'_>) {
        // SAFETY: `plan_create` made the word of a `Prepared`, and core frees it once.
        unsafe { end::<Prepared<'static>>(plan) };
    }

    fn plan_update(&self, _key: Key<'_>, plan: Key<'_>, program: &Program<'_>) -> Result<()> {
        self.unwrapped(Kind::PlanUpdate, program, |p| {
            // SAFETY: as in `plan_free`; core's handle is borrowed as `&mut` for this call, so nobody else uses it. What
            // it borrows, core's own handle of the outer program keeps.
            let plan = unsafe { inner_mut::<Prepared<'_>>(plan) };
            plan.update(p)
        })
    }

    fn plan_compute(&self, _key: Key<'_>, plan: Key<'_>) -> Result<()> {
        // SAFETY: as in `plan_free`; the plan is alive while there is a key.
        let plan = unsafe { inner::<Prepared<'static>>(plan) };
        self.around(Call::new(Kind::PlanCompute), || plan.compute())
    }

    fn compute(&self, key: Key<'_>, program: &Program<'_>) -> Result<()> {
        self.unwrapped(Kind::Compute, program, |p| self.hook.compute(stream(key), p))
    }

    fn step(&self, key: Key<'_>, program: &Program<'_>, next: usize) -> Result<usize> {
        self.unwrapped(Kind::Step, program, |p| stream(key).step(p, next))
    }

    fn scratch(&self, key: Key<'_>, graph: Graph<'_>) -> usize {
        stream(key).scratch(graph)
    }

    fn event_record(&self, key: Key<'_>, event: Key<'_>) -> Result<()> {
        // SAFETY: core has checked that the event is of this device, whose `event_new` made the word of an `Event`.
        let event = unsafe { inner::<Event>(event) };
        self.around(Call::new(Kind::Record), || stream(key).record(event))
    }

    fn event_wait(&self, key: Key<'_>, event: Key<'_>) -> Result<()> {
        // SAFETY: as in `event_record`.
        let event = unsafe { inner::<Event>(event) };
        self.around(Call::new(Kind::Wait), || stream(key).wait(event))
    }
}
