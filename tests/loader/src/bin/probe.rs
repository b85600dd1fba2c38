//! Loads as its arguments say and prints a report.

use dinrail::loader::{self, Options, Report};
use serde_json::{Value, json};
use std::path::PathBuf;

/// One call of the loader.
enum Step {
    Dir(PathBuf),
    File(PathBuf),
}

/// What is to be done.
#[derive(Default)]
struct Job {
    options: Options,
    steps: Vec<Step>,
    best: Option<String>,
    all: bool,
    out: Option<PathBuf>,
    unload: bool,
    display: bool,
}

fn job() -> Job {
    let mut job = Job::default();
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().expect("a value");
        let text = |v: std::ffi::OsString| v.into_string().expect("text");
        match arg.to_str() {
            Some("--dir") => job.steps.push(Step::Dir(value().into())),
            Some("--file") => job.steps.push(Step::File(value().into())),
            Some("--best") => job.best = Some(text(value())),
            Some("--deny") => job.options.policy.deny.push(text(value())),
            Some("--allow") => job.options.policy.allow.push(text(value())),
            Some("--out") => job.out = Some(value().into()),
            Some("--cwd") => job.options.working_directory = true,
            Some("--trust") => job.options.policy.writable_by_others = true,
            Some("--no-environment") => job.options.ignore_environment = true,
            Some("--all") => job.all = true,
            Some("--unload") => job.unload = true,
            Some("--display") => job.display = true,
            _ => panic!("{}: no such argument", arg.display()),
        }
    }
    job
}

fn json(reports: &[Report]) -> Value {
    let entry = |e: &loader::Entry| {
        json!({
            "path": e.path().to_string_lossy(), "name": e.name(), "score": e.score(),
            "stage": e.stage().name(), "reason": e.reason(), "taken": e.is_taken(), "notes": e.notes(),
        })
    };
    let place = |p: &loader::Place| {
        json!({
            "path": p.path().to_string_lossy(), "origin": p.origin().name(),
            "candidates": p.candidates(), "wrong": p.wrong(),
        })
    };
    let registry = dinrail::registry();
    json!({
        "entries": reports.iter().flat_map(|r| r.entries()).map(entry).collect::<Value>(),
        "places": reports.iter().flat_map(|r| r.places()).map(place).collect::<Value>(),
        "warnings": reports.iter().flat_map(|r| r.warnings()).collect::<Vec<_>>(),
        "backends": registry.backends().map(|(_, b)| b.name()).collect::<Vec<_>>(),
        "devices": registry.devices().map(|d| d.name()).collect::<Vec<_>>(),
        "privileged": loader::is_privileged(),
        "cpu": dinrail::cpu::level().name(),
    })
}

fn main() {
    let job = job();
    let o = &job.options;
    let mut reports: Vec<Report> = Vec::new();
    for step in &job.steps {
        reports.push(match (step, &job.best) {
            (Step::Dir(dir), Some(name)) => loader::load_best(name, Some(dir), o),
            (Step::Dir(dir), None) => loader::load_all_from(dir, o),
            (Step::File(file), _) => loader::load_file(file, o),
        });
    }
    if job.all {
        reports.push(match &job.best {
            Some(name) => loader::load_best(name, None, o),
            None => loader::load_all(o),
        });
    }
    let text = match job.display {
        true => reports.iter().map(|r| r.to_string()).collect(),
        false => json(&reports).to_string(),
    };
    if job.unload {
        for entry in reports.iter().flat_map(|r| r.taken()) {
            if let Some(handle) = entry.handle() {
                let _ = loader::unload(handle);
            }
        }
    }
    match job.out {
        Some(path) => std::fs::write(path, text).expect("writes"),
        None => println!("{text}"),
    }
}
