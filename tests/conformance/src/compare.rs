//! Comparison of a device's result with the oracle's.

use crate::case::Case;
use crate::image::{Image, values};
use crate::run::Why;
use crate::tolerance::{Bound, Stats, bound, sqrt};
use dinrail_core::tensor::DType;

/// Elements of the largest block.
const BLOCK: usize = 256;
/// Results with fewer elements have no meaningful root mean square.
const MANY: usize = 64;

/// A result in memory.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    pub image: &'a Image,
    pub bytes: &'a [u8],
}

/// The block at a byte as numbers; how many there are.
fn decode(dtype: DType, bytes: &[u8], at: usize, out: &mut [f64; BLOCK]) -> usize {
    let mut n = 0;
    values(dtype, bytes, at, &mut |x| {
        if let Some(to) = out.get_mut(n) {
            *to = x;
            n += 1;
        }
    });
    n
}

/// Sums over the whole result.
#[derive(Default)]
struct Total {
    elements: usize,
    off: usize,
    squares: f64,
}

/// One element: how far off, or that it is wrong.
fn element(index: usize, got: f64, expected: f64, b: &Bound, total: &mut Total) -> Result<(), Why> {
    total.elements += 1;
    if got == expected || got.is_nan() && expected.is_nan() {
        return Ok(());
    }
    let error = (got - expected).abs();
    let narrow = b.relative * expected.abs();
    let wide = narrow + b.absolute;
    // Written so that NaN is wrong; an infinity has equalled already or is wrong.
    if !(error <= wide && expected.is_finite()) {
        return Err(Why::Element { index, got, expected, bound: wide });
    }
    total.squares += error * error;
    total.off += usize::from(b.one_of > 1 && error > narrow);
    Ok(())
}

/// Compares the two.
pub fn compare(
    case: &Case,
    expected: Found<'_>,
    got: Found<'_>,
    stats: &[Stats; crate::case::SOURCES],
) -> Result<(), Why> {
    let dtype = expected.image.desc.dtype;
    let (start, there) = (expected.image.at, got.image.at);
    let mut largest = 0.0f64;
    expected.image.blocks(start, |_, at, _| {
        values(dtype, expected.bytes, at, &mut |x| {
            if x.is_finite() {
                largest = largest.max(x.abs());
            }
        });
    });
    let b = bound(case, dtype, stats, largest);
    let mut total = Total::default();
    let mut result = Ok(());
    let (mut wanted, mut found) = ([0.0; BLOCK], [0.0; BLOCK]);
    expected.image.blocks(start, |n, at, size| {
        if result.is_err() {
            return;
        }
        let other = at - start + there;
        // Equal bits are right whatever they mean; 64-bit integers may not fit a float.
        let same = expected.bytes.get(at..at + size) == got.bytes.get(other..other + size);
        if same || dtype == DType::I64 {
            if !same {
                result = Err(Why::Overall { got: 1.0, bound: 0.0 });
            }
            total.elements += dtype.block_len();
            return;
        }
        let len = decode(dtype, expected.bytes, at, &mut wanted);
        decode(dtype, got.bytes, other, &mut found);
        for (i, (e, g)) in wanted.iter().zip(&found).take(len).enumerate() {
            if result.is_ok() {
                result = element(n * len + i, *g, *e, &b, &mut total);
            }
        }
    });
    result?;
    if total.off > (total.elements / b.one_of).max(2) && b.one_of > 1 {
        let (got, bound) = (total.off as f64, total.elements as f64 / b.one_of as f64);
        return Err(Why::Overall { got, bound });
    }
    let rms = sqrt(total.squares / total.elements.max(1) as f64);
    if total.elements >= MANY && total.squares > b.rms * b.rms * total.elements as f64 {
        return Err(Why::Overall { got: rms, bound: b.rms });
    }
    Ok(())
}
