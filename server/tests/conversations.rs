//! Conversations and their items.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use alloquy_core::{Message, Reply};
use alloquy_server::{ServedModel, Server};
use alloquy_testing::Draws;
use serde_json::{Value, json};

use shared::{Recorder, TestServer};

async fn recorder() -> (TestServer, Recorder) {
    let model = Recorder::new(Reply::new(Message::assistant("Yes.")));
    let served = ServedModel::loaded("tea", model.clone());
    (TestServer::start(Server::builder().model(served)).await, model)
}

async fn create(server: &TestServer, fields: Value) -> String {
    let answer = server.post("/v1/conversations", &fields).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    format!("/v1/conversations/{}", answer.json()["id"].as_str().unwrap())
}

async fn items(server: &TestServer, conversation: &str) -> Vec<Value> {
    let page = server.get(&format!("{conversation}/items?order=asc&limit=100")).await.json();
    page["data"].as_array().unwrap().clone()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn texts(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["content"][0]["text"].as_str().unwrap_or("-")).collect()
}

#[tokio::test]
async fn items_are_given_back_as_they_were_sent() {
    let (server, _) = recorder().await;
    let image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let sent = json!([
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": image}]},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A dot.", "annotations": []}]},
        {"type": "function_call", "call_id": "call_1", "name": "paint", "arguments": "{\"color\":\"red\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "painted"}
    ]);
    let conversation = create(&server, json!({"items": sent})).await;
    let found = items(&server, &conversation).await;
    let kinds: Vec<&str> = found.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["message", "message", "reasoning", "message", "function_call", "function_call_output"]
    );
    assert_eq!((&found[0]["role"], &found[1]["role"]), (&json!("developer"), &json!("user")));
    assert_eq!(
        found[1]["content"][1],
        json!({"type": "input_image", "detail": "auto", "file_id": null, "image_url": null})
    );
    let included =
        server.get(&format!("{conversation}/items?order=asc&include[]=message.input_image.image_url")).await;
    assert_eq!(included.json()["data"][1]["content"][1]["image_url"], image);
    assert_eq!(found[4]["arguments"], "{\"color\":\"red\"}");
    assert_eq!(found[5]["output"], "painted");
    let ids: std::collections::BTreeSet<&str> =
        found.iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 6);
    for item in &found {
        let one = server.get(&format!("{conversation}/items/{}", item["id"].as_str().unwrap())).await.json();
        assert_eq!(one, *item);
    }
    let page =
        server.get(&format!("{conversation}/items?limit=2&after={}", found[4]["id"].as_str().unwrap())).await;
    assert_eq!(
        (page.json()["data"][0]["id"].clone(), page.json()["has_more"].clone()),
        (found[3]["id"].clone(), json!(true))
    );
}

#[tokio::test]
async fn a_response_in_a_conversation_sees_its_items_and_becomes_some() {
    let (server, model) = recorder().await;
    let conversation =
        create(&server, json!({"items": [{"role": "system", "content": "Be brief."}, user("I am Ann.")]}))
            .await;
    let id = conversation.trim_start_matches("/v1/conversations/").to_owned();
    let asked = json!({"input": "Who am I?", "conversation": {"id": id}, "instructions": "Rhyme."});
    let made = server.post("/v1/responses", &asked).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let seen = model.last();
    let said: Vec<String> = seen.preface.messages.iter().chain(seen.path.iter()).map(Message::text).collect();
    assert_eq!(said, ["Rhyme.\n\nBe brief.", "I am Ann.", "Who am I?"]);
    let found = items(&server, &conversation).await;
    assert_eq!(texts(&found), ["Be brief.", "I am Ann.", "Who am I?", "Yes."]);
    assert_eq!(found[3]["id"], made.json()["output"][0]["id"]);
    // The next one sees the reply too.
    server.post("/v1/responses", &json!({"input": "Sure?", "conversation": id})).await;
    assert_eq!(model.last().path.len(), 5);
}

#[tokio::test]
async fn items_are_added_and_taken_out() {
    let (server, model) = recorder().await;
    let conversation = create(&server, json!({})).await;
    let id = conversation.trim_start_matches("/v1/conversations/").to_owned();
    server.post("/v1/responses", &json!({"input": "one", "conversation": id})).await;
    let added =
        server.post(&format!("{conversation}/items"), &json!({"items": [user("two"), user("three")]})).await;
    assert_eq!(texts(added.json()["data"].as_array().unwrap()), ["two", "three"]);
    let found = items(&server, &conversation).await;
    assert_eq!(texts(&found), ["one", "Yes.", "two", "three"]);
    for (place, left) in [(3, vec!["one", "Yes.", "two"]), (0, vec!["Yes.", "two"])] {
        let item = found[place]["id"].as_str().unwrap();
        let answer = server.delete(&format!("{conversation}/items/{item}")).await;
        assert_eq!(answer.json()["object"], "conversation", "{}", answer.text);
        assert_eq!(texts(&items(&server, &conversation).await), left);
        assert_eq!(server.delete(&format!("{conversation}/items/{item}")).await.status, 404);
    }
    server.post("/v1/responses", &json!({"input": "four", "conversation": id})).await;
    let said: Vec<String> = model.last().path.iter().map(Message::text).collect();
    assert_eq!(said, ["Yes.", "two", "four"]);
}

/// A list of items as a client sends it: what users say, and what a model answered.
fn random_items(draws: &mut Draws) -> Vec<Value> {
    let mut items = Vec::new();
    let mut calls = 0;
    for _ in 0..1 + draws.below(4) {
        items.push(user(&format!("question {}", draws.below(100))));
        if draws.below(3) == 0 {
            let part = json!({"type": "reasoning_text", "text": "Hm."});
            items.push(json!({"type": "reasoning", "summary": [], "content": [part]}));
        }
        let count = draws.below(3);
        if count == 0 || draws.below(2) == 0 {
            let part = json!({"type": "output_text", "text": "Well."});
            items.push(json!({"type": "message", "role": "assistant", "content": [part]}));
        }
        let ids: Vec<String> = (calls..calls + count).map(|call| format!("call_{call}")).collect();
        calls += count;
        for id in &ids {
            items.push(
                json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{\"at\":1}"}),
            );
        }
        for id in &ids {
            items.push(json!({"type": "function_call_output", "call_id": id, "output": id}));
        }
    }
    items.truncate(20);
    items
}

/// What an item says, whichever form it has.
fn said(item: &Value) -> (String, String) {
    let kind = item["type"].as_str().unwrap_or("message").to_owned();
    let text = match &item["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts[0]["text"].as_str().unwrap().to_owned(),
        _ => format!("{} {} {} {}", item["call_id"], item["name"], item["arguments"], item["output"]),
    };
    (kind, text)
}

#[tokio::test]
async fn any_items_are_given_back_in_their_order() {
    let (server, _) = recorder().await;
    let mut draws = Draws::default();
    for _ in 0..60 {
        let sent = random_items(&mut draws);
        // Calls without outputs get some when the conversation continues, which is not the matter here.
        let end = sent.iter().rposition(|item| item["type"] != "function_call").unwrap();
        let sent = &sent[..=end];
        let conversation = create(&server, json!({"items": sent})).await;
        let found = items(&server, &conversation).await;
        let texts = |items: &[Value]| items.iter().map(said).collect::<Vec<_>>();
        assert_eq!(texts(&found), texts(sent), "{}", json!(sent));
    }
}

#[tokio::test]
async fn limits_are_those_of_the_api() {
    let (server, _) = recorder().await;
    let conversation = create(&server, json!({})).await;
    let many: Vec<Value> = (0..21).map(|_| user("x")).collect();
    let pairs: serde_json::Map<String, Value> =
        (0..17).map(|index| (index.to_string(), json!("x"))).collect();
    for (path, body, param) in [
        (format!("{conversation}/items"), json!({"items": many}), "items"),
        (format!("{conversation}/items"), json!({"items": "x"}), "items"),
        (format!("{conversation}/items"), json!({}), "items"),
        (format!("{conversation}/items?size=1"), json!({"items": []}), "size"),
        ("/v1/conversations".to_owned(), json!({"items": many}), "items"),
        ("/v1/conversations".to_owned(), json!({"metadata": pairs}), "metadata"),
        ("/v1/conversations".to_owned(), json!({"metadata": {"a": "x".repeat(513)}}), "metadata"),
        (conversation.clone(), json!({"metadata": {"x".repeat(65): "y"}}), "metadata"),
        ("/v1/conversations".to_owned(), json!({"items": [{"role": "user"}]}), "items[0]"),
    ] {
        let answer = server.post(&path, &body).await;
        assert_eq!((answer.status, answer.error()["param"].as_str()), (400, Some(param)), "{}", answer.text);
    }
}
