//! Tells a story on a Cortex-A core without an operating system. The model lies where the loader put it; the vectors
//! are NEON's.
#![no_std]
#![no_main]

mod board;

use dinrail::cpu::Level;
use dinrail::tensor::DType;
use dinrail_llm::flash::{Story, Teller};

#[cfg(not(feature = "q8"))]
const FILE: &[u8] = dinrail::bare::include_model!("../../models/stories260K-f32.gguf");
#[cfg(feature = "q8")]
const FILE: &[u8] = dinrail::bare::include_model!("../../models/stories260K-Q8_0.gguf");

dinrail_llm::static_model! {
    /// The model as constants.
    mod model {
        file: super::FILE,
        context: 128,
        cache: super::DType::F32,
        level: super::Level::Neon,
    }
}

const PROMPT: &[u8] = b"Once upon a time";
/// Tokens that are made up.
const LENGTH: usize = 64;

fn run() -> dinrail::Result<()> {
    let teller = Teller::<model::Model>::new()?;
    let mut story = Story::<_, 24>::new(teller, PROMPT)?;
    for _ in 1..story.given() + LENGTH {
        board::write(story.piece());
        story.advance()?;
    }
    board::write(story.piece());
    board::write(b"\n");
    Ok(())
}

/// Called by the start-up code with a stack and with zeroed memory.
#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    board::exit(run().is_ok())
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    board::exit(false)
}
