//! The table survives every way of linking it.
//!
//! A registry that linkers fill (collected sections, constructors before `main`) loses entries without a word in some of
//! these builds. Ours is ordinary code; this builds small programs against the crate, with release settings that are
//! known to make the difference, and compares the names that they print with the features that were asked for.
//!
//! It calls Cargo and a C compiler, so it is not part of a plain test run:
//!
//! ```text
//! cargo test --release -p dinrail --test linking -- --ignored
//! ```
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIB: &str = r#"
//! Prints the names in the table.
use dinrail::hal::Backend;

/// All names, with commas.
pub fn names() -> String {
    let names: Vec<&str> = dinrail::registry().backends().map(|(_, b)| b.name()).collect();
    assert_eq!(names.len(), dinrail::FEATURES.len());
    assert_eq!(names.len(), dinrail::registry().backend_count());
    names.join(",")
}

/// Writes the names to `out`; returns their length.
///
/// # Safety
/// * `out` has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn probe_names(out: *mut u8, len: usize) -> usize {
    let names = names();
    let n = names.len().min(len);
    unsafe { core::ptr::copy_nonoverlapping(names.as_ptr(), out, n) };
    n
}
"#;

const MAIN: &str = r#"fn main() { println!("{}", probe::names()); }"#;

// Names of ggml's own in the same program are not ours, and must not clash.
const C: &str = r#"
#include <stdio.h>
#include <stddef.h>
size_t probe_names(char *out, size_t len);
int ggml_init(void) { return 42; }
int ggml_backend_init(void) { return 43; }
int main(void) {
    char names[256];
    size_t n = probe_names(names, sizeof names);
    printf("%.*s\n", (int)n, names);
    return ggml_init() == 42 && ggml_backend_init() == 43 ? 0 : 1;
}
"#;

/// One set of release settings, as environment variables of Cargo.
struct Build {
    name: &'static str,
    env: &'static [(&'static str, &'static str)],
    profile: &'static str,
    /// Beside `std`, in the order of the table. The CPU backend is long to compile, and in one build only.
    backends: &'static [&'static str],
}

const BUILDS: &[Build] = &[
    Build { name: "debug", env: &[], profile: "dev", backends: &["null"] },
    Build {
        name: "one unit",
        env: &[("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")],
        profile: "release",
        backends: &["reference", "null"],
    },
    Build {
        name: "256 units",
        env: &[("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "256")],
        profile: "release",
        backends: &["reference", "null"],
    },
    Build {
        name: "lto",
        env: &[("CARGO_PROFILE_RELEASE_LTO", "fat")],
        profile: "release",
        backends: &["cpu", "reference", "null"],
    },
];

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A package that depends on this crate, in a folder of its own.
fn package() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linking");
    fs::create_dir_all(dir.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"probe\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [lib]\ncrate-type = [\"rlib\", \"staticlib\", \"cdylib\"]\n\n\
         [dependencies.dinrail]\npath = {here:?}\ndefault-features = false\nfeatures = [\"std\"]\n\n\
         [features]\ncpu = [\"dinrail/cpu\"]\nreference = [\"dinrail/reference\"]\nnull = [\"dinrail/null\"]\n\n[profile.dev]\nopt-level = 0\n[profile.release]\nopt-level = 1\n\n[workspace]\n"
    );
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    fs::write(dir.join("src/lib.rs"), LIB).unwrap();
    fs::write(dir.join("src/main.rs"), MAIN).unwrap();
    fs::write(dir.join("probe.c"), C).unwrap();
    // The versions that are here already, so that nothing has to be fetched.
    let _ = fs::copy(here.join("../../Cargo.lock"), dir.join("Cargo.lock"));
    dir
}

#[test]
#[ignore = "builds programs for a minute or more"]
fn names_equal_features_however_it_is_linked() {
    let dir = package();
    let check = |what: &str, build: &Build, printed: &str| {
        let expected = build.backends.join(",");
        assert!(
            printed.trim().eq_ignore_ascii_case(&expected),
            "{what}, {}: {printed:?}, expected {expected:?}",
            build.name
        );
    };
    for build in BUILDS {
        let target = dir.join("target").join(build.name.replace(' ', "-"));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(&dir).args(["build", "--offline", "--quiet", "--profile", build.profile]);
        cargo.arg("--target-dir").arg(&target).args(["--features", &build.backends.join(",")]);
        for (name, _) in std::env::vars_os() {
            // Settings of the build that runs this test.
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PROFILE_") || text == "RUSTFLAGS" || text == "DINRAIL_SLOTS"
            {
                cargo.env_remove(&name);
            }
        }
        run(cargo.envs(build.env.iter().copied()));
        let out = target.join(if build.profile == "dev" { "debug" } else { build.profile });

        check("rlib", build, &run(&mut Command::new(out.join("probe"))));

        let program = out.join("from-archive");
        let mut cc = Command::new("cc");
        cc.arg(dir.join("probe.c")).arg(out.join("libprobe.a")).arg("-o").arg(&program);
        if cfg!(target_os = "linux") {
            cc.args(["-Wl,--gc-sections", "-lpthread", "-ldl", "-lm"]);
        } else {
            cc.arg("-Wl,-dead_strip");
        }
        run(&mut cc);
        check("staticlib", build, &run(&mut Command::new(&program)));

        let program = out.join("from-shared");
        let mut cc = Command::new("cc");
        cc.arg(dir.join("probe.c")).arg("-L").arg(&out).arg("-lprobe").arg("-o").arg(&program);
        // The archive of the same name lies beside it.
        let shared = out.join(format!("libprobe{}", std::env::consts::DLL_SUFFIX));
        assert!(shared.is_file(), "{}", shared.display());
        cc.arg(format!("-Wl,-rpath,{}", out.display()));
        run(&mut cc);
        check("cdylib", build, &run(&mut Command::new(&program)));
    }
}
