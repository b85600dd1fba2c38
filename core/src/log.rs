//! The only door to `defmt` and `log`.
//!
//! Without either feature the macros compile to nothing, not even their arguments' formatting. With both, both get the
//! message. Core and its backends are silent by default: nothing is ever written to a console from here.

/// One message at a level of `log` and `defmt`. Use `{}` only, with arguments that both can format.
#[macro_export]
#[doc(hidden)]
macro_rules! __log {
    ($level:ident, $($arg:tt)*) => {{
        #[cfg(feature = "log")]
        $crate::log::__private::log::$level!($($arg)*);
        // Hosts have no defmt logger to link with, so `--all-features` must not ask for one there.
        #[cfg(all(feature = "defmt", target_os = "none"))]
        $crate::log::__private::defmt::$level!($($arg)*);
    }};
}

#[doc(hidden)]
pub mod __private {
    #[cfg(all(feature = "defmt", target_os = "none"))]
    pub use defmt;
    #[cfg(feature = "log")]
    pub use log;
}

/// An error that was also returned to somebody.
#[allow(unused_macros)]
macro_rules! warning {
    ($($arg:tt)*) => { $crate::__log!(warn, $($arg)*) };
}
/// What a developer wants to see.
macro_rules! debug {
    ($($arg:tt)*) => { $crate::__log!(debug, $($arg)*) };
}
pub(crate) use debug;
#[allow(unused_imports)]
pub(crate) use warning;
