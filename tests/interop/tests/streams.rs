//! Streams, events and graphs of a plug-in that is compiled here and joined to ggml's own base library: it sees exactly
//! what a real one sees, and fails when it is told to.

mod common;

use common::llama::{CONTEXT, NODES, token};
use dinrail_core::Error;
use dinrail_core::graph::GraphBuf;
use dinrail_core::hal::{Backend, Buffer, DeviceKind, Event, Params, Proc, Span};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;
use dinrail_ggml::{Candidate, Library};
use dinrail_interop as interop;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

const SOURCE: &str = r#"
#ifdef ALONE
// Without the base library: what a plug-in of dinrail's knows by itself.
#include <stdio.h>
static int ggml_graph_n_nodes(void *g) { return ((int *)g)[1]; }
static void *ggml_graph_node(void *g, int i) { return (*(void ***)((char *)g + 16))[i]; }
static const char *ggml_op_name(int i) { static char text[8]; snprintf(text, sizeof text, "%d", i); return text; }
static unsigned release_number(void) { return 25; }
#else
extern int ggml_graph_n_nodes(void *);
extern void *ggml_graph_node(void *, int);
extern const char *ggml_op_name(int);
#endif
// What was asked for, and what is to be answered.
static char said[65536];
static int answer, threads, prepared, copies;
static void say(const char *text) { strncat(said, text, sizeof said - strlen(said) - 1); }
static int op_of(const void *t) { return *(const int *)((const char *)t + 80); }
static int compute(stream *s, void *g) {
    (void)s;
    said[0] = 0;
    for (int i = 0; i < ggml_graph_n_nodes(g); i++) {
        say(ggml_op_name(op_of(ggml_graph_node(g, i))));
        if (*(int *)((char *)ggml_graph_node(g, i) + 148) & 2) say("!");
        say(" ");
    }
    return answer;
}
static int compute_fast(stream *s, void *g) { (void)s, (void)g; return 0; }
static void free_stream(stream *s) { free(s); }
static void set_async(stream *s, void *t, const void *d, size_t o, size_t n) { (void)s; copies++; set_bytes(NULL, t, d, o, n); }
static void on_event(stream *s, void *e) { (void)s; *(int *)((void **)e)[1] += 1; }
static stream *open_stream(device *d, const char *params) {
    if (params && !strcmp(params, "fail")) return NULL;
    static const uint8_t guid[16] = {1, 2, 3};
    stream *s = calloc(1, sizeof *s);
    s->guid = &guid, s->free = free_stream, s->dev = d;
    s->graph_compute = params && !strcmp(params, "fast") ? compute_fast : compute;
    s->set_tensor_async = set_async, s->event_record = on_event, s->event_wait = on_event;
    return s;
}
static int marks;
static void *event_new(device *d) {
    if (marks < 0) return NULL;
    void **e = calloc(2, sizeof *e);
    e[0] = d, e[1] = &marks;
    return e;
}
static void event_free(device *d, void *e) { (void)d; free(e); }
static void event_sync(device *d, void *e) { (void)d, (void)e; }
static int init_tensor(buffer *b, void *t) { (void)b, (void)t; prepared++; return answer == -7 ? -1 : 0; }
static buffer *counted(buft *t, size_t size) {
    buffer *b = new_buffer(t, size);
    b->init_tensor = (void *)init_tensor;
    // The base library frees the structure with C++'s operator, which is `free` here; what it holds is ours.
    b->free_buffer = NULL;
    return b;
}
static bool can(device *d, const void *t) { (void)d; return strcmp(ggml_op_name(op_of(t)), "SIN") != 0; }
static bool its(device *d, buft *b) { (void)d; return b == &memory; }
static void props(device *d, void *p) {
    (void)d;
    *(const char **)((char *)p + 40) = "0000:c1:00.0";
    memcpy((char *)p + 48, "\1\0\0\1", 4);
}
static void set_threads(stream *s, int n) { (void)s; threads = n; }
static void *proc(reg *r, const char *name) {
    (void)r;
    if (!strcmp(name, "ggml_backend_set_n_threads")) return (void *)set_threads;
    if (!strcmp(name, "said")) return said;
#ifdef ALONE
    if (!strcmp(name, "dinrail_ggml_release")) return (void *)release_number;
#endif
    if (!strcmp(name, "answer")) return &answer;
    if (!strcmp(name, "threads")) return &threads;
    if (!strcmp(name, "prepared")) return &prepared;
    if (!strcmp(name, "copies")) return &copies;
    if (!strcmp(name, "marks")) return &marks;
    return NULL;
}
static device gpu = DEVICE("Pretend0");
static const char *reg_name(reg *r) { (void)r; return "Pretend"; }
static size_t count(reg *r) { (void)r; return 1; }
static device *get(reg *r, size_t i) { (void)r, (void)i; return &gpu; }
static reg it = {VERSION, reg_name, count, get, proc, NULL};
reg *ggml_backend_init(void) {
    memory.alloc_buffer = counted;
    gpu.init_backend = open_stream, gpu.supports_op = can, gpu.supports_buft = its, gpu.get_props = props;
    gpu.event_new = (void *)event_new, gpu.event_free = (void *)event_free, gpu.event_synchronize = (void *)event_sync;
    gpu.owner = &it;
    return &it;
}
"#;

/// The plug-in, one test at a time.
fn pretend() -> Option<(&'static Library, MutexGuard<'static, ()>)> {
    static ONE: Mutex<()> = Mutex::new(());
    static LIBRARY: OnceLock<Option<&'static Library>> = OnceLock::new();
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let load = || {
        let dir = interop::package("cpu-v2")?;
        let source = format!("{}{SOURCE}", include_str!("support/plugin.h"));
        let base = dir.join("libggml-base.so").into_os_string().into_string().ok()?;
        let rpath = format!("-Wl,-rpath,{}", dir.display());
        let file = interop::compile("pretend", &source, &["-Wno-unused-function", &base, &rpath])?;
        Some(Candidate::open(&file).unwrap().init().unwrap())
    };
    let library = (*LIBRARY.get_or_init(load))?;
    Some((library, guard))
}

fn word(library: &Library, name: &str) -> *mut i32 {
    match library.proc(name) {
        Some(Proc::Other(p)) => p.cast_mut().cast(),
        _ => panic!("no {name}"),
    }
}

fn read(library: &Library, name: &str) -> i32 {
    // SAFETY: an int of the plug-in's; the tests run one at a time.
    unsafe { word(library, name).read() }
}

fn write(library: &Library, name: &str, value: i32) {
    // SAFETY: as in `read`.
    unsafe { word(library, name).write(value) }
}

fn said(library: &Library) -> String {
    // SAFETY: a text of the plug-in's that ends with a zero.
    let text = unsafe { core::ffi::CStr::from_ptr(word(library, "said").cast()) };
    text.to_str().unwrap().trim().to_owned()
}

/// Three nodes and a view, each reading the one before.
fn chain(buf: &mut GraphBuf<8>) {
    let mut b = buf.builder();
    let x = b.input(DType::F32, [8, 2, 1, 1]);
    let y = b.rms_norm(x, 1e-5);
    let t = b.transpose(y);
    let z = b.cont(t);
    let z = b.sqr(z);
    b.output(z);
    b.finish().unwrap();
}

#[test]
fn the_plug_in_sees_the_graph() {
    let Some((library, _alone)) = pretend() else { return };
    let device = library.device(0).unwrap();
    assert_eq!((device.name(), device.kind()), ("Pretend0", DeviceKind::Gpu));
    assert_eq!(device.id(), Some("0000:c1:00.0"));
    let caps = device.caps();
    assert!(caps.asynchronous && caps.events && !caps.host_buffer && !caps.buffer_from_host);
    let mut buf = GraphBuf::<8>::new();
    chain(&mut buf);
    let plan = PlanBuf::<8>::new(buf.graph(), &Options::DEFAULT).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    let bindings = [Binding::new(&arena)];
    let program = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
    let stream = device.open(&Params { threads: Some(3), text: None }).unwrap();
    assert_eq!((stream.guid()[..3].to_vec(), read(library, "threads")), (vec![1, 2, 3], 3));
    stream.compute(&program).unwrap();
    assert_eq!(said(library), "RMS_NORM TRANSPOSE CONT SQR!");
    // A second time there is nothing to prepare.
    let prepared = read(library, "prepared");
    assert!(prepared >= 5);
    stream.compute(&program).unwrap();
    let again = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
    stream.compute(&again).unwrap();
    assert_eq!(read(library, "prepared"), prepared);
    // Another buffer is another translation, even at an old address.
    let other = Buffer::new(device.buffer_type(), arena.size()).unwrap();
    let bindings = [Binding::new(&other)];
    let moved = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
    stream.compute(&moved).unwrap();
    assert!(read(library, "prepared") > prepared);
}

/// A caller with another graph each time: old translations go, and memory stays flat.
#[test]
fn old_translations_go() {
    let Some((library, _alone)) = pretend() else { return };
    let device = library.device(0).unwrap();
    let arena = Buffer::new(device.buffer_type(), 1 << 20).unwrap();
    let bindings = [Binding::new(&arena)];
    let stream = device.open(&Params { threads: None, text: Some("fast") }).unwrap();
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        text.split(' ').nth(1).and_then(|n| n.parse::<usize>().ok()).map_or(0, |n| n * 4096)
    };
    let mut before = 0;
    for n in 1..=3000 {
        let mut buf = GraphBuf::<64>::new();
        let mut b = buf.builder();
        let mut x = b.input(DType::F32, [n, 1, 1, 1]);
        for _ in 0..50 {
            x = b.sqr(x);
        }
        b.output(x);
        b.finish().unwrap();
        let plan = PlanBuf::<64>::new(buf.graph(), &Options::DEFAULT).unwrap();
        let program = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
        stream.compute(&program).unwrap();
        if n == 1500 {
            before = resident();
        }
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 8 << 20, "memory grew by {grown} bytes");
}

#[test]
fn failures_become_errors() {
    let Some((library, _alone)) = pretend() else { return };
    let device = library.device(0).unwrap();
    let mut buf = GraphBuf::<8>::new();
    chain(&mut buf);
    let plan = PlanBuf::<8>::new(buf.graph(), &Options::DEFAULT).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    let bindings = [Binding::new(&arena)];
    let program = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
    let stream = device.open(&Params::default()).unwrap();
    for (code, want) in [
        (-1, Err(Error::Device { call: "graph_compute", code: -1 })),
        (-2, Err(Error::Device { call: "graph_compute", code: -2 })),
        (1, Err(Error::Cancelled)),
        (0, Ok(())),
    ] {
        write(library, "answer", code);
        assert_eq!(stream.compute(&program), want);
    }
    // A buffer that refuses a tensor.
    write(library, "answer", -7);
    assert_eq!(arena.write(0, &[1]), Err(Error::Device { call: "init_tensor", code: -1 }));
    write(library, "answer", 0);
    arena.write(0, &[1]).unwrap();
    // A node that the device has no kernel for.
    let mut sin = GraphBuf::<4>::new();
    let mut b = sin.builder();
    let x = b.input(DType::F32, [4, 1, 1, 1]);
    let y = b.sin(x);
    b.output(y);
    b.finish().unwrap();
    let plan = PlanBuf::<4>::new(sin.graph(), &Options::DEFAULT).unwrap();
    let bindings = [Binding::new(&arena)];
    let program = Program::new(sin.graph(), plan.plan(), &bindings).unwrap();
    assert!(matches!(stream.compute(&program), Err(Error::Unsupported { node, .. }) if node == y));
    // Memory that the device can't reach.
    let mut bytes = [0u8; 256];
    let lent = Buffer::from_bytes_mut(device.buffer_type(), &mut bytes);
    let bindings = [Binding::new(&lent)];
    if let Ok(program) = Program::new(sin.graph(), plan.plan(), &bindings) {
        assert_eq!(stream.compute(&program), Err(Error::ForeignObject { object: "buffer" }));
    }
    let fail = Params { threads: None, text: Some("fail") };
    assert_eq!(device.open(&fail).unwrap_err(), Error::Device { call: "init_backend", code: -1 });
}

#[test]
fn events_and_queued_transfers() {
    let Some((library, _alone)) = pretend() else { return };
    let device = library.device(0).unwrap();
    let stream = device.open(&Params::default()).unwrap();
    write(library, "marks", 0);
    let event = Event::new(device).unwrap();
    stream.record(&event).unwrap();
    stream.wait(&event).unwrap();
    event.synchronize().unwrap();
    assert_eq!(read(library, "marks"), 2);
    write(library, "marks", -1);
    assert_eq!(Event::new(device).unwrap_err(), Error::NotOffered { function: "event_new" });
    let e = library.unload().unwrap_err();
    assert_eq!(e.cause(), Some(Error::InUse { streams: 1, buffers: 0, events: 1 }));
    let buffer = Buffer::new(device.buffer_type(), 64).unwrap();
    let d = dinrail_core::tensor::Desc::d1(DType::I8, 64).unwrap();
    let at = Span { desc: &d, offset: 0 };
    let (data, mut back) = ([5u8; 16], [0u8; 16]);
    stream
        .scope(|s| {
            s.set(&buffer, at, 16, &data)?;
            s.get(&buffer, at, 16, &mut back)
        })
        .unwrap();
    assert_eq!((back, read(library, "copies")), (data, 1));
    match library.proc("ggml_backend_set_n_threads") {
        Some(Proc::SetThreads(f)) => f(&stream, 5).unwrap(),
        other => panic!("{other:?}"),
    }
    assert_eq!(read(library, "threads"), 5);
}

#[test]
fn a_run_of_nodes_never_overwrites_what_it_reads() {
    let Some((library, _alone)) = pretend() else { return };
    let device = library.device(0).unwrap();
    // The product's result may take the memory that `x` had; a kernel that computes norm and product in one would
    // still read it then.
    let mut buf = GraphBuf::<8>::new();
    let mut b = buf.builder();
    let x = b.input(DType::F32, [64, 2, 1, 1]);
    let w = b.input(DType::F32, [64, 4, 1, 1]);
    let y = b.mul_mat(w, x);
    let z = b.add(y, y);
    b.output(z);
    b.finish().unwrap();
    let plan = PlanBuf::<8>::new(buf.graph(), &Options::DEFAULT).unwrap();
    let arena = Buffer::new(device.buffer_type(), 1 << 16).unwrap();
    let bindings = [Binding::new(&arena)];
    let stream = device.open(&Params::default()).unwrap();
    let program = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
    stream.compute(&program).unwrap();
    assert_eq!(said(library), "MUL_MAT ADD!", "nothing in the way: it may be one kernel");
    // The same graph with the sum laid over the product's source.
    let mut locs = plan.plan().locs().to_vec();
    locs[z.index()] = locs[x.index()];
    let moved = dinrail_core::plan::Plan::from_parts(&locs, *plan.plan().summary());
    let program = Program::new(buf.graph(), moved, &bindings).unwrap();
    stream.compute(&program).unwrap();
    assert_eq!(said(library), "MUL_MAT! ADD!", "the product must be stored first");
}

#[test]
fn a_plug_in_without_a_base_library() {
    let source = format!("{}{SOURCE}", include_str!("support/plugin.h"));
    let Some(file) = interop::compile("alone", &source, &["-DALONE", "-Wno-unused-function"])
    else {
        return;
    };
    let library = Candidate::open(&file).unwrap().init().unwrap();
    assert_eq!(library.notes(), Vec::<String>::new());
    let device = library.device(0).unwrap();
    let mut buf = GraphBuf::<8>::new();
    chain(&mut buf);
    let plan = PlanBuf::<8>::new(buf.graph(), &Options::DEFAULT).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    let bindings = [Binding::new(&arena)];
    let program = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
    let stream = device.open(&Params::default()).unwrap();
    for _ in 0..2 {
        stream.compute(&program).unwrap();
        // RMS_NORM TRANSPOSE CONT SQR in the release's numbers.
        assert_eq!(said(library), "25 39 35 9!");
    }
    drop((stream, arena));
    library.unload().unwrap();
}

#[test]
fn translation_costs_nothing_per_token() {
    let Some((library, _alone)) = pretend() else { return };
    let device = library.device(0).unwrap();
    let t = token(CONTEXT);
    let plan = PlanBuf::<NODES>::new(t.buf.graph(), &Options::DEFAULT).unwrap();
    let ty = device.buffer_type();
    let arena = Buffer::new(ty, plan.plan().summary().arena).unwrap();
    let weights = Buffer::new(ty, t.weights).unwrap();
    let cache = Buffer::new(ty, t.cache).unwrap();
    let bindings = [Binding::new(&arena), Binding::new(&weights), Binding::new(&cache)];
    let stream = device.open(&Params { threads: None, text: Some("fast") }).unwrap();
    let make = || Program::new(t.buf.graph(), plan.plan(), &bindings).unwrap();
    let program = make();
    let start = Instant::now();
    stream.compute(&program).unwrap();
    let first = start.elapsed();
    let each = |f: &dyn Fn()| {
        // The least of several rounds, for other programs share the machine.
        let round = || {
            let start = Instant::now();
            (0..1000).for_each(|_| f());
            start.elapsed() / 1000
        };
        (0..10).map(|_| round()).min().unwrap_or_default()
    };
    let kept = each(&|| stream.compute(&program).unwrap());
    let made = each(&|| stream.compute(&make()).unwrap());
    let alone = each(&|| {
        core::hint::black_box(make());
    });
    println!(
        "{} nodes: translated in {first:?}, then {kept:?}; made anew {made:?}, {alone:?} of it checking",
        t.buf.graph().len()
    );
    assert!(kept.as_nanos() < 2_000, "{kept:?}");
    assert!(made < first);
}
