//! What the tests with foreign libraries share: where these are, and how to make one's own.
//!
//! `ci/ggml-packages.sh` and `ci/peers.sh` fetch and build them; where they are missing, a test says so and passes.

use dinrail_ggml::{Candidate, Library};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder for downloads and foreign builds.
pub fn cache() -> PathBuf {
    match std::env::var_os("DINRAIL_CACHE") {
        Some(dir) => dir.into(),
        None => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/dinrail"),
    }
}

/// A folder of libraries that `ci/ggml-packages.sh` fetched (`cpu-v2`, `vulkan-v2`, `cpu-v1`), for this processor.
pub fn package(name: &str) -> Option<PathBuf> {
    if cfg!(target_env = "musl") {
        println!("skipped: {name} is built for glibc");
        return None;
    }
    let name = match (name, std::env::consts::ARCH) {
        (name, "x86_64") => name.to_owned(),
        ("cpu-v2", "aarch64") => "cpu-v2-arm64".to_owned(),
        (name, arch) => {
            println!("skipped: {name} is not fetched for {arch}");
            return None;
        }
    };
    let dir = cache().join("ggml").join(name);
    if dir.join(".fetched").is_file() {
        return Some(dir);
    }
    println!("skipped: no {} (ci/ggml-packages.sh fetches it)", dir.display());
    None
}

/// The folder of llama.cpp's programs and libraries that `ci/peers.sh` built.
pub fn peers() -> Option<PathBuf> {
    if cfg!(any(not(target_arch = "x86_64"), target_env = "musl")) {
        println!("skipped: llama.cpp is not built for this processor and C library");
        return None;
    }
    let dir = cache().join("peers");
    let built = std::fs::read_dir(&dir).into_iter().flatten().flatten().map(|e| e.path());
    let found = built.filter(|p| p.join(".built").is_file()).map(|p| p.join("bin")).max();
    if found.is_none() {
        println!("skipped: nothing built in {} (ci/peers.sh builds it)", dir.display());
    }
    found
}

/// The libraries of a folder whose names say that they are CPU backends, in order of name.
pub fn cpu_libraries(dir: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let cpu = |p: &PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libggml-cpu") && name.ends_with(".so")
    };
    let mut all: Vec<_> = all.filter(cpu).collect();
    all.sort();
    all
}

/// The library with the best score of those in a folder.
///
/// # Panics
/// If one can't be opened or none suits this machine: these are real libraries of this machine's kind.
pub fn best_cpu(dir: &Path) -> &'static Library {
    let candidates = cpu_libraries(dir).into_iter().map(|p| Candidate::open(&p).expect("opens"));
    let scored = candidates.map(|c| (c.score().expect("scores"), c));
    let best = scored.filter(|(s, _)| *s != Some(0)).max_by_key(|(s, _)| *s);
    best.expect("one of them suits").1.init().expect("starts")
}

/// A folder of this process for what it compiles, gone when the process has ended.
///
/// # Panics
/// If it can't be made.
pub fn workshop() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    unsafe extern "C" {
        fn atexit(f: extern "C" fn()) -> core::ffi::c_int;
    }
    extern "C" fn clear() {
        // What is loaded stays in memory.
        let _ = DIR.get().map(std::fs::remove_dir_all);
    }
    DIR.get_or_init(|| {
        let dir = std::env::temp_dir().join(format!("dinrail-interop-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary folder");
        // SAFETY: the function lives as long as the program, and does not unwind.
        unsafe { atexit(clear) };
        dir
    })
}

/// Compiles a plug-in from C. `None`, with a word, where there is no C compiler.
///
/// # Panics
/// If the compiler refuses the source.
pub fn compile(name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let dir = workshop();
    let (c, so) = (dir.join(format!("{name}.c")), dir.join(format!("lib{name}.so")));
    std::fs::write(&c, source).expect("writes");
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let out = Command::new(cc)
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-o"])
        .arg(&so)
        .arg(&c)
        .args(flags)
        .output();
    match out {
        Ok(o) if o.status.success() => Some(so),
        Ok(o) => panic!("{name}.c: {}", String::from_utf8_lossy(&o.stderr)),
        Err(e) => {
            println!("skipped: no C compiler: {e}");
            None
        }
    }
}
