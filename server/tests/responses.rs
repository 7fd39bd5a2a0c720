//! Responses: their objects, their events, their places in the tree, and those in the background.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::report::{FinishReason, Usage};
use alloquy_core::store::MemoryStore;
use alloquy_core::{Content, Message, Reply, Role};
use alloquy_server::{KeyFile, KeyLimits, OpenedModel, RequestLimits, ServedModel, Server};
use alloquy_testing::{Draws, EchoModel, ScriptedModel, ScriptedReply};
use serde_json::{Value, json};

use shared::{Answer, Paced, Recorder, TestServer, replying};

/// A request with these fields beside the model.
#[allow(clippy::needless_pass_by_value, reason = "callers write the fields in place")]
fn request(fields: Value) -> Value {
    let mut request = json!({"model": "tea", "input": "Hi"});
    for (name, value) in fields.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

async fn respond(server: &TestServer, fields: Value) -> Answer {
    server.post("/v1/responses", &request(fields)).await
}

async fn response(server: &TestServer, fields: Value) -> Value {
    let answer = respond(server, fields).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// The events of a stream, whose names are their types, and whose numbers have no gap.
fn events(answer: &Answer, first: u64) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let names: Vec<&str> = answer.text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let events: Vec<Value> =
        answer.events().iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    assert_eq!(names, events.iter().map(|event| event["type"].as_str().unwrap()).collect::<Vec<_>>());
    for (number, event) in (first..).zip(&events) {
        assert_eq!(event["sequence_number"], number, "{event}");
    }
    events
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap().trim_start_matches("response.")).collect()
}

fn text(response: &Value) -> String {
    let items = response["output"].as_array().unwrap().iter();
    let texts = items.filter(|item| item["type"] == "message");
    texts.map(|item| item["content"][0]["text"].as_str().unwrap()).collect()
}

fn thinking_reply() -> Reply {
    let parts = vec![Content::Thinking("Hm.".to_owned()), Content::Text("Hello!".to_owned())];
    let mut reply = Reply::new(Message::new(Role::Assistant, parts));
    reply.usage = Usage::new(12, 5);
    reply.usage.cached = 8;
    reply.usage.thinking = 2;
    reply
}

fn call_reply() -> Reply {
    let call = ToolCall::new("call_1", "weather", json!({"city": "Oslo"}));
    let mut reply = Reply::new(Message::new(Role::Assistant, vec![Content::ToolCall(call)]));
    reply.finish = FinishReason::ToolCalls;
    reply
}

fn weather() -> Value {
    json!([{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}])
}

async fn echo() -> TestServer {
    TestServer::start(Server::builder().model(ServedModel::loaded("tea", EchoModel))).await
}

/// A model that writes ten words slowly.
async fn slow() -> TestServer {
    let model = ServedModel::loaded("tea", Paced(Duration::from_millis(100)));
    TestServer::start(Server::builder().model(model)).await
}

async fn settled(server: &TestServer, id: &str) -> Value {
    for _ in 0..200 {
        let found = server.get(&format!("/v1/responses/{id}")).await.json();
        if found["status"] != "queued" && found["status"] != "in_progress" {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{id} does not end");
}

#[tokio::test]
async fn a_response_has_its_items_its_usage_and_its_settings() {
    let server = TestServer::start(Server::builder().model(replying("tea", [thinking_reply().into()]))).await;
    let made =
        response(&server, json!({"temperature": 0.7, "metadata": {"a": "b"}, "instructions": "Be kind."}))
            .await;
    assert_eq!((made["object"].as_str(), made["status"].as_str()), (Some("response"), Some("completed")));
    assert_eq!(made["output"][0]["type"], "reasoning");
    assert_eq!(made["output"][0]["content"], json!([{"type": "reasoning_text", "text": "Hm."}]));
    let content = json!([{"type": "output_text", "text": "Hello!", "annotations": [], "logprobs": []}]);
    assert_eq!(made["output"][1]["content"], content);
    assert_eq!(made["usage"]["input_tokens_details"]["cached_tokens"], 8);
    assert_eq!(made["usage"]["output_tokens_details"]["reasoning_tokens"], 2);
    assert_eq!(made["usage"]["total_tokens"], 17);
    let echoed = (&made["temperature"], &made["metadata"], &made["instructions"], &made["store"]);
    assert_eq!(echoed, (&json!(0.7), &json!({"a": "b"}), &json!("Be kind."), &json!(true)));
    assert_eq!(made["alloquy"]["branched"], false);
    assert_eq!(made["alloquy"]["head"], made["alloquy"]["node"]);
    let id = made["id"].as_str().unwrap();
    let mut found = server.get(&format!("/v1/responses/{id}")).await.json();
    found["alloquy"]["branched"] = json!(false);
    assert_eq!(found, made);
}

#[tokio::test]
async fn an_earlier_response_is_continued_and_an_older_one_branches() {
    let server = echo().await;
    let first = response(&server, json!({"input": "one"})).await;
    let second = response(&server, json!({"input": "two", "previous_response_id": first["id"]})).await;
    let branch = response(&server, json!({"input": "three", "previous_response_id": first["id"]})).await;
    assert_eq!((text(&second), text(&branch)), ("two".to_owned(), "three".to_owned()));
    let conversation = first["alloquy"]["conversation"].as_str().unwrap();
    for later in [&second, &branch] {
        assert_eq!(later["alloquy"]["conversation"], conversation);
        assert_eq!(later["previous_response_id"], first["id"]);
        assert_eq!(later["alloquy"]["branched"], false);
    }
    let items = server.get(&format!("/v1/conversations/conv_{conversation}/items?order=asc")).await.json();
    let texts: Vec<&str> = items["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["one", "one", "three", "three"]);
    assert_eq!(items["data"][1]["id"], first["output"][0]["id"]);
    let sent =
        server.get(&format!("/v1/responses/{}/input_items", branch["id"].as_str().unwrap())).await.json();
    assert_eq!(sent["data"].as_array().unwrap().len(), 1);
    assert_eq!(sent["data"][0]["content"], json!([{"type": "input_text", "text": "three"}]));
}

#[tokio::test]
async fn two_at_once_are_siblings_and_one_of_them_has_the_head() {
    let model = ServedModel::loaded("tea", Paced(Duration::from_millis(10)));
    let server = TestServer::start(Server::builder().model(model)).await;
    let first = response(&server, json!({})).await;
    let follow = || response(&server, json!({"previous_response_id": first["id"]}));
    let (one, other) = tokio::join!(follow(), follow());
    let branched = [&one, &other].map(|made| made["alloquy"]["branched"].as_bool().unwrap());
    assert_eq!(branched.iter().filter(|branched| **branched).count(), 1);
    assert_eq!(one["alloquy"]["head"], other["alloquy"]["head"]);
    assert_ne!(one["id"], other["id"]);
}

#[tokio::test]
async fn instructions_hold_for_one_response_and_replace_no_message() {
    let model = Recorder::new(Reply::new(Message::assistant("Yes.")));
    let served = ServedModel::loaded("tea", model.clone());
    let server = TestServer::start(Server::builder().model(served)).await;
    let input = json!([{"role": "developer", "content": "Rhyme."}, {"role": "user", "content": "Hi"}]);
    let first = response(&server, json!({"input": input, "instructions": "Be brief."})).await;
    let system = |request: &alloquy_core::Request| -> Vec<String> {
        let path = request.path.iter().filter(|message| message.role == Role::System);
        request.preface.messages.iter().chain(path).map(Message::text).collect()
    };
    assert_eq!(system(&model.last()), ["Be brief.\n\nRhyme."]);
    let next = json!({"previous_response_id": first["id"]});
    response(&server, next).await;
    assert_eq!(system(&model.last()), ["Rhyme."]);
    let next = json!({"previous_response_id": first["id"], "instructions": "Be long."});
    response(&server, next).await;
    assert_eq!(system(&model.last()), ["Be long.\n\nRhyme."]);
}

#[tokio::test]
async fn a_call_goes_to_the_client_and_its_output_continues_the_response() {
    let model = Recorder::new(call_reply());
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", model.clone()))).await;
    let called = response(&server, json!({"tools": weather()})).await;
    let call = &called["output"][0];
    assert_eq!((&call["type"], &call["call_id"]), (&json!("function_call"), &json!("call_1")));
    assert_eq!(call["arguments"], "{\"city\":\"Oslo\"}");
    let output = json!([{"type": "function_call_output", "call_id": "call_1", "output": "-3"}]);
    let fields = json!({"input": output, "previous_response_id": called["id"], "tools": weather()});
    let next = response(&server, fields).await;
    let seen = model.last();
    let results: Vec<_> = seen.path.iter().flat_map(Message::tool_results).collect();
    assert_eq!((results[0].name.as_str(), results[0].text().as_str()), ("weather", "-3"));
    let sent =
        server.get(&format!("/v1/responses/{}/input_items", next["id"].as_str().unwrap())).await.json();
    assert_eq!(sent["data"][0]["type"], "function_call_output");
    // The same as a list of items, which a client keeps by itself.
    let input = json!([{"role": "user", "content": "Hi"}, call, output[0]]);
    response(&server, json!({"input": input, "tools": weather(), "store": false})).await;
    let seen = model.last();
    assert_eq!(seen.path.iter().flat_map(Message::tool_results).count(), 1);
}

#[tokio::test]
async fn the_events_of_a_stream_are_in_their_order() {
    let server = TestServer::start(Server::builder().model(replying("tea", [thinking_reply().into()]))).await;
    let answer = respond(&server, json!({"stream": true})).await;
    let events = events(&answer, 0);
    let expected = [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ];
    let mut found = types(&events);
    // A text comes in one piece or in several.
    found.dedup();
    assert_eq!(found, expected);
    let last = &events.last().unwrap()["response"];
    assert_eq!(events[0]["response"]["id"], last["id"]);
    for event in &events[2..events.len() - 1] {
        let kind = event["type"].as_str().unwrap();
        let index = event["output_index"].as_u64().unwrap();
        let id = &last["output"][usize::try_from(index).unwrap()]["id"];
        if kind.contains("output_item") {
            assert_eq!(event["item"]["id"], *id, "{event}");
        } else {
            assert_eq!((&event["item_id"], &event["content_index"]), (id, &json!(0)), "{event}");
        }
        if kind.contains("output_text") {
            assert_eq!(event["logprobs"], json!([]), "{event}");
        }
    }
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(json!(done), last["output"]);
    let id = last["id"].as_str().unwrap();
    let replayed = server.get(&format!("/v1/responses/{id}?stream=true")).await;
    let replayed = self::events(&replayed, 0);
    assert_eq!(types(&replayed).last(), Some(&"completed"));
    assert_eq!(replayed.last().unwrap()["response"]["output"], last["output"]);
    let rest = server.get(&format!("/v1/responses/{id}?stream=true&starting_after=1")).await;
    assert_eq!(self::events(&rest, 2), replayed[2..]);
}

/// Puts the output together as a client does, from the events alone.
fn folded(events: &[Value]) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    for event in events {
        let index = event["output_index"].as_u64().map_or(0, |index| usize::try_from(index).unwrap());
        match event["type"].as_str().unwrap() {
            "response.output_item.added" => {
                assert_eq!(index, items.len());
                items.push(event["item"].clone());
            }
            "response.content_part.added" => items[index]["content"] = json!([event["part"]]),
            "response.output_text.delta" | "response.reasoning_text.delta" => {
                let text = items[index]["content"][0]["text"].as_str().unwrap().to_owned();
                items[index]["content"][0]["text"] = json!(text + event["delta"].as_str().unwrap());
            }
            "response.function_call_arguments.delta" => items[index]["arguments"] = event["delta"].clone(),
            "response.output_item.done" => items[index]["status"] = event["item"]["status"].clone(),
            _ => {}
        }
    }
    items
}

#[tokio::test]
async fn the_events_of_any_reply_are_its_output() {
    let mut draws = Draws::default();
    let mut replies = Vec::new();
    for number in 0..60 {
        let mut parts = Vec::new();
        for place in 0..draws.below(6) {
            parts.push(match draws.below(5) {
                0 => Content::Thinking(format!("thought {place} ")),
                1 => Content::Text(String::new()),
                2 => {
                    let id = format!("call_{number}_{place}");
                    Content::ToolCall(ToolCall::new(id, "weather", json!({"place": place})))
                }
                _ => Content::Text(format!("text {place} ")),
            });
        }
        replies.push(ScriptedReply::from(Reply::new(Message::new(Role::Assistant, parts))));
    }
    let count = replies.len();
    let model = ServedModel::loaded("tea", ScriptedModel::replying(replies));
    let server = TestServer::start(Server::builder().model(model)).await;
    for _ in 0..count {
        let events = events(&respond(&server, json!({"stream": true, "tools": weather()})).await, 0);
        let last = &events.last().unwrap()["response"];
        assert_eq!(json!(folded(&events)), last["output"], "{events:?}");
        let id = last["id"].as_str().unwrap();
        let found = server.get(&format!("/v1/responses/{id}")).await.json();
        assert_eq!(found["output"], last["output"]);
        let replayed = self::events(&server.get(&format!("/v1/responses/{id}?stream=true")).await, 0);
        assert_eq!(json!(folded(&replayed)), last["output"]);
    }
}

#[tokio::test]
async fn a_streamed_call_has_its_arguments() {
    let server = TestServer::start(Server::builder().model(replying("tea", [call_reply().into()]))).await;
    let events = events(&respond(&server, json!({"stream": true, "tools": weather()})).await, 0);
    let expected = [
        "created",
        "in_progress",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ];
    assert_eq!(types(&events), expected);
    assert_eq!(
        (&events[2]["item"]["arguments"], &events[4]["arguments"]),
        (&json!(""), &json!("{\"city\":\"Oslo\"}"))
    );
}

fn namespace(name: &str, functions: &[&str]) -> Value {
    let functions =
        functions.iter().map(|name| json!({"type": "function", "name": name, "parameters": null}));
    json!([{"type": "namespace", "name": name, "description": "A group.", "tools": functions.collect::<Vec<_>>()}])
}

#[tokio::test]
async fn functions_of_a_namespace_are_offered_and_called_by_both_names() {
    let call = ToolCall::new("call_1", "cups__wash", json!({}));
    let mut reply = Reply::new(Message::new(Role::Assistant, vec![Content::ToolCall(call)]));
    reply.finish = FinishReason::ToolCalls;
    let model = Recorder::new(reply);
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", model.clone()))).await;
    let tools = json!([weather()[0], namespace("cups", &["wash", "fill"])[0]]);
    let events = events(&respond(&server, json!({"stream": true, "tools": tools})).await, 0);
    let names: Vec<String> = model.last().preface.tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["weather", "cups__wash", "cups__fill"]);
    let last = &events.last().unwrap()["response"];
    let item = &last["output"][0];
    assert_eq!((&item["name"], &item["namespace"]), (&json!("wash"), &json!("cups")));
    assert_eq!(json!(folded(&events)), last["output"]);
    let path = format!("/v1/responses/{}", last["id"].as_str().unwrap());
    assert_eq!(server.get(&path).await.json()["output"], last["output"]);
    // The call comes back, as an item and by the id of the response.
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "Washed."});
    response(&server, json!({"input": [{"role": "user", "content": "Hi"}, item, output], "tools": tools}))
        .await;
    let given = model.last().path;
    response(&server, json!({"input": [output], "previous_response_id": last["id"], "tools": tools})).await;
    for messages in [given, model.last().path] {
        let names: Vec<String> =
            messages.iter().flat_map(Message::tool_calls).map(|call| call.name.clone()).collect();
        let results: Vec<String> =
            messages.iter().flat_map(Message::tool_results).map(|result| result.name.clone()).collect();
        assert_eq!((names, results), (vec!["cups__wash".to_owned()], vec!["cups__wash".to_owned()]));
    }
}

#[tokio::test]
async fn images_of_outputs_follow_the_outputs_of_one_reply() {
    let model = Recorder::new(Reply::new(Message::assistant("Seen.")));
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", model.clone()))).await;
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"});
    let image = |url: &str| json!({"type": "input_image", "image_url": url, "detail": "high"});
    let png = "data:image/png;base64,iVBORw0KGgo=";
    let input = |url: &str| {
        json!([
            {"role": "user", "content": "Look."},
            call("call_1"),
            call("call_2"),
            {"type": "function_call_output", "call_id": "call_1",
                "output": [{"type": "input_text", "text": "A cup."}, image(url)]},
            {"type": "function_call_output", "call_id": "call_2", "output": "No cup."},
            {"role": "user", "content": "And?"},
        ])
    };
    response(&server, json!({"input": input(png)})).await;
    let messages: Vec<Message> = model.last().path.iter().cloned().collect();
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::User, Role::User]);
    let results: Vec<String> = messages[2].tool_results().map(ToolResult::text).collect();
    assert_eq!(results, ["A cup.", "No cup."]);
    assert!(matches!(messages[3].parts[0].content, Content::Image(_)), "{:?}", messages[3]);
    let answer = respond(&server, json!({"input": input("http://x/y.png")})).await;
    let place = answer.error()["param"].clone();
    assert_eq!((answer.status, place), (400, json!("input[3].output[1].image_url")), "{}", answer.text);
}

#[tokio::test]
async fn namespaces_that_are_not_possible_are_refused() {
    let server = TestServer::saying(["Hello!"]).await;
    let cups = namespace("cups", &["wash"])[0].clone();
    let search = json!({"type": "namespace", "name": "web", "tools": [{"type": "web_search"}]});
    let cases = [
        (json!({"tools": [cups], "tool_choice": {"type": "function", "name": "wash"}}), "tool_choice"),
        (json!({"tools": [cups, cups]}), "tools[1].name"),
        (json!({"tools": [cups, search]}), "tools[1]"),
    ];
    for (fields, param) in cases {
        let answer = respond(&server, fields.clone()).await;
        let found = json!([answer.status, answer.error()["param"], answer.error()["code"]]);
        assert_eq!(found, json!([400, param, "invalid_value"]), "{fields}: {}", answer.text);
    }
}

#[tokio::test]
async fn what_is_not_possible_is_refused_with_its_place() {
    let server = TestServer::saying(["Hello!"]).await;
    let unknown = "resp_0198b2c8-0000-7000-8000-000000000000_0198b2c8-0000-7000-8000-000000000001";
    let file = json!([{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]);
    let part = json!([{"role": "user", "content": [{"type": "output_text", "text": "x"}]}]);
    let image =
        json!([{"role": "user", "content": [{"type": "input_image", "image_url": "http://x/y.png"}]}]);
    let orphan = json!([{"type": "function_call_output", "call_id": "call_9", "output": "x"}]);
    let both = json!({"conversation": "conv_x", "previous_response_id": unknown});
    let cases = [
        (json!({"previous_response_id": unknown}), "previous_response_id", "previous_response_not_found"),
        (json!({"previous_response_id": "resp_1"}), "previous_response_id", "previous_response_not_found"),
        (both, "previous_response_id", "mutually_exclusive_parameters"),
        (json!({"tea": 1}), "tea", "invalid_value"),
        (json!({"input": []}), "input", "invalid_value"),
        (json!({"input": [{"type": "web_search_call", "id": "x"}]}), "input[0].type", "unsupported_value"),
        (json!({"input": [{"role": "user", "content": "x", "size": 1}]}), "input[0].size", "invalid_value"),
        (json!({"input": file}), "input[0].content[0].type", "invalid_value"),
        (json!({"input": part}), "input[0].content[0].type", "invalid_value"),
        (json!({"input": image}), "input[0].content[0].image_url", "unsupported_value"),
        (json!({"input": orphan}), "input[0].call_id", "invalid_value"),
        (json!({"input": [{"role": "assistant", "content": "x"}]}), "input", "invalid_value"),
        (json!({"tools": [{"type": "web_search"}]}), "tools[0].type", "invalid_value"),
        (json!({"tool_choice": "required"}), "tool_choice", "invalid_value"),
        (json!({"truncation": "auto"}), "truncation", "unsupported_value"),
        (json!({"include": ["file_search_call.results"]}), "include", "unsupported_value"),
        (json!({"top_logprobs": 3}), "top_logprobs", "invalid_value"),
        (json!({"temperature": -1}), "temperature", "invalid_value"),
        (json!({"reasoning": {"effort": "most"}}), "reasoning.effort", "invalid_value"),
        (json!({"text": {"verbosity": "high"}}), "text.verbosity", "unsupported_value"),
        (json!({"background": true, "store": false}), "background", "invalid_value"),
        (json!({"conversation": "conv_x", "store": false}), "conversation", "invalid_value"),
        (json!({"stream_options": {}}), "stream_options", "invalid_value"),
        (json!({"metadata": {"x".repeat(65): "y"}}), "metadata", "invalid_value"),
        (json!({"include": ["message.output_text.logprobs"]}), "include", "unsupported_value"),
    ];
    let mut wrong = Vec::new();
    for (fields, param, code) in cases {
        let answer = respond(&server, fields.clone()).await;
        let found = json!([answer.status, answer.error()["param"], answer.error()["code"]]);
        if found != json!([400, param, code]) {
            wrong.push(format!("{fields}: {}", answer.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let answer = respond(&server, json!({"conversation": "conv_x"})).await;
    assert_eq!((answer.status, &answer.error()["param"]), (404, &json!("conversation")));
    let answer = respond(&server, json!({"model": "coffee", "background": true})).await;
    assert_eq!((answer.status, &answer.error()["code"]), (404, &json!("model_not_found")));
    // Nothing of all this was stored.
    assert_eq!(server.get("/v1/chat/completions").await.json()["data"], json!([]));
}

#[tokio::test]
async fn a_request_that_stores_nothing_continues_a_stored_one() {
    let server = echo().await;
    let first = response(&server, json!({"input": "one"})).await;
    let next =
        response(&server, json!({"input": "two", "previous_response_id": first["id"], "store": false})).await;
    assert_eq!((text(&next), next["store"].as_bool()), ("two".to_owned(), Some(false)));
    assert!(next["alloquy"].get("conversation").is_none());
    assert_eq!(server.get(&format!("/v1/responses/{}", next["id"].as_str().unwrap())).await.status, 404);
    let conversation = first["alloquy"]["conversation"].as_str().unwrap();
    let items = server.get(&format!("/v1/conversations/conv_{conversation}/items")).await.json();
    assert_eq!(items["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_response_in_the_background_is_polled_resumed_and_kept() {
    let server = slow().await;
    let queued = response(&server, json!({"background": true})).await;
    assert_eq!((&queued["status"], &queued["background"]), (&json!("queued"), &json!(true)));
    let id = queued["id"].as_str().unwrap();
    let running = server.get(&format!("/v1/responses/{id}")).await.json();
    assert!(running["status"] == "queued" || running["status"] == "in_progress", "{running}");
    let whole = server.get(&format!("/v1/responses/{id}?stream=true")).await;
    let whole = events(&whole, 0);
    assert_eq!(types(&whole)[..3], ["created", "queued", "in_progress"]);
    assert_eq!(types(&whole).last(), Some(&"completed"));
    let rest = server.get(&format!("/v1/responses/{id}?stream=true&starting_after=5")).await;
    assert_eq!(events(&rest, 6), whole[6..]);
    let found = settled(&server, id).await;
    assert_eq!((found["status"].as_str(), text(&found).len()), (Some("completed"), 48));
    assert_eq!(whole.last().unwrap()["response"]["output"], found["output"]);
}

#[tokio::test]
async fn a_reader_of_events_that_are_gone_gets_the_last_one() {
    let server = echo().await;
    let made = response(&server, json!({})).await;
    let id = made["id"].as_str().unwrap();
    let whole = events(&server.get(&format!("/v1/responses/{id}?stream=true")).await, 0);
    // The stream of which the client has read so much had more events.
    let rest = server.get(&format!("/v1/responses/{id}?stream=true&starting_after=500")).await;
    let rest = events(&rest, 501);
    assert_eq!((types(&rest), &rest[0]["response"]), (vec!["completed"], &whole.last().unwrap()["response"]));
}

/// Reads a stream to its last event, and no further.
async fn read_to_last(mut stream: reqwest::Response) -> Value {
    let mut text = String::new();
    loop {
        text += std::str::from_utf8(&stream.chunk().await.unwrap().expect("a last event")).unwrap();
        let last = text.rsplit_terminator("\n\n").next().unwrap_or_default();
        let data = last.split_once("data: ").map_or("", |(_, data)| data);
        let event: Value = serde_json::from_str(data).unwrap_or_default();
        if text.ends_with("\n\n") && event["response"]["status"] == "completed" {
            return event["response"].clone();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_has_ended_once_its_last_event_is_read() {
    let mut limits = RequestLimits::default();
    limits.running = 1;
    limits.waiting = 0;
    let builder = Server::builder().model(ServedModel::loaded("tea", EchoModel)).limits(limits);
    let server = TestServer::start(builder).await;
    for is_background in [false, true] {
        for _ in 0..100 {
            let body = request(json!({"stream": true, "background": is_background}));
            let streamed = read_to_last(server.posting("/v1/responses", &body).send().await.unwrap()).await;
            let id = streamed["id"].as_str().unwrap();
            let found = server.get(&format!("/v1/responses/{id}")).await.json();
            assert_eq!((&found["status"], &found["output"]), (&json!("completed"), &streamed["output"]));
            // Its place is free, and it can be continued and deleted.
            let next = response(&server, json!({"previous_response_id": id})).await;
            let next = next["id"].as_str().unwrap();
            for id in [next, id] {
                assert_eq!(server.delete(&format!("/v1/responses/{id}")).await.status, 200);
            }
        }
    }
}

#[tokio::test]
async fn a_cancelled_response_keeps_its_text() {
    let server = slow().await;
    let queued = response(&server, json!({"background": true})).await;
    let id = queued["id"].as_str().unwrap();
    tokio::time::sleep(Duration::from_millis(350)).await;
    let answer = server.post(&format!("/v1/responses/{id}/cancel"), &json!({})).await;
    let cancelled = answer.json();
    assert_eq!((answer.status, &cancelled["status"]), (200, &json!("cancelled")), "{cancelled}");
    assert!(text(&cancelled).starts_with("one"), "{cancelled}");
    assert_eq!(settled(&server, id).await["status"], "cancelled");
    let foreground = response(&server, json!({})).await;
    let id = foreground["id"].as_str().unwrap();
    let answer = server.post(&format!("/v1/responses/{id}/cancel"), &json!({})).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn a_background_response_survives_its_client_and_fails_with_an_error() {
    let model = ScriptedModel::replying([]).named("tea");
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", model))).await;
    let queued = response(&server, json!({"background": true})).await;
    let failed = settled(&server, queued["id"].as_str().unwrap()).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    assert!(failed["error"]["code"].is_string(), "{failed}");
}

#[tokio::test]
async fn a_stream_that_is_hung_up_leaves_an_incomplete_response() {
    let server = slow().await;
    let mut sent = server.posting("/v1/responses", &request(json!({"stream": true}))).send().await.unwrap();
    let mut text = String::new();
    while !text.contains("output_text.delta") {
        text.push_str(&String::from_utf8_lossy(&sent.chunk().await.unwrap().unwrap()));
    }
    let id = text.split("\"id\":\"resp_").nth(1).unwrap().split('"').next().unwrap();
    let id = format!("resp_{id}");
    assert_eq!(server.get(&format!("/v1/responses/{id}")).await.json()["status"], "in_progress");
    let next = respond(&server, json!({"previous_response_id": id})).await;
    assert_eq!(next.status, 400, "{}", next.text);
    drop(sent);
    let mut found = Value::Null;
    for _ in 0..100 {
        found = server.get(&format!("/v1/responses/{id}")).await.json();
        if found["output"].as_array().is_some_and(|output| !output.is_empty()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(found["status"], "incomplete", "{found}");
    assert!(self::text(&found).starts_with("one"), "{found}");
}

#[tokio::test]
async fn items_of_a_stored_response_are_named_by_their_ids() {
    let model = Recorder::new(call_reply());
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", model.clone()))).await;
    let called = response(&server, json!({"tools": weather()})).await;
    let sent =
        server.get(&format!("/v1/responses/{}/input_items", called["id"].as_str().unwrap())).await.json();
    let named = |id: &Value| json!({"type": "item_reference", "id": id});
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "-3"});
    let input = json!([named(&sent["data"][0]["id"]), named(&called["output"][0]["id"]), output]);
    response(&server, json!({"input": input, "tools": weather()})).await;
    let seen = model.last();
    let roles: Vec<Role> = seen.path.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool]);
    assert_eq!(seen.path.first().unwrap().text(), "Hi");
    let unknown = json!([named(&json!("msg_x")), {"role": "user", "content": "x"}]);
    let answer = respond(&server, json!({"input": unknown})).await;
    assert_eq!((answer.status, &answer.error()["param"]), (400, &json!("input[0].id")));
}

#[tokio::test]
async fn calls_have_all_their_outputs_or_none() {
    let calls = ["call_1", "call_2"].map(|id| Content::ToolCall(ToolCall::new(id, "weather", json!({}))));
    let mut reply = Reply::new(Message::new(Role::Assistant, calls.to_vec()));
    reply.finish = FinishReason::ToolCalls;
    let model = Recorder::new(reply);
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", model.clone()))).await;
    let called = response(&server, json!({"tools": weather()})).await;
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "-3"});
    let next =
        |input: Value| json!({"input": input, "previous_response_id": called["id"], "tools": weather()});
    let answer = respond(&server, next(json!([output("call_2")]))).await;
    assert_eq!((answer.status, &answer.error()["param"]), (400, &json!("input")));
    response(&server, next(json!([output("call_2"), output("call_1")]))).await;
    // Without any, the model reads that they were not answered.
    response(&server, next(json!("Never mind."))).await;
    let seen = model.last();
    assert!(seen.path.iter().flat_map(Message::tool_results).all(|result| result.is_error));
}

#[tokio::test]
async fn responses_of_another_owner_do_not_exist() {
    let mut keys = KeyFile::default();
    let mut key = |owner: &str| keys.add(owner.parse().unwrap(), KeyLimits::default()).unwrap();
    let (ann, ben) = (key("ann"), key("ben"));
    let model = ServedModel::loaded("tea", Paced(Duration::from_millis(50)));
    let server = TestServer::start(Server::builder().model(model).keys(keys)).await;
    let send = async |secret: &str, method: &str, path: &str, body: Option<Value>| {
        let mut sent = server.request(method, path).header("authorization", format!("Bearer {secret}"));
        if let Some(body) = body {
            sent = sent.header("content-type", "application/json").body(body.to_string());
        }
        server.send(sent).await
    };
    for background in [false, true] {
        let made =
            send(&ann, "POST", "/v1/responses", Some(request(json!({"background": background})))).await;
        let made = made.json();
        let id = made["id"].as_str().unwrap();
        let conversation = format!("conv_{}", made["alloquy"]["conversation"].as_str().unwrap());
        let item = json!([{"type": "item_reference", "id": id.replace("resp_", "msg_") + "_0"}, {"role": "user", "content": "x"}]);
        let paths = [
            ("GET", format!("/v1/responses/{id}")),
            ("GET", format!("/v1/responses/{id}?stream=true")),
            ("GET", format!("/v1/responses/{id}/input_items")),
            ("DELETE", format!("/v1/responses/{id}")),
            ("GET", format!("/v1/conversations/{conversation}")),
            ("GET", format!("/v1/conversations/{conversation}/items")),
            ("DELETE", format!("/v1/conversations/{conversation}")),
        ];
        for (method, path) in &paths {
            let answer = send(&ben, method, path, None).await;
            assert_eq!(answer.status, 404, "{method} {path}: {}", answer.text);
        }
        let cancel = send(&ben, "POST", &format!("/v1/responses/{id}/cancel"), Some(json!({}))).await;
        assert_eq!(cancel.status, 404);
        for (fields, status, code) in [
            (json!({"previous_response_id": id}), 400, "previous_response_not_found"),
            (json!({"conversation": conversation}), 404, "not_found"),
            (json!({"input": item}), 400, "item_not_found"),
        ] {
            let answer = send(&ben, "POST", "/v1/responses", Some(request(fields))).await;
            assert_eq!(
                (answer.status, answer.error()["code"].as_str()),
                (status, Some(code)),
                "{}",
                answer.text
            );
        }
        assert_eq!(send(&ann, "GET", &format!("/v1/responses/{id}"), None).await.status, 200);
    }
}

#[tokio::test]
async fn the_end_of_the_server_ends_what_runs_in_the_background() {
    let store = Arc::new(MemoryStore::default());
    let mut limits = RequestLimits::default();
    limits.drain = Duration::from_millis(200);
    let model = || ServedModel::loaded("tea", Paced(Duration::from_millis(100)));
    let server =
        TestServer::start(Server::builder().model(model()).store(store.clone()).limits(limits)).await;
    let queued = response(&server, json!({"background": true})).await;
    tokio::time::sleep(Duration::from_millis(250)).await;
    server.handle.shut_down();
    server.served.await.unwrap().unwrap();
    let server = TestServer::start(Server::builder().model(model()).store(store)).await;
    let id = queued["id"].as_str().unwrap();
    let found = server.get(&format!("/v1/responses/{id}")).await.json();
    assert_eq!(found["status"], "cancelled", "{found}");
    assert!(text(&found).starts_with("one"), "{found}");
    let next = response(&server, json!({"previous_response_id": id})).await;
    assert_eq!(next["alloquy"]["conversation"], queued["alloquy"]["conversation"]);
}

#[tokio::test]
async fn another_server_with_the_same_store_sees_what_is_stored() {
    let store = Arc::new(MemoryStore::default());
    let build = || {
        let model = ServedModel::loaded("tea", Paced(Duration::from_millis(60)));
        Server::builder().model(model).store(store.clone())
    };
    let one = TestServer::start(build()).await;
    let other = TestServer::start(build()).await;
    let queued = response(&one, json!({"background": true})).await;
    let id = queued["id"].as_str().unwrap();
    // So it would be after a crash of the first server.
    let found = other.get(&format!("/v1/responses/{id}")).await.json();
    assert_eq!((&found["status"], &found["output"]), (&json!("incomplete"), &json!([])), "{found}");
    settled(&one, id).await;
    let found = other.get(&format!("/v1/responses/{id}?stream=true")).await;
    assert_eq!(types(&events(&found, 0)).last(), Some(&"completed"));
    let next = response(&other, json!({"previous_response_id": id})).await;
    assert_eq!(next["alloquy"]["branched"], false);
    let conversation = next["alloquy"]["conversation"].as_str().unwrap();
    let items = one.get(&format!("/v1/conversations/conv_{conversation}/items")).await.json();
    assert_eq!(items["data"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn deleting_removes_what_nothing_follows() {
    let server = echo().await;
    let first = response(&server, json!({"input": "one"})).await;
    let second = response(&server, json!({"input": "two", "previous_response_id": first["id"]})).await;
    let id = |made: &Value| made["id"].as_str().unwrap().to_owned();
    let deleted = server.delete(&format!("/v1/responses/{}", id(&first))).await.json();
    assert_eq!(deleted["deleted"], true);
    assert_eq!(server.get(&format!("/v1/responses/{}", id(&first))).await.status, 404);
    // What follows has its history still.
    let third = response(&server, json!({"input": "three", "previous_response_id": second["id"]})).await;
    for made in [&third, &second] {
        assert_eq!(server.delete(&format!("/v1/responses/{}", id(made))).await.status, 200);
        assert_eq!(server.get(&format!("/v1/responses/{}", id(made))).await.status, 404);
    }
    let alone = response(&server, json!({"input": "four"})).await;
    let conversation =
        format!("/v1/conversations/conv_{}", alone["alloquy"]["conversation"].as_str().unwrap());
    assert_eq!(server.delete(&format!("/v1/responses/{}", id(&alone))).await.status, 200);
    assert_eq!(server.get(&conversation).await.status, 404);
}

#[tokio::test]
async fn logprobs_are_included_where_the_tokens_have_texts() {
    let model = ScriptedModel::new([("<user>Hi<end><assistant>", "Hello!")]).named("tea");
    let opened = OpenedModel::new(model).tokens(|token| u8::try_from(token).ok().map(|byte| vec![byte]));
    let server = TestServer::start(Server::builder().model(ServedModel::opened("tea", opened))).await;
    let fields = json!({"include": ["message.output_text.logprobs"], "top_logprobs": 1});
    let made = response(&server, fields).await;
    assert!(made["output"][0]["content"][0]["logprobs"].is_array(), "{made}");
    let answer = server.post("/v1/responses/input_tokens", &json!({"input": "Hi"})).await;
    assert!(answer.json()["input_tokens"].as_u64().unwrap() > 2, "{}", answer.text);
}
