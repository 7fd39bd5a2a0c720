//! Ollama's protocol over a real socket: chats, prompts, lines, models, vectors, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::time::Duration;

use alloquy_core::arguments::ThinkingSwitch;
use alloquy_core::grammar::Grammar;
use alloquy_core::message::ToolCall;
use alloquy_core::report::{FinishReason, ReplyTiming, Usage};
use alloquy_core::{Content, Message, Reply, Request, Role};
use alloquy_retrieval::NgramEmbedder;
use alloquy_server::{KeyFile, KeyLimits, OpenedModel, ServedEmbedder, ServedModel, Server};
use alloquy_testing::{EchoModel, ScriptedReply};
use serde_json::{Value, json};

use shared::{Answer, Recorder, TestServer, replying};

/// A request with the message "Hi" and these fields.
#[allow(clippy::needless_pass_by_value, reason = "callers write the fields in place")]
fn asking(fields: Value) -> Value {
    let mut request = json!({"model": "tea", "messages": [{"role": "user", "content": "Hi"}]});
    for (name, value) in fields.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

async fn recorded(reply: Reply) -> (TestServer, Recorder) {
    let recorder = Recorder::new(reply);
    let model = ServedModel::loaded("tea", recorder.clone());
    (TestServer::start(Server::builder().model(model)).await, recorder)
}

/// Sends a request, and returns what the model received.
async fn seen(path: &str, request: Value) -> Request {
    let (server, recorder) = recorded(Reply::new(Message::assistant("Hello!"))).await;
    let answer = server.post(path, &request).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    recorder.last()
}

fn lines(answer: &Answer) -> Vec<Value> {
    answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Checks the body of an error, and returns its sentence.
fn refusal(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    body["error"].as_str().unwrap().to_owned()
}

fn reply() -> Reply {
    let parts = vec![Content::Thinking("Hm.".to_owned()), Content::Text("Hello!".to_owned())];
    let mut reply = Reply::new(Message::new(Role::Assistant, parts));
    reply.usage = Usage::new(12, 3);
    let mut timing = ReplyTiming::default();
    timing.prefill = Duration::from_nanos(700);
    timing.decode = Duration::from_nanos(900);
    reply.timing = Some(timing);
    reply
}

#[tokio::test]
async fn a_whole_reply_has_its_numbers() {
    let (server, _) = recorded(reply()).await;
    let answer = server.post("/api/chat", &asking(json!({"stream": false}))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body["model"], "tea");
    assert_eq!(body["message"], json!({"role": "assistant", "content": "Hello!", "thinking": "Hm."}));
    assert_eq!((&body["done"], &body["done_reason"]), (&json!(true), &json!("stop")));
    assert_eq!((&body["prompt_eval_count"], &body["eval_count"]), (&json!(12), &json!(3)));
    assert_eq!((&body["prompt_eval_duration"], &body["eval_duration"]), (&json!(700), &json!(900)));
    assert!(body["total_duration"].as_u64().unwrap() >= body["load_duration"].as_u64().unwrap());
    assert!(body["created_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(body["alloquy"]["finish"], "stop");
}

#[tokio::test]
async fn a_stream_of_lines_is_the_default() {
    let (server, _) = recorded(reply()).await;
    let answer = server.post("/api/chat", &asking(json!({}))).await;
    assert_eq!(answer.headers["content-type"], "application/x-ndjson");
    let lines = lines(&answer);
    assert_eq!(lines.len(), 3, "{}", answer.text);
    assert_eq!(lines[0]["message"], json!({"role": "assistant", "content": "", "thinking": "Hm."}));
    assert_eq!(lines[1]["message"], json!({"role": "assistant", "content": "Hello!"}));
    assert!(lines[..2].iter().all(|line| line["done"] == false && line.get("eval_count").is_none()));
    assert_eq!(lines[2]["message"]["content"], "");
    assert_eq!((&lines[2]["done"], &lines[2]["eval_count"]), (&json!(true), &json!(3)));
}

#[tokio::test]
async fn a_prompt_is_answered_by_texts() {
    let (server, recorder) = recorded(reply()).await;
    let request = json!({"model": "tea", "prompt": "Hi", "system": "Be brief.", "images": ["iVBORw0KGgo="]});
    let lines = lines(&server.post("/api/generate", &request).await);
    assert_eq!(lines[0]["thinking"], "Hm.");
    assert_eq!(lines[1]["response"], "Hello!");
    assert_eq!((&lines[2]["response"], &lines[2]["done"]), (&json!(""), &json!(true)));
    assert!(lines.iter().all(|line| line.get("message").is_none()));
    let seen = recorder.last();
    assert_eq!(seen.preface.messages[0].text(), "Be brief.");
    let question = seen.path.iter().next().unwrap().clone();
    assert_eq!((question.text().as_str(), question.media().count()), ("Hi", 1));
}

#[tokio::test]
async fn nothing_asked_loads_the_model() {
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", EchoModel))).await;
    for (path, request) in [
        ("/api/chat", json!({"model": "tea", "messages": []})),
        ("/api/generate", json!({"model": "tea", "keep_alive": "5m"})),
    ] {
        let body = server.post(path, &request).await.json();
        assert_eq!((&body["done"], &body["done_reason"]), (&json!(true), &json!("load")), "{body}");
    }
}

#[tokio::test]
async fn options_reach_the_model() {
    let options = json!({
        "temperature": 0.5, "top_k": 20, "top_p": 0.9, "min_p": 0.1, "typical_p": 0.8, "seed": 7,
        "num_predict": 30, "stop": ["END"], "repeat_penalty": 1.1, "repeat_last_n": 64,
        "presence_penalty": 0.2, "frequency_penalty": 0.3, "num_ctx": 4096,
    });
    let request = seen(
        "/api/chat",
        asking(json!({"options": options, "format": "json", "think": "high", "keep_alive": -1})),
    )
    .await;
    let sampling = &request.sampling;
    assert_eq!((sampling.temperature, sampling.top_k, sampling.top_p), (Some(0.5), Some(20), Some(0.9)));
    assert_eq!((sampling.min_p, sampling.typical_p, sampling.seed), (Some(0.1), Some(0.8), Some(7)));
    assert_eq!((sampling.max_tokens, sampling.stop.as_slice()), (Some(30), &["END".to_owned()][..]));
    assert_eq!((sampling.repetition_penalty, sampling.penalty_window), (Some(1.1), Some(64)));
    assert_eq!((sampling.presence_penalty, sampling.frequency_penalty), (Some(0.2), Some(0.3)));
    assert_eq!(request.output.grammar, Some(Grammar::JsonSchema(json!({"type": "object"}))));
    assert_eq!(request.joined_arguments().thinking, Some(ThinkingSwitch::On));
    assert_eq!(request.joined_arguments().extra["reasoning_effort"], "high");

    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let fields = json!({"options": {"num_predict": -1, "repeat_last_n": 0, "repeat_penalty": 1.5}, "format": schema, "think": false});
    let request = seen("/api/chat", asking(fields)).await;
    assert_eq!((request.sampling.max_tokens, request.sampling.repetition_penalty), (None, None));
    assert_eq!(request.output.grammar, Some(Grammar::JsonSchema(schema)));
    assert_eq!(request.output.thinking_budget, Some(0));
}

#[tokio::test]
async fn calls_and_their_results_find_each_other() {
    let call = ToolCall::new("call_7", "weather", json!({"city": "Oslo"}));
    let mut reply = Reply::new(Message::new(Role::Assistant, vec![Content::ToolCall(call)]));
    reply.finish = FinishReason::ToolCalls;
    let (server, recorder) = recorded(reply).await;
    let tools = json!([{"type": "function", "function": {"name": "weather", "description": "d", "parameters": {"type": "object"}}}]);
    let body = server.post("/api/chat", &asking(json!({"stream": false, "tools": tools}))).await.json();
    let expected =
        json!([{"id": "call_7", "function": {"index": 0, "name": "weather", "arguments": {"city": "Oslo"}}}]);
    assert_eq!(body["message"]["tool_calls"], expected);
    assert_eq!(recorder.last().preface.tools[0].name, "weather");
    let streamed = lines(&server.post("/api/chat", &asking(json!({"tools": tools}))).await);
    assert_eq!(streamed[0]["message"]["tool_calls"], expected);

    let messages = json!([
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "weather", "arguments": {"city": "Oslo"}}},
            {"type": "function", "id": "own", "function": {"index": 1, "name": "map", "arguments": {}}},
        ]},
        {"role": "tool", "content": "a map", "tool_call_id": "own"},
        {"role": "tool", "content": "-3", "tool_name": "weather"},
    ]);
    let request = seen("/api/chat", asking(json!({"messages": messages}))).await;
    let path: Vec<Message> = request.path.iter().cloned().collect();
    assert_eq!(path.len(), 3);
    let results: Vec<_> =
        path[2].tool_results().map(|result| (result.id.as_str(), result.name.as_str())).collect();
    assert_eq!(results, [("own", "map"), ("call_1", "weather")]);
}

#[tokio::test]
async fn models_have_ollamas_names_and_lists() {
    let mut opened = OpenedModel::new(EchoModel);
    opened.context_length = Some(4096);
    let builder = Server::builder()
        .model(ServedModel::opened("tea", opened))
        .embedder(ServedEmbedder::new("words", NgramEmbedder::new(8)));
    let server = TestServer::start(builder).await;
    let tags = server.get("/api/tags").await.json();
    let names: Vec<_> =
        tags["models"].as_array().unwrap().iter().map(|model| model["name"].clone()).collect();
    assert_eq!(names, [json!("tea"), json!("words")]);
    for field in ["model", "modified_at", "size", "digest", "details"] {
        assert!(!tags["models"][0][field].is_null(), "{field} in {tags}");
    }
    assert_eq!(server.get("/api/ps").await.json()["models"], json!([]), "none is loaded yet");
    let answer = server.post("/api/chat", &asking(json!({"model": "tea:latest", "stream": false}))).await;
    assert_eq!((answer.status, &answer.json()["model"]), (200, &json!("tea")), "{}", answer.text);
    let running = server.get("/api/ps").await.json();
    assert_eq!(
        (&running["models"][0]["name"], &running["models"][0]["context_length"]),
        (&json!("tea"), &json!(4096))
    );
    let shown = server.post("/api/show", &json!({"model": "tea:latest"})).await.json();
    assert_eq!(shown["capabilities"], json!(["completion", "tools"]));
    assert_eq!(shown["model_info"]["alloquy.context_length"], 4096);
    let shown = server.post("/api/show", &json!({"name": "words"})).await.json();
    assert_eq!(shown["capabilities"], json!(["embedding"]));
    assert!(server.get("/api/version").await.json()["version"].is_string());
    let larger = server.post("/api/chat", &asking(json!({"options": {"num_ctx": 8192}}))).await;
    assert!(refusal(&larger, 400).contains("4096"));
}

#[tokio::test]
async fn texts_have_vectors() {
    let embedder = ServedEmbedder::new("words", NgramEmbedder::new(8)).tokens(str::len);
    let builder = Server::builder().model(ServedModel::loaded("tea", EchoModel)).embedder(embedder);
    let server = TestServer::start(builder).await;
    let request =
        json!({"model": "words:latest", "input": ["tea", "cups"], "truncate": true, "keep_alive": 60});
    let body = server.post("/api/embed", &request).await.json();
    assert_eq!(body["embeddings"].as_array().unwrap().len(), 2, "{body}");
    assert_eq!(body["embeddings"][1].as_array().unwrap().len(), 8);
    assert_eq!(body["prompt_eval_count"], 7);
    let one = server.post("/api/embed", &json!({"model": "words", "input": "tea"})).await.json();
    assert_eq!(one["embeddings"][0], body["embeddings"][0]);
    refusal(&server.post("/api/embed", &json!({"model": "tea", "input": "tea"})).await, 404);
    refusal(
        &server.post("/api/embed", &json!({"model": "words", "input": "tea", "dimensions": 4})).await,
        400,
    );
}

#[tokio::test]
async fn what_is_not_done_here_is_refused_by_name() {
    let server = TestServer::saying([]).await;
    let cases = [
        ("/api/chat", asking(json!({"options": {"num_gpu": 1}})), "num_gpu"),
        ("/api/chat", asking(json!({"options": {"mirostat": 1}})), "mirostat"),
        ("/api/chat", asking(json!({"options": {"num_predict": 0}})), "options.num_predict"),
        ("/api/chat", asking(json!({"options": {"repeat_last_n": -2}})), "options.repeat_last_n"),
        ("/api/chat", asking(json!({"options": {"temperature": -1}})), "temperature"),
        ("/api/chat", asking(json!({"format": "xml"})), "format"),
        ("/api/chat", asking(json!({"think": "hard"})), "think"),
        ("/api/chat", asking(json!({"extra": 1})), "extra"),
        ("/api/chat", asking(json!({"messages": [{"role": "assistant", "content": "So"}]})), "messages"),
        ("/api/chat", asking(json!({"messages": [{"role": "tool", "content": "-3"}]})), "messages[0]"),
        (
            "/api/chat",
            asking(json!({"messages": [{"role": "user", "content": "a", "tool_name": "t"}]})),
            "messages[0].tool_name",
        ),
        (
            "/api/chat",
            asking(json!({"messages": [{"role": "user", "images": ["AAAA"]}]})),
            "messages[0].images[0]",
        ),
        ("/api/chat", json!({"messages": []}), "model"),
        ("/api/generate", json!({"model": "tea", "prompt": "a", "raw": true}), "raw"),
        ("/api/generate", json!({"model": "tea", "prompt": "a", "suffix": "b"}), "suffix"),
        ("/api/generate", json!({"model": "tea", "prompt": "a", "context": [1]}), "context"),
        ("/api/show", json!({}), "model"),
    ];
    for (path, request, word) in cases {
        let message = refusal(&server.post(path, &request).await, 400);
        assert!(message.contains(word), "{request}: {message}");
    }
    refusal(&server.post("/api/chat", &asking(json!({"model": "coffee"}))).await, 404);
    refusal(&server.post("/api/pull", &json!({"model": "coffee"})).await, 404);
    refusal(&server.get("/api/chat").await, 405);
}

#[tokio::test]
async fn errors_have_this_form_before_and_within_a_stream() {
    let mut keys = KeyFile::default();
    keys.add("ann".parse().unwrap(), KeyLimits::default()).unwrap();
    let server = TestServer::start(Server::builder().model(replying("tea", [])).keys(keys)).await;
    refusal(&server.get("/api/tags").await, 401);
    let failing = ScriptedReply::Fails("Hel".to_owned());
    let server = TestServer::start(Server::builder().model(replying("tea", [failing]))).await;
    let answer = server.post("/api/chat", &asking(json!({}))).await;
    let last = lines(&answer).pop().unwrap();
    assert!(last["error"].is_string(), "{}", answer.text);
}
