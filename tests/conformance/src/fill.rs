//! Values of sources: deterministic, from a small generator.

use dinrail_core::tensor::block::encode_row;
use dinrail_core::tensor::{DType, Desc};

/// What a source holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// Evenly spread between two bounds.
    Uniform(f32, f32),
    /// These, again and again.
    Values(&'static [f32]),
    /// `first`, `first + step`, … along each row.
    Count(i32, i32),
    /// Integers from 0 to below a bound.
    Index(u32),
    /// Integers from 0 to below a bound, none twice in a row; the rows are no longer than the bound.
    Unique(u32),
    /// Values of which none occurs twice in a row.
    Distinct,
    /// 0 where the column is at most the row plus the difference of the lengths, else minus infinity.
    Causal,
    /// As `Causal`, but every third row is masked altogether.
    Holes,
    /// Evenly spread between -1 and 1, but one element in 64 is NaN.
    OneNan,
    /// Evenly spread between -1 and 1, with one element in 32 a thousand times as large.
    Outliers,
}

/// SplitMix64: small, and the same everywhere.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }
}

/// A number without common divisors with `n`, for walking all residues in a scattered order.
fn stride(n: u64) -> u64 {
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    (n / 2 + 1..).find(|s| gcd(*s, n.max(1)) == 1).unwrap_or(1)
}

impl Fill {
    /// The value of element `(i0, i1)` of a row; called for all elements in order.
    fn value(self, r: &mut Random, [i0, i1]: [usize; 2], ne: &[usize; 4], n: usize) -> f32 {
        match self {
            Fill::Uniform(low, high) => low + (high - low) * r.unit(),
            Fill::Values(v) => v.get(n % v.len().max(1)).copied().unwrap_or(0.0),
            Fill::Count(first, step) => first as f32 + step as f32 * i0 as f32,
            Fill::Index(below) => (r.next() % u64::from(below.max(1))) as f32,
            Fill::Unique(below) => {
                let below = u64::from(below.max(1));
                ((i0 as u64 * stride(below) + i1 as u64) % below) as f32
            }
            Fill::Distinct => {
                let len = ne[0] as u64;
                let place = (i0 as u64 * stride(len) + 3 * i1 as u64) % len;
                place as f32 / 4.0 - len as f32 / 7.0
            }
            Fill::Causal | Fill::Holes => {
                let hole = self == Fill::Holes && i1 % 3 == 1;
                if hole || i0 + ne[1] > i1 + ne[0] { f32::NEG_INFINITY } else { 0.0 }
            }
            Fill::OneNan => {
                let x = 2.0 * r.unit() - 1.0;
                if n % 64 == 17 { f32::NAN } else { x }
            }
            Fill::Outliers => {
                let x = 2.0 * r.unit() - 1.0;
                if n % 32 == 5 { 1000.0 * x } else { x }
            }
        }
    }

    /// Writes a packed tensor.
    pub fn write(self, seed: u64, d: &Desc, bytes: &mut [u8]) {
        let mut r = Random::new(seed);
        let (len, size) = (d.dtype.block_len(), d.dtype.block_bytes());
        let mut n = 0;
        let mut blocks = bytes.chunks_exact_mut(size);
        for row in 0..d.rows() {
            for first in (0..d.ne[0]).step_by(len) {
                let mut values = [0.0; 256];
                let values = values.get_mut(..len).unwrap_or_default();
                for (i, v) in values.iter_mut().enumerate() {
                    let i1 = row % d.ne[1].max(1);
                    *v = self.value(&mut r, [first + i, i1], &d.ne, n);
                    n += 1;
                }
                let Some(block) = blocks.next() else { return };
                match (d.dtype, values.first()) {
                    // As they are: a float has no room for large integers.
                    (DType::I64, Some(v)) => block.copy_from_slice(&(*v as i64).to_le_bytes()),
                    // The lengths are those of one block, so this can't fail.
                    _ => encode_row(d.dtype, values, block).unwrap_or_default(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(fill: Fill, ne: [usize; 4]) -> std::vec::Vec<f32> {
        let d = Desc::new(DType::F32, ne).unwrap();
        let mut bytes = std::vec![0; d.bytes()];
        fill.write(1, &d, &mut bytes);
        bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }

    #[test]
    fn nothing_occurs_twice() {
        for n in [1, 2, 3, 6, 12, 33, 256, 1000] {
            for fill in [Fill::Distinct, Fill::Unique(n as u32)] {
                let mut x = floats(fill, [n, 1, 1, 1]);
                x.sort_by(f32::total_cmp);
                assert!(x.is_sorted_by(|a, b| a < b), "{fill:?} {n}");
            }
        }
    }

    #[test]
    fn causal_masks_the_future() {
        let x = floats(Fill::Causal, [3, 2, 1, 1]);
        let inf = f32::NEG_INFINITY;
        assert_eq!(x, [0.0, 0.0, inf, 0.0, 0.0, 0.0]);
        assert_eq!(floats(Fill::Holes, [1, 2, 1, 1]), [inf, inf]);
    }

    #[test]
    fn the_generator_is_the_published_one() {
        let mut r = Random::new(1_234_567);
        assert_eq!([r.next(), r.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
