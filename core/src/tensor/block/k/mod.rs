//! Blocks of 256 elements whose groups have quantised scales of their own: the K types.

use super::fit::{Error, Tries, affine, largest, ratio};
use crate::tensor::float::{f16_to_f32, f32_to_f16, nearest_int, sqrt};

mod q2;
mod q3;
mod q4;
mod q5;
mod q6;

pub use q2::Q2_K;
pub use q3::Q3_K;
pub use q4::Q4_K;
pub use q5::Q5_K;
pub use q6::Q6_K;

/// Scale and minimum of group `g`, six bits each, of the eight that [`Q4_K`] and [`Q5_K`] pack in 12 bytes.
///
/// | bytes | bits 7 and 6 | bits 5 and 4 | bits 3 to 0 |
/// |---|---|---|---|
/// | `g` for `g < 4` | upper two bits of scale `g + 4` | scale `g`, six bits | |
/// | `g + 4` for `g < 4` | upper two bits of minimum `g + 4` | minimum `g`, six bits | |
/// | `g + 4` for `g >= 4` | low four bits of minimum `g` | (bits 7 to 4) | low four bits of scale `g` |
///
/// # Panics
///
/// If `g` is not below 8.
#[inline]
pub const fn scale_min(scales: &[u8; 12], g: usize) -> (u8, u8) {
    if g < 4 {
        (scales[g] & 0x3f, scales[g + 4] & 0x3f)
    } else {
        let low = scales[g + 4];
        (low & 0xf | (scales[g - 4] >> 6) << 4, low >> 4 | (scales[g] >> 6) << 4)
    }
}

/// The 12 bytes from which [`scale_min`] reads these scales and minimums, each below 64.
fn pack_scales(scales: &[u8; 8], mins: &[u8; 8]) -> [u8; 12] {
    let mut out = [0; 12];
    for g in 0..4 {
        out[g] = scales[g] | (scales[g + 4] >> 4) << 6;
        out[g + 4] = mins[g] | (mins[g + 4] >> 4) << 6;
        out[g + 8] = scales[g + 4] & 0xf | (mins[g + 4] & 0xf) << 4;
    }
    out
}

/// Step and minimum of group `g` as floats: elements are `q * step - minimum`.
fn group_scale_min(d: u16, dmin: u16, scales: &[u8; 12], g: usize) -> (f32, f32) {
    let (s, m) = scale_min(scales, g);
    (f16_to_f32(d) * s as f32, f16_to_f32(dmin) * m as f32)
}

/// Replaces `levels` with those nearest to `x` for a step and a minimum as they are stored. With a step
/// of zero the levels don't matter and stay.
fn relevel<const N: usize>(top: i32, x: &[f32; N], (step, min): (f32, f32), levels: &mut [u8; N]) {
    if step != 0.0 {
        *levels = x.map(|x| nearest_int((x + min) / step).clamp(0, top) as u8);
    }
}

/// Levels `0..=top` of eight groups of 32, and `d`, `dmin` and packed scales to go with them.
fn encode_groups(
    top: i32,
    src: &[f32; 256],
    levels: &mut [u8; 256],
    tries: Tries,
) -> (u16, u16, [u8; 12]) {
    let groups = src.as_chunks::<32>().0;
    let (mut steps, mut mins) = ([0f32; 8], [0f32; 8]);
    for (g, q) in levels.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let x = &groups[g];
        let mut squares = 0.0f32;
        for x in x {
            squares += x * x;
        }
        let rms = sqrt(squares / 32.0);
        let weights = x.map(|x| rms + x.abs());
        (steps[g], mins[g]) = affine(top, x, &weights, q, tries, Error::Squared);
    }
    let (max_step, max_min) = (largest(&steps), largest(&mins));
    let (istep, imin) = (ratio(63.0, max_step), ratio(63.0, max_min));
    let six = |x: f32| nearest_int(x).clamp(0, 63) as u8;
    let scales = pack_scales(&steps.map(|s| six(istep * s)), &mins.map(|m| six(imin * m)));
    let (d, dmin) = (f32_to_f16(max_step / 63.0), f32_to_f16(max_min / 63.0));
    for (g, q) in levels.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        relevel(top, &groups[g], group_scale_min(d, dmin, &scales, g), q);
    }
    (d, dmin, scales)
}
