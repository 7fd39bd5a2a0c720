//! Conversations as trees: turns at any node, branches, the head by compare-and-set, notes, copies, documents, owners.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use alloquy_core::annotations::ANNOTATIONS_KEY;
use alloquy_core::report::Usage;
use alloquy_core::{Message, Reply};
use alloquy_server::{KeyFile, KeyLimits, ServedModel, Server};
use alloquy_testing::{EchoModel, ScriptedReply};
use serde_json::{Value, json};
use std::sync::Arc;

use shared::prompts::Greeting;
use shared::{Answer, TestServer, replying, scripted};

const ALL: &str = "/v1/alloquy/conversations";

async fn echo() -> TestServer {
    TestServer::start(Server::builder().model(ServedModel::loaded("echo", EchoModel))).await
}

async fn created(server: &TestServer, body: Value) -> String {
    let answer = server.post(ALL, &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()["id"].as_str().unwrap().to_owned()
}

async fn turn(server: &TestServer, id: &str, body: Value) -> Value {
    let answer = server.post(&format!("{ALL}/{id}/turns"), &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

async fn tree(server: &TestServer, id: &str) -> Value {
    server.get(&format!("{ALL}/{id}/tree")).await.json()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

async fn put(server: &TestServer, path: &str, etag: Option<&str>, body: Value) -> Answer {
    let mut request =
        server.request("PUT", path).header("content-type", "application/json").body(body.to_string());
    if let Some(etag) = etag {
        request = request.header("if-match", etag);
    }
    server.send(request).await
}

/// The places of the tree's nodes by their texts: `text -> text of the parent`.
fn shape(tree: &Value) -> Vec<(String, String)> {
    let nodes = tree["nodes"].as_array().unwrap();
    let mut shape = Vec::new();
    for node in nodes {
        let parent = nodes.iter().find(|other| other["id"] == node["parent"]);
        let parent = parent.map_or_else(String::new, |parent| text(&parent["text"]));
        shape.push((text(&node["text"]), parent));
    }
    shape
}

#[tokio::test]
async fn turns_edits_and_retries_are_branches() {
    let server = TestServer::saying(["Green.", "Black.", "Strong.", "Milk."]).await;
    let id =
        created(&server, json!({"name": "tea", "messages": [{"role": "system", "content": "Be brief."}]}))
            .await;
    assert_eq!(id, "conv_tea");
    let first = turn(&server, &id, json!({"text": "Which tea?"})).await;
    assert_eq!(
        (&first["text"], &first["end"], &first["head_moved"]),
        (&json!("Green."), &json!("answered"), &json!(true))
    );
    assert_eq!(first["head"], first["node"]);
    // Another answer to the same question, an edit of the question, and a turn at an older node.
    let retried = turn(&server, &id, json!({"action": "retry"})).await;
    assert_eq!(retried["answers"], first["answers"]);
    let edited =
        turn(&server, &id, json!({"action": "edit", "node": first["answers"], "text": "Which coffee?"}))
            .await;
    assert_eq!(edited["text"], "Strong.");
    let older = turn(&server, &id, json!({"node": first["node"], "text": "With what?"})).await;
    let tree = tree(&server, &id).await;
    assert_eq!(tree["head"], older["node"]);
    let expected = [
        ("Which tea?", ""),
        ("Green.", "Which tea?"),
        ("With what?", "Green."),
        ("Milk.", "With what?"),
        ("Black.", "Which tea?"),
        ("Which coffee?", ""),
        ("Strong.", "Which coffee?"),
    ];
    assert_eq!(shape(&tree), expected.map(|(text, parent)| (text.to_owned(), parent.to_owned())));
    let branches = server.get(&format!("{ALL}/tea/branches")).await.json();
    let heads: Vec<_> =
        branches["data"].as_array().unwrap().iter().map(|branch| &branch["has_head"]).collect();
    assert_eq!(heads.iter().filter(|head| **head == true).count(), 1);
    assert_eq!(heads.len(), 3);
    // The id may be written without its beginning, and nodes by their positions.
    let node = server.get(&format!("{ALL}/tea/nodes/0.1")).await.json();
    assert_eq!(node["text"], "Black.");
    let path = server.get(&format!("{ALL}/{id}/nodes/head/path?limit=2&order=desc")).await.json();
    assert_eq!((&path["data"][0]["text"], &path["has_more"]), (&json!("Milk."), &json!(true)));
    let diff = server.get(&format!("{ALL}/{id}/diff?right=0.1")).await.json();
    let counts = ["common", "left", "right"].map(|side| diff[side].as_array().unwrap().len());
    assert_eq!(counts, [1, 3, 1]);
}

#[tokio::test]
async fn a_turn_streams_as_events_with_names() {
    let server = TestServer::saying(["Green tea."]).await;
    let id = created(&server, json!({})).await;
    let answer = server.post(&format!("{ALL}/{id}/turns"), &json!({"text": "Hi", "stream": true})).await;
    assert_eq!(
        (answer.status, &answer.headers["content-type"]),
        (200, &"text/event-stream".parse().unwrap())
    );
    let names: Vec<_> = answer.text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(names.first(), Some(&"turn.started"));
    assert_eq!(names.last(), Some(&"turn.finished"));
    let nodes = names.iter().filter(|name| **name == "turn.node").count();
    assert_eq!((nodes, names.contains(&"turn.text")), (2, true));
    let last: Value = serde_json::from_str(answer.events().last().unwrap()).unwrap();
    assert_eq!(last["text"], "Green tea.");
    assert_eq!(last["head"], tree(&server, &id).await["head"]);
}

#[tokio::test]
async fn a_turn_that_fails_midway_is_an_error_and_keeps_its_text() {
    let failing = ScriptedReply::Fails("Once".to_owned());
    let server = TestServer::start(Server::builder().model(replying("tea", [failing]))).await;
    let id = created(&server, json!({})).await;
    let answer = server.post(&format!("{ALL}/{id}/turns"), &json!({"text": "Hi"})).await;
    assert_eq!(answer.status, 500, "{}", answer.text);
    let tree = tree(&server, &id).await;
    assert_eq!(tree["nodes"][1]["status"], "interrupted");
}

#[tokio::test]
async fn of_two_writers_at_one_head_one_moves_it() {
    let server = echo().await;
    let id = created(&server, json!({})).await;
    let first = turn(&server, &id, json!({"text": "One"})).await;
    turn(&server, &id, json!({"text": "Two"})).await;
    let path = format!("{ALL}/{id}/head");
    let read = server.get(&path).await;
    let etag = read.headers["etag"].to_str().unwrap().to_owned();
    let to_first = json!({"head": first["node"]});
    let to_root = json!({"head": null});
    let (one, two) = tokio::join!(
        put(&server, &path, Some(&etag), to_first.clone()),
        put(&server, &path, Some(&etag), to_root.clone())
    );
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412]);
    let lost = if one.status == 412 { &one } else { &two };
    assert_eq!((&lost.error()["code"], &lost.error()["param"]), (&json!("head_moved"), &json!("if-match")));
    // With the new ETag, and without any.
    let etag = server.get(&path).await.headers["etag"].to_str().unwrap().to_owned();
    let moved = put(&server, &path, Some(&etag), to_root).await;
    assert_eq!((moved.status, &moved.headers["etag"]), (200, &"\"root\"".parse().unwrap()));
    assert_eq!(put(&server, &path, Some("\"root\""), to_first.clone()).await.status, 200);
    assert_eq!(put(&server, &path, None, json!({"head": "0.0"})).await.json()["head"], first["node"]);
    assert_eq!(put(&server, &path, Some("*"), to_first.clone()).await.status, 200);
    assert_eq!(put(&server, &path, Some("W/\"x\""), to_first).await.status, 400);
    let refused = put(&server, &path, None, json!({})).await;
    assert_eq!((refused.status, &refused.error()["param"]), (400, &json!("head")));
    let unknown = json!({"head": "019aa000-0000-7000-8000-000000000000"});
    assert_eq!(put(&server, &path, None, unknown).await.status, 404);
    // A turn at a head that has moved is not asked at all.
    let request = server
        .posting(&format!("{ALL}/{id}/turns"), &json!({"text": "Three"}))
        .header("if-match", "\"root\"");
    assert_eq!(server.send(request).await.status, 412);
    assert_eq!(tree(&server, &id).await["nodes"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn many_writers_add_branches_and_lose_nothing() {
    let server = echo().await;
    let id = created(&server, json!({})).await;
    let texts: Vec<_> =
        (0..12).map(|index| json!({"text": format!("message {index}"), "node": ""})).collect();
    let path = format!("{ALL}/{id}/turns");
    let turns = futures::future::join_all(texts.iter().map(|body| server.post(&path, body))).await;
    assert!(turns.iter().all(|answer| answer.status == 200));
    let tree = tree(&server, &id).await;
    assert_eq!(tree["nodes"].as_array().unwrap().len(), 24);
    assert!(turns.iter().any(|answer| answer.json()["node"] == tree["head"]));
}

#[tokio::test]
async fn notes_name_nodes_and_branches() {
    let server = echo().await;
    let id = created(&server, json!({})).await;
    let asked = turn(&server, &id, json!({"text": "Tea?", "label": "first"})).await;
    let notes = format!("{ALL}/{id}/notes");
    assert_eq!(server.get(&notes).await.json()["labels"], json!({text(&asked["node"]): "first"}));
    let named = put(&server, &format!("{ALL}/{id}/labels/head"), None, json!({"label": "second"})).await;
    assert_eq!(named.json()["labels"], json!({text(&asked["node"]): "second"}));
    let marked = put(&server, &format!("{ALL}/{id}/bookmarks/here"), None, json!({"node": "head"})).await;
    assert_eq!(marked.json()["bookmarks"], json!({"here": asked["node"]}));
    let node = server.get(&format!("{ALL}/{id}/nodes/here")).await.json();
    assert_eq!((&node["label"], &node["bookmarks"]), (&json!("second"), &json!(["here"])));
    // Notes are no metadata, and metadata are no notes.
    let change = json!({"metadata": {"title": "Tea", "topic": 1}});
    let changed = server.post(&format!("{ALL}/{id}"), &change).await.json();
    assert_eq!(changed["metadata"], change["metadata"]);
    let removed = server.post(&format!("{ALL}/{id}"), &json!({"metadata": {"topic": null}})).await.json();
    assert_eq!(removed["metadata"], json!({"title": "Tea"}));
    let refused = server.post(&format!("{ALL}/{id}"), &json!({"metadata": {ANNOTATIONS_KEY: {}}})).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert_eq!(server.delete(&format!("{ALL}/{id}/labels/head")).await.json()["labels"], json!({}));
    assert_eq!(server.delete(&format!("{ALL}/{id}/bookmarks/here")).await.json()["bookmarks"], json!({}));
    for name in ["0.1", "head"] {
        let refused = put(&server, &format!("{ALL}/{id}/bookmarks/{name}"), None, json!({"node": "0"})).await;
        assert_eq!(refused.status, 400, "{name}");
    }
}

#[tokio::test]
async fn copies_are_forked_merged_and_pruned() {
    let server = echo().await;
    let id = created(&server, json!({"name": "plan"})).await;
    turn(&server, &id, json!({"text": "One"})).await;
    let copy = server.post(&format!("{ALL}/{id}/fork"), &json!({"name": "plan-b"})).await;
    assert_eq!((copy.status, &copy.json()["nodes"]), (201, &json!(2)));
    assert_eq!(server.post(&format!("{ALL}/{id}/fork"), &json!({"name": "plan-b"})).await.status, 409);
    let there = turn(&server, "plan-b", json!({"text": "Two"})).await;
    let merged = server.post(&format!("{ALL}/{id}/merge"), &json!({"from": "conv_plan-b"})).await.json();
    assert_eq!(merged["added"].as_array().unwrap().last(), Some(&there["node"]));
    // An id may begin as ids are shown.
    server.post(&format!("{ALL}/{id}/fork"), &json!({"name": "conv_plan"})).await;
    let merged = server.post(&format!("{ALL}/{id}/merge"), &json!({"from": "conv_conv_plan"})).await;
    assert_eq!((merged.status, &merged.json()["from"]), (200, &json!("conv_conv_plan")));
    let other = created(&server, json!({"messages": [{"role": "system", "content": "Another."}]})).await;
    let refused = server.post(&format!("{ALL}/{id}/merge"), &json!({"from": other})).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    let unknown = server.post(&format!("{ALL}/{id}/merge"), &json!({"from": "nowhere"})).await;
    assert_eq!((unknown.status, &unknown.error()["param"]), (404, &json!("from")));
    // The branch of the head stays.
    let refused = server.post(&format!("{ALL}/{id}/prune"), &json!({"node": "0"})).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    let pruned =
        server.post(&format!("{ALL}/{id}/prune"), &json!({"node": "0.0.0", "compact": true})).await.json();
    assert_eq!(pruned["nodes"], 2);
    assert_eq!(tree(&server, &id).await["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(server.delete(&format!("{ALL}/plan-b")).await.json()["deleted"], true);
    assert_eq!(server.get(&format!("{ALL}/plan-b/tree")).await.status, 404);
}

#[tokio::test]
async fn documents_go_out_and_come_in() {
    let server = echo().await;
    let id = created(&server, json!({"name": "tea", "metadata": {"title": "Tea"}})).await;
    turn(&server, &id, json!({"text": "Green or black?"})).await;
    turn(&server, &id, json!({"action": "edit", "node": "0", "text": "Hot or cold?"})).await;
    for format in ["dataknobs", "openai", "chatml", "markdown"] {
        let written = server.get(&format!("{ALL}/{id}/export?format={format}")).await.json();
        assert!(text(&written["document"]).contains("Hot or cold?"), "{format}");
    }
    let unknown = server.get(&format!("{ALL}/{id}/export?format=word")).await;
    assert_eq!((unknown.status, &unknown.error()["param"]), (400, &json!("format")));
    let whole = server.get(&format!("{ALL}/{id}/export")).await.json();
    let document = json!({"document": whole["document"]});
    let again = server.post("/v1/alloquy/import", &document).await.json();
    assert_eq!((&again["imported"], again["refused"].as_array().unwrap().len()), (&json!([]), 1));
    let before = tree(&server, &id).await;
    server.delete(&format!("{ALL}/{id}")).await;
    let imported = server.post("/v1/alloquy/import", &document).await.json();
    assert_eq!(imported["imported"][0]["id"], "conv_tea");
    assert_eq!(tree(&server, &id).await, before);
    for body in [
        json!({"document": ""}),
        json!({"document": "x", "format": "word"}),
        json!({"document": "{", "format": "alloquy"}),
    ] {
        let refused = server.post("/v1/alloquy/import", &body).await;
        assert!(refused.status == 400 || !refused.json()["refused"].as_array().unwrap().is_empty(), "{body}");
    }
}

#[tokio::test]
async fn lists_are_filtered_sorted_and_continued() {
    let server = echo().await;
    for (name, cups) in [("a", 1), ("b", 2), ("c", 3), ("d", 3)] {
        created(&server, json!({"name": name, "metadata": {"cups": cups, "topic": "tea"}})).await;
        turn(&server, name, json!({"text": format!("The cup of {name}, please")})).await;
    }
    let names = async |query: &str| {
        let page = server.get(&format!("{ALL}?{query}")).await.json();
        let data = page["data"].as_array().unwrap().clone();
        data.iter().map(|one| text(&one["name"])).collect::<Vec<_>>().join("")
    };
    assert_eq!(names("sort=name&order=asc").await, "abcd");
    assert_eq!(names("sort=name&order=asc&limit=2").await, "ab");
    assert_eq!(names("sort=name&order=asc&limit=2&after=conv_b").await, "cd");
    assert_eq!(names("sort=metadata.cups&order=desc&metadata[cups]=3").await.len(), 2);
    assert_eq!(names("metadata[cups]=2&metadata[topic]=tea").await, "b");
    assert_eq!(names("metadata[cups]=%222%22").await, "");
    assert_eq!(names("text=%22cup+of+c%22").await, "c");
    assert_eq!(names("created_after=4000000000").await, "");
    assert_eq!(names("updated_before=4000000000&sort=name&order=asc").await, "abcd");
    let cases = [
        ("limit=0", "limit"),
        ("sort=size", "sort"),
        ("created_after=x", "created_after"),
        ("cursor=x", "cursor"),
        ("text=", "text"),
        ("size=1", "size"),
    ];
    for (query, param) in cases {
        let refused = server.get(&format!("{ALL}?{query}")).await;
        assert_eq!((refused.status, &refused.error()["param"]), (400, &json!(param)), "{query}");
    }
    assert_eq!(server.get(&format!("{ALL}?after=conv_nowhere")).await.status, 404);
    // A search has hits on every branch, and a cursor.
    let mut found = 0;
    let mut query = "text=cup*&limit=3".to_owned();
    loop {
        let page = server.get(&format!("/v1/alloquy/search?{query}")).await.json();
        found += page["data"].as_array().unwrap().len();
        let Some(next) = page["next"].as_str() else { break };
        query = format!("text=cup*&limit=3&cursor={next}");
    }
    assert_eq!(found, 8);
    for (query, param) in [("limit=1", "text"), ("text=a&order=asc", "order"), ("text=a&cursor=x", "cursor")]
    {
        let refused = server.get(&format!("/v1/alloquy/search?{query}")).await;
        assert_eq!((refused.status, &refused.error()["param"]), (400, &json!(param)), "{query}");
    }
}

#[tokio::test]
async fn prompts_of_the_library_are_shown_and_used() {
    let server = TestServer::start(
        Server::builder().model(ServedModel::loaded("echo", EchoModel)).prompts(Arc::new(Greeting::new())),
    )
    .await;
    let listed = server.get("/v1/alloquy/prompts").await.json();
    assert_eq!(listed["data"][0]["id"], "user/greeting");
    let one = server.get("/v1/alloquy/prompts/user/greeting").await.json();
    assert_eq!((&one["kind"], &one["required"]), (&json!("user"), &json!(["name"])));
    let render = "/v1/alloquy/prompts/user/greeting/render";
    let rendered = server.post(render, &json!({"values": {"name": "Ann"}})).await.json();
    assert_eq!(rendered["messages"], json!([{"role": "user", "content": "I am Ann."}]));
    let refused = server.post(render, &json!({})).await;
    assert_eq!((refused.status, &refused.error()["param"]), (400, &json!("values")));
    for path in ["user/nothing", "poem/greeting", "user/greeting@x%20y"] {
        let unknown = server.get(&format!("/v1/alloquy/prompts/{path}")).await;
        assert!(matches!(unknown.status, 400 | 404), "{path}");
        assert_eq!(unknown.error()["param"], "prompt");
    }
    let prompt = json!({"name": "user/greeting", "values": {"name": "Bea"}});
    let id = created(&server, json!({"prompt": prompt})).await;
    let asked = turn(&server, &id, json!({"prompt": prompt})).await;
    assert_eq!(asked["text"], "I am Bea.");
    let unknown =
        server.post(&format!("{ALL}/{id}/turns"), &json!({"prompt": {"name": "user/nothing"}})).await;
    assert_eq!(unknown.status, 404, "{}", unknown.text);
}

#[tokio::test]
async fn a_server_without_prompts_has_none() {
    let server = echo().await;
    assert_eq!(server.get("/v1/alloquy/prompts").await.json()["data"], json!([]));
    assert_eq!(server.get("/v1/alloquy/prompts/user/greeting").await.status, 404);
}

#[tokio::test]
async fn replies_have_their_cost() {
    let mut reply = Reply::new(Message::assistant("Hello!"));
    reply.usage = Usage::new(1000, 50);
    let prices = r#"{"currency": "EUR", "prices": [{"models": ["tea"], "input": "2", "output": "10"}]}"#;
    let prices = alloquy_cost::PriceTable::from_json(prices).unwrap();
    let replies = [reply.clone().into(), reply.into()];
    let server = TestServer::start(Server::builder().model(replying("tea", replies)).prices(prices)).await;
    let id = created(&server, json!({})).await;
    turn(&server, &id, json!({"text": "Hi"})).await;
    turn(&server, &id, json!({"action": "retry"})).await;
    let cost = server.get(&format!("{ALL}/{id}/cost")).await.json();
    assert_eq!(
        (&cost["total"], &cost["currency"], &cost["replies"]),
        (&json!("0.005"), &json!("EUR"), &json!(2))
    );
    let one = server.get(&format!("{ALL}/{id}/cost?node=head")).await.json();
    assert_eq!((&one["total"], &one["tokens"]["output"]), (&json!("0.0025"), &json!(50)));
}

#[tokio::test]
async fn messages_are_added_without_a_reply() {
    let server = echo().await;
    let id = created(&server, json!({})).await;
    let messages = json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]);
    let added =
        server.post(&format!("{ALL}/{id}/nodes"), &json!({"messages": messages, "label": "old"})).await;
    assert_eq!(added.status, 201, "{}", added.text);
    let added = added.json();
    assert_eq!((&added["nodes"][1]["label"], &added["head"]), (&json!("old"), &added["nodes"][1]["id"]));
    assert_eq!(server.post(&format!("{ALL}/{id}/nodes"), &json!({"messages": []})).await.status, 400);
}

#[tokio::test]
async fn what_is_not_known_is_refused_by_its_name() {
    let server = echo().await;
    let id = created(&server, json!({})).await;
    let turns = format!("{ALL}/{id}/turns");
    let cases = [
        (ALL.to_owned(), json!({"title": "Tea"}), "title"),
        (
            ALL.to_owned(),
            json!({"messages": [{"role": "system", "content": "a", "size": 1}]}),
            "messages[0].size",
        ),
        (ALL.to_owned(), json!({"sampling": {"temperature": "hot"}}), "sampling.temperature"),
        (ALL.to_owned(), json!({"name": "a/b\n"}), "name"),
        (turns.clone(), json!({"text": "a", "messages": []}), "text"),
        (turns.clone(), json!({"action": "retry", "text": "a"}), "action"),
        (turns.clone(), json!({"action": "edit", "text": "a"}), "node"),
        (turns.clone(), json!({"action": "edit", "node": "0"}), "text"),
        (turns.clone(), json!({"text": "a", "sampling": {"temperature": -1.0}}), "sampling"),
        (turns.clone(), json!({"text": "a", "node": "nowhere"}), "node"),
        (turns.clone(), json!({"text": "a", "model": 7}), "model"),
        (turns.clone(), json!({"text": "a", "prompt": {"name": "@"}}), "prompt.name"),
        (format!("{ALL}/{id}/fork"), json!({"to": "b"}), "to"),
        (format!("{ALL}/{id}/prune"), json!({}), "node"),
        ("/v1/alloquy/import".to_owned(), json!({}), "document"),
    ];
    for (path, body, param) in cases {
        let refused = server.post(&path, &body).await;
        assert_eq!(
            (refused.status, &refused.error()["param"]),
            (400, &json!(param)),
            "{path} {body}: {}",
            refused.text
        );
    }
    let unknown = server.post(&turns, &json!({"text": "a", "model": "none"})).await;
    assert_eq!((unknown.status, &unknown.error()["code"]), (404, &json!("model_not_found")));
    let refused = server.get(&format!("{ALL}/{id}/cost?at=1")).await;
    assert_eq!((refused.status, &refused.error()["param"]), (400, &json!("at")));
}

/// Every request of a conversation, with a node of it.
fn requests_of_a_tree(node: &str) -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("GET", "", json!({})),
        ("POST", "", json!({"metadata": {}})),
        ("GET", "/tree", json!({})),
        ("GET", "/branches", json!({})),
        ("GET", "/head", json!({})),
        ("PUT", "/head", json!({"head": node})),
        ("GET", "/nodes/{node}", json!({})),
        ("GET", "/nodes/{node}/path", json!({})),
        ("GET", "/diff?right={node}", json!({})),
        ("POST", "/turns", json!({"text": "Hi"})),
        ("POST", "/nodes", json!({"messages": [{"role": "user", "content": "Hi"}]})),
        ("POST", "/fork", json!({})),
        ("POST", "/merge", json!({"from": "own"})),
        ("POST", "/prune", json!({"node": node})),
        ("GET", "/notes", json!({})),
        ("PUT", "/labels/{node}", json!({"label": "a"})),
        ("DELETE", "/labels/{node}", json!({})),
        ("PUT", "/bookmarks/a", json!({"node": node})),
        ("DELETE", "/bookmarks/a", json!({})),
        ("GET", "/cost", json!({})),
        ("GET", "/export", json!({})),
        ("GET", "/events", json!({})),
        ("DELETE", "", json!({})),
    ]
}

#[tokio::test]
async fn owners_are_strictly_apart() {
    let mut keys = KeyFile::default();
    let mut secrets = Vec::new();
    for owner in ["ann", "bob"] {
        secrets.push(keys.add(owner.parse().unwrap(), KeyLimits::default()).unwrap());
    }
    let server = TestServer::start(Server::builder().model(scripted("tea", ["Hello!"])).keys(keys)).await;
    let send = async |key: &str, method: &str, path: &str, body: &Value| {
        let request =
            server.request(method, path).bearer_auth(key).header("content-type", "application/json");
        server.send(request.body(body.to_string())).await
    };
    let ann = &secrets[0];
    let bob = &secrets[1];
    let secret = json!({"name": "secret", "messages": [{"role": "system", "content": "Xyzzy"}]});
    assert_eq!(send(ann, "POST", ALL, &secret).await.status, 201);
    let asked = send(ann, "POST", &format!("{ALL}/secret/turns"), &json!({"text": "Plugh?"})).await.json();
    send(bob, "POST", ALL, &json!({"name": "own"})).await;
    let node = text(&asked["node"]);
    for (method, path, body) in requests_of_a_tree(&node) {
        let path = path.replace("{node}", &node);
        // An id of another owner is answered as one that nobody has.
        let other = send(bob, method, &format!("{ALL}/secret{path}"), &body).await;
        let nobody = send(bob, method, &format!("{ALL}/nobody{path}"), &body).await;
        assert_eq!(other.status, 404, "{method} {path}: {}", other.text);
        assert_eq!(other.text.replace("secret", "nobody"), nobody.text, "{method} {path}");
        // A node of another owner is in no tree of one's own.
        if path.contains(&node) || body.to_string().contains(&node) {
            let own = send(bob, method, &format!("{ALL}/own{path}"), &body).await;
            assert!(matches!(own.status, 400 | 404), "{method} {path}: {}", own.text);
        }
    }
    let merged = send(bob, "POST", &format!("{ALL}/own/merge"), &json!({"from": "secret"})).await;
    assert_eq!(merged.status, 404);
    for path in [ALL.to_owned(), format!("{ALL}?text=plugh"), "/v1/alloquy/search?text=plugh".to_owned()] {
        let listed = send(bob, "GET", &path, &json!({})).await;
        assert!(!listed.text.contains("secret") && !listed.text.contains(&node), "{path}: {}", listed.text);
    }
    assert_eq!(
        send(ann, "GET", &format!("{ALL}/secret/tree"), &json!({})).await.json()["nodes"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_document_is_read_in_a_thread_that_may_block() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    runtime.unwrap().block_on(async {
        let server = echo().await;
        // The one thread that may block is busy until it is released.
        let (release, released) = std::sync::mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || released.recv());
        let document = json!({"format": "markdown", "document": "## User\n\nHi\n\n## Assistant\n\nHello!\n"});
        let mut import = Box::pin(server.post("/v1/alloquy/import", &document));
        let others = async {
            for _ in 0..20 {
                assert_eq!(server.get("/health").await.status, 200);
            }
        };
        tokio::select! {
            biased;
            _ = &mut import => panic!("the document was read in the thread of the runtime"),
            () = others => {}
        }
        release.send(()).unwrap();
        busy.await.unwrap().unwrap();
        assert_eq!(import.await.json()["imported"].as_array().unwrap().len(), 1);
    });
}
