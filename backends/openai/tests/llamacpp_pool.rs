//! Two real servers of llama.cpp under one decoder. It says when it skips.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic
#![allow(clippy::cast_precision_loss)] // counts of tokens

mod llama;

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::tokenizer::{TokenId, TokenizerInput};
use alloquy_core::{ErrorKind, Result};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_openai::{EndpointHealth, RemoteDecoder};
use futures::StreamExt;
use llama::Llama;

const CONVERSATIONS: usize = 20;

const TURNS: usize = 5;

/// Enough for half of the conversations, and not for all.
const SLOTS: &str = "12";

const SYSTEM: &str =
    "A man tells a girl stories. They are short and happy. There is a cat, a dog, and a big red ball.";

const NAMES: [&str; CONVERSATIONS] = [
    "Lily", "Tom", "Mia", "Ben", "Sue", "Max", "Tim", "Amy", "Sam", "Jack", "Anna", "Bob", "Lucy", "Joe",
    "Emma", "Kate", "Dan", "Zoe", "Leo", "Ella",
];

/// A conversation, in ids.
struct Talk {
    ids: Vec<TokenId>,
}

impl Talk {
    fn new(decoder: &RemoteDecoder, name: &str) -> Self {
        let mut ids = vec![1];
        ids.extend(encoded(
            decoder,
            &format!("{SYSTEM}\nA: Tell me of {name} and of what {name} did that day."),
        ));
        Self { ids }
    }

    /// Asks for a reply of 16 tokens.
    fn turn(&mut self, decoder: &RemoteDecoder) -> Result<CacheReport> {
        self.ids.extend(encoded(decoder, "\nB:"));
        let prompt = Prompt { units: self.ids.iter().copied().map(PromptUnit::Token).collect() };
        let mut events = decoder.decode(DecodeRequest::new(prompt, 16));
        let mut report = CacheReport::default();
        pollster::block_on(async {
            while let Some(event) = events.next().await {
                match event?.kind {
                    DecodeEventKind::Token { id, .. } => self.ids.push(id),
                    DecodeEventKind::Prefilled(found) => report = found,
                    _ => {}
                }
            }
            Ok::<_, alloquy_core::Error>(())
        })?;
        self.ids.extend(encoded(decoder, "\nA: And what then?"));
        Ok(report)
    }
}

fn encoded(decoder: &RemoteDecoder, text: &str) -> Vec<TokenId> {
    decoder.tokenizer().encode(&[TokenizerInput::Literal(text)]).unwrap()
}

fn talks(decoder: &RemoteDecoder) -> Vec<Talk> {
    NAMES.iter().map(|name| Talk::new(decoder, name)).collect()
}

/// One test at a time: the threads of four servers would wait for each other.
static TURN: Mutex<()> = Mutex::new(());

fn pair() -> Option<(Llama, Llama)> {
    Some((Llama::with_slots(SLOTS, &[])?, Llama::with_slots(SLOTS, &[])?))
}

fn decoder(servers: &[&Llama]) -> RemoteDecoder {
    let folder = servers[0].models.join("stories260k-hf64");
    let first = RemoteDecoder::builder(&*servers[0].url, folder);
    let builder = servers[1..].iter().fold(first, |builder, server| builder.another(&*server.url));
    pollster::block_on(builder.connect()).unwrap()
}

/// Returns the share of the prompts that was cached, in percent.
fn share(reports: &[CacheReport]) -> f64 {
    let cached: usize = reports.iter().map(|report| report.cached).sum();
    let prompts: usize = reports.iter().map(|report| report.prompt).sum();
    100.0 * cached as f64 / prompts as f64
}

#[test]
fn conversations_that_stay_are_cached() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((one, other)) = pair() else { return };
    let both = decoder(&[&one, &other]);
    let mut talks = talks(&both);
    let mut stayed = Vec::new();
    for _ in 0..TURNS {
        for talk in &mut talks {
            stayed.push(talk.turn(&both).unwrap());
        }
    }
    let done: Vec<u64> = both.endpoints().iter().map(|endpoint| endpoint.done).collect();
    drop((one, other));

    let Some((one, other)) = pair() else { return };
    let alone = [decoder(&[&one]), decoder(&[&other])];
    let mut talks = self::talks(&both);
    let mut in_turn = Vec::new();
    for turn in 0..TURNS {
        for (index, talk) in talks.iter_mut().enumerate() {
            in_turn.push(talk.turn(&alone[(index + turn) % 2]).unwrap());
        }
    }
    let (stayed, in_turn) = (share(&stayed), share(&in_turn));
    eprintln!("cached: {stayed:.1} % with affinity, {in_turn:.1} % with servers in turn; requests {done:?}");
    assert!(stayed > in_turn + 5.0, "{stayed} and {in_turn}");
    assert!(done.iter().all(|done| *done >= 5), "{done:?}");
}

#[test]
fn conversations_continue_while_a_server_is_killed_and_started_again() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((one, other)) = pair() else { return };
    let both = decoder(&[&one, &other]);
    let mut talks = talks(&both);
    let mut homes = Vec::new();
    for talk in &mut talks {
        let before = both.endpoints()[0].done;
        talk.turn(&both).unwrap();
        homes.push(both.endpoints()[0].done > before);
    }
    for talk in &mut talks {
        assert_ne!(talk.turn(&both).unwrap().miss, Some(MissReason::ServedElsewhere));
    }
    let port = one.url.rsplit(':').next().unwrap().to_owned();
    drop(one);
    for (talk, was_there) in talks.iter_mut().zip(&homes) {
        let has_moved = talk.turn(&both).unwrap().miss == Some(MissReason::ServedElsewhere);
        assert_eq!(has_moved, *was_there);
    }
    assert!(homes.contains(&true) && homes.contains(&false), "{homes:?}");
    let away = &both.endpoints()[0];
    assert!(
        matches!(&away.health, EndpointHealth::Resting { error, .. } if error.kind() == ErrorKind::Backend)
    );

    let _again = Llama::with_slots(SLOTS, &[&format!("port={port}")]).unwrap();
    let begun = Instant::now();
    while !matches!(both.endpoints()[0].health, EndpointHealth::Healthy) {
        assert!(begun.elapsed() < Duration::from_secs(90), "it is not used again");
        thread::sleep(Duration::from_millis(50));
    }
    for _ in 3..TURNS {
        for talk in &mut talks {
            let miss = talk.turn(&both).unwrap().miss;
            assert_ne!(miss, Some(MissReason::ServedElsewhere), "it stays where it has moved to");
        }
    }
    // New conversations go to the server that is back.
    let before = both.endpoints()[0].done;
    for name in NAMES {
        Talk::new(&both, &format!("little {name}")).turn(&both).unwrap();
    }
    assert!(both.endpoints()[0].done >= before + 4);
    assert_eq!(both.endpoints().iter().map(|endpoint| endpoint.done).sum::<u64>(), 120);
}
