//! Files as bytes.

use dinrail_host::HEAP;
use dinrail_host::map::{self, ALIGN, Mapped, Stage};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Tests that take memory of the heap run one at a time, because one of them counts it.
static HEAP_USE: Mutex<()> = Mutex::new(());

type Mode = fn(&Path) -> Result<Mapped, map::Error>;

/// A folder of a test's own, removed when it ends.
struct Dir(PathBuf);

impl Dir {
    fn new(name: impl AsRef<std::ffi::OsStr>) -> Self {
        let mut unique = std::ffi::OsString::from(format!("dinrail-map-{}-", std::process::id()));
        unique.push(name);
        let path = std::env::temp_dir().join(unique);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn both_modes_give_the_files_bytes() {
    let _alone = HEAP_USE.lock().unwrap();
    let dir = Dir::new("modes");
    for len in [0, 1, 4095, 4096, 100_001] {
        let data: Vec<u8> = (0..len).map(|i| (i * 7 + i / 256) as u8).collect();
        let path = dir.0.join("file");
        fs::write(&path, &data).unwrap();
        let before = HEAP.live();
        let map = Mapped::open(&path).unwrap();
        assert!(map.is_mapped());
        assert_eq!(HEAP.live(), before);
        map.will_need(0..map.len());
        map.random(10..20);
        map.will_need(map.len()..usize::MAX);
        let copy = Mapped::copy(&path).unwrap();
        assert!(!copy.is_mapped());
        copy.will_need(0..1);
        assert_eq!(HEAP.live(), before + len);
        for bytes in [&map, &copy] {
            assert!(**bytes == data[..], "{len} bytes");
            assert_eq!(bytes.as_ptr() as usize % ALIGN, 0);
        }
        drop(copy);
        assert_eq!(HEAP.live(), before);
    }
}

#[test]
fn errors_name_the_file_and_the_reason() {
    let dir = Dir::new("errors");
    let absent = dir.0.join("absent.gguf");
    let modes: [Mode; 2] = [|p| Mapped::open(p), |p| Mapped::copy(p)];
    for open in modes {
        let e = open(&absent).unwrap_err();
        assert_eq!((e.kind(), e.stage(), e.path()), (ErrorKind::NotFound, Stage::Open, &*absent));
        let text = e.to_string();
        assert!(text.contains("absent.gguf") && text.starts_with("can't open "), "{text}");
        assert!(std::error::Error::source(&e).is_some_and(|s| text.ends_with(&s.to_string())));

        let e = open(&dir.0).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::IsADirectory);
        assert!(e.to_string().ends_with("this is a directory; name a file in it"), "{e}");
    }
    #[cfg(unix)]
    {
        let e = Mapped::open("/dev/null").unwrap_err();
        assert!(e.to_string().contains("not an ordinary file"), "{e}");
    }
}

#[test]
fn any_path_will_do() {
    #[allow(unused_mut)]
    let mut names: Vec<std::ffi::OsString> =
        vec!["Модели".into(), "モデル\u{3000}x".into(), "📦".into(), " spaced name ".into()];
    #[cfg(target_os = "linux")]
    names.push(std::os::unix::ffi::OsStringExt::from_vec(b"not\xffunicode\xfe".to_vec()));
    let _alone = HEAP_USE.lock().unwrap();
    for name in names {
        let dir = Dir::new(&name);
        let path = dir.0.join(&name);
        fs::write(&path, b"bytes").unwrap();
        assert_eq!(&*Mapped::open(&path).unwrap(), b"bytes");
        assert_eq!(&*Mapped::copy(&path).unwrap(), b"bytes");
        fs::remove_file(&path).unwrap();
        // Printed as well as it can be.
        assert!(Mapped::open(&path).unwrap_err().to_string().contains("can't open "));
    }
}
