//! What a launch hands to its kernel: the structure `Args` of `kernels/prelude.wgsl`.

use dinrail_core::tensor::Desc;

const TENSORS: usize = 5;
const OFF: usize = TENSORS * 8;
const MORE: usize = OFF + 4;
const N: usize = MORE + 4;
const F: usize = N + 4;

/// The uniform that every kernel reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Args([u32; Self::WORDS]);

impl Args {
    /// Length in 32-bit words.
    pub const WORDS: usize = F + 12;
    /// Length in bytes.
    pub const BYTES: usize = Self::WORDS * 4;

    /// All zeros.
    pub const fn new() -> Self {
        Self([0; Self::WORDS])
    }

    fn word(&mut self, i: usize, value: u32) {
        if let Some(w) = self.0.get_mut(i) {
            *w = value;
        }
    }

    /// Describes tensor `i`: 0 is the result, 1 to 4 the sources 0 to 3.
    pub(crate) fn tensor(&mut self, i: usize, d: &Desc) {
        for k in 0..4 {
            self.word(i * 8 + k, d.ne[k] as u32);
            self.word(i * 8 + 4 + k, d.nb[k] as u32);
        }
    }

    /// Moves the first byte of a tensor in its binding: 0 is the result, 1 to 5 the sources 0 to 4. A backend calls it
    /// with the distance between the binding's first byte and the tensor's.
    pub fn move_by(&mut self, tensor: usize, bytes: u32) {
        if tensor < 6
            && let Some(w) = self.0.get_mut(OFF + tensor)
        {
            *w = w.wrapping_add(bytes);
        }
    }

    pub(crate) fn sink_stride(&mut self, bytes: u32) {
        self.word(MORE + 2, bytes);
    }

    pub(crate) fn groups(&mut self, n: u32) {
        self.word(MORE + 3, n);
    }

    pub(crate) fn n(&mut self, n: [u32; 4]) {
        n.into_iter().enumerate().for_each(|(i, v)| self.word(N + i, v));
    }

    pub(crate) fn f(&mut self, from: usize, f: &[f32]) {
        f.iter().enumerate().for_each(|(i, v)| self.word(F + from + i, v.to_bits()));
    }

    /// The bytes, as the device reads them.
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut out = [0; Self::BYTES];
        for (o, w) in out.chunks_exact_mut(4).zip(self.0) {
            o.copy_from_slice(&w.to_le_bytes());
        }
        out
    }

    /// The words, in order.
    pub const fn words(&self) -> &[u32; Self::WORDS] {
        &self.0
    }
}

impl Default for Args {
    fn default() -> Self {
        Self::new()
    }
}
