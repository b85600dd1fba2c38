//! Matrices in another order, where a device has memory that stores them for its kernels.

use super::Error;
use crate::model::{Config, Layer, PACKED, WEIGHTS, Weight, Weights};
use dinrail_core::hal::{Buffer, BufferType, Device, Query, Span, Usage};
use dinrail_core::op::{Op, Precision, Sources};
use dinrail_core::tensor::{DType, Desc, size};
use dinrail_gguf::Header;
use std::vec;
use std::vec::Vec;

/// Where a matrix of the file lies instead.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// First byte in the file.
    from: usize,
    slot: u8,
    offset: usize,
}

/// Copies of the matrices that a device's kernels want in another order. The file stays bound beside them, for whatever
/// else is read.
#[derive(Debug)]
pub struct Packed {
    /// One for each kind of memory; the first is bound to [`PACKED`].
    pub(super) buffers: Vec<Buffer<'static>>,
    /// By `from`.
    places: Vec<Place>,
}

/// A matrix on its way to its place.
struct Moving {
    weight: Weight,
    desc: Desc,
}

impl Packed {
    /// Stores each matrix of the model in the first of the device's extra kinds of memory whose kernels take it. `None`
    /// where none does.
    ///
    /// `bytes` is the whole file.
    ///
    /// # Errors
    /// [`Error::Model`] with what is wrong with the file; [`Error::Core`], above all
    /// [`OutOfMemory`](dinrail_core::Error::OutOfMemory).
    pub fn new(
        device: &'static dyn Device,
        header: &Header<'_>,
        bytes: &[u8],
    ) -> Result<Option<Self>, Error> {
        let types: Vec<_> = (0..MOST).map_while(|i| device.extra_buffer_type(i)).collect();
        if !types.iter().any(|t| t.is_repacked()) {
            return Ok(None);
        }
        let config = Config::read(header)?;
        let mut layers = vec![Layer::NONE; config.layers];
        let output = Weights::find(header, &config, WEIGHTS, &mut layers)?.output;
        let mut matrices = vec![output];
        layers.iter_mut().for_each(|l| l.each_mut(|w| matrices.push(*w)));
        matrices.sort_unstable_by_key(|w| w.offset);
        matrices.dedup_by_key(|w| w.offset);

        let mut packed = Packed { buffers: Vec::new(), places: Vec::new() };
        let mut moving: Vec<Vec<Moving>> = types.iter().map(|_| Vec::new()).collect();
        for weight in matrices {
            let Some((i, desc)) = home(device, &types, &weight)? else { continue };
            if let Some(list) = moving.get_mut(i) {
                list.push(Moving { weight, desc });
            }
        }
        for (ty, list) in types.into_iter().zip(moving).filter(|(_, list)| !list.is_empty()) {
            packed.fill(ty, &list, bytes)?;
        }
        packed.places.sort_unstable_by_key(|p| p.from);
        Ok((!packed.places.is_empty()).then_some(packed))
    }

    /// How many matrices.
    pub fn matrices(&self) -> usize {
        self.places.len()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.buffers.iter().map(Buffer::size).sum()
    }

    fn fill(
        &mut self,
        ty: &'static dyn BufferType,
        list: &[Moving],
        bytes: &[u8],
    ) -> Result<(), Error> {
        let align = ty.alignment();
        let mut offsets = Vec::with_capacity(list.len());
        let mut end = 0u64;
        for m in list {
            let offset = size::padded(end, align as u64).map_err(wrong)?;
            offsets.push(size::to_usize(offset).map_err(wrong)?);
            end = size::sum(offset, ty.alloc_size(&m.desc) as u64).map_err(wrong)?;
        }
        let buffer = Buffer::new(ty, size::to_usize(end).map_err(wrong)?)?;
        buffer.set_usage(Usage::Weights);
        let slot = PACKED + self.buffers.len() as u8;
        for (m, offset) in list.iter().zip(offsets) {
            let from = m.weight.offset;
            let data = from.checked_add(m.desc.bytes()).and_then(|end| bytes.get(from..end));
            let data = data.ok_or(dinrail_core::Error::Range {
                offset: from,
                len: m.desc.bytes(),
                size: bytes.len(),
            })?;
            buffer.set(Span { desc: &m.desc, offset }, 0, data)?;
            self.places.push(Place { from, slot, offset });
        }
        self.buffers.push(buffer);
        Ok(())
    }

    /// Where a matrix of the file is to be read.
    fn place(&self, w: &mut Weight) {
        let at = self.places.binary_search_by_key(&w.offset, |p| p.from);
        if let Some(p) = at.ok().and_then(|i| self.places.get(i)) {
            (w.slot, w.offset) = (p.slot, p.offset);
        }
    }
}

/// Most kinds of memory that a device is asked for.
pub(super) const MOST: usize = 4;

fn wrong(e: size::SizeError) -> Error {
    Error::Core(dinrail_core::Error::Size(e))
}

/// The first kind of memory whose kernels take the matrix, for products with one column and with many.
fn home(
    device: &'static dyn Device,
    types: &[&'static dyn BufferType],
    w: &Weight,
) -> Result<Option<(usize, Desc)>, Error> {
    let [k, n, 1, 1] = w.ne else { return Ok(None) };
    // A norm or a bias is no matrix.
    if n < 2 {
        return Ok(None);
    }
    let desc = Desc::d2(w.dtype, k, n).map_err(wrong)?;
    let takes = |ty: &'static dyn BufferType, columns: usize| -> Result<bool, Error> {
        let x = Desc::d2(DType::F32, k, columns).map_err(wrong)?;
        let dst = Desc::d2(DType::F32, n, columns).map_err(wrong)?;
        let src = Sources::NONE.with(0, desc).with(1, x);
        let op = Op::MulMat { precision: Precision::default() };
        Ok(device.supports_weights(&Query { op: &op, dst: &dst, src: &src }, ty))
    };
    for (i, ty) in types.iter().enumerate() {
        if ty.is_repacked() && takes(*ty, 1)? && takes(*ty, 16)? {
            return Ok(Some((i, desc)));
        }
    }
    Ok(None)
}

/// [`Weights::find`], with matrices where `packed` has them. The table of embeddings stays in the file.
pub(super) fn find<'l>(
    header: &Header<'_>,
    config: &Config,
    layers: &'l mut [Layer],
    packed: Option<&Packed>,
) -> Result<Weights<'l>, Error> {
    let Some(packed) = packed else { return Ok(Weights::find(header, config, WEIGHTS, layers)?) };
    let mut found = Weights { layers: &[], ..Weights::find(header, config, WEIGHTS, layers)? };
    packed.place(&mut found.output);
    layers.iter_mut().for_each(|l| l.each_mut(|w| packed.place(w)));
    Ok(Weights { layers: layers.get(..config.layers).unwrap_or(&[]), ..found })
}
