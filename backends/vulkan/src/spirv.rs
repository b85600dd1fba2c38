//! The kernels' SPIR-V.

use dinrail_wgsl::KERNELS;

static ALL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.spv"));
static ENDS: [u32; KERNELS.len()] = include!(concat!(env!("OUT_DIR"), "/ends.rs"));

/// Words before the first instruction.
const HEADER: usize = 5;
const OP_TYPE_POINTER: u32 = 32;
const OP_VARIABLE: u32 = 59;
const UNIFORM: u32 = 2;
const STORAGE_BUFFER: u32 = 12;

/// The words of a kernel; none where there is no such kernel. Its arguments are in a uniform buffer, or in a storage
/// buffer if `stored`.
pub fn code(kernel: u16, stored: bool) -> Vec<u32> {
    let i = usize::from(kernel);
    let end = |i: usize| ENDS.get(i).map_or(0, |&e| e as usize);
    let start = i.checked_sub(1).map_or(0, end);
    let bytes = ALL.get(start..end(i)).unwrap_or(&[]);
    let words = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let mut words: Vec<u32> = words.collect();
    if stored {
        store_arguments(&mut words);
    }
    words
}

/// Moves arguments from a uniform buffer to a storage buffer. The arguments are all that is uniform, and their layout
/// suits both.
fn store_arguments(words: &mut [u32]) {
    let mut at = HEADER;
    while let Some(&first) = words.get(at) {
        let class = match first & 0xffff {
            OP_TYPE_POINTER => at + 2,
            OP_VARIABLE => at + 3,
            _ => usize::MAX,
        };
        if let Some(w) = words.get_mut(class)
            && *w == UNIFORM
        {
            *w = STORAGE_BUFFER;
        }
        at += (first >> 16).max(1) as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_code_in_both_ways() {
        for kernel in 0..KERNELS.len() as u16 {
            let (plain, stored) = (code(kernel, false), code(kernel, true));
            assert_eq!(plain.first(), Some(&0x0723_0203), "{kernel}");
            assert_eq!(plain.len(), stored.len());
            let changed = plain.iter().zip(&stored).filter(|(a, b)| a != b);
            let changes: Vec<_> = changed.map(|(a, b)| (*a, *b)).collect();
            // The variable, and a pointer type or more.
            assert!(changes.len() >= 2, "{kernel}");
            assert!(changes.iter().all(|c| *c == (UNIFORM, STORAGE_BUFFER)), "{kernel}");
        }
        assert!(code(KERNELS.len() as u16, false).is_empty());
    }
}
