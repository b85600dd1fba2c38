//! Version
//!
//! Every exported name begins with `dinrail0_`, where 0 is the version of this interface; the macros at the top of the
//! header let programs write `dinrail_`. Libraries of different versions can be linked into one program.

use crate::text::dinrail_str;

const fn number(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(n) => n,
        Err(_) => panic!("the package's version is three numbers"),
    }
}

const VERSION: u32 = number(env!("CARGO_PKG_VERSION_MAJOR")) << 16
    | number(env!("CARGO_PKG_VERSION_MINOR")) << 8
    | number(env!("CARGO_PKG_VERSION_PATCH"));

const PARTS: &[(&str, bool)] = &[
    (env!("CARGO_PKG_VERSION"), true),
    (" std", cfg!(feature = "std")),
    (" dynamic", cfg!(feature = "dynamic")),
    (" metal", cfg!(feature = "metal")),
    (" vulkan", cfg!(feature = "vulkan")),
    (" cpu", cfg!(feature = "cpu")),
    (" reference", cfg!(feature = "reference")),
    (" null", cfg!(feature = "null")),
];

static BUILD: ([u8; 96], usize) = {
    let (mut text, mut len) = ([0; 96], 0);
    let mut i = 0;
    while i < PARTS.len() {
        let part = PARTS[i].0.as_bytes();
        let mut k = 0;
        while PARTS[i].1 && k < part.len() {
            text[len] = part[k];
            len += 1;
            k += 1;
        }
        i += 1;
    }
    (text, len)
};

/// The library's version: 0x010203 is 1.2.3. Compare it with `DINRAIL_VERSION`, the header's.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("version"))]
pub extern "C" fn dinrail_version() -> u32 {
    VERSION
}

/// The library's version and what was compiled in, such as "0.1.0 std cpu".
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("build"))]
pub extern "C" fn dinrail_build() -> dinrail_str {
    dinrail_str::bytes(BUILD.0.split_at(BUILD.1).0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn version_is_the_packages() {
        let v = super::dinrail_version();
        let text = format!("{}.{}.{}", v >> 16, v >> 8 & 255, v & 255);
        assert_eq!(text, env!("CARGO_PKG_VERSION"));
    }
}
