//! The sampler: greedy, the chain, and what it does with broken logits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::{ErrorKind, Sampler, SamplingOptions};
use proptest::prelude::*;

fn options(temperature: f32) -> SamplingOptions {
    SamplingOptions { temperature: Some(temperature), seed: Some(7), ..SamplingOptions::default() }
}

fn draws(options: &SamplingOptions, logits: &[f32], count: usize) -> Vec<u32> {
    let mut sampler = Sampler::new(options).unwrap();
    (0..count).map(|_| sampler.sample(&mut logits.to_vec()).unwrap()).collect()
}

#[test]
fn greedy_takes_the_likeliest_and_the_lowest_of_equals() {
    assert_eq!(draws(&options(0.0), &[1.0, 3.0, 3.0, -2.0], 3), [1, 1, 1]);
    assert_eq!(Sampler::new(&options(0.0)).unwrap().seed(), None);
}

#[test]
fn top_k_of_one_is_greedy_at_any_temperature() {
    let one = SamplingOptions { top_k: Some(1), ..options(2.0) };
    assert_eq!(draws(&one, &[0.0, 0.1, 0.2], 5), [2; 5]);
}

#[test]
fn top_k_and_top_p_leave_only_likely_tokens() {
    let logits = [0.0, 5.0, 4.9, -1.0, 4.8];
    let two = SamplingOptions { top_k: Some(2), ..options(1.0) };
    assert!(draws(&two, &logits, 200).iter().all(|token| [1, 2].contains(token)));
    let mass = SamplingOptions { top_p: Some(0.3), ..options(1.0) };
    assert!(draws(&mass, &logits, 200).iter().all(|&token| token == 1));
}

#[test]
fn draws_follow_the_distribution() {
    let logits = [0.0_f32, 1.0, 2.0];
    let total: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
    let drawn = draws(&options(1.0), &logits, 20_000);
    for (token, &logit) in logits.iter().enumerate() {
        let expected = f64::from(logit).exp() / total;
        let seen = drawn.iter().filter(|&&other| other as usize == token).count() as f64 / 20_000.0;
        assert!((seen - expected).abs() < 0.015, "token {token}: drawn {seen:.3}, expected {expected:.3}");
    }
}

#[test]
fn a_seed_repeats_the_draws_and_another_one_does_not() {
    let logits: Vec<f32> = (0..50).map(|index| (index as f32 * 0.37).sin()).collect();
    let other = SamplingOptions { seed: Some(8), ..options(1.0) };
    assert_eq!(draws(&options(1.0), &logits, 50), draws(&options(1.0), &logits, 50));
    assert_ne!(draws(&options(1.0), &logits, 50), draws(&other, &logits, 50));
}

#[test]
fn the_draws_of_a_seed_are_the_same_on_every_platform_and_release() {
    let logits: Vec<f32> = (0..16).map(|index| index as f32 / 4.0).collect();
    insta::assert_debug_snapshot!(draws(&options(1.0), &logits, 12));
}

#[test]
fn a_fresh_seed_is_reported_and_repeats() {
    let free = SamplingOptions { seed: None, ..options(1.0) };
    let mut first = Sampler::new(&free).unwrap();
    let seed = first.seed().unwrap();
    let logits: Vec<f32> = (0..100).map(|index| (index as f32).cos()).collect();
    let drawn: Vec<_> = (0..20).map(|_| first.sample(&mut logits.clone()).unwrap()).collect();
    assert_eq!(drawn, draws(&SamplingOptions { seed: Some(seed), ..free }, &logits, 20));
}

#[test]
fn broken_logits_are_the_models_fault() {
    for mut logits in [vec![], vec![f32::NAN; 3], vec![f32::NEG_INFINITY; 2]] {
        for temperature in [0.0, 1.0] {
            let error = Sampler::new(&options(temperature)).unwrap().sample(&mut logits).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Backend);
        }
    }
    assert_eq!(draws(&options(0.0), &[f32::NAN, 1.0, f32::INFINITY], 1), [1]);
}

#[test]
fn bad_options_name_the_value() {
    let cases = [
        SamplingOptions { temperature: Some(-0.5), ..SamplingOptions::default() },
        SamplingOptions { temperature: Some(f32::INFINITY), ..SamplingOptions::default() },
        SamplingOptions { top_p: Some(0.0), ..SamplingOptions::default() },
        SamplingOptions { top_p: Some(1.5), ..SamplingOptions::default() },
        SamplingOptions { stop: vec![String::new()], ..SamplingOptions::default() },
    ];
    let errors: Vec<_> = cases.iter().map(|case| Sampler::new(case).unwrap_err().to_string()).collect();
    insta::assert_debug_snapshot!(errors);
}

proptest! {
    #[test]
    fn a_drawn_token_is_always_one_with_a_finite_logit(
        logits in prop::collection::vec(prop_oneof![
            8 => -40.0_f32..40.0,
            1 => Just(f32::NAN),
            1 => Just(f32::NEG_INFINITY),
        ], 1..60),
        temperature in prop_oneof![Just(0.0_f32), 0.01_f32..4.0],
        top_k in prop::option::of(0_usize..20),
        top_p in prop::option::of(0.01_f32..=1.0),
        seed in any::<u64>(),
    ) {
        prop_assume!(logits.iter().any(|logit| logit.is_finite()));
        let options = SamplingOptions {
            temperature: Some(temperature), top_k, top_p, seed: Some(seed), ..SamplingOptions::default()
        };
        let token = Sampler::new(&options).unwrap().sample(&mut logits.clone()).unwrap();
        let drawn = logits[token as usize];
        prop_assert!(drawn.is_finite());
        if let Some(keep) = top_k.filter(|&keep| keep > 0) {
            let likelier = logits.iter().filter(|&&logit| logit > drawn).count();
            prop_assert!(likelier < keep);
        }
    }
}
