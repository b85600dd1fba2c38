//! Sums, means, norms, sorting.

use super::Ctx;
use crate::element::Tensor;
use core::cmp::Ordering;
use dinrail_core::error::Result;

/// The sum of `f(x)` over one row.
fn row_sum(a: &Tensor<'_>, [i1, i2, i3]: [usize; 3], f: impl Fn(f64) -> f64) -> f64 {
    (0..a.desc.ne[0]).map(|i0| f(a.get([i0, i1, i2, i3]))).sum()
}

/// The sum of all elements.
pub fn sum(ctx: &Ctx<'_>) -> Result<()> {
    let a = ctx.src(0)?;
    let mut total = 0.0;
    a.rows(|row| total += row_sum(&a, row, |x| x));
    ctx.dst.put([0; 4], total);
    Ok(())
}

/// `f(sum, length)` of each row. The mean of a row without elements is NaN.
pub fn rows(ctx: &Ctx<'_>, f: impl Fn(f64, f64) -> f64) -> Result<()> {
    let a = ctx.src(0)?;
    a.rows(|row| {
        let [i1, i2, i3] = row;
        ctx.dst.put([0, i1, i2, i3], f(row_sum(&a, row, |x| x), a.desc.ne[0] as f64));
    });
    Ok(())
}

/// Number of the first of each row's largest elements.
pub fn argmax(ctx: &Ctx<'_>) -> Result<()> {
    let a = ctx.src(0)?;
    a.rows(|[i1, i2, i3]| {
        let (mut best, mut largest) = (0, f64::NEG_INFINITY);
        for i0 in 0..a.desc.ne[0] {
            let x = a.get([i0, i1, i2, i3]);
            if x > largest {
                (best, largest) = (i0, x);
            }
        }
        ctx.dst.put_integer([i1, 0, 0, 0], best as i64);
    });
    Ok(())
}

/// Numbers of each row's elements in order. Of equal ones the first comes first.
pub fn argsort(ctx: &Ctx<'_>, descending: bool) -> Result<()> {
    let a = ctx.src(0)?;
    let n = a.desc.ne[0];
    a.rows(|[i1, i2, i3]| {
        for i in 0..n {
            // Adding zero makes both zeros equal.
            let x = a.get([i, i1, i2, i3]) + 0.0;
            // Without memory to sort in, an element's rank is how many come before it.
            let before = |j: &usize| {
                let order = (a.get([*j, i1, i2, i3]) + 0.0).total_cmp(&x);
                let order = if descending { order.reverse() } else { order };
                order == Ordering::Less || order == Ordering::Equal && *j < i
            };
            let rank = (0..n).filter(before).count();
            ctx.dst.put_integer([rank, i1, i2, i3], i as i64);
        }
    });
    Ok(())
}

/// Rows minus mean, over the standard deviation.
pub fn norm(ctx: &Ctx<'_>, eps: f64) -> Result<()> {
    let a = ctx.src(0)?;
    let n = a.desc.ne[0] as f64;
    a.rows(|row| {
        let mean = row_sum(&a, row, |x| x) / n;
        let variance = row_sum(&a, row, |x| (x - mean) * (x - mean)) / n;
        let scale = 1.0 / libm::sqrt(variance + eps);
        ctx.dst.fill_row(row, |at| (a.get(at) - mean) * scale);
    });
    Ok(())
}

/// Rows over their root mean square.
pub fn rms_norm(ctx: &Ctx<'_>, eps: f64) -> Result<()> {
    let a = ctx.src(0)?;
    a.rows(|row| {
        let mean = row_sum(&a, row, |x| x * x) / a.desc.ne[0] as f64;
        let scale = 1.0 / libm::sqrt(mean + eps);
        ctx.dst.fill_row(row, |at| a.get(at) * scale);
    });
    Ok(())
}

/// Rows over their length.
pub fn l2_norm(ctx: &Ctx<'_>, eps: f64) -> Result<()> {
    let a = ctx.src(0)?;
    a.rows(|row| {
        let length = libm::sqrt(row_sum(&a, row, |x| x * x));
        let scale = 1.0 / length.max(eps);
        ctx.dst.fill_row(row, |at| a.get(at) * scale);
    });
    Ok(())
}

/// `Norm` over groups of channels: the channels (dimension 2) are cut into groups of `ceil(channels / groups)`, the last
/// of which may be smaller, or missing.
pub fn group_norm(ctx: &Ctx<'_>, groups: u32, eps: f64) -> Result<()> {
    let a = ctx.src(0)?;
    let [n0, n1, channels, n3] = a.desc.ne;
    let each = channels.div_ceil(groups as usize);
    for i3 in 0..n3 {
        for first in (0..channels).step_by(each) {
            let end = (first + each).min(channels);
            let n = (n0 * n1 * (end - first)) as f64;
            let total = |f: &dyn Fn(f64) -> f64| {
                let rows = (first..end).flat_map(|i2| (0..n1).map(move |i1| [i1, i2, i3]));
                rows.map(|row| row_sum(&a, row, f)).sum::<f64>()
            };
            let mean = total(&|x| x) / n;
            let variance = total(&|x| (x - mean) * (x - mean)) / n;
            let scale = 1.0 / libm::sqrt(variance + eps);
            for i2 in first..end {
                for i1 in 0..n1 {
                    ctx.dst.fill_row([i1, i2, i3], |at| (a.get(at) - mean) * scale);
                }
            }
        }
    }
    Ok(())
}
