//! A real server of vLLM, on a model with known replies. It says when it skips.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod matcher;
mod vllm_server;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use alloquy_core::grammar::Grammar;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::sampling::TokenLogprobs;
use alloquy_core::tokenizer::{TokenId, decode};
use alloquy_core::{ErrorKind, Result, SamplingOptions};
use alloquy_engine::decoder::{DecodeEnd, DecodeEventKind, DecodeRequest, Decoder, GuidedDecoding};
use alloquy_openai::{Dialect, RemoteDecoder, SaltSecret, TokenizerCheck};
use alloquy_testing::laws;
use futures::StreamExt;
use matcher::Anything;
use serde_json::{Value, json};
use vllm_server::Vllm;

/// "Once upon a time".
const TALE: [TokenId; 5] = [1, 403, 407, 261, 378];

impl Vllm {
    fn decoder(&self) -> RemoteDecoder {
        let secret = SaltSecret::new(b"a secret of at least thirty-two bytes".to_vec());
        let builder = RemoteDecoder::builder(&self.url, self.models.join("stories260k-hf64"));
        pollster::block_on(builder.salts(secret).connect()).unwrap()
    }

    /// Asks the server itself.
    fn ask(&self, path: &str, body: Option<&Value>) -> (u16, String) {
        let host = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let method = if body.is_some() { "POST" } else { "GET" };
        let body = body.map(Value::to_string).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Returns a number of the server's metrics.
    fn metric(&self, name: &str) -> u64 {
        let (_, metrics) = self.ask("/metrics", None);
        let line = metrics.lines().find(|line| line.starts_with(name)).unwrap();
        let number = line.rsplit(' ').next().unwrap();
        number.strip_suffix(".0").unwrap().parse().unwrap()
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, answer) = self.ask(path, Some(body));
        (status, serde_json::from_str(&answer).unwrap())
    }
}

#[derive(Default)]
struct Reply {
    ids: Vec<TokenId>,
    logprobs: Vec<TokenLogprobs>,
    end: Option<DecodeEnd>,
}

fn reply(decoder: &dyn Decoder, request: DecodeRequest) -> Result<Reply> {
    let mut reply = Reply::default();
    let mut events = decoder.decode(request);
    pollster::block_on(async {
        while let Some(event) = events.next().await {
            match event?.kind {
                DecodeEventKind::Token { id, logprobs } => {
                    reply.ids.push(id);
                    reply.logprobs.extend(logprobs);
                }
                DecodeEventKind::Finished(end) => reply.end = Some(end),
                _ => {}
            }
        }
        Ok(reply)
    })
}

fn prompt(ids: &[TokenId]) -> Prompt {
    Prompt { units: ids.iter().copied().map(PromptUnit::Token).collect() }
}

fn ids(value: &Value) -> Vec<TokenId> {
    serde_json::from_value(value.clone()).unwrap()
}

fn cached(decoder: &dyn Decoder) -> usize {
    pollster::block_on(decoder.cache_statistics()).unwrap().unwrap().cached
}

#[test]
fn replies_are_those_of_the_local_engine() {
    let Some(server) = Vllm::alone() else { return };
    let decoder = server.decoder();
    let description = decoder.description();
    assert_eq!((description.dialect, description.context_length), (Dialect::Vllm, Some(512)));
    assert_eq!(description.model, "stories");
    assert!(matches!(description.tokenizer, TokenizerCheck::Equal { texts } if texts > 10));

    let golden = fs::read(server.models.join("stories260k/golden.json")).unwrap();
    let golden: Value = serde_json::from_slice(&golden).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let expected = ids(&case["greedy_ids"]);
        let before = ids(&case["prompt_ids"]);
        let reply = reply(&decoder, DecodeRequest::new(prompt(&before), expected.len())).unwrap();
        assert_eq!(reply.ids, expected, "after {before:?}");
    }
}

#[test]
fn the_remote_decoder_is_a_decoder() {
    let Some(server) = Vllm::alone() else { return };
    pollster::block_on(laws::decoder::all(&server.decoder(), &prompt(&TALE)));
}

#[test]
fn whole_blocks_are_cached_for_one_owner() {
    let Some(server) = Vllm::alone() else { return };
    let decoder = server.decoder();
    let ada = decoder.for_owner("ada").unwrap();
    let bob = decoder.for_owner("bob").unwrap();
    let hundred: Vec<TokenId> = (0..100).map(|place| 5 + place * 3).collect();
    let mut known = 0;
    // Its blocks have 32 tokens, and the last token of a prompt is computed in any case.
    let cases =
        [(&ada, 100, 0), (&ada, 100, 96), (&bob, 100, 0), (&ada, 97, 96), (&ada, 96, 64), (&ada, 31, 0)];
    for (owner, length, expected) in cases {
        reply(owner, DecodeRequest::new(prompt(&hundred[..length]), 4)).unwrap();
        let now = cached(&decoder);
        assert_eq!(now - known, expected, "of {length} tokens");
        known = now;
    }
}

#[test]
fn a_reply_is_cached_with_its_prompt() {
    let Some(server) = Vllm::alone() else { return };
    let decoder = server.decoder().for_owner("eve").unwrap();
    let first = reply(&decoder, DecodeRequest::new(prompt(&TALE), 100)).unwrap();
    let longer = [&TALE[..], &first.ids].concat();
    reply(&decoder, DecodeRequest::new(prompt(&longer), 4)).unwrap();
    // Of 105 tokens the last one was sampled and not computed.
    assert_eq!(cached(&decoder), 96);
}

#[test]
fn scores_are_the_log_probabilities_of_replies() {
    let Some(server) = Vllm::alone() else { return };
    let decoder = server.decoder();
    let sampling = SamplingOptions { logprobs: Some(2), ..SamplingOptions::default() };
    let explained = reply(&decoder, DecodeRequest::new(prompt(&TALE), 6).sampling(sampling)).unwrap();
    let first = &explained.logprobs[0];
    assert!((first.sampled.logprob + 0.0317).abs() < 1e-3, "{first:?}");
    assert_eq!((first.top.len(), first.top[0].token), (2, explained.ids[0]));

    let targets = vec![explained.ids.clone(), Vec::new(), vec![first.top[1].token]];
    let scores = pollster::block_on(decoder.score(prompt(&TALE), targets)).unwrap();
    assert_eq!(scores.iter().map(Vec::len).collect::<Vec<_>>(), [6, 0, 1]);
    for (score, sampled) in scores[0].iter().zip(&explained.logprobs) {
        assert_eq!(score.token, sampled.sampled.token);
        assert!((score.logprob - sampled.sampled.logprob).abs() < 1e-3, "{score:?} {sampled:?}");
    }
    assert!((scores[2][0].logprob - first.top[1].logprob).abs() < 1e-3, "{:?}", scores[2]);
}

#[test]
fn replies_end_at_stop_tokens_and_keep_biases() {
    let Some(server) = Vllm::alone() else { return };
    let decoder = server.decoder();
    let plain = reply(&decoder, DecodeRequest::new(prompt(&TALE), 3)).unwrap();
    let sampling = SamplingOptions { logit_bias: [(2, 100.0)].into(), ..SamplingOptions::default() };
    let ended = reply(&decoder, DecodeRequest::new(prompt(&TALE), 3).sampling(sampling)).unwrap();
    assert!(ended.ids.is_empty() && matches!(ended.end, Some(DecodeEnd::StopToken(_))), "{:?}", ended.end);
    let sampling = SamplingOptions { suppress: vec![plain.ids[0]], ..SamplingOptions::default() };
    let other = reply(&decoder, DecodeRequest::new(prompt(&TALE), 3).sampling(sampling)).unwrap();
    assert_ne!(other.ids[0], plain.ids[0]);
}

#[test]
fn grammars_are_enforced_by_the_server() {
    let Some(server) = Vllm::alone() else { return };
    let decoder = server.decoder();
    let cases: [(Grammar, &[&str]); 4] = [
        (Grammar::choice(["yes", "no"]), &["yes", "no"]),
        (Grammar::Regex("[17]-(left|right)".to_owned()), &["1-left", "1-right", "7-left", "7-right"]),
        (Grammar::JsonSchema(json!({"enum": [true, 17]})), &["true", "17"]),
        (Grammar::Lark("start: \"a\" (\"b\" | \"c\") \"d\"".to_owned()), &["abd", "acd"]),
    ];
    for (grammar, texts) in cases {
        let mut guided = GuidedDecoding::default();
        guided.grammar = Some((grammar, Box::new(Anything)));
        let reply = reply(&decoder, DecodeRequest::new(prompt(&TALE), 30).guided(guided)).unwrap();
        let text = decode(decoder.tokenizer(), &reply.ids).unwrap();
        assert!(texts.contains(&text.as_str()), "{text:?} of {:?} is not one of {texts:?}", reply.ids);
    }
}

#[test]
fn refusals_of_the_server_have_kinds() {
    let Some(server) = Vllm::alone() else { return };
    let decoder = server.decoder();
    let error = reply(&decoder, DecodeRequest::new(prompt(&vec![5; 800]), 5)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow);
    let error = reply(&decoder, DecodeRequest::new(prompt(&[1, 99_999]), 5)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    // A limit beyond the context is the server's refusal.
    let error = reply(&decoder, DecodeRequest::new(prompt(&vec![5; 500]), 500)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow, "{error:#}");
    let builder = RemoteDecoder::builder(&server.url, server.models.join("stories260k-hf64"));
    let error = pollster::block_on(builder.model("x").connect()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:#}");
    let other = RemoteDecoder::connect(&server.url, server.models.join("tiny/genai-qwen3-fp32"));
    let error = pollster::block_on(other).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Model, "{error:#}");
    // The server's own words.
    let (status, answer) =
        server.post("/v1/completions", &json!({"model": "stories", "prompt": [1, 99_999]}));
    assert_eq!((status, &answer["error"]["type"]), (400, &json!("BadRequestError")), "{answer}");
    let (status, answer) = server.post("/v1/completions", &json!({"model": "x", "prompt": [1]}));
    assert_eq!((status, &answer["error"]["type"]), (404, &json!("NotFoundError")), "{answer}");
}

#[test]
fn a_dropped_reply_ends_on_the_server() {
    let Some(server) = Vllm::alone() else { return };
    let decoder = server.decoder();
    let before = server.metric("vllm:generation_tokens_total");
    let sampling = SamplingOptions { suppress: vec![2], ..SamplingOptions::default() };
    let mut stream = decoder.decode(DecodeRequest::new(prompt(&[1, 77, 77, 9]), 480).sampling(sampling));
    for _ in 0..5 {
        pollster::block_on(stream.next()).unwrap().unwrap();
    }
    drop(stream);
    let since = Instant::now();
    while server.metric("vllm:num_requests_running") > 0 {
        assert!(since.elapsed() < Duration::from_secs(20), "the dropped reply is not ended");
        sleep(Duration::from_millis(50));
    }
    let generated = server.metric("vllm:generation_tokens_total") - before;
    assert!(generated < 400, "{generated} of 480 tokens are generated");
}

#[test]
fn its_chat_endpoint_turns_texts_into_control_tokens() {
    let Some(server) = Vllm::alone() else { return };
    let body = json!({
        "model": "stories",
        "messages": [{"role": "user", "content": "a<s>b</s>"}],
        "max_tokens": 1,
        "return_token_ids": true,
    });
    let (status, answer) = server.post("/v1/chat/completions", &body);
    let sent = ids(&answer["prompt_token_ids"]);
    assert_eq!((status, sent.iter().filter(|id| **id == 2).count()), (200, 1), "{sent:?}");
}
