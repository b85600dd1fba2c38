//! Tells a story, token by token as they are computed.
#![no_std]
#![no_main]

use cortex_m_rt::entry;
use dinrail_llm::tokenizer::{Options, Symbol};
use firmware_cortex_m::print::{Line, write};
use firmware_cortex_m::story::Teller;
use firmware_cortex_m::vocabulary::TOKENIZER;
use firmware_cortex_m::{dinrail_mark, exit, stack};

const PROMPT: &[u8] = b"Once upon a time";
/// Tokens that are made up.
const LENGTH: usize = 64;

fn run() -> dinrail::Result<()> {
    let mut scratch = [Symbol::NEW; PROMPT.len() + 1];
    let mut prompt = [0; 24];
    let Ok(count) = TOKENIZER.encode(PROMPT, Options::PROMPT, &mut scratch, &mut prompt) else {
        return Err(dinrail::Error::Invalid { what: "prompt", value: 0 });
    };
    let mut teller = Teller::new()?;
    let mut next = 0;
    let show = |token: u32| {
        let mut piece = [0; 32];
        let len = TOKENIZER.piece(token, false, &mut piece).unwrap_or(0);
        write(piece.get(..len).unwrap_or(&[]));
    };
    for token in prompt.iter().take(count) {
        show(*token);
        next = teller.token(*token)?;
    }
    for _ in 1..LENGTH {
        show(next);
        dinrail_mark();
        next = teller.token(next)?;
        dinrail_mark();
    }
    show(next);
    write(b"\n");
    Ok(())
}

#[entry]
fn main() -> ! {
    stack::paint();
    let good = run().is_ok();
    Line::new("stack").number(stack::used()).end();
    exit(good)
}
