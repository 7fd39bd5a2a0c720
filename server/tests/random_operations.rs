//! Random requests to every operation of the document of OpenAPI: mostly valid ones, with ids that exist. No answer is a failure of
//! the server, every error has its body, and every answer has the form that the document says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::collections::BTreeSet;
use std::sync::Arc;

use alloquy_flows::Flow;
use alloquy_server::{OpenedModel, ServedModel, Server};
use alloquy_storage::SnapshotBucket;
use alloquy_testing::{Draws, EchoModel};
use serde_json::{Map, Value, json};

use shared::TestServer;
use shared::document::DOCUMENT;
use shared::prompts::Greeting;
use shared::saved::CountedSnapshots;

const REQUESTS: usize = 3200;

const FLOW: &str = "
name: order
states:
  drink: {wait: {say: Tea or coffee?}, to: thanks}
  thanks: {say: 'Here: {{last}}.'}
";

fn one_of<'a, T>(draws: &mut Draws, all: &'a [T]) -> &'a T {
    &all[draws.below(all.len())]
}

/// A value of any form.
fn value(draws: &mut Draws) -> Value {
    let values = [
        Value::Null,
        json!(true),
        json!(-3),
        json!(0.5),
        json!(u64::MAX),
        json!("auto"),
        json!("\u{0}"),
        json!("x".repeat(600)),
        json!([]),
        json!([{"role": "user", "content": "Hi"}]),
        json!({}),
        json!({"type": "json_object"}),
        json!({"name": "a", "parameters": {"type": "object"}}),
    ];
    one_of(draws, &values).clone()
}

/// A value for a schema of a field: mostly one that fits.
fn fitting(draws: &mut Draws, schema: &Value, ids: &[String], depth: usize) -> Value {
    if draws.below(12) == 0 || depth == 0 {
        return value(draws);
    }
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let schema = DOCUMENT.document.pointer(&name[1..]).unwrap();
        return fitting(draws, schema, ids, depth - 1);
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(choice).and_then(Value::as_array) {
            let choice = one_of(draws, choices);
            return fitting(draws, choice, ids, depth - 1);
        }
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return one_of(draws, values).clone();
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => one_of(draws, kinds).as_str().unwrap_or_default().to_owned(),
        Some(Value::String(kind)) => kind.clone(),
        _ => return value(draws),
    };
    match kind.as_str() {
        "string" => json!(text(draws, ids)),
        "integer" => json!(draws.below(30)),
        "number" => json!(draws.below(100) as f64 / 50.0),
        "boolean" => json!(draws.below(2) == 0),
        "array" => {
            let item = schema.get("items").cloned().unwrap_or_default();
            Value::Array((0..draws.below(3)).map(|_| fitting(draws, &item, ids, depth - 1)).collect())
        }
        "object" => fields(draws, schema, ids, depth),
        _ => Value::Null,
    }
}

fn fields(draws: &mut Draws, schema: &Value, ids: &[String], depth: usize) -> Value {
    let Some(known) = schema.get("properties").and_then(Value::as_object) else {
        return one_of(draws, &[json!({}), json!({"role": "user", "content": "Hi"}), json!({"a": 1})])
            .clone();
    };
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut object = Map::new();
    for (name, field) in known {
        if required.contains(&json!(name)) || draws.below(4) == 0 {
            object.insert(name.clone(), fitting(draws, field, ids, depth - 1));
        }
    }
    Value::Object(object)
}

/// A text that a field or an address may have: ids that exist, positions, names of formats, and nonsense.
fn text(draws: &mut Draws, ids: &[String]) -> String {
    let known = [
        "0", "0.0", "0.1", "head", "root", "", "echo", "tea", "user", "greeting", "order", "markdown",
        "here", "\u{0}", "é",
    ];
    if draws.below(2) == 0 { (*one_of(draws, &known)).to_owned() } else { one_of(draws, ids).clone() }
}

/// The address of an operation, with random parts.
fn address(draws: &mut Draws, path: &str, ids: &[String]) -> String {
    let mut address = String::new();
    for part in path.split('/').skip(1) {
        address.push('/');
        if part.starts_with('{') {
            let name = text(draws, ids);
            let is_plain = !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            address += if is_plain { &name } else { "%00" };
        } else {
            address += part;
        }
    }
    address
}

/// Requests after which there is something of each kind.
fn beginnings() -> [(&'static str, Value); 5] {
    let messages = json!([{"role": "user", "content": "Hi"}]);
    [
        ("/v1/responses", json!({"input": "Hi"})),
        ("/v1/conversations", json!({"items": messages})),
        ("/v1/chat/completions", json!({"messages": messages, "store": true})),
        ("/v1/alloquy/conversations", json!({"name": "tea"})),
        ("/v1/alloquy/conversations/tea/turns", json!({"text": "Hi"})),
    ]
}

/// Adds the ids in an answer.
fn collect(ids: &mut Vec<String>, answer: &Value) {
    for name in ["id", "node", "head", "conversation"] {
        ids.extend(answer.get(name).and_then(Value::as_str).map(str::to_owned));
    }
    for item in answer.get("output").and_then(Value::as_array).into_iter().flatten() {
        ids.extend(item.get("id").and_then(Value::as_str).map(str::to_owned));
    }
}

#[tokio::test]
async fn random_requests_to_every_operation_are_answered_as_documented() {
    let echo = OpenedModel::new(EchoModel).snapshots(CountedSnapshots);
    let builder = Server::builder().model(ServedModel::opened("echo", echo));
    let builder = builder.snapshots(Arc::new(SnapshotBucket::in_memory().await.unwrap()));
    let builder = builder.prompts(Arc::new(Greeting::new())).flow("order", Flow::from_yaml(FLOW).unwrap());
    let server = TestServer::start(builder).await;
    let mut draws = Draws::default();
    let mut ids = vec!["conv_nowhere".to_owned()];
    for (path, body) in beginnings() {
        let answer = server.post(path, &body).await;
        assert!(answer.status < 300, "{path}: {}", answer.text);
        collect(&mut ids, &answer.json());
    }
    // Streams of changes have no end.
    let mut operations = DOCUMENT.operations();
    operations.retain(|(path, _)| !path.ends_with("/events"));
    let mut answered = BTreeSet::new();
    for index in 0..REQUESTS {
        let (path, method) = one_of(&mut draws, &operations).clone();
        // Few deletions, so that there is something to find.
        if method == "delete" && draws.below(3) > 0 {
            continue;
        }
        let address = address(&mut draws, &path, &ids);
        let operation = &DOCUMENT.document["paths"][&path][&method];
        let mut parameters = Vec::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "query" && (parameter["required"] == true || draws.below(4) == 0) {
                let value = fitting(&mut draws, &parameter["schema"], &ids, 2);
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                parameters.push((parameter["name"].as_str().unwrap(), value));
            }
        }
        let url = reqwest::Url::parse_with_params(&format!("{}{address}", server.url), &parameters).unwrap();
        let mut request = server.client.request(method.to_ascii_uppercase().parse().unwrap(), url);
        let mut sent = Value::Null;
        if let Some(body) = operation.get("requestBody") {
            sent = fitting(&mut draws, &body["content"]["application/json"]["schema"], &ids, 6);
            request = request.header("content-type", "application/json").body(sent.to_string());
        }
        let answer = server.send(request).await;
        assert!(answer.status < 500, "{index}: {method} {address} {sent}: {}", answer.text);
        if answer.status >= 400 {
            continue;
        }
        answered.insert(format!("{method} {path}"));
        if answer.headers["content-type"] == "application/json" && ids.len() < 60 {
            collect(&mut ids, &answer.json());
        }
    }
    let never: Vec<_> = operations
        .iter()
        .map(|(path, method)| format!("{method} {path}"))
        .filter(|one| !answered.contains(one))
        .collect();
    // Some bodies have values of which a schema says little, such as messages: files of requests have those.
    assert!(never.len() * 2 < operations.len(), "never answered: {never:?}");
}
