//! Which files of a directory may be backends, by their names alone.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Names in the order in which they are loaded, which is the order in which ggml looks for them. All others follow.
pub const ORDER: [&str; 16] = [
    "blas", "zendnn", "cann", "cuda", "hip", "kompute", "metal", "rpc", "sycl", "vulkan",
    "virtgpu", "opencl", "hexagon", "musa", "openvino", "cpu",
];

/// Endings of libraries. ggml's plug-ins on macOS end in `.so`.
const ENDINGS: &[&str] = if cfg!(windows) {
    &[".dll"]
} else if cfg!(target_vendor = "apple") {
    &[".so", ".dylib"]
} else {
    &[".so"]
};

/// What a file is called: `libggml-cpu-haswell.so` is the variant `haswell` of `cpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// `cpu`, in lower case.
    pub(crate) name: String,
    /// `haswell`; `None` for the fall-back. What isn't UTF-8 in it is replaced.
    pub(crate) variant: Option<String>,
    /// `ggml-cpu-haswell`.
    stem: String,
    file: String,
}

impl Name {
    /// `None` for a file that is no candidate. A name that isn't UTF-8 is none; a variant may be.
    pub(crate) fn parse(file: &OsStr) -> Option<Self> {
        let bytes = file.as_encoded_bytes();
        let stem = ENDINGS.iter().find_map(|e| bytes.strip_suffix(e.as_bytes()))?;
        let stem = stem.strip_prefix(b"lib").unwrap_or(stem);
        let rest = match stem.strip_prefix(b"ggml-") {
            // The library that ggml's plug-ins share.
            Some(rest) if rest.starts_with(b"base") => return None,
            Some(rest) => rest,
            None => stem.strip_prefix(b"dinrail-")?,
        };
        let mut parts = rest.splitn(2, |b| *b == b'-');
        let name = str::from_utf8(parts.next()?).ok().filter(|n| !n.is_empty())?;
        let variant = parts.next().map(|v| String::from_utf8_lossy(v).into_owned());
        Some(Self {
            name: name.to_ascii_lowercase(),
            variant,
            stem: String::from_utf8_lossy(stem).into_owned(),
            file: file.to_string_lossy().into_owned(),
        })
    }

    /// The name of a file that somebody chose, whatever it is called.
    pub(crate) fn of_file(path: &Path) -> Self {
        let file = path.file_name().unwrap_or_default();
        Self::parse(file).unwrap_or_else(|| {
            let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy();
            let stem = stem.strip_prefix("lib").unwrap_or(&stem).to_owned();
            let file = file.to_string_lossy().into_owned();
            Self { name: stem.to_ascii_lowercase(), variant: None, stem, file }
        })
    }

    /// Whether a name in a list means this file.
    pub(crate) fn answers_to(&self, wanted: &str) -> bool {
        let variant = self.variant.as_ref().map(|v| format!("{}-{v}", self.name));
        let all = [Some(&self.name), Some(&self.stem), Some(&self.file), variant.as_ref()];
        all.into_iter().flatten().any(|n| n.eq_ignore_ascii_case(wanted))
    }
}

/// A file whose name says that it may be a backend.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) name: Name,
    pub(crate) path: PathBuf,
    /// What is wrong with the directory entry.
    pub(crate) wrong: Option<String>,
}

/// The candidates of a directory, in order of their file names.
///
/// An entry is looked at only if its name is right, and one that can't be looked at spoils only itself.
pub(crate) fn scan(dir: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = match entry {
            Ok(e) => e,
            Err(e) => {
                log::debug!("{}: an entry can't be read: {e}", dir.display());
                continue;
            }
        };
        let file = entry.file_name();
        let Some(name) = Name::parse(&file) else { continue };
        let path = dir.join(&file);
        let wrong = look(&path).err();
        found.push(Found { name, path, wrong });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Whether a path leads to a regular file. A FIFO must not be opened, which would wait.
pub(crate) fn look(path: &Path) -> Result<(), String> {
    match std::fs::metadata(path) {
        Ok(m) if m.is_file() => Ok(()),
        Ok(m) if m.is_dir() => Err("it is a directory".into()),
        Ok(_) => Err("not a regular file".into()),
        Err(e) => Err(e.to_string()),
    }
}

/// The place of a name in the order of loading.
pub(crate) fn rank(name: &str) -> usize {
    ORDER.iter().position(|n| *n == name).unwrap_or(ORDER.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(file: &str) -> Option<(String, Option<String>)> {
        let ending = ENDINGS[0];
        Name::parse(OsStr::new(&file.replace(".so", ending))).map(|n| (n.name, n.variant))
    }

    #[test]
    fn names_of_files() {
        let some = |n: &str, v: Option<&str>| Some((n.to_owned(), v.map(str::to_owned)));
        assert_eq!(parse("libggml-cpu-haswell.so"), some("cpu", Some("haswell")));
        assert_eq!(parse("ggml-cpu-haswell.so"), some("cpu", Some("haswell")));
        assert_eq!(parse("libdinrail-cpu-avx2.so"), some("cpu", Some("avx2")));
        assert_eq!(parse("libggml-vulkan.so"), some("vulkan", None));
        assert_eq!(parse("libggml-CUDA-12-4.so"), some("cuda", Some("12-4")));
        for no in [
            "libggml-base.so",
            "libggml-base-x.so",
            "libggml.so",
            "libggml-.so",
            "libggml--x.so",
            "libllama.so",
            "libggml-cpu-haswell.so.1",
            "libggml-cpu.a",
            ".so",
            "libggmlcpu.so",
            "xlibggml-cpu.so",
            "",
        ] {
            assert_eq!(parse(no), None, "{no}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_not_utf8() {
        use std::os::unix::ffi::OsStrExt;
        let name = |b: &[u8]| Name::parse(OsStr::from_bytes(b));
        assert_eq!(name(b"libggml-\xff.so"), None);
        let n = name(b"libggml-cpu-\xff.so").unwrap();
        assert_eq!((n.name.as_str(), n.variant.as_deref()), ("cpu", Some("\u{FFFD}")));
    }

    #[test]
    fn what_a_list_may_call_a_file() {
        let file = format!("libggml-cpu-haswell{}", ENDINGS[0]);
        let name = Name::parse(OsStr::new(&file)).unwrap();
        for yes in ["cpu", "CPU", "cpu-haswell", "ggml-cpu-haswell", &file] {
            assert!(name.answers_to(yes), "{yes}");
        }
        for no in ["", "cp", "haswell", "cpu-", "dinrail-cpu-haswell"] {
            assert!(!name.answers_to(no), "{no}");
        }
        assert!(Name::of_file(Path::new("/x/libmine.so")).answers_to("mine"));
    }

    #[test]
    fn order_is_complete() {
        assert_eq!(rank("blas"), 0);
        assert_eq!(rank("cpu"), ORDER.len() - 1);
        assert_eq!(rank("anything"), ORDER.len());
    }
}
