//! Each step of sampling against its definition: what is drawn follows the distribution that the definition gives.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::SamplingOptions;
use alloquy_inference::Sampler;

const DRAWS: usize = 20_000;
const LOGITS: [f32; 12] = [2.1, 0.3, 2.1, -1.0, 3.4, 0.0, 1.7, -4.0, 2.9, 0.3, 1.1, f32::NEG_INFINITY];

fn drawn(options: &SamplingOptions, said: &[u32]) -> Vec<usize> {
    let mut sampler = Sampler::new(&SamplingOptions { seed: Some(11), ..options.clone() }).unwrap();
    said.iter().for_each(|&token| sampler.accept(token));
    let mut counts = vec![0; LOGITS.len()];
    for _ in 0..DRAWS {
        counts[sampler.sample(&mut LOGITS.to_vec()).unwrap() as usize] += 1;
    }
    counts
}

/// How far counts are from probabilities, and how far they may be but once in a thousand times.
fn chi_square(counts: &[usize], probabilities: &[f64]) -> (f64, f64) {
    let expected = |probability: f64| probability * DRAWS as f64;
    let term = |(&count, &probability): (&usize, &f64)| {
        assert!(count == 0 || probability > 0.0, "a token that a step rules out was drawn");
        if count == 0 && probability == 0.0 {
            return 0.0;
        }
        (count as f64 - expected(probability)).powi(2) / expected(probability)
    };
    let statistic = counts.iter().zip(probabilities).map(term).sum();
    let degrees = probabilities.iter().filter(|&&probability| probability > 0.0).count() as f64 - 1.0;
    // Wilson and Hilferty (1931): the cube root of chi-square is nearly normal; 3.09 is the quantile of 0.999.
    let spread = 2.0 / (9.0 * degrees.max(1.0));
    (statistic, degrees * (1.0 - spread + 3.09 * spread.sqrt()).powi(3))
}

fn follows(options: &SamplingOptions, said: &[u32], probabilities: &[f64]) {
    let counts = drawn(options, said);
    let (statistic, limit) = chi_square(&counts, probabilities);
    assert!(
        statistic <= limit,
        "{options:?}: chi-square {statistic:.1} is above {limit:.1}; drawn {counts:?}"
    );
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
    logits.iter().map(|logit| logit.exp() / total).collect()
}

fn logits() -> Vec<f64> {
    LOGITS.iter().copied().map(f64::from).collect()
}

/// The probabilities of what `keep` keeps.
fn kept(keep: impl Fn(usize) -> bool) -> Vec<f64> {
    let ruled_out = |(token, logit): (usize, f64)| if keep(token) { logit } else { f64::NEG_INFINITY };
    softmax(&logits().into_iter().enumerate().map(ruled_out).collect::<Vec<_>>())
}

/// The tokens in an order, each with the probability of all those before it.
fn cumulated(by: impl Fn(usize) -> f64) -> Vec<(usize, f64)> {
    let probabilities = softmax(&logits());
    let mut tokens: Vec<_> = (0..LOGITS.len()).collect();
    tokens.sort_by(|&left, &right| by(left).total_cmp(&by(right)));
    let mut before = 0.0;
    let with_mass = |token: usize| {
        let mass = before;
        before += probabilities[token];
        (token, mass)
    };
    tokens.into_iter().map(with_mass).collect()
}

fn options() -> SamplingOptions {
    SamplingOptions { temperature: Some(1.0), ..SamplingOptions::default() }
}

#[test]
fn the_test_tells_distributions_apart() {
    let counts = drawn(&SamplingOptions { temperature: Some(1.1), ..options() }, &[]);
    let (statistic, limit) = chi_square(&counts, &softmax(&logits()));
    assert!(
        statistic > 2.0 * limit,
        "chi-square {statistic:.1} does not show a wrong temperature: {limit:.1}"
    );
}

#[test]
fn temperature_divides_logits() {
    for temperature in [0.25_f32, 0.7, 1.0, 1.8] {
        let scaled: Vec<_> = logits().iter().map(|logit| logit / f64::from(temperature)).collect();
        follows(&SamplingOptions { temperature: Some(temperature), ..options() }, &[], &softmax(&scaled));
    }
}

#[test]
fn top_k_keeps_the_likeliest_and_their_equals() {
    // Tokens 0 and 2 are equally likely: whoever keeps the third keeps the fourth.
    for (keep, least) in [(2, 2.9), (3, 2.1), (4, 2.1), (5, 1.7), (100, f32::MIN)] {
        follows(
            &SamplingOptions { top_k: Some(keep), ..options() },
            &[],
            &kept(|token| LOGITS[token] >= least),
        );
    }
}

#[test]
fn top_p_keeps_the_likeliest_that_reach_the_mass() {
    let order = cumulated(|token| -f64::from(LOGITS[token]));
    for mass in [0.1_f32, 0.5, 0.9, 0.99] {
        let keep: Vec<_> =
            order.iter().filter(|(_, before)| *before < f64::from(mass)).map(|(token, _)| *token).collect();
        follows(
            &SamplingOptions { top_p: Some(mass), ..options() },
            &[],
            &kept(|token| keep.contains(&token)),
        );
    }
}

#[test]
fn min_p_keeps_what_is_likely_beside_the_likeliest() {
    let probabilities = softmax(&logits());
    let highest = probabilities.iter().copied().fold(0.0, f64::max);
    for share in [0.01_f32, 0.1, 0.3, 1.0] {
        let keep = |token: usize| probabilities[token] >= f64::from(share) * highest;
        follows(&SamplingOptions { min_p: Some(share), ..options() }, &[], &kept(keep));
    }
}

#[test]
fn typical_keeps_what_is_nearest_to_the_entropy() {
    let probabilities = softmax(&logits());
    let possible = probabilities.iter().filter(|&&probability| probability > 0.0);
    let entropy: f64 = possible.map(|probability| -probability * probability.ln()).sum();
    let distance = |token: usize| (-probabilities[token].ln() - entropy).abs();
    let order = cumulated(distance);
    for mass in [0.2_f32, 0.5, 0.9] {
        let last = order.iter().rfind(|(_, before)| *before < f64::from(mass)).unwrap().0;
        let keep = |token: usize| distance(token) <= distance(last);
        follows(&SamplingOptions { typical_p: Some(mass), ..options() }, &[], &kept(keep));
    }
}

#[test]
fn penalties_change_the_logits_of_what_was_said() {
    let said = [4, 4, 8, 5];
    let changed = |change: &dyn Fn(f64, f64) -> f64| {
        let count = |token: usize| said.iter().filter(|&&other| other as usize == token).count() as f64;
        let logits = logits().into_iter().enumerate();
        let penalized =
            logits.map(|(token, logit)| if count(token) > 0.0 { change(logit, count(token)) } else { logit });
        softmax(&penalized.collect::<Vec<_>>())
    };
    let repetition = SamplingOptions { repetition_penalty: Some(1.5), ..options() };
    follows(&repetition, &said, &changed(&|logit, _| if logit < 0.0 { logit * 1.5 } else { logit / 1.5 }));
    let presence = SamplingOptions { presence_penalty: Some(0.5), ..options() };
    follows(&presence, &said, &changed(&|logit, _| logit - 0.5));
    let frequency = SamplingOptions { frequency_penalty: Some(0.5), ..options() };
    follows(&frequency, &said, &changed(&|logit, count| logit - 0.5 * count));
}

#[test]
fn biases_suppressed_tokens_and_forbidden_repetitions() {
    let bias = SamplingOptions { logit_bias: [(3, 3.0), (99, 1.0)].into(), ..options() };
    let mut biased = logits();
    biased[3] += 3.0;
    follows(&bias, &[], &softmax(&biased));
    let suppress = SamplingOptions { suppress: vec![4, 8, 99], ..options() };
    follows(&suppress, &[], &kept(|token| ![4, 8].contains(&token)));
    let ngrams = SamplingOptions { no_repeat_ngram: Some(2), ..options() };
    follows(&ngrams, &[1, 4, 1, 8, 1], &kept(|token| ![4, 8].contains(&token)));
}

#[test]
fn steps_follow_each_other_in_the_order_of_transformers() {
    let both = SamplingOptions { temperature: Some(2.0), top_k: Some(5), top_p: Some(0.6), ..options() };
    // At temperature 2 the five likeliest tokens weigh e^1.7, e^1.45, e^1.05 twice and e^0.85.
    let weights =
        [(4, 1.7_f64), (8, 1.45), (0, 1.05), (2, 1.05), (6, 0.85)].map(|(token, logit)| (token, logit.exp()));
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let mut reached = 0.0;
    let keep = weights.iter().take_while(|(_, weight)| {
        let before = reached;
        reached += weight / total;
        before < 0.6
    });
    let keep: Vec<_> = keep.collect();
    let kept: f64 = keep.iter().map(|(_, weight)| weight).sum();
    let mut probabilities = vec![0.0; LOGITS.len()];
    keep.iter().for_each(|(token, weight)| probabilities[*token] = weight / kept);
    follows(&both, &[], &probabilities);
}
