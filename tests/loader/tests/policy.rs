//! What is never opened.
#![cfg(unix)]

use dinrail_loader_tests::{Nest, as_nobody, install, marking, mode, plugin, probe, report};
use std::os::unix::fs::chown;

#[test]
fn denied_names_are_not_opened() {
    let nest = Nest::new();
    let dir = nest.dir("dir");
    let mark = marking(&nest.at("marks"));
    // One that takes its time and one that takes the program down.
    let slow = "BEFORE=extern unsigned sleep(unsigned); sleep(60)";
    if !plugin(&dir.join("libggml-slow-x.so"), &["SCORE=1", slow, &mark]) {
        return;
    }
    plugin(&dir.join("libggml-dead.so"), &["BEFORE=abort()", &mark]);
    plugin(&dir.join("libggml-fine-a.so"), &["SCORE=9", "NAME=\"A\"", &mark]);
    plugin(&dir.join("libggml-fine-b.so"), &["SCORE=1", "NAME=\"B\""]);
    let load = || {
        let mut command = probe();
        command.arg("--dir").arg(&dir);
        command
    };
    // By name, variant and file name.
    let r =
        report(load().args(["--deny", "SLOW", "--deny", "libggml-dead.so", "--deny", "fine-a"]));
    assert_eq!(r.taken(), ["libggml-fine-b.so"]);
    assert_eq!(r.end("libggml-slow-x.so"), ("denied", "`SLOW` is denied"));
    assert_eq!(["libggml-dead.so", "libggml-fine-a.so"].map(|f| r.stage(f)), ["denied"; 2]);
    let r = report(load().env("DINRAIL_DENY", "slow-x, ggml-dead,,ggml-fine-a"));
    assert_eq!(r.taken(), ["libggml-fine-b.so"]);
    let r = report(load().args(["--allow", "fine", "--deny", "fine-a"]));
    assert_eq!(r.taken(), ["libggml-fine-b.so"]);
    assert_eq!(r.end("libggml-slow-x.so"), ("denied", "only `fine` is allowed"));
    // A file that is named is not above the rule.
    let r = report(probe().args(["--deny", "dead", "--file"]).arg(dir.join("libggml-dead.so")));
    assert_eq!(r.stage("libggml-dead.so"), "denied");
    assert!(nest.marks("marks").is_empty(), "not even opened");
}

#[test]
fn what_others_can_change_is_not_opened() {
    let nest = Nest::new();
    let mark = marking(&nest.at("marks"));
    let (dir, sub) = (nest.dir("dir"), nest.dir("dir/sub"));
    let file = sub.join("libggml-it.so");
    if !plugin(&file, &[&mark]) {
        return;
    }
    let end = |args: &[&str]| {
        let r = report(probe().args(args).arg("--dir").arg(&sub));
        let (stage, reason) = r.end("libggml-it.so");
        (stage.to_owned(), reason.to_owned())
    };
    for (path, bad, good) in [(&file, 0o777, 0o755), (&sub, 0o777, 0o755), (&dir, 0o757, 0o755)] {
        mode(path, bad);
        let (stage, reason) = end(&[]);
        assert_eq!(stage, "refused");
        let expected = format!("everybody can write to {} (mode 0{bad:o})", path.display());
        assert_eq!(reason, expected);
        let r = report(probe().arg("--file").arg(&file));
        assert_eq!(r.stage("libggml-it.so"), "refused");
        mode(path, good);
    }
    // Behind a link as well.
    let other = nest.dir("other");
    std::os::unix::fs::symlink(&file, other.join("libggml-link.so")).unwrap();
    mode(&sub, 0o777);
    let r = report(probe().arg("--dir").arg(&other));
    assert_eq!(r.stage("libggml-link.so"), "refused");
    assert!(nest.marks("marks").is_empty(), "not even opened");
    // On request, and in a sticky directory.
    assert_eq!(end(&["--trust"]).0, "loaded");
    mode(&sub, 0o1777);
    assert_eq!(end(&[]).0, "loaded");
    // SAFETY: it takes nothing and always succeeds.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: only root can give files away");
        return;
    }
    mode(&sub, 0o755);
    for path in [&file, &sub] {
        chown(path, Some(12345), None).unwrap();
        let (stage, reason) = end(&[]);
        assert_eq!(stage, "refused");
        assert!(
            reason.starts_with(&format!("{} belongs to user 12345", path.display())),
            "{reason}"
        );
        chown(path, Some(0), None).unwrap();
    }
    // Another user may take what root and that user have, and nobody else's.
    let prog = nest.at("prog");
    install(&prog);
    mode(&nest.at("marks"), 0o666);
    for (owner, expected) in [(0, "loaded"), (65534, "loaded"), (12345, "refused")] {
        chown(&file, Some(owner), None).unwrap();
        let Some(mut command) = as_nobody(&prog) else { return };
        assert_eq!(report(command.arg("--file").arg(&file)).stage("libggml-it.so"), expected);
    }
}
