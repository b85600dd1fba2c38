//! What loading does to the table of this program, and unloading.
//!
//! One process, one table: the tests of this file take turns.
#![cfg(target_os = "linux")]

use dinrail::hal::Buffer;
use dinrail::loader::{self, Options, Report, Stage};
use dinrail::{Error, registry};
use dinrail_interop as interop;
use dinrail_loader_tests::{Nest, plugin};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn options() -> Options {
    Options { ignore_environment: true, ..Options::default() }
}

fn load_dir(dir: &Path) -> Report {
    loader::load_all_from(dir, &options())
}

fn names() -> Vec<String> {
    registry().backends().map(|(_, b)| b.name().to_owned()).collect()
}

fn devices() -> Vec<String> {
    registry().devices().map(|d| d.name().to_owned()).collect()
}

/// Whether a library that was closed is out of memory. musl keeps them all.
fn is_out(file: &str) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.contains(file) == cfg!(target_env = "musl")
}

#[test]
fn the_same_again_is_the_same_handle() {
    let _turn = turn();
    let nest = Nest::new();
    let file = nest.at("libggml-twice-x.so");
    if !plugin(&file, &["NAME=\"TWICE\"", "SCORE=5", "COUNT=2"]) {
        return;
    }
    let before = devices();
    let first = load_dir(nest.path()).taken().next().unwrap().handle().unwrap();
    let after = devices();
    assert_eq!(after.len(), before.len() + 2);
    let second = load_dir(nest.path());
    assert_eq!(second.taken().next().unwrap().handle(), Some(first));
    assert_eq!(second.entries()[0].reason(), "TWICE was loaded before");
    assert_eq!(loader::load(&file, &options()), Ok(first));
    // Also through a link in another directory.
    let other = nest.dir("other");
    std::os::unix::fs::symlink(&file, other.join("libggml-link.so")).unwrap();
    assert_eq!(loader::load(&other.join("libggml-link.so"), &options()), Ok(first));
    assert_eq!(devices(), after);
    // A different one of the same name.
    let third = nest.at("libggml-third.so");
    plugin(&third, &["NAME=\"twice\"", "SCORE=9"]);
    let e = loader::load(&third, &options()).unwrap_err();
    assert_eq!((e.stage(), e.cause()), (Stage::Register, Some(Error::NameTaken)));
    let text = e.to_string();
    assert!(
        text.contains(&*third.to_string_lossy()) && text.contains(&*file.to_string_lossy()),
        "{text}"
    );
    assert_eq!(devices(), after);
    assert!(is_out("libggml-third.so"), "what was not taken is closed");
    loader::unload(first).unwrap();
    assert_eq!(devices(), before);
    assert_eq!(loader::unload(first).unwrap_err().cause(), Some(Error::Stale));
    // The name is free again.
    let third = loader::load(&third, &options()).unwrap();
    loader::unload(third).unwrap();
}

#[test]
fn what_is_alive_is_counted() {
    let _turn = turn();
    let nest = Nest::new();
    let file = nest.at("libggml-alive.so");
    if !plugin(&file, &["NAME=\"ALIVE\""]) {
        return;
    }
    let handle = loader::load(&file, &options()).unwrap();
    let device = registry().device_by_name("alive0").unwrap();
    let buffers = [100, 200].map(|n| Buffer::new(device.buffer_type(), n).unwrap());
    let e = loader::unload(handle).unwrap_err();
    assert_eq!(e.cause(), Some(Error::InUse { streams: 0, buffers: 2, events: 0 }));
    assert_eq!(e.stage(), Stage::Unload);
    assert!(registry().backend(handle).is_ok());
    buffers[0].write(0, &[1, 2, 3]).unwrap();
    drop(buffers);
    loader::unload(handle).unwrap();
    assert!(is_out("libggml-alive.so"), "it is closed");
    assert_eq!(registry().backend(handle).err(), Some(Error::Stale));
    assert_eq!(Buffer::new(device.buffer_type(), 8).unwrap_err(), Error::Stale);
    let again = loader::load(&file, &options()).unwrap();
    assert_ne!(again, handle);
    assert_eq!(loader::unload(handle).unwrap_err().cause(), Some(Error::Stale));
    loader::unload(again).unwrap();
}

#[test]
fn a_compiled_in_backend_competes_by_score() {
    let _turn = turn();
    let nest = Nest::new();
    let at = |dir: &str, file: &str| nest.dir(dir).join(file);
    if !plugin(&at("low", "libggml-cpu-x.so"), &["NAME=\"CPU\"", "SCORE=1"]) {
        return;
    }
    plugin(&at("high", "libggml-cpu-x.so"), &["NAME=\"CPU\"", "SCORE=1000000"]);
    plugin(&at("none", "libggml-cpu-x.so"), &["NAME=\"CPU\""]);
    plugin(&at("base", "libggml-cpu.so"), &["NAME=\"CPU\"", "SCORE=1000000"]);
    plugin(&at("other", "libggml-reference-x.so"), &["NAME=\"reference\"", "SCORE=1000000"]);
    let ours = registry().backend_by_name("cpu").unwrap();
    let is_ours = || core::ptr::addr_eq(registry().backend_by_name("CPU").unwrap().1, ours.1);
    let before = names();
    for dir in ["low", "none", "other"] {
        let r = load_dir(&nest.at(dir));
        assert_eq!(r.taken().count(), 0, "{r}");
        assert_eq!(r.entries()[0].stage(), Stage::Ranked, "{r}");
        assert!(r.entries()[0].reason().starts_with("the compiled-in"), "{r}");
        assert!(is_ours());
    }
    for dir in ["high", "base"] {
        let r = load_dir(&nest.at(dir));
        let handle = r.taken().next().unwrap_or_else(|| panic!("{r}")).handle().unwrap();
        assert!(!is_ours());
        // In its place: as many backends as before, and the best CPU is the plug-in's.
        assert_eq!(names().len(), before.len());
        assert_eq!(registry().device_by_name("CPU0").unwrap().description(), "a device for tests");
        loader::unload(handle).unwrap();
        assert!(is_ours());
        assert_eq!(names(), before);
    }
    // A file that is named is what the user wants.
    let handle = loader::load(&at("low", "libggml-cpu-x.so"), &options()).unwrap();
    assert!(!is_ours());
    loader::unload(handle).unwrap();
    assert_eq!(loader::unload(ours.0).unwrap_err().cause(), Some(Error::BuiltIn));
}

/// A program that has a CPU backend inside works with all of its plug-ins, with some of them and with none.
#[test]
fn plug_ins_may_be_missing() {
    let _turn = turn();
    let nest = Nest::new();
    let (cpu, gpu) = (nest.at("libggml-cpu-x.so"), nest.at("libggml-gpu.so"));
    if !plugin(&cpu, &["NAME=\"CPU\"", "SCORE=1000000"]) {
        return;
    }
    plugin(&gpu, &["NAME=\"GPU\""]);
    let before = devices();
    for (there, taken) in
        [([true, true], 2), ([false, true], 1), ([true, false], 1), ([false, false], 0)]
    {
        for (file, _) in [&cpu, &gpu].into_iter().zip(there).filter(|(_, there)| !there) {
            std::fs::rename(file, file.with_extension("away")).unwrap();
        }
        let r = load_dir(nest.path());
        assert_eq!(r.taken().count(), taken, "{r}");
        let cpu_is_ours = !there[0];
        assert_eq!(registry().device_by_name("CPU").is_some(), cpu_is_ours);
        assert_eq!(registry().device_by_name("CPU0").is_some(), !cpu_is_ours);
        assert_eq!(registry().device_by_name("GPU0").is_some(), there[1]);
        assert!(registry().best_device().is_some());
        r.taken().for_each(|e| loader::unload(e.handle().unwrap()).unwrap());
        assert_eq!(devices(), before);
        for file in [&cpu, &gpu] {
            let _ = std::fs::rename(file.with_extension("away"), file);
        }
    }
}

/// A device that is counted and not given is met by no look-up.
#[test]
fn a_missing_device_is_nowhere() {
    let _turn = turn();
    let nest = Nest::new();
    let file = nest.at("libggml-half.so");
    let get = "GET(i)=(i == 1 ? NULL : &devices[i])";
    if !plugin(&file, &["NAME=\"HALF\"", "COUNT=2", get]) {
        return;
    }
    let handle = loader::load(&file, &options()).unwrap();
    let backend = registry().backend(handle).unwrap();
    assert_eq!(backend.device_count(), 1);
    assert!(backend.device(0).is_some() && backend.device(1).is_none());
    assert!(registry().device_by_name("HALF0").is_some());
    assert!(registry().device_by_name("HALF1").is_none());
    let gpu = registry().device_by_kind(dinrail::hal::DeviceKind::Gpu).unwrap();
    assert_eq!(gpu.name(), "HALF0");
    assert_eq!(registry().best_device().unwrap().name(), "HALF0");
    // It gives no stream: an error, and not for the whole program.
    assert!(gpu.open(&Default::default()).is_err());
    loader::unload(handle).unwrap();
}

/// What was unloaded may be another file under the same name when it is loaded again.
#[test]
fn a_changed_file_is_loaded_anew() {
    let _turn = turn();
    let nest = Nest::new();
    let file = nest.at("libggml-changing.so");
    if !plugin(&file, &["NAME=\"FIRST\""]) {
        return;
    }
    let first = loader::load(&file, &options()).unwrap();
    assert_eq!(registry().backend(first).unwrap().name(), "FIRST");
    let old = registry().device_by_name("FIRST0").unwrap();
    loader::unload(first).unwrap();
    std::fs::remove_file(&file).unwrap();
    plugin(&file, &["NAME=\"SECOND\"", "COUNT=2"]);
    let second = loader::load(&file, &options()).unwrap();
    assert_eq!(registry().backend(second).unwrap().name(), "SECOND");
    assert_eq!(registry().backend(second).unwrap().device_count(), 2);
    // What belonged to the old one stays an error.
    assert_eq!(Buffer::new(old.buffer_type(), 8).unwrap_err(), Error::Stale);
    assert_eq!(registry().backend(first).err(), Some(Error::Stale));
    loader::unload(second).unwrap();
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn rounds(file: &Path) {
    let path = file.to_owned();
    let mut last = None;
    let mut round = || {
        let handle = loader::load(&path, &options()).unwrap();
        assert_ne!(last.replace(handle), Some(handle));
        let (_, backend) = registry().backends().find(|(h, _)| *h == handle).unwrap();
        let buffer = Buffer::new(backend.device(0).unwrap().buffer_type(), 4096).unwrap();
        buffer.clear(1).unwrap();
        drop(buffer);
        loader::unload(handle).unwrap();
    };
    (0..50).for_each(|_| round());
    let before = resident();
    (0..1000).for_each(|_| round());
    let grown = resident().saturating_sub(before);
    println!("{}: memory grew by {grown} bytes in 1000 rounds", file.display());
    assert!(grown < 1 << 20, "memory grew by {grown} bytes");
}

#[test]
fn a_thousand_rounds_of_a_small_one_leave_memory_flat() {
    let _turn = turn();
    let nest = Nest::new();
    let file = nest.at("libggml-round.so");
    if plugin(&file, &["NAME=\"ROUND\"", "SCORE=1"]) {
        rounds(&file);
    }
}

#[test]
fn a_thousand_rounds_of_a_real_one_leave_memory_flat() {
    let _turn = turn();
    if let Some(dir) = interop::package("cpu-v2") {
        rounds(&dir.join("libggml-cpu-x64.so"));
    }
}
