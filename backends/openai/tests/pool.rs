//! Several servers: which one gets a request, and what happens when one fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod matcher;
mod stub;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use alloquy_core::grammar::Grammar;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, SamplingOptions};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder, GuidedDecoding};
use alloquy_openai::{
    Dialect, EndpointHealth, RemoteBuilder, RemoteDecoder, RemoteRetries, RemoteServer, SaltSecret,
};
use alloquy_testing::laws;
use futures::StreamExt;
use matcher::Anything;
use stub::{Answer, SCRIPT, Stub, builder_at, prompt};

/// What begins each reply of the conversations here.
const HEADER: &str = "|A:";

fn servers<const N: usize>(dialect: Dialect) -> [Stub; N] {
    std::array::from_fn(|_| Stub::new(dialect))
}

fn builder(stubs: &[Stub]) -> RemoteBuilder {
    stubs[1..].iter().fold(stubs[0].builder(), |builder, stub| builder.another(stub.server()))
}

fn connect(builder: RemoteBuilder) -> RemoteDecoder {
    pollster::block_on(builder.connect()).unwrap()
}

fn refused(builder: RemoteBuilder) -> Error {
    pollster::block_on(builder.connect()).unwrap_err()
}

#[derive(Debug, Default)]
struct Outcome {
    ids: Vec<TokenId>,
    report: Option<CacheReport>,
    error: Option<Error>,
}

impl Outcome {
    fn miss(&self) -> Option<MissReason> {
        self.report.unwrap().miss
    }
}

fn outcome(decoder: &dyn Decoder, prompt: Prompt) -> Outcome {
    let mut outcome = Outcome::default();
    let mut stream = decoder.decode(DecodeRequest::new(prompt, 5));
    pollster::block_on(async {
        while let Some(item) = stream.next().await {
            match item.map(|event| event.kind) {
                Ok(DecodeEventKind::Token { id, .. }) => outcome.ids.push(id),
                Ok(DecodeEventKind::Prefilled(report)) => outcome.report = Some(report),
                Ok(_) => {}
                Err(error) => outcome.error = Some(error),
            }
        }
    });
    outcome
}

/// A conversation, whose prompts have a common beginning with those of others.
struct Talk {
    history: String,
}

impl Talk {
    fn new(name: usize) -> Self {
        Self {
            history: format!("{}|U: this is conversation {name}", "You are a helpful assistant. ".repeat(10)),
        }
    }

    fn turn(&mut self, decoder: &dyn Decoder) -> Outcome {
        self.history += HEADER;
        let outcome = outcome(decoder, prompt(&self.history));
        self.history += &format!("{}|U: and then?", &SCRIPT[..outcome.ids.len()]);
        outcome
    }
}

fn done(decoder: &RemoteDecoder) -> Vec<u64> {
    decoder.endpoints().iter().map(|endpoint| endpoint.done).collect()
}

fn is_healthy(decoder: &RemoteDecoder, index: usize) -> bool {
    matches!(decoder.endpoints()[index].health, EndpointHealth::Healthy)
}

fn wait_for(seconds: u64, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(seconds), "it has not happened");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn several_servers_are_a_decoder() {
    for dialect in Dialect::ALL {
        let decoder = connect(builder(&servers::<2>(dialect)));
        pollster::block_on(laws::decoder::all(&decoder, &prompt("Tell me: ")));
    }
}

#[test]
fn a_conversation_stays_and_a_common_beginning_pulls_none() {
    let stubs = servers::<3>(Dialect::LlamaCpp);
    let decoder = connect(builder(&stubs));
    let mut counts = BTreeMap::new();
    for name in 0..60 {
        let mut talk = Talk::new(name);
        let before = done(&decoder);
        for turn in 1..=4_u64 {
            assert!(talk.turn(&decoder).error.is_none());
            let after = done(&decoder);
            let place = (0..3).find(|place| after[*place] == before[*place] + turn);
            assert!(
                place.is_some(),
                "turn {turn} of conversation {name} was elsewhere: {before:?} {after:?}"
            );
        }
        let place = (0..3).find(|place| done(&decoder)[*place] > before[*place]).unwrap();
        *counts.entry(place).or_insert(0) += 1;
    }
    assert!(counts.values().all(|count| *count >= 4) && counts.len() == 3, "{counts:?}");
}

#[test]
fn branches_stay_with_their_stem() {
    let stubs = servers::<3>(Dialect::LlamaCpp);
    let decoder = connect(builder(&stubs));
    let mut talk = Talk::new(1);
    talk.turn(&decoder);
    talk.turn(&decoder);
    let stem = talk.history.clone();
    let before = done(&decoder);
    for branch in 0..8 {
        talk.history = format!("{stem} {}", branch.to_string().repeat(9));
        talk.turn(&decoder);
    }
    let mut grown: Vec<u64> =
        done(&decoder).iter().zip(&before).map(|(after, before)| after - before).collect();
    grown.sort_unstable();
    assert_eq!(grown, [0, 0, 8]);
}

#[test]
fn processes_agree_without_having_seen_a_conversation() {
    let stubs = servers::<4>(Dialect::LlamaCpp);
    let one = connect(builder(&stubs));
    let mut reversed = builder_at(stubs[3].server());
    for stub in [&stubs[1], &stubs[0], &stubs[2]] {
        reversed = reversed.another(stub.server());
    }
    let other = connect(reversed);
    for name in 0..20 {
        let mut talk = Talk::new(name);
        for _ in 0..3 {
            talk.turn(&one);
        }
        talk.turn(&other);
    }
    let by_url = |decoder: &RemoteDecoder| -> BTreeMap<String, u64> {
        decoder.endpoints().into_iter().map(|endpoint| (endpoint.url, endpoint.done)).collect()
    };
    let expected: BTreeMap<String, u64> =
        by_url(&one).into_iter().map(|(url, done)| (url, done / 3)).collect();
    assert_eq!(by_url(&other), expected);
}

#[test]
fn load_follows_the_weights() {
    let stubs = servers::<2>(Dialect::LlamaCpp);
    let heavy = stubs[1].server().weight(3);
    let decoder = connect(stubs[0].builder().another(heavy));
    for stub in &stubs {
        stub.plan((0..40).map(|_| Answer::Stall(200)));
    }
    let mut streams = Vec::new();
    for name in 0..40 {
        streams.push(decoder.decode(DecodeRequest::new(prompt(&format!("conversation {name}{HEADER}")), 5)));
    }
    let in_flight: Vec<usize> = decoder.endpoints().iter().map(|endpoint| endpoint.in_flight).collect();
    assert_eq!(in_flight, [10, 30]);
    drop(streams);
    wait_for(5, || decoder.endpoints().iter().all(|endpoint| endpoint.in_flight == 0));
}

#[test]
fn a_failure_before_the_first_token_goes_to_another_server_at_once() {
    let faults = [
        || Answer::Status(503, "", ""),
        || Answer::Status(500, "", "{}"),
        || Answer::Status(404, "", "{}"),
        || Answer::Torn(0),
        || Answer::Raw(b"data: noise\n\n".to_vec()),
    ];
    for fault in faults {
        let stubs = servers::<2>(Dialect::LlamaCpp);
        let decoder = connect(builder(&stubs));
        let mut talk = Talk::new(1);
        talk.turn(&decoder);
        let place = usize::from(done(&decoder)[1] == 1);
        stubs[place].plan([fault()]);
        let begun = Instant::now();
        let second = talk.turn(&decoder);
        assert_eq!((second.ids.len(), second.error.map(|error| error.whole())), (5, None));
        assert!(begun.elapsed() < Duration::from_secs(5), "it does not wait for the server");
        assert_eq!(second.report.unwrap().miss, Some(MissReason::ServedElsewhere));
        assert!(matches!(decoder.endpoints()[place].health, EndpointHealth::Resting { .. }));

        // The conversation has moved: the other server has more of it.
        wait_for(5, || is_healthy(&decoder, place));
        stubs[1 - place].shared.cached.store(1_000_000, Ordering::SeqCst);
        assert_eq!(talk.turn(&decoder).miss(), None);
        assert_eq!(done(&decoder)[1 - place], 2);
    }
}

#[test]
fn a_failure_after_the_first_token_ends_the_reply_and_the_next_turn_is_elsewhere() {
    let stubs = servers::<2>(Dialect::LlamaCpp);
    let decoder = connect(builder(&stubs));
    let mut talk = Talk::new(1);
    talk.turn(&decoder);
    let place = usize::from(done(&decoder)[1] == 1);
    let most = stubs[place].shared.length.load(Ordering::SeqCst) / 2;
    stubs[place].plan([Answer::Torn(most)]);
    let second = talk.turn(&decoder);
    assert!(!second.ids.is_empty() && second.error.is_some(), "{second:?}");
    let third = talk.turn(&decoder);
    assert_eq!((third.ids.len(), third.miss()), (5, Some(MissReason::ServedElsewhere)));
    assert_eq!(done(&decoder)[1 - place], 1);
}

#[test]
fn a_request_that_is_at_fault_is_not_sent_elsewhere() {
    let stubs = servers::<2>(Dialect::Vllm);
    let decoder = connect(builder(&stubs));
    for status in [400, 401, 413, 422] {
        for stub in &stubs {
            stub.shared.plan.lock().unwrap().clear();
            stub.plan([Answer::Status(status, "", "{}")]);
        }
        let sent = || stubs.iter().map(|stub| stub.shared.requests.lock().unwrap().len()).sum::<usize>();
        let before = sent();
        assert_eq!(outcome(&decoder, prompt("Tell me: ")).error.unwrap().kind(), ErrorKind::Invalid);
        assert_eq!(sent(), before + 1);
        assert!(is_healthy(&decoder, 0) && is_healthy(&decoder, 1));
    }
}

#[test]
fn an_overloaded_server_rests_as_long_as_it_wants() {
    let stubs = servers::<2>(Dialect::Vllm);
    let decoder = connect(builder_at(&*stubs[0].url).another(&*stubs[1].url));
    for stub in &stubs {
        stub.plan([Answer::Status(429, "retry-after: 2\r\n", "")]);
    }
    let encoded = || stubs.iter().map(|stub| stub.shared.encoded.load(Ordering::SeqCst)).sum::<usize>();
    let before = encoded();
    let begun = Instant::now();
    let waited = outcome(&decoder, prompt("Tell me: "));
    assert_eq!(waited.error.map(|error| error.whole()), None);
    assert!(begun.elapsed() >= Duration::from_millis(1900), "all rest, so it waits: {:?}", begun.elapsed());
    assert_eq!(encoded(), before, "a server that was overloaded is the same as before");

    for stub in &stubs {
        stub.plan([Answer::Status(503, "retry-after: 100\r\n", "")]);
    }
    let begun = Instant::now();
    assert_eq!(outcome(&decoder, prompt("Tell me: ")).error.unwrap().kind(), ErrorKind::Busy);
    let error = outcome(&decoder, prompt("Tell me: ")).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains("all 2 servers rest"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(1), "it does not wait for 100 seconds");
    let EndpointHealth::Resting { remaining, .. } = &decoder.endpoints()[0].health else { panic!() };
    assert!(*remaining > Duration::from_secs(95));
}

#[test]
fn a_server_that_is_away_at_connect_comes_later() {
    let stubs = servers::<2>(Dialect::LlamaCpp);
    stubs[0].shared.is_down.store(true, Ordering::SeqCst);
    let decoder = connect(builder(&stubs));
    assert_eq!(decoder.description().url, stubs[1].url);
    let first = &decoder.endpoints()[0];
    assert!(matches!(first.health, EndpointHealth::Resting { .. }) && first.description.is_none());
    assert!(outcome(&decoder, prompt("Tell me: ")).error.is_none());
    stubs[0].shared.is_down.store(false, Ordering::SeqCst);
    wait_for(10, || is_healthy(&decoder, 0));
    assert_eq!(decoder.endpoints()[0].description.as_ref().unwrap().dialect, Dialect::LlamaCpp);

    stubs.iter().for_each(|stub| stub.shared.is_down.store(true, Ordering::SeqCst));
    let error = refused(builder(&stubs));
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(error.to_string().starts_with("none of 2 servers answers"), "{error}");
}

#[test]
fn another_model_is_refused() {
    for dialect in Dialect::ALL {
        let stubs = servers::<2>(dialect);
        stubs[1].shared.has_other_model.store(true, Ordering::SeqCst);
        let error = refused(builder(&stubs));
        assert_eq!(error.kind(), ErrorKind::Model, "{error}");
        assert!(stubs.iter().all(|stub| error.to_string().contains(&stub.url)), "{error}");
    }
    let stubs = servers::<2>(Dialect::Vllm);
    stubs[1].shared.has_other_tokenizer.store(true, Ordering::SeqCst);
    let error = refused(builder(&stubs));
    assert_eq!(error.kind(), ErrorKind::Model, "{error}");
    assert!(stubs.iter().all(|stub| error.to_string().contains(&stub.url)), "{error}");
}

#[test]
fn a_server_that_starts_again_with_another_model_gets_no_requests() {
    type Change = fn(&stub::Shared);
    let changes: [(Change, &str); 3] = [
        (|shared| shared.has_other_model.store(true, Ordering::SeqCst), "have different models"),
        (|shared| shared.has_other_tokenizer.store(true, Ordering::SeqCst), "another tokenizer"),
        (|shared| shared.context.store(256, Ordering::SeqCst), "a context of 256 tokens"),
    ];
    for (change, reason) in changes {
        let stubs = servers::<2>(Dialect::LlamaCpp);
        let decoder = connect(builder(&stubs));
        let mut talk = Talk::new(1);
        talk.turn(&decoder);
        let place = usize::from(done(&decoder)[1] == 1);
        stubs[place].plan([Answer::Torn(0)]);
        change(&stubs[place].shared);
        assert!(talk.turn(&decoder).error.is_none());
        wait_for(5, || matches!(decoder.endpoints()[place].health, EndpointHealth::Refused { .. }));
        let EndpointHealth::Refused { remaining, error } = &decoder.endpoints()[place].health else {
            panic!()
        };
        assert!(*remaining > Duration::from_secs(50));
        assert!(error.to_string().contains(reason), "{error}");
        for name in 2..8 {
            assert!(Talk::new(name).turn(&decoder).error.is_none());
        }
        assert_eq!(done(&decoder)[place], 1);
    }
}

#[test]
fn a_decoder_can_what_all_its_servers_can() {
    let llama = Stub::new(Dialect::LlamaCpp);
    let vllm = Stub::new(Dialect::Vllm);
    let mixed = || vllm.builder().another(llama.server());
    let decoder = connect(mixed());
    assert_eq!(decoder.model().context_length, 512);
    let sampling = SamplingOptions { typical_p: Some(0.5), ..SamplingOptions::default() };
    assert!(decoder.ignored(&sampling).contains(&"typical_p"), "vLLM has no such option");
    assert_eq!(refused(mixed().salts(SaltSecret::new("secret"))).kind(), ErrorKind::Unsupported);
    assert_eq!(refused(mixed().priority(1)).kind(), ErrorKind::Unsupported);
    let scored = pollster::block_on(decoder.score(prompt("a"), vec![vec![98]]));
    assert_eq!(scored.unwrap_err().kind(), ErrorKind::Unsupported);
    // Both get requests, each in its own dialect.
    for name in 0..20 {
        assert!(Talk::new(name).turn(&decoder).error.is_none());
    }
    assert!(done(&decoder).iter().all(|done| *done >= 1), "{:?}", done(&decoder));
    let mut guided = GuidedDecoding::default();
    guided.grammar = Some((Grammar::Regex("a+".to_owned()), Box::new(Anything)));
    let mut stream = decoder.decode(DecodeRequest::new(prompt("Tell me: "), 5).guided(guided));
    let refusal = pollster::block_on(stream.next()).unwrap().unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::Unsupported, "llama.cpp takes no regular expressions");
}

#[test]
fn scores_come_from_another_server_when_one_fails() {
    let stubs = servers::<2>(Dialect::Vllm);
    let decoder = connect(builder(&stubs));
    stubs[0].shared.is_down.store(true, Ordering::SeqCst);
    for text in ["a", "b", "c", "d"] {
        let scores = pollster::block_on(decoder.score(prompt(text), vec![vec![98]])).unwrap();
        assert!((scores[0][0].logprob + 98.0).abs() < 1e-6);
    }
}

#[test]
fn servers_are_listed_once_and_have_weights() {
    let stub = Stub::new(Dialect::Vllm);
    let twice = stub.builder().another(format!("{}/", stub.url));
    assert_eq!(refused(twice).kind(), ErrorKind::Invalid);
    let weightless = stub.builder().another(RemoteServer::at("http://127.0.0.1:9").weight(0));
    assert_eq!(refused(weightless).kind(), ErrorKind::Invalid);
}

#[test]
fn no_reply_is_lost_while_servers_fail() {
    let stubs = servers::<3>(Dialect::LlamaCpp);
    let mut retries = RemoteRetries::default();
    retries.attempts = 20;
    let mut servers = stubs.iter().map(|stub| stub.server().retries(retries));
    let first = builder_at(servers.next().unwrap());
    let decoder = connect(servers.fold(first, RemoteBuilder::another));
    for stub in &stubs {
        stub.plan((0..8).map(|round| if round % 2 == 0 { Answer::Torn(0) } else { Answer::Split(90) }));
    }
    let talks: Vec<_> = (0..24)
        .map(|name| {
            let decoder = decoder.clone();
            thread::spawn(move || {
                let mut talk = Talk::new(name);
                for _ in 0..4 {
                    let outcome = talk.turn(&decoder);
                    assert_eq!((outcome.ids.len(), outcome.error.map(|error| error.whole())), (5, None));
                }
            })
        })
        .collect();
    talks.into_iter().for_each(|talk| talk.join().unwrap());
    assert_eq!(done(&decoder).iter().sum::<u64>(), 24 * 4);
    assert!(decoder.endpoints().iter().all(|endpoint| endpoint.in_flight == 0));
}

#[test]
fn units_of_a_prompt_are_checked_before_a_server_is_chosen() {
    let decoder = connect(builder(&servers::<2>(Dialect::Vllm)));
    let unknown = Prompt { units: vec![PromptUnit::Token(99_999)] };
    assert_eq!(outcome(&decoder, unknown).error.unwrap().kind(), ErrorKind::Invalid);
    assert!(decoder.endpoints().iter().all(|endpoint| endpoint.in_flight == 0 && endpoint.done == 0));
}
