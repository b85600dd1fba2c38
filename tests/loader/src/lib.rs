//! What the loader's tests share: folders, plug-ins compiled from C, and a program that loads and reports.
//!
//! Only one set of backends fits into a process, and the environment, the executable's place and the user belong to a
//! process. So most tests run the program `loader-probe` and read its report.

use dinrail_interop as interop;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

const HEADER: &str = include_str!("../../interop/tests/support/plugin.h");

const BODY: &str = r#"
#include <stdio.h>
#ifndef COUNT
#define COUNT 1
#endif
#ifndef NAME
#define NAME "TEST"
#endif
#ifndef PREFIX
#define PREFIX(x) x
#endif
static void mark(const char *what) {
#ifdef MARK
    FILE *f = fopen(MARK, "a");
    if (f) { fprintf(f, "%s\n", what); fclose(f); }
#else
    (void)what;
#endif
}
#ifdef MARK
__attribute__((constructor)) static void opened(void) { mark("opened"); }
#endif
static device devices[] = {DEVICE(NAME "0"), DEVICE(NAME "1")};
#ifndef GET
#define GET(i) (&devices[i])
#endif
static const char *reg_name(reg *r) { (void)r; return NAME; }
static size_t count(reg *r) { (void)r; return COUNT; }
static device *get(reg *r, size_t i) { (void)r, (void)i; return GET(i); }
static reg it = {VERSION, reg_name, count, get, NULL, NULL};
#ifndef ENTRY
#define ENTRY &it
#endif
#ifndef BEFORE
#define BEFORE
#endif
#ifndef NO_INIT
reg *PREFIX(ggml_backend_init)(void) { mark("started"); BEFORE; return ENTRY; }
#endif
#ifdef SCORE
int PREFIX(ggml_backend_score)(void) { mark("scored"); return SCORE; }
#endif
"#;

/// A folder of its own that only its owner can write to, gone at the end.
#[derive(Debug)]
pub struct Nest(PathBuf);

impl Nest {
    /// A new one.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("dinrail-loader-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary folder");
        mode(&dir, 0o755);
        Nest(dir.canonicalize().expect("it is there"))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file or folder in it.
    pub fn at(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.0.join(name.as_ref())
    }

    /// A folder in it.
    pub fn dir(&self, name: impl AsRef<OsStr>) -> PathBuf {
        let dir = self.at(name);
        std::fs::create_dir_all(&dir).expect("a folder");
        dir
    }

    /// What the marks of plug-ins say.
    pub fn marks(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.at(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Changes a file's mode.
pub fn mode(path: &Path, mode: u32) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("its owner");
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
}

/// Compiles a plug-in with these macros (`SCORE=7`, `NAME="X"`) to a path. `false` where there is no C compiler.
pub fn plugin(to: &Path, macros: &[&str]) -> bool {
    plugin_with(to, macros, &[])
}

/// As [`plugin`], with more flags for the compiler.
pub fn plugin_with(to: &Path, macros: &[&str], flags: &[&str]) -> bool {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("loader{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let defines: String = macros
        .iter()
        .map(|m| match m.split_once('=') {
            Some((name, value)) => format!("#define {name} {value}\n"),
            None => format!("#define {m}\n"),
        })
        .collect();
    let source = format!("{defines}{HEADER}{BODY}");
    let all = [&["-O0", "-Wno-unused-function", "-Wno-unused-variable"], flags].concat();
    let Some(made) = interop::compile(&name, &source, &all) else { return false };
    std::fs::copy(&made, to).expect("a copy");
    std::fs::remove_file(&made).expect("ours");
    mode(to, 0o755);
    true
}

/// A macro for [`plugin`]: marks go to this file.
pub fn marking(path: &Path) -> String {
    format!("MARK=\"{}\"", path.display())
}

/// The probe with a clean environment.
pub fn probe() -> Command {
    probe_at(&program())
}

/// The program itself, to be copied or linked to. Cargo builds it before the tests and benches of this package.
///
/// # Panics
/// Outside of these.
pub fn program() -> PathBuf {
    let this = std::env::current_exe().expect("a test knows where it is");
    let dir = this.ancestors().nth(2).expect("tests lie in `deps`");
    dir.join(format!("loader-probe{}", std::env::consts::EXE_SUFFIX))
}

/// Puts a copy of the probe somewhere.
///
/// Another program copies it: one that this process has open for writing, if only in a child that another thread is about
/// to start, can't be started.
///
/// # Panics
/// If it can't be copied.
pub fn install(to: &Path) {
    let done = Command::new("cp").arg(program()).arg(to).status().expect("cp starts");
    assert!(done.success(), "{}", to.display());
}

/// A copy of the probe with a clean environment.
pub fn probe_at(path: &Path) -> Command {
    let mut command = Command::new(path);
    clean(&mut command);
    command
}

/// Takes out of the environment what the loader reads.
pub fn clean(command: &mut Command) {
    for name in dinrail::loader::VARIABLES {
        command.env_remove(name);
    }
    command.env_remove(dinrail::loader::DENY);
    command.env("XDG_DATA_HOME", "/nonexistent");
}

/// Runs it and reads its report.
///
/// # Panics
/// If it fails or says anything else.
pub fn report(command: &mut Command) -> Report {
    let out = command.output().expect("it starts");
    read(&out)
}

/// The report in an output.
///
/// # Panics
/// As [`report`].
pub fn read(out: &Output) -> Report {
    assert!(out.status.success(), "{:?} {}", out.status, String::from_utf8_lossy(&out.stderr));
    assert_eq!(String::from_utf8_lossy(&out.stderr), "");
    Report(serde_json::from_slice(&out.stdout).expect("a report"))
}

/// What the probe says.
#[derive(Debug)]
pub struct Report(pub Value);

impl Report {
    fn entry(&self, file: &str) -> &Value {
        let entries = self.0["entries"].as_array().expect("entries");
        let ends =
            |e: &&Value| e["path"].as_str().is_some_and(|p| p.ends_with(&format!("/{file}")));
        entries.iter().find(ends).unwrap_or_else(|| panic!("no {file} in {:#}", self.0))
    }

    /// Whether there is a line for a file.
    pub fn has(&self, file: &str) -> bool {
        self.files().iter().any(|f| f == file)
    }

    /// Names of the files, in order.
    pub fn files(&self) -> Vec<String> {
        let entries = self.0["entries"].as_array().expect("entries");
        let name = |e: &Value| {
            e["path"].as_str().unwrap_or_default().rsplit('/').next().map(str::to_owned)
        };
        entries.iter().filter_map(name).collect()
    }

    /// Names of the files that were taken, in order.
    pub fn taken(&self) -> Vec<String> {
        self.files().into_iter().filter(|f| self.entry(f)["taken"] == true).collect()
    }

    /// The stage and the reason of a file's line.
    pub fn end(&self, file: &str) -> (&str, &str) {
        let e = self.entry(file);
        (e["stage"].as_str().unwrap_or_default(), e["reason"].as_str().unwrap_or_default())
    }

    /// The stage of a file's line.
    pub fn stage(&self, file: &str) -> &str {
        self.end(file).0
    }

    /// A list of texts.
    pub fn texts(&self, key: &str) -> Vec<&str> {
        let all = self.0[key].as_array().expect("a list");
        all.iter().filter_map(Value::as_str).collect()
    }

    /// Places that were searched, with why.
    pub fn places(&self) -> Vec<(&str, &str)> {
        let all = self.0["places"].as_array().expect("places").iter();
        all.map(|p| (p["path"].as_str().unwrap_or(""), p["origin"].as_str().unwrap_or("")))
            .collect()
    }
}

/// A command that runs as a user without rights: this one, or `nobody` where this one is root. `None`, with a word, if
/// that can't be done.
pub fn as_nobody(program: &Path) -> Option<Command> {
    #[cfg(unix)]
    {
        // SAFETY: it takes nothing and always succeeds.
        if unsafe { libc::geteuid() } != 0 {
            return Some(probe_at(program));
        }
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
        clean(&mut command);
        let works = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "true"])
            .status()
            .is_ok_and(|s| s.success());
        if works {
            return Some(command);
        }
    }
    println!("skipped: {} can't be run as another user (setpriv)", program.display());
    None
}
