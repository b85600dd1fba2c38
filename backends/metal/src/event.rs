//! Events: a shared event of the system, and the value that it reaches.

use crate::context::{Commands, SharedEvent, lock};
use crate::recorder::{Recorder, finish};
use crate::{context::Context, context::nothing};
use dinrail_core::error::Result;
use dinrail_core::hal::Key;
use objc2_metal::MTLDevice;
use std::sync::Mutex;

/// An event.
pub struct Mark {
    event: SharedEvent,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What the event reaches when everything is done that was recorded before the last mark; 0 before the first.
    value: u64,
    /// The command buffer that signals it. Waiting for it, unlike waiting for the event, ends also when it fails.
    commands: Option<Commands>,
}

// SAFETY: shared events may be used from any thread; a committed command buffer is only waited for, which any thread
// may do.
unsafe impl Send for Mark {}
// SAFETY: as above; what changes is behind a lock.
unsafe impl Sync for Mark {}

impl Mark {
    /// An event that nothing was recorded in.
    pub fn new(context: &Context) -> Result<Self> {
        let event = context.hardware.newSharedEvent().ok_or(nothing("newSharedEvent"))?;
        Ok(Self { event, state: Mutex::new(State::default()) })
    }

    /// The event behind a handle.
    pub fn of<'a>(key: Key<'a>) -> &'a Self {
        // SAFETY: events' keys point to what `event_new` made, alive as long as the handle.
        unsafe { &*key.pointer::<Self>() }
    }

    /// Marks everything that a stream has recorded.
    pub fn record(&self, context: &Context, recorder: &mut Recorder) -> Result<()> {
        let mut state = lock(&self.state);
        let value = state.value + 1;
        let commands = recorder.signal(context, &self.event, value)?;
        *state = State { value, commands: Some(commands) };
        Ok(())
    }

    /// Makes what a stream records from now on wait.
    pub fn await_in(&self, context: &Context, recorder: &mut Recorder) -> Result<()> {
        match lock(&self.state).value {
            0 => Ok(()),
            value => recorder.await_event(context, &self.event, value),
        }
    }

    /// Waits on the host.
    pub fn wait(&self) -> Result<()> {
        let commands = lock(&self.state).commands.clone();
        commands.map_or(Ok(()), |c| finish(&c))
    }
}
