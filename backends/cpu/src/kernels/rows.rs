//! `GET_ROWS`, `SET_ROWS`: rows by number.

use super::mem::{Mem, STAGE};
use super::walk::Rows;
use crate::{Args, Kernel};
use core::num::NonZeroUsize;
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::float::f32_to_f16;
use dinrail_core::tensor::{DType, Desc};

/// The kernel, for every type that core's rule lets through.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    let (Some(a), Some(_)) = (q.src.source(0), q.src.source(1)) else { return None };
    match q.op {
        // Kernels that know one type: for firmware, where the way to all others would fill the flash.
        Op::GetRows if packed(a) && packed(q.dst) => Some(match a.dtype {
            DType::F32 => get_f32,
            DType::F16 => get_f16,
            DType::Q8_0 => get_q8_0,
            DType::Q4_0 => get_q4_0,
            other if other as u8 == q.dst.dtype as u8 => get_same,
            _ => get,
        }),
        Op::GetRows if a.dtype as u8 == q.dst.dtype as u8 => Some(get_same),
        Op::GetRows => Some(get),
        Op::SetRows if packed(a) && packed(q.dst) => Some(match q.dst.dtype {
            DType::F32 => set_f32,
            DType::F16 => set_f16,
            _ => set,
        }),
        Op::SetRows => Some(set),
        _ => None,
    }
}

const fn packed(d: &Desc) -> bool {
    d.nb[0] == d.dtype.block_bytes()
}

/// A row number, if there is such a row among `n`.
fn number(wanted: i64, n: usize) -> Result<usize> {
    match usize::try_from(wanted) {
        Ok(r) if r < n => Ok(r),
        _ => Err(Error::Invalid { what: "row index", value: wanted }),
    }
}

/// Rows of the result's type.
///
/// # Safety
/// As [`Kernel`].
unsafe fn get_same(args: &Args<'_>) -> Result<()> {
    let size = args.dst.desc.dtype.block_bytes();
    let copy = |dst: &Mem<'_>, to, src: &Mem<'_>, from| {
        let steps = (dst.desc.nb[0], src.desc.nb[0]);
        dst.copy_blocks((to, steps.0), (src, from, steps.1), dst.desc.ne[0], size);
    };
    // SAFETY: the same contract.
    unsafe { gather(args, copy) }
}

/// Rows of another type, as `F32`.
///
/// # Safety
/// As [`Kernel`].
unsafe fn get(args: &Args<'_>) -> Result<()> {
    // SAFETY: the same contract.
    unsafe { gather(args, convert) }
}

macro_rules! typed {
    (get { $($get:ident = $from:ident;)* } set { $($set:ident = $to:ident;)* }) => {
        $(
            /// Rows of one type, without gaps, as `F32`.
            ///
            /// # Safety
            /// As [`Kernel`].
            unsafe fn $get(args: &Args<'_>) -> Result<()> {
                // SAFETY: the same contract.
                unsafe { gather(args, |d, to, s, from| convert_as(d, to, DType::F32, s, from, DType::$from)) }
            }
        )*
        $(
            /// `F32` rows to rows of one type, without gaps.
            ///
            /// # Safety
            /// As [`Kernel`].
            unsafe fn $set(args: &Args<'_>) -> Result<()> {
                // SAFETY: the same contract.
                unsafe { scatter(args, |d, to, s, from| convert_as(d, to, DType::$to, s, from, DType::F32)) }
            }
        )*
    };
}

typed! {
    get { get_f32 = F32; get_f16 = F16; get_q8_0 = Q8_0; get_q4_0 = Q4_0; }
    set { set_f32 = F32; set_f16 = F16; }
}

/// One row from and to types that are constants where this is called: one of the two is `F32`.
#[inline(always)]
fn convert_as(dst: &Mem<'_>, to: usize, into: DType, src: &Mem<'_>, from: usize, of: DType) {
    let n = dst.desc.ne[0];
    if let DType::F32 = of {
        for i in 0..n {
            let x = src.get(from + 4 * i);
            match into {
                DType::F16 => dst.set(to + 2 * i, f32_to_f16(x)),
                _ => dst.set(to + 4 * i, x),
            }
        }
        return;
    }
    let mut stage = [0.0; STAGE];
    let step = |t: DType, n: usize| n / t.block_len() * t.block_bytes();
    for start in (0..n).step_by(STAGE) {
        let Some(x) = stage.get_mut(..(n - start).min(STAGE)) else { break };
        src.load_as(of, from + step(of, start), x);
        for (i, x) in x.iter().enumerate() {
            dst.set(to + 4 * (start + i), *x);
        }
    }
}

/// # Safety
/// As [`Kernel`].
#[inline]
unsafe fn gather(args: &Args<'_>, copy: impl Fn(&Mem<'_>, usize, &Mem<'_>, usize)) -> Result<()> {
    let [Some(table), Some(index), ..] = args.src else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint rows.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let table = unsafe { Mem::new(&table) };
    // SAFETY: as above.
    let index = unsafe { Mem::new(&index) };
    let (d, t, x) = (dst.desc, table.desc, index.desc);
    for [i, i2, i3] in Rows::new(&d.ne, args.worker.share(d.rows())) {
        let wanted: i32 = index.get(i * x.nb[0] + i2 * x.nb[1] + i3 * x.nb[2]);
        let row = number(i64::from(wanted), t.ne[1])?;
        copy(&dst, d.row_offset(i, i2, i3), &table, t.row_offset(row, i2, i3));
    }
    Ok(())
}

/// One row through `f32`.
fn convert(dst: &Mem<'_>, to: usize, src: &Mem<'_>, from: usize) {
    let mut stage = [0.0; STAGE];
    let n = dst.desc.ne[0];
    let step = |m: &Mem<'_>, n: usize| n / m.desc.dtype.block_len() * m.desc.nb[0];
    for start in (0..n).step_by(STAGE) {
        let Some(x) = stage.get_mut(..(n - start).min(STAGE)) else { break };
        src.load(from + step(src, start), src.desc.nb[0], x);
        dst.store(to + step(dst, start), dst.desc.nb[0], x);
    }
}

/// # Safety
/// As [`Kernel`].
unsafe fn set(args: &Args<'_>) -> Result<()> {
    // SAFETY: the same contract.
    unsafe { scatter(args, convert) }
}

/// Workers divide the target's rows, not the sources: of several rows for one target the last one stays, whoever
/// stores it.
///
/// # Safety
/// As [`Kernel`].
#[inline]
unsafe fn scatter(args: &Args<'_>, copy: impl Fn(&Mem<'_>, usize, &Mem<'_>, usize)) -> Result<()> {
    let [Some(rows), Some(index), ..] = args.src else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint rows.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let rows = unsafe { Mem::new(&rows) };
    // SAFETY: as above.
    let index = unsafe { Mem::new(&index) };
    let (d, r, x) = (dst.desc, rows.desc, index.desc);
    if r.is_empty() {
        return Ok(());
    }
    let (wide, worker) = (matches!(x.dtype, DType::I64), args.worker);
    // Types that can't be 0: a remainder by them can't panic.
    let one = |n: usize| NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN);
    let (workers, n1, n2) = (one(worker.count()), one(x.ne[1]), one(x.ne[2]));
    for [i, i2, i3] in Rows::new(&r.ne, 0..r.rows()) {
        let at = i * x.nb[0] + i2 % n1 * x.nb[1] + i3 % n2 * x.nb[2];
        let wanted = if wide { index.get::<i64>(at) } else { i64::from(index.get::<i32>(at)) };
        let row = number(wanted, d.ne[1])?;
        // Neighbouring rows go to different workers: caches are filled row by row.
        if row % workers == worker.index() {
            copy(&dst, d.row_offset(row, i2, i3), &rows, r.row_offset(i, i2, i3));
        }
    }
    Ok(())
}
