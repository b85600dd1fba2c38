//! Reading through `ReadAt`: short reads, errors, ends, small buffers.

mod common;

use common::*;
use dinrail_gguf::{Error, File, Header, ReadAt, ReadError};

/// A source that reads at most `most` bytes at a time, fails at and after byte `fail`, and ends at byte `end`,
/// whatever length it reports.
struct Source<'a> {
    bytes: &'a [u8],
    most: usize,
    fail: usize,
    end: usize,
    calls: usize,
}

impl<'a> Source<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Source { bytes, most: usize::MAX, fail: usize::MAX, end: usize::MAX, calls: 0 }
    }
}

#[derive(Debug, PartialEq)]
struct Fault;

impl ReadAt for Source<'_> {
    type Error = Fault;

    fn len(&mut self) -> Result<u64, Fault> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize, Fault> {
        self.calls += 1;
        let at = offset as usize;
        if at >= self.fail {
            return Err(Fault);
        }
        let until = self.bytes.len().min(self.fail).min(self.end).max(at);
        let n = (until - at).min(self.most).min(buf.len());
        buf[..n].copy_from_slice(&self.bytes[at..at + n]);
        Ok(n)
    }
}

/// A header of some 30 KB, so that it takes several requests.
fn large() -> Vec<u8> {
    let mut raw = Raw::new(1, 1).key("tokens", ARRAY).u32(STR).u64(2500);
    for i in 0..2500 {
        raw = raw.str(format!("{i:04}"));
    }
    raw.tensor("w", &[8], F32, 0).data(32).0
}

#[test]
fn short_reads_of_every_length() {
    for bytes in [sample(), large()] {
        let file = File::parse(&bytes).unwrap();
        for most in [1, 2, 3, 7, 64, 4095, usize::MAX] {
            let mut source = Source { most, ..Source::new(&bytes) };
            let mut buf = vec![0; bytes.len()];
            let header = Header::read(&mut source, &mut buf).unwrap();
            assert!(header.tensors().eq(file.header().tensors()));
            assert!(header.metadata().eq(file.metadata()));
            assert_eq!(header.data_offset(), file.data_offset());
            for t in file.tensors() {
                let mut data = vec![0; t.size as usize];
                let info = header.tensor(t.name).unwrap();
                info.read(&mut source, &mut data).unwrap();
                assert_eq!(data, t.bytes());
                assert_eq!(
                    info.read(&mut source, &mut vec![0; t.size as usize + 1]),
                    Err(ReadError::Format(Error::BufferSize { size: t.size, buffer: t.size + 1 }))
                );
            }
        }
    }
}

#[test]
fn errors_and_ends_at_every_byte() {
    let bytes = sample();
    let header = File::parse(&bytes).unwrap().header().as_bytes().len();
    for at in 0..header {
        // A buffer of the header's size, so that no more than the header is read.
        let mut buf = vec![0; header];
        let mut fails = Source { fail: at, ..Source::new(&bytes) };
        assert_eq!(
            Header::read(&mut fails, &mut buf).unwrap_err(),
            ReadError::Source { at: at as u64, error: Fault }
        );
        let mut ends = Source { end: at, ..Source::new(&bytes) };
        let len = bytes.len() as u64;
        assert_eq!(
            Header::read(&mut ends, &mut buf).unwrap_err(),
            ReadError::Format(Error::SourceEnded { at: at as u64, len })
        );
        // A source that is that short and says so is a short file.
        let cut = Header::read(&mut &bytes[..at], &mut buf).unwrap_err();
        assert_eq!(cut, ReadError::Format(File::parse(&bytes[..at]).unwrap_err()));
    }
    let mut buf = vec![0; header];
    assert!(Header::read(&mut Source { fail: header, ..Source::new(&bytes) }, &mut buf).is_ok());
}

#[test]
fn a_small_buffer_asks_for_more() {
    for bytes in [sample(), large()] {
        let header = File::parse(&bytes).unwrap().header().as_bytes().len();
        let mut size = 0;
        let mut rounds = 0;
        loop {
            let mut buf = vec![0; size];
            match Header::read(&mut Source::new(&bytes), &mut buf) {
                Ok(_) => break,
                Err(ReadError::Format(Error::NeedMore { bytes })) => {
                    assert!(bytes > size as u64 && bytes <= header as u64);
                    size = (bytes as usize).max(size * 2);
                }
                Err(e) => panic!("{e:?}"),
            }
            rounds += 1;
        }
        assert!(rounds < 20 && size < 2 * header + 8, "{rounds} rounds, {size} bytes");
    }
}

#[test]
fn tensors_are_held_against_the_length_of_the_source() {
    let bytes = sample();
    let mut buf = vec![0; bytes.len()];
    for cut in [1, 4, 5, 100] {
        let e = Header::read(&mut &bytes[..bytes.len() - cut], &mut buf).unwrap_err();
        assert!(matches!(e, ReadError::Format(Error::OutOfFile { .. })), "{e:?}");
    }
    // Shortened after the header was read.
    let header = Header::read(&mut &bytes[..], &mut buf).unwrap();
    let info = header.tensor("b").unwrap();
    let end = info.offset as usize + 10;
    let mut source = Source { end, ..Source::new(&bytes) };
    let e = info.read(&mut source, &mut [0; 102]).unwrap_err();
    assert_eq!(
        e,
        ReadError::Format(Error::SourceEnded { at: end as u64, len: bytes.len() as u64 })
    );
}

#[test]
fn few_bytes_are_read_for_a_large_file() {
    // The length alone is large: nothing past the header is asked for.
    struct Long(Vec<u8>, u64);
    impl ReadAt for Long {
        type Error = Fault;
        fn len(&mut self) -> Result<u64, Fault> {
            Ok(1 << 50)
        }
        fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize, Fault> {
            self.1 = self.1.max(offset + buf.len() as u64);
            let at = (offset as usize).min(self.0.len());
            let n = buf.len().min(self.0.len() - at);
            buf[..n].copy_from_slice(&self.0[at..at + n]);
            buf[n..].fill(0);
            Ok(buf.len())
        }
    }
    let raw = Raw::new(1, 0).tensor("big", &[1 << 40], 24, 1 << 48);
    let mut source = Long(raw.0, 0);
    let mut buf = vec![0; 1 << 20];
    let header = Header::read(&mut source, &mut buf).unwrap();
    assert_eq!(header.tensor("big").unwrap().offset, (1 << 48) + 64);
    assert!(source.1 <= 4096);
    // Counts that the length would allow do not make it read or reserve that much at once.
    let mut source = Long(Raw::new(0, 1 << 30).0, 0);
    assert!(matches!(
        Header::read(&mut source, &mut buf),
        Err(ReadError::Format(Error::EmptyName { at: 24 }))
    ));
}
