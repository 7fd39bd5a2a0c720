//! A server of any dialect that answers from a script, and misbehaves as planned.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, dead_code)] // a test may panic

pub(crate) mod chat;
pub(crate) mod http;

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use alloquy_core::Error;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::PromptPart;
use alloquy_core::prompt::Prompt;
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_openai::{
    ChatProtocol, Dialect, RemoteBuilder, RemoteChat, RemoteDecoder, RemoteRetries, RemoteServer,
};
use alloquy_testing::ByteTokenizer;
use futures::StreamExt;
use http::{Asked, respond};
use serde_json::{Value, json};

/// The token that ends replies.
pub(crate) const END: u32 = 256;

/// What every prompt is continued with.
pub(crate) const SCRIPT: &str = "a tale of six seas, of six seas and six tales";

/// How long a server that is slow as planned waits between writes.
const PAUSE: Duration = Duration::from_millis(5);

/// What a request for a reply is answered with.
pub(crate) enum Answer {
    /// This status, these headers and this body.
    Status(u16, &'static str, &'static str),
    /// The first bytes of the reply. The connection ends as if the answer were complete.
    Cut(usize),
    /// The first bytes of the reply. The connection ends although more was announced.
    Torn(usize),
    /// The reply in two writes, of which the first has so many bytes.
    Split(usize),
    /// These bytes as the body.
    Raw(Vec<u8>),
    /// The first bytes, and nothing until the client closes.
    Stall(usize),
    /// The first bytes, and these at every few milliseconds until the client closes.
    Flood(usize, &'static str),
    /// These bytes so many times, a few milliseconds apart, and then the reply.
    Late(usize, &'static str),
}

pub(crate) struct Stub {
    pub(crate) url: String,
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    dialect: Dialect,
    pub(crate) plan: Mutex<VecDeque<Answer>>,
    /// The bodies of requests for replies.
    pub(crate) requests: Mutex<Vec<Value>>,
    /// The headers of the last request.
    pub(crate) head: Mutex<String>,
    /// How often a client has closed a connection before its answer was complete.
    pub(crate) closed: AtomicUsize,
    /// How many tokens of each prompt are reported as cached.
    pub(crate) cached: AtomicUsize,
    /// How many slots a server of llama.cpp says that it has; of 0 it says nothing.
    pub(crate) slots: AtomicUsize,
    /// What other requests than those for replies are answered with, by path: a status and a body.
    pub(crate) odd: Mutex<BTreeMap<String, (u16, Vec<u8>)>>,
    /// The length of the last body.
    pub(crate) length: AtomicUsize,
    /// The last body, before anything is done to it.
    pub(crate) body: Mutex<Vec<u8>>,
    pub(crate) piece: usize,
    pub(crate) has_other_tokenizer: AtomicBool,
    /// Whether it has a model that says other tokens.
    pub(crate) has_other_model: AtomicBool,
    /// Whether it closes each connection at once.
    pub(crate) is_down: AtomicBool,
    /// How many texts it has encoded.
    pub(crate) encoded: AtomicUsize,
    /// The length of its context, as llama.cpp's server reports it.
    pub(crate) context: AtomicUsize,
}

impl Stub {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self::with(dialect, usize::MAX, false)
    }

    /// Starts a server that writes `piece` bytes at a time.
    pub(crate) fn with(dialect: Dialect, piece: usize, has_other_tokenizer: bool) -> Self {
        let shared = Arc::new(Shared {
            dialect,
            plan: Mutex::default(),
            requests: Mutex::default(),
            head: Mutex::default(),
            closed: AtomicUsize::new(0),
            cached: AtomicUsize::new(0),
            slots: AtomicUsize::new(0),
            odd: Mutex::default(),
            length: AtomicUsize::new(0),
            body: Mutex::default(),
            piece,
            has_other_tokenizer: AtomicBool::new(has_other_tokenizer),
            has_other_model: AtomicBool::new(false),
            is_down: AtomicBool::new(false),
            encoded: AtomicUsize::new(0),
            context: AtomicUsize::new(512),
        });
        let state = Arc::clone(&shared);
        let url = http::serve(move |stream, asked| state.answer(stream, asked));
        Self { url, shared }
    }

    /// Returns how the server is reached if requests are tried once.
    pub(crate) fn server(&self) -> RemoteServer {
        let mut retries = RemoteRetries::default();
        retries.attempts = 1;
        RemoteServer::at(&self.url).retries(retries)
    }

    pub(crate) fn builder(&self) -> RemoteBuilder {
        builder_at(self.server())
    }

    pub(crate) fn decoder(&self) -> RemoteDecoder {
        pollster::block_on(self.builder().connect()).unwrap()
    }

    /// Returns a chat model whose requests are tried once.
    pub(crate) fn chat(&self, protocol: ChatProtocol) -> RemoteChat {
        let builder = RemoteChat::builder(self.server()).protocol(protocol).model("script");
        pollster::block_on(builder.connect()).unwrap()
    }

    pub(crate) fn plan(&self, answers: impl IntoIterator<Item = Answer>) {
        self.shared.plan.lock().unwrap().extend(answers);
    }

    /// Returns the last request for a reply.
    pub(crate) fn last_request(&self) -> Value {
        self.shared.requests.lock().unwrap().last().cloned().unwrap()
    }
}

/// Sets up a decoder at a server that follows the script.
pub(crate) fn builder_at(server: impl Into<RemoteServer>) -> RemoteBuilder {
    let tokenizer = ByteTokenizer::new(["<end>"]);
    let mut info = ModelInfo::default();
    info.name = "script".to_owned();
    info.vocabulary = tokenizer.vocabulary();
    info.context_length = 4096;
    info.stop_tokens = vec![END];
    info.specials = tokenizer.specials().to_vec();
    RemoteDecoder::builder(server, "unused").tokenizer(tokenizer, info)
}

/// Returns a tokenizer with the control tokens of an engine.
pub(crate) fn tokenizer_of(engine: &dyn alloquy_engine::Engine) -> ByteTokenizer {
    ByteTokenizer::new(engine.model().specials.iter().map(|special| special.text.as_str()))
}

/// Returns the ids that came, and the error that followed.
pub(crate) fn outcome(decoder: &dyn Decoder, request: DecodeRequest) -> (Vec<TokenId>, Option<Error>) {
    let mut ids = Vec::new();
    let mut stream = decoder.decode(request);
    pollster::block_on(async {
        while let Some(item) = stream.next().await {
            match item {
                Ok(event) => {
                    if let DecodeEventKind::Token { id, .. } = event.kind {
                        ids.push(id);
                    }
                }
                Err(error) => return (ids, Some(error)),
            }
        }
        (ids, None)
    })
}

pub(crate) fn prompt(text: &str) -> Prompt {
    Prompt::lower(&[PromptPart::Text(text.to_owned())], &ByteTokenizer::new(["<end>"])).unwrap()
}

impl Shared {
    fn answer(&self, stream: &mut TcpStream, asked: Asked) {
        if self.is_down.load(Ordering::SeqCst) {
            return;
        }
        let Asked { path, head, body } = asked;
        *self.head.lock().unwrap() = head;
        let odd = self.odd.lock().unwrap().get(&path).cloned();
        if let Some((status, body)) = odd {
            return http::respond_bytes(stream, status, "", &body);
        }
        match path.as_str() {
            "/v1/models" => respond(stream, 200, "", &self.models().to_string()),
            "/tokenize" | "/_internal/tokenize" => {
                let text = body.get("content").or(body.get("prompt")).and_then(Value::as_str).unwrap();
                let mut tokens: Vec<u32> = text.bytes().map(u32::from).collect();
                self.encoded.fetch_add(1, Ordering::SeqCst);
                if self.has_other_tokenizer.load(Ordering::SeqCst) {
                    tokens.reverse();
                }
                respond(stream, 200, "", &json!({"tokens": tokens}).to_string());
            }
            "/props" if self.dialect == Dialect::LlamaCpp => {
                let context = self.context.load(Ordering::SeqCst);
                let mut props =
                    json!({"default_generation_settings": {"n_ctx": context}, "build_info": "b1"});
                let slots = self.slots.load(Ordering::SeqCst);
                if slots > 0 {
                    props["total_slots"] = json!(slots);
                }
                respond(stream, 200, "", &props.to_string());
            }
            "/health" if self.dialect == Dialect::Dynamo => {
                respond(stream, 200, "", &json!({"status": "healthy", "instances": []}).to_string());
            }
            "/lora-adapters" if self.dialect == Dialect::LlamaCpp => {
                let adapters = json!([{"id": 0, "path": "/models/critic.gguf", "scale": 0.0},
                                      {"id": 1, "path": "/models/poet.gguf", "scale": 0.0}]);
                respond(stream, 200, "", &adapters.to_string());
            }
            "/v1/completions" | "/completion" | "/generate" => self.reply(stream, &body),
            "/v1/chat/completions" | "/v1/messages" | "/v1/responses" => {
                self.requests.lock().unwrap().push(body.clone());
                self.stream(stream, &chat::answer(&path, &body));
            }
            _ => respond(stream, 404, "", "{}"),
        }
    }

    fn models(&self) -> Value {
        let owner = match self.dialect {
            Dialect::Vllm => "vllm",
            Dialect::LlamaCpp => "llamacpp",
            Dialect::Sglang => "sglang",
            Dialect::TensorRtLlm => "tensorrt_llm",
            Dialect::Dynamo => "nvidia",
            _ => "someone",
        };
        let mut models = vec![json!({"id": "script", "owned_by": owner, "max_model_len": 1024})];
        // Adapters are models that have a parent.
        if matches!(self.dialect, Dialect::Vllm | Dialect::Sglang) {
            models.push(json!({"id": "poet", "owned_by": owner, "parent": "script"}));
        }
        json!({"object": "list", "data": models})
    }

    fn reply(&self, stream: &mut TcpStream, body: &Value) {
        self.requests.lock().unwrap().push(body.clone());
        if body.get("prompt_logprobs").is_some() {
            respond(stream, 200, "", &scores(body).to_string());
            return;
        }
        let cached = self.cached.load(Ordering::SeqCst);
        let mut knobs = Knobs::read(self.dialect, body);
        knobs.shift = u32::from(self.has_other_model.load(Ordering::SeqCst));
        let (tokens, is_stopped) = knobs.tokens();
        let body = sse(self.dialect, &events(self.dialect, &tokens, is_stopped, knobs.logprobs, cached));
        self.stream(stream, &body);
    }

    /// Answers with a stream of events, as planned.
    fn stream(&self, stream: &mut TcpStream, body: &[u8]) {
        self.length.store(body.len(), Ordering::SeqCst);
        *self.body.lock().unwrap() = body.to_vec();
        let answer = self.plan.lock().unwrap().pop_front();
        match answer {
            None => self.write(stream, body, None),
            Some(Answer::Status(status, headers, text)) => respond(stream, status, headers, text),
            Some(Answer::Cut(kept)) => self.write(stream, &body[..kept.min(body.len())], None),
            Some(Answer::Torn(kept)) => {
                self.write(stream, &body[..kept.min(body.len())], Some(body.len() + 1));
            }
            Some(Answer::Split(at)) => {
                let at = at.min(body.len());
                self.write(stream, &body[..at], None);
                thread::sleep(Duration::from_millis(1));
                let _ = stream.write_all(&body[at..]);
            }
            Some(Answer::Raw(bytes)) => self.write(stream, &bytes, None),
            Some(Answer::Flood(kept, text)) => {
                self.write(stream, &body[..kept.min(body.len())], None);
                // The client closes, or the test ends.
                while stream.write_all(text.as_bytes()).is_ok() {
                    thread::sleep(PAUSE);
                }
                self.closed.fetch_add(1, Ordering::SeqCst);
            }
            Some(Answer::Late(times, text)) => {
                self.write(stream, b"", None);
                for _ in 0..times {
                    let _ = stream.write_all(text.as_bytes());
                    thread::sleep(PAUSE);
                }
                let _ = stream.write_all(body);
            }
            Some(Answer::Stall(kept)) => {
                self.write(stream, &body[..kept.min(body.len())], None);
                // The client closes, or the test ends.
                if matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_)) {
                    self.closed.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
    }

    fn write(&self, stream: &mut TcpStream, body: &[u8], length: Option<usize>) {
        let length = length.map_or(String::new(), |length| format!("content-length: {length}\r\n"));
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n{length}\r\n"
        );
        let _ = stream.write_all(head.as_bytes());
        for piece in body.chunks(self.piece) {
            if stream.write_all(piece).is_err() {
                self.closed.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
    }
}

/// Returns the log-probabilities of a prompt, as vLLM has them: those of a token are its id as a negative number.
fn scores(body: &Value) -> Value {
    let ids: Vec<u64> = serde_json::from_value(body["prompt"].clone()).unwrap();
    let entry =
        |id: &u64| json!({id.to_string(): {"logprob": -(*id as f64), "rank": 1, "decoded_token": "?"}});
    let mut logprobs = vec![Value::Null];
    logprobs.extend(ids.iter().skip(1).map(entry));
    json!({"choices": [{"index": 0, "text": "?", "prompt_logprobs": logprobs, "finish_reason": "length"}]})
}

/// What a request asks for, whatever its dialect.
struct Knobs {
    max: usize,
    temperature: f64,
    seed: u64,
    /// Lower than -50 is banned.
    biases: BTreeMap<u32, f64>,
    logprobs: Option<usize>,
    /// What is added to each id of the script.
    shift: u32,
}

impl Knobs {
    fn read(dialect: Dialect, body: &Value) -> Self {
        let params = body.get("sampling_params").unwrap_or(body);
        let number = |name: &str| params.get(name).and_then(Value::as_f64);
        let count = |name: &str| params.get(name).and_then(Value::as_u64);
        let mut biases = BTreeMap::new();
        for (token, bias) in params.get("logit_bias").and_then(Value::as_object).into_iter().flatten() {
            biases.insert(token.parse().unwrap(), bias.as_f64().unwrap());
        }
        for pair in params.get("logit_bias").and_then(Value::as_array).into_iter().flatten() {
            biases
                .insert(u32::try_from(pair[0].as_u64().unwrap()).unwrap(), pair[1].as_f64().unwrap_or(-1e9));
        }
        let max = count("max_tokens").or(count("n_predict")).or(count("max_new_tokens")).unwrap();
        let logprobs = match dialect {
            Dialect::LlamaCpp => count("n_probs").filter(|top| *top > 0),
            Dialect::Sglang => body.get("top_logprobs_num").and_then(Value::as_u64),
            _ => count("logprobs"),
        };
        Self {
            max: usize::try_from(max).unwrap(),
            temperature: number("temperature").expect("the temperature is always sent"),
            seed: count("seed").or(count("sampling_seed")).unwrap_or(0),
            biases,
            logprobs: logprobs.map(|top| usize::try_from(top).unwrap()),
            shift: 0,
        }
    }

    /// Returns the tokens of the reply and why it ends. Other tokens than the script's are letters.
    fn tokens(&self) -> (Vec<u32>, bool) {
        let mut tokens = Vec::new();
        for (place, byte) in SCRIPT.bytes().enumerate() {
            if tokens.len() == self.max {
                return (tokens, false);
            }
            let is_drawn =
                self.temperature > 0.0 && (self.seed.wrapping_mul(31) + place as u64).is_multiple_of(3);
            let wanted = if is_drawn { u32::from(b'z') } else { u32::from(byte) + self.shift };
            let letters = (u32::from(b'a')..=u32::from(b'z')).rev();
            let mut candidates = std::iter::once(wanted).chain(letters);
            let allowed = |token: &u32| self.biases.get(token).is_none_or(|bias| *bias > -50.0);
            tokens.push(candidates.find(allowed).unwrap());
        }
        if tokens.len() == self.max {
            return (tokens, false);
        }
        tokens.push(END);
        (tokens, true)
    }
}

pub(crate) fn sse(dialect: Dialect, events: &[Value]) -> Vec<u8> {
    let mut text = String::new();
    for event in events {
        text += &format!("data: {event}\n\n");
    }
    if !matches!(dialect, Dialect::LlamaCpp) {
        text += "data: [DONE]\n\n";
    }
    text.into_bytes()
}

/// Returns the events of a reply of these tokens.
pub(crate) fn events_of(dialect: Dialect, tokens: &[u32], is_stopped: bool, cached: usize) -> Vec<Value> {
    events(dialect, tokens, is_stopped, None, cached)
}

fn events(
    dialect: Dialect,
    tokens: &[u32],
    is_stopped: bool,
    logprobs: Option<usize>,
    cached: usize,
) -> Vec<Value> {
    let mut events = Vec::new();
    let reason = if is_stopped { "stop" } else { "length" };
    if tokens.is_empty() && dialect == Dialect::Sglang {
        let meta = meta_info(tokens, &json!({"type": reason}), false, cached);
        return vec![json!({"text": "", "output_ids": [], "meta_info": meta})];
    }
    if tokens.is_empty() && dialect != Dialect::LlamaCpp {
        return vec![json!({"choices": [{"index": 0, "text": "", "finish_reason": reason}]})];
    }
    match dialect {
        Dialect::LlamaCpp => {
            for token in tokens.iter().filter(|token| **token != END) {
                let mut event =
                    json!({"content": "?", "tokens": [token], "stop": false, "timings": {"cache_n": cached}});
                if let Some(top) = logprobs {
                    let likely = [json!({"id": token, "logprob": -0.1}), json!({"id": 122, "logprob": -2.0})];
                    let top = &likely[..top.min(2)];
                    event["completion_probabilities"] =
                        json!([{"id": token, "logprob": -0.1, "top_logprobs": top}]);
                }
                events.push(event);
            }
            let kind = if is_stopped { "eos" } else { "limit" };
            events.push(json!({"content": "", "tokens": [], "stop": true, "stop_type": kind, "timings": {"cache_n": cached}}));
        }
        Dialect::Sglang => {
            for count in 1..=tokens.len() {
                let reason = if count == tokens.len() { json!({"type": reason}) } else { Value::Null };
                let meta = meta_info(&tokens[..count], &reason, logprobs.is_some(), cached);
                events.push(json!({"text": "?", "output_ids": tokens[..count], "meta_info": meta}));
            }
        }
        _ => {
            for (place, token) in tokens.iter().enumerate() {
                let reason = if place + 1 == tokens.len() { json!(reason) } else { Value::Null };
                events.push(completion(dialect, *token, &reason, logprobs.is_some(), cached));
            }
            let details = json!({"cached_tokens": cached});
            events.push(
                json!({"choices": [], "usage": {"prompt_tokens": 9, "prompt_tokens_details": details}}),
            );
        }
    }
    events
}

/// Returns an event of `/v1/completions` with one token.
fn completion(dialect: Dialect, token: u32, reason: &Value, has_logprobs: bool, cached: usize) -> Value {
    let mut choice = json!({"index": 0, "text": "?", "finish_reason": reason});
    let mut event = json!({});
    if dialect == Dialect::Dynamo {
        event["nvext"] = json!({"completion_token_ids": [token]});
    } else {
        choice["token_ids"] = json!([token]);
    }
    if dialect == Dialect::TensorRtLlm {
        event["usage"] = json!({"prompt_tokens_details": {"cached_tokens": cached}});
    }
    if has_logprobs {
        let top = json!([{format!("token_id:{token}"): -0.1, "token_id:122": -2.0}]);
        choice["logprobs"] = json!({"token_logprobs": [-0.1], "top_logprobs": top});
    }
    event["choices"] = json!([choice]);
    event
}

/// Returns what SGLang says of a reply that has come so far.
fn meta_info(tokens: &[u32], reason: &Value, has_logprobs: bool, cached: usize) -> Value {
    let mut meta =
        json!({"cached_tokens": cached, "completion_tokens": tokens.len(), "finish_reason": reason});
    if has_logprobs {
        let logprobs: Vec<Value> = tokens.iter().map(|token| json!([-0.1, token, null])).collect();
        meta["output_token_logprobs"] = json!(logprobs);
        let top = |token: &u32| json!([[-0.1, token, null], [-2.0, 122, null]]);
        meta["output_top_logprobs"] = tokens.iter().map(top).collect();
    }
    meta
}
