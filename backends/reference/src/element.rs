//! Reading and writing tensors element by element, whatever their type and strides.

use core::cell::{Cell, RefCell};
use dinrail_core::error::Result;
use dinrail_core::graph::NodeId;
use dinrail_core::hal::HostView;
use dinrail_core::program::Program;
use dinrail_core::tensor::block::{decode_row, encode_row};
use dinrail_core::tensor::{DType, Desc, float};

/// Position of an element, innermost dimension first.
pub type At = [usize; 4];

/// Elements of the largest block, and bytes of the largest block.
const BLOCK: usize = 256;
const BLOCK_BYTES: usize = 292;

/// A tensor in host memory.
pub struct Tensor<'a> {
    /// Type, lengths and strides.
    pub desc: &'a Desc,
    view: HostView<'a>,
    /// The block of a quantised tensor that was read last, decoded, and its offset.
    cached: Cell<usize>,
    block: RefCell<[f32; BLOCK]>,
}

impl<'a> Tensor<'a> {
    /// A node's tensor.
    pub fn of(program: &Program<'a>, id: NodeId, desc: &'a Desc) -> Result<Self> {
        let view = program.view(id)?;
        Ok(Self { desc, view, cached: Cell::new(usize::MAX), block: RefCell::new([0.0; BLOCK]) })
    }

    /// Offset of the element, or of the block that it is in.
    fn offset(&self, [i0, i1, i2, i3]: At) -> usize {
        i0 / self.desc.dtype.block_len() * self.desc.nb[0] + self.desc.row_offset(i1, i2, i3)
    }

    /// The element as a number.
    pub fn get(&self, at: At) -> f64 {
        let o = self.offset(at);
        match self.desc.dtype {
            DType::F32 => f64::from(self.view.f32(o)),
            DType::F16 => f64::from(self.view.f16(o)),
            DType::BF16 => f64::from(self.view.bf16(o)),
            DType::F64 => self.view.f64(o),
            DType::I8 => f64::from(self.view.i8(o)),
            DType::I16 => f64::from(self.view.i16(o)),
            DType::I32 => f64::from(self.view.i32(o)),
            DType::I64 => self.view.i64(o) as f64,
            quantised => {
                let len = quantised.block_len();
                let mut block = self.block.borrow_mut();
                if self.cached.get() != o {
                    let mut bytes = [0; BLOCK_BYTES];
                    let bytes = bytes.get_mut(..quantised.block_bytes()).unwrap_or_default();
                    self.view.copy_to(o, bytes);
                    let block = block.get_mut(..len).unwrap_or_default();
                    // The lengths are those of one block, so this can't fail.
                    let _ = decode_row(quantised, bytes, block);
                    self.cached.set(o);
                }
                block.get(at[0] % len).copied().map_or(0.0, f64::from)
            }
        }
    }

    /// The element of an integer tensor.
    pub fn integer(&self, at: At) -> i64 {
        let o = self.offset(at);
        match self.desc.dtype {
            DType::I8 => i64::from(self.view.i8(o)),
            DType::I16 => i64::from(self.view.i16(o)),
            DType::I32 => i64::from(self.view.i32(o)),
            DType::I64 => self.view.i64(o),
            _ => self.get(at) as i64,
        }
    }

    /// Stores a number in a tensor that isn't quantised, rounded to its type. Integers are cut and saturate.
    pub fn put(&self, at: At, x: f64) {
        let o = self.offset(at);
        match self.desc.dtype {
            DType::F32 => self.view.set_f32(o, x as f32),
            DType::F16 => self.view.set_u16(o, float::f32_to_f16(x as f32)),
            DType::BF16 => self.view.set_u16(o, float::f32_to_bf16(x as f32)),
            DType::F64 => self.view.set_f64(o, x),
            DType::I8 => self.view.set_i8(o, x as i8),
            DType::I16 => self.view.set_i16(o, x as i16),
            DType::I32 => self.view.set_i32(o, x as i32),
            DType::I64 => self.view.set_i64(o, x as i64),
            _ => debug_assert!(false, "a single element of a block can't be stored"),
        }
    }

    /// Stores an integer in an integer tensor; it saturates.
    pub fn put_integer(&self, at: At, x: i64) {
        let o = self.offset(at);
        match self.desc.dtype {
            DType::I8 => self.view.set_i8(o, x.clamp(i8::MIN.into(), i8::MAX.into()) as i8),
            DType::I16 => self.view.set_i16(o, x.clamp(i16::MIN.into(), i16::MAX.into()) as i16),
            DType::I32 => self.view.set_i32(o, x.clamp(i32::MIN.into(), i32::MAX.into()) as i32),
            DType::I64 => self.view.set_i64(o, x),
            _ => self.put(at, x as f64),
        }
    }

    /// Stores `f(i)` for every element `i` of one row. Quantised rows are encoded block by block.
    pub fn fill_row(&self, [i1, i2, i3]: [usize; 3], mut f: impl FnMut(At) -> f64) {
        let dtype = self.desc.dtype;
        if !dtype.is_quantized() {
            (0..self.desc.ne[0]).for_each(|i0| self.put([i0, i1, i2, i3], f([i0, i1, i2, i3])));
            return;
        }
        let len = dtype.block_len();
        for first in (0..self.desc.ne[0]).step_by(len) {
            let mut values = [0.0f32; BLOCK];
            let values = values.get_mut(..len).unwrap_or_default();
            for (i, v) in values.iter_mut().enumerate() {
                *v = f([first + i, i1, i2, i3]) as f32;
            }
            let mut bytes = [0; BLOCK_BYTES];
            let bytes = bytes.get_mut(..dtype.block_bytes()).unwrap_or_default();
            // The lengths are those of one block, so this can't fail.
            let _ = encode_row(dtype, values, bytes);
            self.view.write(self.offset([first, i1, i2, i3]), bytes);
        }
    }

    /// Stores `f(i)` for every element `i`, in order.
    pub fn fill(&self, mut f: impl FnMut(At) -> f64) {
        self.rows(|row| self.fill_row(row, &mut f));
    }

    /// Calls `f` for the outer three indices of every row, in order.
    pub fn rows(&self, mut f: impl FnMut([usize; 3])) {
        let [_, n1, n2, n3] = self.desc.ne;
        for i3 in 0..n3 {
            for i2 in 0..n2 {
                (0..n1).for_each(|i1| f([i1, i2, i3]));
            }
        }
    }

    /// Copies one block (one element, for types without blocks) of a tensor of the same type, bit for bit.
    pub fn copy_block(&self, to: At, from: &Tensor<'_>, at: At) {
        let mut bytes = [0; BLOCK_BYTES];
        let bytes = bytes.get_mut(..self.desc.dtype.block_bytes()).unwrap_or_default();
        from.view.copy_to(from.offset(at), bytes);
        self.view.write(self.offset(to), bytes);
    }

    /// The position of element number `n` when elements are counted in order.
    pub fn nth(&self, n: usize) -> At {
        let [n0, n1, n2, _] = self.desc.ne.map(|n| n.max(1));
        [n % n0, n / n0 % n1, n / n0 / n1 % n2, n / n0 / n1 / n2]
    }
}

/// The position that repeats to `at` in a tensor of lengths `ne`.
pub fn wrapped(at: At, ne: &[usize; 4]) -> At {
    core::array::from_fn(|i| at[i] % ne[i].max(1))
}
