//! Servers that are overloaded while a hundred conversations ask at once: each has its reply or an error of a kind, no request
//! is sent too often, and none is sent again once its reply has begun.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod stub;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use alloquy_core::tree::NodeStatus;
use alloquy_core::turn::{PartialReplyPolicy, TurnReply};
use alloquy_core::{ChatModel, ErrorKind, Manager, Preface, Result};
use alloquy_inference::LanguageModel;
use alloquy_openai::{ChatProtocol, Dialect, RemoteChat, RemoteRetries, RemoteServer};
use alloquy_testing::{TaggedProcessor, TaggedTemplate};
use futures::future::join_all;
use stub::{Answer, SCRIPT, Stub, builder_at};

/// How many conversations ask at once.
const CONVERSATIONS: usize = 100;

/// How often a request is sent at most.
const ATTEMPTS: usize = 4;

/// A storm: the statuses of how many of a hundred requests, and what the server says about when to come back.
struct Storm {
    refused: usize,
    header: &'static str,
}

const STORMS: [Storm; 6] = [
    Storm { refused: 30, header: "" },
    Storm { refused: 90, header: "" },
    Storm { refused: 30, header: "retry-after: 0\r\n" },
    Storm { refused: 90, header: "retry-after: 0\r\n" },
    Storm { refused: 90, header: "retry-after: 1\r\n" },
    // Longer than a client waits.
    Storm { refused: 90, header: "retry-after: 3600\r\n" },
];

/// Numbers that look random and are the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

impl Storm {
    /// Returns an answer for each request that may come.
    fn answers(&self, random: &mut Random) -> Vec<Answer> {
        let mut answers = Vec::new();
        for _ in 0..CONVERSATIONS * ATTEMPTS {
            let status = [429, 503][random.below(2)];
            answers.push(if random.below(100) < self.refused {
                Answer::Status(status, self.header, "{}")
            } else if random.below(10) == 0 {
                // Half of an event, somewhere in the reply.
                Answer::Torn(200 + random.below(2_000))
            } else {
                Answer::Split(random.below(2_000))
            });
        }
        answers
    }

    fn retries(&self) -> RemoteRetries {
        let mut retries = RemoteRetries::default();
        retries.attempts = u32::try_from(ATTEMPTS).unwrap();
        retries.longest_wait = Duration::from_secs(2);
        retries
    }

    fn server(&self, stub: &Stub) -> RemoteServer {
        RemoteServer::at(&stub.url).retries(self.retries())
    }
}

/// Asks from all conversations at once. Returns how each turn ended.
fn ask(model: impl ChatModel + 'static) -> Vec<Result<TurnReply>> {
    let manager = Manager::builder(model).partial_replies(PartialReplyPolicy::Keep).build().unwrap();
    pollster::block_on(async {
        let turns = (0..CONVERSATIONS).map(|number| {
            let manager = &manager;
            async move {
                let conversation = manager.create(Preface::default()).await?;
                let turn = conversation.send(format!("Conversation {number}.")).finish().await;
                let history = conversation.history().await?;
                if let Ok(reply) = &turn {
                    let is_whole = reply.reply.error.is_none();
                    let expected = if is_whole { NodeStatus::Complete } else { NodeStatus::Interrupted };
                    assert_eq!(history.last().unwrap().status, expected);
                    assert_eq!(history.last().unwrap().message.text(), reply.text());
                }
                turn
            }
        });
        join_all(turns).await
    })
}

/// Checks how the turns ended, by what was planned and asked.
fn check(storm: &Storm, stub: &Stub, turns: &[Result<TurnReply>], begun: Instant) {
    let mut whole = 0;
    let mut cut = 0;
    let mut refused = 0;
    for turn in turns {
        match turn {
            Ok(reply) if reply.reply.error.is_none() => {
                assert_eq!(reply.text(), SCRIPT);
                whole += 1;
            }
            Ok(reply) => {
                assert!(SCRIPT.starts_with(&reply.text()) && !reply.text().is_empty(), "{:?}", reply.text());
                cut += 1;
            }
            Err(error) => {
                // A reply that ends before its first token may be the last one that a request gets, too.
                assert!(matches!(error.kind(), ErrorKind::Busy | ErrorKind::Backend), "{error:#}");
                refused += 1;
            }
        }
    }
    let requests = stub.shared.requests.lock().unwrap().clone();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for request in &requests {
        let asked = request.get("prompt").or(request.get("messages")).unwrap();
        *times.entry(asked.to_string()).or_default() += 1;
    }
    assert_eq!(times.len(), CONVERSATIONS);
    assert!(times.values().all(|times| *times <= ATTEMPTS), "{times:?}");
    eprintln!(
        "{} % refused with {:?}: {whole} replies, {cut} cut, {refused} errors, {} requests, {:?}",
        storm.refused,
        storm.header.trim(),
        requests.len(),
        begun.elapsed()
    );
    let is_long = storm.header.contains("3600");
    if is_long {
        assert_eq!(requests.len(), CONVERSATIONS, "a server that wants a long rest is left alone");
    }
    // With 30 % refused, fewer than one in a hundred requests fail four times.
    if storm.refused == 30 {
        assert!(refused < 10, "{refused} errors");
    }
    // Each request takes at most 2 s of waits more than its server says, whatever the other ones do.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn a_hundred_decoders_of_an_overloaded_server_all_end() {
    let mut random = Random(5);
    for storm in &STORMS {
        for dialect in [Dialect::Vllm, Dialect::LlamaCpp] {
            let stub = Stub::new(dialect);
            let decoder = pollster::block_on(builder_at(storm.server(&stub)).connect()).unwrap();
            let model = LanguageModel::builder(decoder).template(TaggedTemplate).processor(TaggedProcessor);
            stub.plan(storm.answers(&mut random));
            let begun = Instant::now();
            let turns = ask(model.build().unwrap());
            check(storm, &stub, &turns, begun);
        }
    }
}

#[test]
fn a_hundred_chats_of_an_overloaded_server_all_end() {
    let mut random = Random(6);
    for storm in &STORMS {
        let stub = Stub::new(Dialect::Completions);
        let builder =
            RemoteChat::builder(storm.server(&stub)).protocol(ChatProtocol::Completions).model("script");
        let model = pollster::block_on(builder.connect()).unwrap();
        stub.plan(storm.answers(&mut random));
        let begun = Instant::now();
        let turns = ask(model);
        check(storm, &stub, &turns, begun);
    }
}

/// A reply is not asked for again once its first token has come, whatever the server does then.
#[test]
fn a_reply_that_has_begun_is_asked_for_once() {
    for dialect in Dialect::ALL {
        let stub = Stub::new(dialect);
        let storm = Storm { refused: 0, header: "" };
        let decoder = pollster::block_on(builder_at(storm.server(&stub)).connect()).unwrap();
        let model = LanguageModel::builder(decoder).template(TaggedTemplate).processor(TaggedProcessor);
        // Every dialect has its first token within 500 bytes, and more than 1000 bytes.
        stub.plan((0..CONVERSATIONS).map(|number| Answer::Torn(500 + number * 5)));
        let turns = ask(model.build().unwrap());
        for turn in turns {
            let reply = turn.unwrap();
            assert!(
                reply.reply.error.is_some() && !reply.text().is_empty(),
                "{dialect:?}: {:?}",
                reply.text()
            );
        }
        assert_eq!(stub.shared.requests.lock().unwrap().len(), CONVERSATIONS, "{dialect:?}");
    }
}
