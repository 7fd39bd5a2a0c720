//! What a reply says of itself: why it ended, what it took, how likely it was; and whose settings it followed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::manager::NewConversation;
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::report::{FinishReason, Usage};
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::tree::NodeStatus;
use alloquy_core::turn::PartialReplyPolicy;
use alloquy_core::{
    ChatModel, Conversation, ConversationManager, Error, ErrorKind, Manager, Message, Preface, Reply,
    Request, Result, SamplingOptions, TurnRequest,
};
use alloquy_engine::{CancelToken, Engine, Session};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
use futures::future::join_all;
use pollster::block_on;
use proptest::prelude::*;

const SCRIPT: [(&str, &str); 2] =
    [("<user>Hi<end><assistant>", "Hello, world!"), ("<user>And now?<end><assistant>", "Now we talk.")];

fn over(engine: impl Engine + 'static) -> LanguageModel {
    LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

/// Renders as the tagged template does, and knows what ends a reply.
#[derive(Debug)]
struct Stopping;

impl PromptTemplate for Stopping {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        TaggedTemplate.render(input)
    }

    fn digest(&self) -> Digest {
        TaggedTemplate.digest()
    }

    fn stop_strings(&self) -> Vec<String> {
        vec!["world".to_owned()]
    }

    fn stop_tokens(&self) -> Vec<TokenId> {
        vec![u32::from(b'N')]
    }
}

fn round() -> LanguageModel {
    over(ScriptedEngine::new(SCRIPT))
}

fn request(sampling: SamplingOptions) -> Request {
    Request::new(Preface::default(), vec![Message::user("Hi")]).sampling(sampling)
}

async fn reply(round: &LanguageModel, sampling: SamplingOptions) -> Result<Reply> {
    round.reply(request(sampling)).await?.finish().await
}

/// A scripted engine whose sessions fail once they hold so many units.
#[derive(Debug)]
struct Failing {
    engine: ScriptedEngine,
    after: usize,
}

struct FailingSession {
    session: Box<dyn Session>,
    after: usize,
}

impl Engine for Failing {
    fn model(&self) -> &ModelInfo {
        self.engine.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.engine.tokenizer()
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(FailingSession { session: self.engine.open()?, after: self.after }))
    }
}

impl Session for FailingSession {
    fn length(&self) -> usize {
        self.session.length()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        if self.length() + units.len() > self.after {
            Err(Error::new(ErrorKind::Backend, "out of memory"))
        } else {
            self.session.forward(units, cancel)
        }
    }

    fn logits(&mut self) -> &mut [f32] {
        self.session.logits()
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.session.truncate(length)
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(FailingSession { session: self.session.fork()?, after: self.after }))
    }
}

fn failing(after: usize) -> LanguageModel {
    over(Failing { engine: ScriptedEngine::new(SCRIPT), after })
}

/// The units of the prompt `<user>Hi<end><assistant>`.
const PROMPT: usize = 5;

#[test]
fn what_ends_a_reply_in_the_format_of_the_template_ends_it() {
    let engine = Arc::new(ScriptedEngine::new(SCRIPT));
    // As an `Arc`, as templates that are chosen at run time are.
    let template: Arc<dyn PromptTemplate> = Arc::new(Stopping);
    let model = LanguageModel::builder(Generator::new(engine, GeneratorOptions::default()).unwrap())
        .template(template)
        .processor(TaggedProcessor)
        .build()
        .unwrap();
    let ended = |question: &str, sampling: SamplingOptions| {
        let request = Request::new(Preface::default(), vec![Message::user(question)]).sampling(sampling);
        let reply = block_on(async { model.reply(request).await?.finish().await }).unwrap();
        (reply.text(), reply.finish)
    };
    let (text, finish) = ended("Hi", SamplingOptions::default());
    assert_eq!((text.as_str(), finish), ("Hello, ", FinishReason::StopString));
    let (text, _) = ended("And now?", SamplingOptions::default());
    assert_eq!(text, "", "the first token ends it");
    let stop = SamplingOptions { stop: vec!["ll".to_owned()], ..SamplingOptions::default() };
    let (text, _) = ended("Hi", stop);
    assert_eq!(text, "He", "stops add up");
}

#[test]
fn a_reply_that_fails_midway_keeps_what_there_is() {
    block_on(async {
        let reply = reply(&failing(PROMPT + 4), SamplingOptions::default()).await.unwrap();
        assert_eq!((reply.message.text().as_str(), reply.finish), ("Hello", FinishReason::Error));
        assert_eq!((reply.tokens.len(), reply.usage.generated), (5, 5));
        assert_eq!(reply.error.as_deref(), Some("out of memory"));
        assert_eq!(reply.complete().unwrap_err().to_string(), "out of memory");
    });
}

#[test]
fn a_reply_that_fails_before_its_first_token_is_an_error() {
    let error = block_on(reply(&failing(3), SamplingOptions::default())).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Backend, "out of memory"));
}

#[test]
fn a_turn_that_fails_midway_is_a_node_that_says_so() {
    block_on(async {
        let manager = Manager::new(failing(PROMPT + 4));
        let conversation = manager.create(Preface::default()).await.unwrap();
        let turn = conversation.send("Hi").finish().await.unwrap();
        let node = conversation.history().await.unwrap().pop().unwrap();
        assert_eq!((node.id, node.status), (turn.node, NodeStatus::Interrupted));
        let facts = node.reply.unwrap();
        assert_eq!(
            (facts.finish, facts.error.as_deref()),
            (Some(FinishReason::Error), Some("out of memory"))
        );
    });
}

#[test]
fn who_waits_for_an_answer_that_fails_gets_its_error() {
    let conversation = Conversation::new(failing(PROMPT + 4));
    assert_eq!(conversation.ask("Hi").unwrap_err().kind(), ErrorKind::Backend);
    let kept = block_on(conversation.history()).unwrap();
    assert_eq!(kept[1].status, NodeStatus::Interrupted, "what was said until then is kept");
    let manager = Manager::builder(failing(PROMPT + 4)).partial_replies(PartialReplyPolicy::Discard);
    let forgetful = block_on(manager.build().unwrap().create(Preface::default())).unwrap();
    assert_eq!(forgetful.ask("Hi").unwrap_err().kind(), ErrorKind::Backend);
    assert!(block_on(forgetful.history()).unwrap().is_empty());
}

#[test]
fn options_that_forbid_every_token_say_so() {
    let all: Vec<u32> = (0..500).collect();
    let error = block_on(reply(&round(), SamplingOptions { suppress: all, ..SamplingOptions::default() }));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn stop_texts_and_stop_sequences_say_which_they_were() {
    let finished = |sampling: SamplingOptions| {
        let reply = block_on(reply(&round(), sampling)).unwrap();
        (reply.message.text(), reply.finish, reply.stop_string, reply.tokens.len(), reply.usage.generated)
    };
    let texts = SamplingOptions { stop: vec!["rl".into(), ", wo".into()], ..SamplingOptions::default() };
    let found = Some(", wo".to_owned());
    assert_eq!(finished(texts), ("Hello".into(), FinishReason::StopString, found, 5, 9));
    let sequence = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
    let tokens =
        SamplingOptions { stop_tokens: vec![sequence("lo,"), sequence("zz")], ..SamplingOptions::default() };
    assert_eq!(finished(tokens), ("Hel".into(), FinishReason::Stop, None, 3, 6));
    let partial = SamplingOptions { stop_tokens: vec![sequence("rld!?")], ..SamplingOptions::default() };
    assert_eq!(finished(partial), ("Hello, world!".into(), FinishReason::Stop, None, 13, 14));
    let cut = SamplingOptions {
        max_tokens: Some(12),
        stop_tokens: vec![sequence("rld!?")],
        ..SamplingOptions::default()
    };
    assert_eq!(finished(cut), ("Hello, world".into(), FinishReason::Length, None, 12, 12));
}

#[test]
fn usage_says_what_was_reused_and_what_is_left() {
    block_on(async {
        let round = over(ScriptedEngine::new(SCRIPT).context_length(64));
        let first = reply(&round, SamplingOptions::default()).await.unwrap().usage;
        let mut expected = Usage::new(PROMPT, 14);
        expected.remaining = Some(64 - PROMPT - 14);
        assert_eq!(first, expected);
        assert_eq!(reply(&round, SamplingOptions::default()).await.unwrap().usage.cached, PROMPT - 1);
    });
}

#[test]
fn records_of_older_releases_are_read() {
    let finish = |text: &str| serde_json::from_str::<FinishReason>(text).unwrap();
    assert_eq!(finish("\"max_tokens\""), FinishReason::Length);
    assert_eq!(finish("\"stopped\""), FinishReason::Cancelled);
    let usage: Usage = serde_json::from_str("{\"prompt\": 4, \"reply\": 7}").unwrap();
    assert_eq!(usage, Usage::new(4, 7));
}

#[test]
fn logprobs_are_those_of_the_model_whatever_the_sampler_does() {
    let options = |sampling: SamplingOptions| SamplingOptions { logprobs: Some(3), ..sampling };
    let plain = block_on(reply(&round(), options(SamplingOptions::default()))).unwrap();
    let vocabulary = ScriptedEngine::new([]).model().vocabulary;
    let total = (10_f64.exp() + (vocabulary - 1) as f64).ln();
    assert_eq!(plain.logprobs.len(), plain.tokens.len());
    for (logprobs, &token) in plain.logprobs.iter().zip(&plain.tokens) {
        assert_eq!((logprobs.sampled, logprobs.sampled.token), (logprobs.top[0], token));
        assert!((f64::from(logprobs.sampled.logprob) - (10.0 - total)).abs() < 1e-5);
        // Of the tokens that are equally unlikely the lowest ids are reported.
        assert_eq!(logprobs.top[1].token + logprobs.top[2].token, 1);
    }
    let tampered = SamplingOptions {
        temperature: Some(0.1),
        seed: Some(5),
        repetition_penalty: Some(1.2),
        ..SamplingOptions::default()
    };
    assert_eq!(block_on(reply(&round(), options(tampered))).unwrap().logprobs, plain.logprobs);
}

#[test]
fn a_conversation_has_settings_of_its_own_between_the_calls_and_the_managers() {
    block_on(async {
        let limit = |tokens| SamplingOptions { max_tokens: Some(tokens), ..SamplingOptions::default() };
        let manager = Manager::builder(round()).sampling(limit(2)).build().unwrap();
        let said = async |conversation: &alloquy_core::Conversation, ask: TurnRequest| {
            conversation.send(ask).finish().await.unwrap().text()
        };
        let plain = manager.create(Preface::default()).await.unwrap();
        assert_eq!(said(&plain, TurnRequest::from("Hi")).await, "He");
        let own = manager.create(NewConversation::from(Preface::default()).sampling(limit(4))).await.unwrap();
        let reopened = ConversationManager::open(&manager, own.id()).await.unwrap();
        assert_eq!(said(&reopened, TurnRequest::from("Hi")).await, "Hell");
        assert_eq!(said(&own.fork().await.unwrap(), TurnRequest::from("Hi")).await, "Hell");
        assert_eq!(said(&own, TurnRequest::from("Hi").sampling(limit(1))).await, "H");
        assert_eq!(own.request().await.unwrap().sampling.max_tokens, Some(4));
        let bad = NewConversation::from(Preface::default())
            .sampling(SamplingOptions { top_p: Some(2.0), ..SamplingOptions::default() });
        assert_eq!(manager.create(bad).await.unwrap_err().kind(), ErrorKind::Invalid);
    });
}

fn drawn(seed: u64) -> SamplingOptions {
    SamplingOptions {
        temperature: Some(4.0),
        seed: Some(seed),
        max_tokens: Some(12),
        frequency_penalty: Some(0.3),
        no_repeat_ngram: Some(2),
        ..SamplingOptions::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_seed_gives_the_same_tokens_wherever_and_beside_whatever_a_reply_is_made(
        seed in any::<u64>(),
        others in prop::collection::vec(any::<u64>(), 0..5),
        place in 0_usize..5,
    ) {
        block_on(async {
            let alone = reply(&round(), drawn(seed)).await.unwrap();
            let shared = round();
            // One after the other in sessions that fork and rewind, and all of them in the queue at once.
            for &other in &others {
                reply(&shared, drawn(other)).await.unwrap();
            }
            let mut seeds = others.clone();
            seeds.insert(place.min(others.len()), seed);
            let replies = join_all(seeds.iter().map(|&seed| reply(&shared, drawn(seed)))).await;
            let same = replies.into_iter().map(Result::unwrap).filter(|reply| reply.seed == Some(seed));
            for reply in same {
                assert_eq!((&reply.tokens, &reply.message), (&alone.tokens, &alone.message));
            }
        });
    }
}
