//! Tells a story, token by token as they are computed.
#![no_std]
#![no_main]

use cortex_m_rt::entry;
use firmware_cortex_m::print::{Line, write};
use firmware_cortex_m::story::{Story, Teller};
use firmware_cortex_m::{dinrail_mark, exit, stack};

const PROMPT: &[u8] = b"Once upon a time";
/// Tokens that are made up.
const LENGTH: usize = 64;

fn run() -> dinrail::Result<()> {
    let mut story = Story::new(Teller::new()?, PROMPT)?;
    for _ in 1..story.given() + LENGTH {
        write(story.piece());
        dinrail_mark();
        story.advance()?;
        dinrail_mark();
    }
    write(story.piece());
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
