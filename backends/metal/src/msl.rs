//! The kernels' texts.

use dinrail_wgsl::KERNELS;

static ALL: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.metal"));
static ENDS: [u32; KERNELS.len()] = include!(concat!(env!("OUT_DIR"), "/ends.rs"));

// What `dinrail_wgsl::translate` writes; the tests compare.

/// Name of the function in every text.
pub const ENTRY: &str = "main_";

/// Number of the buffer with the sizes of arrays, which a kernel may declare and never reads.
pub const SIZES: usize = 8;

/// The text of kernel `i` in the Metal shading language; empty where there is no such kernel.
pub fn text(i: u16) -> &'static str {
    let i = usize::from(i);
    let end = |i: usize| ENDS.get(i).map_or(0, |&e| e as usize);
    ALL.get(i.checked_sub(1).map_or(0, end)..end(i)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dinrail_wgsl::translate;

    #[test]
    fn every_kernel_has_a_text_with_its_bindings() {
        assert_eq!((ENTRY, SIZES), (translate::MSL_ENTRY, usize::from(translate::MSL_SIZES)));
        for (i, k) in KERNELS.iter().enumerate() {
            assert_eq!(text(i as u16), translate::msl(k), "{k:?}");
        }
        assert_eq!(text(KERNELS.len() as u16), "");
    }
}
