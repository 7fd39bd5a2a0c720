//! Chat Completions over a real socket: whole replies, streams, tools, formats, options, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use alloquy_core::grammar::Grammar;
use alloquy_core::message::{Malformed, ToolCall};
use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::report::{CacheReport, FinishReason, MissReason, Usage, Warning};
use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
use alloquy_core::{Content, Message, Reply, Role};
use alloquy_server::{OpenedModel, ServedModel, Server};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use serde_json::{Value, json};

use shared::{Recorder, TestServer, asking, replying};

fn reply_with_facts() -> Reply {
    let mut reply = Reply::new(Message::assistant("Hello!"));
    reply.usage = Usage::new(12, 3);
    reply.usage.cached = 8;
    reply.usage.thinking = 1;
    reply.cache = Some({
        let mut cache = CacheReport::new(12, 8);
        cache.miss = Some(MissReason::Changed);
        cache
    });
    reply.seed = Some(7);
    reply.warnings = vec![Warning::OptionIgnored { name: "top_k".to_owned() }];
    reply
}

#[tokio::test]
async fn a_reply_has_its_usage_and_what_was_cached() {
    let server =
        TestServer::start(Server::builder().model(replying("tea", [reply_with_facts().into()]))).await;
    let answer = server.chat(json!({})).await;
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(body["object"], "chat.completion");
    assert!(body["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert_eq!(body["model"], "tea");
    let choice = &body["choices"][0];
    assert_eq!(choice["message"]["role"], "assistant");
    assert_eq!(choice["message"]["content"], "Hello!");
    assert_eq!(choice["finish_reason"], "stop");
    let usage = &body["usage"];
    assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(12), &json!(3)));
    assert_eq!(usage["total_tokens"], 15);
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 8);
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 1);
    let ours = &body["alloquy"];
    assert_eq!(ours["cache"]["miss"], "changed");
    assert_eq!(ours["seed"], 7);
    assert_eq!(ours["warnings"].as_array().unwrap().len(), 1);
    assert!(ours.get("conversation").is_none(), "it is stored nowhere");
}

#[tokio::test]
async fn chunks_have_their_order() {
    let message = Message::new(
        Role::Assistant,
        vec![Content::Thinking("Hm. ".to_owned()), Content::Text("Good ".to_owned())],
    );
    let mut reply = Reply::new(message);
    reply.usage = Usage::new(5, 4);
    let server = TestServer::start(Server::builder().model(replying("tea", [reply.into()]))).await;
    let answer = server.chat(json!({"stream": true, "stream_options": {"include_usage": true}})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let chunks = answer.chunks();
    let ids: Vec<&Value> = chunks.iter().map(|chunk| &chunk["id"]).collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(chunks[1]["choices"][0]["delta"], json!({"reasoning_content": "Hm. "}));
    assert_eq!(chunks[2]["choices"][0]["delta"], json!({"content": "Good "}));
    assert_eq!(chunks[2]["choices"][0]["finish_reason"], Value::Null);
    assert_eq!(chunks[3]["choices"][0]["delta"], json!({}));
    assert_eq!(chunks[3]["choices"][0]["finish_reason"], "stop");
    assert!(chunks[..4].iter().all(|chunk| chunk["usage"] == Value::Null && chunk.get("usage").is_some()));
    assert_eq!(chunks[4]["choices"], json!([]));
    assert_eq!(chunks[4]["usage"]["total_tokens"], 9);
    assert_eq!(chunks.len(), 5);
}

#[tokio::test]
async fn without_the_option_no_chunk_has_a_usage() {
    let server = TestServer::saying(["Hello!"]).await;
    let chunks = server.chat(json!({"stream": true})).await.chunks();
    assert!(chunks.iter().all(|chunk| chunk.get("usage").is_none()));
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "stop");
}

fn weather_call() -> Reply {
    let call = ToolCall::new("call_1", "weather", json!({"city": "Oslo"}));
    let mut reply = Reply::new(Message::new(Role::Assistant, vec![Content::ToolCall(call)]));
    reply.finish = FinishReason::ToolCalls;
    reply
}

fn weather() -> Value {
    json!([{"type": "function", "function": {
        "name": "weather",
        "description": "Returns the weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        "strict": true,
    }}])
}

#[tokio::test]
async fn calls_of_tools_go_to_the_client_and_their_results_come_back() {
    let recorder = Recorder::new(weather_call());
    let server =
        TestServer::start(Server::builder().model(ServedModel::loaded("tea", recorder.clone()))).await;
    let options = json!({"tools": weather(), "tool_choice": "required", "parallel_tool_calls": false});
    let body = server.chat(options).await.json();
    let choice = &body["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], Value::Null);
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!((&call["id"], &call["type"]), (&json!("call_1"), &json!("function")));
    assert_eq!(call["function"]["arguments"], r#"{"city":"Oslo"}"#);
    let request = recorder.last();
    assert_eq!(request.preface.tools[0].name, "weather");
    assert_eq!(request.output.tool_choice, Some(ToolChoice::Required));
    assert_eq!(request.output.parallel_calls, ParallelCalls::Forbidden);

    let messages = json!([
        {"role": "user", "content": "Weather?"},
        choice["message"],
        {"role": "tool", "tool_call_id": "call_1", "content": "-3 degrees"},
    ]);
    let answer = server.chat(json!({"messages": messages, "tools": weather()})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(recorder.last().path.len(), 3);
}

#[tokio::test]
async fn a_streamed_call_has_an_index() {
    let server = TestServer::start(Server::builder().model(replying("tea", [weather_call().into()]))).await;
    let chunks = server.chat(json!({"stream": true, "tools": weather()})).await.chunks();
    let call = &chunks[1]["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!((&call["index"], &call["id"]), (&json!(0), &json!("call_1")));
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn what_is_no_call_is_shown_as_it_was_written() {
    let malformed = Malformed { raw: "<call>{".to_owned(), reason: "it ends early".to_owned() };
    let message = Message::new(Role::Assistant, vec![Content::Malformed(malformed)]);
    let reply = Reply::new(message);
    let server = TestServer::start(Server::builder().model(replying("tea", [reply.into()]))).await;
    assert_eq!(server.chat(json!({})).await.json()["choices"][0]["message"]["content"], "<call>{");
}

#[tokio::test]
async fn options_reach_the_model() {
    let recorder = Recorder::new(Reply::new(Message::assistant("{}")));
    let server =
        TestServer::start(Server::builder().model(ServedModel::loaded("tea", recorder.clone()))).await;
    let schema = json!({"type": "object", "properties": {}});
    let answer = server
        .chat(json!({
            "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "repetition_penalty": 1.1,
            "presence_penalty": 0.1, "frequency_penalty": 0.2, "seed": -1, "max_completion_tokens": 9,
            "stop": ["\n", "END"], "logit_bias": {"17": -100}, "user": "ann", "service_tier": "auto",
            "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": true}},
            "reasoning_effort": "none", "modalities": ["text"], "n": 1, "store": false, "metadata": {"a": "b"},
        }))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let request = recorder.last();
    let sampling = &request.sampling;
    assert_eq!((sampling.temperature, sampling.top_k), (Some(0.5), Some(40)));
    assert_eq!((sampling.top_p, sampling.min_p), (Some(0.9), Some(0.05)));
    assert_eq!(sampling.repetition_penalty, Some(1.1));
    assert_eq!((sampling.presence_penalty, sampling.frequency_penalty), (Some(0.1), Some(0.2)));
    assert_eq!((sampling.seed, sampling.max_tokens), (Some(u64::MAX), Some(9)));
    assert_eq!(sampling.stop, ["\n", "END"]);
    assert_eq!(sampling.logit_bias.len(), 1);
    assert_eq!(request.output.grammar, Some(Grammar::JsonSchema(schema)));
    assert_eq!(request.output.thinking_budget, Some(0));
}

#[tokio::test]
async fn the_system_prompt_is_the_preface() {
    let recorder = Recorder::new(Reply::new(Message::assistant("Yes.")));
    let server =
        TestServer::start(Server::builder().model(ServedModel::loaded("tea", recorder.clone()))).await;
    let messages = json!([
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Tea?"}]},
    ]);
    assert_eq!(server.chat(json!({"messages": messages})).await.status, 200);
    let request = recorder.last();
    assert_eq!(request.preface.messages[0].text(), "Be brief.");
    assert_eq!(request.path.len(), 1);
}

/// Asks what an image shows.
fn with_image(url: &str) -> Value {
    let image = json!({"type": "image_url", "image_url": {"url": url, "detail": "high"}});
    json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "What?"}, image]}]})
}

#[tokio::test]
async fn images_come_within_the_request_and_are_not_fetched() {
    let recorder = Recorder::new(Reply::new(Message::assistant("A cat.")));
    let server =
        TestServer::start(Server::builder().model(ServedModel::loaded("tea", recorder.clone()))).await;
    let answer = server.chat(with_image("data:image/png;base64,iVBORw0KGgo=")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(recorder.last().path.first().unwrap().media().count(), 1);
    for url in ["http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "/etc/passwd"] {
        let answer = server.chat(with_image(url)).await;
        assert_eq!(answer.status, 400, "{url}: {}", answer.text);
        assert_eq!(answer.error()["param"], "messages[0].content[1].image_url.url");
    }
}

#[tokio::test]
async fn logprobs_have_the_texts_of_their_tokens() {
    let mut reply = Reply::new(Message::assistant("Hi"));
    reply.tokens = vec![72, 105];
    for token in [72, 105] {
        let top = vec![TokenLogprob::new(token, -0.5), TokenLogprob::new(33, -2.0)];
        reply.logprobs.push(TokenLogprobs::new(TokenLogprob::new(token, -0.5), top));
    }
    let model = ScriptedModel::replying([reply.clone().into(), reply.into()]);
    let model = OpenedModel::new(model).tokens(|token| u8::try_from(token).ok().map(|byte| vec![byte]));
    let server = TestServer::start(Server::builder().model(ServedModel::opened("tea", model))).await;
    let options = json!({"logprobs": true, "top_logprobs": 2});
    let body = server.chat(options.clone()).await.json();
    let content = &body["choices"][0]["logprobs"]["content"];
    assert_eq!(content[0]["token"], "H");
    assert_eq!(content[1]["bytes"], json!([105]));
    assert_eq!(content[1]["top_logprobs"][1]["token"], "!");
    let mut streamed = options;
    streamed["stream"] = true.into();
    let chunks = server.chat(streamed).await.chunks();
    assert_eq!(chunks.last().unwrap()["choices"][0]["logprobs"]["content"], *content);
}

#[tokio::test]
async fn logprobs_of_a_model_without_texts_are_refused() {
    let server = TestServer::saying(["Hi"]).await;
    let answer = server.chat(json!({"logprobs": true})).await;
    assert_eq!((answer.status, &answer.error()["param"]), (400, &json!("logprobs")));
}

/// What is refused, and at which field.
fn refusals() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"prediction": {"type": "content"}}), "prediction"),
        (json!({"temprature": 1}), "temprature"),
        (json!({"temperature": "hot"}), "temperature"),
        (json!({"temperature": -1}), "temperature"),
        (json!({"top_p": 2}), "top_p"),
        (json!({"n": 2}), "n"),
        (json!({"modalities": ["text", "audio"]}), "modalities"),
        (json!({"service_tier": "flex"}), "service_tier"),
        (json!({"verbosity": "low"}), "verbosity"),
        (json!({"stream_options": {"include_usage": true}}), "stream_options"),
        (json!({"stream": true, "stream_options": {"include_all": true}}), "stream_options.include_all"),
        (
            json!({"stream": true, "stream_options": {"include_obfuscation": true}}),
            "stream_options.include_obfuscation",
        ),
        (json!({"top_logprobs": 3}), "top_logprobs"),
        (json!({"logprobs": true, "top_logprobs": 21}), "top_logprobs"),
        (json!({"max_tokens": 3, "max_completion_tokens": 4}), "max_tokens"),
        (json!({"max_tokens": 0}), "max_completion_tokens"),
        (json!({"logit_bias": {"tea": 1}}), "logit_bias"),
        (json!({"stop": [""]}), "stop"),
        (json!({"metadata": {"a": "x".repeat(513)}}), "metadata"),
        (json!({"response_format": {"type": "xml"}}), "response_format.type"),
        (json!({"tool_choice": "maybe"}), "tool_choice"),
        (json!({"reasoning_effort": "huge"}), "reasoning_effort"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": "Hi"}), "messages"),
        (json!({"messages": [{"role": "bot", "content": "Hi"}]}), "messages[0].role"),
        (json!({"messages": [{"role": "assistant", "content": "Hi"}]}), "messages"),
        (
            json!({"messages": [{"role": "user", "content": "Hi", "cache_control": {}}]}),
            "messages[0].cache_control",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "bold": true}]}]}),
            "messages[0].content[0].bold",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}}]}]}),
            "messages[0].content[0].image_url.detail",
        ),
        (
            json!({"tools": [{"type": "function", "function": {"name": "a", "cost": 1}}]}),
            "tools[0].function.cost",
        ),
    ]
}

#[tokio::test]
async fn nothing_is_ignored_in_silence() {
    let server = TestServer::saying([]).await;
    for (fields, param) in refusals() {
        let answer = server.chat(fields.clone()).await;
        assert_eq!(answer.status, 400, "{fields}: {}", answer.text);
        let error = answer.error();
        assert_eq!(error["param"], param, "{fields}: {error}");
        assert_eq!(error["type"], "invalid_request_error");
        assert!(error["message"].as_str().unwrap().len() > 10);
    }
}

#[tokio::test]
async fn empty_fields_of_a_former_reply_are_accepted() {
    let server = TestServer::saying(["Hello!"]).await;
    let former = json!({"role": "assistant", "content": "Yes?", "refusal": null, "annotations": [], "audio": null,
        "function_call": null, "tool_calls": null});
    let messages = json!([{"role": "user", "content": "Hi"}, former, {"role": "user", "content": "Tea?"}]);
    let answer = server.chat(json!({"messages": messages})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[tokio::test]
async fn a_failure_before_the_first_word_has_a_status_and_a_later_one_is_an_event() {
    let failing = ScriptedReply::Fails("Good ".to_owned());
    let model = replying("tea", [failing.clone(), failing]);
    let server = TestServer::start(Server::builder().model(model)).await;
    let answer = server.chat(json!({})).await;
    assert_eq!(answer.status, 500, "{}", answer.text);
    assert_eq!(answer.error()["type"], "server_error");
    let events = server.chat(json!({"stream": true})).await.events();
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!(last["error"]["type"], "server_error");

    // The script has no more replies, which the model reports before it begins.
    let answer = server.chat(json!({"stream": true})).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
}

#[tokio::test]
async fn a_prompt_that_is_too_long_has_the_code_of_the_api() {
    let model = ScriptedModel::new([("Hi", "Hello!")]).context_length(4);
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", model))).await;
    let answer = server.chat(json!({})).await;
    assert_eq!((answer.status, &answer.error()["code"]), (400, &json!("context_length_exceeded")));
}

#[tokio::test]
async fn a_cut_reply_says_how_it_ended() {
    let cases = [
        (FinishReason::Length, "length", "length"),
        (FinishReason::ContextFull, "length", "context_full"),
        (FinishReason::StopString, "stop", "stop_string"),
        (FinishReason::Repetition, "stop", "repetition"),
    ];
    for (finish, theirs, ours) in cases {
        let mut reply = Reply::new(Message::assistant("Hello!"));
        reply.finish = finish;
        let server = TestServer::start(Server::builder().model(replying("tea", [reply.into()]))).await;
        let body = server.chat(json!({})).await.json();
        assert_eq!(body["choices"][0]["finish_reason"], theirs);
        assert_eq!(body["alloquy"]["finish"], ours);
    }
}

#[tokio::test]
async fn a_request_without_a_model_is_answered_by_the_first_one() {
    let server = TestServer::saying(["Hello!"]).await;
    let mut request = asking(json!({}));
    request.as_object_mut().unwrap().remove("model");
    assert_eq!(server.post("/v1/chat/completions", &request).await.json()["model"], "tea");
}

#[tokio::test]
async fn calls_of_tools_that_were_not_offered_are_bounded_and_reported() {
    let call = |number: usize| {
        let call = ToolCall::new(format!("call_{number}"), "oven", json!({}));
        let mut reply = Reply::new(Message::new(Role::Assistant, vec![Content::ToolCall(call)]));
        reply.finish = FinishReason::ToolCalls;
        ScriptedReply::from(reply)
    };
    let once = replying("tea", [call(1), ScriptedReply::text("Hello!")]);
    let server = TestServer::start(Server::builder().model(once)).await;
    let body = server.chat(json!({})).await.json();
    assert_eq!(body["choices"][0]["message"]["content"], "Hello!");
    let warning = |times: usize| json!([{"unknown_tool_called": {"name": "oven", "times": times}}]);
    assert_eq!(body["alloquy"]["warnings"], warning(1));

    let always = replying("tea", [1, 2, 3, 4, 5].map(call));
    let server = TestServer::start(Server::builder().model(always)).await;
    let body = server.chat(json!({})).await.json();
    assert_eq!(body["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(body["choices"][0]["message"]["tool_calls"][0]["id"], "call_3");
    assert_eq!(body["alloquy"]["warnings"], warning(3));
}
