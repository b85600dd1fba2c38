//! The one table of kernels.

use dinrail_core::tensor::DType::{self, *};

/// What a device may offer beyond plain compute shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Features(pub u8);

impl Features {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Arithmetic across the invocations of a subgroup.
    pub const SUBGROUP: Self = Self(1);
    /// 16-bit floats in arithmetic and in memory.
    pub const F16: Self = Self(2);

    /// Whether all of `other` are there.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

macro_rules! families {
    ($($name:ident $file:literal $size:literal $reduces:literal;)*) => {
        /// An algorithm: one file of `kernels/`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Family { $($name),* }

        impl Family {
            /// Every family.
            pub const ALL: &'static [Family] = &[$(Family::$name),*];

            /// Name of its file.
            pub const fn file(self) -> &'static str {
                match self { $(Family::$name => $file),* }
            }

            /// Invocations of a workgroup.
            pub const fn workgroup(self) -> u32 {
                match self { $(Family::$name => $size),* }
            }

            /// Whether it reduces over the workgroup, so that there is a variant with subgroups.
            pub const fn reduces(self) -> bool {
                match self { $(Family::$name => $reduces),* }
            }
        }
    };
}

families! {
    Map "map" 128 false;
    Binary "binary" 128 false;
    Glu "glu" 128 false;
    Cast "cast" 128 false;
    Dequantize "dequantize" 64 false;
    Copy "copy" 128 false;
    Repeat "repeat" 128 false;
    Concat "concat" 128 false;
    Arange "arange" 128 false;
    DiagMask "diag_mask" 128 false;
    Norm "norm" 128 true;
    GroupNorm "group_norm" 128 true;
    RowSum "row_sum" 128 true;
    Argmax "argmax" 128 false;
    Argsort "argsort" 128 false;
    GetRows "get_rows" 64 false;
    GetWords "get_words" 128 false;
    SetRows "set_rows" 128 false;
    SetBlocks "set_blocks" 64 false;
    Quantize "quantize" 64 false;
    SetWindow "set_window" 128 false;
    AddWindow "add_window" 128 false;
    Rope "rope" 64 false;
    SoftMax "soft_max" 128 true;
    MulMatVec "mul_mat_vec" 64 true;
    MulMat "mul_mat" 256 false;
    FlashAttn "flash_attn" 64 true;
}

/// A kernel: a family for certain element types, in a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The algorithm.
    pub family: Family,
    /// Type of the result; for copies bit by bit, the integer as large as a unit.
    pub dst: DType,
    /// Type of the first source.
    pub a: DType,
    /// Type of the second source; that of the first where there is none.
    pub b: DType,
    /// What the variant needs.
    pub needs: Features,
}

/// Types with a decoder: everything that a matrix can be made of.
const WEIGHTS: &[DType] = &[
    F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS,
    TQ1_0, TQ2_0, MXFP4,
];

/// Result, first and second source, for each kernel of a family.
type Types = (&'static [DType], &'static [DType], &'static [DType]);

/// What `Types` leaves out when it takes every combination.
#[derive(Clone, Copy)]
enum Rule {
    /// Nothing.
    All,
    /// The result has the first source's type.
    Same,
    /// All three are one type.
    One,
    /// The result has another type than the first source.
    Differ,
    /// Keys and values of one type, or of two that caches are made of.
    Cache,
    /// The second source is F32 unless the first is a float too.
    Weights,
}

const FLOATS: &[DType] = &[F32, F16, BF16];
/// Types with an encoder.
const ENCODED: &[DType] = &[Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL, MXFP4];
const UNITS: &[DType] = &[I32, I16, I8];

const fn types(family: Family) -> (Types, Rule) {
    match family {
        Family::Map => ((FLOATS, FLOATS, FLOATS), Rule::One),
        Family::Binary => ((FLOATS, FLOATS, FLOATS), Rule::Same),
        Family::Glu => ((FLOATS, FLOATS, FLOATS), Rule::One),
        Family::Cast => ((&[F32, F16, BF16, I32], &[F32, F16, BF16, I32], &[F32]), Rule::Differ),
        Family::Dequantize => ((&[F32], WEIGHTS, &[F32]), Rule::Differ),
        Family::Copy => ((UNITS, UNITS, UNITS), Rule::One),
        Family::Repeat | Family::Concat => ((&[I32, I16], &[I32, I16], &[I32, I16]), Rule::One),
        Family::GetRows => ((&[F32], WEIGHTS, &[I32]), Rule::All),
        Family::GetWords => ((&[I32], &[I32], &[I32]), Rule::All),
        Family::SetRows => ((FLOATS, &[F32], &[I32]), Rule::All),
        Family::SetBlocks => ((ENCODED, &[F32], &[I32]), Rule::All),
        Family::Quantize => ((ENCODED, FLOATS, &[F32]), Rule::All),
        Family::SetWindow => ((UNITS, UNITS, UNITS), Rule::One),
        Family::AddWindow => ((&[F32], &[F32], &[F32]), Rule::All),
        Family::Rope => ((&[F32, F16], &[F32, F16], &[I32]), Rule::Same),
        Family::SoftMax => ((&[F32], &[F32], &[F32, F16]), Rule::All),
        Family::Argmax | Family::Argsort => ((&[I32], &[F32], &[F32]), Rule::All),
        Family::MulMatVec | Family::MulMat => ((&[F32], WEIGHTS, FLOATS), Rule::Weights),
        Family::FlashAttn => ((&[F32], WEIGHTS, WEIGHTS), Rule::Cache),
        Family::RowSum => ((FLOATS, FLOATS, &[F32]), Rule::Same),
        Family::Arange | Family::DiagMask | Family::Norm | Family::GroupNorm => {
            ((&[F32], &[F32], &[F32]), Rule::All)
        }
    }
}

const fn eq(a: DType, b: DType) -> bool {
    a as u8 == b as u8
}

const fn taken(rule: Rule, dst: DType, a: DType, b: DType) -> bool {
    match rule {
        Rule::All => true,
        Rule::Same => eq(dst, a),
        Rule::One => eq(dst, a) && eq(a, b),
        Rule::Differ => !eq(dst, a),
        Rule::Cache => eq(a, b) || (in_caches(a) && in_caches(b)),
        Rule::Weights => eq(b, F32) || a.is_float(),
    }
}

/// Types that keys and values of a cache have when they differ.
const fn in_caches(t: DType) -> bool {
    matches!(t, F16 | Q4_0 | Q4_1 | Q5_0 | Q5_1 | Q8_0)
}

/// Variants, best first.
const VARIANTS: &[Features] =
    &[Features::SUBGROUP.or(Features::F16), Features::SUBGROUP, Features::F16, Features::NONE];

const fn variant(k: &Kernel) -> bool {
    let halfs = eq(k.dst, F16) || eq(k.a, F16) || eq(k.b, F16);
    (k.family.reduces() || !k.needs.has(Features::SUBGROUP))
        && (halfs || !k.needs.has(Features::F16))
}

const NOTHING: Kernel =
    Kernel { family: Family::Map, dst: F32, a: F32, b: F32, needs: Features::NONE };

/// Fills as much of the table as fits, and says how many there are.
const fn fill(out: &mut [Kernel]) -> usize {
    let mut n = 0;
    let mut i = 0;
    while i < Family::ALL.len() {
        let family = Family::ALL[i];
        let ((dst, a, b), rule) = types(family);
        let mut t = 0;
        while t < dst.len() * a.len() * b.len() {
            let (x, y, z) =
                (dst[t / (a.len() * b.len())], a[t / b.len() % a.len()], b[t % b.len()]);
            let mut v = 0;
            while v < VARIANTS.len() {
                let kernel = Kernel { family, dst: x, a: y, b: z, needs: VARIANTS[v] };
                if taken(rule, x, y, z) && variant(&kernel) {
                    if n < out.len() {
                        out[n] = kernel;
                    }
                    n += 1;
                }
                v += 1;
            }
            t += 1;
        }
        i += 1;
    }
    n
}

const COUNT: usize = fill(&mut []);

/// Every kernel, family by family, the better variants of one first.
pub static KERNELS: [Kernel; COUNT] = {
    let mut table = [NOTHING; COUNT];
    fill(&mut table);
    table
};

/// First kernel of each family, and the end.
const STARTS: [u16; Family::ALL.len() + 1] = {
    let mut table = [NOTHING; COUNT];
    fill(&mut table);
    let mut out = [COUNT as u16; Family::ALL.len() + 1];
    let mut i = COUNT;
    while i > 0 {
        i -= 1;
        out[table[i].family as usize] = i as u16;
    }
    out
};

/// Number of the best kernel for these types on a device with these features.
pub(crate) fn find(family: Family, [dst, a, b]: [DType; 3], features: Features) -> Option<u16> {
    let start = *STARTS.get(family as usize)?;
    let rest = KERNELS.get(usize::from(start)..)?;
    let i = rest
        .iter()
        .take_while(|k| k.family == family)
        .position(|k| k.dst == dst && k.a == a && k.b == b && features.has(k.needs))?;
    Some(start + i as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_has_a_plain_fall_back_of_the_same_types() {
        for (i, k) in KERNELS.iter().enumerate() {
            let plain = find(k.family, [k.dst, k.a, k.b], Features::NONE).expect("a plain kernel");
            assert_eq!(KERNELS[usize::from(plain)].needs, Features::NONE);
            assert_eq!(find(k.family, [k.dst, k.a, k.b], k.needs), Some(i as u16));
        }
    }
}
