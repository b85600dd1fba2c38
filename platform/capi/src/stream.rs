//! Streams
//!
//! A stream is a queue of work of one device. It lies in the caller's memory, filled with zeros before its first use, is not
//! copied or moved while it is open, and is closed by the caller. So is an event, a mark in a queue, and a prepared
//! program. A stream is used by one thread at a time, and in the process that opened it: after a fork the child opens its
//! own (DINRAIL_ERROR_STALE says so), and only closes what it got.

use crate::border::{Holder, Out, answer, forever, guard, holder, some, string};
use crate::device::dinrail_device;
use crate::error::{Fault, dinrail_error, dinrail_status};
use crate::graph::dinrail_graph;
use crate::program::dinrail_program;
use crate::stamp::Stamp;
use core::cell::UnsafeCell;
use core::ffi::c_char;
use dinrail::hal::{Event, Params, Prepared, Run, Stream};
use dinrail::program::Program;

/// A queue of work.
#[repr(C)]
pub struct dinrail_stream {
    words_: UnsafeCell<[usize; 8]>,
}
/// A stream, and the process that it works in: what it works with (threads, a connection to a driver) isn't in a child.
pub(crate) struct Opened {
    stream: Stream,
    #[cfg(feature = "std")]
    process: u32,
}
holder!(dinrail_stream holds Opened, 5, "stream");

impl Opened {
    fn new(stream: Stream) -> Self {
        Self {
            stream,
            #[cfg(feature = "std")]
            process: std::process::id(),
        }
    }

    /// The stream, in the process that opened it.
    fn here(&self) -> Result<&Stream, Fault> {
        #[cfg(feature = "std")]
        if self.process != std::process::id() {
            return Err(Fault::Forked);
        }
        Ok(&self.stream)
    }
}

impl dinrail_stream {
    pub(crate) fn stream(&self) -> Result<&Stream, Fault> {
        self.value()?.here()
    }
}

/// A mark in a stream's queue.
#[repr(C)]
pub struct dinrail_event {
    words_: UnsafeCell<[usize; 6]>,
}
holder!(dinrail_event holds Event, 6, "event");

/// A computation that is taken in steps. It needs no closing.
#[repr(C)]
pub struct dinrail_run {
    words_: UnsafeCell<[usize; 8]>,
}

/// What is computed, on what.
pub(crate) struct Job {
    stream: &'static dinrail_stream,
    program: &'static dinrail_program,
    /// The program's.
    stamp: Stamp,
}

/// A job that was begun.
pub(crate) struct Begun<T> {
    it: T,
    job: Job,
}
holder!(dinrail_run holds Begun<Run<'static>>, 7, "run");

/// A program that a stream has prepared for being computed many times.
#[repr(C)]
pub struct dinrail_prepared {
    words_: UnsafeCell<[usize; 8]>,
}
holder!(dinrail_prepared holds Begun<Prepared<'static>>, 8, "prepared program");

impl Job {
    /// What it was begun with is still open, and the same.
    fn check(&self, name: &'static str) -> Result<(), Fault> {
        self.stream.stream()?;
        if self.program.stamp()? != self.stamp {
            return Err(Fault::Changed(name));
        }
        Ok(())
    }
}

/// Begins something with a program, and remembers what with.
///
/// # Safety
/// * Both objects stay where they are as long as the result is used.
unsafe fn begun<T>(
    stream: Option<&dinrail_stream>,
    program: Option<&dinrail_program>,
    begin: impl FnOnce(&'static Stream, &'static Program<'static>) -> Result<T, Fault>,
) -> Result<Begun<T>, Fault> {
    let (stream, program) = (some(stream, "stream")?, some(program, "program")?);
    // SAFETY: the caller promises it.
    let stream = unsafe { forever(stream) };
    // SAFETY: as above.
    let program = unsafe { forever(program) };
    let it = begin(stream.stream()?, program.whole()?)?;
    Ok(Begun { it, job: Job { stream, program, stamp: program.stamp()? } })
}

/// How to open a stream. All zeros are fine.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_stream_params {
    /// Number of threads, for devices that use the host's; 0 for what the device thinks best.
    pub threads: usize,
    /// Anything else, in the device's own words, such as "level=scalar"; NULL for nothing.
    pub text: *const c_char,
}

/// Opens a stream of a device. NULL for `params` stands for all zeros.
///
/// Threads: any; not from an interrupt.
///
/// # Safety
/// The text of `params` is NULL or a string.
#[unsafe(export_name = symbol!("stream_open"))]
pub unsafe extern "C" fn dinrail_stream_open(
    stream: Option<&mut dinrail_stream>,
    device: dinrail_device,
    params: Option<&dinrail_stream_params>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let stream = some(stream, "stream")?;
        stream.vacant()?;
        let text = match params {
            // SAFETY: the caller promises it.
            Some(p) => unsafe { string(p.text, "text") }?,
            None => None,
        };
        let threads = params.map(|p| p.threads).filter(|n| *n > 0);
        stream.put(Opened::new(device.get()?.open(&Params { threads, text })?));
        Ok(())
    })
}

/// Finishes what is queued, and ends a stream. NULL and a stream that isn't open are no errors.
///
/// Threads: the stream's; not from an interrupt.
#[unsafe(export_name = symbol!("stream_close"))]
pub extern "C" fn dinrail_stream_close(stream: Option<&mut dinrail_stream>) {
    guard((), || {
        if let Some(opened) = stream.and_then(Holder::take) {
            // In a child there is nothing to wait for, and nobody to end.
            match opened.here().is_ok() {
                true => drop(opened),
                false => core::mem::forget(opened),
            }
        }
    });
}

/// The device of a stream.
///
/// Threads: any.
#[unsafe(export_name = symbol!("stream_device"))]
pub extern "C" fn dinrail_stream_device(stream: Option<&dinrail_stream>) -> dinrail_device {
    guard(dinrail_device::NONE, || match stream.map(|s| s.value()) {
        Some(Ok(opened)) => dinrail_device::of(opened.stream.device()),
        _ => dinrail_device::NONE,
    })
}

/// Bytes of scratch memory that computing a finished graph on this stream needs: for `dinrail_plan_options`.
///
/// Threads: the stream's.
#[unsafe(export_name = symbol!("stream_scratch"))]
pub extern "C" fn dinrail_stream_scratch(
    stream: Option<&dinrail_stream>,
    graph: Option<&dinrail_graph>,
    out: Out<usize>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let stream = some(stream, "stream")?.stream()?;
        let graph = some(graph, "graph")?.graph()?;
        some(out, "out")?.write(stream.scratch(graph));
        Ok(())
    })
}

/// Queues the computation of a program. Results are there after `dinrail_stream_wait`.
///
/// Threads: the stream's.
#[unsafe(export_name = symbol!("stream_compute"))]
pub extern "C" fn dinrail_stream_compute(
    stream: Option<&dinrail_stream>,
    program: Option<&dinrail_program>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let stream = some(stream, "stream")?.stream()?;
        Ok(stream.compute(some(program, "program")?.whole()?)?)
    })
}

/// Waits until everything queued is done, and tells what went wrong since the last call.
///
/// Threads: the stream's.
#[unsafe(export_name = symbol!("stream_wait"))]
pub extern "C" fn dinrail_stream_wait(
    stream: Option<&dinrail_stream>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || Ok(some(stream, "stream")?.stream()?.synchronize()?))
}

/// Starts a computation that is taken in steps, for a main loop that must go on meanwhile. Stream and program stay open and
/// where they are until it is over. What the object held before is forgotten.
///
/// Threads: the stream's.
#[unsafe(export_name = symbol!("run_begin"))]
pub extern "C" fn dinrail_run_begin(
    run: Option<&mut dinrail_run>,
    stream: Option<&dinrail_stream>,
    program: Option<&dinrail_program>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let run = some(run, "run")?;
        // SAFETY: the caller keeps both where they are while the run is used.
        run.put(unsafe { begun(stream, program, |s, p| Ok(s.begin(p))) }?);
        Ok(())
    })
}

/// Computes a piece; `done` tells whether it was the last one. On one core no piece takes longer than the slowest node.
/// After an error the computation is over.
///
/// Threads: the stream's.
#[unsafe(export_name = symbol!("run_poll"))]
pub extern "C" fn dinrail_run_poll(
    run: Option<&mut dinrail_run>,
    done: Out<bool>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let done = some(done, "done")?;
        done.write(true);
        let run = some(run, "run")?.value_mut()?;
        run.job.check("run")?;
        done.write(run.it.poll()?);
        Ok(())
    })
}

/// Computes all that is left.
///
/// Threads: the stream's.
#[unsafe(export_name = symbol!("run_wait"))]
pub extern "C" fn dinrail_run_wait(
    run: Option<&mut dinrail_run>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let run = some(run, "run")?.value_mut()?;
        run.job.check("run")?;
        while !run.it.poll()? {}
        Ok(())
    })
}

/// Prepares a program for being computed many times, where that gains something (DINRAIL_ERROR_NOT_OFFERED: use
/// `dinrail_stream_compute`). Stream and program stay open and where they are until it is closed.
///
/// Threads: the stream's.
#[unsafe(export_name = symbol!("prepared_open"))]
pub extern "C" fn dinrail_prepared_open(
    prepared: Option<&mut dinrail_prepared>,
    stream: Option<&dinrail_stream>,
    program: Option<&dinrail_program>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let prepared = some(prepared, "prepared")?;
        prepared.vacant()?;
        // SAFETY: the caller keeps both where they are until this is closed.
        prepared.put(unsafe { begun(stream, program, |s, p| Ok(s.plan(p)?)) }?);
        Ok(())
    })
}

/// Queues a prepared program.
///
/// Threads: the stream's.
#[unsafe(export_name = symbol!("prepared_compute"))]
pub extern "C" fn dinrail_prepared_compute(
    prepared: Option<&dinrail_prepared>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let prepared = some(prepared, "prepared")?.value()?;
        prepared.job.check("prepared program")?;
        Ok(prepared.it.compute()?)
    })
}

/// Gives a prepared program back, before its stream is closed. NULL and one that isn't open are no errors.
///
/// Threads: the stream's.
#[unsafe(export_name = symbol!("prepared_close"))]
pub extern "C" fn dinrail_prepared_close(prepared: Option<&mut dinrail_prepared>) {
    guard((), || {
        if let Some(Begun { it, job }) = prepared.and_then(Holder::take) {
            // Its stream would free it; one that was closed before can't.
            match job.stream.stream() {
                Ok(_) => drop(it),
                Err(_) => core::mem::forget(it),
            }
        }
    });
}

/// A new event of a device; DINRAIL_ERROR_NOT_OFFERED where it has none (see DINRAIL_CAP_EVENTS).
///
/// Threads: any.
#[unsafe(export_name = symbol!("event_open"))]
pub extern "C" fn dinrail_event_open(
    event: Option<&mut dinrail_event>,
    device: dinrail_device,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let event = some(event, "event")?;
        event.vacant()?;
        event.put(Event::new(device.get()?)?);
        Ok(())
    })
}

/// Gives an event back. NULL and one that isn't open are no errors.
///
/// Threads: the event's.
#[unsafe(export_name = symbol!("event_close"))]
pub extern "C" fn dinrail_event_close(event: Option<&mut dinrail_event>) {
    guard((), || drop(event.and_then(Holder::take)));
}

/// Waits on the host until the work before the recorded mark is done.
///
/// Threads: the event's.
#[unsafe(export_name = symbol!("event_wait"))]
pub extern "C" fn dinrail_event_wait(
    event: Option<&dinrail_event>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || Ok(some(event, "event")?.value()?.synchronize()?))
}

/// Queues a mark.
///
/// Threads: the stream's and the event's.
#[unsafe(export_name = symbol!("stream_record"))]
pub extern "C" fn dinrail_stream_record(
    stream: Option<&dinrail_stream>,
    event: Option<&dinrail_event>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        Ok(some(stream, "stream")?.stream()?.record(some(event, "event")?.value()?)?)
    })
}

/// Makes later work of a stream wait for a mark of another one.
///
/// Threads: the stream's and the event's.
#[unsafe(export_name = symbol!("stream_wait_event"))]
pub extern "C" fn dinrail_stream_wait_event(
    stream: Option<&dinrail_stream>,
    event: Option<&dinrail_event>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || Ok(some(stream, "stream")?.stream()?.wait(some(event, "event")?.value()?)?))
}
