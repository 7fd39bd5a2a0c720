//! How long one draw takes over the vocabulary of Qwen3: 151,936 logits. Copying them is part of each figure.
#![allow(clippy::unwrap_used, missing_docs)] // a benchmark may panic

use std::hint::black_box;

use alloquy_core::SamplingOptions;
use alloquy_inference::Sampler;
use criterion::{Criterion, criterion_group, criterion_main};

const VOCABULARY: usize = 151_936;

/// Logits as models give them: normal, with a few far above the rest. A spread of 0 makes all tokens nearly equal.
fn logits(spread: f32) -> Vec<f32> {
    let mut state = 7_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 24) as f32
    };
    // The sum of twelve uniform numbers is nearly normal.
    let mut normal = || (0..12).map(|_| uniform()).sum::<f32>() - 6.0;
    let mut logits: Vec<_> = (0..VOCABULARY).map(|_| spread * normal() + 0.001 * normal()).collect();
    logits.iter_mut().step_by(10_007).for_each(|logit| *logit += 5.0 * spread);
    logits
}

fn cases() -> Vec<(&'static str, SamplingOptions)> {
    let drawn = || SamplingOptions { temperature: Some(0.7), seed: Some(1), ..SamplingOptions::default() };
    let qwen = || SamplingOptions { top_k: Some(20), top_p: Some(0.95), ..drawn() };
    vec![
        ("greedy", SamplingOptions::default()),
        ("temperature", drawn()),
        ("top-k 20", SamplingOptions { top_k: Some(20), ..drawn() }),
        ("top-k 1000", SamplingOptions { top_k: Some(1000), ..drawn() }),
        ("top-p 0.95", SamplingOptions { top_p: Some(0.95), ..drawn() }),
        ("min-p 0.05", SamplingOptions { min_p: Some(0.05), ..drawn() }),
        ("typical 0.9", SamplingOptions { typical_p: Some(0.9), ..drawn() }),
        ("top-k 20, top-p 0.95", qwen()),
        (
            "the same with penalties",
            SamplingOptions {
                repetition_penalty: Some(1.1),
                frequency_penalty: Some(0.2),
                no_repeat_ngram: Some(3),
                ..qwen()
            },
        ),
    ]
}

fn bench(criterion: &mut Criterion) {
    for (shape, spread) in [("peaked", 2.5), ("flat", 0.0)] {
        let logits = logits(spread);
        let mut scratch = logits.clone();
        for (name, options) in cases() {
            let mut sampler = Sampler::new(&options).unwrap();
            sampler.read((0..4000).map(|token| token * 37 % 5000));
            criterion.bench_function(&format!("{shape}/{name}"), |bencher| {
                bencher.iter(|| {
                    scratch.copy_from_slice(&logits);
                    sampler.sample(black_box(&mut scratch)).unwrap()
                });
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).measurement_time(std::time::Duration::from_secs(1)).warm_up_time(std::time::Duration::from_millis(300));
    targets = bench
}
criterion_main!(benches);
