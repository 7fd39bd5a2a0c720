//! Graphs that are edited so that they compute the last logits of a prompt only.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)] // a test may panic

mod common;

use alloquy_engine::{CancelToken, Engine};
use alloquy_onnx::{GraphCacheStatus, GraphOptimization, OnnxEngine, PromptLogits};

use common::{feed, likeliest, load, models, units};

const EXPORTS: [&str; 9] = [
    "stories260k",
    "stories260k-past-present",
    "tiny/genai-qwen3-fp32",
    "tiny/genai-gemma3-fp32-windowed",
    "tiny/genai-llama-int4",
    "tiny/optimum-gemma3",
    "tiny/optimum-qwen3",
    "stateful/lfm2-fp32",
    "stateful/qwen3_5-fp32",
];

#[test]
fn an_edited_graph_gives_the_logits_of_the_exported_one() {
    let Some(models) = models() else { return };
    for name in EXPORTS {
        let edited = load(&models, name);
        assert_eq!(edited.prompt_logits(), &PromptLogits::Edited, "{name}");
        let builder = OnnxEngine::builder(models.join(name)).threads(1);
        let exported = builder.graph_optimization(GraphOptimization::Disable).load().unwrap();
        assert!(matches!(exported.prompt_logits(), PromptLogits::All { .. }), "{name}");
        assert_ne!(edited.identity(), exported.identity(), "{name}");
        let prompt: Vec<u32> = (20..70).collect();
        let mut sessions = [&edited, &exported].map(|engine| engine.open().unwrap());
        for chunk in [50, 1, 7] {
            let logits = sessions.each_mut().map(|session| {
                session.truncate(0).unwrap();
                feed(session.as_mut(), &prompt, chunk)
            });
            let differences = logits[0].iter().zip(&logits[1]).map(|(left, right)| (left - right).abs());
            let largest = differences.fold(0.0, f32::max);
            assert!(largest < 0.05, "{name} in chunks of {chunk}: {largest}");
            assert_eq!(likeliest(&logits[0]), likeliest(&logits[1]), "{name} in chunks of {chunk}");
        }
    }
}

#[test]
fn an_edited_graph_is_kept_in_the_cache_of_graphs() {
    let Some(models) = models() else { return };
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        OnnxEngine::builder(models.join("stateful/lfm2-int4"))
            .threads(1)
            .graph_cache(folder.path())
            .load()
            .unwrap()
    };
    let first = open();
    let second = open();
    assert_eq!(first.graph_cache(), &GraphCacheStatus::Written);
    assert_eq!(second.graph_cache(), &GraphCacheStatus::Read);
    assert_eq!(second.prompt_logits(), &PromptLogits::Edited);
    let logits = [&first, &second].map(|engine| {
        let mut session = engine.open().unwrap();
        session.forward(&units(&[5, 6, 7]), &CancelToken::default()).unwrap().to_vec()
    });
    assert_eq!(logits[0], logits[1]);
}
