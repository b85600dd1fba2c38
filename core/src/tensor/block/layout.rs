//! What all block structures share: their sizes, and safe reading and writing of their bytes.

/// A field of a block: little-endian in memory whatever the machine, at any alignment.
pub(super) trait Field: Sized {
    /// Reads the field from the start of `bytes`, which is at least as long as the field.
    fn read(bytes: &[u8]) -> Self;
    /// Writes the field to the start of `bytes`, which is at least as long as the field.
    fn write(&self, bytes: &mut [u8]);
}

macro_rules! number {
    ($($t:ty)*) => {$(
        impl Field for $t {
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                match bytes.first_chunk() {
                    Some(b) => <$t>::from_le_bytes(*b),
                    None => <$t>::default(),
                }
            }
            #[inline]
            fn write(&self, bytes: &mut [u8]) {
                if let Some(b) = bytes.first_chunk_mut() {
                    *b = self.to_le_bytes();
                }
            }
        }
    )*};
}

number!(u8 i8 u16 i16 f32);

impl<T: Field + Copy + Default, const N: usize> Field for [T; N] {
    #[inline]
    fn read(bytes: &[u8]) -> Self {
        let mut out = [T::default(); N];
        for (o, b) in out.iter_mut().zip(bytes.chunks_exact(size_of::<T>())) {
            *o = T::read(b);
        }
        out
    }
    #[inline]
    fn write(&self, bytes: &mut [u8]) {
        for (v, b) in self.iter().zip(bytes.chunks_exact_mut(size_of::<T>())) {
            v.write(b);
        }
    }
}

/// Declares the structure of one quantised type and ties it to its `DType`: lengths and byte order, and
/// at compile time that there is no padding and that `DType` states the same sizes.
macro_rules! layout {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $ty:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(non_camel_case_types)]
        #[repr(C)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty,)+ }

        impl $name {
            /// The type whose blocks these are.
            pub const DTYPE: $crate::tensor::DType = $crate::tensor::DType::$name;
            /// Elements of a block.
            pub const LEN: usize = Self::DTYPE.block_len();
            /// Bytes of a block.
            pub const BYTES: usize = Self::DTYPE.block_bytes();

            /// The block stored in `bytes`, little-endian.
            #[inline]
            pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
                use $crate::tensor::block::layout::Field;
                Self { $($field: Field::read(&bytes[core::mem::offset_of!(Self, $field)..]),)+ }
            }

            /// The bytes that store this block, little-endian.
            #[inline]
            pub fn to_bytes(&self) -> [u8; Self::BYTES] {
                use $crate::tensor::block::layout::Field;
                let mut bytes = [0; Self::BYTES];
                $(self.$field.write(&mut bytes[core::mem::offset_of!(Self, $field)..]);)+
                bytes
            }
        }

        static_assertions::const_assert_eq!($name::BYTES, size_of::<$name>());
        static_assertions::const_assert_eq!($name::BYTES, 0 $(+ size_of::<$ty>())+);
    };
}
pub(super) use layout;
