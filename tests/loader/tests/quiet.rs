//! Nothing is written to standard output or standard error, whatever is loaded.
#![cfg(unix)]

use dinrail_interop as interop;
use dinrail_loader_tests::{Nest, plugin, probe};
use std::process::Stdio;

#[test]
fn nobody_writes_to_the_console() {
    let nest = Nest::new();
    if !plugin(&nest.at("libggml-good-x.so"), &["SCORE=1"]) {
        return;
    }
    plugin(&nest.at("libggml-null.so"), &["ENTRY=NULL"]);
    plugin(&nest.at("libggml-new.so"), &["VERSION=9"]);
    std::fs::write(nest.at("libggml-text.so"), "text").unwrap();
    let real = interop::package("cpu-v2");
    let out = nest.at("report");
    let command = || {
        let mut c = probe();
        c.arg("--out").arg(&out).arg("--unload").arg("--dir").arg(nest.path());
        if let Some(real) = &real {
            c.arg("--dir").arg(real).arg("--file").arg(real.join("libggml-cpu-x64.so"));
        }
        c.env("GGML_BACKEND_PATH", "/nonexistent");
        c
    };
    let output = command().output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0));
    let first: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    // With both closed, what is opened next gets their numbers: nothing may be written there either.
    let mut sh = std::process::Command::new("sh");
    sh.args(["-c", "exec \"$@\" >&- 2>&-", "sh"]);
    let (program, full) = (command().get_program().to_owned(), command());
    sh.arg(program).args(full.get_args()).stdout(Stdio::null());
    dinrail_loader_tests::clean(&mut sh);
    sh.env("GGML_BACKEND_PATH", "/nonexistent");
    std::fs::remove_file(&out).unwrap();
    assert!(sh.status().unwrap().success());
    let second: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(first, second);
    // Where nothing can be written, nothing fails either.
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        std::fs::remove_file(&out).unwrap();
        let status = command().stdout(full.try_clone().unwrap()).stderr(full).status().unwrap();
        assert!(status.success());
        let third = serde_json::from_slice::<serde_json::Value>(&std::fs::read(&out).unwrap());
        assert_eq!(first, third.unwrap());
    }
    assert!(first["entries"].as_array().unwrap().len() >= 4);
}
