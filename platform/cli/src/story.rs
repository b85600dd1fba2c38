//! `dinrail` without a command: the devices, and a story.

use crate::args::Placement;
use crate::engine::Model;
use crate::output::{self, style};
use crate::team::Team;
use crate::{Result, devices, run};
use dinrail_llm::sampler;

/// Bytes where tensors can be used in place.
#[repr(align(64))]
struct Aligned<T: ?Sized>(T);

/// The story teller is part of the program, so it needs no file beside it.
static MODEL: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/models/stories260K-Q8_0.gguf"
)));

/// Shows the devices and tells a story on the best one.
///
/// # Errors
/// What the device gives, or printing.
pub fn run() -> Result {
    devices::table()?;
    output::line("")?;
    let request = run::Request {
        prompt: "Once upon a time".to_owned(),
        tokens: 256,
        place: Placement::default(),
        sampling: sampler::Config { seed: run::new_seed(), ..sampler::Config::CHAT },
        context: None,
        batch: run::BATCH,
        quiet: false,
    };
    let model = Model::embedded("stories260K-Q8_0.gguf", &MODEL.0);
    let report = run::tell(&model, &Team::new(&request.place)?, &request)?;
    output::line("")?;
    let good = style::GOOD;
    for note in report.notes() {
        output::line(format_args!("{good}{note}{good:#}"))?;
    }
    report.end()
}
