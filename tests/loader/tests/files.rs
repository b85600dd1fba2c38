//! Files that are wrong: each spoils only itself, and says why.
#![cfg(unix)]

use dinrail_loader_tests::{Nest, as_nobody, install, mode, plugin, plugin_with, probe, report};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

#[test]
fn one_bad_entry_spoils_only_itself() {
    let nest = Nest::new();
    let bin = nest.dir("bin");
    let closed = nest.dir("closed");
    let at = |name: &str| bin.join(name);
    if !plugin(&at("libggml-good.so"), &["NAME=\"GOOD\""]) {
        return;
    }
    std::fs::copy(at("libggml-good.so"), closed.join("libggml-closed.so")).unwrap();
    symlink(closed.join("libggml-closed.so"), at("libggml-closed-link.so")).unwrap();
    symlink(closed.join("other"), at("nothing-of-ours")).unwrap();
    mode(&closed, 0o700);
    symlink("/nonexistent/x", at("libggml-dangling.so")).unwrap();
    symlink("libggml-loop.so", at("libggml-loop.so")).unwrap();
    std::fs::create_dir(at("libggml-folder.so")).unwrap();
    std::fs::write(at("libggml-empty.so"), []).unwrap();
    std::fs::write(at("libggml-text.so"), "hello\n").unwrap();
    std::fs::write(at("libggml-base.so"), "never looked at\n").unwrap();
    std::fs::write(bin.join(std::ffi::OsStr::from_bytes(b"libggml-\xff\xfe.so")), "x").unwrap();
    std::fs::write(bin.join(std::ffi::OsStr::from_bytes(b"libggml-bytes-\xff.so")), "x").unwrap();
    assert!(Command::new("mkfifo").arg(at("libggml-fifo.so")).status().unwrap().success());
    // The program lies there too, so that this is what a start looks like.
    let here = at("prog");
    install(&here);
    let Some(mut command) = as_nobody(&here) else { return };
    // Files of root and of nobody: both are trusted where this runs as root.
    let r = report(command.arg("--all"));
    assert_eq!(r.taken(), ["libggml-good.so"], "{:#}", r.0);
    assert_eq!(r.stage("libggml-dangling.so"), "find");
    assert!(r.end("libggml-dangling.so").1.contains("No such file"));
    assert_eq!(r.stage("libggml-loop.so"), "find");
    assert!(
        r.end("libggml-loop.so").1.contains("symbolic links"),
        "{:?}",
        r.end("libggml-loop.so")
    );
    assert_eq!(r.end("libggml-folder.so"), ("find", "it is a directory"));
    assert_eq!(r.end("libggml-fifo.so"), ("find", "not a regular file"));
    assert_eq!(r.stage("libggml-empty.so"), "open");
    assert!(r.end("libggml-empty.so").1.contains("too short"), "{:?}", r.end("libggml-empty.so"));
    assert!(r.end("libggml-text.so").1.contains("libggml-text.so"), "the system names the file");
    assert!(!r.has("libggml-base.so") && !r.has("nothing-of-ours"));
    // As root nothing is closed.
    // SAFETY: it takes nothing and always succeeds.
    if unsafe { libc::geteuid() } == 0 {
        assert_eq!(r.stage("libggml-closed-link.so"), "find");
        assert!(r.end("libggml-closed-link.so").1.contains("Permission denied"));
    }
    assert_eq!(r.texts("warnings"), [""; 0]);
    mode(&closed, 0o755);
}

#[test]
fn the_reason_is_the_systems() {
    let nest = Nest::new();
    let at = |name: &str| nest.at(name);
    // The linker wants to see a library that the system is then not to find.
    let (gone, dir) = (nest.at("libgone.so"), nest.path().to_string_lossy().into_owned());
    if !plugin_with(&gone, &["NO_INIT"], &["-Wl,-soname,libgone-3.so"]) {
        return;
    }
    plugin_with(
        &at("libggml-needs.so"),
        &[],
        &["-Wl,--no-as-needed", &format!("-L{dir}"), "-l:libgone.so"],
    );
    std::fs::remove_file(&gone).unwrap();
    let mut narrow = std::fs::read(at("libggml-needs.so")).unwrap();
    narrow[4] = 1;
    std::fs::write(at("libggml-narrow.so"), narrow).unwrap();
    plugin(&at("libggml-unresolved.so"), &["BEFORE=extern void not_there(void); not_there()"]);
    plugin(&at("libggml-noentry.so"), &["NO_INIT"]);
    plugin(&at("libggml-noscore-x.so"), &["NAME=\"NOSCORE\""]);
    let r = report(probe().arg("--dir").arg(nest.path()));
    assert_eq!(r.stage("libggml-needs.so"), "open");
    assert!(
        r.end("libggml-needs.so").1.contains("libgone-3.so"),
        "{:?}",
        r.end("libggml-needs.so")
    );
    assert_eq!(r.stage("libggml-narrow.so"), "open");
    assert!(
        r.end("libggml-narrow.so").1.contains("ELFCLASS32"),
        "{:?}",
        r.end("libggml-narrow.so")
    );
    assert_eq!(r.stage("libggml-unresolved.so"), "open");
    assert!(r.end("libggml-unresolved.so").1.contains("not_there"));
    assert_eq!(r.stage("libggml-noentry.so"), "symbol");
    // Without a score: usable.
    assert_eq!(r.taken(), ["libggml-noscore-x.so"]);
}

#[test]
fn the_next_best_is_taken() {
    let nest = Nest::new();
    let at = |name: &str| nest.at(format!("libggml-gpu{name}.so"));
    if !plugin(&at("-a"), &["SCORE=90", "VERSION=3"]) {
        return;
    }
    plugin(&at("-b"), &["SCORE=80", "ENTRY=NULL"]);
    plugin(&at("-c"), &["SCORE=-5"]);
    plugin(&at("-d"), &["SCORE=70", "COUNT=100000"]);
    plugin(&at("-e"), &["SCORE=0"]);
    plugin(&at("-f"), &["SCORE=60", "COUNT=2", "GET(i)=(i ? NULL : &devices[0])", "NAME=\"GPU\""]);
    plugin(&at("-g"), &["SCORE=50"]);
    plugin(&at("-h"), &[]);
    plugin(&at(""), &["SCORE=99"]);
    let r = report(probe().arg("--dir").arg(nest.path()));
    let stage = |n: &str| r.stage(&format!("libggml-gpu{n}.so")).to_owned();
    assert_eq!(
        ["-a", "-b", "-c", "-d", "-e"].map(stage),
        ["version", "init", "score", "devices", "score"]
    );
    assert_eq!(r.taken(), ["libggml-gpu-f.so"], "{:#}", r.0);
    assert_eq!(["-g", "-h", ""].map(stage), ["ranked"; 3]);
    // A device that it counts and does not give is left out, and said.
    assert_eq!(r.texts("devices").iter().filter(|d| d.starts_with("GPU")).count(), 1);
    let entries = r.0["entries"].as_array().unwrap();
    let noted = entries.iter().filter(|e| e["notes"].as_array().is_some_and(|n| !n.is_empty()));
    assert!(noted.into_iter().any(|e| e["notes"].to_string().contains("device 1 of 2 left out")));
}

#[test]
fn without_a_score_it_comes_last_but_for_the_base_name() {
    let nest = Nest::new();
    let marks = dinrail_loader_tests::marking(&nest.at("marks"));
    if !plugin(&nest.at("libggml-gpu-a.so"), &["NAME=\"A\""]) {
        return;
    }
    plugin(&nest.at("libggml-gpu.so"), &["NAME=\"B\"", &marks]);
    let r = report(probe().arg("--dir").arg(nest.path()));
    assert_eq!(r.taken(), ["libggml-gpu-a.so"]);
    assert!(nest.marks("marks").is_empty(), "a fall-back that is not needed is not opened");
    plugin(&nest.at("libggml-gpu-b.so"), &["NAME=\"C\"", "SCORE=1"]);
    assert_eq!(report(probe().arg("--dir").arg(nest.path())).taken(), ["libggml-gpu-b.so"]);
    for variant in ["a", "b"] {
        std::fs::remove_file(nest.at(format!("libggml-gpu-{variant}.so"))).unwrap();
    }
    assert_eq!(report(probe().arg("--dir").arg(nest.path())).taken(), ["libggml-gpu.so"]);
    assert_eq!(nest.marks("marks"), ["opened", "started"]);
}

#[test]
fn names_come_in_ggmls_order_and_prefixes_are_understood() {
    let nest = Nest::new();
    if !plugin(&nest.at("libggml-cuda.so"), &["NAME=\"CUDA\""]) {
        return;
    }
    plugin(&nest.at("libggml-aaa.so"), &["NAME=\"AAA\""]);
    plugin(&nest.at("libdinrail-blas-x.so"), &["NAME=\"BLAS\"", "SCORE=2"]);
    plugin(&nest.at("libggml-blas-x.so"), &["NAME=\"BLAS\"", "SCORE=1"]);
    plugin(&nest.at("libggml-vulkan-x.so"), &["NAME=\"V\"", "SCORE=3", "PREFIX(x)=lm_##x"]);
    let r = report(probe().arg("--dir").arg(nest.path()));
    assert_eq!(
        r.taken(),
        ["libdinrail-blas-x.so", "libggml-cuda.so", "libggml-vulkan-x.so", "libggml-aaa.so"]
    );
    assert_eq!(r.texts("backends")[2..], ["BLAS", "CUDA", "V", "AAA"]);
    // One name alone.
    let r = report(probe().args(["--best", "CUDA", "--dir"]).arg(nest.path()));
    assert_eq!(r.files(), ["libggml-cuda.so"]);
}
