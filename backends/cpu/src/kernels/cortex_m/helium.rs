//! Loops for cores with Helium, the vector extension of ARMv8.1-M (M55, M85): four rows at once.
//!
//! Its vectors have no names in stable Rust's inline assembly, which a naked function doesn't need.

use core::arch::naked_asm;

/// Tells the assembler that there are vectors.
macro_rules! arch {
    () => {
        ".cpu cortex-m55"
    };
}

/// Four rows at a time, and the column that they are multiplied with.
#[repr(C)]
pub struct Quads {
    /// First row.
    pub rows: *const u8,
    /// Bytes from a row to the next.
    pub stride: usize,
    /// A quarter of the number of rows.
    pub quads: usize,
    /// The column.
    pub x: *const u8,
    /// Its elements, or groups of them.
    pub len: usize,
    /// A result for each row.
    pub out: *mut f32,
}

/// The lanes of four sums, added up, to four results.
macro_rules! totals {
    () => {
        "
            vadd.f32 s16, s16, s17
            vadd.f32 s18, s18, s19
            vadd.f32 s20, s20, s21
            vadd.f32 s22, s22, s23
            vadd.f32 s24, s24, s25
            vadd.f32 s26, s26, s27
            vadd.f32 s28, s28, s29
            vadd.f32 s30, s30, s31
            vadd.f32 s16, s16, s18
            vadd.f32 s20, s20, s22
            vadd.f32 s24, s24, s26
            vadd.f32 s28, s28, s30
            vstr s16, [r10]
            vstr s20, [r10, #4]
            vstr s24, [r10, #8]
            vstr s28, [r10, #12]
            add r10, r10, #16
        "
    };
}

/// Rows of floats with a column of them: `$load` puts the next four elements of the row at its argument into q1.
macro_rules! floats {
    ($load:ident) => {
        naked_asm!(
            arch!(),
            "
                push {{r4-r10, lr}}
                vpush {{d8-d15}}
                ldm r0, {{r0-r5}}
                mov r8, r0
                mov r9, r4
                mov r10, r5
            1:
                mov r4, r8
                add r5, r8, r1
                add r6, r5, r1
                add r7, r6, r1
                mov r12, r3
                vmov.i32 q4, #0
                vmov.i32 q5, #0
                vmov.i32 q6, #0
                vmov.i32 q7, #0
                wlstp.32 lr, r9, 3f
            2:
                vldrw.u32 q0, [r12], #16
            ",
            $load!("r4"),
            "vfma.f32 q4, q1, q0",
            $load!("r5"),
            "vfma.f32 q5, q1, q0",
            $load!("r6"),
            "vfma.f32 q6, q1, q0",
            $load!("r7"),
            "
                vfma.f32 q7, q1, q0
                letp lr, 2b
            3:
            ",
            totals!(),
            "
                add r8, r8, r1, lsl #2
                subs r2, r2, #1
                bne 1b
                vpop {{d8-d15}}
                pop {{r4-r10, pc}}
            "
        )
    };
}

macro_rules! singles {
    ($row:literal) => {
        concat!("vldrw.u32 q1, [", $row, "], #16")
    };
}

macro_rules! halves {
    ($row:literal) => {
        concat!("vldrh.u32 q1, [", $row, "], #8\nvcvtb.f32.f16 q1, q1")
    };
}

/// Rows of `F32`.
///
/// # Safety
/// * There is a quad; rows and column are readable for `len` floats, `out` writable for four a quad, all aligned.
// r1: stride; r2: quads; r3, r12: column; r4 to r7: the four rows (a load that widens takes low registers); r8: rows; r9:
// elements; r10: results.
#[unsafe(naked)]
pub unsafe extern "C" fn f32(job: *const Quads) {
    floats!(singles)
}

/// Rows of `F16`, with a column of `F32`.
///
/// # Safety
/// As [`f32`](f32()).
#[unsafe(naked)]
pub unsafe extern "C" fn f16(job: *const Quads) {
    floats!(halves)
}

/// 32 levels of a row, which come behind a scale, with the column's in q0 and q1.
macro_rules! dot {
    ($row:literal, $sum:literal) => {
        concat!(
            "\nvldrb.u8 q2, [",
            $row,
            "], #16\nvldrb.u8 q5, [",
            $row,
            "], #18\nvmladav.s8 ",
            $sum,
            ", q2, q0\nvmladava.s8 ",
            $sum,
            ", q5, q1\n"
        )
    };
}

/// Rows of `Q8_0`, with a column of 36 bytes a group: 32 levels and a scale. Gives the portable level's bits, but that a
/// scale below the least normal number counts as zero.
///
/// # Safety
/// * There are a quad and a group, all readable; `out` is writable for four floats a quad, aligned.
// r0: rows; r1: stride; r2: quads; r3: column; r5: results; r6: scales; r7, r8, r9, r11: levels of the rows; r10: groups;
// r4, r12: products; q4: sums; q7: distances of the rows.
#[rustfmt::skip]
#[unsafe(naked)]
pub unsafe extern "C" fn q8_0(job: *const Quads) {
    naked_asm!(
        arch!(),
        "
            push {{r4-r11, lr}}
            sub sp, sp, #4
            vpush {{d8-d15}}
            ldm r0, {{r0-r5}}
            mov r10, r4
            str r3, [sp, #64]
            movs r6, #0
            vidup.u32 q7, r6, #1
            vmul.i32 q7, q7, r1
        1:
            ldr r3, [sp, #64]
            mov r6, r0
            add r7, r0, #2
            add r8, r7, r1
            add r9, r8, r1
            add r11, r9, r1
            vmov.i32 q4, #0
            dls lr, r10
        2:
            vldrb.u8 q0, [r3], #16
            vldrb.u8 q1, [r3], #16
        ",
        dot!("r7", "r4"),
        dot!("r9", "r12"),
        "vmov q3[2], q3[0], r4, r12",
        dot!("r8", "r4"),
        dot!("r11", "r12"),
        "
            vmov q3[3], q3[1], r4, r12
            vldrh.u32 q6, [r6, q7]
            ldr r4, [r3], #4
            vcvtb.f32.f16 q6, q6
            vcvt.f32.s32 q3, q3
            vmul.f32 q6, q6, r4
            adds r6, r6, #34
            vmul.f32 q3, q3, q6
            vadd.f32 q4, q4, q3
            le lr, 2b
            vstrw.32 q4, [r5], #16
            add r0, r0, r1, lsl #2
            subs r2, r2, #1
            bne 1b
            vpop {{d8-d15}}
            add sp, sp, #4
            pop {{r4-r11, pc}}
        "
    )
}

/// The largest magnitude of 32 elements, as bits.
///
/// # Safety
/// * `x` is readable for 32 floats, aligned.
#[unsafe(naked)]
pub unsafe extern "C" fn largest(x: *const f32) -> u32 {
    naked_asm!(
        arch!(),
        "
            movs r1, #0
            movs r2, #4
        2:
            vldrw.u32 q0, [r0], #16
            vldrw.u32 q1, [r0], #16
            vabs.f32 q0, q0
            vabs.f32 q1, q1
            vmaxv.u32 r1, q0
            vmaxv.u32 r1, q1
            subs r2, r2, #1
            bne 2b
            mov r0, r1
            bx lr
        "
    )
}

/// 32 elements times `inverse`, rounded to integers, which are at most 127.
///
/// # Safety
/// * `x` is readable for 32 floats, aligned, `to` writable for as many bytes.
#[unsafe(naked)]
pub unsafe extern "C" fn levels(x: *const f32, to: *mut i8, inverse: f32) {
    naked_asm!(
        arch!(),
        "
            vmov r3, s0
            movs r2, #4
        2:
            vldrw.u32 q0, [r0], #16
            vldrw.u32 q1, [r0], #16
            vmul.f32 q0, q0, r3
            vmul.f32 q1, q1, r3
            vcvtn.s32.f32 q0, q0
            vcvtn.s32.f32 q1, q1
            vstrb.32 q0, [r1], #4
            vstrb.32 q1, [r1], #4
            subs r2, r2, #1
            bne 2b
            bx lr
        "
    )
}
