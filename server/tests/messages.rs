//! Anthropic's Messages over a real socket: what the model sees, what the client reads, streams, counts of tokens, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use alloquy_core::arguments::{ThinkingHistory, ThinkingSwitch};
use alloquy_core::grammar::Grammar;
use alloquy_core::message::{Malformed, ToolCall};
use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::report::{FinishReason, Usage};
use alloquy_core::{Content, Message, Reply, Request, Role};
use alloquy_server::{KeyFile, KeyLimits, ServedModel, Server};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use proptest::prelude::*;
use serde_json::{Value, json};

use shared::{Answer, Recorder, TestServer, replying};

const PATH: &str = "/v1/messages";

/// A request with the message "Hi" and these fields; `null` removes one.
#[allow(clippy::needless_pass_by_value, reason = "callers write the fields in place")]
fn asking(fields: Value) -> Value {
    let mut request =
        json!({"model": "tea", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]});
    for (name, value) in fields.as_object().unwrap() {
        if value.is_null() {
            request.as_object_mut().unwrap().remove(name);
        } else {
            request[name] = value.clone();
        }
    }
    request
}

/// Checks the body of an error, and returns its sentence.
fn refusal(answer: &Answer, status: u16, kind: &str) -> String {
    assert_eq!(answer.status, status, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body["type"], "error", "{body}");
    assert_eq!(body["error"]["type"], kind, "{body}");
    let id = body["request_id"].as_str().unwrap();
    assert!(id.starts_with("req_"), "{body}");
    assert_eq!(answer.headers["request-id"], id);
    body["error"]["message"].as_str().unwrap().to_owned()
}

async fn recorded(reply: Reply) -> (TestServer, Recorder) {
    let recorder = Recorder::new(reply);
    let model = ServedModel::loaded("tea", recorder.clone());
    (TestServer::start(Server::builder().model(model)).await, recorder)
}

/// Sends a request, and returns what the model received.
async fn seen(fields: Value) -> Request {
    let (server, recorder) = recorded(Reply::new(Message::assistant("Hello!"))).await;
    let answer = server.post(PATH, &asking(fields)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    recorder.last()
}

fn call() -> Reply {
    let call = ToolCall::new("toolu_1", "weather", json!({"city": "Oslo"}));
    let parts = vec![Content::Text("I look.".to_owned()), Content::ToolCall(call)];
    let mut reply = Reply::new(Message::new(Role::Assistant, parts));
    reply.finish = FinishReason::ToolCalls;
    reply
}

#[tokio::test]
async fn a_reply_has_blocks_and_the_three_numbers_of_its_input() {
    let message = Message::new(
        Role::Assistant,
        vec![Content::Thinking("Hm.".to_owned()), Content::Text("Hello!".to_owned())],
    );
    let mut reply = Reply::new(message);
    reply.usage = Usage::new(12, 3);
    reply.usage.cached = 8;
    let server = TestServer::start(Server::builder().model(replying("tea", [reply.into()]))).await;
    let answer = server.post(PATH, &asking(json!({}))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.headers.contains_key("request-id"));
    let body = answer.json();
    assert!(body["id"].as_str().unwrap().starts_with("msg_"));
    assert_eq!((&body["type"], &body["role"]), (&json!("message"), &json!("assistant")));
    assert_eq!(body["content"][0]["thinking"], "Hm.");
    assert!(!body["content"][0]["signature"].as_str().unwrap().is_empty());
    assert_eq!(body["content"][1], json!({"type": "text", "text": "Hello!"}));
    assert_eq!(body["stop_reason"], "end_turn");
    assert_eq!(body["stop_sequence"], Value::Null);
    let usage = json!({
        "input_tokens": 4,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 8,
        "output_tokens": 3,
    });
    assert_eq!(body["usage"], usage);
    assert_eq!(body["alloquy"]["finish"], "stop");
}

#[tokio::test]
async fn every_end_of_a_reply_has_its_word() {
    let cases = [
        (FinishReason::Stop, "end_turn"),
        (FinishReason::Length, "max_tokens"),
        (FinishReason::ContextFull, "model_context_window_exceeded"),
        (FinishReason::StopString, "stop_sequence"),
        (FinishReason::Repetition, "end_turn"),
    ];
    for (finish, word) in cases {
        let mut reply = Reply::new(Message::assistant("Hello!"));
        reply.finish = finish;
        reply.stop_string = (finish == FinishReason::StopString).then(|| "END".to_owned());
        let server = TestServer::start(Server::builder().model(replying("tea", [reply.into()]))).await;
        let body = server.post(PATH, &asking(json!({}))).await.json();
        assert_eq!(body["stop_reason"], word);
        assert_eq!(body["stop_sequence"].as_str(), (word == "stop_sequence").then_some("END"));
    }
}

#[tokio::test]
async fn options_reach_the_model() {
    let request = seen(json!({
        "max_tokens": 50,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 20,
        "stop_sequences": ["END"],
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object"}}},
        "metadata": {"user_id": "ann"},
        "service_tier": "auto",
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
    }))
    .await;
    assert_eq!(request.sampling.max_tokens, Some(50));
    assert_eq!(request.sampling.temperature, Some(0.5));
    assert_eq!((request.sampling.top_p, request.sampling.top_k), (Some(0.9), Some(20)));
    assert_eq!(request.sampling.stop, ["END"]);
    assert_eq!(request.output.thinking_budget, Some(2000));
    assert_eq!(request.output.grammar, Some(Grammar::JsonSchema(json!({"type": "object"}))));
    let arguments = request.joined_arguments();
    assert_eq!(arguments.thinking, Some(ThinkingSwitch::On));
    assert_eq!(arguments.extra["reasoning_effort"], "high");
}

#[tokio::test]
async fn thinking_is_switched_budgeted_and_kept_as_asked() {
    let off = seen(json!({"thinking": {"type": "disabled"}})).await;
    assert_eq!(off.joined_arguments().thinking, Some(ThinkingSwitch::Off));
    assert_eq!(off.output.thinking_budget, Some(0));
    let free = seen(json!({"thinking": {"type": "adaptive"}})).await;
    assert_eq!(free.joined_arguments().thinking, Some(ThinkingSwitch::On));
    assert_eq!(free.output.thinking_budget, None);
    assert_eq!(seen(json!({})).await.joined_arguments().thinking, None);
    let clear = "clear_thinking_20251015";
    for (edit, history) in [
        (json!({"type": clear, "keep": "all"}), ThinkingHistory::Keep),
        (json!({"type": clear, "keep": {"type": "all"}}), ThinkingHistory::Keep),
        (json!({"type": clear}), ThinkingHistory::StripBeforeLastUser),
        (
            json!({"type": clear, "keep": {"type": "thinking_turns", "value": 1}}),
            ThinkingHistory::StripBeforeLastUser,
        ),
    ] {
        let request = seen(json!({"context_management": {"edits": [edit]}})).await;
        assert_eq!(request.joined_arguments().history, Some(history));
    }
}

#[tokio::test]
async fn messages_of_all_blocks_reach_the_model() {
    let request = seen(json!({
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": " Be kind."},
        ],
        "messages": [
            {"role": "user", "content": "Look at this."},
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
                {"type": "text", "text": "Weather?", "citations": null},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "unsigned"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Oslo"}, "caller": {"type": "direct"}},
                {"type": "tool_use", "id": "b", "name": "map", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "-3"}, {"type": "text", "text": "snow"}]},
                {"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
                ]},
                {"type": "text", "text": "And now?"},
            ]},
        ],
    }))
    .await;
    assert_eq!(request.preface.messages[0].text(), "Be brief. Be kind.");
    let path: Vec<Message> = request.path.iter().cloned().collect();
    let roles: Vec<Role> = path.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::User], "messages of one role are one");
    assert_eq!(path[0].text(), "Look at this.Weather?");
    assert_eq!(path[0].media().count(), 1);
    assert_eq!(path[1].thinking().as_deref(), Some("Hm."));
    let results: Vec<_> = path[2].tool_results().collect();
    assert_eq!((results[0].name.as_str(), results[0].text().as_str()), ("weather", "-3\nsnow"));
    assert!(results[1].is_error && !results[0].is_error);
    assert_eq!((path[3].media().count(), path[3].text().as_str()), (1, "And now?"), "images follow results");
}

#[tokio::test]
async fn tools_and_the_choice_among_them_reach_the_model() {
    let tool = json!({
        "name": "weather",
        "description": "Returns the weather",
        "input_schema": {"type": "object"},
        "cache_control": {"type": "ephemeral"},
        "eager_input_streaming": true,
        "strict": true,
    });
    let cases = [
        (json!({"type": "auto"}), ToolChoice::Auto, ParallelCalls::Allowed),
        (
            json!({"type": "any", "disable_parallel_tool_use": true}),
            ToolChoice::Required,
            ParallelCalls::Forbidden,
        ),
        (
            json!({"type": "tool", "name": "weather"}),
            ToolChoice::Named("weather".to_owned()),
            ParallelCalls::Allowed,
        ),
        (json!({"type": "none"}), ToolChoice::None, ParallelCalls::Allowed),
    ];
    for (given, choice, parallel) in cases {
        let request = seen(json!({"tools": [tool], "tool_choice": given})).await;
        assert_eq!(request.preface.tools[0].name, "weather");
        assert_eq!(request.preface.tools[0].parameters, json!({"type": "object"}));
        assert_eq!(request.output.tool_choice, Some(choice));
        assert_eq!(request.output.parallel_calls, parallel);
    }
}

#[tokio::test]
async fn a_call_goes_to_the_client() {
    let (server, _) = recorded(call()).await;
    let tools = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
    let body = server.post(PATH, &asking(json!({"tools": tools}))).await.json();
    assert_eq!(body["stop_reason"], "tool_use");
    assert_eq!(body["content"][0]["text"], "I look.");
    let expected = json!({"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}});
    assert_eq!(body["content"][1], expected);
}

fn types(answer: &Answer) -> Vec<String> {
    let lines = answer.text.lines().filter_map(|line| line.strip_prefix("event: "));
    lines.map(str::to_owned).collect()
}

#[tokio::test]
async fn events_have_the_documented_order_and_names() {
    let mut reply = call();
    reply.message.parts.insert(0, Content::Thinking("Hm.".to_owned()).into());
    reply.usage = Usage::new(10, 4);
    reply.usage.cached = 6;
    let (server, _) = recorded(reply).await;
    let tools = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
    let answer = server.post(PATH, &asking(json!({"stream": true, "tools": tools}))).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let expected = [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(types(&answer), expected, "{}", answer.text);
    let events: Vec<Value> =
        answer.events().iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    assert!(events.iter().zip(expected).all(|(event, name)| event["type"] == name));
    assert_eq!(events[0]["message"]["content"], json!([]));
    assert_eq!(events[0]["message"]["stop_reason"], Value::Null);
    assert_eq!(events[2]["content_block"], json!({"type": "thinking", "thinking": "", "signature": ""}));
    assert_eq!(events[3]["delta"], json!({"type": "thinking_delta", "thinking": "Hm."}));
    assert_eq!(events[4]["delta"]["type"], "signature_delta");
    assert_eq!((&events[7]["index"], &events[7]["delta"]["text"]), (&json!(1), &json!("I look.")));
    assert_eq!(events[9]["content_block"]["input"], json!({}));
    let arguments = events[10]["delta"]["partial_json"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({"city": "Oslo"}));
    assert_eq!(events[12]["delta"], json!({"stop_reason": "tool_use", "stop_sequence": null}));
    assert_eq!(events[12]["usage"]["cache_read_input_tokens"], 6);
    assert_eq!(events[12]["usage"]["input_tokens"], 4);
}

#[tokio::test]
async fn thinking_is_left_out_where_it_is_not_to_be_shown() {
    let message = Message::new(
        Role::Assistant,
        vec![Content::Thinking("Secret.".to_owned()), Content::Text("Hello!".to_owned())],
    );
    let (server, _) = recorded(Reply::new(message)).await;
    let hidden = json!({"thinking": {"type": "adaptive", "display": "omitted"}});
    let whole = server.post(PATH, &asking(hidden.clone())).await;
    assert_eq!(whole.json()["content"][0]["thinking"], "");
    let mut streamed = asking(hidden);
    streamed["stream"] = json!(true);
    let streamed = server.post(PATH, &streamed).await;
    assert!(types(&streamed).contains(&"message_stop".to_owned()), "{}", streamed.text);
    assert!(!whole.text.contains("Secret") && !streamed.text.contains("Secret"));
}

#[tokio::test]
async fn prompts_are_not_compared_with_earlier_ones() {
    let (server, _) = recorded(Reply::new(Message::assistant("Hello!"))).await;
    let compared = json!({"diagnostics": {"previous_message_id": "msg_1"}});
    let body = server.post(PATH, &asking(compared)).await.json();
    assert_eq!(body["diagnostics"]["cache_miss_reason"]["type"], "unavailable");
    let body = server.post(PATH, &asking(json!({"diagnostics": {"previous_message_id": null}}))).await.json();
    assert!(body.get("diagnostics").is_none(), "{body}");
}

#[tokio::test]
async fn what_cannot_be_read_as_a_call_is_text() {
    let malformed = Malformed { raw: "<tool_call>{".to_owned(), reason: "it ended".to_owned() };
    let message =
        Message::new(Role::Assistant, vec![Content::Text("So: ".to_owned()), Content::Malformed(malformed)]);
    let (server, _) = recorded(Reply::new(message)).await;
    let body = server.post(PATH, &asking(json!({}))).await.json();
    assert_eq!(body["content"], json!([{"type": "text", "text": "So: <tool_call>{"}]));
}

#[tokio::test]
async fn a_failure_midway_is_the_last_event() {
    let failing = ScriptedReply::Fails("Hel".to_owned());
    let server = TestServer::start(Server::builder().model(replying("tea", [failing]))).await;
    let answer = server.post(PATH, &asking(json!({"stream": true}))).await;
    assert_eq!(types(&answer).last().map(String::as_str), Some("error"), "{}", answer.text);
    let last: Value = serde_json::from_str(answer.events().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["error"]["type"]), (&json!("error"), &json!("api_error")));
}

/// Sends requests with these fields, which are refused with their places.
async fn refused<const N: usize>(cases: [(Value, &str); N]) {
    let server = TestServer::saying([]).await;
    for (fields, place) in cases {
        let answer = server.post(PATH, &asking(fields.clone())).await;
        let message = refusal(&answer, 400, "invalid_request_error");
        assert!(message.contains(place), "{fields}: {message}");
    }
}

/// The field with one tool, which has this field.
#[allow(clippy::needless_pass_by_value, reason = "callers write the value in place")]
fn tool(field: &str, value: Value) -> Value {
    let mut tool = json!({"name": "t", "input_schema": {"type": "object"}});
    tool[field] = value;
    json!({"tools": [tool]})
}

/// The field with one message of the user, which has this block.
#[allow(clippy::needless_pass_by_value, reason = "callers write the block in place")]
fn user(block: Value) -> Value {
    json!({"messages": [{"role": "user", "content": [block]}]})
}

/// The field with a call of a tool and its result, which has this block.
#[allow(clippy::needless_pass_by_value, reason = "callers write the block in place")]
fn answered(block: Value) -> Value {
    json!({"messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "weather", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": [block]}]},
    ]})
}

/// The field with one image.
#[allow(clippy::needless_pass_by_value, reason = "callers write the source in place")]
fn image(source: Value) -> Value {
    user(json!({"type": "image", "source": source}))
}

#[tokio::test]
async fn fields_that_are_not_followed_are_refused_by_their_place() {
    let three_turns =
        json!({"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 3}});
    refused([
        (json!({"max_tokens": null}), "max_tokens"),
        (json!({"max_tokens": 0}), "max_tokens"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": [{"role": "assistant", "content": "Sure:"}]}), "messages"),
        (json!({"container": "c"}), "container"),
        (json!({"mcp_servers": []}), "mcp_servers"),
        (json!({"temperature": -1}), "temperature"),
        (json!({"stop_sequences": [""]}), "stop text"),
        (json!({"thinking": {"type": "enabled"}}), "budget_tokens"),
        (json!({"thinking": {"type": "sometimes"}}), "thinking"),
        (json!({"speed": "fast"}), "speed"),
        (
            json!({"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}),
            "context_management",
        ),
        (json!({"context_management": {"edits": [three_turns]}}), "context_management.edits[0].keep.value"),
        (json!({"output_config": {"format": {"type": "text"}}}), "output_config.format"),
        (tool("type", json!("web_search_20250305")), "tools[0].type"),
        (tool("defer_loading", json!(true)), "tools[0].defer_loading"),
        (tool("allowed_callers", json!(["code_execution_20250825"])), "tools[0].allowed_callers"),
        (tool("max_uses", json!(3)), "max_uses"),
    ])
    .await;
}

#[tokio::test]
async fn blocks_that_are_not_read_are_refused_by_their_place() {
    refused([
        (
            image(json!({"type": "url", "url": "https://example.org/a.png"})),
            "messages[0].content[0].source.url",
        ),
        (image(json!({"type": "file", "file_id": "f"})), "messages[0].content[0]"),
        (
            image(json!({"type": "base64", "media_type": "image/png", "data": "%"})),
            "messages[0].content[0].source.data",
        ),
        (
            image(json!({"type": "base64", "media_type": "text/html", "data": "AAAA"})),
            "messages[0].content[0].source.data",
        ),
        (user(json!({"type": "document", "source": {}})), "messages[0].content[0]"),
        (user(json!({"type": "text", "text": "a", "size": 1})), "messages[0].content[0]"),
        (user(json!({"type": "text", "text": "a", "citations": [{}]})), "messages[0].content[0].citations"),
        (user(json!({"type": "thinking", "thinking": "a"})), "messages[0].content[0]"),
        (
            user(json!({"type": "tool_result", "tool_use_id": "x", "content": "a"})),
            "messages[0].content[0].tool_use_id",
        ),
        (
            answered(json!({"type": "text", "text": "Mild", "citations": [{}]})),
            "messages[1].content[0].content[0].citations",
        ),
        (json!({"system": [{"type": "image", "source": {"type": "url", "url": "x"}}]}), "system[0]"),
    ])
    .await;
}

#[tokio::test]
async fn every_error_has_the_body_of_this_protocol() {
    let mut keys = KeyFile::default();
    let secret = keys.add("ann".parse().unwrap(), KeyLimits::default()).unwrap();
    let model = ServedModel::loaded("tea", ScriptedModel::replying([]));
    let server = TestServer::start(Server::builder().model(model).keys(keys)).await;
    refusal(&server.post(PATH, &asking(json!({}))).await, 401, "authentication_error");
    let unknown = server.posting(PATH, &asking(json!({"model": "coffee"}))).header("x-api-key", &secret);
    refusal(&server.send(unknown).await, 404, "not_found_error");
    let text = server.request("POST", PATH).header("x-api-key", &secret).body("{}");
    refusal(&server.send(text).await, 415, "invalid_request_error");
    let damaged = server.request("POST", PATH).header("content-type", "application/json").body("{");
    refusal(&server.send(damaged.header("x-api-key", &secret)).await, 400, "invalid_request_error");
    let elsewhere = server.posting(PATH, &asking(json!({}))).header("host", "evil.example");
    refusal(&server.send(elsewhere).await, 403, "permission_error");
    let batches = server.request("GET", "/v1/messages/batches").header("x-api-key", &secret);
    refusal(&server.send(batches).await, 404, "not_found_error");
    let method = server.request("GET", PATH).header("x-api-key", &secret);
    refusal(&server.send(method).await, 405, "invalid_request_error");
    // Other paths have OpenAI's, unless the client says which protocol it speaks.
    server.get("/v1/models/coffee").await.error();
    let models = server.request("GET", "/v1/models").header("anthropic-version", "2023-06-01");
    refusal(&server.send(models).await, 401, "authentication_error");
}

#[tokio::test]
async fn tokens_are_counted_as_the_model_would_see_them() {
    let model = ServedModel::loaded("tea", ScriptedModel::new([("<assistant>", "Hello!")]));
    let server = TestServer::start(Server::builder().model(model)).await;
    let path = "/v1/messages/count_tokens";
    let count = |fields: Value| {
        let mut request = asking(fields);
        request.as_object_mut().unwrap().remove("max_tokens");
        request
    };
    let short = server.post(path, &count(json!({}))).await;
    assert_eq!(short.status, 200, "{}", short.text);
    let short = short.json()["input_tokens"].as_u64().unwrap();
    let long = server.post(path, &count(json!({"system": "Be brief."}))).await.json();
    assert!(short > 2 && long["input_tokens"].as_u64().unwrap() >= short + 9, "{short} {long}");
    let refused = server.post(path, &asking(json!({}))).await;
    assert!(refusal(&refused, 400, "invalid_request_error").contains("max_tokens"));
    let server = TestServer::saying([]).await;
    refusal(&server.post(path, &count(json!({}))).await, 400, "invalid_request_error");
}

#[tokio::test]
async fn the_models_have_a_list_in_this_protocol() {
    let server = TestServer::saying([]).await;
    let request = server.request("GET", "/v1/models").header("anthropic-version", "2023-06-01");
    let body = server.send(request).await.json();
    assert_eq!(body["data"][0]["type"], "model");
    assert_eq!((&body["data"][0]["id"], &body["data"][0]["display_name"]), (&json!("tea"), &json!("tea")));
    assert_eq!((&body["has_more"], &body["last_id"]), (&json!(false), &json!("tea")));
    let one = server.request("GET", "/v1/models/tea").header("anthropic-version", "2023-06-01");
    assert_eq!(server.send(one).await.json()["type"], "model");
    assert!(body["data"][0]["created_at"].as_str().unwrap().ends_with('Z'));
}

/// The form in which a coding agent asks, as its documentation describes it.
#[tokio::test]
async fn the_form_of_coding_agents_is_accepted() {
    let cached = json!({"type": "ephemeral"});
    let tool = |name: &str| {
        json!({"name": name, "description": "A tool", "input_schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": false,
        }})
    };
    let tools: Vec<Value> = ["Bash", "Edit", "Glob", "Grep", "Read", "Task", "Write"].map(tool).into();
    let body = json!({
        "model": "tea",
        "max_tokens": 32000,
        "stream": true,
        "system": [
            {"type": "text", "text": "You are an agent."},
            {"type": "text", "text": "Rules.", "cache_control": cached},
        ],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "<reminder>"},
                {"type": "text", "text": "Read a.rs", "cache_control": cached},
            ]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_9", "name": "Read", "input": {"path": "a.rs"}}]},
            {"role": "user", "content": [
                {"tool_use_id": "toolu_9", "type": "tool_result", "content": "fn main() {}", "cache_control": cached},
            ]},
        ],
        "tools": tools,
        "metadata": {"user_id": "user_0"},
        "thinking": {"type": "adaptive"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "medium"},
    });
    let (server, recorder) = recorded(Reply::new(Message::assistant("Done."))).await;
    let request = server
        .posting("/v1/messages?beta=true", &body)
        .header("anthropic-version", "2023-06-01")
        .header("anthropic-beta", "interleaved-thinking-2025-05-14,context-management-2025-06-27")
        .header("authorization", "Bearer anything");
    let answer = server.send(request).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(types(&answer).last().map(String::as_str), Some("message_stop"));
    assert_eq!(recorder.last().preface.tools.len(), 7);
}

/// Joins the events of a stream to the message that they describe.
fn joined(answer: &Answer) -> Value {
    let mut message = Value::Null;
    for event in answer.events() {
        let event: Value = serde_json::from_str(&event).unwrap();
        let index = event["index"].as_u64().map(|index| usize::try_from(index).unwrap());
        match event["type"].as_str().unwrap() {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => {
                let blocks = message["content"].as_array_mut().unwrap();
                assert_eq!(index, Some(blocks.len()), "blocks are numbered in their order");
                blocks.push(event["content_block"].clone());
            }
            "content_block_delta" => {
                let block = &mut message["content"][index.unwrap()];
                add(block, &event["delta"]);
            }
            "message_delta" => {
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                message["usage"] = event["usage"].clone();
            }
            _ => {}
        }
    }
    message
}

fn add(block: &mut Value, delta: &Value) {
    let (field, more) = match delta["type"].as_str().unwrap() {
        "text_delta" => ("text", &delta["text"]),
        "thinking_delta" => ("thinking", &delta["thinking"]),
        "signature_delta" => ("signature", &delta["signature"]),
        _ => {
            let arguments = delta["partial_json"].as_str().unwrap();
            block["input"] = serde_json::from_str(arguments).unwrap();
            return;
        }
    };
    let text = format!("{}{}", block[field].as_str().unwrap(), more.as_str().unwrap());
    block[field] = text.into();
}

fn part() -> impl Strategy<Value = Content> {
    prop_oneof![
        "[a-zæ ]{0,6}".prop_map(Content::Text),
        "[a-z]{1,4}".prop_map(|raw| Content::Malformed(Malformed { raw, reason: "it ended".to_owned() })),
        "[a-z]{1,4}".prop_map(|city| Content::ToolCall(ToolCall::new(
            "toolu_1",
            "weather",
            json!({"city": city})
        ))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The thinking of a model comes in one block at its beginning, as models write it.
    #[test]
    fn a_stream_says_what_the_whole_message_says(
        thinking in proptest::option::of("[a-z]{1,6}"),
        parts in proptest::collection::vec(part(), 0..5),
    ) {
        let mut all: Vec<Content> = thinking.map(Content::Thinking).into_iter().collect();
        all.extend(parts);
        let has_calls = all.iter().any(|part| matches!(part, Content::ToolCall(_)));
        let mut reply = Reply::new(Message::new(Role::Assistant, all));
        reply.usage = Usage::new(7, 3);
        if has_calls {
            reply.finish = FinishReason::ToolCalls;
        }
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let (server, _) = recorded(reply).await;
            let tools = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
            let whole = server.post(PATH, &asking(json!({"tools": tools}))).await.json();
            let streamed = server.post(PATH, &asking(json!({"tools": tools, "stream": true}))).await;
            let joined = joined(&streamed);
            for field in ["content", "stop_reason", "usage", "model", "role", "type"] {
                assert_eq!(joined[field], whole[field], "{field}: {}", streamed.text);
            }
        });
    }
}
