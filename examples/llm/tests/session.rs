//! Sessions: batches, positions, threads, errors.

mod common;

use common::{devices, stories, with_session};
use dinrail_core::tensor::DType;
use dinrail_llm::session::{Error, Next, Options};

const TOKENS: [u32; 18] =
    [1, 403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 338, 401];

/// Logits behind all of [`TOKENS`].
fn logits(name: &str, options: Options, threads: usize, cut: &[usize]) -> Vec<Vec<f32>> {
    let file = stories(name);
    // The oracle has one thread and no kernels that differ by batch.
    devices()
        .into_iter()
        .filter(|d| d.name() != "Reference")
        .map(|device| {
            with_session(device, &file, options, threads, |run| {
                let mut logits = vec![0.0; run.vocab()];
                let mut rest = &TOKENS[..];
                for n in cut {
                    let (now, later) = rest.split_at(*n);
                    run.eval(now, &mut logits).unwrap();
                    rest = later;
                }
                run.eval(rest, &mut logits).unwrap();
                assert_eq!(run.used(), TOKENS.len());
                logits
            })
        })
        .collect()
}

fn near(a: &[Vec<f32>], b: &[Vec<f32>], bound: f32) {
    for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
        assert!((a - b).abs() <= bound, "{a} and {b}");
    }
}

#[test]
fn however_the_tokens_are_cut_the_logits_are_the_same() {
    // Sums may be taken in another order for another number of tokens. Where activations are rounded to 8 bits, the
    // smallest difference sends some of them the other way: see `reference.rs` for that bound.
    for (name, bound, cache_bound) in
        [("stories260K-f32", 1e-3, 0.05), ("stories260K-Q8_0", 0.5, 0.5)]
    {
        let of = |options, cut: &[usize]| logits(name, options, 1, cut);
        let all = of(Options::context(32), &[]);
        assert!(all.iter().all(|l| l.iter().all(|x| x.is_finite())));
        near(&all, &of(Options { batch: 1, ..Options::context(32) }, &[]), bound);
        near(&all, &of(Options { batch: 7, ..Options::context(32) }, &[3, 1]), bound);
        // Hidden cells of the cache change nothing.
        near(&all, &of(Options::context(18), &[]), bound);
        near(&all, &of(Options { cache: DType::F32, ..Options::context(32) }, &[]), cache_bound);
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    for name in ["stories260K-f32", "stories260K-Q8_0", "stories260K-Q4_0"] {
        for cut in [&[][..], &[1; 17], &[3, 2, 8]] {
            let bits = |threads| -> Vec<u32> {
                let of_all = logits(name, Options::context(32), threads, cut);
                of_all.iter().flatten().map(|x| x.to_bits()).collect()
            };
            assert_eq!(bits(1), bits(2), "{name}, {cut:?}");
        }
    }
}

#[test]
fn positions_are_kept_and_forgotten() {
    let file = stories("stories260K-f32");
    with_session(devices()[0], &file, Options::context(8), 1, |run| {
        let (mut first, mut again) = (vec![0.0; 512], vec![0.0; 512]);
        run.eval(&TOKENS[..6], &mut first).unwrap();
        run.eval(&[7, 8], &mut again).unwrap();
        assert_eq!((run.used(), run.left(), run.context()), (8, 0, 8));
        let full = run.eval(&[9], &mut again).unwrap_err();
        assert_eq!(full, Error::ContextFull { used: 8, new: 1, context: 8 });
        assert!(full.to_string().contains("8 of 8 positions"), "{full}");

        run.keep(5);
        run.eval(&TOKENS[5..6], &mut again).unwrap();
        assert_eq!(run.used(), 6);
        near(&[first.clone()], &[again.clone()], 1e-3);
        run.keep(100);
        assert_eq!(run.used(), 6);
        run.reset();
        run.eval(&TOKENS[..6], &mut again).unwrap();
        assert_eq!(first, again);

        assert_eq!(run.eval(&[], &mut again), Err(Error::Empty));
        assert_eq!(run.eval(&[512], &mut again), Err(Error::Token { id: 512, vocab: 512 }));
        let short = run.eval(&[1], &mut again[..511]);
        assert_eq!(short, Err(Error::Logits { need: 512, have: 511 }));
        assert_eq!(run.used(), 6);
    });
}

#[test]
fn a_long_prompt_can_be_stopped_between_batches() {
    let file = stories("stories260K-Q8_0");
    let options = Options { batch: 4, ..Options::context(32) };
    with_session(devices()[0], &file, options, 1, |run| {
        let mut logits = vec![0.0; 512];
        let mut seen = Vec::new();
        let stopped = run.eval_with(&TOKENS, &mut logits, |done| {
            seen.push(done);
            if done >= 8 { Next::Stop } else { Next::Go }
        });
        assert_eq!(stopped, Err(Error::Core(dinrail_core::Error::Cancelled)));
        assert_eq!((seen, run.used()), (vec![4, 8], 8));
        run.eval(&TOKENS[8..], &mut logits).unwrap();
        assert_eq!(run.used(), TOKENS.len());
    });
}
