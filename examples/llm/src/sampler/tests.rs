use super::*;
use std::format;
use std::vec;
use std::vec::Vec;

/// Draws `count` times from `logits`; the share of each token.
fn shares(config: Config, logits: &[f32], count: usize) -> Vec<f64> {
    let mut sampler = Sampler::new(config).unwrap();
    let mut scratch = vec![0; config.scratch_len(logits.len())];
    let mut shares = vec![0.0; logits.len()];
    for _ in 0..count {
        let id = sampler.sample(&mut logits.to_vec(), &[], &mut scratch).unwrap();
        shares[id as usize] += 1.0 / count as f64;
    }
    shares
}

const PLAIN: Config = Config { temperature: 1.0, ..Config::GREEDY };

#[test]
fn random_numbers_are_the_published_ones() {
    let mut rng = Rng::with_stream(42, 54);
    let got: Vec<u32> = (0..6).map(|_| rng.next_u32()).collect();
    assert_eq!(got, [0xa15c_02b7, 0x7b47_f409, 0xba1d_3330, 0x83d2_f293, 0xbfa4_784b, 0xcbed_606e]);
}

#[test]
fn temperature_zero_takes_the_highest_and_the_lowest_id_of_equals() {
    let mut sampler = Sampler::new(Config { seed: 3, ..Config::GREEDY }).unwrap();
    let mut logits = [1.0, 5.0, -2.0, 5.0, f32::NEG_INFINITY];
    assert_eq!(sampler.sample(&mut logits, &[], &mut []), Ok(1));
    assert_eq!(greedy(&logits), Ok(1));
}

#[test]
fn draws_follow_the_softmax() {
    let logits = [0.0, 1.0, 2.0, -1.0];
    for temperature in [0.5, 1.0, 2.0] {
        let weights = logits.map(|logit: f64| (logit / temperature).exp());
        let sum: f64 = weights.iter().sum();
        let config = Config { temperature: temperature as f32, ..PLAIN };
        let shares = shares(config, &logits.map(|logit| logit as f32), 40_000);
        for (share, weight) in shares.iter().zip(weights) {
            // Four standard deviations of a share are below 0.01.
            assert!((share - weight / sum).abs() < 0.01, "{share} {}", weight / sum);
        }
    }
}

#[test]
fn top_k_takes_the_highest_with_scratch_for_k() {
    let mut rng = Rng::new(5);
    for round in 0..200 {
        let len = 1 + rng.next_u32() as usize % 50;
        // Few values, so there are ties.
        let logits: Vec<f32> = (0..len).map(|_| (rng.next_u32() % 9) as f32).collect();
        let k = rng.next_u32() as usize % (len + 3);
        let config = Config { top_k: k, ..PLAIN };
        let mut best = vec![u32::MAX; config.scratch_len(len)];
        assert_eq!(best.len(), if k == 0 { len } else { k.min(len) });
        top(&logits, &mut best);
        let mut sorted: Vec<u32> = (0..len as u32).collect();
        sorted.sort_by(|&a, &b| logits[b as usize].total_cmp(&logits[a as usize]));
        assert_eq!(best, sorted[..best.len()], "round {round}");
    }
    let shares = shares(Config { top_k: 2, ..PLAIN }, &[1.0, 3.0, 2.9, 2.8], 2000);
    assert!(shares[0] == 0.0 && shares[1] > 0.4 && shares[2] > 0.4 && shares[3] == 0.0);
}

#[test]
fn top_p_and_min_p_cut_the_tail() {
    // Probabilities 0.5, 0.3, 0.15, 0.05.
    let logits = [0.5f32, 0.3, 0.15, 0.05].map(libm::logf);
    let kept = |config| {
        let shares = shares(config, &logits, 3000);
        shares.iter().filter(|&&share| share > 0.0).count()
    };
    for (top_p, count) in [(0.0, 1), (0.4, 1), (0.6, 2), (0.9, 3), (0.97, 4), (1.0, 4)] {
        assert_eq!(kept(Config { top_p, ..PLAIN }), count, "top_p {top_p}");
    }
    for (min_p, count) in [(0.0, 4), (0.09, 4), (0.2, 3), (0.5, 2), (0.7, 1), (1.0, 1)] {
        assert_eq!(kept(Config { min_p, ..PLAIN }), count, "min_p {min_p}");
    }
    // The cuts look at the probabilities before the temperature flattens them.
    assert_eq!(kept(Config { min_p: 0.5, temperature: 5.0, ..PLAIN }), 2);
    // Top-p counts among what top-k left.
    assert_eq!(kept(Config { top_k: 2, top_p: 0.6, ..PLAIN }), 1);
}

#[test]
fn repetition_is_punished_once_and_only_in_the_window() {
    let config = Config { repeat_penalty: 2.0, repeat_last: 3, ..Config::GREEDY };
    let mut sampler = Sampler::new(config).unwrap();
    let mut logits = [4.0, 3.0, -1.0];
    assert_eq!(sampler.sample(&mut logits, &[0, 0, 2], &mut []), Ok(1));
    assert_eq!(logits, [2.0, 3.0, -2.0]);
    let mut logits = [4.0, 3.0, -1.0];
    assert_eq!(sampler.sample(&mut logits, &[0, 1, 1, 1], &mut []), Ok(0));
    // An extreme penalty neither revives a token that is masked nor makes nonsense.
    let harsh = Config { repeat_penalty: f32::MAX, temperature: 1.0, ..config };
    let mut logits = [f32::NEG_INFINITY, -9.0, f32::NEG_INFINITY];
    assert_eq!(Sampler::new(harsh).unwrap().sample(&mut logits, &[0, 1], &mut [0; 3]), Ok(1));
    let error = sampler.sample(&mut [0.0; 3], &[7], &mut []);
    assert_eq!(error, Err(Error::Token { id: 7, len: 3 }));
}

#[test]
fn same_seed_same_tokens() {
    let logits: Vec<f32> = (0..100).map(|id| ((id * 37) % 100) as f32 / 20.0).collect();
    let run = |seed| {
        let mut sampler = Sampler::new(Config { seed, ..Config::CHAT }).unwrap();
        let mut scratch = [0; 40];
        let ids: Vec<u32> = (0..12)
            .map(|_| sampler.sample(&mut logits.clone(), &[], &mut scratch).unwrap())
            .collect();
        ids
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    // Written down, so that another machine can be held to it.
    assert_eq!(run(1), GOLDEN);
}

const GOLDEN: [u32; 12] = [51, 27, 67, 70, 24, 54, 32, 40, 81, 43, 89, 62];

#[test]
fn nonsense_is_refused() {
    let mut sampler = Sampler::new(PLAIN).unwrap();
    let before = sampler.rng.clone();
    let mut run = |logits: &[f32]| sampler.sample(&mut logits.to_vec(), &[], &mut [0; 4]);
    assert_eq!(run(&[]), Err(Error::Empty));
    assert_eq!(run(&[f32::NEG_INFINITY; 3]), Err(Error::Empty));
    assert_eq!(run(&[0.0, f32::NAN]), Err(Error::NotFinite { id: 1 }));
    assert_eq!(run(&[0.0, 1.0, f32::INFINITY]), Err(Error::NotFinite { id: 2 }));
    assert_eq!(run(&[0.0; 5]), Err(Error::Scratch { need: 5, got: 4 }));
    assert_eq!(sampler.rng, before);
    for (config, field) in [
        (Config { temperature: -1.0, ..PLAIN }, "temperature"),
        (Config { temperature: f32::NAN, ..PLAIN }, "temperature"),
        (Config { top_p: 1.5, ..PLAIN }, "top_p"),
        (Config { min_p: f32::NAN, ..PLAIN }, "min_p"),
        (Config { repeat_penalty: 0.0, ..PLAIN }, "repeat_penalty"),
    ] {
        let error = Sampler::new(config).unwrap_err();
        assert!(matches!(error, Error::Config { field: got, .. } if got == field), "{error}");
        assert!(format!("{error}").contains(field));
    }
}

#[test]
fn extreme_logits_still_give_a_token() {
    for config in [PLAIN, Config { temperature: 1e-30, ..Config::CHAT }, Config::CHAT] {
        for logits in [
            [f32::MAX, f32::MIN, 0.0],
            [f32::NEG_INFINITY, -1e30, f32::NEG_INFINITY],
            [f32::MIN_POSITIVE, 0.0, -0.0],
        ] {
            let mut sampler = Sampler::new(config).unwrap();
            for _ in 0..20 {
                let id = sampler.sample(&mut logits.clone(), &[], &mut [0; 3]).unwrap();
                assert!(logits[id as usize] > f32::NEG_INFINITY);
            }
        }
    }
}
