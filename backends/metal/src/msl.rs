//! The kernels' texts.

use dinrail_wgsl::KERNELS;

static ALL: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.metal"));
static ENDS: [u32; KERNELS.len()] = include!(concat!(env!("OUT_DIR"), "/ends.rs"));

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

    #[test]
    fn every_kernel_has_a_text_with_its_bindings() {
        for (i, k) in KERNELS.iter().enumerate() {
            let text = text(i as u16);
            assert_eq!(text.matches("kernel void main_(").count(), 1, "{k:?}");
            assert!(text.contains("[[buffer(0)]]") && text.contains("[[buffer(1)]]"), "{k:?}");
            // Threads of a workgroup are what the host launches.
            let size = format!("max_total_threads_per_threadgroup({})", k.family.workgroup());
            assert!(text.contains(&size), "{k:?}");
            assert!(!text.contains("fake"), "every binding has its place");
        }
    }
}
