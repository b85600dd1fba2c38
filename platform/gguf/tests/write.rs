//! Writing and reading back.

mod common;

use std::fs;
use std::path::PathBuf;

use common::sample;
use dinrail_core::tensor::DType;
use dinrail_gguf::{Error, File, Header, ReadError, Str, Value, WriteError, Writer, replace_file};

const MODEL: &[u8] = include_bytes!("../../../examples/models/stories260K-Q8_0.gguf");

fn copy<'a>(file: &File<'a>) -> Writer<'a> {
    let mut w = Writer::new();
    for (key, value) in file.metadata() {
        w.value(key, value);
    }
    for t in file.tensors() {
        w.tensor(t.name, t.dtype, &t.ne[..t.n_dims as usize], t.bytes()).unwrap();
    }
    w
}

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("dinrail-gguf-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn names(&self) -> Vec<std::ffi::OsString> {
        fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_read_can_be_written() {
    for bytes in [&sample()[..], MODEL] {
        let file = File::parse(bytes).unwrap();
        let written = copy(&file).to_vec().unwrap();
        let again = File::parse(&written).unwrap();
        assert!(again.metadata().eq(file.metadata()));
        assert!(
            again
                .tensors()
                .map(|t| (t.name, t.dtype, t.ne, t.bytes()))
                .eq(file.tensors().map(|t| (t.name, t.dtype, t.ne, t.bytes())))
        );
        assert_eq!(written.len() % 32, 0);
        assert_eq!(copy(&again).to_vec().unwrap(), written);
    }
}

#[test]
fn values_arrays_and_alignment() {
    let mut w = Writer::new();
    w.value("general.alignment", 256u32.into())
        .value("a.bool", true.into())
        .value("a.f64", 1e300.into())
        .array("a.i16s", &[-1i16, 2])
        .array::<f32>("a.none", &[])
        .strs("a.strs", ["x", "", "žluť"])
        .strs("a.raw", [Str::new(b"\xff")]);
    w.tensor("one", DType::I8, &[3], &[1, 2, 3]).unwrap();
    w.tensor("two", DType::I8, &[1, 2], &[4, 5]).unwrap();
    let bytes = w.to_vec().unwrap();
    let f = File::parse(&bytes).unwrap();
    assert_eq!((f.version(), f.alignment(), bytes.len() % 256), (3, 256, 0));
    assert_eq!(f.get("a.f64"), Some(Value::F64(1e300)));
    assert_eq!(f.array("a.i16s").unwrap().of::<i16>().unwrap().collect::<Vec<_>>(), [-1, 2]);
    assert_eq!(f.array("a.none").unwrap().len(), 0);
    assert_eq!(f.array("a.strs").unwrap().strs().unwrap().nth(2).unwrap(), "žluť");
    assert_eq!(f.array("a.raw").unwrap().get(0), Some(Value::Str(Str::new(b"\xff"))));
    let (one, two) = (f.tensor("one").unwrap(), f.tensor("two").unwrap());
    assert_eq!((two.offset - one.offset, two.bytes()), (256, &[4, 5][..]));
    // No byte that was not put in.
    assert!(bytes[one.offset as usize + 3..two.offset as usize].iter().all(|b| *b == 0));
}

#[test]
fn the_writer_refuses_what_the_reader_would() {
    let mut w = Writer::new();
    let e = w.tensor("t", DType::F32, &[2], &[0; 7]).err().unwrap();
    assert_eq!(e.to_string(), "tensor \"t\" has 7 bytes of data: its type and lengths need 8");
    assert!(matches!(
        w.tensor("t", DType::F32, &[1; 5], &[]),
        Err(WriteError::Dimensions { n_dims: 5, .. })
    ));
    assert!(matches!(w.tensor("t", DType::Q4_0, &[33], &[]), Err(WriteError::Format { .. })));
    assert!(matches!(w.tensor("t", DType::F32, &[1 << 63], &[]), Err(WriteError::Format { .. })));
    assert!(File::parse(&w.to_vec().unwrap()).unwrap().tensors().next().is_none());

    let reason = |w: &Writer<'_>| match w.to_vec() {
        Err(WriteError::Format { error, text }) => (error, text),
        other => panic!("{other:?}"),
    };
    w.tensor("t", DType::I8, &[1], &[1]).unwrap().tensor("t", DType::I8, &[1], &[1]).unwrap();
    let (error, text) = reason(&w);
    assert!(matches!(error, Error::DuplicateTensor { .. }));
    assert_eq!(text, "tensor 1 \"t\" has the name of tensor 0 \"t\": rename one");
    let mut w = Writer::new();
    w.tensor(&"n".repeat(64), DType::I8, &[1], &[1]).unwrap();
    assert!(matches!(reason(&w).0, Error::NameTooLong { len: 64, .. }));
    for bad in [Value::U32(0), Value::U32(3), Value::I32(32)] {
        let mut w = Writer::new();
        w.value("general.alignment", bad);
        assert!(matches!(reason(&w).0, Error::Alignment { .. } | Error::AlignmentType { .. }));
    }
    let mut w = Writer::new();
    w.value("k", 1u8.into()).value("k", 2u8.into());
    assert!(matches!(reason(&w).0, Error::DuplicateKey { .. }));
}

#[test]
fn a_file_is_complete_or_not_there() {
    let folder = Folder::new("complete");
    // Not ASCII, and on Unix not even text.
    #[cfg(unix)]
    let name = <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(
        b"mod\xffl-\xc3\xa9.gguf".into(),
    );
    #[cfg(not(unix))]
    let name = std::ffi::OsString::from("modèl.gguf");
    let path = folder.0.join(&name);
    let file = File::parse(MODEL).unwrap();
    copy(&file).write_file(&path).unwrap();
    assert_eq!(folder.names(), std::slice::from_ref(&name));
    let first = fs::read(&path).unwrap();
    assert_eq!(first, copy(&file).to_vec().unwrap());

    // A failure half-way leaves the old file, and nothing beside it.
    use std::io::{Error as IoError, Write};
    let e = replace_file(&path, |f| {
        f.write_all(b"half")?;
        Err(IoError::other("full"))
    });
    assert_eq!(e.unwrap_err().to_string(), "full");
    let panicked = std::panic::catch_unwind(|| {
        replace_file::<IoError>(&path, |_| std::panic::resume_unwind(Box::new("stop")))
    });
    assert!(panicked.is_err());
    let mut bad = Writer::new();
    bad.value("", 1u8.into());
    assert!(matches!(bad.write_file(&path), Err(WriteError::Format { .. })));
    assert_eq!(folder.names(), [name]);
    assert_eq!(fs::read(&path).unwrap(), first);

    assert!(matches!(copy(&file).write_file(folder.0.join("no/such")), Err(WriteError::Io(_))));
    assert!(matches!(copy(&file).write_file("/"), Err(WriteError::Io(_))));
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_are_not_replaced() {
    use std::io::Write;
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = Folder::new("links");
    let write = |path: &PathBuf| replace_file::<std::io::Error>(path, |f| f.write_all(b"new"));
    let (target, link) = (folder.0.join("target"), folder.0.join("link"));
    fs::write(&target, b"old").unwrap();
    symlink(&target, &link).unwrap();
    write(&link).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"new");
    let nowhere = folder.0.join("nowhere");
    symlink(folder.0.join("missing"), &nowhere).unwrap();
    assert!(write(&nowhere).is_err() && nowhere.is_symlink());
    assert!(write(&folder.0).is_err());
    // A link to the device, so that a mistake here costs the link and not the device.
    let null = folder.0.join("null");
    symlink("/dev/null", &null).unwrap();
    write(&null).unwrap();
    assert!(null.is_symlink() && fs::metadata(&null).unwrap().file_type().is_char_device());
    assert_eq!(folder.names().len(), 4);
}

#[test]
fn a_full_device_is_an_error() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
            let n = buf.len().min(self.0);
            self.0 -= n;
            Ok(n)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let bytes = sample();
    let w = copy(&File::parse(&bytes).unwrap());
    let len = w.to_vec().unwrap().len();
    for room in 0..len {
        assert!(matches!(w.write_to(&mut Full(room)), Err(WriteError::Io(_))));
    }
    w.write_to(&mut Full(len)).unwrap();
}

#[test]
fn a_file_on_disk_is_a_source() {
    let folder = Folder::new("source");
    let path = folder.0.join("m.gguf");
    fs::write(&path, MODEL).unwrap();
    let whole = File::parse(MODEL).unwrap();
    let mut source = fs::File::open(&path).unwrap();
    let mut buf = vec![1, 2, 3];
    let header = Header::read_to_vec(&mut source, &mut buf).unwrap();
    assert!(header.metadata().eq(whole.metadata()));
    for t in whole.tensors() {
        let mut data = vec![0; t.size as usize];
        header.tensor(t.name).unwrap().read(&mut source, &mut data).unwrap();
        assert_eq!(data, t.bytes());
    }
    // The padding after the last tensor may be missing, its last byte may not.
    let end = whole.tensors().map(|t| t.offset + t.size).max().unwrap() as usize;
    fs::write(&path, &MODEL[..end]).unwrap();
    let mut source = fs::File::open(&path).unwrap();
    assert!(Header::read_to_vec(&mut source, &mut buf).is_ok());
    fs::write(&path, &MODEL[..end - 1]).unwrap();
    let mut source = fs::File::open(&path).unwrap();
    assert!(matches!(
        Header::read_to_vec(&mut source, &mut Vec::new()),
        Err(ReadError::Format(Error::OutOfFile { .. }))
    ));
    fs::write(&path, b"").unwrap();
    let e = Header::read_to_vec(&mut fs::File::open(&path).unwrap(), &mut Vec::new()).unwrap_err();
    assert!(matches!(e, ReadError::Format(Error::Truncated { at: 0, need: 4, len: 0 })));
}

#[test]
fn more_names_than_the_stack_holds() {
    let mut w = Writer::new();
    for i in 0..60_000u32 {
        w.value(&format!("k.{}", i.wrapping_mul(2_654_435_761)), i.into());
    }
    let bytes = w.to_vec().unwrap();
    let mut buf = Vec::new();
    let header = Header::read_to_vec(&mut &bytes[..], &mut buf).unwrap();
    assert_eq!(header.metadata().len(), 60_000);
}
