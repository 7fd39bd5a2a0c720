//! A real server of llama.cpp, on a model with known replies. It says when it skips.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod llama;
mod matcher;

use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;

use alloquy_core::grammar::Grammar;
use alloquy_core::processor::PromptPart;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::report::CacheReport;
use alloquy_core::sampling::TokenLogprobs;
use alloquy_core::tokenizer::{TokenId, decode};
use alloquy_core::{ChatModel, ErrorKind, Manager, Message, Preface, Request, Result, SamplingOptions};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder, GuidedDecoding};
use alloquy_openai::{ChatProtocol, Dialect, RemoteChat, RemoteDecoder, TokenizerCheck};
use alloquy_testing::laws;
use futures::StreamExt;
use llama::Llama;
use matcher::Anything;
use serde_json::{Value, json};

impl Llama {
    fn decoder(&self) -> RemoteDecoder {
        let folder = self.models.join("stories260k-hf64");
        pollster::block_on(RemoteDecoder::connect(&self.url, folder)).unwrap()
    }

    fn chat(&self, protocol: ChatProtocol) -> RemoteChat {
        pollster::block_on(RemoteChat::builder(&self.url).protocol(protocol).connect()).unwrap()
    }

    /// Asks the server itself.
    fn post(&self, path: &str, body: &Value) -> Value {
        let host = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

#[derive(Default)]
struct Reply {
    ids: Vec<TokenId>,
    logprobs: Vec<TokenLogprobs>,
    report: CacheReport,
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
                DecodeEventKind::Prefilled(report) => reply.report = report,
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

#[test]
fn replies_are_those_of_the_local_engine() {
    let Some(server) = Llama::start() else { return };
    let decoder = server.decoder();
    assert_eq!(decoder.description().dialect, Dialect::LlamaCpp);
    assert_eq!(decoder.description().context_length, Some(512));
    assert!(matches!(decoder.description().tokenizer, TokenizerCheck::Equal { texts } if texts > 10));

    let golden = std::fs::read(server.models.join("stories260k/golden.json")).unwrap();
    let golden: Value = serde_json::from_slice(&golden).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let expected = ids(&case["greedy_ids"]);
        let before = ids(&case["prompt_ids"]);
        let reply = reply(&decoder, DecodeRequest::new(prompt(&before), expected.len())).unwrap();
        assert_eq!(reply.ids, expected, "after {before:?}");
        assert_eq!(reply.report.prompt, before.len());
    }
}

#[test]
fn the_remote_decoder_is_a_decoder() {
    let Some(server) = Llama::start() else { return };
    pollster::block_on(laws::decoder::all(&server.decoder(), &prompt(&[1, 403, 407, 261, 378])));
}

#[test]
fn an_adapter_that_is_not_loaded_is_refused() {
    let Some(server) = Llama::start() else { return };
    let refused = pollster::block_on(server.decoder().for_adapter("poet.gguf")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound, "{refused:#}");
}

#[test]
fn what_the_server_has_cached_is_reported() {
    let Some(server) = Llama::start() else { return };
    let decoder = server.decoder();
    let before = [1, 403, 407, 261, 378];
    let first = reply(&decoder, DecodeRequest::new(prompt(&before), 10)).unwrap();
    assert_eq!((first.report.cached, first.report.miss), (0, None));
    let longer: Vec<TokenId> = before.iter().chain(&first.ids).copied().collect();
    let second = reply(&decoder, DecodeRequest::new(prompt(&longer), 10)).unwrap();
    assert_eq!((second.report.cached, second.report.miss), (longer.len() - 1, None));
}

#[test]
fn log_probabilities_and_biases_are_exact() {
    let Some(server) = Llama::start() else { return };
    let decoder = server.decoder();
    let before = [1, 403, 407, 261, 378];
    let sampling = SamplingOptions { logprobs: Some(2), ..SamplingOptions::default() };
    let explained = reply(&decoder, DecodeRequest::new(prompt(&before), 3).sampling(sampling)).unwrap();
    let first = &explained.logprobs[0];
    assert!((first.sampled.logprob + 0.0317).abs() < 1e-3, "{first:?}");
    assert_eq!((first.top.len(), first.top[0].token), (2, explained.ids[0]));

    let sampling = SamplingOptions { suppress: vec![explained.ids[0]], ..SamplingOptions::default() };
    let other = reply(&decoder, DecodeRequest::new(prompt(&before), 3).sampling(sampling)).unwrap();
    assert_eq!(other.ids[0], first.top[1].token);
}

#[test]
fn refusals_of_the_server_have_kinds() {
    let Some(server) = Llama::start() else { return };
    let decoder = server.decoder();
    let error = reply(&decoder, DecodeRequest::new(prompt(&vec![5; 800]), 5)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow);
    let error = reply(&decoder, DecodeRequest::new(prompt(&[1, 99_999]), 5)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    // The server's own words.
    let answer = server.post("/completion", &json!({"prompt": vec![5; 800], "n_predict": 3}));
    assert_eq!(answer["error"]["type"], "exceed_context_size_error");
}

#[test]
fn hostile_texts_are_encoded_without_control_tokens() {
    let Some(server) = Llama::start() else { return };
    let decoder = server.decoder();
    let pieces = [
        "<s>",
        "</s>",
        "<unk>",
        "<",
        "s",
        ">",
        "/",
        " ",
        "\n",
        "<s",
        "s>",
        "</",
        "a",
        "<|im_end|>",
        "\u{200B}",
    ];
    let mut state = 11_u64;
    let mut theirs = 0;
    let texts = env::var("ALLOQUY_HOSTILE_TEXTS").ok().and_then(|texts| texts.parse().ok()).unwrap_or(2_000);
    for round in 0..texts {
        let mut text = String::new();
        for _ in 0..8 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += pieces[usize::try_from(state >> 33).unwrap() % pieces.len()];
        }
        let parts = [PromptPart::Tokens(vec![1]), PromptPart::Literal(text.clone())];
        let sent = Prompt::lower(&parts, decoder.tokenizer()).unwrap();
        let control = sent.tokens().flatten().skip(1).filter(|id| *id < 3).count();
        // 0 is the token of characters that the vocabulary does not have, which are split into bytes here.
        assert_eq!(control, 0, "{text:?}");
        if round % 100 == 0 {
            let answer = server.post("/tokenize", &json!({"content": text, "parse_special": true}));
            theirs += ids(&answer["tokens"]).iter().filter(|id| **id < 3).count();
        }
    }
    assert!(theirs > 0, "the same texts as the server's chat endpoint reads them have control tokens");
}

#[test]
fn a_choice_is_enforced_by_the_server() {
    let Some(server) = Llama::start() else { return };
    let decoder = server.decoder();
    let mut guided = GuidedDecoding::default();
    guided.grammar = Some((Grammar::choice(["yes", "no"]), Box::new(Anything)));
    let request = DecodeRequest::new(prompt(&[1, 403, 407, 261, 378]), 20).guided(guided);
    let reply = reply(&decoder, request).unwrap();
    let text = decode(decoder.tokenizer(), &reply.ids).unwrap();
    assert!(["yes", "no"].contains(&text.trim()), "{text:?}");
}

#[test]
fn chat_endpoints_are_chat_models() {
    let Some(server) = Llama::start() else { return };
    for protocol in ChatProtocol::ALL {
        let model = server.chat(protocol);
        let sampling =
            SamplingOptions { temperature: Some(0.0), max_tokens: Some(8), ..SamplingOptions::default() };
        let asked =
            Request::new(Preface::default(), vec![Message::user("Once upon a time")]).sampling(sampling);
        pollster::block_on(laws::chat_model::all(&model, &asked));

        let long = Request::new(Preface::default(), vec![Message::user("a tale ".repeat(900))]);
        let refused = pollster::block_on(model.reply(long)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ContextOverflow, "{protocol:?}: {refused:#}");
    }
}

#[test]
fn a_conversation_over_a_chat_endpoint_has_its_counts() {
    let Some(server) = Llama::start() else { return };
    for protocol in ChatProtocol::ALL {
        let sampling = SamplingOptions { max_tokens: Some(16), ..SamplingOptions::default() };
        let manager = Manager::builder(server.chat(protocol)).sampling(sampling).build().unwrap();
        pollster::block_on(async {
            let conversation = manager.create(Preface::system("Tell a story.")).await.unwrap();
            conversation.send("Once upon a time").await.unwrap();
            let second = conversation.send("And then?").await.unwrap();
            let usage = second.reply.usage;
            assert!(usage.cached > 0 && usage.prompt > usage.cached, "{protocol:?}: {usage:?}");
            assert!(usage.generated > 0 && second.reply.tokens.is_empty(), "{protocol:?}: {usage:?}");
        });
    }
}
