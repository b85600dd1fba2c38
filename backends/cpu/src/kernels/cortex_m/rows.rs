//! Rows of floats with one column.

use super::ZERO;
use core::arch::naked_asm;

/// Pairs of rows, and the column that they are multiplied with.
#[repr(C)]
pub struct Rows {
    /// First row.
    pub rows: *const u8,
    /// Bytes from a row to the next.
    pub stride: usize,
    /// Half the number of rows.
    pub pairs: usize,
    /// The column.
    pub x: *const f32,
    /// Elements of each.
    pub len: usize,
    /// A result for each row.
    pub out: *mut f32,
}

/// What both kinds of rows begin with: the registers' names are in the comments of the loops. Sums start from zero.
macro_rules! begin {
    ($shift:literal) => {
        concat!(
            "
            push {{r4-r10, lr}}
            vpush {{s16-s31}}
            ldm r0, {{r0-r5}}
            movw r6, #:lower16:{zero}
            movt r6, #:upper16:{zero}
            lsl r10, r1, #1
            sub r10, r10, r4, lsl #",
            $shift,
            "
        1:
            vldmia r6, {{s0-s15}}
            add r7, r0, r1
            mov r8, r3
            subs r9, r4, #8
            blt 3f
            "
        )
    };
}

/// One element behind the last whole vector, into a lane of each row; on to the end behind the last one.
macro_rules! single {
    ($first:literal, $second:literal, $load:ident) => {
        concat!(
            "
            vldmia r8!, {{s16}}",
            $load!("r0"),
            "vmla.f32 ",
            $first,
            ", s24, s16",
            $load!("r7"),
            "vmla.f32 ",
            $second,
            ", s24, s16
            subs r9, r9, #1
            beq 5f
            "
        )
    };
}

/// The eight lanes of both sums in the scalar level's order, the results, and on to the next pair.
macro_rules! end {
    ($four:literal, $load:ident) => {
        concat!(
            "
        3:
            adds r9, r9, #8
            beq 5f
            subs r9, r9, #4
            blt 4f",
            $four,
            "beq 5f",
            single!("s4", "s12", $load),
            single!("s5", "s13", $load),
            single!("s6", "s14", $load),
            "
        4:
            adds r9, r9, #4",
            single!("s0", "s8", $load),
            single!("s1", "s9", $load),
            single!("s2", "s10", $load),
            "
        5:
            vadd.f32 s0, s0, s4
            vadd.f32 s8, s8, s12
            vadd.f32 s1, s1, s5
            vadd.f32 s9, s9, s13
            vadd.f32 s2, s2, s6
            vadd.f32 s10, s10, s14
            vadd.f32 s3, s3, s7
            vadd.f32 s11, s11, s15
            vadd.f32 s0, s0, s2
            vadd.f32 s8, s8, s10
            vadd.f32 s1, s1, s3
            vadd.f32 s9, s9, s11
            vadd.f32 s0, s0, s1
            vadd.f32 s1, s8, s9
            vstmia r5!, {{s0-s1}}
            add r0, r0, r10
            subs r2, r2, #1
            bne 1b
            vpop {{s16-s31}}
            pop {{r4-r10, pc}}
            "
        )
    };
}

/// The next float of a row.
macro_rules! float {
    ($row:literal) => {
        concat!("\nvldmia ", $row, "!, {{s24}}\n")
    };
}

/// The next half of a row.
macro_rules! half {
    ($row:literal) => {
        concat!("\nldrh r12, [", $row, "], #2\nvmov s24, r12\nvcvtb.f32.f16 s24, s24\n")
    };
}

/// The products of rows of floats with the column, each in eight sums, of every eighth element.
///
/// # Safety
/// * There is a pair, and rows and column are readable for `len` floats, `out` writable for two a pair, all aligned.
// r0, r7: rows; r1: stride; r2: pairs; r3, r8: column; r4, r9: elements; r5: results; r6: zeros; r10: to the row after the
// next one.
#[unsafe(naked)]
pub unsafe extern "C" fn f32(job: *const Rows) {
    naked_asm!(
        arch!(),
        begin!("2"),
        "
        2:
            vldmia r8!, {{s16-s23}}
            vldmia r0!, {{s24-s31}}
            subs r9, r9, #8
            vmla.f32 s0, s24, s16
            vmla.f32 s1, s25, s17
            vmla.f32 s2, s26, s18
            vmla.f32 s3, s27, s19
            vmla.f32 s4, s28, s20
            vmla.f32 s5, s29, s21
            vmla.f32 s6, s30, s22
            vmla.f32 s7, s31, s23
            vldmia r7!, {{s24-s31}}
            vmla.f32 s8, s24, s16
            vmla.f32 s9, s25, s17
            vmla.f32 s10, s26, s18
            vmla.f32 s11, s27, s19
            vmla.f32 s12, s28, s20
            vmla.f32 s13, s29, s21
            vmla.f32 s14, s30, s22
            vmla.f32 s15, s31, s23
            bge 2b
        ",
        end!(
            "
            vldmia r8!, {{s16-s19}}
            vldmia r0!, {{s24-s27}}
            vmla.f32 s0, s24, s16
            vmla.f32 s1, s25, s17
            vmla.f32 s2, s26, s18
            vmla.f32 s3, s27, s19
            vldmia r7!, {{s24-s27}}
            vmla.f32 s8, s24, s16
            vmla.f32 s9, s25, s17
            vmla.f32 s10, s26, s18
            vmla.f32 s11, s27, s19
            ",
            float
        ),
        zero = sym ZERO,
    )
}

/// As [`f32`](f32()), with rows of half-precision numbers, each of which begins at a multiple of 4.
///
/// # Safety
/// As [`f32`](f32()).
#[unsafe(naked)]
pub unsafe extern "C" fn f16(job: *const Rows) {
    naked_asm!(
        arch!(),
        begin!("1"),
        "
        2:
            vldmia r8!, {{s16-s23}}
            vldmia r0!, {{s24-s27}}
            subs r9, r9, #8
            vcvtb.f32.f16 s28, s24
            vcvtt.f32.f16 s29, s24
            vcvtb.f32.f16 s30, s25
            vcvtt.f32.f16 s31, s25
            vmla.f32 s0, s28, s16
            vmla.f32 s1, s29, s17
            vmla.f32 s2, s30, s18
            vmla.f32 s3, s31, s19
            vcvtb.f32.f16 s28, s26
            vcvtt.f32.f16 s29, s26
            vcvtb.f32.f16 s30, s27
            vcvtt.f32.f16 s31, s27
            vmla.f32 s4, s28, s20
            vmla.f32 s5, s29, s21
            vmla.f32 s6, s30, s22
            vmla.f32 s7, s31, s23
            vldmia r7!, {{s24-s27}}
            vcvtb.f32.f16 s28, s24
            vcvtt.f32.f16 s29, s24
            vcvtb.f32.f16 s30, s25
            vcvtt.f32.f16 s31, s25
            vmla.f32 s8, s28, s16
            vmla.f32 s9, s29, s17
            vmla.f32 s10, s30, s18
            vmla.f32 s11, s31, s19
            vcvtb.f32.f16 s28, s26
            vcvtt.f32.f16 s29, s26
            vcvtb.f32.f16 s30, s27
            vcvtt.f32.f16 s31, s27
            vmla.f32 s12, s28, s20
            vmla.f32 s13, s29, s21
            vmla.f32 s14, s30, s22
            vmla.f32 s15, s31, s23
            bge 2b
        ",
        end!(
            "
            vldmia r8!, {{s16-s19}}
            vldmia r0!, {{s24-s25}}
            vcvtb.f32.f16 s28, s24
            vcvtt.f32.f16 s29, s24
            vcvtb.f32.f16 s30, s25
            vcvtt.f32.f16 s31, s25
            vmla.f32 s0, s28, s16
            vmla.f32 s1, s29, s17
            vmla.f32 s2, s30, s18
            vmla.f32 s3, s31, s19
            vldmia r7!, {{s24-s25}}
            vcvtb.f32.f16 s28, s24
            vcvtt.f32.f16 s29, s24
            vcvtb.f32.f16 s30, s25
            vcvtt.f32.f16 s31, s25
            vmla.f32 s8, s28, s16
            vmla.f32 s9, s29, s17
            vmla.f32 s10, s30, s18
            vmla.f32 s11, s31, s19
            ",
            half
        ),
        zero = sym ZERO,
    )
}
