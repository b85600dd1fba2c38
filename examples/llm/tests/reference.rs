//! Whole models against what llama.cpp computed on the same files.
//!
//! # How near the first logits must be
//!
//! **f32.** The peer stores keys and values in half precision, and rounds queries and attention weights to half precision;
//! so does the CPU backend, and its logits are within 1e-3 of the peer's. The oracle rounds nothing but the cache, which
//! moves logits of up to 18 by up to 0.012 on these prompts: it is within 1e-3 of the model computed by hand without that
//! rounding, and that model with the rounding is within 1e-3 of the peer.
//!
//! **Quantised.** Both sides may round activations to 8 bits, in groups of 32 with the strongest at ±127. The error of one
//! is uniform in ±peak/254; with a peak of 2 to 2.5 standard deviations that is about 0.5 % of the activations' own
//! size, and as much of the size of each product. What the residual stream collects from two sums a layer, each behind two
//! or three products, and the last product's own error add up (as squares) to about 1 %. Logits here have a root
//! mean square of 10, the largest of 512 errors is about 3 deviations, and the two sides round independently:
//! 0.01 · 10 · 3 · √2 = 0.42, so the bound is 0.5. The oracle, which rounds nothing, is within 0.17; two that round are
//! within 0.25.
//!
//! # Where tokens must be equal
//!
//! A token that the peer prefers by more than 0.1 must be ours. In the quantised model of 30 layers that holds for the
//! first token after a prompt; further on, levels that lie between two values of 8 bits and fall the other way have added
//! up, and the line is drawn at 0.3.

mod common;

use common::exact::{Rounding, logits as by_hand};
use common::{Case, Cases, devices, smollm2, stories, with_session};
use dinrail_llm::sampler::greedy;
use dinrail_llm::session::{Options as Size, Session};
use dinrail_llm::tokenizer::{Any, Options};

const QUANTISED: f32 = 0.5;
const F32: f32 = 1e-3;
const SURE: f32 = 0.1;
const SURE_DEEP: f32 = 0.3;

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Follows the peer's greedy tokens until one that differs where the peer itself was not sure. Returns how many were
/// compared.
fn follow(run: &mut Session<'_>, case: &Case, logits: &mut [f32], sure: f32) -> usize {
    for (i, (&token, &margin)) in case.greedy_tokens.iter().zip(&case.greedy_margin).enumerate() {
        let ours = greedy(logits).unwrap();
        if ours != token {
            let what = format!("{:?}, token {i}: {ours}, not {token}", case.prompt);
            assert!(margin <= sure, "{what}, which the peer prefers by {margin}");
            return i;
        }
        if i + 1 < case.greedy_tokens.len() {
            run.eval(&[token], logits).unwrap();
        }
    }
    case.greedy_tokens.len()
}

/// Prompt tokens and greedy tokens like the peer's; `check` gets the first logits.
fn like_the_peer(name: &str, check: impl Fn(&Case, &[f32], bool)) {
    for device in devices() {
        let file = stories(name);
        let tokenizer = Any::new(file.header()).unwrap();
        with_session(device, &file, Size::context(128), 1, |run| {
            let mut followed = 0;
            for case in &Cases::read(name).0 {
                let ids = tokenizer.tokens(case.prompt.as_bytes(), Options::PROMPT).unwrap();
                assert_eq!(ids, case.prompt_tokens, "{:?}", case.prompt);
                let mut logits = vec![0.0; run.vocab()];
                run.reset();
                run.eval(&ids, &mut logits).unwrap();
                check(case, &logits, device.name() == "Reference");
                followed += follow(run, case, &mut logits, SURE);
            }
            // Four prompts of 64 tokens, of which one is soon at a place where the peer was not sure.
            assert!(followed >= 100, "only {followed} greedy tokens could be compared");
        });
    }
}

#[test]
fn stories_f32() {
    let name = "stories260K-f32";
    let file = stories(name);
    like_the_peer(name, |case, ours, oracle| {
        let difference = largest_difference(ours, &case.first_logits);
        println!("{:?}: {difference} off the peer", case.prompt);
        if !oracle {
            assert!(difference < F32, "{:?}: {difference} off the peer", case.prompt);
            return;
        }
        let peers = by_hand(&file, &case.prompt_tokens, Rounding::Peer);
        let difference = largest_difference(&case.first_logits, &peers);
        assert!(difference < F32, "{:?}: the peer is {difference} off its model", case.prompt);
        let model = by_hand(&file, &case.prompt_tokens, Rounding::Cache);
        let difference = largest_difference(ours, &model);
        println!("{:?}: {difference} off the model", case.prompt);
        assert!(difference < F32, "{:?}: {difference} off the model", case.prompt);
    });
}

fn quantised(name: &str) {
    like_the_peer(name, |case, ours, _| {
        let difference = largest_difference(ours, &case.first_logits);
        println!("{name}, {:?}: {difference} off the peer", case.prompt);
        assert!(difference < QUANTISED, "{:?}: {difference} off the peer", case.prompt);
    });
}

#[test]
fn stories_q8_0() {
    quantised("stories260K-Q8_0");
}

#[test]
fn stories_q4_0() {
    quantised("stories260K-Q4_0");
}

/// The ids of the `n` largest.
fn top(logits: &[f32], n: usize) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
    ids.sort_by(|a, b| logits[*b as usize].total_cmp(&logits[*a as usize]));
    ids.truncate(n);
    ids
}

#[test]
fn smollm2_q4_1() {
    let Some(file) = smollm2() else { return };
    let tokenizer = Any::new(file.header()).unwrap();
    // The oracle takes minutes for this model.
    for device in devices().into_iter().filter(|d| d.name() != "Reference") {
        with_session(device, &file, Size::context(128), 2, |run| {
            for case in &Cases::read("SmolLM2-135M-Instruct.Q4_1").0 {
                let ids = tokenizer.tokens(case.prompt.as_bytes(), Options::PROMPT).unwrap();
                assert_eq!(ids, case.prompt_tokens, "{:?}", case.prompt);
                let mut logits = vec![0.0; run.vocab()];
                run.reset();
                run.eval(&ids, &mut logits).unwrap();
                let ours = top(&logits, 10);
                let peers: Vec<u32> = case.first_top.iter().take(10).map(|t| t.0).collect();
                let shared = ours.iter().filter(|id| peers.contains(id)).count();
                assert!(shared >= 9, "{:?}: {ours:?}, not {peers:?}", case.prompt);
                if case.greedy_margin[0] > SURE {
                    assert_eq!(ours[0], peers[0], "{:?}", case.prompt);
                }
                println!(
                    "{:?}: {} tokens like the peer's",
                    case.prompt,
                    follow(run, case, &mut logits, SURE_DEEP)
                );
            }
        });
    }
}
