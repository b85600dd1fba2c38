//! Tells a story on a RISC-V core, of 32 or 64 bits, without an operating system. The model lies where the
//! loader put it.
#![no_std]
#![no_main]

mod board;
mod story;
mod vocabulary;

use dinrail_llm::tokenizer::{Options, Symbol};
use story::Teller;
use vocabulary::TOKENIZER;

const PROMPT: &[u8] = b"Once upon a time";
/// Tokens that are made up.
const LENGTH: usize = 64;

fn show(token: u32) {
    let mut piece = [0; 32];
    let len = TOKENIZER.piece(token, false, &mut piece).unwrap_or(0);
    board::write(piece.get(..len).unwrap_or(&[]));
}

fn run() -> dinrail::Result<()> {
    let mut scratch = [Symbol::NEW; PROMPT.len() + 1];
    let mut prompt = [0; 24];
    let Ok(count) = TOKENIZER.encode(PROMPT, Options::PROMPT, &mut scratch, &mut prompt) else {
        return Err(dinrail::Error::Invalid { what: "prompt", value: 0 });
    };
    let mut teller = Teller::new()?;
    let mut next = 0;
    for token in prompt.iter().take(count) {
        show(*token);
        next = teller.token(*token)?;
    }
    for _ in 1..LENGTH {
        show(next);
        next = teller.token(next)?;
    }
    show(next);
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
