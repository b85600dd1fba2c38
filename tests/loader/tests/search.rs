//! Where backends are looked for, and where not.
#![cfg(unix)]

use dinrail_loader_tests::{
    Nest, as_nobody, clean, install, marking, mode, plugin, probe, probe_at, report,
};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

#[test]
fn a_library_in_the_working_directory_is_left_alone() {
    let nest = Nest::new();
    let here = nest.dir("here");
    if !plugin(&here.join("libggml-cpu-best.so"), &["SCORE=1000000", &marking(&nest.at("marks"))]) {
        return;
    }
    let r = report(probe().arg("--all").current_dir(&here));
    assert!(r.taken().is_empty() && !r.has("libggml-cpu-best.so"));
    assert!(!r.places().iter().any(|(p, _)| Path::new(p) == here));
    assert!(nest.marks("marks").is_empty(), "nothing of it may run");
    // On request, and by its full path.
    let r = report(probe().args(["--all", "--cwd"]).current_dir(&here));
    assert!(r.taken().contains(&"libggml-cpu-best.so".into()), "{:#}", r.0);
    assert!(r.places().contains(&(&*here.to_string_lossy(), "working directory")));
    assert_eq!(nest.marks("marks"), ["opened", "scored", "started"]);
    let r = report(probe().args(["--dir", "."]).current_dir(&here));
    assert_eq!(r.places(), [(&*here.to_string_lossy(), "given")]);
    assert_eq!(r.taken().len(), 1);
}

#[test]
fn the_executables_directory_is_the_real_one() {
    let nest = Nest::new();
    let (real, links, path) = (nest.dir("real"), nest.dir("links"), nest.dir("path"));
    let program_here = real.join("prog");
    install(&program_here);
    if !plugin(&real.join("libggml-mine.so"), &["NAME=\"MINE\""]) {
        return;
    }
    plugin(&links.join("libggml-wrong.so"), &["NAME=\"WRONG\""]);
    symlink("../real/prog", links.join("first")).unwrap();
    symlink("../links/first", path.join("prog")).unwrap();
    let found = |command: &mut Command| {
        let r = report(command.arg("--all"));
        assert_eq!(r.taken(), ["libggml-mine.so"], "{:#}", r.0);
        assert_eq!(r.places()[0], (&*real.to_string_lossy(), "executable"));
    };
    found(&mut probe_at(&program_here));
    found(&mut probe_at(&path.join("prog")));
    found(probe_at(Path::new("./prog")).current_dir(&path));
    found(probe_at(Path::new("../real/../path/prog")).current_dir(&path));
    let mut by_path = probe_at(Path::new("sh"));
    found(by_path.args(["-c", "PATH=$0:$PATH; cd /; prog \"$@\""]).arg(&path));
    // Without /proc, where this user may take it away.
    let hide = "mount -t tmpfs none /proc && exec \"$@\"";
    let mut bare = Command::new("unshare");
    clean(bare.args(["-m", "sh", "-c", hide, "sh"]));
    let works = Command::new("unshare").args(["-m", "sh", "-c", hide, "sh", "true"]).output();
    match works {
        Ok(o) if o.status.success() => found(bare.arg(path.join("prog"))),
        _ => println!("skipped: /proc can't be taken away here"),
    }
}

/// The best of one name, from wherever backends are looked for; the system's own list of directories is none of them.
#[test]
fn one_name_from_all_directories() {
    let nest = Nest::new();
    let (bin, system, data) = (nest.dir("bin"), nest.dir("system"), nest.dir("data"));
    let user = nest.dir("data/dinrail/backends");
    install(&bin.join("prog"));
    if !plugin(&bin.join("libggml-gpu-a.so"), &["NAME=\"A\"", "SCORE=3"]) {
        return;
    }
    plugin(&user.join("libggml-gpu-b.so"), &["NAME=\"B\"", "SCORE=5"]);
    plugin(&system.join("libggml-gpu-c.so"), &["NAME=\"C\"", "SCORE=9"]);
    plugin(&bin.join("libggml-other.so"), &["BEFORE=abort()"]);
    let mut command = probe_at(&bin.join("prog"));
    command.args(["--best", "GPU", "--all"]).env("LD_LIBRARY_PATH", &system);
    let r = report(command.env("XDG_DATA_HOME", &data));
    assert_eq!(r.files(), ["libggml-gpu-a.so", "libggml-gpu-b.so"]);
    assert_eq!(r.taken(), ["libggml-gpu-b.so"]);
    assert!(!r.places().iter().any(|(p, _)| Path::new(p) == system));
}

#[test]
fn variables_take_files_directories_and_lists() {
    let nest = Nest::new();
    let (a, b, odd) = (nest.dir("a"), nest.dir("b"), nest.dir("with:colon"));
    if !plugin(&a.join("libggml-one.so"), &["NAME=\"ONE\""]) {
        return;
    }
    plugin(&b.join("my-backend.so"), &["NAME=\"TWO\""]);
    plugin(&odd.join("libggml-three.so"), &["NAME=\"THREE\""]);
    let (a, b, odd) = (a.display(), b.display(), odd.display());
    let taken = |name: &str, value: &str| {
        let r = report(probe().arg("--all").env(name, value).current_dir(nest.path()));
        let mut taken: Vec<_> = r.taken();
        taken.sort();
        (taken.join(" "), r.texts("warnings").join("\n"))
    };
    for name in dinrail::loader::VARIABLES {
        let ok = |value: &str, names: &str| {
            assert_eq!(taken(name, value), (names.into(), String::new()), "{name}={value}");
        };
        ok("", "");
        ok(&format!("{a}"), "libggml-one.so");
        ok(&format!("{a}/"), "libggml-one.so");
        ok("a", "libggml-one.so");
        ok(&format!("{b}"), "");
        ok(&format!("{b}/my-backend.so"), "my-backend.so");
        ok(&format!("{a}:{b}/my-backend.so:"), "libggml-one.so my-backend.so");
        ok(&format!("{odd}"), "libggml-three.so");
        ok(&format!("{odd}/libggml-three.so"), "libggml-three.so");
        let (names, warning) = taken(name, &format!("{a}:/nonexistent/dir"));
        assert_eq!(names, "libggml-one.so");
        assert!(
            warning.starts_with(&format!("{name}: /nonexistent/dir: No such file")),
            "{warning}"
        );
    }
    let file = format!("{b}/my-backend.so");
    let r = report(probe().args(["--all", "--no-environment"]).env("GGML_BACKEND_PATH", &file));
    assert!(r.taken().is_empty());
}

#[test]
fn a_users_directory() {
    let nest = Nest::new();
    let dir = nest.dir("data/dinrail/backends");
    if !plugin(&dir.join("libggml-mine.so"), &[]) {
        return;
    }
    let r = report(probe().arg("--all").env("XDG_DATA_HOME", nest.at("data")));
    assert_eq!(r.taken(), ["libggml-mine.so"]);
    assert!(r.places().contains(&(&*dir.to_string_lossy(), "user")));
    // A relative one counts for nothing.
    let r = report(probe().arg("--all").env("XDG_DATA_HOME", "data").current_dir(nest.path()));
    assert!(r.taken().is_empty());
}

#[test]
fn paths_in_any_letters() {
    let nest = Nest::new();
    let first = nest.at("libggml-it-x.so");
    if !plugin(&first, &["SCORE=1"]) {
        return;
    }
    let names: [&[u8]; 5] = [
        "Пользователь".as_bytes(),
        "日本\u{3000}語".as_bytes(),
        "é🦀".as_bytes(),
        b"not utf-8 \xff\xfe",
        b"blank and\ttab",
    ];
    for name in names {
        let dir = nest.dir(std::ffi::OsStr::from_bytes(name));
        let (file, prog) = (dir.join("libggml-it-x.so"), dir.join("prog"));
        std::fs::copy(&first, &file).unwrap();
        install(&prog);
        let taken = |c: &mut Command| assert_eq!(report(c).taken(), ["libggml-it-x.so"]);
        taken(probe_at(&prog).arg("--all"));
        taken(probe().arg("--dir").arg(&dir));
        taken(probe().arg("--file").arg(&file));
        taken(probe().arg("--all").env("GGML_BACKEND_PATH", &dir));
        taken(probe().arg("--all").env("GGML_BACKEND_PATH", &file));
        // A message about it.
        std::fs::write(&file, "text").unwrap();
        assert_eq!(report(probe().arg("--dir").arg(&dir)).stage("libggml-it-x.so"), "open");
        let shown = probe().arg("--display").arg("--dir").arg(&dir).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("no backend was loaded") && !shown.contains('\t'), "{shown}");
    }
}

#[test]
fn a_program_with_more_rights_than_its_user_asks_nobody() {
    let nest = Nest::new();
    let (bin, here) = (nest.dir("bin"), nest.dir("here"));
    let marks = nest.at("marks");
    std::fs::write(&marks, "").unwrap();
    mode(&marks, 0o666);
    if !plugin(&here.join("libggml-evil.so"), &[&marking(&marks)]) {
        return;
    }
    let prog = bin.join("prog");
    install(&prog);
    // SAFETY: it takes nothing and always succeeds.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: only root can make a set-uid program");
        return;
    }
    let capable = || {
        mode(&prog, 0o755);
        let done = Command::new("setcap").arg("cap_net_raw+ep").arg(&prog).status();
        done.is_ok_and(|s| s.success())
    };
    let plain = |bits: u32| {
        mode(&prog, bits);
        true
    };
    let ways: [(&str, &dyn Fn() -> bool); 3] =
        [("set-uid", &|| plain(0o4755)), ("set-gid", &|| plain(0o2755)), ("capable", &capable)];
    for (way, prepare) in ways {
        if !prepare() {
            println!("skipped: {way} programs (setcap)");
            continue;
        }
        let Some(mut command) = as_nobody(&prog) else { return };
        command.args(["--all", "--cwd"]).current_dir(&here).env("GGML_BACKEND_PATH", &here);
        command.env("XDG_DATA_HOME", &here).env("DINRAIL_DENY", "x");
        let r = report(&mut command);
        if r.0["privileged"] == false {
            println!("skipped: this file system has no {way} programs");
            continue;
        }
        assert!(nest.marks("marks").is_empty() && r.files().is_empty(), "{way}: {:#}", r.0);
        assert_eq!(r.places(), [(&*bin.to_string_lossy(), "executable")]);
        let warnings = r.texts("warnings").join("\n");
        for what in
            ["GGML_BACKEND_PATH is ignored", "DINRAIL_DENY is ignored", "the working directory"]
        {
            assert!(warnings.contains(what), "{way}: {warnings}");
        }
    }
}
