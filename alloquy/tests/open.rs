//! What a first program does: opening, asking, in a runtime and outside of one.
#![allow(clippy::unwrap_used)] // a test may panic

use std::sync::Arc;

use alloquy::core::report::Warning;
use alloquy::prelude::*;
use alloquy::processors::Family;
use alloquy::{ContextPolicy, ModelWarning};
use alloquy_testing::ScriptedEngine;

/// Texts as a conversation template of MLC has them.
const CONV: &str = r#"{"conv_config": {
    "roles": ["USER", "BOT"], "seps": ["|"], "stop_str": "USER:", "offset": 0, "colour": "red"
}}"#;

fn scripted(length: usize, folder: &tempfile::TempDir) -> ModelBuilder {
    let file = folder.path().join("conversation.json");
    std::fs::write(&file, CONV).unwrap();
    let engine = ScriptedEngine::new([("BOT:", " Hello!")]).context_length(length);
    Model::of(Arc::new(engine)).template(file.display().to_string()).family("generic")
}

#[cfg(feature = "pocket")]
mod pocket {
    use super::*;

    const QUESTION: &str = "What is the capital of Portugal?";

    #[test]
    fn two_statements_answer() {
        let conversation = Model::pocket().unwrap().conversation();
        assert!(conversation.ask(QUESTION).unwrap().text().contains("Lisbon"));
        let again = conversation.ask("And of France?").unwrap();
        assert!(again.reply.cache.unwrap().cached > 0, "the first turn is cached");
    }

    #[tokio::test]
    async fn asking_blocks_in_a_runtime_of_one_thread() {
        let conversation = Model::pocket().unwrap().conversation();
        assert!(conversation.ask(QUESTION).unwrap().text().contains("Lisbon"));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn turns_are_awaited_and_go_into_tasks() {
        let model = Model::pocket().unwrap();
        assert!(model.conversation().ask(QUESTION).unwrap().text().contains("Lisbon"));
        let turn = model.conversation().send(QUESTION);
        let answered = tokio::spawn(async move { turn.await }).await.unwrap().unwrap();
        assert!(answered.text().contains("Lisbon"));
        let mut turn = model.conversation().send(QUESTION);
        let mut pieces = 0;
        while let Some(event) = turn.next().await {
            pieces += usize::from(matches!(event, Ok(TurnEvent::Delta(_))));
        }
        assert!(pieces > 1);
        assert_eq!(turn.finish().await.unwrap().reply.finish, FinishReason::Stop);
    }

    #[test]
    fn what_is_set_wins_over_what_is_within() {
        let model = Model::pocket_builder().tool_choice(None).stop("Lisbon").build().unwrap();
        assert_eq!(model.tool_choice(), None);
        assert!(!model.ask(QUESTION).unwrap().text().contains("Lisbon"));
        let error = Model::pocket_builder().providers(["abacus"]).build().unwrap_err();
        assert!(error.to_string().contains("abacus"), "{error}");
    }
}

#[test]
fn a_family_may_be_a_file_or_data() {
    const ADA: &str =
        r#"{"name": "ada", "channels": [{"name": "thinking", "start": "((", "end": "))"}], "stops": ["|"]}"#;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ada.json");
    std::fs::write(&file, ADA).unwrap();
    let engine = || Arc::new(ScriptedEngine::new([("BOT:", "((Hm))Hello!|and more")]));
    let template = folder.path().join("conversation.json");
    std::fs::write(&template, CONV).unwrap();
    let builder = || Model::of(engine()).template(template.display().to_string());
    let family = Family::from_json(ADA).unwrap();
    for builder in [builder().family(file.display().to_string()), builder().family(family)] {
        let model = builder.build().unwrap();
        assert_eq!(
            (model.family(), model.sampling().stop),
            ("ada", vec!["|".to_owned(), "USER:".to_owned()])
        );
        let reply = model.ask("Hi").unwrap();
        assert_eq!(reply.reply.message.thinking().as_deref(), Some("Hm"));
        assert_eq!(reply.text(), "Hello!");
    }
    let missing = builder().family("nowhere/ada.json").build().unwrap_err();
    assert!(missing.is_not_found() && missing.to_string().starts_with("\"nowhere/ada.json\" is no file"));
    std::fs::write(&file, "{}").unwrap();
    let wrong = builder().family(file.display().to_string()).build().unwrap_err();
    assert!(wrong.to_string().contains("missing field `name`"), "{wrong}");
}

#[test]
fn a_template_that_prints_no_messages_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    for (template, is_warned) in [("Hello! BOT:", true), ("{{ messages[0].content }}BOT:", false)] {
        let file = folder.path().join("chat.jinja");
        std::fs::write(&file, template).unwrap();
        let origin = file.display().to_string();
        let engine = Arc::new(ScriptedEngine::new([("BOT:", "Hi")]));
        let model = Model::of(engine).template(origin.clone()).family("generic").build().unwrap();
        let warning = ModelWarning::NoMessages { origin };
        assert_eq!(model.warnings().contains(&warning), is_warned, "{template}: {:?}", model.warnings());
    }
}

#[test]
fn a_conversation_template_may_be_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let model = scripted(1000, &folder).build().unwrap();
    assert_eq!(model.sampling().stop, ["USER:"]);
    let request = Request::new(Preface::default(), vec![Message::user("Hi")]);
    let prompt = model.language_model().prepare(&request).unwrap();
    assert_eq!(prompt.rendered, "USER: Hi|BOT:");
    let warnings: Vec<_> = model.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|warning| warning.contains("\"colour\"")), "{warnings:?}");
    assert!(matches!(model.warnings(), [ModelWarning::Template { .. }]));
    assert_eq!(model.conversation().ask("Hi").unwrap().text().trim(), "Hello!");
}

#[test]
fn what_does_not_fit_is_left_out_wherever_the_model_goes() {
    let folder = tempfile::tempdir().unwrap();
    let model = scripted(60, &folder).context_policy(ContextPolicy::Drop).build().unwrap();
    let conversation = model.conversation();
    conversation.ask("The first question is long").unwrap();
    let second = conversation.ask("The second question").unwrap();
    assert!(matches!(second.reply.warnings[..], [Warning::HistoryShifted { dropped: 2, .. }]));
    let messages = ["The first question is long", "Hello!", "The second question"];
    let path = vec![Message::user(messages[0]), Message::assistant(messages[1]), Message::user(messages[2])];
    let request = Request::new(Preface::default(), path);
    let prompt = model.prompt(&request).unwrap().unwrap();
    assert_eq!(prompt.rendered, "USER: The second question|BOT:");
    let refusing = scripted(60, &folder).build().unwrap();
    let error = pollster::block_on(refusing.reply(request)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow);
}

#[test]
fn settings_that_are_not_valid_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let hot = SamplingOptions { temperature: Some(-1.0), ..SamplingOptions::default() };
    let error = scripted(60, &folder).sampling(hot).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let error = scripted(60, &folder).family("qwen9").build().unwrap_err();
    assert!(error.to_string().starts_with("unknown family \"qwen9\""), "{error}");
    let error = scripted(60, &folder).template("nowhere").build().unwrap_err();
    assert!(error.to_string().contains("template \"nowhere\" is no file"), "{error}");
}
