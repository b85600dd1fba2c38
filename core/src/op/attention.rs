//! What attention is made of: masks, soft-max, rotary embedding, the fused form.

use super::{Reason, Sources, fresh, is};
use crate::error::tri;
use crate::tensor::{DType, Desc};

/// Which pairs of a row are rotated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum RopeMode {
    /// Neighbours: (0, 1), (2, 3), …
    Normal,
    /// Halves: (0, n/2), (1, n/2 + 1), …
    NeoX,
}

/// Parameters of the rotary position embedding (with YaRN, arXiv:2309.00071, where `ext_factor` isn't 0).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Rope {
    /// Elements of each row that are rotated; the rest is copied.
    pub dims: u16,
    /// Which elements form a pair.
    pub mode: RopeMode,
    /// Context length that the model was trained with (YaRN).
    pub trained_context: u32,
    /// Base of the frequencies, such as 10000.
    pub base: f32,
    /// Factor on positions, such as 0.25 for a context stretched four times.
    pub scale: f32,
    /// YaRN: share of extrapolation, 0 for none.
    pub ext_factor: f32,
    /// Factor on the rotated values' magnitude.
    pub attn_factor: f32,
    /// YaRN: number of rotations above which a dimension is only extrapolated.
    pub beta_fast: f32,
    /// YaRN: number of rotations below which a dimension is only interpolated.
    pub beta_slow: f32,
}

impl Rope {
    /// Plain rotary embedding of `dims` elements.
    pub const fn plain(dims: u16, mode: RopeMode, base: f32) -> Self {
        Self {
            dims,
            mode,
            trained_context: 0,
            base,
            scale: 1.0,
            ext_factor: 0.0,
            attn_factor: 1.0,
            beta_fast: 32.0,
            beta_slow: 1.0,
        }
    }
}

/// `DiagMaskInf`: any F32.
pub(super) const fn diag_mask(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    if !is(a, DType::F32) {
        return Err(Reason::TypeNotAllowed);
    }
    fresh(DType::F32, a.ne)
}

/// A mask `[n, >= rows, x, y]` whose outer dimensions divide the scores'.
const fn mask_fits(mask: &Desc, n: usize, rows: usize, outer: [usize; 2]) -> Result<(), Reason> {
    if mask.ne[0] != n || mask.ne[1] < rows {
        return Err(Reason::ShapeMismatch);
    }
    if mask.ne[2] == 0
        || mask.ne[3] == 0
        || !outer[0].is_multiple_of(mask.ne[2])
        || !outer[1].is_multiple_of(mask.ne[3])
    {
        return Err(Reason::NotBroadcastable);
    }
    if !mask.rows_contiguous() {
        return Err(Reason::NotContiguous);
    }
    Ok(())
}

const fn sinks_fit(sinks: &Desc, heads: usize) -> Result<(), Reason> {
    if !is(sinks, DType::F32) {
        return Err(Reason::TypeNotAllowed);
    }
    if sinks.ne[0] != heads || !sinks.is_vector() {
        return Err(Reason::ShapeMismatch);
    }
    Ok(())
}

/// `SoftMax`: contiguous F32, mask F16 or F32, sinks F32 with one value per head (dimension 2).
pub(super) const fn soft_max(src: &Sources, max_bias: f32) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    if !is(a, DType::F32) {
        return Err(Reason::TypeNotAllowed);
    }
    if !a.is_contiguous() {
        return Err(Reason::NotContiguous);
    }
    match src.source(1) {
        Some(m) => {
            if !is(m, DType::F16) && !is(m, DType::F32) {
                return Err(Reason::TypeNotAllowed);
            }
            tri!(mask_fits(m, a.ne[0], a.ne[1], [a.ne[2], a.ne[3]]));
        }
        None if max_bias > 0.0 => return Err(Reason::MaskMissing),
        None => {}
    }
    if let Some(s) = src.source(2) {
        tri!(sinks_fit(s, a.ne[2]));
    }
    fresh(DType::F32, a.ne)
}

/// `Rope`: `a [row, heads, tokens, sequences]`, one I32 position per token, frequency factors for each pair.
pub(super) const fn rope(src: &Sources, r: &Rope) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let b = tri!(src.need(1));
    if !is(a, DType::F32) && !is(a, DType::F16) {
        return Err(Reason::TypeNotAllowed);
    }
    if !is(b, DType::I32) {
        return Err(Reason::TypeMismatch);
    }
    if !b.is_vector() || b.ne[0] != a.ne[2] {
        return Err(Reason::ShapeMismatch);
    }
    if r.dims == 0
        || !r.dims.is_multiple_of(2)
        || r.dims as usize > a.ne[0]
        || r.base.is_nan()
        || r.base <= 0.0
    {
        return Err(Reason::BadParameter);
    }
    if !a.rows_contiguous() {
        return Err(Reason::NotContiguous);
    }
    if let Some(c) = src.source(2) {
        if !is(c, DType::F32) {
            return Err(Reason::TypeNotAllowed);
        }
        if c.ne[0] < r.dims as usize / 2 {
            return Err(Reason::ShapeMismatch);
        }
    }
    fresh(a.dtype, a.ne)
}

/// `FlashAttn`: `q [d, tokens, heads, s]`, `k [d, n, kv_heads, s]`, `v [dv, n, kv_heads, s]`, mask `[n, >= tokens, ..]`
/// (F16) give `[dv, heads, tokens, s]` in F32.
pub(super) const fn flash(src: &Sources, max_bias: f32) -> Result<Desc, Reason> {
    let q = tri!(src.need(0));
    let k = tri!(src.need(1));
    let v = tri!(src.need(2));
    if !is(q, DType::F32) || k.dtype.is_integer() || v.dtype.is_integer() {
        return Err(Reason::TypeNotAllowed);
    }
    if q.ne[0] != k.ne[0] {
        return Err(Reason::InnerLength);
    }
    if k.ne[1] != v.ne[1] || k.ne[2] != v.ne[2] || k.ne[3] != v.ne[3] {
        return Err(Reason::ShapeMismatch);
    }
    if k.ne[2] == 0
        || k.ne[3] == 0
        || !q.ne[2].is_multiple_of(k.ne[2])
        || !q.ne[3].is_multiple_of(k.ne[3])
    {
        return Err(Reason::NotBroadcastable);
    }
    if !q.rows_contiguous() || !k.rows_contiguous() || !v.rows_contiguous() {
        return Err(Reason::NotContiguous);
    }
    match src.source(3) {
        Some(m) => {
            if !is(m, DType::F16) {
                return Err(Reason::TypeNotAllowed);
            }
            tri!(mask_fits(m, k.ne[1], q.ne[1], [q.ne[2], q.ne[3]]));
        }
        None if max_bias > 0.0 => return Err(Reason::MaskMissing),
        None => {}
    }
    if let Some(s) = src.source(4) {
        tri!(sinks_fit(s, q.ne[2]));
    }
    fresh(DType::F32, [v.ne[0], q.ne[2], q.ne[1], q.ne[3]])
}
