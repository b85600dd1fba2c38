//! Plug-ins that are wrong in every way that was ever reported, compiled here.

use dinrail_core::Error;
use dinrail_core::hal::{Backend, Buffer, Params, Span};
use dinrail_core::tensor::{DType, Desc};
use dinrail_ggml::{Candidate, LoadError, Stage};
use dinrail_interop as interop;
use std::path::{Path, PathBuf};

const HEADER: &str = include_str!("support/plugin.h");

/// A good plug-in but for what `body` replaces: it defines `COUNT`, `GET(i)` and `ENTRY` as it likes.
fn plugin(name: &str, defines: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = format!(
        r#"{HEADER}
{defines}
#ifndef COUNT
#define COUNT 2
#endif
static device devices[] = {{DEVICE("one"), DEVICE("two")}};
#ifndef GET
#define GET(i) (&devices[i])
#endif
#ifndef NAME
#define NAME "TEST"
#endif
static const char *reg_name(reg *r) {{ (void)r; return NAME; }}
static size_t count(reg *r) {{ (void)r; return COUNT; }}
static device *get(reg *r, size_t i) {{ (void)r, (void)i; return GET(i); }}
#ifndef PROC
#define PROC NULL
#endif
static reg it = {{VERSION, reg_name, count, get, PROC, NULL}};
#ifndef ENTRY
#define ENTRY &it
#endif
#ifndef NO_INIT
reg *PREFIX(ggml_backend_init)(void) {{ return ENTRY; }}
#endif
#ifdef SCORE
int PREFIX(ggml_backend_score)(void) {{ return SCORE; }}
#endif
"#
    );
    let mut all = vec!["-DPREFIX(x)=x"];
    if flags.iter().any(|f| f.starts_with("-DPREFIX")) {
        all.clear();
    }
    all.extend(["-Wno-unused-function", "-Wno-unused-variable"]);
    all.extend(flags);
    interop::compile(name, &source, &all)
}

fn fails(path: &Path) -> LoadError {
    let e = Candidate::open(path).and_then(Candidate::init).unwrap_err();
    assert_eq!(e.path(), path);
    e
}

#[test]
fn a_good_one_loads() {
    let Some(file) = plugin("good", "#define SCORE 7", &[]) else { return };
    let c = Candidate::open(&file).unwrap();
    assert_eq!(c.score().unwrap(), Some(7));
    let library = c.init().unwrap();
    assert_eq!((library.name(), library.device_count()), ("TEST", 2));
    let names: Vec<_> = (0..2).map(|i| library.device(i).unwrap().name()).collect();
    assert_eq!(names, ["one", "two"]);
    let device = library.device(0).unwrap();
    // What is optional and left out has an answer.
    assert_eq!(device.memory(), Default::default());
    assert_eq!(device.caps(), Default::default());
    assert!(device.host_buffer_type().is_none() && device.extra_buffer_type(0).is_none());
    assert!(matches!(device.event_new(), Err(Error::NotOffered { .. })));
    assert!(matches!(
        device.buffer_from_host(&[0; 64], 64),
        Err(Error::NotOffered { .. } | Error::Misaligned { .. })
    ));
    assert!(library.proc("anything").is_none());
    assert!(library.device(2).is_none());
    // Its memory works although it fills, copies and prepares nothing itself.
    let buffer = Buffer::new(device.buffer_type(), 256).unwrap();
    assert!(buffer.host().is_none());
    buffer.clear(3).unwrap();
    buffer.write(10, &[1, 2, 3]).unwrap();
    let mut back = [0; 5];
    buffer.read(9, &mut back).unwrap();
    assert_eq!(back, [3, 1, 2, 3, 3]);
    // A stream that can't be had.
    let e = device.open(&Params::default()).unwrap_err();
    assert_eq!(e, Error::Device { call: "init_backend", code: -1 });
    assert!(matches!(
        device.open(&Params { threads: Some(0), text: None }),
        Err(Error::Invalid { .. })
    ));
    // In use, then not.
    let e = library.unload().unwrap_err();
    assert_eq!(e.cause(), Some(Error::InUse { streams: 0, buffers: 1, events: 0 }));
    drop(buffer);
    dinrail_ggml::unload(library).unwrap();
    assert!(!library.is_loaded());
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    assert!(!maps.contains("libgood.so"), "it is still mapped");
    // Old handles answer.
    assert_eq!(device.open(&Params::default()).unwrap_err(), Error::Stale);
    assert_eq!(Buffer::new(device.buffer_type(), 8).unwrap_err(), Error::Stale);
    assert_eq!((device.name(), device.memory()), ("one", Default::default()));
    assert_eq!(library.unload().unwrap_err().cause(), Some(Error::Stale));
    // And work again once the file is loaded again.
    let again = Candidate::open(&file).unwrap().init().unwrap();
    assert!(core::ptr::eq(library, again));
    assert!(Buffer::new(device.buffer_type(), 8).is_ok());
}

#[test]
fn files_that_are_no_libraries() {
    let dir = std::env::temp_dir().join(format!("dinrail-nolib-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("folder.so")).unwrap();
    std::fs::write(dir.join("empty.so"), []).unwrap();
    std::fs::write(dir.join("text.so"), "no library at all\n").unwrap();
    let elf32 = [b"\x7fELF\x01\x01\x01".as_slice(), &[0; 60]].concat();
    std::fs::write(dir.join("narrow.so"), elf32).unwrap();
    for name in ["folder.so", "empty.so", "text.so", "narrow.so", "missing.so"] {
        let e = fails(&dir.join(name));
        assert_eq!(e.stage(), Stage::Open, "{e}");
        assert!(!e.reason().is_empty());
    }
    assert_eq!(Candidate::open(Path::new("text.so")).unwrap_err().stage(), Stage::Open);
    #[cfg(unix)]
    {
        // Waiting for a writer would be for ever.
        let fifo = dir.join("fifo.so");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        if made.is_ok_and(|s| s.success()) {
            assert_eq!(fails(&fifo).stage(), Stage::Open);
        }
        use std::os::unix::ffi::OsStrExt;
        let odd = dir.join(std::ffi::OsStr::from_bytes(b"\xff\xfe.so"));
        std::fs::write(&odd, "x").unwrap();
        assert!(!fails(&odd).to_string().is_empty());
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn libraries_that_are_no_plugins() {
    let Some(file) = plugin("noentry", "#define NO_INIT", &[]) else { return };
    assert_eq!(fails(&file).stage(), Stage::Symbol);
    // A symbol that nobody has, and a library that is not there: the system's own words.
    let file = interop::compile(
        "unresolved",
        "int nobody(void); int ggml_backend_init(void) { return nobody(); }",
        &[],
    );
    let e = fails(&file.unwrap());
    assert_eq!(e.stage(), Stage::Open);
    assert!(e.reason().contains("nobody"), "{e}");
}

#[test]
fn entry_points_that_give_nothing() {
    let Some(file) = plugin("null", "#define ENTRY NULL", &[]) else { return };
    assert_eq!(fails(&file).stage(), Stage::Init);
    let file = plugin("odd", "#define ENTRY (reg *)((char *)&it + 1)", &[]).unwrap();
    assert_eq!(fails(&file).stage(), Stage::Init);
}

#[test]
fn versions_that_nobody_understands() {
    for version in ["0", "3", "-1", "2147483647"] {
        // Everything behind the version would crash if it was used.
        let trap = "static device *trap(void) { abort(); }\n#define COUNT (trap(), 1)\n#define NAME (trap(), \"\")";
        let name = format!("version{}", version.trim_start_matches('-'));
        let define = format!("-DVERSION={version}");
        let Some(file) = plugin(&name, trap, &[&define]) else { return };
        let e = fails(&file);
        assert_eq!(e.stage(), Stage::Version, "{e}");
    }
    let old = plugin("old", "", &["-DVERSION=1"]).unwrap();
    let library = Candidate::open(&old).unwrap().init().unwrap();
    assert_eq!(library.interface_version(), 1);
    let buffer = Buffer::new(library.device(0).unwrap().buffer_type(), 64).unwrap();
    buffer.write(0, &[9]).unwrap();
}

#[test]
fn other_names_of_the_entry_points() {
    let Some(file) = plugin("prefixed", "#define SCORE 4", &["-DPREFIX(x)=lm_##x"]) else { return };
    let c = Candidate::open(&file).unwrap();
    assert_eq!(c.score().unwrap(), Some(4));
    assert_eq!(c.init().unwrap().device_count(), 2);
    // The names of functions are prefixed in such builds as well.
    let proc = "static void *proc(reg *r, const char *n) {\n\
                    return strcmp(n, \"lm_ggml_backend_thing\") ? NULL : (void *)r;\n\
                }\n#define PROC proc";
    let file = plugin("prefixedproc", proc, &["-DPREFIX(x)=lm_##x"]).unwrap();
    let library = Candidate::open(&file).unwrap().init().unwrap();
    assert!(library.proc("ggml_backend_thing").is_some());
    assert!(library.proc("ggml_backend_other").is_none());
}

#[test]
fn scores() {
    let Some(file) = plugin("noscore", "", &[]) else { return };
    assert_eq!(Candidate::open(&file).unwrap().score().unwrap(), None);
    let file = plugin("unfit", "#define SCORE 0", &[]).unwrap();
    assert_eq!(Candidate::open(&file).unwrap().score().unwrap(), Some(0));
    let file = plugin("negative", "#define SCORE -3", &[]).unwrap();
    assert_eq!(Candidate::open(&file).unwrap().score().unwrap_err().stage(), Stage::Score);
}

#[test]
fn devices_that_are_not_there() {
    let Some(file) = plugin("half", "#define GET(i) (i == 0 ? NULL : &devices[i])", &[]) else {
        return;
    };
    let library = Candidate::open(&file).unwrap().init().unwrap();
    assert_eq!(library.device_count(), 1);
    assert_eq!(library.device(0).unwrap().name(), "two");
    assert!(library.notes()[0].contains("device 0 of 2"), "{:?}", library.notes());

    let file = plugin("none", "#define GET(i) NULL\n#define COUNT 3", &[]).unwrap();
    let library = Candidate::open(&file).unwrap().init().unwrap();
    assert_eq!(library.device_count(), 0);
    assert!(library.device(0).is_none());

    let file = plugin("twice", "#define GET(i) &devices[0]", &[]).unwrap();
    assert_eq!(Candidate::open(&file).unwrap().init().unwrap().device_count(), 1);

    let file = plugin("many", "#define COUNT SIZE_MAX", &[]).unwrap();
    assert_eq!(fails(&file).stage(), Stage::Devices);

    let file = plugin("anonymous", "#define NAME NULL", &[]).unwrap();
    assert_eq!(fails(&file).stage(), Stage::Devices);

    // Functions that no device can do without.
    for field in ["supports_op", "get_type", "init_backend", "get_buffer_type", "get_name"] {
        let get = format!("#define GET(i) (devices[0].{field} = NULL, &devices[i])");
        let file = plugin(&format!("without-{field}"), &get, &[]).unwrap();
        let library = Candidate::open(&file).unwrap().init().unwrap();
        assert_eq!(library.device_count(), 1, "{field}");
    }
}

#[test]
fn memory_that_is_not_there() {
    let get = "#define GET(i) (memory.alloc_buffer = no_buffer, &devices[i])";
    let Some(file) = plugin("nomemory", get, &[]) else { return };
    let library = Candidate::open(&file).unwrap().init().unwrap();
    let ty = library.device(0).unwrap().buffer_type();
    let e = Buffer::new(ty, 64).unwrap_err();
    assert_eq!(e, Error::OutOfMemory { requested: 64, available: usize::MAX });
    assert_eq!(Buffer::new(ty, 0).unwrap().size(), 0);

    let get =
        "#define GET(i) (memory.alloc_buffer = NULL, memory.get_alignment = NULL, &devices[i])";
    let file = plugin("noalloc", get, &[]).unwrap();
    let library = Candidate::open(&file).unwrap().init().unwrap();
    let e = Buffer::new(library.device(0).unwrap().buffer_type(), 64).unwrap_err();
    assert_eq!(e, Error::NotOffered { function: "alloc_buffer" });

    let get = "static buft *nothing(device *d) { (void)d; return NULL; }\n\
               #define GET(i) (devices[i].get_buffer_type = nothing, &devices[i])";
    let file = plugin("notype", get, &[]).unwrap();
    let library = Candidate::open(&file).unwrap().init().unwrap();
    assert!(Buffer::new(library.device(0).unwrap().buffer_type(), 64).is_err());
    library.unload().unwrap();
}

/// Functions of a base library, in the plug-in itself. Each can be left out or made wrong.
const BASE: &str = r#"
typedef struct {
    int type; void *buffer; int64_t ne[4]; size_t nb[4]; int op, op_params[16], flags;
    void *src[10], *view_src; size_t view_offs; void *data; char name[64]; void *extra; char padding[8];
} tensor;
#ifndef OVERHEAD
#define OVERHEAD (sizeof(tensor) + 32)
#endif
#ifndef CONTEXT
#define CONTEXT &made
#endif
#ifndef TENSOR
#define TENSOR &made
#endif
static tensor made;
const char *ggml_op_name(int i) { return i ? NULL : "NONE"; }
const char *ggml_unary_op_name(int i) { (void)i; return NULL; }
const char *ggml_type_name(int i) { return i ? NULL : "f32"; }
int64_t ggml_blck_size(int i) { (void)i; return 1; }
size_t ggml_type_size(int i) { (void)i; return 4; }
void *ggml_init(size_t n, void *p, bool no) { (void)n, (void)p, (void)no; return CONTEXT; }
void ggml_free(void *c) { (void)c; }
void *ggml_new_tensor_4d(void *c, int type, int64_t a, int64_t b, int64_t d, int64_t e) {
    (void)c;
    tensor t = {.type = type, .ne = {a, b, d, e}, .nb = {4, 4 * a, 4 * a * b, 4 * a * b * d}};
    made = t;
#ifdef BREAK
    BREAK;
#endif
    return TENSOR;
}
void *ggml_new_graph_custom(void *c, size_t n, bool g) { (void)c, (void)n, (void)g; return NULL; }
size_t ggml_graph_overhead_custom(size_t n, bool g) { (void)n, (void)g; return 64; }
#ifndef MISSING
size_t ggml_tensor_overhead(void) { return OVERHEAD; }
#endif
void ggml_build_forward_expand(void *g, void *t) { (void)g, (void)t; }
void ggml_backend_buffer_free(buffer *b) { b->free_buffer(b); }
"#;

#[test]
fn base_libraries_that_are_none() {
    let Some(file) = plugin("base-good", BASE, &[]) else { return };
    let library = Candidate::open(&file).unwrap().init().unwrap();
    assert_eq!(library.notes(), Vec::<String>::new());
    // What the base library has no number for can't be asked for.
    let buffer = Buffer::new(library.device(0).unwrap().buffer_type(), 64).unwrap();
    let [floats, bytes] = [DType::F32, DType::I8].map(|t| Desc::d1(t, 4).unwrap());
    buffer.set(Span { desc: &floats, offset: 0 }, 0, &[9; 16]).unwrap();
    let e = buffer.set(Span { desc: &bytes, offset: 0 }, 0, &[9; 4]).unwrap_err();
    assert_eq!(e, Error::Invalid { what: "element type", value: DType::I8 as i64 });
    drop(buffer);
    library.unload().unwrap();
    for (name, define, words) in [
        ("missing", "#define MISSING", "no `ggml_tensor_overhead`"),
        ("small", "#define OVERHEAD 8", "take 8 bytes"),
        ("huge", "#define OVERHEAD SIZE_MAX", "a layout that is not known"),
        ("nocontext", "#define CONTEXT NULL", "ggml_init gave nothing"),
        ("notensor", "#define TENSOR NULL", "elsewhere"),
        ("moved", "#define BREAK made.ne[0] = made.ne[1]", "elsewhere"),
        ("strides", "#define BREAK made.nb[0] = 2", "elsewhere"),
    ] {
        let file = plugin(&format!("base-{name}"), &format!("{define}\n{BASE}"), &[]).unwrap();
        let e = fails(&file);
        assert_eq!(e.stage(), Stage::Base, "{name}: {e}");
        assert!(e.reason().contains(words), "{name}: {e}");
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        assert!(!maps.contains(&format!("libbase-{name}.so")), "{name} is still mapped");
    }
}

/// Memory that is less than was asked for, nowhere, or of an alignment that can't be.
#[test]
fn memory_that_is_something_else() {
    let load = |name: &str, get: &str| {
        let file = plugin(name, &format!("{get}\n#define GET(i) (change(), &devices[i])"), &[])?;
        Some(Candidate::open(&file).unwrap().init().unwrap().device(0).unwrap().buffer_type())
    };
    let less = "static buffer *less(buft *t, size_t n) { return new_buffer(t, n / 2); }\n\
                static void change(void) { memory.alloc_buffer = less; }";
    let Some(ty) = load("less", less) else { return };
    let e = Buffer::new(ty, 64).unwrap_err();
    assert_eq!(e, Error::OutOfMemory { requested: 64, available: 32 });
    let nowhere = "static void *none(buffer *b) { (void)b; return NULL; }\n\
                   static buffer *at(buft *t, size_t n) { buffer *b = new_buffer(t, n); b->get_base = none; return b; }\n\
                   static void change(void) { memory.alloc_buffer = at; }";
    let e = Buffer::new(load("nowhere", nowhere).unwrap(), 64).unwrap_err();
    assert_eq!(e, Error::Device { call: "get_base", code: -1 });
    let without = nowhere.replace("= none;", "= NULL;");
    let e = Buffer::new(load("without-base", &without).unwrap(), 64).unwrap_err();
    assert_eq!(e, Error::NotOffered { function: "get_base" });
    for (name, n) in [("align0", "0"), ("align3", "3"), ("alignmax", "SIZE_MAX")] {
        let get = format!(
            "static size_t odd(buft *t) {{ (void)t; return {n}; }}\n\
             static void change(void) {{ memory.get_alignment = odd; }}"
        );
        let ty = load(name, &get).unwrap();
        assert!(ty.alignment().is_power_of_two() && ty.alignment() <= 64, "{}", ty.alignment());
        Buffer::new(ty, 64).unwrap().write(63, &[1]).unwrap();
    }
    let none = "static size_t none(buft *t) { (void)t; return 0; }\n\
                static void change(void) { memory.get_max_size = none; memory.get_name = NULL; }";
    let ty = load("max0", none).unwrap();
    assert!(Buffer::new(ty, 64).is_err() && !ty.name().is_empty());
}
