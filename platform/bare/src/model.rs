//! Models in flash.

/// A value at an address that is a multiple of 64: a cache line, and the widest vector of any processor.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Aligned<T: ?Sized>(
    /// The value.
    pub T,
);

/// Embeds a file as `&'static [u8]` that begins at a multiple of 64 bytes, wherever the linker puts it. The path is
/// relative to the source file, as for `include_bytes!`, which promises no alignment at all: kernels that read a tensor
/// where it lies need one.
///
/// ```
/// static MODEL: &[u8] = dinrail_bare::include_model!("lib.rs");
/// assert_eq!(MODEL.as_ptr().addr() % 64, 0);
/// ```
///
/// A section that the linker script knows puts it elsewhere, such as into external flash:
///
/// ```
/// static MODEL: &[u8] = dinrail_bare::include_model!("lib.rs", link_section = ".model");
/// assert_eq!(MODEL.as_ptr().addr() % 64, 0);
/// ```
#[macro_export]
macro_rules! include_model {
    ($path:expr $(,)?) => {{
        // One reference to an unsized type, so that the file is named, and read by the compiler, once.
        static MODEL: &$crate::Aligned<[u8]> = &$crate::Aligned(*::core::include_bytes!($path));
        &MODEL.0
    }};
    ($path:expr, link_section = $section:literal $(,)?) => {{
        const LEN: usize = ::core::include_bytes!($path).len();
        #[unsafe(link_section = $section)]
        static MODEL: $crate::Aligned<[u8; LEN]> = $crate::Aligned(*::core::include_bytes!($path));
        &MODEL.0
    }};
}

#[cfg(test)]
mod tests {
    // Something odd in front, to shift what follows.
    static ODD: [u8; 1] = [7];
    static MODEL: &[u8] = include_model!("model.rs");
    const LENGTH: usize = {
        const MODEL: &[u8] = include_model!("model.rs");
        MODEL.len()
    };

    #[test]
    fn aligned_and_whole() {
        assert_eq!(core::hint::black_box(&ODD).len(), 1);
        assert_eq!(MODEL.as_ptr().addr() % 64, 0);
        assert_eq!(MODEL, include_bytes!("model.rs"));
        assert_eq!(MODEL.len(), LENGTH);
    }
}
