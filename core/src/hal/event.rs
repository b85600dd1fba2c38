//! A mark in a stream's queue.

use super::{Device, Key, Raw};
use crate::error::Result;

/// A point in a stream's work that other streams and the host can wait for; given back when dropped.
pub struct Event {
    device: &'static dyn Device,
    raw: Raw,
}

impl Event {
    /// A new event of a device.
    ///
    /// # Errors
    /// [`Error::NotOffered`](crate::Error::NotOffered) where the device has no events.
    pub fn new(device: &'static dyn Device) -> Result<Self> {
        let raw = device.event_new()?;
        if let Some(live) = device.live() {
            live.events.add();
        }
        Ok(Self { device, raw })
    }

    /// The device that made it.
    pub fn device(&self) -> &'static dyn Device {
        self.device
    }

    /// Waits until the work before the recorded point is done. Returns at once if nothing was recorded.
    ///
    /// # Errors
    /// What the device reports.
    pub fn synchronize(&self) -> Result<()> {
        self.device.event_synchronize(self.key())
    }

    pub(super) fn key(&self) -> Key<'_> {
        Key::of(&self.raw)
    }
}

impl core::fmt::Debug for Event {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Event").field("device", &self.device.name()).finish_non_exhaustive()
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        self.device.event_free(Key::of(&self.raw));
        if let Some(live) = self.device.live() {
            live.events.remove();
        }
    }
}
