//! The kinds of requests that Open Responses has a suite for: each answer and each event has what its specification requires.
//!
//! A further request is a further object in `open_responses/templates.json`; `open_responses/required.json` names the required fields.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use alloquy_server::{ServedModel, Server};
use serde::Deserialize;
use serde_json::{Value, json};

use shared::{ObedientModel, TestServer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    name: String,
    body: Value,
    /// The types of the items of the answer.
    #[serde(default)]
    items: Vec<String>,
    /// The place of what is refused.
    #[serde(default)]
    refused: Option<String>,
}

fn required() -> Value {
    serde_json::from_str(include_str!("open_responses/required.json")).unwrap()
}

/// Checks that an object has the fields of a list.
fn has_all(object: &Value, names: &Value, place: &str) {
    for name in names.as_array().unwrap_or_else(|| panic!("{place}: nothing is known of {object}")) {
        assert!(object.get(name.as_str().unwrap()).is_some(), "{place}: {name} is missing in {object}");
    }
}

fn check_item(item: &Value, required: &Value, place: &str) {
    let kind = item["type"].as_str().unwrap();
    has_all(item, &required["items"][kind], place);
    for part in item["content"].as_array().into_iter().flatten() {
        let kind = part["type"].as_str().unwrap();
        has_all(part, &required["parts"][kind], place);
    }
}

fn check_response(response: &Value, required: &Value, place: &str) {
    has_all(response, &required["response"], place);
    for name in required["numbers"].as_array().unwrap() {
        assert!(response[name.as_str().unwrap()].is_number(), "{place}: {name} is no number in {response}");
    }
    for item in response["output"].as_array().unwrap() {
        check_item(item, required, place);
    }
}

/// Checks the events of a stream, and returns the response of the last one.
fn check_events(events: &[Value], required: &Value, place: &str) -> Value {
    let mut texts = std::collections::BTreeMap::new();
    for (number, event) in events.iter().enumerate() {
        let kind = event["type"].as_str().unwrap();
        let place = format!("{place}, event {number} {kind}");
        has_all(event, &required["events"][kind], &place);
        assert_eq!(event["sequence_number"], number, "{place}");
        if let Some(response) = event.get("response") {
            check_response(response, required, &place);
        }
        if kind == "response.output_item.done" {
            check_item(&event["item"], required, &place);
        }
        let key = (event["item_id"].to_string(), event["content_index"].to_string());
        let text: &mut String = texts.entry(key).or_default();
        text.push_str(event["delta"].as_str().unwrap_or_default());
        if let Some(whole) = event.get("text").or(event.get("arguments")) {
            assert_eq!(text.as_str(), whole, "{place}: the pieces are not the whole");
        }
    }
    assert_eq!(events[0]["type"], "response.created", "{place}");
    assert_eq!(events[1]["type"], "response.in_progress", "{place}");
    events.last().unwrap()["response"].clone()
}

async fn run(server: &TestServer, template: &Template, last: &str) -> String {
    let place = &template.name;
    let mut body = template.body.clone();
    body["model"] = json!("tea");
    if body.get("previous_response_id").is_some() {
        body["previous_response_id"] = json!(last);
    }
    let answer = server.post("/v1/responses", &body).await;
    if let Some(refused) = &template.refused {
        assert_eq!(answer.status, 400, "{place}: {}", answer.text);
        let param = answer.error()["param"].as_str().unwrap_or_default().to_owned();
        assert!(param.starts_with(refused), "{place}: {param}");
        return last.to_owned();
    }
    assert_eq!(answer.status, 200, "{place}: {}", answer.text);
    let required = required();
    let response = if body["stream"] == true {
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/event-stream"), "{place}");
        let events = answer.events();
        let events = events.iter().filter(|event| *event != "[DONE]");
        let events: Vec<Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
        check_events(&events, &required, place)
    } else {
        let response = answer.json();
        check_response(&response, &required, place);
        response
    };
    assert_eq!(response["status"], "completed", "{place}");
    let items: Vec<_> =
        response["output"].as_array().unwrap().iter().map(|item| item["type"].clone()).collect();
    assert_eq!(json!(items), json!(template.items), "{place}");
    response["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn answers_and_events_have_what_open_responses_requires() {
    let templates: Vec<Template> =
        serde_json::from_str(include_str!("open_responses/templates.json")).unwrap();
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", ObedientModel))).await;
    let mut last = String::new();
    for template in &templates {
        last = run(&server, template, &last).await;
    }
}
