//! A CPU backend of ggml's with interface version 2.

mod common;

use dinrail_core::hal::{Backend, DeviceKind};
use dinrail_ggml::Candidate;
use dinrail_interop as interop;

#[test]
fn scores_follow_the_processor() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let files = interop::cpu_libraries(&dir);
    let score = |name: &str| {
        let file = dir.join(format!("libggml-cpu-{name}.so"));
        Candidate::open(&file).unwrap().score().unwrap()
    };
    let (count, least, better) = OF_THIS_PROCESSOR;
    assert_eq!(files.len(), count);
    let baseline = score(least).expect("it has a score function");
    assert!(baseline > 0);
    for (variant, there) in better() {
        match there {
            true => assert!(score(variant) > Some(baseline), "{variant}"),
            false => assert_eq!(score(variant), Some(0), "{variant}"),
        }
    }
}

type Variants = (usize, &'static str, fn() -> Vec<(&'static str, bool)>);

/// How many variants the package has, the one for every processor, and some with whether this one has what they need.
#[cfg(target_arch = "aarch64")]
const OF_THIS_PROCESSOR: Variants = (8, "armv8.0_1", || {
    let dotprod = std::arch::is_aarch64_feature_detected!("dotprod");
    let i8mm = std::arch::is_aarch64_feature_detected!("i8mm");
    vec![("armv8.2_1", dotprod), ("armv8.6_1", dotprod && i8mm)]
});
#[cfg(target_arch = "x86_64")]
const OF_THIS_PROCESSOR: Variants = (14, "x64", || {
    let avx512 = std::arch::is_x86_feature_detected!("avx512f");
    let mut all = vec![("haswell", std::arch::is_x86_feature_detected!("avx2"))];
    // With them, further instructions decide.
    all.extend((!avx512).then_some(("skylakex", false)));
    all
});
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
const OF_THIS_PROCESSOR: Variants = (0, "", Vec::new);

#[test]
fn it_lists_what_it_has() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let library = interop::best_cpu(&dir);
    assert_eq!(library.name(), "CPU");
    assert_eq!(library.interface_version(), 2);
    assert_eq!(library.device_count(), 1);
    assert_eq!(library.notes(), Vec::<String>::new());
    let device = library.device(0).unwrap();
    assert_eq!((device.name(), device.kind()), ("CPU", DeviceKind::Cpu));
    assert!(!device.description().is_empty());
    assert!(device.memory().total > 1 << 28);
    assert!(device.caps().buffer_from_host && !device.caps().asynchronous);
    let ty = device.buffer_type();
    assert!(ty.is_host() && ty.alignment() == 32 && ty.name() == "CPU", "{}", ty.name());
    let basic = if cfg!(target_arch = "aarch64") { "NEON" } else { "SSE3" };
    assert!(library.features().iter().any(|(n, v)| n == basic && v == "1"));
    assert!(device.supports_buffer_type(ty));
    let extra = device.extra_buffer_type(0).expect("re-ordered weights");
    assert!(extra.is_repacked() && device.supports_buffer_type(extra));
    assert_eq!(extra.device().unwrap().name(), "CPU");
    // The same file again is the same backend.
    let again = Candidate::open(library.path()).unwrap().init().unwrap();
    assert!(core::ptr::eq(library, again));
}

/// Weights in memory that stores them in another order.
#[test]
fn re_ordered_weights() {
    use dinrail_core::hal::{Buffer, Span};
    use dinrail_core::plan::{Options, PlanBuf};
    use dinrail_core::program::{Binding, Program};
    use dinrail_core::tensor::{DType, Desc};
    use dinrail_core::{Error, graph::GraphBuf};
    let Some(dir) = interop::package("cpu-v2") else { return };
    let device = interop::best_cpu(&dir).device(0).unwrap();
    let Some(extra) = device.extra_buffer_type(0) else { return };
    let (k, n) = (256, 64);
    let mut buf = GraphBuf::<4>::new();
    let mut b = buf.builder();
    let w = b.weight(DType::Q4_0, [k, n, 1, 1], 1, 0);
    let x = b.input(DType::F32, [k, 1, 1, 1]);
    let y = b.mul_mat(w, x);
    b.output(y);
    b.finish().unwrap();
    let plan = PlanBuf::<4>::new(buf.graph(), &Options::DEFAULT).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    // Blocks of a small scale and any digits.
    let mut bytes = vec![0u8; k * n / 32 * 18];
    for (i, block) in bytes.chunks_mut(18).enumerate() {
        block[..2].copy_from_slice(&0x2000u16.to_le_bytes());
        block[2..].iter_mut().enumerate().for_each(|(j, q)| *q = (i * 31 + j * 17) as u8);
    }
    let d = Desc::d2(DType::Q4_0, k, n).unwrap();
    let at = Span { desc: &d, offset: 0 };
    let stream = common::stream(device);
    let mut results = Vec::new();
    for ty in [device.buffer_type(), extra] {
        let weights = Buffer::new(ty, ty.alloc_size(&d)).unwrap();
        weights.set_usage(dinrail_core::hal::Usage::Weights);
        weights.init(at).unwrap();
        weights.set(at, 0, &bytes).unwrap();
        let bindings = [Binding::new(&arena), Binding::new(&weights)];
        let program = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
        program.set_f32(x, &common::noise(k, 8)).unwrap();
        stream.compute(&program).unwrap();
        let mut out = vec![0.0; n];
        program.get_f32(y, &mut out).unwrap();
        results.push(out);
        if ty.is_repacked() {
            // What would stop the process there is an error here: a part, a type without a rule, reading back.
            assert!(matches!(weights.set(at, 18, &bytes[18..36]), Err(Error::Range { .. })));
            assert!(matches!(weights.write(0, &[0; 64]), Err(Error::Invalid { .. })));
            assert!(matches!(
                weights.get(at, 0, &mut bytes.clone()),
                Err(Error::NotOffered { .. })
            ));
        }
    }
    common::close(&results[1], &results[0], 1e-2);
    assert!(results[0].iter().any(|x| x.abs() > 1e-3));
}

/// What the library says goes to our sink, and nothing to the console.
#[test]
fn messages_come_to_us() {
    static HEARD: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());
    let Some(dir) = interop::package("cpu-v2") else { return };
    dinrail_ggml::set_log(|_, text| HEARD.lock().unwrap().push(text.to_owned()));
    let device = interop::best_cpu(&dir).device(0).unwrap();
    // More memory than there is: the library complains.
    let e = dinrail_core::hal::Buffer::new(device.buffer_type(), 1 << 60).unwrap_err();
    assert!(matches!(e, dinrail_core::Error::OutOfMemory { .. }), "{e}");
    let heard = HEARD.lock().unwrap();
    assert!(heard.iter().any(|t| t.contains("alloc")), "{heard:?}");
}

/// Neither loading, good and bad, nor computing writes a byte to the console: a child process does it all, and what it
/// writes is counted.
#[test]
fn silent_by_default() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    const CHILD: &str = "DINRAIL_SILENT_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let device = interop::best_cpu(&dir).device(0).unwrap();
        common::elementwise(device);
        let e = dinrail_core::hal::Buffer::new(device.buffer_type(), 1 << 60);
        assert!(e.is_err());
        assert!(Candidate::open(&dir.join("LICENSE")).is_err());
        assert!(Candidate::open(&dir.join("libllama-common.so")).is_err());
        std::process::exit(77);
    }
    let this = std::env::current_exe().unwrap();
    // In an emulator of programs, only this one was started by it.
    if !std::process::Command::new(&this).arg("--list").output().is_ok_and(|o| o.status.success()) {
        return println!("skipped: {} can't be started by another program", this.display());
    }
    let child = std::process::Command::new(this)
        .args(["--exact", "silent_by_default", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    assert_eq!(child.status.code(), Some(77), "{child:?}");
    assert!(child.stderr.is_empty(), "{}", String::from_utf8_lossy(&child.stderr));
    // What the test runner itself says first.
    let said = String::from_utf8_lossy(&child.stdout).replace("running 1 test", "");
    let said = said.replace("test silent_by_default ... ", "");
    assert!(said.trim().is_empty(), "{said}");
}

#[test]
fn it_computes() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    common::elementwise(interop::best_cpu(&dir).device(0).unwrap());
    common::matrices(interop::best_cpu(&dir).device(0).unwrap());
    common::attention(interop::best_cpu(&dir).device(0).unwrap());
    common::lent_memory(interop::best_cpu(&dir).device(0).unwrap());
}
