//! Runs cases on a device and on the oracle.

use crate::case::Case;
use crate::compare::{Found, compare};
use crate::expect::{Expect, Known};
use crate::image::{Image, SLOT};
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{Backend as _, Buffer, Device, Params, Query, Stream};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};

/// The oracle, on memory that the suite lends it.
static REFERENCE: dinrail_reference::Backend = dinrail_reference::Backend::new(None);

fn oracle() -> Result<&'static dyn Device> {
    REFERENCE.device(0).ok_or(Error::NotFound)
}

/// How a case went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// Right.
    Passed,
    /// The device doesn't support it, and refused to compute it.
    Refused,
    /// Wrong.
    Failed(Why),
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// The case itself can't be built: its group is wrong.
    Case(Error),
    /// The oracle failed.
    Oracle(Error),
    /// The device failed though it supports the case.
    Device(Error),
    /// The device doesn't support the case, but computing gave something else than `Unsupported`.
    NotRefused(Result<()>),
    /// An element of the result is wrong.
    Element {
        /// Its number.
        index: usize,
        /// What the device computed.
        got: f64,
        /// What the oracle computed.
        expected: f64,
        /// How far apart they may be.
        bound: f64,
    },
    /// Too many elements are off, or all together are off too much.
    Overall {
        /// Root mean square of the errors, or number of elements that are off.
        got: f64,
        /// How much is allowed.
        bound: f64,
    },
    /// A byte changed that is not of the result.
    Touched {
        /// The byte.
        at: usize,
    },
}

impl core::fmt::Display for Why {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Why::Case(e) => write!(f, "the case can't be built: {e}"),
            Why::Oracle(e) => write!(f, "the oracle failed: {e}"),
            Why::Device(e) => write!(f, "the device supports it but failed: {e}"),
            Why::NotRefused(Ok(())) => write!(f, "not supported, but computed"),
            Why::NotRefused(Err(e)) => write!(f, "not supported, but answered: {e}"),
            Why::Element { index, got, expected, bound } => {
                write!(f, "element {index} is {got:e}, expected {expected:e} within {bound:e}")
            }
            Why::Overall { got, bound } => write!(f, "off by {got:e} overall, allowed {bound:e}"),
            Why::Touched { at } => write!(f, "byte {at} changed, which is not of the result"),
        }
    }
}

/// A case that went wrong, or right against expectation.
#[derive(Clone, Copy, Debug)]
pub enum Failure {
    /// Wrong.
    Case(Case, Why),
    /// Supported, though the list says never.
    Supported(Case),
    /// No case of this entry failed.
    NoLongerFails(Expect),
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Failure::Case(case, why) => write!(f, "{case}: {why}"),
            Failure::Supported(case) => write!(f, "{case}: supported, though listed as never"),
            Failure::NoLongerFails(e) => write!(f, "listed as failing, but passes: {e:?}"),
        }
    }
}

/// How many went how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Right.
    pub passed: usize,
    /// Not supported, and refused.
    pub refused: usize,
    /// Wrong, as expected.
    pub known: usize,
    /// Wrong, or right against expectation.
    pub failed: usize,
}

/// Runs cases on one device, all on one stream.
pub struct Suite<'a> {
    device: &'static dyn Device,
    stream: Stream,
    oracle: Stream,
    /// The device's memory: that of the case, and scratch. Allocated when needed if not given.
    memory: Option<Buffer<'a>>,
    scratch: Option<Buffer<'a>>,
    /// Host memory: as it was before, as the oracle leaves it, as the device leaves it.
    before: &'a mut [u8],
    expected: &'a mut [u8],
    got: &'a mut [u8],
}

/// Three pieces of equal length that start at multiples of 64.
fn split(work: &mut [u8]) -> [&mut [u8]; 3] {
    let skip = work.as_ptr().align_offset(64).min(work.len());
    let (_, work) = work.split_at_mut(skip);
    let each = work.len() / 3 / 64 * 64;
    let (one, rest) = work.split_at_mut(each);
    let (two, rest) = rest.split_at_mut(each);
    let (three, _) = rest.split_at_mut(each);
    [one, two, three]
}

impl<'a> Suite<'a> {
    /// Host memory that all [`cases`](crate::cases) fit in.
    pub const WORK: usize = 3 * 512 * 1024 + 64;

    /// A suite on a stream of `device`, which allocates buffers of the device's own. `work` is host memory.
    ///
    /// # Errors
    /// Those of opening the stream.
    pub fn new(
        device: &'static dyn Device,
        params: &Params<'_>,
        work: &'a mut [u8],
    ) -> Result<Self> {
        let [before, expected, got] = split(work);
        Ok(Self {
            device,
            stream: device.open(params)?,
            oracle: oracle()?.open(&Params::default())?,
            memory: None,
            scratch: None,
            before,
            expected,
            got,
        })
    }

    /// Uses these buffers of the device's instead of allocating: for a device without a heap.
    #[must_use]
    pub fn with_memory(mut self, memory: Buffer<'a>, scratch: Buffer<'a>) -> Self {
        (self.memory, self.scratch) = (Some(memory), Some(scratch));
        self
    }

    /// The device's stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Runs every case and tells `tell` about failures. An entry of `known` that no case bears out is one.
    pub fn run_all(
        &mut self,
        cases: impl Iterator<Item = Case>,
        known: &[Expect],
        mut tell: impl FnMut(&Failure),
    ) -> Report {
        let mut report = Report::default();
        // One bit for each entry that a failure bore out; lists are short.
        let mut seen = 0u128;
        for case in cases {
            let outcome = self.run(&case);
            let entry = known.iter().position(|e| e.is_about(&case));
            let known = entry.and_then(|i| known.get(i)).map(|e| e.known);
            match (outcome, known) {
                (Outcome::Refused, _) => report.refused += 1,
                (_, Some(Known::Unsupported)) => {
                    report.failed += 1;
                    tell(&Failure::Supported(case));
                }
                (Outcome::Failed(_), Some(Known::Fails)) => {
                    report.known += 1;
                    seen |= 1 << entry.unwrap_or(0).min(127);
                }
                (Outcome::Failed(why), None) => {
                    report.failed += 1;
                    tell(&Failure::Case(case, why));
                }
                (Outcome::Passed, _) => report.passed += 1,
            }
        }
        for (i, entry) in known.iter().enumerate() {
            if entry.known == Known::Fails && seen >> i.min(127) & 1 == 0 {
                report.failed += 1;
                tell(&Failure::NoLongerFails(*entry));
            }
        }
        report
    }

    /// Runs one case.
    pub fn run(&mut self, case: &Case) -> Outcome {
        match self.try_run(case) {
            Ok(true) => Outcome::Passed,
            Ok(false) => Outcome::Refused,
            Err(why) => Outcome::Failed(why),
        }
    }

    /// Computes a case without comparing, and returns all its memory as the device left it; `None` where the device
    /// doesn't support it. For comparing two streams bit by bit.
    ///
    /// # Errors
    /// What is wrong with the case or the device.
    pub fn memory_after(&mut self, case: &Case) -> Result<Option<&[u8]>, Why> {
        let image = self.image(case, None)?;
        if !supports(self.device, &image) {
            return Ok(None);
        }
        image.write(case, piece(self.before, image.len));
        self.device_result(&image, false)?.map_err(Why::Device)?;
        Ok(Some(piece(self.got, image.len)))
    }

    fn try_run(&mut self, case: &Case) -> Result<bool, Why> {
        let image = self.image(case, None)?;
        image.write(case, piece(self.before, image.len));
        let supported = supports(self.device, &image);
        if supported {
            self.expect(&image)?;
        }
        self.compute(case, &image, &image, false)?;
        if !supported || image.desc.is_empty() {
            return Ok(supported);
        }
        // Once more in a source's memory and step by step, where that is allowed.
        for i in 0..2 {
            let fits = image.src[i].is_some_and(|(d, _)| d.same_layout(&image.desc));
            if case.op.may_reuse(i) && fits {
                let within = self.image(case, Some(i))?;
                within.write(case, piece(self.before, within.len));
                if supports(self.device, &within) {
                    self.compute(case, &image, &within, true)?;
                }
            }
        }
        Ok(true)
    }

    fn image(&self, case: &Case, within: Option<usize>) -> Result<Image, Why> {
        let align = self.device.buffer_type().alignment();
        let image = Image::new(case, align, within).map_err(Why::Case)?;
        if image.len > self.before.len() {
            let (need, have) = (image.len, self.before.len());
            let what = dinrail_core::error::What::Buffer;
            return Err(Why::Case(Error::Full { what, need, have }));
        }
        Ok(image)
    }

    /// Lets the oracle compute, and checks that it keeps to its result.
    fn expect(&mut self, image: &Image) -> Result<(), Why> {
        let memory = piece(self.expected, image.len);
        memory.copy_from_slice(piece(self.before, image.len));
        let device = oracle().map_err(Why::Oracle)?;
        let buffer = Buffer::from_bytes_mut(device.buffer_type(), memory);
        let plan = PlanBuf::<12>::new(image.graph(), &Options::DEFAULT).map_err(Why::Case)?;
        let bindings = [Binding::NONE, Binding::new(&buffer)];
        let program = Program::new(image.graph(), plan.plan(), &bindings).map_err(Why::Case)?;
        self.oracle.compute(&program).map_err(Why::Oracle)
    }

    /// Lets the device compute, and compares.
    fn compute(
        &mut self,
        case: &Case,
        expected: &Image,
        image: &Image,
        in_steps: bool,
    ) -> Result<(), Why> {
        let result = self.device_result(image, in_steps)?;
        let got = piece(self.got, image.len);
        let before = piece(self.before, image.len);
        if !supports(self.device, image) {
            match result {
                Err(Error::Unsupported { node, .. }) if node == image.node => {}
                // Operations that are only views are never refused.
                Ok(()) if case.op.is_view() => {}
                // Nor need a result be without elements that isn't there.
                Ok(()) if image.desc.is_empty() => {}
                _ => return Err(Why::NotRefused(result)),
            }
        } else {
            result.map_err(Why::Device)?;
            let wanted = piece(self.expected, expected.len);
            let wanted = Found { image: expected, bytes: wanted };
            compare(case, wanted, Found { image, bytes: got }, &image.stats(before))?;
        }
        // Undo the result; nothing else may have changed.
        image.blocks(image.at, |_, at, size| {
            if let (Some(to), Some(from)) = (got.get_mut(at..at + size), before.get(at..at + size))
            {
                to.copy_from_slice(from);
            }
        });
        match got.iter().zip(before.iter()).position(|(a, b)| a != b) {
            Some(at) => Err(Why::Touched { at }),
            None => Ok(()),
        }
    }

    /// What computing returned; the memory as it is then lies in `got`.
    fn device_result(&mut self, image: &Image, in_steps: bool) -> Result<Result<()>, Why> {
        let need = self.stream.scratch(image.graph());
        let options = Options { scratch: need, ..Options::DEFAULT };
        let plan = PlanBuf::<12>::new(image.graph(), &options).map_err(Why::Case)?;
        room(self.device, &mut self.memory, image.len)?;
        room(self.device, &mut self.scratch, plan.plan().summary().arena)?;
        let (Some(memory), Some(scratch)) = (&self.memory, &self.scratch) else {
            return Err(Why::Device(Error::NotFound));
        };
        let bytes = piece(self.before, image.len);
        memory.write(0, bytes).map_err(Why::Device)?;
        let mut bindings = [Binding::NONE; SLOT as usize + 1];
        bindings[0] = Binding::new(scratch);
        bindings[usize::from(SLOT)] = Binding::new(memory);
        let program = Program::new(image.graph(), plan.plan(), &bindings).map_err(Why::Case)?;
        let result = match in_steps {
            false => self.stream.compute(&program),
            true => {
                let mut run = self.stream.begin(&program);
                loop {
                    match run.poll() {
                        Ok(false) => {}
                        Ok(true) => break Ok(()),
                        Err(e) => break Err(e),
                    }
                }
            }
        };
        let result = result.and(self.stream.synchronize());
        memory.read(0, piece(self.got, image.len)).map_err(Why::Device)?;
        Ok(result)
    }
}

/// The first bytes.
fn piece(bytes: &mut [u8], len: usize) -> &mut [u8] {
    bytes.get_mut(..len).unwrap_or_default()
}

fn supports(device: &dyn Device, image: &Image) -> bool {
    let sources = Query::sources(image.graph(), image.node);
    image.graph().node(image.node).is_some_and(|n| device.supports(&Query::of(n, &sources)))
}

/// Makes sure that a buffer of the device has room.
fn room(
    device: &'static dyn Device,
    buffer: &mut Option<Buffer<'_>>,
    len: usize,
) -> Result<(), Why> {
    if buffer.as_ref().is_none_or(|b| b.size() < len) {
        *buffer = None;
        *buffer = Some(Buffer::new(device.buffer_type(), len).map_err(Why::Device)?);
    }
    Ok(())
}
