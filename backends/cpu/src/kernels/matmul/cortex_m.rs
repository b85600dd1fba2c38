//! Inner loops for Cortex-M cores with an FPU (M4F, M7, M33, M55) and the DSP extension.
//!
//! They compute the bits of the portable loops, in the same order: `VMLA` rounds the product before it adds, and
//! `SMLAD` sums integers. What they gain is loads of eight registers at once, and two products in an instruction.

use core::arch::asm;

/// Lanes of the portable level.
const LANES: usize = 8;

/// Zeroes to start sums from.
static ZERO: [f32; 2 * LANES] = [0.0; 2 * LANES];

/// The eight lanes of two sums, added up in the scalar level's order: the sums are in `s0` and `s8` then.
macro_rules! totals {
    () => {
        "
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
        vadd.f32 s8, s8, s9"
    };
}

/// A lane of what is left behind the last whole vector; behind the last element, on to the end.
macro_rules! rest {
    ($first:literal, $second:literal, $weight:literal, $other:literal) => {
        concat!(
            "subs {k}, {k}, #1\nblt 4f\nvldmia {x}!, {{s16}}\n",
            $weight,
            "vmla.f32 ",
            $first,
            ", s24, s16\n",
            $other,
            "vmla.f32 ",
            $second,
            ", s24, s16\n",
        )
    };
}

macro_rules! rests {
    ($weight:literal, $other:literal) => {
        concat!(
            rest!("s0", "s8", $weight, $other),
            rest!("s1", "s9", $weight, $other),
            rest!("s2", "s10", $weight, $other),
            rest!("s3", "s11", $weight, $other),
            rest!("s4", "s12", $weight, $other),
            rest!("s5", "s13", $weight, $other),
            rest!("s6", "s14", $weight, $other),
            "4:",
        )
    };
}

/// The products of two rows of `len` elements with `x`, each in eight sums, of every eighth element.
///
/// # Safety
/// * Rows and `x` are readable for `len` floats, and aligned for them.
#[inline(always)]
pub unsafe fn f32_2(rows: [*const f32; 2], x: *const f32, len: usize) -> [f32; 2] {
    let mut sums = [0f32; 2];
    // SAFETY: reads what the caller promises and zeroes, writes `sums`; the registers are declared.
    unsafe {
        asm!(
            "vldmia {zero}, {{s0-s15}}",
            "subs {k}, {k}, #8",
            "blt 3f",
            "2:",
            "vldmia {x}!, {{s16-s23}}",
            "vldmia {a}!, {{s24-s31}}",
            "subs {k}, {k}, #8",
            "vmla.f32 s0, s24, s16",
            "vmla.f32 s1, s25, s17",
            "vmla.f32 s2, s26, s18",
            "vmla.f32 s3, s27, s19",
            "vmla.f32 s4, s28, s20",
            "vmla.f32 s5, s29, s21",
            "vmla.f32 s6, s30, s22",
            "vmla.f32 s7, s31, s23",
            "vldmia {b}!, {{s24-s31}}",
            "vmla.f32 s8, s24, s16",
            "vmla.f32 s9, s25, s17",
            "vmla.f32 s10, s26, s18",
            "vmla.f32 s11, s27, s19",
            "vmla.f32 s12, s28, s20",
            "vmla.f32 s13, s29, s21",
            "vmla.f32 s14, s30, s22",
            "vmla.f32 s15, s31, s23",
            "bge 2b",
            "3:",
            "adds {k}, {k}, #8",
            rests!("vldmia {a}!, {{s24}}\n", "vldmia {b}!, {{s24}}\n"),
            totals!(),
            "vstr s0, [{sums}]",
            "vstr s8, [{sums}, #4]",
            zero = in(reg) &ZERO,
            a = inout(reg) rows[0] => _,
            b = inout(reg) rows[1] => _,
            x = inout(reg) x => _,
            k = inout(reg) len => _,
            sums = in(reg) &raw mut sums,
            out("s0") _, out("s1") _, out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _,
            out("s7") _, out("s8") _, out("s9") _, out("s10") _, out("s11") _, out("s12") _,
            out("s13") _, out("s14") _, out("s15") _, out("s16") _, out("s17") _, out("s18") _,
            out("s19") _, out("s20") _, out("s21") _, out("s22") _, out("s23") _, out("s24") _,
            out("s25") _, out("s26") _, out("s27") _, out("s28") _, out("s29") _, out("s30") _,
            out("s31") _,
            options(nostack),
        );
    }
    sums
}

/// As [`f32_2`], with rows of half-precision numbers at a multiple of 4.
///
/// # Safety
/// As [`f32_2`].
#[inline(always)]
pub unsafe fn f16_2(rows: [*const u16; 2], x: *const f32, len: usize) -> [f32; 2] {
    let mut sums = [0f32; 2];
    // SAFETY: as above.
    unsafe {
        asm!(
            "vldmia {zero}, {{s0-s15}}",
            "subs {k}, {k}, #8",
            "blt 3f",
            "2:",
            "vldmia {x}!, {{s16-s23}}",
            "vldmia {a}!, {{s24-s27}}",
            "vcvtb.f32.f16 s28, s24",
            "vcvtt.f32.f16 s29, s24",
            "vcvtb.f32.f16 s30, s25",
            "vcvtt.f32.f16 s31, s25",
            "vmla.f32 s0, s28, s16",
            "vmla.f32 s1, s29, s17",
            "vmla.f32 s2, s30, s18",
            "vmla.f32 s3, s31, s19",
            "vcvtb.f32.f16 s28, s26",
            "vcvtt.f32.f16 s29, s26",
            "vcvtb.f32.f16 s30, s27",
            "vcvtt.f32.f16 s31, s27",
            "vmla.f32 s4, s28, s20",
            "vmla.f32 s5, s29, s21",
            "vmla.f32 s6, s30, s22",
            "vmla.f32 s7, s31, s23",
            "vldmia {b}!, {{s24-s27}}",
            "vcvtb.f32.f16 s28, s24",
            "vcvtt.f32.f16 s29, s24",
            "vcvtb.f32.f16 s30, s25",
            "vcvtt.f32.f16 s31, s25",
            "vmla.f32 s8, s28, s16",
            "vmla.f32 s9, s29, s17",
            "vmla.f32 s10, s30, s18",
            "vmla.f32 s11, s31, s19",
            "vcvtb.f32.f16 s28, s26",
            "vcvtt.f32.f16 s29, s26",
            "vcvtb.f32.f16 s30, s27",
            "vcvtt.f32.f16 s31, s27",
            "vmla.f32 s12, s28, s20",
            "vmla.f32 s13, s29, s21",
            "vmla.f32 s14, s30, s22",
            "vmla.f32 s15, s31, s23",
            "subs {k}, {k}, #8",
            "bge 2b",
            "3:",
            "adds {k}, {k}, #8",
            rests!(
                "ldrh {t}, [{a}], #2\nvmov s24, {t}\nvcvtb.f32.f16 s24, s24\n",
                "ldrh {t}, [{b}], #2\nvmov s24, {t}\nvcvtb.f32.f16 s24, s24\n"
            ),
            totals!(),
            "vstr s0, [{sums}]",
            "vstr s8, [{sums}, #4]",
            zero = in(reg) &ZERO,
            a = inout(reg) rows[0] => _,
            b = inout(reg) rows[1] => _,
            x = inout(reg) x => _,
            k = inout(reg) len => _,
            t = out(reg) _,
            sums = in(reg) &raw mut sums,
            out("s0") _, out("s1") _, out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _,
            out("s7") _, out("s8") _, out("s9") _, out("s10") _, out("s11") _, out("s12") _,
            out("s13") _, out("s14") _, out("s15") _, out("s16") _, out("s17") _, out("s18") _,
            out("s19") _, out("s20") _, out("s21") _, out("s22") _, out("s23") _, out("s24") _,
            out("s25") _, out("s26") _, out("s27") _, out("s28") _, out("s29") _, out("s30") _,
            out("s31") _,
            options(nostack),
        );
    }
    sums
}

/// `out[c] = scale * (query . keys[c])` for keys of eight elements, `stride` bytes apart.
///
/// # Safety
/// * `query` and each of `count` keys are readable for eight floats, `out` writable for `count`, all aligned.
#[inline(always)]
pub unsafe fn dots(
    query: *const f32,
    key: *const f32,
    stride: usize,
    count: usize,
    scale: f32,
    out: *mut f32,
) {
    if count == 0 {
        return;
    }
    // SAFETY: reads and writes what the caller promises; the registers are declared.
    unsafe {
        asm!(
            "vldmia {query}, {{s16-s23}}",
            "vmov s24, {scale}",
            "2:",
            "vldmia {key}, {{s8-s15}}",
            "subs {n}, {n}, #1",
            "add {key}, {key}, {stride}",
            "vmul.f32 s0, s8, s16",
            "vmul.f32 s1, s9, s17",
            "vmul.f32 s2, s10, s18",
            "vmul.f32 s3, s11, s19",
            "vmul.f32 s4, s12, s20",
            "vmul.f32 s5, s13, s21",
            "vmul.f32 s6, s14, s22",
            "vmul.f32 s7, s15, s23",
            "vadd.f32 s0, s0, s4",
            "vadd.f32 s1, s1, s5",
            "vadd.f32 s2, s2, s6",
            "vadd.f32 s3, s3, s7",
            "vadd.f32 s0, s0, s2",
            "vadd.f32 s1, s1, s3",
            "vadd.f32 s0, s0, s1",
            "vmul.f32 s0, s0, s24",
            "vstmia {out}!, {{s0}}",
            "bne 2b",
            query = in(reg) query,
            key = inout(reg) key => _,
            stride = in(reg) stride,
            n = inout(reg) count => _,
            scale = in(reg) scale.to_bits(),
            out = inout(reg) out => _,
            out("s0") _, out("s1") _, out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _,
            out("s7") _, out("s8") _, out("s9") _, out("s10") _, out("s11") _, out("s12") _,
            out("s13") _, out("s14") _, out("s15") _, out("s16") _, out("s17") _, out("s18") _,
            out("s19") _, out("s20") _, out("s21") _, out("s22") _, out("s23") _, out("s24") _,
            options(nostack),
        );
    }
}

/// `out[i] = factor * sum over c below count of weights[c] * rows[c][i]`, for the eight elements at `row` and `stride`
/// bytes further each. Rows with a weight of zero are not looked at.
///
/// # Safety
/// * `weights` is readable for `count` floats, each row and `out` for eight, all aligned.
#[inline(always)]
pub unsafe fn weighted(
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

/// Four elements of two rows, whose sums begin with them or go on. Written out as lines, by which the compiler tells how
/// long the code is.
#[cfg(cortex_m_dsp)]
macro_rules! four {
    (begin) => {
        four!(@ "smuad {p}, {t}, {x0}", "smuad {q}, {t}, {x0}")
    };
    () => {
        four!(@ "smlad {p}, {t}, {x0}, {p}", "smlad {q}, {t}, {x0}, {q}")
    };
    (@ $first:literal, $second:literal) => {
        concat!(
            "
            ldrd {x0}, {x1}, [{x}], #8
            ldr {w}, [{a}], #4
            sxtb16 {t}, {w}
            sxtb16 {w}, {w}, ror #8
            ",
            $first,
            "
            smlad {p}, {w}, {x1}, {p}
            ldr {w}, [{b}], #4
            sxtb16 {t}, {w}
            sxtb16 {w}, {w}, ror #8
            ",
            $second,
            "
            smlad {q}, {w}, {x1}, {q}"
        )
    };
}

/// What the loop over rows of `Q8_0` keeps in memory, having no register left.
#[cfg(cortex_m_dsp)]
#[repr(C)]
struct Rows {
    column: *const super::vector::Wide,
    groups: usize,
    out: *mut f32,
    pairs: usize,
    /// From the end of a row to the beginning of the row after the next one.
    step: usize,
}

/// `pairs` times two rows of `Q8_0` blocks with a column of as many groups; the results go to `out`.
///
/// # Safety
/// * Each row has a block for each group; the next one begins `row_bytes` further.
/// * `out` is writable for two floats a pair.
#[cfg(cortex_m_dsp)]
#[inline(never)]
pub unsafe fn q8_0(
    rows: *const u8,
    row_bytes: usize,
    pairs: usize,
    column: &[super::vector::Wide],
    out: *mut f32,
) {
    if column.is_empty() || pairs == 0 {
        return;
    }
    let groups = column.len();
    let step = (2 * row_bytes).wrapping_sub(groups * 34);
    let mut state = Rows { column: column.as_ptr(), groups, out, pairs, step };
    // SAFETY: reads and writes what the caller promises, without alignment where there is none (`LDR` and `LDRH` need
    // none); the registers are declared.
    unsafe {
        asm!(
            "1:",
            "ldrd {x}, {n}, [{state}]",
            "movs {p}, #0",
            "vmov s0, s1, {p}, {p}",
            "2:",
            "ldrh {t}, [{a}], #2",
            "ldrh {w}, [{b}], #2",
            "vmov s2, s3, {t}, {w}",
            "vcvtb.f32.f16 s2, s2",
            "vcvtb.f32.f16 s3, s3",
            concat!(four!(begin), four!(), four!(), four!(), four!(), four!(), four!(), four!()),
            "vldmia {x}!, {{s4}}",
            "vmov s5, s6, {p}, {q}",
            "subs {n}, {n}, #1",
            "vcvt.f32.s32 s5, s5",
            "vcvt.f32.s32 s6, s6",
            "vmul.f32 s2, s2, s4",
            "vmul.f32 s3, s3, s4",
            "vmla.f32 s0, s5, s2",
            "vmla.f32 s1, s6, s3",
            "bne 2b",
            "ldrd {x}, {n}, [{state}, #8]",
            "ldr {t}, [{state}, #16]",
            "vstmia {x}!, {{s0-s1}}",
            "add {a}, {a}, {t}",
            "add {b}, {b}, {t}",
            "subs {n}, {n}, #1",
            "strd {x}, {n}, [{state}, #8]",
            "bne 1b",
            state = in(reg) &raw mut state,
            a = inout(reg) rows => _,
            b = inout(reg) rows.wrapping_add(row_bytes) => _,
            x = out(reg) _,
            n = out(reg) _,
            x0 = out(reg) _,
            x1 = out(reg) _,
            w = out(reg) _,
            t = out(reg) _,
            p = out(reg) _,
            q = out(reg) _,
            out("s0") _, out("s1") _, out("s2") _, out("s3") _, out("s4") _, out("s5") _, out("s6") _,
            options(nostack),
        );
    }
}
