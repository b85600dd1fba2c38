//! The program as a user meets it.

use dinrail::tensor::DType;
use dinrail_gguf::{File, Value, Writer};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn models() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/models")
}

fn stories() -> PathBuf {
    models().join("stories260K-Q8_0.gguf")
}

fn dinrail() -> Command {
    Command::new(env!("CARGO_BIN_EXE_dinrail"))
}

fn output(args: &[&str]) -> Output {
    dinrail().args(args).stdin(Stdio::null()).output().unwrap()
}

/// Standard output of a command that must succeed.
fn good(args: &[&str]) -> String {
    let o = output(args);
    let errors = String::from_utf8_lossy(&o.stderr);
    assert!(o.status.success(), "{args:?}: {errors}");
    String::from_utf8(o.stdout).unwrap()
}

/// A command must end with this code and one line on standard error that has all these words; nothing on standard
/// output.
fn bad(code: i32, args: &[&str], words: &[&str]) {
    let o = output(args);
    let line = String::from_utf8(o.stderr).unwrap();
    assert_eq!(o.status.code(), Some(code), "{args:?}: {line}");
    assert!(line.starts_with("error: ") && line.lines().count() == 1, "{args:?}: {line}");
    assert!(!line.contains("panicked") && !line.contains('\u{1b}'), "{line}");
    assert!(o.stdout.is_empty(), "{args:?}");
    for word in words {
        assert!(line.contains(word), "{args:?}: {word:?} is not in {line:?}");
    }
}

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dinrail-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn without_arguments_it_shows_devices_and_tells_a_story() {
    let text = good(&[]);
    assert!(text.starts_with("backend"), "{text}");
    for word in ["CPU", "Once upon a time", "prompt: 5 tokens", "generation:", "tokens per second"]
    {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
    assert!(!text.contains('\u{1b}'), "colours only on a terminal");
}

#[test]
fn greedy_continuations_are_the_peers() {
    let model = stories();
    let args = ["run", "-m", model.to_str().unwrap(), "--temp", "0", "-n", "64", "--quiet"];
    let text = good(&[&args[..], &["-p", "Once upon a time", "--threads", "1"]].concat());
    assert_eq!(text.trim_start_matches(','), &text[1..]);
    assert!(
        text.starts_with(", there was a little girl named Lily. She loved to play outside"),
        "{text}"
    );
    let two = good(&[&args[..], &["-p", "Once upon a time", "--threads", "2"]].concat());
    assert_eq!(text, two);
    // The same seed tells the same story; quiet means not a word more.
    let told = |seed| {
        let model = stories();
        let args = ["run", "-m", model.to_str().unwrap(), "-n", "40", "--seed", seed, "-q"];
        let o = output(&args);
        assert!(o.status.success() && o.stderr.is_empty());
        o.stdout
    };
    assert_eq!(told("1"), told("1"));
    assert_ne!(told("1"), told("2"));
}

#[test]
fn a_full_context_ends_the_story_and_says_so() {
    let model = stories();
    let o =
        output(&["run", "-m", model.to_str().unwrap(), "-n", "50", "--ctx", "20", "--temp", "0"]);
    assert!(o.status.success());
    let notes = String::from_utf8(o.stderr).unwrap();
    assert!(notes.contains("all 20 positions are in use"), "{notes}");
}

#[test]
fn devices_are_listed() {
    assert!(good(&["devices"]).contains("Reference"));
    let json: serde_json::Value = serde_json::from_str(&good(&["devices", "--json"])).unwrap();
    let first = &json[0];
    for key in ["backend", "device", "kind", "description", "memory_total", "level", "caps"] {
        assert!(!first[key].is_null(), "{key}");
    }
}

#[test]
fn inspect_shows_everything() {
    let model = stories();
    let text = good(&["inspect", model.to_str().unwrap()]);
    for word in [
        "llama.block_count",
        "blk.4.ffn_down.weight",
        "172 × 64",
        "q8_0",
        "runs",
        "cache 320.0 KiB",
    ] {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
    let json = good(&["inspect", "--json", model.to_str().unwrap()]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["metadata"]["llama.embedding_length"], 64);
    assert_eq!(json["tensors"].as_array().unwrap().len(), 47);
    assert_eq!(json["types"]["q8_0"]["tensors"], 31);
    assert!(json["devices"].as_array().unwrap().iter().any(|d| d["runs"] == true));
    // What can't be run can still be looked at.
    let folder = Folder::new("inspect");
    let other = folder.file(
        "other.gguf",
        &change(|w, key, value| {
            w.value(key, if key == "general.architecture" { "gpt-j".into() } else { value });
        }),
    );
    let text = good(&["inspect", &other]);
    assert!(text.contains("does not run: architecture \"gpt-j\""), "{text}");
    let big = good(&["inspect", model.to_str().unwrap(), "--ctx", "9000000"]);
    assert!(big.contains("does not fit") || big.contains("runs"), "{big}");
}

#[test]
fn bench_measures() {
    let model = stories();
    let args = ["bench", "-m", model.to_str().unwrap(), "-p", "8", "-n", "4", "-r", "2", "-t", "1"];
    let text = good(&args);
    assert!(text.contains("pp8") && text.contains("tg4"), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&good(&[&args[..], &["--json"]].concat())).unwrap();
    let names: Vec<&str> =
        json.as_array().unwrap().iter().map(|row| row["test"].as_str().unwrap()).collect();
    assert_eq!(names, ["pp8", "tg4"]);
    for row in json.as_array().unwrap() {
        assert!(row["avg_ts"].as_f64().unwrap() > 0.0);
        assert!(row["stddev_ts"].as_f64().unwrap() >= 0.0);
        assert_eq!(row["n_threads"], 1);
        assert_eq!(row["samples_ts"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn plans_are_shown_and_drawn() {
    let folder = Folder::new("plan");
    let svg = folder.0.join("plan.svg");
    let ad01 = models().join("ad01-f32.gguf");
    let text = good(&["plan", ad01.to_str().unwrap(), "--svg", svg.to_str().unwrap()]);
    assert!(text.contains("50 nodes"), "{text}");
    assert!(text.contains("peak 3072 bytes, lower bound 3072 bytes"), "{text}");
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
    assert_eq!(picture.matches("<title>node").count(), 30, "one box for each tensor in the arena");
    let model = stories();
    let text = good(&["plan", model.to_str().unwrap(), "--ctx", "64", "--batch", "16"]);
    assert!(text.contains("FLASH_ATTN_EXT") && text.contains("lower bound"), "{text}");
    // A picture that can't be written leaves nothing behind.
    let nowhere = folder.0.join("missing").join("plan.svg");
    bad(1, &["plan", ad01.to_str().unwrap(), "--svg", nowhere.to_str().unwrap()], &["plan.svg"]);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
}

/// The story teller with each key passed through `f`.
fn change(f: impl Fn(&mut Writer<'_>, &str, Value<'_>)) -> Vec<u8> {
    change_tensors(f, |_| false, &[])
}

fn change_tensors(
    f: impl Fn(&mut Writer<'_>, &str, Value<'_>),
    gone: impl Fn(&str) -> bool,
    new: &[(&str, DType, [u64; 2], Vec<u8>)],
) -> Vec<u8> {
    let bytes = std::fs::read(stories()).unwrap();
    let file = File::parse(&bytes).unwrap();
    let mut w = Writer::new();
    for (key, value) in file.metadata() {
        f(&mut w, key, value);
    }
    for t in file.tensors().filter(|t| !gone(t.name)) {
        w.tensor(t.name, t.dtype, &t.ne[..t.n_dims as usize], t.bytes()).unwrap();
    }
    for (name, dtype, ne, bytes) in new {
        w.tensor(name, *dtype, ne, bytes).unwrap();
    }
    w.to_vec().unwrap()
}

fn same(w: &mut Writer<'_>, key: &str, value: Value<'_>) {
    w.value(key, value);
}

#[test]
fn bad_files_are_refused_in_one_line() {
    let folder = Folder::new("bad");
    let run = |file: &str, words: &[&str]| {
        let name = Path::new(file).file_name().unwrap().to_str().unwrap();
        bad(1, &["run", "-m", file], &[words, &[name]].concat());
        bad(1, &["bench", "-m", file], words);
        bad(1, &["plan", file], words);
    };
    run("/nowhere/model.gguf", &["can't open"]);
    run(&folder.file("empty.gguf", b""), &["too short"]);
    run(&folder.file("text.gguf", b"Once upon a time there was a file"), &["not a GGUF file"]);
    bad(1, &["run", "-m", folder.0.to_str().unwrap()], &["directory"]);
    let whole = std::fs::read(stories()).unwrap();
    run(
        &folder.file("cut.gguf", &whole[..whole.len() - 40]),
        &["cut short", "blk.4.ffn_up.weight"],
    );
    run(&folder.file("header.gguf", &whole[..1000]), &["976 bytes", "damaged file"]);

    let gone = |name: &'static str| move |n: &str| n == name;
    let missing = change_tensors(same, gone("blk.3.attn_v.weight"), &[]);
    run(&folder.file("missing.gguf", &missing), &["blk.3.attn_v.weight", "missing"]);
    let shape = [("blk.3.attn_v.weight", DType::F32, [64, 64], vec![0; 16384])];
    let shape = change_tensors(same, gone("blk.3.attn_v.weight"), &shape);
    run(&folder.file("shape.gguf", &shape), &["blk.3.attn_v.weight", "[64, 64]", "[64, 32]"]);
    let dtype = [("blk.3.attn_v.weight", DType::I8, [64, 32], vec![0; 2048])];
    let dtype = change_tensors(same, gone("blk.3.attn_v.weight"), &dtype);
    run(&folder.file("type.gguf", &dtype), &["blk.3.attn_v.weight", "i8"]);
    let arch = change(|w, key, value| {
        w.value(key, if key == "general.architecture" { "mamba\u{1b}[2J".into() } else { value });
    });
    run(&folder.file("arch.gguf", &arch), &["architecture \"mamba", "llama"]);
    let tokens = change(|w, key, value| {
        if key != "tokenizer.ggml.model" {
            w.value(key, value);
        }
    });
    bad(1, &["run", "-m", &folder.file("tokens.gguf", &tokens)], &["tokenizer.ggml.model"]);
    let layers = change(|w, key, value| {
        w.value(key, if key == "llama.block_count" { Value::U32(16_777_215) } else { value });
    });
    run(&folder.file("layers.gguf", &layers), &["llama.block_count", "16777215"]);
    let vocabulary = change_tensors(
        |w, key, value| {
            w.value(key, if key == "llama.vocab_size" { Value::U32(500) } else { value });
        },
        gone("token_embd.weight"),
        &[("token_embd.weight", DType::F32, [64, 500], vec![0; 128_000])],
    );
    let vocabulary = folder.file("vocabulary.gguf", &vocabulary);
    bad(1, &["run", "-m", &vocabulary], &["512 tokens", "500", "vocabulary.gguf"]);
    let numbers = change_tensors(
        same,
        gone("output_norm.weight"),
        &[("output_norm.weight", DType::F32, [64, 1], vec![0xFF; 256])],
    );
    let numbers = folder.file("numbers.gguf", &numbers);
    bad(1, &["run", "-q", "-p", "a", "-m", &numbers], &["numbers.gguf", "weights are damaged"]);
    // Any damage of the header is an error or a model, never a crash.
    for i in (0..600).step_by(7) {
        let mut damaged = whole.clone();
        damaged[i] ^= 0x55;
        let o = output(&["plan", &folder.file("damaged.gguf", &damaged), "--ctx", "8"]);
        assert!(matches!(o.status.code(), Some(0 | 1)), "byte {i}: {:?}", o.status);
    }
}

#[test]
fn bad_requests_are_refused_in_one_line() {
    let model = stories();
    let model = model.to_str().unwrap();
    let run = |code, args: &[&str], words: &[&str]| {
        bad(code, &[&["run", "-m", model][..], args].concat(), words);
    };
    run(1, &["--device", "CPUU"], &["CPUU", "did you mean CPU?"]);
    run(1, &["--device", "refrence"], &["did you mean Reference?"]);
    run(1, &["--device", "toaster"], &["toaster", "CPU", "Reference"]);
    // Never another device without a word.
    run(1, &["--device", "accel"], &["no ACCEL", "CPU, Reference (CPU)", "--load"]);
    run(1, &["--device", "cuda0"], &["cuda0", "CPU", "--load"]);
    run(1, &["--device", "CPU:level=warp"], &["CPU:level=warp", "level"]);
    run(1, &["--threads", "0"], &["--threads 0", "1 or more"]);
    run(1, &["--threads", "1000000"], &["--threads 1000000", "fewer"]);
    run(1, &["--ctx", "3"], &["5 tokens", "--ctx 3"]);
    run(1, &["--ctx", "0"], &["--ctx 0"]);
    run(1, &["-p", &"word ".repeat(2000)], &["tokens do not fit", "512"]);
    run(2, &["--temp=-1"], &["--temp", "-1", "0 or more"]);
    run(2, &["--temp", "inf"], &["--temp", "inf", "0 or more"]);
    run(2, &["--top-p", "2"], &["--top-p", "0 to 1"]);
    run(2, &["--threads", "-1"], &["--threads", "-1", "whole number"]);
    run(2, &["-n", "-5"], &["-5", "whole number"]);
    run(1, &["-f", "/nowhere/prompt"], &["/nowhere/prompt", "can't read"]);
    run(1, &["--repeat-penalty", "0"], &["repeat_penalty"]);
    run(1, &["--ctx", "99999999999999999"], &["--ctx"]);
    run(1, &["--device", "cpu", "-ngl", "3"], &["--gpu-layers 3", "no device beside CPU"]);
    run(2, &["-ngl", "-3"], &["-3", "whole number", "or all"]);
    run(1, &["--device", "CPU,Reference", "-ts", "1"], &["1 shares for 2 devices"]);
    run(1, &["--device", "CPU,Reference", "-ts", "0,0"], &["all shares are 0"]);
    run(1, &["--device", "CPU,toaster"], &["toaster", "no device"]);
    run(1, &["--device", ","], &["--device", "give a name"]);
    run(1, &["--device", &"cpu,".repeat(300)], &["300 devices are too many", "fewer than 16"]);
    // A device that has threads to choose is not left out because another one hasn't.
    run(1, &["--device", "Reference,CPU", "-t", "1000000"], &["--threads 1000000", "fewer"]);
    run(2, &["--copies", "9"], &["--copies", "1 to 4"]);
    run(2, &["--threads", "many"], &["many"]);
    run(2, &["--frobnicate"], &["--frobnicate"]);
    bad(2, &["run"], &["--model"]);
    bad(2, &["dance"], &["dance"]);
    bad(1, &["bench", "-m", model, "-p", "0", "-n", "0"], &["nothing to measure"]);
    bad(1, &["plan", model, "--batch", "0"], &["--batch"]);
    bad(1, &["inspect", model, "--ctx", "0"], &["--ctx 0", "1 or more"]);
    let most = usize::MAX.to_string();
    run(1, &["--ctx", &most], &["takes less"]);
    bad(1, &["bench", "-m", model, "-p", &most, "-n", "1"], &["smaller -p and -n"]);
    bad(1, &["plan", model, "--ctx", &most], &["smaller --ctx"]);
    assert!(good(&["--help"]).contains("inspect"));
    assert!(good(&["--version"]).starts_with("dinrail "));
}

#[test]
fn a_level_can_be_forced_down_and_nonsense_is_refused() {
    let o = dinrail().arg("devices").env("DINRAIL_CPU_LEVEL", "scalar").output().unwrap();
    assert!(o.status.success() && String::from_utf8_lossy(&o.stdout).contains("scalar"));
    let o = dinrail().arg("devices").env("DINRAIL_CPU_LEVEL", "turbo").output().unwrap();
    assert_eq!(o.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&o.stderr).contains("turbo"));
}

#[test]
fn a_device_is_named_by_its_kind_and_a_prompt_comes_from_a_file() {
    let folder = Folder::new("prompt");
    let file = folder.file("prompt.txt", b"Once upon a time\n");
    let model = stories();
    let args = ["run", "-m", model.to_str().unwrap(), "--temp", "0", "-n", "16", "-q"];
    let told = good(&args);
    assert_eq!(told, good(&[&args[..], &["-f", &file, "--device", "cpu"]].concat()));
    assert_eq!(told, good(&[&args[..], &["-dev", "best", "-t", "1", "-c", "64"]].concat()));
}

#[test]
fn several_devices_tell_the_story_of_one() {
    let model = models().join("stories260K-f32.gguf");
    let args = ["run", "-m", model.to_str().unwrap(), "--temp", "0", "-n", "32", "-q", "-t", "1"];
    let told = good(&args);
    assert!(told.starts_with(", there was a little girl"), "{told}");
    for more in [
        &["--device", "CPU,Reference"][..],
        &["--device", "Reference,CPU", "-ngl", "2", "--apart"],
        &["--device", "Reference,CPU", "-ngl", "all", "--apart", "--copies", "1", "--no-offload"],
        &["--device", "CPU:level=scalar,CPU", "-ts", "1,2", "--apart"],
        &["--device", "Reference,CPU:level=scalar,CPU", "-ts", "1,1,1", "--apart", "--copies", "4"],
        &["--device", "Reference,CPU", "-ngl", "3", "--apart", "-b", "2", "--copies", "3"],
        &["-ngl", "0", "-b", "1"],
    ] {
        let o = output(&[&args[..], more, &["--split"]].concat());
        let shown = String::from_utf8(o.stderr).unwrap();
        assert!(o.status.success(), "{more:?}: {shown}");
        assert_eq!(String::from_utf8(o.stdout).unwrap(), told, "{more:?}");
        assert!(shown.contains("copied in") && shown.contains("arena"), "{shown}");
        if more.contains(&"--apart") {
            assert!(shown.contains(" B from CPU (node:bytes "), "{shown}");
        }
    }
    // Where nothing is split, one device does it all.
    let o = output(&[&args[..], &["--split"]].concat());
    let shown = String::from_utf8(o.stderr).unwrap();
    assert!(shown.contains("0-4 out") && !shown.contains("tensors, "), "{shown}");
    let json = good(&[
        "bench",
        "-m",
        model.to_str().unwrap(),
        "-p",
        "4",
        "-n",
        "2",
        "-r",
        "1",
        "--device",
        "Reference,CPU",
        "-ngl",
        "1",
        "--apart",
        "--json",
    ]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json[0]["device"], &json[0]["n_gpu_layers"]),
        (&"Reference + CPU".into(), &1.into())
    );
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    fn a_picture_that_grows_past_the_limit_leaves_nothing_behind() {
        let folder = Folder::new("limit");
        let svg = folder.0.join("plan.svg");
        let o = Command::new("sh")
            .args([
                "-c",
                "ulimit -f 1; exec \"$0\" plan \"$1\" --svg \"$2\"",
                env!("CARGO_BIN_EXE_dinrail"),
            ])
            .args([stories(), svg])
            .output()
            .unwrap();
        let line = String::from_utf8(o.stderr).unwrap();
        assert_eq!(o.status.code(), Some(1), "{line}");
        assert!(line.contains("plan.svg") && line.contains("can't write"), "{line}");
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        let model = stories();
        let model = model.to_str().unwrap();
        for args in [vec!["inspect", model], vec!["run", "-m", model, "-n", "400"], vec![]] {
            let mut child = dinrail()
                .args(&args)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut first = [0; 16];
            let mut out = child.stdout.take().unwrap();
            out.read_exact(&mut first).unwrap();
            drop(out);
            let o = child.wait_with_output().unwrap();
            let errors = String::from_utf8_lossy(&o.stderr);
            assert_eq!(o.status.code(), Some(0), "{args:?}: {errors}");
            assert!(!errors.contains("error"), "{errors}");
        }
    }

    #[test]
    fn an_interrupt_ends_the_story_cleanly() {
        let model = models().join("stories260K-f32.gguf");
        // The slow device, so that there is something to interrupt.
        let args = ["--device", "Reference", "-n", "500", "--ctx", "512"];
        let mut child = dinrail()
            .args(["run", "-m", model.to_str().unwrap()])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 20];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        let id = libc::pid_t::try_from(child.id()).unwrap();
        // SAFETY: a signal to our own child, which hasn't been waited for.
        assert_eq!(unsafe { libc::kill(id, libc::SIGINT) }, 0);
        let o = child.wait_with_output().unwrap();
        assert_eq!((o.status.code(), o.status.signal()), (Some(130), None));
        let notes = String::from_utf8(o.stderr).unwrap();
        assert!(notes.contains("generation: "), "{notes}");
        assert!(o.stdout.ends_with(b"\n"));
    }

    /// Peak memory of a command, in bytes. The system's account of a finished child counts what its parent held when the
    /// two parted, so this asks about the living one, again and again.
    #[cfg(target_os = "linux")]
    fn peak(mut command: Command) -> u64 {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
            let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
            peak = peak.max(kib.unwrap_or(0) * 1024);
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        assert!(child.wait().unwrap().success());
        assert!(peak > 1 << 20, "it was never seen alive");
        peak
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn running_takes_no_more_memory_than_it_must() {
        let mut files = vec![stories(), models().join("stories260K-f32.gguf")];
        // The large one too, where it has been fetched.
        let cache = std::env::var_os("DINRAIL_CACHE")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/dinrail")));
        let large = cache.map(|c| c.join("models/SmolLM2-135M-Instruct.Q4_1.gguf"));
        match large.filter(|f| f.is_file()) {
            Some(file) => files.push(file),
            None => println!("skipped: SmolLM2 has not been fetched"),
        }
        for file in files {
            let path = file.to_str().unwrap();
            let context = "512";
            let json = good(&["inspect", path, "--json", "--ctx", context]);
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            let device = &json["devices"][0];
            let part = |name: &str| device[name].as_u64().unwrap();
            let mut command = dinrail();
            command.args(["run", "-m", path, "--ctx", context, "-n", "40", "-t", "2"]);
            let peak = peak(command);
            let bound = part("model") + part("cache") + part("arena") + (16 << 20);
            println!("{path}: {peak} of {bound}");
            assert!(peak <= bound, "{path}: {peak} of {bound}");
        }
    }
}
