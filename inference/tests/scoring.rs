//! How likely texts are: right, one after the other, and without a trace.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::{
    ChatModel, Conversation, ErrorKind, Manager, Message, Preface, Request, SamplingOptions, TurnRequest,
};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{EchoModel, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use pollster::block_on;

const SCRIPT: [(&str, &str); 2] =
    [("<user>Hi<end><assistant>", "Hello!"), ("<user>And now?<end><assistant>", "Now we talk.")];

fn round(engine: &ScriptedEngine) -> LanguageModel {
    let engine = Arc::new(engine.clone());
    LanguageModel::builder(Generator::new(engine, GeneratorOptions::default()).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

fn request(text: &str) -> Request {
    Request::new(Preface::default(), vec![Message::user(text)])
}

fn targets() -> Vec<String> {
    ["Hello!", "Help!", "", "<end>"].map(str::to_owned).to_vec()
}

/// The script's next token is 10 above all others: its probability, and that of any other.
fn logprobs(engine: &ScriptedEngine) -> (f64, f64) {
    use alloquy_engine::Engine;
    let others = (engine.model().vocabulary - 1) as f64;
    let total = (10_f64.exp() + others).ln();
    (10.0 - total, -total)
}

#[test]
fn each_token_has_its_log_probability_behind_all_before_it() {
    let engine = ScriptedEngine::new(SCRIPT);
    let (scripted, other) = logprobs(&engine);
    let scores = block_on(round(&engine).score(request("Hi"), &targets())).unwrap();
    let lengths: Vec<_> = scores.iter().map(|score| score.tokens.len()).collect();
    assert_eq!(lengths, [6, 5, 0, 5], "a target is text: it spells no control token");
    assert!((scores[0].total() - 6.0 * scripted).abs() < 1e-4);
    let help: Vec<_> = scores[1].tokens.iter().map(|token| token.logprob).collect();
    assert!(help[..3].iter().all(|&logprob| (f64::from(logprob) - scripted).abs() < 1e-5), "{help:?}");
    assert!((f64::from(help[3]) - other).abs() < 1e-5, "{help:?}");
    assert_eq!((scores[2].total(), scores[2].mean()), (0.0, None));
}

/// Two turns, with or without targets scored between them: what the second one says and reuses.
async fn second_turn(targets: &[String]) -> (String, Option<alloquy_core::report::CacheReport>) {
    let manager = Manager::new(round(&ScriptedEngine::new(SCRIPT)));
    let conversation = manager.create(Preface::system("Be kind.")).await.unwrap();
    conversation.send("Hi").finish().await.unwrap();
    let before = (conversation.tree().await.unwrap(), conversation.head().await.unwrap());
    for target in targets {
        conversation.score(TurnRequest::default(), std::slice::from_ref(target)).await.unwrap();
    }
    assert_eq!((conversation.tree().await.unwrap(), conversation.head().await.unwrap()), before);
    let reply = conversation.send("And now?").finish().await.unwrap().reply;
    (reply.message.text(), reply.cache)
}

#[test]
fn scoring_leaves_a_conversation_as_it_was() {
    block_on(async {
        let (text, cache) = second_turn(&[]).await;
        assert!(cache.unwrap().cached > 0 && text == "Now we talk.");
        assert_eq!(second_turn(&targets()).await, (text, cache));
    });
}

#[test]
fn the_prompt_is_taken_from_the_session_that_holds_it() {
    let engine = ScriptedEngine::new(SCRIPT);
    let round = round(&engine);
    block_on(async {
        round.reply(request("Hi")).await.unwrap().finish().await.unwrap();
        let before = engine.computed();
        round.score(request("Hi"), &["Hello!".to_owned()]).await.unwrap();
        // The prompt's last unit, for its logits, and all units of the target but the last.
        assert_eq!(engine.computed() - before, 1 + "Hello".len());
    });
}

#[test]
fn a_conversation_in_memory_scores_an_answer_to_what_is_said() {
    let engine = ScriptedEngine::new(SCRIPT);
    let conversation = Conversation::new(round(&engine));
    let scores = block_on(conversation.score("Hi", &targets())).unwrap();
    assert!(scores[0].mean() > scores[1].mean());
    assert!(block_on(conversation.history()).unwrap().is_empty());
    assert_eq!(conversation.ask("Hi").unwrap().text(), "Hello!");
}

#[test]
fn what_cannot_be_scored_says_so() {
    let kind = |scores: alloquy_core::Result<Vec<_>>| scores.unwrap_err().kind();
    assert_eq!(kind(block_on(EchoModel.score(request("Hi"), &targets()))), ErrorKind::Unsupported);
    let small = round(&ScriptedEngine::new(SCRIPT).context_length(12));
    let long = vec!["a target that does not fit".to_owned()];
    assert_eq!(kind(block_on(small.score(request("Hi"), &long))), ErrorKind::ContextOverflow);
    let options = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
    let reply = block_on(async { small.reply(request("Hi").sampling(options)).await?.finish().await });
    assert_eq!(reply.unwrap().message.text(), "Hello!");
}
