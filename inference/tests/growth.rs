//! What a turn costs does not grow with what was said before: what is read of tokens and copied is counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::tokenizer::{Detokenizer, SpecialToken, TokenId, Tokenizer, TokenizerInput};
use alloquy_core::{Manager, Message, Preface, ReplyStream, Request, Result};
use alloquy_engine::{Engine, Session};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{ByteTokenizer, NoiseEngine, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use pollster::block_on;

/// Counts how often it is asked for the bytes of a token.
#[derive(Clone, Debug)]
struct Spelling {
    tokenizer: ByteTokenizer,
    asked: Arc<AtomicUsize>,
}

impl Tokenizer for Spelling {
    fn specials(&self) -> &[SpecialToken] {
        self.tokenizer.specials()
    }

    fn encode(&self, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
        self.tokenizer.encode(pieces)
    }

    fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.tokenizer.bytes(token)
    }

    fn detokenizer(&self) -> Box<dyn Detokenizer> {
        self.tokenizer.detokenizer()
    }
}

#[derive(Debug)]
struct SpellingEngine {
    inner: NoiseEngine,
    tokenizer: Spelling,
}

impl Engine for SpellingEngine {
    fn model(&self) -> &ModelInfo {
        self.inner.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        &self.tokenizer
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        self.inner.open()
    }
}

/// How many bytes of tokens it takes to put replies into a prompt, each of which is printed otherwise than it was sampled.
fn spelled(replies: usize) -> usize {
    let inner = NoiseEngine::new(["<user>", "<assistant>", "<think>"]);
    let tokenizer = Spelling {
        tokenizer: ByteTokenizer::new(
            inner.tokenizer().specials().iter().map(|special| special.text.as_str()),
        ),
        asked: Arc::default(),
    };
    let asked = Arc::clone(&tokenizer.asked);
    let engine = SpellingEngine { inner, tokenizer };
    let round =
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(TaggedTemplate)
            .processor(TaggedProcessor);
    let round = round.build().unwrap();
    let thought = |number: usize| format!("<think>thought {number:6}<think>answer {number:6}");
    let tokenizer = ByteTokenizer::new(["<end>", "<user>", "<assistant>", "<think>"]);
    let ids = |number| tokenizer.encode(&[TokenizerInput::Text(&thought(number))]).unwrap();
    let said = |number: usize| {
        [Message::user(format!("question {number:6}")), Message::assistant(format!("answer {number:6}"))]
    };
    let path = (0..replies).flat_map(said).chain([Message::user("and now?")]).collect();
    let request = Request::new(Preface::default(), path).replies((0..replies).map(ids).collect());
    round.prepare(&request).unwrap();
    asked.load(Ordering::Relaxed)
}

#[test]
fn replies_that_stand_otherwise_cost_no_more_each_where_there_are_many() {
    let few = spelled(50);
    let many = spelled(2_000);
    assert!(many <= few * 50, "{few} for 50 replies, {many} for 2,000");
}

#[test]
fn a_conversation_in_memory_shares_its_messages_with_its_requests() {
    /// Says whether it was shown the same messages as before, not copies of them.
    #[derive(Clone, Debug, Default)]
    struct Watching(Arc<AtomicUsize>);

    #[async_trait::async_trait]
    impl Middleware for Watching {
        async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
            self.0.store(request.path.as_ptr() as usize, Ordering::Relaxed);
            next.call(request).await
        }
    }

    let watching = Watching::default();
    let engine = ScriptedEngine::new([("<assistant>", "An answer.")]).context_length(1 << 20);
    let model =
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(TaggedTemplate)
            .processor(TaggedProcessor)
            .build()
            .unwrap();
    let builder = Manager::builder(model).middleware(watching.clone());
    let conversation = block_on(builder.build().unwrap().create(Preface::default())).unwrap();
    let history: Vec<_> = (0..1_000).map(|number| Message::user(format!("{number}"))).collect();
    block_on(conversation.add(history)).unwrap();
    conversation.ask("one").unwrap();
    let before = watching.0.load(Ordering::Relaxed);
    for _ in 0..10 {
        conversation.ask("another").unwrap();
        assert_eq!(watching.0.load(Ordering::Relaxed), before, "the history was copied");
    }
}
