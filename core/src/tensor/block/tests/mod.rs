//! Every type against bytes from ggml, against bytes built by hand, and against its own promises.

mod vectors;

use super::*;
use crate::tensor::float::e8m0_to_f32;
use std::vec;
use std::vec::Vec;

fn quantized() -> impl Iterator<Item = DType> {
    DType::ALL.iter().copied().filter(|t| t.is_quantized())
}

fn encode(dtype: DType, src: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0xaa; src.len() / dtype.block_len() * dtype.block_bytes()];
    encode_row(dtype, src, &mut bytes).unwrap();
    bytes
}

fn decode(dtype: DType, bytes: &[u8]) -> Vec<f32> {
    let mut out = vec![f32::NAN; bytes.len() / dtype.block_bytes() * dtype.block_len()];
    decode_row(dtype, bytes, &mut out).unwrap();
    out
}

/// Numbers that look random, -1 to 1.
fn noise(seed: u32) -> impl Iterator<Item = f32> {
    let mut state = seed;
    core::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    })
}

/// Sums of four: near to a bell curve, as weights are.
fn weights(n: usize) -> Vec<f32> {
    let mut source = noise(7);
    (0..n).map(|_| source.by_ref().take(4).sum::<f32>() / 4.0).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

#[test]
fn encoders_write_ggmls_bytes() {
    assert_eq!(vectors::BLOCKS.len(), quantized().count());
    for &(dtype, hex) in vectors::BLOCKS {
        let src: Vec<f32> = (0..dtype.block_len()).map(vectors::element).collect();
        assert_eq!(encode(dtype, &src), unhex(hex), "{dtype}");
    }
}

#[test]
fn errors_stay_within_a_step() {
    let src = weights(256 * 8);
    for (dtype, worst, rms) in [
        // Worst error in units of the block's greatest magnitude, and relative error of the whole row.
        (DType::Q4_0, 1.0 / 8.0, 0.09),
        (DType::Q4_1, 2.0 / 15.0 / 2.0, 0.08),
        (DType::Q5_0, 1.0 / 16.0, 0.05),
        (DType::Q5_1, 2.0 / 31.0 / 2.0, 0.04),
        (DType::Q8_0, 0.5 / 127.0, 0.006),
        (DType::Q8_1, 0.5 / 127.0, 0.006),
        (DType::Q2_K, 0.45, 0.30),
        (DType::Q3_K, 0.25, 0.16),
        (DType::Q4_K, 0.1, 0.08),
        (DType::Q5_K, 0.05, 0.04),
        (DType::Q6_K, 1.0 / 32.0, 0.02),
        (DType::Q8_K, 0.5 / 127.0, 0.008),
        (DType::IQ4_NL, 0.13, 0.08),
        (DType::IQ4_XS, 0.13, 0.08),
        (DType::TQ1_0, 0.5, 1.0),
        (DType::TQ2_0, 0.5, 1.0),
        (DType::MXFP4, 0.25, 0.13),
    ] {
        let back = decode(dtype, &encode(dtype, &src));
        let len = dtype.block_len();
        let (mut error, mut power) = (0.0, 0.0);
        for (x, y) in src.chunks(len).zip(back.chunks(len)) {
            let amax = x.iter().fold(0f32, |a, x| a.max(x.abs()));
            for (x, y) in x.iter().zip(y) {
                // An f16 scale is off by up to 2^-11.
                let bound = amax * (worst + 0.001);
                assert!((x - y).abs() <= bound, "{dtype}: {x} became {y}, bound {bound}");
                error += (x - y) * (x - y);
                power += x * x;
            }
        }
        let relative = (error / power).sqrt();
        assert!(relative < rms, "{dtype}: relative error {relative}");
    }
}

#[test]
fn encoding_again_changes_nothing() {
    // Types whose scale is that of the strongest element, which is stored exactly.
    let src = weights(256 * 8);
    for dtype in
        quantized().filter(|t| t.block_len() == 32 || matches!(t, DType::TQ1_0 | DType::TQ2_0))
    {
        // The levels of IQ4_NL are not even, so its least-squares scale moves a little.
        if dtype != DType::IQ4_NL {
            let bytes = encode(dtype, &src);
            let back = decode(dtype, &bytes);
            let again = decode(dtype, &encode(dtype, &back));
            for (a, b) in back.iter().zip(&again) {
                assert!((a - b).abs() <= 0.001 * a.abs().max(0.01), "{dtype}: {a} became {b}");
            }
        }
    }
}

#[test]
fn zeros_stay_zeros() {
    for &dtype in DType::ALL {
        for tiny in [0.0, -0.0, f32::from_bits(1), -f32::MIN_POSITIVE, 1e-20] {
            let back = decode(dtype, &encode(dtype, &[tiny; 256]));
            let exact = matches!(dtype, DType::F32 | DType::F64 | DType::BF16);
            assert!(exact || back.iter().all(|y| y.abs() <= 1.1 * tiny.abs()), "{dtype} of {tiny}");
        }
    }
}

#[test]
fn one_element_among_zeros() {
    for dtype in quantized() {
        for at in [0, 15, 16, 31, 100, 240, 255] {
            for value in [1.0, -3.0] {
                let mut src = [0.0; 256];
                src[at] = value;
                let back = decode(dtype, &encode(dtype, &src));
                for (i, &y) in back.iter().enumerate() {
                    // The smallest values of the IQ4 table are -10 and 1, not zero.
                    let error = (y - src[i]).abs() / 3.0;
                    assert!(error < 0.02, "{dtype}: element {i} is {y} for {value} at {at}");
                }
            }
        }
    }
}

#[test]
fn too_large_for_an_f16_scale_is_infinite() {
    for dtype in quantized() {
        let wide = matches!(dtype, DType::Q8_K | DType::MXFP4);
        let mut src = [1e9; 256];
        src[3] = -1e9;
        let back = decode(dtype, &encode(dtype, &src));
        assert_eq!(back.iter().all(|y| y.is_finite()), wide, "{dtype}");
    }
}

#[test]
fn what_is_no_number_never_panics() {
    for &dtype in DType::ALL {
        for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN] {
            decode(dtype, &encode(dtype, &[bad; 256]));
            for at in (0..256).step_by(17) {
                let mut src: Vec<f32> = noise(1).take(256).collect();
                src[at] = bad;
                src[(at * 7 + 3) % 256] = -bad;
                decode(dtype, &encode(dtype, &src));
            }
        }
        let any: Vec<u8> =
            noise(5).take(dtype.block_bytes() * 256).map(|x| (x * 1e6) as i32 as u8).collect();
        let len = any.len() / dtype.block_bytes() / 256 * 256;
        decode(dtype, &any[..len * dtype.block_bytes()]);
    }
    // A NaN in a type without a search leaves the other elements alone.
    let mut src: Vec<f32> = noise(2).take(32).collect();
    let clean = decode(DType::Q8_0, &encode(DType::Q8_0, &src));
    src[9] = f32::NAN;
    let back = decode(DType::Q8_0, &encode(DType::Q8_0, &src));
    assert!((0..32).all(|i| i == 9 || back[i] == clean[i]));
}

#[test]
fn lengths_must_fit() {
    for &dtype in DType::ALL {
        let (len, size) = (dtype.block_len(), dtype.block_bytes());
        let (mut out, mut bytes) = (vec![7.0; 3 * len], vec![7; 3 * size]);
        for short in [2 * size, 3 * size - 1] {
            let e = Error::Bytes { dtype, need: 3 * size, given: short };
            assert_eq!(decode_row(dtype, &bytes[..short], &mut out), Err(e));
            assert_eq!(encode_row(dtype, &[1.0; 768][..3 * len], &mut bytes[..short]), Err(e));
        }
        if len > 1 {
            let e = Error::Size(SizeError::Block { dtype, ne0: 3 * len as u64 - 1 });
            assert_eq!(decode_row(dtype, &bytes, &mut out[1..]), Err(e));
            assert_eq!(encode_row(dtype, &[1.0; 768][1..3 * len], &mut bytes), Err(e));
        }
        assert!(out.iter().all(|&y| y == 7.0) && bytes.iter().all(|&b| b == 7), "{dtype}");
        assert_eq!(decode_row(dtype, &[], &mut []), Ok(()));
        assert_eq!(encode_row(dtype, &[], &mut []), Ok(()));
        assert!(can_encode(dtype));
    }
    let e = decode_row(DType::Q4_0, &[0; 17], &mut [0.0; 32]).unwrap_err();
    assert_eq!(std::format!("{e}"), "row of q4_0 takes 18 bytes, the slice has 17");
}

#[test]
fn numbers_convert_one_by_one() {
    let src = [1.5, -2.5, 300.0, -70000.0, f32::NAN, 1e20];
    assert_eq!(decode(DType::I8, &encode(DType::I8, &src)), [1.0, -2.0, 127.0, -128.0, 0.0, 127.0]);
    assert_eq!(decode(DType::I16, &encode(DType::I16, &src))[3..], [-32768.0, 0.0, 32767.0]);
    assert_eq!(decode(DType::I32, &encode(DType::I32, &src))[3..5], [-70000.0, 0.0]);
    assert_eq!(decode(DType::I64, &encode(DType::I64, &src))[5], i64::MAX as f32);
    assert_eq!(decode(DType::F64, &encode(DType::F64, &src))[5], 1e20);
    assert_eq!(decode(DType::F32, &encode(DType::F32, &src))[..4], src[..4]);
    assert_eq!(encode(DType::F16, &[1.0, -2.0]), [0x00, 0x3c, 0x00, 0xc0]);
    assert_eq!(encode(DType::BF16, &[1.0, -2.0]), [0x80, 0x3f, 0x00, 0xc0]);
    assert_eq!(decode(DType::I32, &[1, 2, 0, 0]), [513.0]);
}

#[test]
fn bytes_go_both_ways_at_any_alignment() {
    macro_rules! check {
        ($($t:ident)*) => {$(
            let any: Vec<u8> = (0..$t::BYTES + 1).map(|i| (i * 29 + 7) as u8).collect();
            let bytes = any[1..].try_into().unwrap();
            assert_eq!($t::from_bytes(bytes).to_bytes(), *bytes, stringify!($t));
            assert_eq!($t::LEN, $t::DTYPE.block_len());
        )*};
    }
    check!(Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4);
    assert_eq!(
        Q4_1::from_bytes(&[1, 2, 3, 4, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).m,
        0x0403
    );
}

/// 1.0 as an f16, little-endian.
const ONE: [u8; 2] = [0x00, 0x3c];
/// 0.5 as an f16, little-endian.
const HALF: [u8; 2] = [0x00, 0x38];

/// A block of `dtype` that is zero but for `parts`, each at its offset.
fn built(dtype: DType, parts: &[(usize, &[u8])]) -> Vec<f32> {
    let mut bytes = vec![0; dtype.block_bytes()];
    for &(at, part) in parts {
        bytes[at..at + part.len()].copy_from_slice(part);
    }
    decode(dtype, &bytes)
}

#[test]
fn small_blocks_by_hand() {
    let y = built(DType::Q4_0, &[(0, &HALF), (2, &[0xf3])]);
    assert_eq!((y[0], y[16], y[1]), (-2.5, 3.5, -4.0));
    let y = built(DType::Q4_1, &[(0, &HALF), (2, &ONE), (4, &[0xf3])]);
    assert_eq!((y[0], y[16], y[1]), (2.5, 8.5, 1.0));
    // The fifth bits of elements 0 and 17.
    let y = built(DType::Q5_0, &[(0, &ONE), (2, &[1, 0, 2, 0]), (6, &[0x21, 0x43])]);
    assert_eq!((y[0], y[16], y[1], y[17]), (1.0, -14.0, -13.0, 4.0));
    let y = built(DType::Q5_1, &[(0, &ONE), (2, &HALF), (4, &[1, 0, 2, 0]), (8, &[0x21, 0x43])]);
    assert_eq!((y[0], y[16], y[1], y[17]), (17.5, 2.5, 3.5, 20.5));
    let y = built(DType::Q8_0, &[(0, &HALF), (33, &[0x80])]);
    assert_eq!((y[0], y[31]), (0.0, -64.0));
    let y = built(DType::Q8_1, &[(0, &HALF), (35, &[0x7f])]);
    assert_eq!((y[0], y[31]), (0.0, 63.5));
    let y = built(DType::Q8_K, &[(0, &0.25f32.to_le_bytes()), (4, &[0xff]), (259, &[8])]);
    assert_eq!((y[0], y[1], y[255]), (-0.25, 0.0, 2.0));
    let y = built(DType::IQ4_NL, &[(0, &ONE), (2, &[0xf8])]);
    assert_eq!((y[0], y[16], y[1]), (1.0, 113.0, -127.0));
    let y = built(DType::MXFP4, &[(0, &[128]), (1, &[0x97])]);
    assert_eq!((y[0], y[16], y[1]), (12.0, -1.0, 0.0));
    assert_eq!(y[0], 6.0 * e8m0_to_f32(128));
}

#[test]
fn ternary_blocks_by_hand() {
    // Digits 2 0 1 2 1: 2 * 81 + 0 * 27 + 1 * 9 + 2 * 3 + 1 = 178, and 178 * 256 / 243 rounded up.
    let byte = 188;
    let y = built(DType::TQ1_0, &[(5, &[byte]), (33, &[byte]), (50, &[byte]), (52, &ONE)]);
    assert_eq!([y[5], y[37], y[69], y[101], y[133]], [1.0, -1.0, 0.0, 1.0, 0.0]);
    assert_eq!([y[161], y[177], y[193], y[209], y[225]], [1.0, -1.0, 0.0, 1.0, 0.0]);
    assert_eq!([y[242], y[246], y[250], y[254]], [1.0, -1.0, 0.0, 1.0]);
    assert_eq!(y[0], -1.0);
    let y = built(DType::TQ2_0, &[(33, &[0b01_00_10_01]), (64, &HALF)]);
    assert_eq!([y[129], y[161], y[193], y[225], y[0]], [0.0, 0.5, -0.5, 0.0, -0.5]);
}

#[test]
fn k_blocks_by_hand() {
    // Group 9 (elements 144 to 159): step 3, minimum 2 * 0.5.
    let y =
        built(DType::Q2_K, &[(9, &[0x23]), (16 + 48, &[0b11_01_00_10]), (80, &ONE), (82, &HALF)]);
    assert_eq!([y[144], y[145], y[176]], [5.0, -1.0, 0.0]);
    // Scale 33 - 32 of group 9: low four bits 1 in the high nibble of byte 1, upper two bits 2.
    let y = built(
        DType::Q3_K,
        &[(16, &[0x10]), (32 + 48, &[0b10]), (96 + 1, &[0x10]), (96 + 9, &[0x20]), (108, &ONE)],
    );
    assert_eq!([y[144], y[145]], [2.0, -4.0]);
    assert_eq!(y[0], 128.0);
    // Group 1 has scale 5 and minimum 3, group 6 scale 0x12 and minimum 0x21.
    let scales = [0, 5, 0x40, 0, 0, 3, 0x80, 0, 0, 0, 0x12, 0];
    let y = built(
        DType::Q4_K,
        &[(0, &ONE), (2, &HALF), (4, &scales), (16, &[0xf0]), (16 + 96, &[0x02])],
    );
    assert_eq!([y[0], y[32], y[33], y[192], y[193]], [0.0, 73.5, -1.5, 36.0 - 16.5, -16.5]);
    let bits =
        [(0, &ONE[..]), (2, &HALF), (4, &scales), (16, &[0b10]), (48, &[0xf0]), (144, &[0x02])];
    let y = built(DType::Q5_K, &bits);
    assert_eq!([y[0], y[32], y[33], y[192], y[193]], [0.0, 153.5, -1.5, 19.5, -16.5]);
    // Element 96 + 2 of the second half: low bits in the high nibble of ql[64 + 34], upper bits 6 and 7 of qh[34].
    let y = built(
        DType::Q6_K,
        &[(98, &[0x50]), (128 + 34, &[0x80]), (192 + 14, &[0xfe]), (208, &HALF)],
    );
    assert_eq!([y[226], y[227], y[0]], [-5.0, 32.0, 0.0]);
    // Group 5: low bits in the high nibble of scales_l[2], upper bits 10 and 11 of scales_h.
    let y = built(DType::IQ4_XS, &[(0, &HALF), (2, &[0, 0x08]), (6, &[0x40]), (8 + 80, &[0xf8])]);
    assert_eq!([y[160], y[176], y[161]], [2.0, 226.0, -254.0]);
}

#[test]
fn six_bit_scales_keep_their_places() {
    let scales = [1u8, 62, 33, 20, 47, 5, 63, 16];
    let mins = [60u8, 2, 31, 48, 15, 59, 0, 34];
    let x: Vec<f32> = (0..256)
        .map(|i| [0.0, 15.0][i % 2] * scales[i / 32] as f32 - mins[i / 32] as f32)
        .collect();
    let block = Q4_K::encode(x.as_slice().try_into().unwrap());
    for g in 0..8 {
        let (s, m) = scale_min(&block.scales, g);
        let (d, dmin) = (f16_to_f32(block.d), f16_to_f32(block.dmin));
        assert!((s as f32 * d - scales[g] as f32).abs() < 0.6, "scale {g}");
        assert!((m as f32 * dmin - mins[g] as f32).abs() < 1.5, "minimum {g}");
    }
}
