//! A model as constants: what `static_model!` makes, in memory of the tests' own.

use dinrail::Error;
use dinrail::cpu::fixed::Bound;
use dinrail::cpu::{Level, Memory};
use dinrail::error::What;
use dinrail::tensor::DType;
use dinrail_llm::flash::{Story, Teller};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

const FILE: &[u8] = dinrail::bare::include_model!("../../models/stories260K-Q8_0.gguf");
/// Short, to come to its end.
const CONTEXT: usize = 24;

dinrail_llm::static_model! {
    mod stories {
        file: super::FILE,
        context: super::CONTEXT,
        cache: super::DType::F32,
        level: super::Level::Scalar,
    }
}
use stories::{CACHE_BYTES, Model, plan};

type Made = Bound<'static, plan::Table>;

/// Bytes at an address that is a multiple of 64.
fn ram(bytes: usize) -> &'static mut [u8] {
    let memory = vec![0u8; bytes + 64].leak();
    let skip = memory.as_ptr().align_offset(64);
    &mut memory[skip..skip + bytes]
}

fn bind(arena: usize, model: &'static [u8], cache: usize) -> dinrail::Result<Made> {
    let (arena, cache) = (Memory::Write(ram(arena)), Memory::Write(ram(cache)));
    plan::TABLE.bind([arena, Memory::Read(model), cache])
}

fn teller() -> Teller<Model> {
    Teller::over(bind(plan::ARENA, FILE, CACHE_BYTES).unwrap())
}

/// The first tokens behind the one that begins a text.
fn tokens<const N: usize>(teller: &mut Teller<Model>) -> [u32; N] {
    let mut token = 1;
    [(); N].map(|()| {
        token = teller.token(token).unwrap();
        token
    })
}

#[test]
fn memory_that_is_too_small_or_cut_off_is_refused_with_numbers() {
    let (need, have) = (plan::ARENA, plan::ARENA - 1);
    let e = bind(have, FILE, CACHE_BYTES).unwrap_err();
    assert_eq!(e, Error::Full { what: What::Arena, need, have });
    let (need, have) = (CACHE_BYTES, CACHE_BYTES - 1);
    let e = bind(plan::ARENA, FILE, have).unwrap_err();
    assert_eq!(e, Error::Full { what: What::Buffer, need, have });
    let have = FILE.len() / 2;
    match bind(plan::ARENA, &FILE[..have], CACHE_BYTES).unwrap_err() {
        Error::Full { what: What::Buffer, need, have: found } => {
            // The last tensor ends with the file.
            assert!(found == have && need > have && need <= FILE.len());
            assert!(bind(plan::ARENA, &FILE[..need], CACHE_BYTES).is_ok());
            assert!(bind(plan::ARENA, &FILE[..need - 1], CACHE_BYTES).is_err());
        }
        e => panic!("{e}"),
    }
    let address = FILE.as_ptr().addr() + 3;
    let e = bind(plan::ARENA, &FILE[3..], CACHE_BYTES).unwrap_err();
    assert_eq!(e, Error::Misaligned { address, align: 8 });
    // The model's own memory is there once.
    assert!(Teller::<Model>::new().is_ok());
    let e = Teller::<Model>::new().map(|_| ()).unwrap_err();
    assert_eq!(e, Error::Full { what: What::Pool, need: 2, have: 1 });
}

#[test]
fn a_full_context_is_an_error_and_the_next_text_begins_anew() {
    let mut teller = teller();
    let first: [u32; CONTEXT] = tokens(&mut teller);
    assert_eq!(teller.left(), 0);
    for _ in 0..2 {
        let e = teller.token(first[0]).unwrap_err();
        assert_eq!(e, Error::Full { what: What::Buffer, need: CONTEXT + 1, have: CONTEXT });
    }
    teller.restart();
    assert_eq!(teller.left(), CONTEXT);
    assert_eq!(tokens::<CONTEXT>(&mut teller), first);
}

#[test]
fn a_token_that_the_model_lacks_is_named_and_changes_nothing() {
    let want: [u32; 8] = tokens(&mut teller());
    let mut teller = teller();
    assert_eq!(tokens::<4>(&mut teller), want[..4]);
    for wrong in [512, u32::MAX] {
        let e = teller.token(wrong).unwrap_err();
        assert_eq!(e, Error::Invalid { what: "row index", value: i64::from(wrong as i32) });
    }
    assert_eq!(teller.left(), CONTEXT - 4);
    for i in 4..8 {
        assert_eq!(teller.token(want[i - 1]).unwrap(), want[i]);
    }
}

#[test]
fn steps_and_tasks_give_the_same_tokens() {
    let want: [u32; 6] = tokens(&mut teller());
    let (mut stepped, mut awaited) = (teller(), teller());
    let mut context = Context::from_waker(Waker::noop());
    let mut token = 1;
    for next in want {
        stepped.begin(token).unwrap();
        let mut step = 0;
        while step < Teller::<Model>::STEPS {
            step = stepped.step(step).unwrap();
        }
        assert_eq!(stepped.finish().unwrap(), next);
        // One that is given up half-way leaves no trace.
        {
            let mut given_up = pin!(awaited.token_async(next));
            for _ in 0..Teller::<Model>::STEPS / 2 {
                assert!(given_up.as_mut().poll(&mut context).is_pending());
            }
        }
        let mut task = pin!(awaited.token_async(token));
        let mut turns = 0;
        let got = loop {
            match task.as_mut().poll(&mut context) {
                Poll::Ready(token) => break token.unwrap(),
                Poll::Pending => turns += 1,
            }
        };
        assert_eq!((got, turns), (next, Teller::<Model>::STEPS));
        token = next;
    }
}

#[test]
fn a_story_begins_with_its_prompt_and_says_how_much_room_that_takes() {
    const PROMPT: &[u8] = b"Once upon a time";
    let mut story = Story::<_, { PROMPT.len() + 1 }>::new(teller(), PROMPT).unwrap();
    let mut text = Vec::new();
    for _ in 0..12 {
        text.extend_from_slice(story.piece());
        assert!(!story.is_over());
        story.advance().unwrap();
    }
    assert_eq!(text, b" Once upon a time, there was a little gir");
    let e = Story::<_, { PROMPT.len() }>::new(teller(), PROMPT).map(|_| ()).unwrap_err();
    let (need, have) = (PROMPT.len() + 1, PROMPT.len());
    assert_eq!(e, Error::Full { what: What::Scratch, need, have });
}
