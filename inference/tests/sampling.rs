//! The sampler: greedy, the chain, and what it does with broken logits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::sampling::PenaltyScope;
use alloquy_core::{ErrorKind, SamplingOptions};
use alloquy_inference::Sampler;
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
        SamplingOptions { stop_tokens: vec![vec![1], vec![]], ..SamplingOptions::default() },
        SamplingOptions { min_p: Some(1.1), ..SamplingOptions::default() },
        SamplingOptions { typical_p: Some(0.0), ..SamplingOptions::default() },
        SamplingOptions { repetition_penalty: Some(0.0), ..SamplingOptions::default() },
        SamplingOptions { presence_penalty: Some(f32::NAN), ..SamplingOptions::default() },
        SamplingOptions { frequency_penalty: Some(f32::NEG_INFINITY), ..SamplingOptions::default() },
        SamplingOptions { logit_bias: [(3, f32::INFINITY)].into(), ..SamplingOptions::default() },
        SamplingOptions { no_repeat_ngram: Some(4), penalty_window: Some(3), ..SamplingOptions::default() },
    ];
    let errors: Vec<_> = cases.iter().map(|case| Sampler::new(case).unwrap_err().to_string()).collect();
    insta::assert_debug_snapshot!(errors);
}

#[test]
fn what_one_asker_leaves_open_the_next_one_fills() {
    let call = SamplingOptions {
        min_p: Some(0.1),
        suppress: vec![1],
        logit_bias: [(1, 1.0), (2, 2.0)].into(),
        stop: vec!["a".into()],
        ..SamplingOptions::default()
    };
    let defaults = SamplingOptions {
        min_p: Some(0.5),
        frequency_penalty: Some(0.2),
        suppress: vec![1, 2],
        logit_bias: [(2, 9.0), (3, 3.0)].into(),
        stop: vec!["b".into()],
        ..SamplingOptions::default()
    };
    let expected = SamplingOptions {
        suppress: vec![1, 2],
        logit_bias: [(1, 1.0), (2, 2.0), (3, 3.0)].into(),
        stop: vec!["a".into(), "b".into()],
        frequency_penalty: Some(0.2),
        ..call.clone()
    };
    assert_eq!(call.clone().or(&defaults), expected);
    assert_eq!(call.clone().or(&SamplingOptions::default()), call);
    assert_eq!(SamplingOptions::default().or(&defaults), defaults);
    assert!(SamplingOptions::default().is_empty() && !call.is_empty());
}

#[test]
fn options_come_back_as_they_were_written() {
    let options = SamplingOptions {
        logit_bias: [(7, -100.0)].into(),
        penalty_scope: Some(PenaltyScope::PromptAndReply),
        stop_tokens: vec![vec![1, 2]],
        ..options(0.6)
    };
    let text = serde_json::to_string(&options).unwrap();
    insta::assert_snapshot!(text);
    assert_eq!(serde_json::from_str::<SamplingOptions>(&text).unwrap(), options);
    assert_eq!(serde_json::to_string(&SamplingOptions::default()).unwrap(), "{}");
}

#[test]
fn penalties_count_the_prompt_as_their_originals_do_unless_told() {
    let edited = |options: &SamplingOptions| {
        let mut sampler = Sampler::new(options).unwrap();
        sampler.read([0]);
        sampler.accept(1);
        let mut logits = [1.0; 3];
        sampler.sample(&mut logits).unwrap();
        logits
    };
    let repetition = SamplingOptions { repetition_penalty: Some(2.0), ..SamplingOptions::default() };
    assert_eq!(edited(&repetition), [0.5, 0.5, 1.0]);
    let scope =
        |scope, options: &SamplingOptions| SamplingOptions { penalty_scope: Some(scope), ..options.clone() };
    assert_eq!(edited(&scope(PenaltyScope::Reply, &repetition)), [1.0, 0.5, 1.0]);
    let presence = SamplingOptions { presence_penalty: Some(0.5), ..SamplingOptions::default() };
    assert_eq!(edited(&presence), [1.0, 0.5, 1.0]);
    assert_eq!(edited(&scope(PenaltyScope::PromptAndReply, &presence)), [0.5, 0.5, 1.0]);
    let ngrams = SamplingOptions { no_repeat_ngram: Some(1), ..SamplingOptions::default() };
    assert_eq!(edited(&ngrams), [f32::NEG_INFINITY, f32::NEG_INFINITY, 1.0]);
    assert_eq!(edited(&scope(PenaltyScope::Reply, &ngrams)), [1.0, f32::NEG_INFINITY, 1.0]);
}

/// Every step at once, each present or absent.
fn any_options() -> impl Strategy<Value = SamplingOptions> {
    let filters = (
        prop::option::of(0_usize..20),
        prop::option::of(0.01_f32..=1.0),
        prop::option::of(0.0_f32..=1.0),
        prop::option::of(0.01_f32..=1.0),
    );
    let penalties = (
        prop::option::of(0.1_f32..4.0),
        prop::option::of(-2.0_f32..2.0),
        prop::option::of(-2.0_f32..2.0),
        prop::option::of(5_usize..9),
    );
    let temperature = prop_oneof![Just(0.0_f32), Just(1e-30), 0.01_f32..4.0, Just(1e30)];
    let bias = prop::collection::btree_map(0_u32..80, -9.0_f32..9.0, 0..4);
    (filters, penalties, temperature, bias, any::<u64>()).prop_map(
        |(filters, penalties, temperature, bias, seed)| {
            let (top_k, top_p, min_p, typical_p) = filters;
            let (repetition_penalty, presence_penalty, frequency_penalty, penalty_window) = penalties;
            SamplingOptions {
                temperature: Some(temperature),
                top_k,
                top_p,
                min_p,
                typical_p,
                repetition_penalty,
                presence_penalty,
                frequency_penalty,
                penalty_window,
                logit_bias: bias,
                seed: Some(seed),
                ..SamplingOptions::default()
            }
        },
    )
}

/// Logits of which a few are broken.
fn any_logits() -> impl Strategy<Value = Vec<f32>> {
    let logit = prop_oneof![
        8 => -40.0_f32..40.0,
        2 => (-4_i8..4).prop_map(f32::from),
        1 => Just(f32::NAN),
        1 => Just(f32::NEG_INFINITY),
        1 => Just(f32::INFINITY),
    ];
    prop::collection::vec(logit, 1..60)
}

proptest! {
    #[test]
    fn a_drawn_token_is_always_one_with_a_finite_logit(
        logits in any_logits(),
        options in any_options(),
        said in prop::collection::vec(0_u32..80, 0..12),
    ) {
        prop_assume!(logits.iter().any(|logit| logit.is_finite()));
        let mut sampler = Sampler::new(&options).unwrap();
        said.iter().for_each(|&token| sampler.accept(token));
        let mut edited = logits.clone();
        let token = sampler.sample(&mut edited).unwrap();
        let drawn = edited[token as usize];
        prop_assert!(drawn.is_finite() && logits[token as usize].is_finite());
        if let Some(keep) = options.top_k.filter(|&keep| keep > 0) {
            let likelier = edited.iter().filter(|&&logit| logit.is_finite() && logit > drawn).count();
            prop_assert!(likelier < keep);
        }
    }

    #[test]
    fn steps_remember_what_they_were_told_and_no_more(
        said in prop::collection::vec(0_u32..4, 0..40),
        size in 1_usize..4,
        window in prop::option::of(4_usize..12),
        scope in prop::option::of(Just(PenaltyScope::Reply)),
        prompt in 0_usize..20,
    ) {
        let options = SamplingOptions {
            frequency_penalty: Some(1.0),
            no_repeat_ngram: Some(size),
            penalty_window: window,
            penalty_scope: scope.or(Some(PenaltyScope::PromptAndReply)),
            ..SamplingOptions::default()
        };
        let prompt = prompt.min(said.len());
        let mut sampler = Sampler::new(&options).unwrap();
        sampler.read(said[..prompt].iter().copied());
        said[prompt..].iter().for_each(|&token| sampler.accept(token));
        let mut edited = [0.0; 5];
        sampler.sample(&mut edited).unwrap();
        // The same by looking at all tokens again.
        let counted = if scope.is_some() { &said[prompt..] } else { &said[..] };
        let recent = &counted[counted.len().saturating_sub(window.unwrap_or(usize::MAX))..];
        for (token, edited) in (0..4).zip(edited) {
            let repeats = recent.len() >= size && recent.windows(size).any(|gram| {
                gram[size - 1] == token && gram[..size - 1] == recent[recent.len() - (size - 1)..]
            });
            let count = recent.iter().filter(|&&other| other == token).count();
            prop_assert_eq!(edited, if repeats { f32::NEG_INFINITY } else { -(count as f32) });
        }
    }
}
