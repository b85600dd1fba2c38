//! `dinrail load` and `--load`, with plug-ins that are compiled here and those that ggml's makers built.
#![cfg(unix)]

use dinrail_interop as interop;
use dinrail_loader_tests::{Nest, clean, marking, plugin};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a command said.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}{}", self.out, self.err))
    }
}

fn command(args: &[&dyn AsRef<OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dinrail"));
    clean(&mut command);
    command.args(args.iter().map(AsRef::as_ref)).stdin(Stdio::null());
    command
}

fn end(command: &mut Command) -> Said {
    let o = command.output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).expect("what is printed is UTF-8");
    let said = Said { code: o.status.code(), out: text(o.stdout), err: text(o.stderr) };
    assert!(!said.err.contains("panicked"), "{}", said.err);
    said
}

fn say(args: &[&dyn AsRef<OsStr>]) -> Said {
    end(&mut command(args))
}

/// The line of a file in a report.
fn row<'v>(report: &'v Value, file: &str) -> &'v Value {
    let rows = report["candidates"].as_array().expect("candidates");
    let ends = |r: &&Value| r["path"].as_str().is_some_and(|p| p.ends_with(&format!("/{file}")));
    rows.iter().find(ends).unwrap_or_else(|| panic!("no {file} in {report:#}"))
}

#[test]
fn one_library_is_loaded_and_its_devices_listed() {
    let nest = Nest::new();
    let file = nest.at("libggml-gpu-x.so");
    if !plugin(&file, &["NAME=\"GPU\"", "SCORE=7", "COUNT=2"]) {
        return;
    }
    let said = say(&[&"load", &file]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    for word in [&*file.to_string_lossy(), "* loaded", "     7 ", "GPU, 2 devices"] {
        assert!(said.out.contains(word), "{word:?} is not in {}", said.out);
    }
    let devices: Vec<_> = said.out.lines().rev().take(2).collect();
    assert_eq!(devices, ["GPU1: a device for tests", "GPU0: a device for tests"]);
    let said = say(&[&"load", &"--json", &file]);
    let json = said.json();
    let row = row(&json, "libggml-gpu-x.so");
    assert_eq!(row["path"], *file.to_string_lossy());
    assert_eq!((&row["name"], &row["score"]), (&"gpu".into(), &7.into()));
    assert_eq!((&row["stage"], &row["taken"]), (&"loaded".into(), &true.into()));
    assert_eq!(row["reason"], "GPU, 2 devices");
    assert_eq!(json["candidates"].as_array().unwrap().len(), 1);
    // A relative path is one from where the program stands, and is shown in full.
    let said = end(command(&[&"load", &"--json", &"libggml-gpu-x.so"]).current_dir(nest.path()));
    assert_eq!(said.json()["candidates"][0]["path"], *file.to_string_lossy());
}

#[test]
fn what_cannot_be_loaded_says_why() {
    let nest = Nest::new();
    let marks = nest.at("marks");
    if !plugin(&nest.at("version.so"), &["VERSION=9"]) {
        return;
    }
    plugin(&nest.at("null.so"), &["ENTRY=NULL"]);
    plugin(&nest.at("noentry.so"), &["NO_INIT"]);
    plugin(&nest.at("unfit.so"), &["SCORE=0"]);
    plugin(&nest.at("denied.so"), &[&marking(&marks)]);
    std::fs::write(nest.at("text.so"), "no library\n").unwrap();
    std::fs::create_dir(nest.at("folder.so")).unwrap();
    let odd = OsStr::from_bytes(b"odd-\xff.so");
    std::fs::write(nest.at(odd), "no library\n").unwrap();
    for (file, stage, reason) in [
        ("version.so", "version", "interface version 9"),
        ("null.so", "init", "null"),
        ("noentry.so", "symbol", "ggml_backend_init"),
        ("unfit.so", "score", "not for this machine"),
        ("text.so", "open", "text.so"),
        ("folder.so", "find", "directory"),
        ("missing.so", "find", "No such file"),
        ("denied.so", "denied", "`denied`"),
        ("odd-\u{FFFD}.so", "open", "odd-"),
    ] {
        let path = if file.starts_with("odd") { nest.at(odd) } else { nest.at(file) };
        let mut both = [command(&[&"load", &path]), command(&[&"load", &"--json", &path])];
        for c in &mut both {
            c.env("DINRAIL_DENY", "denied");
        }
        let [plain, json] = both.map(|mut c| end(&mut c));
        assert_eq!((plain.code, json.code), (Some(1), Some(1)), "{file}: {}", plain.out);
        for said in [&plain, &json] {
            assert!(
                said.err.starts_with("error: ") && said.err.lines().count() == 1,
                "{}",
                said.err
            );
            for word in [file, stage, reason] {
                assert!(said.err.contains(word), "{word:?} is not in {}", said.err);
            }
        }
        let report = json.json();
        let row = row(&report, file);
        assert_eq!((&row["stage"], &row["taken"]), (&stage.into(), &false.into()), "{file}");
        assert!(row["reason"].as_str().unwrap().contains(reason), "{row}");
        assert_eq!(row["score"], if file == "unfit.so" { 0.into() } else { Value::Null });
    }
    assert!(nest.marks("marks").is_empty(), "what is denied is not opened");
}

#[test]
fn devices_show_the_report() {
    let nest = Nest::new();
    let dir = nest.dir("data/dinrail/backends");
    if !plugin(&dir.join("libggml-gpu-a.so"), &["NAME=\"GPU\"", "SCORE=9"]) {
        return;
    }
    plugin(&dir.join("libggml-gpu-b.so"), &["NAME=\"GPU\"", "SCORE=5"]);
    plugin(&dir.join("libggml-slow.so"), &["BEFORE=abort()", &marking(&nest.at("marks"))]);
    std::fs::write(dir.join("libggml-text.so"), "no library\n").unwrap();
    let check = |said: &Said, origin: &str| {
        assert_eq!(said.code, Some(0), "{}", said.err);
        let json = said.json();
        let report = &json["load"];
        let end = |file| {
            let r = row(report, file);
            (r["stage"].as_str().unwrap(), r["score"].as_u64(), r["reason"].as_str().unwrap())
        };
        let best = format!("{} was taken", dir.join("libggml-gpu-a.so").display());
        assert_eq!(end("libggml-gpu-a.so"), ("loaded", Some(9), "GPU, 1 device"));
        assert_eq!(end("libggml-gpu-b.so"), ("ranked", Some(5), &*best));
        assert_eq!(end("libggml-slow.so"), ("denied", None, "`SLOW` is denied"));
        assert_eq!(end("libggml-text.so").0, "open");
        let searched = report["searched"].as_array().unwrap();
        let place = searched.iter().find(|p| p["path"] == *dir.to_string_lossy()).unwrap();
        assert_eq!((&place["origin"], &place["candidates"]), (&origin.into(), &4.into()));
        let devices = json["devices"].as_array().unwrap();
        let gpu = devices.iter().find(|d| d["device"] == "GPU0").expect("it is a device now");
        assert_eq!((&gpu["kind"], &gpu["backend"]), (&"GPU".into(), &"GPU".into()));
        // The compiled-in ones are still there.
        assert!(devices.iter().any(|d| d["backend"] == "CPU"), "{json:#}");
    };
    check(&say(&[&"devices", &"--json", &"--load", &dir, &"--deny", &"SLOW"]), "given");
    // Wherever backends are looked for.
    let found = &mut command(&[&"devices", &"--json", &"--deny", &"SLOW", &"--load"]);
    check(&end(found.env("XDG_DATA_HOME", nest.at("data"))), "user");
    let said = say(&[&"devices", &"--load", &dir, &"--deny", &"SLOW"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    for word in ["* loaded", "  ranked", "  denied", "`SLOW` is denied", "searched", "GPU0"] {
        assert!(said.out.contains(word), "{word:?} is not in {}", said.out);
    }
    assert!(nest.marks("marks").is_empty(), "what is denied is not opened");
    // One file, nothing, and a place that is not there.
    let json = say(&[&"devices", &"--json", &"--load", &dir.join("libggml-gpu-b.so")]).json();
    assert_eq!(row(&json["load"], "libggml-gpu-b.so")["stage"], "loaded");
    let said = say(&[&"devices", &"--load", &nest.dir("empty")]);
    assert!(said.code == Some(0) && said.out.contains("no backend was loaded"), "{}", said.out);
    let said = say(&[&"devices", &"--load", &"/nonexistent/dir"]);
    assert!(said.code == Some(0) && said.out.contains("No such file"), "{}", said.out);
    let said = say(&[&"devices", &"--deny", &"gpu"]);
    assert!(said.code == Some(2) && said.err.contains("--load"), "{}", said.err);
}

#[test]
fn a_setting_that_leads_nowhere_is_a_warning() {
    let said = end(command(&[&"devices", &"--load"]).env("GGML_BACKEND_PATH", "/nonexistent/x"));
    let expected = "warning: GGML_BACKEND_PATH: /nonexistent/x: No such file";
    assert!(said.out.contains(expected), "{}", said.out);
    let said = end(
        command(&[&"devices", &"--load", &"--json"]).env("GGML_BACKEND_PATH", "/nonexistent/x")
    );
    assert!(said.json()["load"]["warnings"][0].as_str().unwrap().starts_with("GGML_BACKEND_PATH"));
}

fn model(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models").join(format!("{name}.gguf"))
}

/// The CPU library of a package that suits this machine best.
fn best_cpu(dir: &Path) -> PathBuf {
    let json = say(&[&"devices", &"--json", &"--load", &dir]).json();
    let rows = json["load"]["candidates"].as_array().unwrap().clone();
    assert!(rows.len() >= 6, "{json:#}");
    let score = |r: &Value| r["score"].as_u64().unwrap_or(0);
    let best = rows.iter().max_by_key(|r| score(r)).filter(|r| score(r) > 0).unwrap();
    best["path"].as_str().unwrap().into()
}

/// The same story, word for word, from ggml's CPU backend and from ours.
///
/// One thread: those of ggml's packages wait for each other without giving way, which takes seconds where a core is
/// busy with something else.
#[test]
fn a_foreign_backend_tells_the_same_story() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let library = best_cpu(&dir);
    let story = |name: &str, tokens: &str, more: &[&dyn AsRef<OsStr>]| {
        let model = model(name);
        let args: [&dyn AsRef<OsStr>; 9] =
            [&"run", &"-m", &model, &"--temp", &"0", &"-n", &tokens, &"--device", &"CPU"];
        let said = say(&[&args[..], more].concat());
        assert_eq!(said.code, Some(0), "{}", said.err);
        (said.out, said.err)
    };
    // Blocks of 8 bits round differently here and there, and after some sixty tokens two words are equally likely.
    for (name, tokens) in
        [("stories260K-f32", "100"), ("stories260K-Q8_0", "50"), ("stories260K-Q4_0", "50")]
    {
        let (ours, notes) = story(name, tokens, &[&"-t", &"1"]);
        assert!(ours.len() > 150 && !notes.contains("loaded "), "{ours} {notes}");
        let (theirs, notes) = story(name, tokens, &[&"-t", &"1", &"--load", &library]);
        assert!(notes.contains(&format!("loaded {}: CPU, 1 device", library.display())), "{notes}");
        assert_eq!(theirs, ours, "{name}");
        let more: [&dyn AsRef<OsStr>; 5] = [&"-t", &"1", &"--load", &library, &"--no-repack"];
        let (plain, plain_notes) = story(name, tokens, &more);
        assert_eq!(plain, ours, "{name}");
        assert!(!plain_notes.contains("re-ordered"), "{plain_notes}");
        if name.ends_with("Q4_0") && dinrail::cpu::level().name().starts_with("avx") {
            assert!(notes.contains("matrices re-ordered"), "{notes}");
        }
    }
    // Two threads, and as many as the machine has.
    let one = story("stories260K-f32", "4", &[&"-t", &"1", &"--load", &library]).0;
    for threads in [&[&"-t" as &dyn AsRef<OsStr>, &"2"][..], &[]] {
        let more = [threads, &[&"--load", &library]].concat();
        assert_eq!(story("stories260K-f32", "4", &more).0, one);
    }
}
