//! Memory of its own.

use crate::Hook;

/// Makes of any device one that uses only memory that it allocated itself, like a graphics card: what lies elsewhere has to
/// be copied to it. With a CPU behind it, programs for several devices can be tried and tested without such a card.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wall;

impl Hook for Wall {
    fn is_walled(&self) -> bool {
        true
    }
}
