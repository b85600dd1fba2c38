//! Columns rounded to what the rows want: half precision, or bytes.

use core::arch::naked_asm;

/// `to[i]` = `from[i]` rounded to half precision, for `len` elements. Whether that was right: a number that no half holds
/// has to stay as it is, and doesn't.
///
/// # Safety
/// * `from` is readable and `to` writable for `len` floats, both aligned.
// s14: zero; s15: zero, until a product of it with an infinity or a NaN is added.
#[unsafe(naked)]
pub unsafe extern "C" fn halves(from: *const f32, to: *mut f32, len: usize) -> bool {
    naked_asm!(
        arch!(),
        "
            movs r3, #0
            vmov s14, s15, r3, r3
            subs r2, r2, #4
            blt 3f
        2:
            vldmia r0!, {{s0-s3}}
            vcvtb.f16.f32 s4, s0
            vcvtb.f16.f32 s5, s1
            vcvtb.f16.f32 s6, s2
            vcvtb.f16.f32 s7, s3
            vcvtb.f32.f16 s4, s4
            vcvtb.f32.f16 s5, s5
            vcvtb.f32.f16 s6, s6
            vcvtb.f32.f16 s7, s7
            subs r2, r2, #4
            vmla.f32 s15, s4, s14
            vmla.f32 s15, s5, s14
            vmla.f32 s15, s6, s14
            vmla.f32 s15, s7, s14
            vstmia r1!, {{s4-s7}}
            bge 2b
        3:
            adds r2, r2, #4
            beq 5f
        4:
            vldmia r0!, {{s0}}
            vcvtb.f16.f32 s4, s0
            vcvtb.f32.f16 s4, s4
            subs r2, r2, #1
            vmla.f32 s15, s4, s14
            vstmia r1!, {{s4}}
            bne 4b
        5:
            vcmp.f32 s15, s14
            vmrs apsr_nzcv, fpscr
            ite eq
            moveq r0, #1
            movne r0, #0
            bx lr
        "
    )
}

/// The largest magnitude of 32 elements, as bits.
///
/// # Safety
/// * `x` is readable for 32 floats, aligned.
#[cfg(cortex_m_dsp)]
#[unsafe(naked)]
pub unsafe extern "C" fn largest(x: *const f32) -> u32 {
    naked_asm!(
        arch!(),
        "
            push {{r4-r6, lr}}
            movs r1, #0
            movs r2, #8
        2:
            ldm r0!, {{r3-r6}}
            cmp r1, r3, lsl #1
            it lo
            lsllo r1, r3, #1
            cmp r1, r4, lsl #1
            it lo
            lsllo r1, r4, #1
            cmp r1, r5, lsl #1
            it lo
            lsllo r1, r5, #1
            cmp r1, r6, lsl #1
            it lo
            lsllo r1, r6, #1
            subs r2, r2, #1
            bne 2b
            lsrs r0, r1, #1
            pop {{r4-r6, pc}}
        "
    )
}

/// 32 elements times `inverse`, rounded to integers, which are below 128. Of each four, the first and third are the first
/// word, the second and fourth the next one. With `turned` the last two elements come first.
///
/// # Safety
/// * `x` is readable for 32 floats, `to` writable for 16 words, both aligned.
// In [2^23, 2^24) the last place is worth one, so adding s15 rounds.
#[cfg(cortex_m_dsp)]
#[unsafe(naked)]
pub unsafe extern "C" fn levels(x: *const f32, to: *mut u32, turned: usize, inverse: f32) {
    naked_asm!(
        arch!(),
        "
            push {{r4-r6, lr}}
            mov r3, #0x4b000000
            orr r3, r3, #0x400000
            vmov s15, r3
            movs r6, #8
            cbz r2, 2f
            vldr s1, [r0, #120]
            vldr s2, [r0, #124]
            vldmia r0!, {{s3-s4}}
            b 3f
        2:
            vldmia r0!, {{s1-s4}}
        3:
            vmov.f32 s5, s15
            vmov.f32 s6, s15
            vmov.f32 s7, s15
            vmov.f32 s8, s15
            vmla.f32 s5, s1, s0
            vmla.f32 s6, s2, s0
            vmla.f32 s7, s3, s0
            vmla.f32 s8, s4, s0
            vmov r2, r3, s5, s6
            vmov r4, r5, s7, s8
            subs r6, r6, #1
            pkhbt r2, r2, r4, lsl #16
            pkhbt r3, r3, r5, lsl #16
            strd r2, r3, [r1], #8
            bne 2b
            pop {{r4-r6, pc}}
        "
    )
}
