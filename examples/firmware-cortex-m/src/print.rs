//! Text for the host, a line at a time. Floats go as their bits: a formatted one costs 30 KB of flash.

/// Sends bytes to the host's standard output.
pub fn write(bytes: &[u8]) {
    const WRITE: usize = 0x05;
    let block = [stdout(), bytes.as_ptr() as usize, bytes.len()];
    // SAFETY: the block and the bytes are alive during the call.
    unsafe { cortex_m_semihosting::syscall(WRITE, &block) };
}

/// The host's handle of `:tt`, opened for writing.
fn stdout() -> usize {
    const OPEN: usize = 0x01;
    static HANDLE: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
    let known = HANDLE.load(core::sync::atomic::Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let block = [c":tt".as_ptr() as usize, 4, 3];
    // SAFETY: the block and the name are alive during the call.
    let handle = unsafe { cortex_m_semihosting::syscall(OPEN, &block) };
    HANDLE.store(handle, core::sync::atomic::Ordering::Relaxed);
    handle
}

/// A line in the making; what is too long is cut off.
pub struct Line {
    bytes: [u8; 80],
    len: usize,
}

impl Line {
    /// Begins with a word.
    pub fn new(word: &str) -> Self {
        Self { bytes: [0; 80], len: 0 }.text(word)
    }

    fn push(&mut self, byte: u8) {
        if let Some(to) = self.bytes.get_mut(self.len) {
            *to = byte;
            self.len += 1;
        }
    }

    /// Adds text.
    pub fn text(mut self, text: &str) -> Self {
        text.bytes().for_each(|b| self.push(b));
        self
    }

    /// Adds a space and a number.
    pub fn number(mut self, n: usize) -> Self {
        self.push(b' ');
        let (mut digits, mut at, mut rest) = ([0; 10], 0, n as u32);
        for d in &mut digits {
            *d = b'0' + (rest % 10) as u8;
            rest /= 10;
            at += 1;
            if rest == 0 {
                break;
            }
        }
        digits.iter().take(at).rev().for_each(|d| self.push(*d));
        self
    }

    /// Adds a space and a float as eight hexadecimal digits.
    pub fn bits(mut self, x: f32) -> Self {
        self.push(b' ');
        for i in 0..8 {
            let digit = (x.to_bits() >> (28 - 4 * i) & 15) as u8;
            self.push(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 });
        }
        self
    }

    /// Sends it.
    pub fn end(mut self) {
        self.push(b'\n');
        write(self.bytes.get(..self.len).unwrap_or(&[]));
    }
}
