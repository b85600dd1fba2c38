//! Rows of `Q8_0` with one column of 8-bit levels.

use core::arch::naked_asm;

/// Bytes of a block: scale and 32 levels.
const BLOCK: usize = 34;

/// Pairs of rows, and the column that they are multiplied with. The loops count in it.
#[repr(C)]
pub struct Blocks {
    rows: [*const u8; 2],
    column: *const u8,
    items: usize,
    out: *mut f32,
    pairs: usize,
    /// From the end of a row to the beginning of the row after the next one.
    step: usize,
}

impl Blocks {
    /// `pairs` times two rows of `groups` blocks, `row_bytes` apart; the column's items are groups or, for [`twins`],
    /// pairs of them.
    pub fn new(
        rows: *const u8,
        row_bytes: usize,
        pairs: usize,
        (column, groups, items): (*const u8, usize, usize),
        out: *mut f32,
    ) -> Self {
        Self {
            rows: [rows, rows.wrapping_add(row_bytes)],
            column,
            items,
            out,
            pairs,
            step: (2 * row_bytes).wrapping_sub(groups * BLOCK),
        }
    }
}

/// Two levels in r10 and r11 of each word with the column's words r5 to r8, into a sum.
macro_rules! eight {
    (begin $sum:literal) => {
        eight!(@ $sum concat!("smuad ", $sum, ", r9, r5"))
    };
    ($sum:literal) => {
        eight!(@ $sum concat!("smlad ", $sum, ", r9, r5, ", $sum))
    };
    (@ $sum:literal $first:expr) => {
        concat!(
            "
            sxtb16 r9, r10
            sxtb16 r10, r10, ror #8
            ",
            $first,
            "
            smlad ", $sum, ", r10, r6, ", $sum, "
            sxtb16 r9, r11
            sxtb16 r11, r11, ror #8
            smlad ", $sum, ", r9, r7, ", $sum, "
            smlad ", $sum, ", r11, r8, ", $sum, "
            "
        )
    };
}

/// The next eight levels of both rows.
macro_rules! both {
    () => {
        concat!(
            "
            ldm r2!, {{r5-r8}}
            ldm r0!, {{r10-r11}}",
            eight!("r3"),
            "ldm r1!, {{r10-r11}}",
            eight!("r4"),
        )
    };
}

/// Rows with an even number of blocks, at a multiple of 4: a pair of blocks is 17 words. Those of the second block are
/// its levels. The first block's scale is in the low half of word 0, the second block's in the high half of word 8; the
/// other halves of these two words make a word of the first block's levels 30, 31, 0 and 1.
///
/// # Safety
/// * There are a pair and an item. Each row has two blocks for each item, which is 32 words of levels as
///   [`levels`](super::column::levels) writes them, the first 16 turned, and two scales.
/// * `out` is writable for two floats a pair.
// r0, r1: rows; r2: column; r3, r4: sums; r5 to r8: levels of the column; r9 to r11: of a row; r12: items; lr: the job.
#[rustfmt::skip]
#[unsafe(naked)]
pub unsafe extern "C" fn twins(job: *mut Blocks) {
    naked_asm!(
        arch!(),
        "
            push {{r4-r11, lr}}
            mov lr, r0
            movs r2, #0
            vmov s12, r2
            ldrd r0, r1, [lr]
        1:
            ldrd r2, r12, [lr, #8]
            vmov.f32 s0, s12
            vmov.f32 s1, s12
        2:
            vldr s2, [r0]
            vldr s3, [r0, #32]
            vldr s4, [r1]
            vldr s5, [r1, #32]
            vcvtb.f32.f16 s2, s2
            vcvtt.f32.f16 s3, s3
            vcvtb.f32.f16 s4, s4
            vcvtt.f32.f16 s5, s5
            ldm r2!, {{r5-r8}}
            ldr r9, [r0, #32]
            ldm r0!, {{r10-r11}}
            pkhbt r10, r9, r10",
        eight!(begin "r3"),
            "
            ldr r9, [r1, #32]
            ldm r1!, {{r10-r11}}
            pkhbt r10, r9, r10",
        eight!(begin "r4"),
        both!(), both!(), both!(),
            "
            vmov s8, s9, r3, r4
            ldm r2!, {{r5-r8}}
            ldm r0!, {{r9-r11}}",
        eight!(begin "r3"),
            "ldm r1!, {{r9-r11}}",
        eight!(begin "r4"),
        both!(), both!(), both!(),
            "
            vldmia r2!, {{s6-s7}}
            vmov s10, s11, r3, r4
            vmul.f32 s2, s2, s6
            vmul.f32 s3, s3, s7
            vmul.f32 s4, s4, s6
            vmul.f32 s5, s5, s7
            vcvt.f32.s32 s8, s8
            vcvt.f32.s32 s9, s9
            vcvt.f32.s32 s10, s10
            vcvt.f32.s32 s11, s11
            vmla.f32 s0, s8, s2
            vmla.f32 s1, s9, s4
            subs r12, r12, #1
            vmla.f32 s0, s10, s3
            vmla.f32 s1, s11, s5
            bne 2b
            ldr r9, [lr, #24]
            ldrd r10, r11, [lr, #16]
            add r0, r0, r9
            add r1, r1, r9
            subs r11, r11, #1
            vstmia r10!, {{s0-s1}}
            strd r10, r11, [lr, #16]
            bne 1b
            pop {{r4-r11, pc}}
        "
    )
}

/// Four levels of both rows with the column's next two words.
macro_rules! four {
    (begin) => {
        four!(@ "smuad r3, r8, r5", "smuad r4, r8, r5")
    };
    () => {
        four!(@ "smlad r3, r8, r5, r3", "smlad r4, r8, r5, r4")
    };
    (@ $first:literal, $second:literal) => {
        concat!(
            "
            ldrd r5, r6, [r2], #8
            ldr r7, [r0], #4
            sxtb16 r8, r7
            sxtb16 r7, r7, ror #8
            ",
            $first,
            "
            smlad r3, r7, r6, r3
            ldr r7, [r1], #4
            sxtb16 r8, r7
            sxtb16 r7, r7, ror #8
            ",
            $second,
            "
            smlad r4, r7, r6, r4"
        )
    };
}

/// Rows at any address (`LDR` and `LDRH` need no alignment).
///
/// # Safety
/// * There are a pair and an item. Each row has a block for each item, which is 16 words of levels as
///   [`levels`](super::column::levels) writes them, and a scale.
/// * `out` is writable for two floats a pair.
// r0, r1: rows; r2: column; r3, r4: sums; r5, r6: levels of the column; r7, r8: of a row; r12: items; lr: the job.
#[unsafe(naked)]
pub unsafe extern "C" fn singles(job: *mut Blocks) {
    naked_asm!(
        arch!(),
        "
            push {{r4-r11, lr}}
            mov lr, r0
            ldrd r0, r1, [lr]
        1:
            ldrd r2, r12, [lr, #8]
            movs r3, #0
            vmov s0, s1, r3, r3
        2:
            ldrh r3, [r0], #2
            ldrh r4, [r1], #2
            vmov s2, s3, r3, r4
            vcvtb.f32.f16 s2, s2
            vcvtb.f32.f16 s3, s3
        ",
        four!(begin),
        four!(),
        four!(),
        four!(),
        four!(),
        four!(),
        four!(),
        four!(),
        "
            vldmia r2!, {{s4}}
            vmov s5, s6, r3, r4
            subs r12, r12, #1
            vcvt.f32.s32 s5, s5
            vcvt.f32.s32 s6, s6
            vmul.f32 s2, s2, s4
            vmul.f32 s3, s3, s4
            vmla.f32 s0, s5, s2
            vmla.f32 s1, s6, s3
            bne 2b
            ldr r7, [lr, #24]
            ldrd r10, r11, [lr, #16]
            add r0, r0, r7
            add r1, r1, r7
            subs r11, r11, #1
            vstmia r10!, {{s0-s1}}
            strd r10, r11, [lr, #16]
            bne 1b
            pop {{r4-r11, pc}}
        "
    )
}
