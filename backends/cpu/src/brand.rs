//! What the processor calls itself.

cfg_if::cfg_if! {
    if #[cfg(target_arch = "x86_64")] {
        use crate::detect::{Cpuid, Processor};
        use core::cell::UnsafeCell;
        use core::sync::atomic::{AtomicU8, Ordering};

        /// A text that is written once.
        struct Brand {
            state: AtomicU8,
            text: UnsafeCell<[u8; 48]>,
        }

        const EMPTY: u8 = 0;
        const BUSY: u8 = 1;
        const READY: u8 = 2;

        // SAFETY: the text is written by the one thread that moved the state from EMPTY to BUSY, and only read once the
        // state is READY, after which nobody writes it.
        unsafe impl Sync for Brand {}

        static BRAND: Brand =
            Brand { state: AtomicU8::new(EMPTY), text: UnsafeCell::new([0; 48]) };

        fn look() -> [u8; 48] {
            let mut text = [0; 48];
            if Processor.leaf(0x8000_0000, 0)[0] < 0x8000_0004 {
                return text;
            }
            for (leaf, part) in (0x8000_0002..).zip(text.chunks_exact_mut(16)) {
                for (word, bytes) in Processor.leaf(leaf, 0).into_iter().zip(part.chunks_exact_mut(4)) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
            }
            text
        }

        /// The processor's brand string. Takes no lock: who asks while another thread is finding out gets the
        /// architecture's name.
        pub(crate) fn brand() -> &'static str {
            let first = BRAND.state.compare_exchange(EMPTY, BUSY, Ordering::Acquire, Ordering::Relaxed);
            if first.is_ok() {
                // SAFETY: this thread alone moved the state to BUSY, and nobody reads before READY.
                let text = unsafe { &mut *BRAND.text.get() };
                *text = look();
                BRAND.state.store(READY, Ordering::Release);
            }
            if BRAND.state.load(Ordering::Acquire) != READY {
                return "x86-64 processor";
            }
            // SAFETY: READY was seen with acquire order, so the text is complete and is never written again.
            let text: &'static [u8; 48] = unsafe { &*BRAND.text.get() };
            let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
            match core::str::from_utf8(text.get(..end).unwrap_or(&[])).map(str::trim) {
                Ok("") | Err(_) => "x86-64 processor",
                Ok(name) => name,
            }
        }
    } else if #[cfg(target_arch = "aarch64")] {
        /// AArch64 has no brand string that a program may read.
        pub(crate) const fn brand() -> &'static str {
            "AArch64 processor"
        }
    } else if #[cfg(target_arch = "arm")] {
        pub(crate) const fn brand() -> &'static str {
            "Arm processor"
        }
    } else if #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))] {
        pub(crate) const fn brand() -> &'static str {
            "RISC-V processor"
        }
    } else {
        pub(crate) const fn brand() -> &'static str {
            "host processor"
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_a_text_for_people_and_stays_the_same() {
        let threads: std::vec::Vec<_> = (0..4).map(|_| std::thread::spawn(super::brand)).collect();
        for t in threads {
            assert!(!t.join().unwrap().is_empty());
        }
        let text = super::brand();
        assert_eq!(text, super::brand());
        assert_eq!(text, text.trim());
    }
}
