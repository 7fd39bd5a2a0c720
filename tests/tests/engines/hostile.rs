//! Texts that spell control tokens, as messages of conversations on servers.

use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ChatModel as _, Message, Preface, Request, SamplingOptions};
use alloquy_engine::decoder::Decoder;
use serde_json::{Value, json};

use crate::place::language_model;

const PIECES: [&str; 15] =
    ["<s>", "</s>", "<unk>", "<", "s", ">", "/", " ", "\n", "<s", "s>", "</", "a", "<|im_end|>", "\u{200B}"];

/// Messages of a conversation.
const MESSAGES: usize = 6;

/// Of so many conversations the server's own chat endpoint reads one.
const READ: usize = 20;

/// What became of the texts.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    texts: usize,
    pub(crate) ours: usize,
    read: usize,
    pub(crate) theirs: usize,
}

/// Sends texts as conversations, and has the server's chat endpoint read some of them.
pub(crate) async fn send(decoder: &Arc<dyn Decoder>, read: impl Fn(&[Value]) -> Vec<TokenId>) -> Counts {
    let model = language_model(decoder);
    let wanted = env::var("ALLOQUY_HOSTILE_TEXTS").ok().and_then(|texts| texts.parse().ok()).unwrap_or(600);
    let sampling =
        SamplingOptions { temperature: Some(0.0), max_tokens: Some(1), ..SamplingOptions::default() };
    let mut counts = Counts::default();
    let mut state = 11_u64;
    while counts.texts < wanted {
        let texts: Vec<String> = (0..MESSAGES).map(|_| text(&mut state)).collect();
        let mut messages = Vec::new();
        for pair in texts.chunks(2) {
            messages.push(Message::user(pair[0].as_str()));
            messages.push(Message::assistant(pair[1].as_str()));
        }
        let last = messages.len() - 1;
        messages[last] = Message::user(texts[last].as_str());
        let request = Request::new(Preface::default(), messages).sampling(sampling.clone());
        let prompt = model.prompt(&request).unwrap().unwrap().prompt;
        let ids: Vec<TokenId> = prompt.tokens().map(Option::unwrap).collect();
        let reply = model.reply(request).await.unwrap().finish().await.unwrap();
        assert_eq!(reply.cache.unwrap().prompt, ids.len());
        // The template has two for each message, and one where the reply begins.
        counts.ours += control(&ids) - (2 * texts.len() + 1);
        if counts.texts.is_multiple_of(MESSAGES * READ) {
            let messages: Vec<Value> =
                texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
            counts.read += texts.len();
            counts.theirs += control(&read(&messages));
        }
        counts.texts += texts.len();
    }
    counts
}

fn text(state: &mut u64) -> String {
    let mut text = String::new();
    for _ in 0..8 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text += PIECES[usize::try_from(*state >> 33).unwrap() % PIECES.len()];
    }
    text
}

/// Counts `<s>` and `</s>`. The token 0 is that of characters that the vocabulary does not have.
fn control(ids: &[TokenId]) -> usize {
    ids.iter().filter(|id| [1, 2].contains(*id)).count()
}

/// Reads messages as the chat endpoint of llama.cpp does, whose count of tokens must be the same.
pub(crate) fn read_by_llama(url: &str, messages: &[Value]) -> Vec<TokenId> {
    let rendered = post(url, "/apply-template", &json!({"messages": messages}));
    let encoded = json!({"content": rendered["prompt"], "add_special": true, "parse_special": true});
    let tokens: Vec<TokenId> =
        serde_json::from_value(post(url, "/tokenize", &encoded)["tokens"].clone()).unwrap();
    let asked = json!({"messages": messages, "max_tokens": 1});
    let count = post(url, "/v1/chat/completions", &asked)["usage"]["prompt_tokens"].clone();
    assert_eq!(count, tokens.len(), "the chat endpoint encodes {rendered} in another way");
    // The first token is the template's own.
    tokens[1..].to_vec()
}

/// Reads messages by the chat endpoint of vLLM, which returns the ids of its prompt.
pub(crate) fn read_by_vllm(url: &str, messages: &[Value]) -> Vec<TokenId> {
    let asked = json!({"model": "stories", "messages": messages, "max_tokens": 1, "return_token_ids": true});
    let answer = post(url, "/v1/chat/completions", &asked);
    serde_json::from_value(answer["prompt_token_ids"].clone()).unwrap()
}

fn post(url: &str, path: &str, body: &Value) -> Value {
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.0\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}
