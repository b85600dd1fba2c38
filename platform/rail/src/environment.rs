//! Settings from environment variables.
//!
//! | variable | value | effect |
//! |---|---|---|
//! | `DINRAIL_CPU_LEVEL` | name of a level, such as `scalar` or `avx2` | the CPU backend uses none above it |
//!
//! Nothing is read before a program calls [`apply`]: a library must not change its behaviour behind the back of the
//! program that it is part of.

use core::fmt;
use std::ffi::OsString;

/// The level of the CPU backend.
pub const CPU_LEVEL: &str = "DINRAIL_CPU_LEVEL";

/// A variable that is set to something that can't be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    variable: &'static str,
    value: OsString,
    reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "cpu"), allow(dead_code))]
enum Reason {
    UnknownLevel,
    UnavailableLevel,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}: ", self.variable, self.value.to_string_lossy())?;
        match self.reason {
            Reason::UnknownLevel => f.write_str("there is no such level")?,
            Reason::UnavailableLevel => {
                f.write_str("this program or this machine lacks the level")?
            }
        }
        f.write_str("; those it has are")?;
        for (i, name) in levels().enumerate() {
            write!(f, "{}{name}", if i == 0 { " " } else { ", " })?;
        }
        Ok(())
    }
}

impl core::error::Error for Error {}

/// Reads the variables and applies them to streams that are opened from here on. A variable that is not set, or empty,
/// changes nothing.
///
/// # Errors
/// The first variable with a value that can't be; it has no effect then.
pub fn apply() -> Result<(), Error> {
    apply_from(|name| std::env::var_os(name))
}

#[cfg(feature = "cpu")]
fn levels() -> impl Iterator<Item = &'static str> {
    dinrail_cpu::Level::ALL.into_iter().filter(|l| l.is_available()).map(|l| l.name())
}

#[cfg(not(feature = "cpu"))]
fn levels() -> impl Iterator<Item = &'static str> {
    core::iter::empty()
}

fn apply_from(variable: impl Fn(&str) -> Option<OsString>) -> Result<(), Error> {
    #[cfg(feature = "cpu")]
    if let Some(value) = variable(CPU_LEVEL).filter(|v| !v.is_empty()) {
        let level = value.to_str().and_then(dinrail_cpu::Level::parse);
        let result = match level {
            None => Err(Reason::UnknownLevel),
            Some(level) => dinrail_cpu::limit(Some(level)).map_err(|_| Reason::UnavailableLevel),
        };
        return result.map_err(|reason| Error { variable: CPU_LEVEL, value, reason });
    }
    let _ = variable;
    Ok(())
}

#[cfg(all(test, feature = "cpu"))]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_level_is_forced_down() {
        let best = dinrail_cpu::level();
        let set = |value: &'static str| {
            apply_from(move |name| {
                assert_eq!(name, CPU_LEVEL);
                Some(value.into())
            })
        };
        assert_eq!(set("Scalar"), Ok(()));
        assert_eq!(dinrail_cpu::level(), dinrail_cpu::Level::Scalar);
        let e = set("avx9").unwrap_err();
        assert!(
            e.to_string().starts_with(
                "DINRAIL_CPU_LEVEL=avx9: there is no such level; those it has are scalar"
            ),
            "{e}"
        );
        let foreign = if cfg!(target_arch = "x86_64") { "neon" } else { "avx2" };
        let e = set(foreign).unwrap_err();
        assert!(e.to_string().contains("lacks the level"), "{e}");
        // As it was.
        assert_eq!(set(""), Ok(()));
        assert_eq!(dinrail_cpu::level(), dinrail_cpu::Level::Scalar);
        assert_eq!(apply_from(|_| None), Ok(()));
        assert_eq!(dinrail_cpu::limit(None), Ok(()));
        assert_eq!(dinrail_cpu::level(), best);
    }
}
