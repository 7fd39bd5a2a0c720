//! A conversation in memory: blocking and streamed, several messages, drafts, copies, checkpoints, failures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::report::{FinishReason, Warning};
use alloquy_core::tree::NodeStatus;
use alloquy_core::{
    Conversation, ErrorKind, Message, Preface, Role, SamplingOptions, TurnEvent, TurnRequest,
};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{EchoModel, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use futures::StreamExt;
use pollster::block_on;

const SCRIPT: [(&str, &str); 3] = [
    ("<user>Hi<end><assistant>", "Hello!"),
    ("<user>And now?<end><assistant>", "Now we talk."),
    ("<user>part one, part two<end><assistant>", "both parts"),
];

fn conversation() -> (Conversation, ScriptedEngine) {
    let engine = ScriptedEngine::new(SCRIPT);
    (Conversation::with_preface(over(engine.clone()), Preface::system("Be kind.")), engine)
}

fn over(engine: ScriptedEngine) -> LanguageModel {
    let generator = Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap();
    LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build().unwrap()
}

/// The messages from the first one to the head.
fn history(conversation: &Conversation) -> Vec<Message> {
    let nodes = block_on(conversation.history()).unwrap();
    nodes.into_iter().map(|node| node.message).collect()
}

fn sampled(text: &str, sampling: SamplingOptions) -> TurnRequest {
    TurnRequest::from(text).sampling(sampling)
}

#[test]
fn question_and_answer_join_the_history() {
    let (conversation, _) = conversation();
    assert_eq!(*conversation.ask("Hi").unwrap().message(), Message::assistant("Hello!"));
    assert_eq!(conversation.ask("And now?").unwrap().text(), "Now we talk.");
    let said: Vec<_> = history(&conversation).iter().map(|message| (message.role, message.text())).collect();
    insta::assert_debug_snapshot!(said);
}

#[test]
fn the_second_turn_computes_only_what_is_new() {
    let (conversation, engine) = conversation();
    conversation.ask("Hi").unwrap();
    let first = engine.computed();
    conversation.ask("And now?").unwrap();
    // The header, the question, the header of the answer, the answer: 1 + 1 + 8 + 1 + 1 + 12 units.
    assert_eq!(engine.computed() - first, "<end>?And now?<><>Now we talk.".len() - "<end>?<><>".len() + 4);
}

#[test]
fn a_stream_that_is_read_to_its_end_is_remembered_without_finish() {
    let (conversation, _) = conversation();
    block_on(async {
        let mut turn = conversation.send("Hi");
        let mut stored = Vec::new();
        while let Some(event) = turn.next().await {
            if let Ok(TurnEvent::Node(node)) = event {
                stored.push(node);
            }
        }
        drop(turn);
        assert_eq!(conversation.history().await.unwrap(), stored);
        assert_eq!(conversation.send("And now?").await.unwrap().text(), "Now we talk.");
    });
    assert_eq!(history(&conversation).len(), 4);
}

/// What was said before a turn is dropped is kept.
#[test]
fn a_dropped_answer_is_kept_as_far_as_it_came() {
    let (conversation, _) = conversation();
    block_on(async {
        let mut turn = conversation.send("Hi");
        assert!(turn.next().await.is_some());
        drop(turn);
        let nodes = conversation.history().await.unwrap();
        assert_eq!(nodes.len(), 2);
        assert!("Hello!".starts_with(&nodes[1].message.text()));
        assert_eq!(nodes[1].status, NodeStatus::Interrupted);
        conversation.undo().await.unwrap();
        assert_eq!(conversation.send("Hi").await.unwrap().reply.finish, FinishReason::Stop);
    });
    assert_eq!(history(&conversation).len(), 2);
}

#[test]
fn a_draft_is_computed_ahead_and_not_said() {
    let (conversation, engine) = conversation();
    let report = block_on(conversation.warm("part one, ")).unwrap().unwrap();
    assert_eq!(report.cached, 0);
    assert!(history(&conversation).is_empty());
    let before = engine.computed();
    assert_eq!(conversation.ask("part one, part two").unwrap().text(), "both parts");
    assert_eq!(history(&conversation)[0].text(), "part one, part two");
    assert_eq!(engine.computed() - before, "part two".len() + 2 + "both parts".len());
}

#[test]
fn several_messages_are_said_together() {
    let conversation = Conversation::new(EchoModel);
    let messages = vec![Message::user("ignored").named("Ann"), Message::user("heard").named("Bob")];
    assert_eq!(conversation.ask(messages).unwrap().text(), "heard");
    assert_eq!(history(&conversation).len(), 3);
}

#[test]
fn a_fork_goes_its_own_way() {
    let (conversation, _) = conversation();
    conversation.ask("Hi").unwrap();
    let other = block_on(conversation.fork()).unwrap();
    let reply = other.ask("And now?").unwrap();
    assert_eq!(reply.reply.cache.unwrap().miss, None, "what the original has computed is reused");
    assert_eq!((history(&conversation).len(), history(&other).len()), (2, 4));
    block_on(conversation.goto(None)).unwrap();
    assert_eq!(conversation.ask("Hi").unwrap().text(), "Hello!");
    assert_eq!((history(&conversation).len(), history(&other).len()), (2, 4));
}

#[test]
fn an_answer_that_is_stopped_before_its_first_word_leaves_the_history_alone() {
    let (conversation, _) = conversation();
    let turn = conversation.send("Hi");
    turn.cancel();
    assert!(block_on(turn.finish()).unwrap_err().is_cancelled());
    assert!(history(&conversation).is_empty());
}

#[test]
fn the_whole_reply_comes_back_with_what_was_not_as_asked() {
    let (conversation, _) = conversation();
    let many = SamplingOptions { max_tokens: Some(99_999), ..SamplingOptions::default() };
    let reply = conversation.ask(sampled("Hi", many)).unwrap().reply;
    assert!(matches!(reply.warnings[..], [Warning::MaxTokensCapped { asked: 99_999, .. }]));
}

#[test]
fn a_failed_turn_leaves_the_history_alone() {
    let conversation = Conversation::new(over(ScriptedEngine::new(SCRIPT).context_length(20)));
    let error = conversation.ask("a question that is far too long").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow);
    insta::assert_snapshot!(error.to_string());
    assert!(history(&conversation).is_empty());
    assert_eq!(conversation.ask("Hi").unwrap().text(), "Hello!");
}

#[test]
fn limits_and_stop_texts_are_said_in_the_reply() {
    let (conversation, _) = conversation();
    let finish = |sampling: SamplingOptions| {
        block_on(async {
            let fork = conversation.fork().await.unwrap();
            let reply = fork.send(sampled("Hi", sampling)).await.unwrap().reply;
            (reply.message.text(), reply.finish, reply.tokens.len(), reply.usage.generated)
        })
    };
    let limit = SamplingOptions { max_tokens: Some(3), ..SamplingOptions::default() };
    assert_eq!(finish(limit), ("Hel".to_owned(), FinishReason::Length, 3, 3));
    let stop = SamplingOptions { stop: vec!["lo".to_owned()], ..SamplingOptions::default() };
    assert_eq!(finish(stop), ("Hel".to_owned(), FinishReason::StopString, 3, 5));
    assert_eq!(finish(SamplingOptions::default()), ("Hello!".to_owned(), FinishReason::Stop, 6, 7));
}

#[test]
fn the_role_of_a_bare_string_is_user() {
    assert_eq!(Message::from("Hi").role, Role::User);
}

/// A checkpoint outlives going back past it: what was said after it is a branch.
#[test]
fn a_checkpoint_is_a_way_back_and_forth() {
    let (conversation, _) = conversation();
    block_on(async {
        let error = conversation.checkpoint("start").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let greeted = conversation.send("Hi").await.unwrap().node;
        conversation.checkpoint("greeted").await.unwrap();
        let parted = conversation.send("And now?").await.unwrap().node;
        conversation.checkpoint("parted").await.unwrap();
        let error = conversation.rewind("gone").await.unwrap_err();
        assert!(error.is_not_found());
        let said = "checkpoint \"gone\" does not exist; one of: \"greeted\", \"parted\"";
        assert_eq!(error.to_string(), said);
        assert_eq!(conversation.rewind("greeted").await.unwrap(), greeted);
        assert_eq!(conversation.history().await.unwrap().len(), 2);
        let again = conversation.send("And now?").await.unwrap();
        assert_eq!(again.reply.cache.unwrap().miss, None, "what was computed up to there is reused");
        assert_eq!(conversation.rewind("parted").await.unwrap(), parted);
        conversation.goto(None).await.unwrap();
        assert!(conversation.history().await.unwrap().is_empty());
        assert_eq!(conversation.leaves().await.unwrap().len(), 2, "nothing was deleted");
    });
}

#[test]
fn looking_ahead_changes_nothing() {
    let (conversation, _) = conversation();
    block_on(async {
        let empty = conversation.token_count().await.unwrap().unwrap();
        conversation.send("Hi").await.unwrap();
        let before = conversation.history_prompt().await.unwrap().unwrap();
        assert!(before.positions() > empty);
        assert_eq!(conversation.token_count().await.unwrap(), Some(before.positions()));
        let next = conversation.prompt("And now?").await.unwrap().unwrap();
        assert_eq!(next.added_to(&before), "<user>And now?<end><assistant>");
        assert_eq!(next.positions(), before.positions() + "And now?".len() + 3);
        assert_eq!(conversation.prompt("And now?").await.unwrap().unwrap(), next);
        assert_eq!(conversation.history().await.unwrap().len(), 2);
        let reply = conversation.send("And now?").await.unwrap().reply;
        assert_eq!(reply.usage.prompt, next.positions());
        assert_eq!(reply.usage.remaining.unwrap() + reply.usage.generated, next.remaining());
    });
}

/// What LiteRT-LM calls a step is the number of messages on the path to the head.
#[test]
fn a_step_is_a_way_back_without_a_label() {
    let (conversation, _) = conversation();
    block_on(async {
        conversation.send("Hi").await.unwrap();
        let step = conversation.history().await.unwrap().len();
        let first = conversation.token_count().await.unwrap();
        conversation.send("And now?").await.unwrap();
        let path = conversation.history().await.unwrap();
        conversation.goto(path[step - 1].id).await.unwrap();
        assert_eq!(conversation.token_count().await.unwrap(), first);
        let again = conversation.send("And now?").await.unwrap();
        assert_eq!(again.reply.cache.unwrap().miss, None, "what was computed up to there is reused");
    });
}

#[test]
fn what_is_held_and_what_is_left_are_the_context() {
    let (conversation, _) = conversation();
    block_on(async {
        for question in ["Hi", "And now?"] {
            let held = conversation.token_count().await.unwrap();
            let left = conversation.remaining().await.unwrap();
            assert_eq!(held.unwrap() + left.unwrap(), 4096);
            conversation.send(question).await.unwrap();
        }
        let before = conversation.remaining().await.unwrap().unwrap();
        conversation.add("part one, ").await.unwrap();
        let added = "part one, ".len() + 2;
        assert_eq!(before - conversation.remaining().await.unwrap().unwrap(), added);
        let blank = Conversation::new(EchoModel);
        assert_eq!((blank.token_count().await.unwrap(), blank.remaining().await.unwrap()), (None, None));
    });
}

#[test]
fn a_fork_has_checkpoints_of_its_own() {
    let (conversation, _) = conversation();
    block_on(async {
        conversation.send("Hi").await.unwrap();
        conversation.checkpoint("greeted").await.unwrap();
        let other = conversation.fork().await.unwrap();
        other.checkpoint("elsewhere").await.unwrap();
        other.rewind("greeted").await.unwrap();
        let names = |notes: alloquy_core::annotations::Annotations| {
            notes.bookmarks().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(conversation.annotations().await.unwrap()), ["greeted"]);
        assert_eq!(names(other.annotations().await.unwrap()), ["elsewhere", "greeted"]);
    });
}

#[test]
fn several_messages_that_are_added_get_one_answer() {
    let (conversation, _) = conversation();
    block_on(async {
        let before = conversation.history_prompt().await.unwrap().unwrap();
        let said = vec![Message::user("ignored").named("Ann"), Message::assistant("too")];
        conversation.add(said).await.unwrap();
        let next = conversation.prompt("part one, part two").await.unwrap().unwrap();
        let added = "<user>ignored<end><assistant>too<end><user>part one, part two<end><assistant>";
        assert_eq!(next.added_to(&before), added);
        assert_eq!(conversation.send("part one, part two").await.unwrap().text(), "both parts");
    });
    let roles: Vec<_> = history(&conversation).iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User, Role::Assistant]);
}

/// A draft is asked as the question will be: after open calls, with its own settings, wherever it is put.
#[test]
fn a_draft_is_asked_as_it_will_be_sent() {
    let (conversation, engine) = conversation();
    block_on(async {
        let first = conversation.send("Hi").await.unwrap();
        conversation.send("And now?").await.unwrap();
        let question = || TurnRequest::from("And now?").at(first.node).system_prompt("Be brief.");
        let next = conversation.prompt(question()).await.unwrap().unwrap();
        assert!(next.rendered.contains("Be brief."));
        conversation.warm(question()).await.unwrap();
        let before = engine.computed();
        let reply = conversation.send(question()).await.unwrap().reply;
        assert_eq!(reply.usage.prompt, next.positions());
        assert_eq!(engine.computed() - before, 1 + "Now we talk.".len(), "the header and the answer");
        let call = ToolCall::new("nothing", "clock", serde_json::json!({}));
        let result = Message::tool(vec![ToolResult::error(&call, "unknown")]);
        assert_eq!(conversation.warm(result).await.unwrap_err().kind(), ErrorKind::Invalid);
    });
}
