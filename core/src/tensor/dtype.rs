//! Element types.

/// The type of a tensor's elements, with ggml's numbers and ggml's block layouts.
///
/// Quantised types store a *block* of [`block_len`](DType::block_len) elements in
/// [`block_bytes`](DType::block_bytes) bytes; every other type is a block of one element. The byte
/// layouts are the structures of [`block`](super::block). Numbers that are missing here belong to types
/// that ggml has and dinrail has not, or that ggml has withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
#[allow(non_camel_case_types)]
pub enum DType {
    /// IEEE 754 binary32.
    F32 = 0,
    /// IEEE 754 binary16.
    F16 = 1,
    /// 4 bits, symmetric: one scale for 32 elements. 4.5 bits per element.
    Q4_0 = 2,
    /// 4 bits, scale and minimum for 32 elements. 5 bits per element.
    Q4_1 = 3,
    /// 5 bits, symmetric: one scale for 32 elements. 5.5 bits per element.
    Q5_0 = 6,
    /// 5 bits, scale and minimum for 32 elements. 6 bits per element.
    Q5_1 = 7,
    /// 8 bits, symmetric: one scale for 32 elements. 8.5 bits per element.
    Q8_0 = 8,
    /// 8 bits, one scale and the scaled sum for 32 elements: the activation side of a dot product.
    Q8_1 = 9,
    /// 2 bits, 4-bit scales and minimums for each 16 of 256 elements. 2.625 bits per element.
    Q2_K = 10,
    /// 3 bits, 6-bit scales for each 16 of 256 elements. 3.4375 bits per element.
    Q3_K = 11,
    /// 4 bits, 6-bit scales and minimums for each 32 of 256 elements. 4.5 bits per element.
    Q4_K = 12,
    /// 5 bits, 6-bit scales and minimums for each 32 of 256 elements. 5.5 bits per element.
    Q5_K = 13,
    /// 6 bits, 8-bit scales for each 16 of 256 elements. 6.5625 bits per element.
    Q6_K = 14,
    /// 8 bits, an `f32` scale and sums of each 16 of 256 elements: the activation side of a dot product.
    Q8_K = 15,
    /// 4 bits into a table of unevenly spaced values, one scale for 32 elements. 4.5 bits per element.
    IQ4_NL = 20,
    /// As `IQ4_NL`, with 6-bit scales for each 32 of 256 elements. 4.25 bits per element.
    IQ4_XS = 23,
    /// Signed 8-bit integer.
    I8 = 24,
    /// Signed 16-bit integer.
    I16 = 25,
    /// Signed 32-bit integer.
    I32 = 26,
    /// Signed 64-bit integer.
    I64 = 27,
    /// IEEE 754 binary64.
    F64 = 28,
    /// The upper half of a binary32.
    BF16 = 30,
    /// Ternary, five elements to the byte, one scale for 256 elements. 1.6875 bits per element.
    TQ1_0 = 34,
    /// Ternary, four elements to the byte, one scale for 256 elements. 2.0625 bits per element.
    TQ2_0 = 35,
    /// 4-bit floats (E2M1) with a shared power of two for 32 elements. 4.25 bits per element.
    MXFP4 = 39,
}

use DType::*;

impl DType {
    /// Every type, in the order of its number.
    pub const ALL: &'static [DType] = &[
        F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_K, IQ4_NL,
        IQ4_XS, I8, I16, I32, I64, F64, BF16, TQ1_0, TQ2_0, MXFP4,
    ];

    /// The name ggml prints: `"f32"`, `"q4_0"`, `"q2_K"`.
    pub const fn name(self) -> &'static str {
        match self {
            F32 => "f32",
            F16 => "f16",
            Q4_0 => "q4_0",
            Q4_1 => "q4_1",
            Q5_0 => "q5_0",
            Q5_1 => "q5_1",
            Q8_0 => "q8_0",
            Q8_1 => "q8_1",
            Q2_K => "q2_K",
            Q3_K => "q3_K",
            Q4_K => "q4_K",
            Q5_K => "q5_K",
            Q6_K => "q6_K",
            Q8_K => "q8_K",
            IQ4_NL => "iq4_nl",
            IQ4_XS => "iq4_xs",
            I8 => "i8",
            I16 => "i16",
            I32 => "i32",
            I64 => "i64",
            F64 => "f64",
            BF16 => "bf16",
            TQ1_0 => "tq1_0",
            TQ2_0 => "tq2_0",
            MXFP4 => "mxfp4",
        }
    }

    /// Elements of one block; a row's length must be a multiple of it. 1 for types without blocks.
    pub const fn block_len(self) -> usize {
        match self {
            F32 | F16 | BF16 | F64 | I8 | I16 | I32 | I64 => 1,
            Q4_0 | Q4_1 | Q5_0 | Q5_1 | Q8_0 | Q8_1 | IQ4_NL | MXFP4 => 32,
            Q2_K | Q3_K | Q4_K | Q5_K | Q6_K | Q8_K | IQ4_XS | TQ1_0 | TQ2_0 => 256,
        }
    }

    /// Bytes of one block. The size of an element for types without blocks.
    pub const fn block_bytes(self) -> usize {
        match self {
            I8 => 1,
            F16 | BF16 | I16 => 2,
            F32 | I32 => 4,
            F64 | I64 => 8,
            Q4_0 => 18,
            Q4_1 => 20,
            Q5_0 => 22,
            Q5_1 => 24,
            Q8_0 => 34,
            Q8_1 => 36,
            Q2_K => 84,
            Q3_K => 110,
            Q4_K => 144,
            Q5_K => 176,
            Q6_K => 210,
            Q8_K => 292,
            IQ4_NL => 18,
            IQ4_XS => 136,
            TQ1_0 => 54,
            TQ2_0 => 66,
            MXFP4 => 17,
        }
    }

    /// Address alignment that host memory of this type needs, in bytes.
    pub const fn align(self) -> usize {
        match self {
            Self::F32 | Self::I32 | Self::Q8_K => 4,
            Self::F64 | Self::I64 => 8,
            Self::I8 | Self::MXFP4 => 1,
            _ => 2,
        }
    }

    /// Whether elements are stored in blocks of integers with scales.
    pub const fn is_quantized(self) -> bool {
        !self.is_float() && !self.is_integer()
    }

    /// Whether each element is stored as a float of its own: `F16`, `BF16`, `F32`, `F64`.
    pub const fn is_float(self) -> bool {
        matches!(self, F32 | F16 | BF16 | F64)
    }

    /// Whether each element is stored as an integer of its own: `I8`, `I16`, `I32`, `I64`.
    pub const fn is_integer(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }

    /// The type with ggml's number `n` (`enum ggml_type`), or `None` where dinrail has no such type.
    pub const fn from_ggml(n: u32) -> Option<DType> {
        let mut i = 0;
        while i < DType::ALL.len() {
            if DType::ALL[i].to_ggml() == n {
                return Some(DType::ALL[i]);
            }
            i += 1;
        }
        None
    }

    /// ggml's number of this type, as in GGUF files and in `enum ggml_type`.
    pub const fn to_ggml(self) -> u32 {
        self as u32
    }
}

impl core::fmt::Display for DType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ggmls_and_go_both_ways() {
        let numbers = [
            0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 20, 23, 24, 25, 26, 27, 28, 30, 34, 35,
            39,
        ];
        for n in 0..1000 {
            assert_eq!(DType::from_ggml(n).map(DType::to_ggml), numbers.contains(&n).then_some(n));
        }
        assert_eq!(DType::from_ggml(u32::MAX), None);
        // A number beyond `u8` must not wrap round to a type.
        assert_eq!(DType::from_ggml(256), None);
        assert_eq!(DType::ALL.len(), numbers.len());
    }

    #[test]
    fn names_are_distinct() {
        for (i, a) in DType::ALL.iter().enumerate() {
            assert!(DType::ALL[..i].iter().all(|b| b.name() != a.name()));
            assert_eq!(std::format!("{a:>8}").trim_start(), a.name());
        }
    }

    #[test]
    fn each_type_is_of_one_kind() {
        for &t in DType::ALL {
            assert_eq!(t.is_quantized() as u8 + t.is_float() as u8 + t.is_integer() as u8, 1);
            assert_eq!(t.is_quantized(), t.block_len() > 1);
        }
    }
}
