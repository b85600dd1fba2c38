//! One token's attention with heads of eight elements, of which two share their keys and values.

use super::ZERO;
use core::arch::{asm, naked_asm};

/// Two heads with the same keys, or the same values.
#[repr(C)]
pub struct Pair {
    /// The queries of [`dots`].
    pub query: [*const f32; 2],
    /// The first key or value.
    pub rows: *const f32,
    /// Bytes from one to the next.
    pub stride: usize,
    /// How many, at least one.
    pub count: usize,
    /// A logit or weight for each, of both heads.
    pub logits: *mut [f32; 2],
    /// What logits are multiplied with.
    pub scale: f32,
    /// The largest logits. Set by [`dots`].
    pub max: [f32; 2],
    /// The sums of the weights. Set by [`softmax`].
    pub sum: [f32; 2],
    /// What results are multiplied with.
    pub factor: [f32; 2],
    /// Where the results of [`weighted`] go.
    pub out: [*mut f32; 2],
}

/// A query in `$q` times the key in s8 to s15, times the scale, to `$s0`, by means of the three registers behind it.
macro_rules! product {
    ([$s0:literal $s1:literal $s2:literal $s3:literal] $q0:literal $q1:literal $q2:literal $q3:literal
        $q4:literal $q5:literal $q6:literal $q7:literal) => {
        concat!(
            "\nvmul.f32 ",
            $s0,
            ", s8, ",
            $q0,
            "\nvmul.f32 ",
            $s1,
            ", s9, ",
            $q1,
            "\nvmul.f32 ",
            $s2,
            ", s10, ",
            $q2,
            "\nvmul.f32 ",
            $s3,
            ", s11, ",
            $q3,
            "\nvmla.f32 ",
            $s0,
            ", s12, ",
            $q4,
            "\nvmla.f32 ",
            $s1,
            ", s13, ",
            $q5,
            "\nvmla.f32 ",
            $s2,
            ", s14, ",
            $q6,
            "\nvmla.f32 ",
            $s3,
            ", s15, ",
            $q7,
            "\nvadd.f32 ",
            $s0,
            ", ",
            $s0,
            ", ",
            $s2,
            "\nvadd.f32 ",
            $s1,
            ", ",
            $s1,
            ", ",
            $s3,
            "\nvadd.f32 ",
            $s0,
            ", ",
            $s0,
            ", ",
            $s1,
            "\nvmul.f32 ",
            $s0,
            ", ",
            $s0,
            ", s7\n",
        )
    };
}

/// The logits of both heads, and the largest of each.
///
/// # Safety
/// * Queries and keys are readable for eight floats, the logits writable, all aligned; there is a key.
// s7: scale; s5, s6: the largest; s16 to s23 and s24 to s31: the queries.
#[rustfmt::skip]
#[unsafe(naked)]
pub unsafe extern "C" fn dots(pair: *mut Pair) {
    naked_asm!(
        arch!(),
        "
            push {{r4-r6, lr}}
            vpush {{s16-s31}}
            ldm r0, {{r1-r6}}
            vldmia r1, {{s16-s23}}
            vldmia r2, {{s24-s31}}
            vldr s7, [r0, #24]
            movs r1, #0
            movt r1, #0xff80
            vmov s5, s6, r1, r1
        2:
            vldmia r3, {{s8-s15}}
            add r3, r3, r4
        ",
        product!(["s0" "s1" "s2" "s3"] "s16" "s17" "s18" "s19" "s20" "s21" "s22" "s23"),
        product!(["s1" "s2" "s3" "s4"] "s24" "s25" "s26" "s27" "s28" "s29" "s30" "s31"),
        "
            vstmia r6!, {{s0-s1}}
            vcmp.f32 s0, s5
            vmrs apsr_nzcv, fpscr
            bgt 4f
        3:
            vcmp.f32 s1, s6
            vmrs apsr_nzcv, fpscr
            bgt 5f
        6:
            subs r5, r5, #1
            bne 2b
            vstr s5, [r0, #28]
            vstr s6, [r0, #32]
            vpop {{s16-s31}}
            pop {{r4-r6, pc}}
        4:
            vmov.f32 s5, s0
            b 3b
        5:
            vmov.f32 s6, s1
            b 6b
        "
    )
}

/// log2 e, ln 2 in two parts, and the polynomial of `small::math::exp`.
static EXP: [f32; 7] = crate::kernels::small::EXP;

/// `e^($x - $max)`, which isn't above 1, to `$x`; adds it to `$sum`. Zero below the least normal number.
macro_rules! exp {
    ($x:literal, $max:literal, $sum:literal, $zero:literal, $back:literal) => {
        concat!(
            "vsub.f32 ",
            $x,
            ", ",
            $x,
            ", ",
            $max,
            "
            vmul.f32 s2, ",
            $x,
            ", s16
            vcvtr.s32.f32 s3, s2
            vcvt.f32.s32 s2, s3
            vmls.f32 ",
            $x,
            ", s2, s17
            vmla.f32 ",
            $x,
            ", s2, s18
            vmov.f32 s4, s20
            vmla.f32 s4, ",
            $x,
            ", s19
            vmov.f32 s5, s21
            vmla.f32 s5, ",
            $x,
            ", s4
            vmov.f32 s4, s22
            vmla.f32 s4, ",
            $x,
            ", s5
            vmov.f32 s5, #1.0
            vmla.f32 s5, ",
            $x,
            ", s4
            vmov.f32 s4, #1.0
            vmla.f32 s4, ",
            $x,
            ", s5
            vmov r2, r3, s3, s4
            cmn r2, #126
            blt ",
            $zero,
            "
            add r3, r3, r2, lsl #23
        ",
            $back,
            ":
            vmov ",
            $x,
            ", r3
            vadd.f32 ",
            $sum,
            ", ",
            $sum,
            ", ",
            $x,
            "\n",
        )
    };
}

/// Weights from logits and the largest of each head, in place, and their sums. Logits are not hidden ones.
///
/// # Safety
/// * The logits are readable and writable.
// s14, s15: the largest; s12, s13: the sums; s16 to s22: constants.
#[rustfmt::skip]
#[unsafe(naked)]
pub unsafe extern "C" fn softmax(pair: *mut Pair) {
    naked_asm!(
        arch!(),
        "
            vpush {{s16-s23}}
            movw r1, #:lower16:{exp}
            movt r1, #:upper16:{exp}
            vldmia r1, {{s16-s22}}
            vldr s14, [r0, #28]
            vldr s15, [r0, #32]
            movs r1, #0
            vmov s12, s13, r1, r1
            ldr r1, [r0, #20]
            ldr r12, [r0, #16]
        2:
            vldmia r1, {{s0-s1}}
        ",
        exp!("s0", "s14", "s12", "5f", "3"),
        exp!("s1", "s15", "s13", "6f", "4"),
        "
            vstmia r1!, {{s0-s1}}
            subs r12, r12, #1
            bne 2b
            vstr s12, [r0, #36]
            vstr s13, [r0, #40]
            vpop {{s16-s23}}
            bx lr
        5:
            movs r3, #0
            b 3b
        6:
            movs r3, #0
            b 4b
        ",
        exp = sym EXP,
    )
}

/// `factor * sum of weights * rows` for eight elements of both heads.
///
/// # Safety
/// * The weights are readable, each row readable for eight floats, both results writable for as many, all aligned;
///   there is a row.
#[unsafe(naked)]
pub unsafe extern "C" fn weighted(pair: *const Pair) {
    naked_asm!(
        arch!(),
        "
            push {{r4, lr}}
            vpush {{s16-s25}}
            movw r1, #:lower16:{zero}
            movt r1, #:upper16:{zero}
            vldmia r1, {{s0-s15}}
            add r1, r0, #8
            ldm r1, {{r1-r4}}
        2:
            vldmia r4!, {{s24-s25}}
            vldmia r1, {{s16-s23}}
            add r1, r1, r2
            subs r3, r3, #1
            vmla.f32 s0, s16, s24
            vmla.f32 s1, s17, s24
            vmla.f32 s2, s18, s24
            vmla.f32 s3, s19, s24
            vmla.f32 s4, s20, s24
            vmla.f32 s5, s21, s24
            vmla.f32 s6, s22, s24
            vmla.f32 s7, s23, s24
            vmla.f32 s8, s16, s25
            vmla.f32 s9, s17, s25
            vmla.f32 s10, s18, s25
            vmla.f32 s11, s19, s25
            vmla.f32 s12, s20, s25
            vmla.f32 s13, s21, s25
            vmla.f32 s14, s22, s25
            vmla.f32 s15, s23, s25
            bne 2b
            vldr s24, [r0, #44]
            vldr s25, [r0, #48]
            ldrd r1, r2, [r0, #52]
            vmul.f32 s0, s0, s24
            vmul.f32 s1, s1, s24
            vmul.f32 s2, s2, s24
            vmul.f32 s3, s3, s24
            vmul.f32 s4, s4, s24
            vmul.f32 s5, s5, s24
            vmul.f32 s6, s6, s24
            vmul.f32 s7, s7, s24
            vmul.f32 s8, s8, s25
            vmul.f32 s9, s9, s25
            vmul.f32 s10, s10, s25
            vmul.f32 s11, s11, s25
            vmul.f32 s12, s12, s25
            vmul.f32 s13, s13, s25
            vmul.f32 s14, s14, s25
            vmul.f32 s15, s15, s25
            vstmia r1, {{s0-s7}}
            vstmia r2, {{s8-s15}}
            vpop {{s16-s25}}
            pop {{r4, pc}}
        ",
        zero = sym ZERO,
    )
}

/// `out[i] = factor * sum over c below count of weights[c] * rows[c][i]`, for the eight elements at `row` and `stride`
/// bytes further each. Rows with a weight of zero are not looked at.
///
/// # Safety
/// * `weights` is readable for `count` floats, each row and `out` for eight, all aligned.
pub unsafe fn weighted_one(
    weights: *const f32,
    count: usize,
    row: *const f32,
    stride: usize,
    factor: f32,
    out: *mut f32,
) {
    if count == 0 {
        return;
    }
    // SAFETY: reads and writes what the caller promises; the registers are declared.
    unsafe {
        asm!(
            "vldmia {zero}, {{s0-s7}}",
            "2:",
            "ldr r3, [{weights}], #4",
            "cbz r3, 3f",
            "vmov s16, r3",
            "vldmia {row}, {{s8-s15}}",
            "vmla.f32 s0, s8, s16",
            "vmla.f32 s1, s9, s16",
            "vmla.f32 s2, s10, s16",
            "vmla.f32 s3, s11, s16",
            "vmla.f32 s4, s12, s16",
            "vmla.f32 s5, s13, s16",
            "vmla.f32 s6, s14, s16",
            "vmla.f32 s7, s15, s16",
            "3:",
            "subs {n}, {n}, #1",
            "add {row}, {row}, {stride}",
            "bne 2b",
            "vmov s16, {factor}",
            "vmul.f32 s0, s0, s16",
            "vmul.f32 s1, s1, s16",
            "vmul.f32 s2, s2, s16",
            "vmul.f32 s3, s3, s16",
            "vmul.f32 s4, s4, s16",
            "vmul.f32 s5, s5, s16",
            "vmul.f32 s6, s6, s16",
            "vmul.f32 s7, s7, s16",
            "vstmia {out}, {{s0-s7}}",
            zero = in(reg) &ZERO,
            // A low register, for `cbz`.
            out("r3") _,
            weights = inout(reg) weights => _,
            row = inout(reg) row => _,
            n = inout(reg) count => _,
            stride = in(reg) stride,
            factor = in(reg) factor.to_bits(),
            out = in(reg) out,
            out("s0") _, out("s1") _, out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _,
            out("s7") _, out("s8") _, out("s9") _, out("s10") _, out("s11") _, out("s12") _,
            out("s13") _, out("s14") _, out("s15") _, out("s16") _,
            options(nostack),
        );
    }
}
