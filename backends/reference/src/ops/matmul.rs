//! Matrix products.

use super::Ctx;
use crate::element::Tensor;
use dinrail_core::error::Result;

/// Elements that are decoded at a time, and columns that share the decoded piece.
const PIECE: usize = 256;
const COLUMNS: usize = 8;

/// Elements `first..` of a row.
fn piece(t: &Tensor<'_>, first: usize, [i1, i2, i3]: [usize; 3], out: &mut [f64]) {
    for (i, x) in out.iter_mut().enumerate() {
        *x = t.get([first + i, i1, i2, i3]);
    }
}

/// `dst[n, m] = sum over k of a[k, n] * b[k, m]`, a repeated over b's dimensions 2 and 3 in whole groups: as many
/// neighbours of b as the lengths' ratio says share one matrix of a.
pub fn mul_mat(ctx: &Ctx<'_>) -> Result<()> {
    let (a, b) = (ctx.src(0)?, ctx.src(1)?);
    let [k, n, ..] = a.desc.ne;
    let [_, m, b2, b3] = b.desc.ne;
    let (share2, share3) = (b2 / a.desc.ne[2].max(1), b3 / a.desc.ne[3].max(1));
    for i3 in 0..b3 {
        for i2 in 0..b2 {
            for row in 0..n {
                for first in (0..m).step_by(COLUMNS) {
                    let mut sums = [0.0; COLUMNS];
                    for k0 in (0..k).step_by(PIECE) {
                        let (mut x, mut y) = ([0.0; PIECE], [0.0; PIECE]);
                        let len = PIECE.min(k - k0);
                        let (x, y) = (&mut x[..len], &mut y[..len]);
                        piece(&a, k0, [row, i2 / share2, i3 / share3], x);
                        for (sum, column) in sums.iter_mut().zip(first..m) {
                            piece(&b, k0, [column, i2, i3], y);
                            *sum += x.iter().zip(y.iter()).map(|(x, y)| x * y).sum::<f64>();
                        }
                    }
                    for (sum, column) in sums.iter().zip(first..m) {
                        ctx.dst.put([row, column, i2, i3], *sum);
                    }
                }
            }
        }
    }
    Ok(())
}
