//! The small conversation: blocking and streamed, several messages, pieces, clones, failures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::{
    Content, Conversation, Degradation, ErrorKind, FinishReason, Message, Part, Preface, Role,
    SamplingOptions,
};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{EchoModel, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use futures::StreamExt;
use serde_json::json;

const SCRIPT: [(&str, &str); 3] = [
    ("<user>Hi<end><assistant>", "Hello!"),
    ("<user>And now?<end><assistant>", "Now we talk."),
    ("<user>part one, part two<end><assistant>", "both parts"),
];

fn conversation() -> (Conversation, ScriptedEngine) {
    let engine = ScriptedEngine::new(SCRIPT);
    let round = LanguageModel::builder(
        Generator::new(Arc::new(engine.clone()), GeneratorOptions::default()).unwrap(),
    )
    .template(TaggedTemplate)
    .processor(TaggedProcessor);
    (Conversation::new(Arc::new(round.build().unwrap()), Preface::system("Be kind.")), engine)
}

#[test]
fn question_and_answer_join_the_history() {
    let (mut conversation, _) = conversation();
    assert_eq!(conversation.send_message("Hi").unwrap().message, Message::assistant("Hello!"));
    assert_eq!(conversation.send_message("And now?").unwrap().text(), "Now we talk.");
    let said: Vec<_> = conversation.history().iter().map(|message| (message.role, message.text())).collect();
    insta::assert_debug_snapshot!(said);
}

#[test]
fn the_second_turn_computes_only_what_is_new() {
    let (mut conversation, engine) = conversation();
    conversation.send_message("Hi").unwrap();
    let first = engine.forwarded();
    conversation.send_message("And now?").unwrap();
    // The header, the question, the header of the answer, the answer: 1 + 1 + 8 + 1 + 1 + 12 units.
    assert_eq!(engine.forwarded() - first, "<end>?And now?<><>Now we talk.".len() - "<end>?<><>".len() + 4);
}

#[test]
fn an_answer_streams_and_a_dropped_one_changes_nothing() {
    let (mut conversation, _) = conversation();
    pollster::block_on(async {
        let mut stream = conversation.send_message_stream("Hi").await.unwrap();
        assert!(stream.next().await.is_some());
        drop(stream);
        assert!(conversation.history().is_empty());
        let mut stream = conversation.send_message_stream("Hi").await.unwrap();
        while stream.next().await.is_some() {}
        assert_eq!(stream.finish().await.unwrap().finish, FinishReason::Stop);
    });
    assert_eq!(conversation.history().len(), 2);
}

#[test]
fn pieces_of_a_message_wait_and_are_computed_ahead() {
    let (mut conversation, engine) = conversation();
    let report = conversation.append_message("part one, ").unwrap().unwrap();
    assert_eq!(report.reused, 0);
    assert!(conversation.has_pending() && conversation.history().is_empty());
    let before = engine.forwarded();
    assert_eq!(conversation.send_message("part two").unwrap().text(), "both parts");
    assert!(!conversation.has_pending());
    assert_eq!(conversation.history().first().unwrap().text(), "part one, part two");
    assert_eq!(engine.forwarded() - before, "part two".len() + 2 + "both parts".len());
}

#[test]
fn a_part_with_fields_of_its_own_is_not_joined() {
    let mut conversation = Conversation::new(Arc::new(EchoModel), Preface::default());
    let part = |text: &str| Part::from(Content::Text(text.to_owned()));
    let marked = part("one, ").with_field("cache_control", json!({"type": "ephemeral"}));
    conversation.append_message(Message::new(Role::User, vec![marked.clone()])).unwrap();
    conversation.append_message("two, ").unwrap();
    conversation.send_message("three").unwrap();
    assert_eq!(conversation.history()[0].parts, [marked, part("two, three")]);
}

#[test]
fn several_messages_are_said_together() {
    let mut conversation = Conversation::new(Arc::new(EchoModel), Preface::default());
    let messages = vec![Message::user("ignored").named("Ann"), Message::user("heard").named("Bob")];
    assert_eq!(conversation.send_message(messages).unwrap().text(), "heard");
    assert_eq!(conversation.history().len(), 3);
}

#[test]
fn a_clone_goes_its_own_way() {
    let (mut conversation, _) = conversation();
    conversation.send_message("Hi").unwrap();
    let mut other = conversation.clone();
    other.send_message("And now?").unwrap();
    assert_eq!((conversation.history().len(), other.history().len()), (2, 4));
    conversation.truncate(0);
    assert_eq!(conversation.send_message("Hi").unwrap().text(), "Hello!");
}

#[test]
fn an_answer_that_is_stopped_before_its_first_word_changes_nothing() {
    let (mut conversation, _) = conversation();
    pollster::block_on(async {
        let stream = conversation.send_message_stream("Hi").await.unwrap();
        stream.stop_signal().stop();
        let reply = stream.finish().await.unwrap();
        assert_eq!((reply.finish, reply.text().as_str()), (FinishReason::Cancelled, ""));
    });
    assert!(conversation.history().is_empty());
}

#[test]
fn the_whole_reply_comes_back_with_what_was_not_as_asked() {
    let (conversation, _) = conversation();
    let mut conversation = conversation
        .with_sampling(SamplingOptions { max_tokens: Some(99_999), ..SamplingOptions::default() });
    let reply = conversation.send_message("Hi").unwrap();
    assert!(matches!(reply.degradations[..], [Degradation::MaxTokensCapped { asked: 99_999, .. }]));
}

#[test]
fn a_failed_turn_leaves_the_history_alone() {
    let engine = ScriptedEngine::new(SCRIPT).context_length(20);
    let round =
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(TaggedTemplate)
            .processor(TaggedProcessor);
    let mut conversation = Conversation::new(Arc::new(round.build().unwrap()), Preface::default());
    let error = conversation.send_message("a question that is far too long").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow);
    insta::assert_snapshot!(error.to_string());
    assert!(conversation.history().is_empty());
    assert_eq!(conversation.send_message("Hi").unwrap().text(), "Hello!");
}

#[test]
fn limits_and_stop_texts_are_said_in_the_reply() {
    let (conversation, _) = conversation();
    let finish = |sampling: SamplingOptions| {
        let mut conversation = conversation.clone().with_sampling(sampling);
        pollster::block_on(async {
            let stream = conversation.send_message_stream("Hi").await.unwrap();
            let reply = stream.finish().await.unwrap();
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

#[test]
fn a_checkpoint_is_a_way_back() {
    let (mut conversation, _) = conversation();
    conversation.checkpoint("start");
    conversation.send_message("Hi").unwrap();
    conversation.checkpoint("greeted");
    conversation.send_message("And now?").unwrap();
    conversation.checkpoint("parted");
    let places: Vec<_> = conversation.checkpoints().collect();
    assert_eq!(places, [("greeted", 2), ("parted", 4), ("start", 0)]);
    let error = conversation.rewind("gone").unwrap_err();
    assert!(error.is_not_found());
    let said = "checkpoint \"gone\" does not exist; one of: \"greeted\", \"parted\", \"start\"";
    assert_eq!(error.to_string(), said);
    conversation.rewind("greeted").unwrap();
    assert_eq!(conversation.history().len(), 2);
    assert!(conversation.rewind("parted").is_err(), "a place behind the one that was gone back to is gone");
    let again = conversation.send_message("And now?").unwrap();
    assert_eq!(again.cache.unwrap().miss, None);
    conversation.rewind("start").unwrap();
    assert!(conversation.history().is_empty());
}

#[test]
fn looking_ahead_changes_nothing() {
    let (mut conversation, _) = conversation();
    let empty = conversation.token_count().unwrap().unwrap();
    conversation.send_message("Hi").unwrap();
    let held = conversation.token_count().unwrap().unwrap();
    assert!(held > empty);
    let next = conversation.next_prompt("And now?").unwrap().unwrap();
    assert_eq!(next.added(), "<user>And now?<end><assistant>");
    assert_eq!(next.units(), held + "And now?".len() + 3);
    assert_eq!(conversation.next_prompt("And now?").unwrap().unwrap(), next);
    assert_eq!((conversation.history().len(), conversation.has_pending()), (2, false));
    let reply = conversation.send_message("And now?").unwrap();
    assert_eq!(reply.usage.prompt, next.units());
    assert_eq!(reply.usage.remaining.unwrap() + reply.usage.generated, next.remaining());
}

#[test]
fn a_step_is_a_way_back_without_a_name() {
    let (mut conversation, _) = conversation();
    conversation.send_message("Hi").unwrap();
    let (step, first) = (conversation.step(), conversation.token_count().unwrap());
    conversation.checkpoint("greeted");
    conversation.send_message("And now?").unwrap();
    conversation.checkpoint("parted");
    conversation.append_message("part one, ").unwrap();
    assert_eq!(conversation.step(), 4, "what is pending is no step");
    let error = conversation.rewind_to(5).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Invalid, "step 5 was not taken, at most 4")
    );
    assert_eq!((conversation.step(), conversation.has_pending()), (4, true));
    conversation.rewind_to(step).unwrap();
    assert_eq!((conversation.token_count().unwrap(), conversation.has_pending()), (first, false));
    assert_eq!(conversation.checkpoints().collect::<Vec<_>>(), [("greeted", 2)]);
    let again = conversation.send_message("And now?").unwrap();
    assert_eq!(again.cache.unwrap().miss, None, "what was computed up to there serves");
    conversation.rewind_to(0).unwrap();
    assert!(conversation.history().is_empty());
}

#[test]
fn what_is_held_and_what_is_left_are_the_context() {
    let (mut conversation, _) = conversation();
    for question in ["Hi", "And now?"] {
        let (held, left) = (conversation.token_count().unwrap(), conversation.remaining().unwrap());
        assert_eq!(held.unwrap() + left.unwrap(), 4096);
        conversation.send_message(question).unwrap();
    }
    let before = conversation.remaining().unwrap().unwrap();
    conversation.append_message("part one, ").unwrap();
    let pending = "part one, ".len() + 2;
    assert_eq!(before - conversation.remaining().unwrap().unwrap(), pending);
    let blank = Conversation::new(Arc::new(EchoModel), Preface::default());
    assert_eq!((blank.token_count().unwrap(), blank.remaining().unwrap()), (None, None));
}

#[test]
fn a_clone_has_places_and_pieces_of_its_own() {
    let (mut conversation, _) = conversation();
    conversation.send_message("Hi").unwrap();
    conversation.checkpoint("greeted");
    conversation.append_message("part one, ").unwrap();
    let mut other = conversation.clone();
    other.checkpoint("elsewhere");
    other.rewind_to(0).unwrap();
    assert_eq!((other.has_pending(), other.checkpoints().count()), (false, 0));
    assert_eq!(conversation.checkpoints().collect::<Vec<_>>(), [("greeted", 2)]);
    assert_eq!(conversation.send_message("part two").unwrap().text(), "both parts");
    assert_eq!((conversation.step(), other.step()), (4, 0));
}

#[test]
fn several_messages_that_are_appended_get_one_answer() {
    let (mut conversation, _) = conversation();
    conversation
        .append_message(vec![Message::user("ignored").named("Ann"), Message::assistant("too")])
        .unwrap();
    conversation.append_message("part one, ").unwrap();
    let next = conversation.next_prompt("part two").unwrap().unwrap();
    let added = "<user>ignored<end><assistant>too<end><user>part one, part two<end><assistant>";
    assert_eq!(next.added(), added);
    assert_eq!(conversation.send_message("part two").unwrap().text(), "both parts");
    let roles: Vec<_> = conversation.history().iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User, Role::Assistant]);
}
