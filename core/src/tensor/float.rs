//! Conversions between float formats, and the few rounding functions that `core` has not.
