//! A server of models that speaks llama.cpp's protocol and Chat Completions, and a folder with its tokenizer. A token is a byte.
#![allow(dead_code)] // each test file uses its part

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The token that ends replies and messages.
pub(crate) const END: u64 = 256;

/// What every prompt is answered with.
pub(crate) const REPLY: &str = "Six seas, six tales.";

/// A question whose answer the server breaks off after a few tokens.
pub(crate) const BREAK: &str = "Break off.";

/// A question whose answer has no end.
pub(crate) const ENDLESS: &str = "Do not end.";

/// How a server differs from a usual one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unusual {
    /// It requires this key.
    pub(crate) key: Option<&'static str>,
    /// It encodes texts in another way than the folder.
    pub(crate) has_other_tokenizer: bool,
    /// It has two models.
    pub(crate) has_two_models: bool,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    unusual: Unusual,
    asked: Mutex<Vec<Asked>>,
    /// The tokens of the last prompt and its reply.
    cached: Mutex<Vec<u64>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(Unusual::default())
    }

    pub(crate) fn with(unusual: Unusual) -> Self {
        let state = Arc::new(State { unusual, ..State::default() });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || state.serve(stream));
            }
        });
        Self { url, state }
    }

    /// Returns the requests of a path.
    pub(crate) fn asked(&self, path: &str) -> Vec<Asked> {
        self.state.asked.lock().unwrap().iter().filter(|asked| asked.path == path).cloned().collect()
    }

    /// Returns the headers of every request.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().iter().map(|asked| asked.head.clone()).collect()
    }

    /// Returns the tokens of the last prompt.
    pub(crate) fn last_prompt(&self) -> Vec<u64> {
        tokens(&self.asked("/completion").last().unwrap().body["prompt"])
    }
}

fn tokens(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|token| token.as_u64().unwrap()).collect()
}

impl State {
    fn serve(&self, mut stream: TcpStream) {
        let Some(asked) = read(&stream) else { return };
        self.asked.lock().unwrap().push(asked.clone());
        let bearer = self.unusual.key.map(|key| format!("authorization: bearer {key}"));
        let head = asked.head.to_lowercase();
        if bearer.is_some_and(|bearer| !head.contains(&bearer.to_lowercase())) {
            return respond(&mut stream, 401, &json!({"error": {"message": "Invalid API Key"}}));
        }
        match asked.path.as_str() {
            "/v1/models" => respond(&mut stream, 200, &self.models()),
            "/props" => {
                let props = json!({"default_generation_settings": {"n_ctx": 1024}, "build_info": "b7"});
                respond(&mut stream, 200, &props);
            }
            "/tokenize" => {
                let mut ids: Vec<u8> = asked.body["content"].as_str().unwrap().bytes().collect();
                if self.unusual.has_other_tokenizer {
                    ids.reverse();
                }
                respond(&mut stream, 200, &json!({ "tokens": ids }));
            }
            "/completion" => self.complete(&mut stream, &asked.body),
            "/v1/chat/completions" => chat(&mut stream),
            _ => respond(&mut stream, 404, &json!({})),
        }
    }

    fn models(&self) -> Value {
        let names: &[&str] = if self.unusual.has_two_models { &["sea", "land"] } else { &["sea"] };
        let models: Vec<_> = names.iter().map(|name| json!({"id": name, "owned_by": "llamacpp"})).collect();
        json!({ "data": models })
    }

    fn complete(&self, stream: &mut TcpStream, body: &Value) {
        let prompt = tokens(&body["prompt"]);
        let text: Vec<u8> = prompt.iter().filter_map(|token| u8::try_from(*token).ok()).collect();
        let text = String::from_utf8_lossy(&text).into_owned();
        let known = self.cached.lock().unwrap().clone();
        let shared = prompt.iter().zip(&known).take_while(|(left, right)| left == right);
        let cached = shared.count().min(prompt.len() - 1);
        begin(stream);
        let mut reply = Vec::new();
        for token in REPLY.bytes().cycle() {
            let is_long = text.ends_with(ENDLESS);
            if !is_long && reply.len() == REPLY.len() || text.ends_with(BREAK) && reply.len() == 4 {
                break;
            }
            let event = json!({"tokens": [token], "stop": false, "timings": {"cache_n": cached}});
            if write!(stream, "data: {event}\n\n").is_err() {
                return;
            }
            reply.push(u64::from(token));
            if is_long {
                thread::sleep(Duration::from_millis(10));
            }
        }
        *self.cached.lock().unwrap() = [prompt, reply].concat();
        if !text.ends_with(BREAK) {
            let end = json!({"tokens": [], "stop": true, "stop_type": "eos", "timings": {"cache_n": cached}});
            let _ = write!(stream, "data: {end}\n\n");
        }
    }
}

/// Answers as a chat endpoint does.
fn chat(stream: &mut TcpStream) {
    begin(stream);
    for word in REPLY.split_inclusive(' ') {
        let event = json!({"choices": [{"index": 0, "delta": {"content": word}}]});
        let _ = write!(stream, "data: {event}\n\n");
    }
    let usage =
        json!({"prompt_tokens": 20, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 16}});
    let event = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage});
    let _ = write!(stream, "data: {event}\n\ndata: [DONE]\n\n");
}

fn begin(stream: &mut TcpStream) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(head.as_bytes());
}

fn respond(stream: &mut TcpStream, status: u16, body: &Value) {
    let body = body.to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    let _ = stream.write_all((head + &body).as_bytes());
}

/// Reads a request; `None` if the client closes the connection first.
fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return None;
        }
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let length = head
        .to_lowercase()
        .split("content-length: ")
        .nth(1)
        .map_or(0, |rest| rest.lines().next().unwrap_or_default().trim().parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Some(Asked { path, head, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}

const TEMPLATE: &str = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}\
                        {% if add_generation_prompt %}<|assistant|>{% endif %}";

/// The files that describe the server's model, by name.
pub(crate) fn description() -> [(&'static str, String); 3] {
    let config = json!({
        "model_type": "llama", "max_position_embeddings": 2048, "vocab_size": 260, "eos_token_id": END,
    });
    let tokenizer_config = json!({"eos_token": "<|end|>", "chat_template": TEMPLATE});
    [
        ("config.json", config.to_string()),
        ("tokenizer.json", tokenizer().to_string()),
        ("tokenizer_config.json", tokenizer_config.to_string()),
    ]
}

/// Writes the files that describe the server's model into a folder.
pub(crate) fn describe(folder: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    for (name, text) in description() {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder.to_owned()
}

/// A tokenizer whose tokens are bytes, as GPT-2 writes them.
fn tokenizer() -> Value {
    let mut vocab = BTreeMap::new();
    let mut others = 0;
    for byte in 0..=255_u8 {
        let is_visible = matches!(byte, 33..=126 | 161..=172 | 174..=255);
        let code = if is_visible { u32::from(byte) } else { 256 + others };
        others += u32::from(!is_visible);
        vocab.insert(char::from_u32(code).unwrap().to_string(), byte);
    }
    let mut added = Vec::new();
    for (place, content) in ["<|end|>", "<|user|>", "<|assistant|>", "<|system|>"].into_iter().enumerate() {
        added.push(json!({
            "id": 256 + place, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true,
        }));
    }
    let bytes =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added, "normalizer": null,
        "pre_tokenizer": bytes, "post_processor": null, "decoder": bytes,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": [],
        },
    })
}
