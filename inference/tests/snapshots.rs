//! What was computed outlives a round: it is taken back whole, or refused with a reason and computed again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::chat_model::Origin;
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::report::MissReason;
use alloquy_core::template::PromptEnd;
use alloquy_core::tokenizer::Tokenizer;
use alloquy_core::{ChatModel, ErrorKind, Media, Message, Preface, Reply, Request};
use alloquy_engine::decoder::{Snapshot, SnapshotError, SnapshotIdentity, StateReader};
use alloquy_engine::{Engine, Session};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{Draws, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use pollster::block_on;

const SCRIPT: [(&str, &str); 1] = [("Hi<end><assistant>", "Hello!")];

/// Where the digests begin in a snapshot, and how many there are.
const DIGESTS: (usize, usize) = (28, 4);

fn engine() -> ScriptedEngine {
    ScriptedEngine::new(SCRIPT)
}

fn round_over(engine: impl Engine + 'static) -> LanguageModel {
    LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

fn request(texts: &[&str]) -> Request {
    let path = texts.iter().enumerate().map(|(index, text)| match index % 2 {
        0 => Message::user(*text),
        _ => Message::assistant(*text),
    });
    Request::new(Preface::system("Be kind."), path.collect())
}

fn reply(round: &LanguageModel, texts: &[&str]) -> Reply {
    block_on(async { round.reply(request(texts)).await?.finish().await }).unwrap()
}

/// A conversation of one turn, and its snapshot.
fn written() -> (Reply, Snapshot) {
    let round = round_over(engine());
    let said = reply(&round, &["Hi"]);
    (said, block_on(round.snapshot(&request(&["Hi", "Hello!"]))).unwrap())
}

#[test]
fn another_process_goes_on_where_the_first_stopped() {
    let (first, snapshot) = written();
    let round = round_over(engine());
    let restored = block_on(round.restore(snapshot.bytes().to_vec())).unwrap();
    assert_eq!(restored, first.usage.prompt + "Hello!".len());
    let next = reply(&round, &["Hi", "Hello!", "Hi"]);
    let cache = next.cache.unwrap();
    assert_eq!((next.text().as_str(), cache.cached, cache.miss), ("Hello!", restored, None));
}

/// Asks behind a reply that the prompt has otherwise than it was said.
fn rewritten(texts: &[&str]) -> Request {
    request(texts).replies(vec!["Hello!".bytes().map(u32::from).collect()])
}

#[test]
fn a_reply_that_the_template_rewrites_is_named_as_it_is_without_a_restart() {
    let cache = |round: &LanguageModel, texts: &[&str]| {
        let reply = block_on(async { round.reply(rewritten(texts)).await?.finish().await }).unwrap();
        reply.cache.unwrap()
    };
    let before = round_over(engine());
    reply(&before, &["Hi"]);
    let held = ["Hi", "Well, hello!"];
    let asked = ["Hi", "Well, hello!", "Hi"];
    let snapshot = block_on(before.snapshot(&rewritten(&held))).unwrap();
    let without = cache(&before, &asked);
    let after = round_over(engine());
    let restored = block_on(after.restore(snapshot.bytes().to_vec())).unwrap();
    assert_eq!(cache(&after, &asked), without);
    assert_eq!((without.cached, without.miss), (restored, Some(MissReason::Rewritten)));
    assert_eq!(cache(&after, &asked).miss, None, "it is held now in these words");
    // A snapshot of that has it too, and so nothing is computed again.
    let snapshot = block_on(after.snapshot(&rewritten(&asked))).unwrap();
    let later = round_over(engine());
    block_on(later.restore(snapshot.bytes().to_vec())).unwrap();
    let further = cache(&later, &asked);
    assert_eq!((further.computed, further.miss), (1, None));
}

#[test]
fn a_prompt_that_is_computed_ahead_after_a_restart_is_told_once() {
    let before = round_over(engine());
    reply(&before, &["Hi"]);
    let snapshot = block_on(before.snapshot(&rewritten(&["Hi", "Well, hello!"]))).unwrap();
    let after = round_over(engine());
    block_on(after.restore(snapshot.bytes().to_vec())).unwrap();
    let ahead = rewritten(&["Hi", "Well, hello!"]).ending(PromptEnd::Closed);
    let warmed = block_on(after.warm(ahead)).unwrap().unwrap();
    assert_eq!((warmed.cached, warmed.miss), (snapshot.units().len(), Some(MissReason::Rewritten)));
    let next =
        block_on(async { after.reply(rewritten(&["Hi", "Well, hello!", "Hi"])).await?.finish().await });
    let cache = next.unwrap().cache.unwrap();
    assert_eq!((cache.cached, cache.miss), (warmed.prompt, None));
}

#[test]
fn a_snapshot_has_nothing_of_another_conversation_that_begins_alike() {
    let round = round_over(engine());
    reply(&round, &["Hi, this is between us"]);
    let snapshot = block_on(round.snapshot(&request(&["Hi"]))).unwrap();
    let said: Vec<u8> = snapshot
        .units()
        .iter()
        .filter_map(|unit| match unit {
            PromptUnit::Token(token) => u8::try_from(*token).ok(),
            PromptUnit::Media(_) => None,
        })
        .collect();
    assert!(said.ends_with(b"Hi"), "{:?}", String::from_utf8_lossy(&said));
}

#[test]
fn what_nothing_holds_cannot_be_written_down() {
    let error = block_on(round_over(engine()).snapshot(&request(&["Hi"]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:#}");
}

#[test]
fn what_a_session_holds_already_is_not_held_twice() {
    let round = round_over(engine());
    reply(&round, &["Hi"]);
    let snapshot = block_on(round.snapshot(&request(&["Hi", "Hello!"]))).unwrap();
    assert_eq!(block_on(round.restore(snapshot.bytes().to_vec())), Ok(snapshot.units().len()));
    assert_eq!(block_on(round.cache_statistics()).unwrap().sessions, 1);
}

#[test]
fn a_restored_session_is_the_most_recently_used() {
    let (_, snapshot) = written();
    let builder = LanguageModel::builder(Generator::new(Arc::new(engine()), 1).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor);
    let round = builder.build().unwrap();
    reply(&round, &["something else"]);
    let restored = block_on(round.restore(snapshot.bytes().to_vec())).unwrap();
    let statistics = block_on(round.cache_statistics()).unwrap();
    assert_eq!((statistics.sessions, statistics.evicted), (1, 1));
    assert_eq!(reply(&round, &["Hi", "Hello!", "Hi"]).cache.unwrap().cached, restored);
}

#[test]
fn an_edit_after_a_restart_reuses_what_stands_before_it() {
    let (_, snapshot) = written();
    let round = round_over(engine());
    block_on(round.restore(snapshot.bytes().to_vec())).unwrap();
    let cache = reply(&round, &["Ho"]).cache.unwrap();
    assert_eq!(cache.cached, cache.prompt - "o".len() - 2);
}

/// An engine that does what the scripted one does, and has no snapshots: either it cannot say which model it is, or its
/// sessions cannot be written down.
#[derive(Debug)]
struct Without {
    inner: ScriptedEngine,
    identity: Option<Digest>,
}

struct Plain(Box<dyn Session>);

impl Engine for Without {
    fn model(&self) -> &ModelInfo {
        self.inner.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.inner.tokenizer()
    }

    fn identity(&self) -> Option<Digest> {
        self.identity
    }

    fn open(&self) -> alloquy_core::Result<Box<dyn Session>> {
        Ok(Box::new(Plain(self.inner.open()?)))
    }
}

impl Session for Plain {
    fn length(&self) -> usize {
        self.0.length()
    }

    fn forward(
        &mut self,
        units: &[PromptUnit],
        cancel: &alloquy_engine::CancelToken,
    ) -> alloquy_core::Result<&mut [f32]> {
        self.0.forward(units, cancel)
    }

    fn logits(&mut self) -> &mut [f32] {
        self.0.logits()
    }

    fn truncate(&mut self, length: usize) -> alloquy_core::Result<usize> {
        self.0.truncate(length)
    }

    fn fork(&self) -> alloquy_core::Result<Box<dyn Session>> {
        Ok(Box::new(Self(self.0.fork()?)))
    }
}

#[test]
fn engines_that_cannot_say_so_and_go_on() {
    let (_, snapshot) = written();
    let same = engine().identity();
    for identity in [None, same] {
        let round = round_over(Without { inner: engine(), identity });
        let refused = block_on(round.restore(snapshot.bytes().to_vec()));
        assert_eq!(refused, Err(SnapshotError::Unsupported));
        assert_eq!(reply(&round, &["Hi"]).text(), "Hello!");
        let error = block_on(round.snapshot(&request(&["Hi"]))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
    }
}

#[test]
fn what_was_computed_otherwise_is_refused_by_name() {
    let (_, snapshot) = written();
    let bytes = || snapshot.bytes().to_vec();
    let other = round_over(ScriptedEngine::new([("Hi<end><assistant>", "Go away!")]));
    assert_eq!(block_on(other.restore(bytes())), Err(SnapshotError::OtherModel));
    assert_eq!(reply(&other, &["Hi"]).text(), "Go away!");
    let origin = *snapshot.origin();
    let digest = Digest::of(b"another");
    assert_eq!(snapshot.check(&origin), Ok(()));
    let template = SnapshotIdentity::new(origin.model, digest);
    assert_eq!(snapshot.check(&template), Err(SnapshotError::OtherTemplate));
    let mut newer = bytes();
    newer[8] = 5;
    assert_eq!(Snapshot::read(newer), Err(SnapshotError::OtherVersion { found: 5 }));
    let half = bytes().len() / 2;
    let cut = Snapshot::read(bytes()[..half].to_vec());
    assert_eq!(cut, Err(SnapshotError::Cut { expected: bytes().len() as u64, found: half as u64 }));
}

#[test]
fn images_are_units_like_others() {
    let image = PromptUnit::Media(Media::new("image/png", b"an image".to_vec()));
    let units = [PromptUnit::Token(104), image.clone(), PromptUnit::Token(105)];
    let mut session = engine().open().unwrap();
    session.forward(&units, &alloquy_engine::CancelToken::default()).unwrap();
    let origin = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
    let taken = Snapshot::take(origin, &units, &*session).unwrap();
    let read = Snapshot::read(taken.bytes().to_vec()).unwrap();
    assert_eq!((read.units(), read.key()), (&units[..], taken.key()));
    assert_eq!(read, taken);
    let mut restored = engine().open().unwrap();
    let mut state = read.state();
    restored.restore(read.units(), &mut StateReader::new(&mut state)).unwrap();
    assert_eq!(restored.length(), 3);
}

/// What becomes of a snapshot on a bad day.
struct Damage {
    draws: Draws,
    /// The snapshot of another model, of the same conversation.
    foreign: Vec<u8>,
}

impl Damage {
    fn of(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut damaged = bytes.to_vec();
        match self.draws.below(8) {
            0 => self.flip(&mut damaged, bytes.len()),
            1 => self.flip(&mut damaged, DIGESTS.0 + DIGESTS.1 * 32),
            2 => damaged.truncate(self.draws.below(bytes.len())),
            3 => damaged.extend((0..=self.draws.below(40)).map(|byte| byte as u8)),
            4 => self.swap_digests(&mut damaged),
            5 => self.number(&mut damaged),
            6 => self.shift_border(&mut damaged),
            _ => damaged.clone_from(&self.foreign),
        }
        // Half of them look whole, as if whoever wrote them had been wrong.
        if self.draws.below(2) == 0 {
            seal(&mut damaged);
        }
        if damaged == bytes {
            self.flip(&mut damaged, bytes.len());
        }
        damaged
    }

    fn flip(&mut self, bytes: &mut [u8], end: usize) {
        let place = self.draws.below(end.min(bytes.len()));
        bytes[place] ^= 1 << self.draws.below(8);
    }

    fn swap_digests(&mut self, bytes: &mut [u8]) {
        let (start, count) = DIGESTS;
        let [one, other] = [0; 2].map(|_: i32| start + 32 * self.draws.below(count));
        for byte in 0..32 {
            bytes.swap(one + byte, other + byte);
        }
    }

    /// One of the two lengths becomes anything.
    fn number(&mut self, bytes: &mut [u8]) {
        let place = 12 + 8 * self.draws.below(2);
        let value = [0, 1, u64::MAX, u64::MAX / 2, self.draws.below(1 << 20) as u64][self.draws.below(5)];
        bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// What belongs to the units belongs to the state, or the other way round; the whole is as long as before.
    fn shift_border(&mut self, bytes: &mut [u8]) {
        let number =
            |bytes: &[u8], place: usize| u64::from_le_bytes(bytes[place..place + 8].try_into().unwrap());
        let units = number(bytes, 12);
        let state = number(bytes, 20);
        let moved = self.draws.below((units + state) as usize) as u64;
        bytes[12..20].copy_from_slice(&moved.to_le_bytes());
        bytes[20..28].copy_from_slice(&(units + state - moved).to_le_bytes());
    }
}

/// Makes the checksum fit again.
fn seal(bytes: &mut [u8]) {
    if let Some((whole, checksum)) = bytes.split_last_chunk_mut::<32>() {
        *checksum = *blake3::hash(whole).as_bytes();
    }
}

#[test]
fn a_thousand_damaged_snapshots_are_refused_and_the_next_reply_is_right() {
    let (said, snapshot) = written();
    let other = round_over(ScriptedEngine::new([("Hi<end><assistant>", "Go away!")]));
    reply(&other, &["Hi"]);
    let foreign = block_on(other.snapshot(&request(&["Hi"]))).unwrap().bytes().to_vec();
    let mut damage = Damage { draws: Draws::default(), foreign };
    let mut reasons = std::collections::BTreeMap::<_, usize>::new();
    for number in 0..1000 {
        let round = round_over(engine());
        let refused = block_on(round.restore(damage.of(snapshot.bytes())));
        let refusal = refused.expect_err(&format!("damage {number} went unseen"));
        let name = format!("{refusal:?}");
        *reasons.entry(name.split(' ').next().unwrap().to_owned()).or_default() += 1;
        let next = reply(&round, &["Hi"]);
        assert_eq!((next.text(), &next.tokens), (said.text(), &said.tokens), "after damage {number}");
        assert_eq!(next.cache.unwrap().cached, 0, "after damage {number}");
    }
    let seen: Vec<_> = reasons.keys().map(String::as_str).collect();
    assert_eq!(seen, ["Cut", "Damaged", "Engine", "Foreign", "OtherModel", "OtherVersion"], "{reasons:?}");
}

#[test]
fn what_is_held_of_a_prompt_is_that_of_its_owner_and_changes_nothing() {
    let round = round_over(engine());
    let of = |owner: &str, texts: &[&str]| {
        request(texts).origin(Origin::new(owner.parse().unwrap(), "tea".parse().unwrap()))
    };
    let held = |owner: &str, texts: &[&str]| block_on(round.held(&of(owner, texts))).unwrap();
    assert_eq!(held("ann", &["Hi"]).held, 0);
    let first = block_on(async { round.reply(of("ann", &["Hi"])).await?.finish().await }).unwrap();
    let next = held("ann", &["Hi", "Hello!", "Hi"]);
    assert_eq!(next.held, first.usage.prompt + "Hello!".len());
    assert_eq!(next.gain(&next.units), next.units.len() - next.held);
    assert_eq!(held("bob", &["Hi", "Hello!", "Hi"]).held, 0);
    assert_eq!(held("local", &["Hi", "Hello!", "Hi"]).held, 0);
    assert_eq!(block_on(round.cache_statistics()).unwrap().sessions, 1);

    // Another process holds what it has restored, and for that owner alone.
    let snapshot = block_on(round.snapshot(&of("ann", &["Hi", "Hello!"]))).unwrap();
    assert_eq!(next.gain(snapshot.units()), 0);
    let after = round_over(engine());
    block_on(after.restore_for(&"ann".parse().unwrap(), snapshot.bytes().to_vec())).unwrap();
    assert_eq!(block_on(after.held(&of("ann", &["Hi", "Hello!", "Hi"]))).unwrap().held, next.held);
    assert_eq!(block_on(after.held(&of("bob", &["Hi", "Hello!", "Hi"]))).unwrap().held, 0);
}

#[test]
fn the_last_reply_says_whether_earlier_turns_are_held() {
    let round = round_over(engine());
    let asked = |texts: &[&str]| request(texts).replies(vec!["Hello!".bytes().map(u32::from).collect()]);
    let next = || block_on(round.held(&asked(&["Hi", "Hello!", "Hi"]))).unwrap();
    assert!(!next().has_earlier_turns(), "nothing is computed yet");
    reply(&round, &["Hi"]);
    assert!(next().has_earlier_turns());
    let other = block_on(round.held(&asked(&["Bye", "Hello!", "Hi"]))).unwrap();
    assert!(!other.has_earlier_turns() && other.held > 0, "only the system prompt is shared: {other:?}");
    assert!(!block_on(round.held(&request(&["Hi"]))).unwrap().has_earlier_turns(), "there is none");
}
