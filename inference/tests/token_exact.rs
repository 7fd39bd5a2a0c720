//! Replies stay the ids that they were sampled as, and what is computed again is named.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // a test may panic

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::tokenizer::{Detokenizer, SpecialToken, TokenId, Tokenizer, TokenizerInput};
use alloquy_core::{
    ChatModel, Conversation, Delta, Manager, Message, Preface, Request, Result, TurnEvent, TurnRequest,
};
use alloquy_engine::{CancelToken, Engine, Session};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{ByteTokenizer, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use futures::StreamExt;
use pollster::block_on;
use proptest::prelude::*;

/// A byte tokenizer that also has a token for each of these, so that a text has several spellings; it encodes to the
/// fewest tokens.
const PAIRS: [&str; 4] = ["an", "na", "te", "t\n"];

/// The number of the first of them.
const FIRST_PAIR: TokenId = 1000;

#[derive(Clone, Debug)]
struct PairTokenizer(ByteTokenizer);

impl PairTokenizer {
    fn joined(tokens: &[TokenId]) -> Vec<TokenId> {
        let mut joined = Vec::new();
        let mut rest = tokens;
        while let [first, after @ ..] = rest {
            let pair = |pair: &&str| pair.bytes().map(u32::from).eq(rest.iter().copied().take(2));
            match PAIRS.iter().position(pair) {
                Some(index) => {
                    joined.push(FIRST_PAIR + index as TokenId);
                    rest = &after[1..];
                }
                None => {
                    joined.push(*first);
                    rest = after;
                }
            }
        }
        joined
    }

    fn pair(token: TokenId) -> Option<&'static str> {
        PAIRS.get(token.checked_sub(FIRST_PAIR)? as usize).copied()
    }

    /// The same text in bytes alone.
    fn bytewise(tokens: &[TokenId]) -> Vec<TokenId> {
        let spelled = |&token: &TokenId| match Self::pair(token) {
            Some(pair) => pair.bytes().map(u32::from).collect(),
            None => vec![token],
        };
        tokens.iter().flat_map(spelled).collect()
    }
}

impl Tokenizer for PairTokenizer {
    fn specials(&self) -> &[SpecialToken] {
        self.0.specials()
    }

    fn encode(&self, pieces: &[TokenizerInput<'_>]) -> Result<Vec<TokenId>> {
        Ok(Self::joined(&self.0.encode(pieces)?))
    }

    fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
        Self::pair(token).map(|pair| pair.as_bytes().to_vec()).or_else(|| self.0.bytes(token))
    }

    fn detokenizer(&self) -> Box<dyn Detokenizer> {
        Box::new(PairDetokenizer(self.0.detokenizer()))
    }
}

struct PairDetokenizer(Box<dyn Detokenizer>);

impl Detokenizer for PairDetokenizer {
    fn push(&mut self, token: TokenId) -> Result<String> {
        PairTokenizer::bytewise(&[token]).into_iter().map(|byte| self.0.push(byte)).collect()
    }

    fn finish(&mut self) -> String {
        self.0.finish()
    }
}

/// A scripted engine that reads pairs and writes single bytes: no reply encodes to the ids that it was sampled as.
#[derive(Debug)]
struct Bytewise {
    engine: ScriptedEngine,
    tokenizer: PairTokenizer,
}

impl Bytewise {
    fn new(engine: ScriptedEngine) -> Self {
        let tokenizer =
            PairTokenizer(ByteTokenizer::new(engine.model().specials.iter().map(|s| s.text.as_str())));
        Self { engine, tokenizer }
    }
}

struct BytewiseSession {
    session: Box<dyn Session>,
    /// How many units the other session holds behind each unit of this one.
    lengths: Vec<usize>,
}

impl Engine for Bytewise {
    fn model(&self) -> &ModelInfo {
        self.engine.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        &self.tokenizer
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(BytewiseSession { session: self.engine.open()?, lengths: Vec::new() }))
    }
}

impl Session for BytewiseSession {
    fn length(&self) -> usize {
        self.lengths.len()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        for unit in units {
            let PromptUnit::Token(token) = unit else { panic!("no media here") };
            let bytes: Vec<_> =
                PairTokenizer::bytewise(&[*token]).into_iter().map(PromptUnit::Token).collect();
            self.session.forward(&bytes, cancel)?;
            self.lengths.push(self.session.length());
        }
        Ok(self.session.logits())
    }

    fn logits(&mut self) -> &mut [f32] {
        self.session.logits()
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.lengths.truncate(length);
        self.session.truncate(self.lengths.last().copied().unwrap_or(0))?;
        Ok(self.lengths.len())
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(Self { session: self.session.fork()?, lengths: self.lengths.clone() }))
    }
}

const SCRIPT: [(&str, &str); 3] = [
    ("<user>fruit<end><assistant>", "banana"),
    ("<user>more<end><assistant>", "ananas, dates"),
    ("<user>more fruit<end><assistant>", "banana"),
];

fn round() -> LanguageModel {
    let engine = Bytewise::new(ScriptedEngine::new(SCRIPT));
    LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

#[test]
fn a_conversation_computes_none_of_its_replies_again() {
    let conversation = Conversation::with_preface(round(), Preface::system("Name a plant"));
    let first = conversation.ask("fruit").unwrap().reply;
    assert_eq!(first.tokens, "banana".bytes().map(u32::from).collect::<Vec<_>>());
    let second = conversation.ask("more").unwrap().reply;
    let held = first.cache.unwrap().prompt + first.tokens.len();
    assert_eq!((second.cache.unwrap().cached, second.cache.unwrap().miss), (held, None));
    let third = conversation.ask("more fruit").unwrap().reply;
    let held = second.cache.unwrap().prompt + second.tokens.len();
    assert_eq!((third.cache.unwrap().cached, third.cache.unwrap().miss), (held, None));
    assert_eq!(third.text(), "banana");
}

#[test]
fn a_stored_chat_computes_none_of_its_replies_again() {
    let manager = Manager::new(round());
    block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        let first = conversation.send("fruit").finish().await.unwrap().reply;
        let second = conversation.send("more").finish().await.unwrap().reply;
        let held = first.cache.unwrap().prompt + first.tokens.len();
        assert_eq!(second.cache.unwrap().cached, held);
        let again = conversation.regenerate(TurnRequest::default()).finish().await.unwrap().reply;
        assert_eq!((again.cache.unwrap().computed, again.cache.unwrap().miss), (1, None));
    });
}

fn report(round: &LanguageModel, path: Vec<Message>, replies: Vec<Vec<TokenId>>) -> CacheReport {
    let request = Request::new(Preface::default(), path).replies(replies);
    block_on(async { round.reply(request).await.unwrap().finish().await.unwrap() }).cache.unwrap()
}

fn bytes(text: &str) -> Vec<TokenId> {
    text.bytes().map(u32::from).collect()
}

#[test]
fn what_is_computed_again_is_named() {
    let round = round();
    let asked = || Message::user("fruit");
    let answered = |text: &str| vec![asked(), Message::assistant(text), Message::user("more")];
    assert_eq!(report(&round, vec![asked()], vec![]).miss, None, "nothing was said before");
    let whole = report(&round, answered("banana"), vec![bytes("banana")]);
    assert_eq!((whole.cached, whole.miss), (whole.prompt - "more".len() - 4, None));
    let rewritten = report(&round, answered("a banana"), vec![bytes("banana ")]);
    assert_eq!(rewritten.miss, Some(MissReason::Rewritten));
    // Once it was computed so, it is not computed again.
    let further = || {
        let more = [Message::assistant("ananas"), Message::user("more fruit")];
        answered("a banana").into_iter().chain(more).collect::<Vec<_>>()
    };
    let replies = || vec![bytes("banana "), bytes("ananas")];
    assert_eq!(report(&round, answered("a banana"), vec![bytes("banana ")]).miss, None, "asked again");
    report(&round, further(), replies());
    assert_eq!(report(&round, further(), replies()).miss, None, "asked again behind another reply");
    let fresh = self::round();
    let unseen = report(&fresh, answered("a banana"), vec![bytes("banana ")]);
    assert_eq!(unseen.miss, Some(MissReason::Evicted));
    let fresh = self::round();
    assert_eq!(report(&fresh, answered("banana"), vec![bytes("banana")]).miss, Some(MissReason::Evicted));
    let other = vec![Message::user("fruits"), Message::assistant("banana"), Message::user("more")];
    assert_eq!(report(&fresh, other, vec![bytes("banana")]).miss, Some(MissReason::Changed));
}

#[test]
fn a_reply_that_was_dropped_has_no_ids_which_is_named() {
    let manager = Manager::new(round());
    block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        let mut turn = conversation.send("fruit");
        let mut said = String::new();
        while said.len() < "bana".len() {
            if let Ok(TurnEvent::Delta(Delta::Text(text))) = turn.next().await.unwrap() {
                said += &text;
            }
        }
        drop(turn);
        let next = conversation.send("more").finish().await.unwrap().reply.cache.unwrap();
        assert_eq!(next.miss, Some(MissReason::Retokenized), "{next:?}");
        let again =
            conversation.regenerate(TurnRequest::default()).finish().await.unwrap().reply.cache.unwrap();
        assert_eq!((again.computed, again.miss), (1, None));
    });
}

#[test]
fn blanks_at_the_end_that_a_template_leaves_out_are_left_out_of_the_ids() {
    let round = round();
    let path = || vec![Message::user("fruit"), Message::assistant("banana"), Message::user("more")];
    for blanks in [" ", "\n", " \n\n"] {
        let replies = vec![bytes(&format!("banana{blanks}"))];
        let prepared = round.prepare(&Request::new(Preface::default(), path()).replies(replies)).unwrap();
        let tokens: Vec<_> = prepared.prompt.tokens().map(Option::unwrap).collect();
        assert!(tokens.windows(6).any(|window| window == bytes("banana")), "{blanks:?}: {tokens:?}");
    }
    // A token that has blanks of its own is written anew without them: `t` and a line break are one.
    let path = vec![Message::user("fruit"), Message::assistant("date t"), Message::user("more")];
    let said = [bytes("date "), vec![FIRST_PAIR + 3]].concat();
    let prepared = round.prepare(&Request::new(Preface::default(), path).replies(vec![said])).unwrap();
    let tokens: Vec<_> = prepared.prompt.tokens().map(Option::unwrap).collect();
    assert!(tokens.windows(6).any(|window| window == bytes("date t")), "{tokens:?}");
}

/// Prints answers on a line of their own.
#[derive(Debug)]
struct Lined;

impl PromptTemplate for Lined {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        Ok(TaggedTemplate.render(input)?.replace("<assistant>", "<assistant>\n"))
    }

    fn digest(&self) -> Digest {
        Digest::of(b"lined")
    }
}

#[test]
fn line_breaks_that_are_tokens_of_their_own_are_text() {
    let mut engine = Bytewise::new(ScriptedEngine::new(SCRIPT));
    let specials = engine.engine.model().specials.iter().map(|special| special.text.as_str());
    engine.tokenizer = PairTokenizer(ByteTokenizer::new(specials.chain(["\n\n\n", "\n\n"])));
    let [.., three, two] =
        engine.tokenizer.specials().iter().map(|special| special.id).collect::<Vec<_>>()[..]
    else {
        panic!("there are two");
    };
    let round =
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(Lined)
            .processor(TaggedProcessor)
            .build()
            .unwrap();
    let tokens = |answer: &str, replies: Vec<Vec<TokenId>>| {
        let path = vec![Message::user("fruit"), Message::assistant(answer), Message::user("more")];
        let prepared = round.prepare(&Request::new(Preface::default(), path).replies(replies)).unwrap();
        prepared.prompt.tokens().map(Option::unwrap).collect::<Vec<_>>()
    };
    let has =
        |tokens: &[TokenId], wanted: &[TokenId]| tokens.windows(wanted.len()).any(|window| window == wanted);
    // The line break of the template and those of the reply make one token, unless the reply stands as it was sampled.
    let said = [vec![two], bytes("banana")].concat();
    assert!(has(&tokens("\n\nbanana", vec![]), &[three, u32::from(b'b')]));
    let exact = tokens("\n\nbanana", vec![said.clone()]);
    assert!(has(&exact, &[bytes("\n"), said].concat()), "{exact:?}");
    // At the end of a reply they are blanks that a template may leave out.
    let trimmed = tokens("banana", vec![[bytes("banana"), vec![two]].concat()]);
    assert!(has(&trimmed, &bytes("\nbanana")), "{trimmed:?}");
}

#[test]
fn what_a_person_says_keeps_its_ids_though_it_ends_like_a_reply() {
    let path = vec![Message::user("fruit"), Message::assistant("no"), Message::user("a banana")];
    let request = |replies| Request::new(Preface::default(), path.clone()).replies(replies);
    let round = round();
    let plain = round.prepare(&request(vec![])).unwrap();
    let exact = round.prepare(&request(vec![bytes("banana")])).unwrap();
    assert_eq!(exact.prompt, plain.prompt);
}

fn said() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ante\n <]{0,8}", 1..6)
}

proptest! {
    #[test]
    fn text_never_changes_and_sampled_ids_stay(texts in said(), seed in any::<u64>()) {
        let round = round();
        let path: Vec<_> = texts.iter().enumerate().map(|(index, text)| match index % 2 {
            0 => Message::user(text.clone()),
            _ => Message::assistant(text.clone()),
        }).collect();
        // Each reply is spelled in bytes or in as few tokens as there can be.
        let spelled = |(index, text): (usize, &String)| match (seed >> index) & 1 {
            0 => bytes(text),
            _ => PairTokenizer::joined(&bytes(text)),
        };
        let replies: Vec<_> = texts.iter().enumerate().filter(|(index, _)| index % 2 == 1).map(spelled).collect();
        let plain = round.prepare(&Request::new(Preface::default(), path.clone())).unwrap();
        let exact = round.prepare(&Request::new(Preface::default(), path).replies(replies.clone())).unwrap();
        let tokens = |prepared: &alloquy_core::prompt::PreparedPrompt| {
            prepared.prompt.tokens().map(Option::unwrap).collect::<Vec<_>>()
        };
        prop_assert_eq!(PairTokenizer::bytewise(&tokens(&plain)), PairTokenizer::bytewise(&tokens(&exact)));
        prop_assert_eq!(&exact.rendered, &plain.rendered);
        let mut rest = tokens(&exact);
        for reply in replies {
            let place = rest.windows(reply.len().max(1)).position(|window| window == reply);
            prop_assert!(reply.is_empty() || place.is_some(), "{:?} is not in {:?}", reply, rest);
            rest.drain(..place.unwrap_or(0));
        }
    }
}
