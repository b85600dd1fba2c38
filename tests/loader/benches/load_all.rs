//! Loading all from a folder with ggml's CPU variants, next to ggml's own loader on the same files.
//!
//! `cargo bench -p dinrail-loader-tests`. Each loading happens in a process of its own, since the second one in a process
//! finds everything open; the two loaders take turns.

#[cfg(unix)]
mod sides {
    use dinrail::loader::{Ggml, Loader, Options};
    use dinrail::registry::Registry;
    use dinrail_interop as interop;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::Instant;

    const ROUNDS: usize = 41;

    const THEIRS: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(int argc, char **argv) {
    if (argc < 3) return 2;
    void *lib = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    void (*load)(const char *) = (void (*)(const char *))dlsym(lib, "ggml_backend_load_all_from_path");
    size_t (*count)(void) = (size_t (*)(void))dlsym(lib, "ggml_backend_reg_count");
    if (!load || !count) return 1;
    long long start = now();
    load(argv[2]);
    printf("%lld %zu\n", now() - start, count());
    return 0;
}
"#;

    /// One loading, in this process: nanoseconds and backends.
    pub fn child(dir: &Path) {
        static REGISTRY: Registry<8> = Registry::new(&[]);
        static LOADER: Loader<8> = Loader::new(&REGISTRY, &[], |_| None, &Ggml);
        let start = Instant::now();
        let report = LOADER.load_all_from(dir, &Options::default());
        let time = start.elapsed().as_nanos();
        println!("{time} {}", report.taken().count());
    }

    fn once(mut command: Command) -> Option<u64> {
        let out = command.stderr(Stdio::null()).output().ok().filter(|o| o.status.success())?;
        let text = String::from_utf8(out.stdout).ok()?;
        let (time, backends) = text.trim().rsplit_once(' ')?;
        assert_eq!(backends, "1", "one backend is loaded");
        time.rsplit('\n').next()?.parse().ok()
    }

    /// Smallest and middle.
    fn show(who: &str, mut times: Vec<u64>) -> (f64, f64) {
        times.sort_unstable();
        let (least, middle) = (times[0] as f64 / 1e6, times[times.len() / 2] as f64 / 1e6);
        println!("{who:8} median {middle:.2} ms, least {least:.2} ms");
        (middle, least)
    }

    fn theirs(dir: &Path) -> Option<(PathBuf, PathBuf)> {
        let files = std::fs::read_dir(dir).ok()?.flatten().map(|e| e.path());
        let lib = files.into_iter().find(|p| {
            let name = p.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libggml.") && name.contains(".so")
        })?;
        let folder = std::env::temp_dir().join(format!("dinrail-load-all-{}", std::process::id()));
        std::fs::create_dir_all(&folder).ok()?;
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
        let (mut ours, mut ggml) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut command = Command::new(&this);
            command.arg("--child").arg(&dir);
            ours.push(once(command).expect("it loads"));
            if let Some((program, lib)) = &peer {
                let mut command = Command::new(program);
                command.arg(lib).arg(&dir);
                ggml.extend(once(command));
            }
        }
        let (middle, least) = show("dinrail", ours);
        if ggml.is_empty() {
            println!("skipped: no loader of ggml's to compare with");
            return;
        }
        let (other_middle, other_least) = show("ggml", ggml);
        println!(
            "time of ours over ggml's: median {:.2}, least {:.2}",
            middle / other_middle,
            least / other_least
        );
    }
}

fn main() {
    #[cfg(unix)]
    {
        let mut args = std::env::args_os().skip(1);
        match (args.next(), args.next()) {
            (Some(flag), Some(dir)) if flag == "--child" => sides::child(dir.as_ref()),
            _ => sides::compare(),
        }
    }
}
