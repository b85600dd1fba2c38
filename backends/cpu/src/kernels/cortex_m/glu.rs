//! Gated units.

use crate::kernels::small::EXP;
use core::arch::naked_asm;

/// The constants of `small::math::exp`, and minus log2 e for the power of a negated number.
static CONSTANTS: [f32; 7] = {
    let mut c = EXP;
    c[0] = -c[0];
    c
};

/// `to[i] = x[i] / (1 + e^-x[i]) * gate[i]`, for `len` elements, at least one.
///
/// # Safety
/// * `x` and `gate` are readable and `to` writable for `len` floats, all aligned. `to` may be one of them.
// s16 to s22: constants; s2: the exponent, s3: as an integer; s4, s5: powers; s6: what is left of -x.
#[unsafe(naked)]
pub unsafe extern "C" fn swiglu(to: *mut f32, x: *const f32, gate: *const f32, len: usize) {
    naked_asm!(
        arch!(),
        "
            push {{r4, r5}}
            vpush {{s16-s23}}
            movw r4, #:lower16:{constants}
            movt r4, #:upper16:{constants}
            vldmia r4, {{s16-s22}}
        2:
            vldmia r1!, {{s0}}
            vldmia r2!, {{s1}}
            vmul.f32 s2, s0, s16
            vcvtr.s32.f32 s3, s2
            vmov.f32 s6, s0
            vcvt.f32.s32 s2, s3
            vnmla.f32 s6, s2, s17
            vmla.f32 s6, s2, s18
            vmov.f32 s4, s20
            vmla.f32 s4, s6, s19
            vmov.f32 s5, s21
            vmla.f32 s5, s6, s4
            vmov.f32 s4, s22
            vmla.f32 s4, s6, s5
            vmov.f32 s5, #1.0
            vmla.f32 s5, s6, s4
            vmov.f32 s4, #1.0
            vmla.f32 s4, s6, s5
            vmov r4, r5, s3, s4
            cmn r4, #126
            blt 4f
            cmp r4, #127
            bgt 5f
            add r5, r5, r4, lsl #23
        3:
            vmov s4, r5
            vmov.f32 s5, #1.0
            vadd.f32 s5, s5, s4
            subs r3, r3, #1
            vdiv.f32 s0, s0, s5
            vmul.f32 s0, s0, s1
            vstmia r0!, {{s0}}
            bne 2b
            vpop {{s16-s23}}
            pop {{r4, r5}}
            bx lr
        4:
            movs r5, #0
            b 3b
        5:
            mov r5, #0x7f800000
            b 3b
        ",
        constants = sym CONSTANTS,
    )
}
