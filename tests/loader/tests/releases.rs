//! Two releases of ggml in one process.
#![cfg(target_os = "linux")]

use dinrail_interop as interop;
use dinrail_loader_tests::{probe, report};

/// The base libraries of both packages have one internal name, by which the system joins libraries: whichever comes
/// second would compute with the first one's structures.
#[test]
fn a_second_release_of_one_name_is_refused_before_anything_of_it_is_called() {
    let (Some(old), Some(new)) = (interop::package("cpu-v1"), interop::package("cpu-v2")) else {
        return;
    };
    let file = "libggml-cpu-sandybridge.so";
    for (first, second) in [(&old, &new), (&new, &old)] {
        let mut command = probe();
        command.arg("--file").arg(first.join(file));
        let r = report(&mut command);
        if r.stage(file) == "score" {
            return println!("skipped: {}", r.end(file).1);
        }
        assert_eq!(r.stage(file), "loaded", "{:#}", r.0);
        let r = report(command.arg("--file").arg(second.join(file)).arg("--dir").arg(second));
        let entries = r.0["entries"].as_array().unwrap();
        assert!(entries.len() > interop::cpu_libraries(second).len());
        let in_second = |e: &&serde_json::Value| {
            e["path"].as_str().is_some_and(|p| p.starts_with(&*second.to_string_lossy()))
        };
        for e in entries.iter().filter(in_second) {
            assert!(e["score"].is_null() && e["taken"] == false, "{e}");
            assert!(["open", "base"].contains(&e["stage"].as_str().unwrap()), "{e}");
            let reason = e["reason"].as_str().unwrap();
            for word in [&*first.to_string_lossy(), "only one of the two"] {
                assert!(reason.contains(word), "{word:?} is not in {reason}");
            }
        }
        assert_eq!(entries.iter().filter(|e| e["taken"] == true).count(), 1);
    }
}

/// Base libraries with names of their own live side by side; only the name of the backend is taken.
#[test]
fn a_second_release_of_another_name_is_a_second_backend_of_one_name() {
    let (Some(new), Some(peers)) = (interop::package("cpu-v2"), interop::peers()) else { return };
    let mut command = probe();
    command.arg("--file").arg(new.join("libggml-cpu-x64.so"));
    let r = report(command.arg("--file").arg(peers.join("libggml-cpu.so")));
    assert_eq!(r.taken(), ["libggml-cpu-x64.so"]);
    let (stage, reason) = r.end("libggml-cpu.so");
    assert_eq!(stage, "register", "{reason}");
    assert!(reason.contains("libggml-cpu-x64.so"), "{reason}");
}
