//! Loading all from a folder with ggml's CPU variants, next to ggml's own loader on the same files.
//!
//! `cargo bench -p dinrail-loader-tests`. Each loading happens in a process of its own, since the second one in a process
//! finds everything open; the two loaders take turns. Beside the time that passes it gives the time that the processor
//! spends on it, which others on the machine disturb less.
//!
//! ggml's loader is a library that brings ggml's base library and the C++ runtime along, and the variants need both. Ours
//! opens them with the first variant. So ggml's time counts from before its loader is opened. What both take from there
//! on, with everything that variants need already in place, is printed too; for ours in a process that has opened the base
//! library before.

#[cfg(unix)]
mod sides {
    use dinrail::loader::{Ggml, Loader, Options};
    use dinrail::registry::Registry;
    use dinrail_interop as interop;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    const ROUNDS: usize = 101;

    const THEIRS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
static long long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(int argc, char **argv) {
    if (argc < 3) return 2;
    long long wall0 = now(CLOCK_MONOTONIC), cpu0 = now(CLOCK_THREAD_CPUTIME_ID);
    void *lib = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    void (*load)(const char *) = (void (*)(const char *))dlsym(lib, "ggml_backend_load_all_from_path");
    size_t (*count)(void) = (size_t (*)(void))dlsym(lib, "ggml_backend_reg_count");
    if (!load || !count) return 1;
    long long wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
    load(argv[2]);
    long long cpu1 = now(CLOCK_THREAD_CPUTIME_ID), wall1 = now(CLOCK_MONOTONIC);
    printf("%lld %lld %lld %lld %zu\n", wall1 - wall0, cpu1 - cpu0, wall1 - wall, cpu1 - cpu, count());
    return 0;
}
"#;

    fn cpu() -> Duration {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a place to write to.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t) };
        Duration::new(t.tv_sec.unsigned_abs(), u32::try_from(t.tv_nsec).unwrap_or(0))
    }

    /// One loading, in this process: nanoseconds that passed, of the processor, and backends.
    pub fn child(dir: &Path, ready: bool) {
        static REGISTRY: Registry<8> = Registry::new(&[]);
        static LOADER: Loader<8> = Loader::new(&REGISTRY, &[], |_| None, &Ggml);
        if ready {
            use std::os::unix::ffi::OsStrExt;
            let base = dir.join("libggml-base.so");
            let base = std::ffi::CString::new(base.as_os_str().as_bytes()).expect("no zero");
            // SAFETY: a library of a known release, whose initialisers are harmless.
            let handle = unsafe { libc::dlopen(base.as_ptr(), libc::RTLD_NOW) };
            assert!(!handle.is_null(), "{}", dir.display());
        }
        let (start, cpu_start) = (Instant::now(), cpu());
        let report = LOADER.load_all_from(dir, &Options::default());
        let (wall, cpu) = (start.elapsed().as_nanos(), (cpu() - cpu_start).as_nanos());
        println!("{wall} {cpu} {wall} {cpu} {}", report.taken().count());
    }

    /// Milliseconds that passed, and of the processor; the same without what is opened before.
    fn once(mut command: Command) -> Option<[f64; 4]> {
        let out = command.stderr(Stdio::null()).output().ok().filter(|o| o.status.success())?;
        let text = String::from_utf8(out.stdout).ok()?;
        let mut words = text.trim().rsplit('\n').next()?.split(' ');
        let mut number = || words.next()?.parse::<f64>().ok();
        let times = [number()?, number()?, number()?, number()?];
        assert_eq!(number()?, 1.0, "one backend is loaded");
        Some(times.map(|t| t / 1e6))
    }

    fn median(mut x: Vec<f64>) -> f64 {
        x.sort_by(f64::total_cmp);
        x[x.len() / 2]
    }

    fn theirs(dir: &Path) -> Option<(PathBuf, PathBuf)> {
        let files = std::fs::read_dir(dir).ok()?.flatten().map(|e| e.path());
        let lib = files.into_iter().find(|p| {
            let name = p.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libggml.") && name.contains(".so")
        })?;
        let folder = interop::workshop();
        let (source, program) = (folder.join("theirs.c"), folder.join("theirs"));
        std::fs::write(&source, THEIRS).ok()?;
        let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = Command::new(cc);
        command.args(["-O2", "-o"]).arg(&program).arg(&source).arg("-ldl");
        command.status().ok().filter(|s| s.success())?;
        Some((program, lib))
    }

    pub fn compare() {
        let Some(dir) = interop::package("cpu-v2") else { return };
        println!("{} variants in {}", interop::cpu_libraries(&dir).len(), dir.display());
        let this = std::env::current_exe().expect("it runs");
        let peer = theirs(&dir);
        let mut pairs: Vec<([f64; 4], Option<[f64; 4]>)> = Vec::new();
        for i in 0..ROUNDS {
            let child = |how: &str| {
                let mut command = Command::new(&this);
                command.arg(how).arg(&dir);
                once(command).expect("it loads")
            };
            let ours = || {
                let ([wall, cpu, ..], [.., ready, ready_cpu]) =
                    (child("--child"), child("--ready"));
                [wall, cpu, ready, ready_cpu]
            };
            let theirs = || {
                let (program, lib) = peer.as_ref()?;
                let mut command = Command::new(program);
                command.arg(lib).arg(&dir);
                once(command)
            };
            pairs.push(match i % 2 {
                0 => (ours(), theirs()),
                _ => {
                    let theirs = theirs();
                    (ours(), theirs)
                }
            });
        }
        let whats = [
            "time that passed",
            "processor's time",
            "time that passed, with everything in place",
            "processor's time, with everything in place",
        ];
        for (i, what) in whats.into_iter().enumerate() {
            let ours = median(pairs.iter().map(|(a, _)| a[i]).collect());
            let both: Vec<_> = pairs.iter().filter_map(|(a, b)| Some((a[i], (*b)?[i]))).collect();
            if both.is_empty() {
                println!(
                    "{what}: dinrail {ours:.2} ms; skipped: no loader of ggml's to compare with"
                );
                continue;
            }
            let theirs = median(both.iter().map(|(_, b)| *b).collect());
            let ratio = median(both.iter().map(|(a, b)| a / b).collect());
            println!(
                "{what}: dinrail {ours:.2} ms, ggml {theirs:.2} ms, median of {} ratios {ratio:.3}",
                both.len()
            );
        }
    }
}

fn main() {
    #[cfg(unix)]
    {
        let mut args = std::env::args_os().skip(1);
        match (args.next(), args.next()) {
            (Some(flag), Some(dir)) if flag == "--child" => sides::child(dir.as_ref(), false),
            (Some(flag), Some(dir)) if flag == "--ready" => sides::child(dir.as_ref(), true),
            _ => sides::compare(),
        }
    }
}
