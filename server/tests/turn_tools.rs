//! Tools of the host in the turns of a tree: which are offered, and the approvals of calls, each of which runs at most once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::store::MemoryStore;
use alloquy_core::{Message, Reply};
use alloquy_server::{KeyFile, KeyLimits, ServedModel, ServedTools, Server};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use serde_json::{Value, json};

use shared::host_tools::{calling, sums};
use shared::{Answer, TestServer};

const ALL: &str = "/v1/alloquy/conversations";

fn text(words: &str) -> Reply {
    Reply::new(Message::assistant(words))
}

fn model(replies: Vec<Reply>) -> ServedModel {
    let replies: Vec<ScriptedReply> = replies.into_iter().map(ScriptedReply::from).collect();
    ServedModel::loaded("tea", ScriptedModel::replying(replies))
}

/// A server whose model gives these replies, and how often its tools were called.
async fn server(replies: Vec<Reply>) -> (TestServer, Arc<AtomicUsize>) {
    let (tools, calls) = sums();
    (TestServer::start(Server::builder().model(model(replies)).tools(tools)).await, calls)
}

async fn over(store: &Arc<MemoryStore>, tools: &ServedTools, replies: Vec<Reply>) -> TestServer {
    let builder = Server::builder().model(model(replies)).store(Arc::clone(store) as _).tools(tools.clone());
    TestServer::start(builder).await
}

fn never() -> Value {
    json!([{"type": "mcp", "server_label": "sums", "require_approval": "never"}])
}

fn always() -> Value {
    json!([{"type": "mcp", "server_label": "sums"}])
}

async fn created(server: &TestServer, body: Value) -> String {
    let answer = server.post(ALL, &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()["id"].as_str().unwrap().to_owned()
}

async fn send(server: &TestServer, id: &str, body: &Value) -> Answer {
    server.post(&format!("{ALL}/{id}/turns"), body).await
}

async fn turn(server: &TestServer, id: &str, body: Value) -> Value {
    let answer = send(server, id, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

async fn refused(server: &TestServer, id: &str, body: Value) -> Value {
    let answer = send(server, id, &body).await;
    assert_eq!(answer.status, 400, "{body}: {}", answer.text);
    answer.error()
}

async fn tree(server: &TestServer, id: &str) -> Value {
    server.get(&format!("{ALL}/{id}/tree")).await.json()
}

/// The types of the items of the path to the head.
async fn items(server: &TestServer, id: &str) -> Vec<Value> {
    let items = server.get(&format!("/v1/conversations/{id}/items?order=asc")).await.json();
    items["data"].as_array().unwrap().clone()
}

fn types(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["type"].as_str().unwrap()).collect()
}

fn roles(nodes: &Value) -> Vec<&str> {
    nodes.as_array().unwrap().iter().map(|node| node["role"].as_str().unwrap()).collect()
}

fn allow(call: &str) -> Value {
    json!([{"call_id": call, "approve": true}])
}

#[tokio::test]
async fn the_tools_of_the_host_are_listed() {
    let (server, _) = server(vec![]).await;
    let listed = server.get("/v1/alloquy/tools").await.json();
    assert_eq!(listed["data"][0]["id"], "sums");
    let names: Vec<&Value> =
        listed["data"][0]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["add", "fail"]);
    assert_eq!(listed["data"][0]["error"], Value::Null);
    let bare = TestServer::saying([]).await;
    assert_eq!(bare.get("/v1/alloquy/tools").await.json()["data"], json!([]));
}

#[tokio::test]
async fn a_tool_without_approval_runs_within_the_turn() {
    let (server, calls) = server(vec![calling(&[("call_0", "add")]), text("Five."), text("Yes.")]).await;
    let id = created(&server, json!({})).await;
    let made = turn(&server, &id, json!({"text": "What is 2 + 3?", "tools": never()})).await;
    assert_eq!((&made["end"], &made["text"]), (&json!("answered"), &json!("Five.")));
    assert_eq!((&made["pending"], &made["waiting"]), (&json!([]), &json!([])));
    assert_eq!(roles(&made["nodes"]), ["assistant", "tool", "assistant"]);
    assert_eq!(made["nodes"][1]["parts"][0]["tool_result"]["content"], json!(5), "{}", made["nodes"][1]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    turn(&server, &id, json!({"text": "Sure?", "tools": never()})).await;
    let items = items(&server, &id).await;
    let expected = ["message", "mcp_list_tools", "mcp_call", "message", "message", "message"];
    assert_eq!(types(&items), expected);
}

#[tokio::test]
async fn an_allowed_call_runs_once_and_the_turn_continues() {
    let (server, calls) = server(vec![calling(&[("call_0", "add")]), text("Five.")]).await;
    let id = created(&server, json!({})).await;
    let asked = turn(&server, &id, json!({"text": "What is 2 + 3?", "tools": always()})).await;
    assert_eq!((&asked["end"], &asked["pending"]), (&json!("host_calls"), &json!([])));
    let waiting =
        json!([{"call_id": "call_0", "server_label": "sums", "name": "add", "arguments": {"a": 2, "b": 3}}]);
    assert_eq!(asked["waiting"], waiting);
    assert_eq!(
        (&tree(&server, &id).await["nodes"][1]["waiting"], calls.load(Ordering::SeqCst)),
        (&waiting, 0)
    );
    let next = json!({"approvals": allow("call_0"), "tools": always()});
    let made = turn(&server, &id, next.clone()).await;
    assert_eq!((&made["text"], calls.load(Ordering::SeqCst)), (&json!("Five."), 1));
    let stored = tree(&server, &id).await;
    assert_eq!(roles(&stored["nodes"]), ["user", "assistant", "tool", "assistant"]);
    assert_eq!((&stored["head"], &made["head_moved"]), (&made["node"], &json!(true)));
    assert_eq!(made["answers"], stored["nodes"][2]["id"]);
    assert_eq!(stored["nodes"][1]["waiting"], json!([]));
    let items = items(&server, &id).await;
    let expected =
        ["message", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "mcp_call", "message"];
    assert_eq!(types(&items), expected);
    assert_eq!((&items[4]["output"], &items[4]["approval_request_id"]), (&json!("5"), &items[2]["id"]));
    // Not again: neither at the head, where nothing waits any more, nor at the reply, also where the results are pruned.
    assert_eq!(refused(&server, &id, next.clone()).await["code"], "approval_request_not_found");
    let mut again = next.clone();
    again["node"] = asked["node"].clone();
    let error = refused(&server, &id, again.clone()).await;
    assert_eq!((&error["code"], &error["param"]), (&json!("approval_already_answered"), &json!("approvals")));
    let head = server
        .request("PUT", &format!("{ALL}/{id}/head"))
        .header("content-type", "application/json")
        .body(json!({"head": asked["node"]}).to_string());
    assert_eq!(server.send(head).await.status, 200);
    let pruned = server.post(&format!("{ALL}/{id}/prune"), &json!({"node": made["answers"]})).await;
    assert_eq!(pruned.status, 200, "{}", pruned.text);
    assert_eq!(refused(&server, &id, again).await["code"], "approval_already_answered");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_refused_call_does_not_run_and_the_model_reads_why() {
    let (server, calls) = server(vec![calling(&[("call_0", "add")]), text("Then not.")]).await;
    let id = created(&server, json!({})).await;
    turn(&server, &id, json!({"text": "What is 2 + 3?", "tools": always()})).await;
    let refusal = json!([{"call_id": "call_0", "approve": false, "reason": "no sums today"}]);
    // A refusal needs no tools.
    let made = turn(&server, &id, json!({"approvals": refusal, "text": "Why?"})).await;
    assert_eq!((&made["text"], calls.load(Ordering::SeqCst)), (&json!("Then not."), 0));
    let stored = tree(&server, &id).await;
    assert_eq!(roles(&stored["nodes"]), ["user", "assistant", "tool", "user", "assistant"]);
    let result = stored["nodes"][2].to_string();
    assert!(result.contains("this call was refused: no sums today"), "{result}");
    let node = stored["nodes"][1]["id"].clone();
    let changed = json!({"approvals": allow("call_0"), "tools": always(), "node": node});
    assert_eq!(refused(&server, &id, changed).await["code"], "approval_already_answered");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_events_have_what_waits_and_what_was_allowed() {
    let (server, _) = server(vec![calling(&[("call_0", "add")]), text("Five.")]).await;
    let id = created(&server, json!({})).await;
    let names = |answer: &Answer| -> Vec<String> {
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.text.lines().filter_map(|line| line.strip_prefix("event: ")).map(str::to_owned).collect()
    };
    let asked = send(&server, &id, &json!({"text": "2 + 3?", "tools": always(), "stream": true})).await;
    assert_eq!(names(&asked), ["turn.started", "turn.node", "turn.tool_call", "turn.node", "turn.finished"]);
    let events: Vec<Value> =
        asked.events().iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    assert_eq!(events[3]["waiting"][0]["call_id"], "call_0");
    assert_eq!(events[4]["waiting"], events[3]["waiting"]);
    let next = json!({"approvals": allow("call_0"), "tools": always(), "stream": true});
    let made = send(&server, &id, &next).await;
    let expected = [
        "turn.started",
        "turn.tool_call",
        "turn.tool_result",
        "turn.node",
        "turn.text",
        "turn.node",
        "turn.finished",
    ];
    assert_eq!(names(&made), expected);
}

#[tokio::test]
async fn of_several_answers_at_once_and_at_several_servers_one_counts() {
    let store = Arc::new(MemoryStore::default());
    let (tools, calls) = sums();
    let replies = || vec![calling(&[("call_0", "add")]), text("Five."), text("Five.")];
    let servers = [over(&store, &tools, replies()).await, over(&store, &tools, replies()).await];
    let id = created(&servers[0], json!({})).await;
    let asked = turn(&servers[0], &id, json!({"text": "2 + 3?", "tools": always()})).await;
    let next = json!({"approvals": allow("call_0"), "tools": always(), "node": asked["node"]});
    let mut stream = next.clone();
    stream["stream"] = json!(true);
    let refusal = json!({"approvals": [{"call_id": "call_0", "approve": false}], "node": asked["node"]});
    let (one, two, three, four) = tokio::join!(
        send(&servers[0], &id, &next),
        send(&servers[1], &id, &next),
        send(&servers[0], &id, &stream),
        send(&servers[1], &id, &next)
    );
    let mut statuses = [one.status, two.status, three.status, four.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400, 400, 400], "{} {} {} {}", one.text, two.text, three.text, four.text);
    assert_eq!(refused(&servers[1], &id, refusal).await["code"], "approval_already_answered");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_waits_over_a_restart() {
    let store = Arc::new(MemoryStore::default());
    let (tools, calls) = sums();
    let first = over(&store, &tools, vec![calling(&[("call_0", "add")])]).await;
    let id = created(&first, json!({})).await;
    let asked = turn(&first, &id, json!({"text": "2 + 3?", "tools": always()})).await;
    first.handle.shut_down();
    first.served.await.unwrap().unwrap();
    let second = over(&store, &tools, vec![text("Five.")]).await;
    assert_eq!(tree(&second, &id).await["nodes"][1]["waiting"], asked["waiting"]);
    let made = turn(&second, &id, json!({"approvals": allow("call_0"), "tools": always()})).await;
    assert_eq!((&made["text"], calls.load(Ordering::SeqCst)), (&json!("Five."), 1));
}

#[tokio::test]
async fn a_call_of_another_owner_is_unknown() {
    let mut keys = KeyFile::default();
    let mut key = |owner: &str| keys.add(owner.parse().unwrap(), KeyLimits::default()).unwrap();
    let (ann, bob) = (key("ann"), key("bob"));
    let (tools, calls) = sums();
    let replies = vec![calling(&[("call_a", "add")]), calling(&[("call_b", "add")]), text("Five.")];
    let server = TestServer::start(Server::builder().model(model(replies)).tools(tools).keys(keys)).await;
    let post = async |key: &str, path: String, body: Value| {
        server.send(server.posting(&path, &body).bearer_auth(key)).await
    };
    let asked = json!({"text": "2 + 3?", "tools": always()});
    let mut made = Vec::new();
    for key in [&ann, &bob] {
        let id = post(key, ALL.to_owned(), json!({})).await.json()["id"].as_str().unwrap().to_owned();
        let answer = post(key, format!("{ALL}/{id}/turns"), asked.clone()).await.json();
        made.push((id, answer["node"].clone()));
    }
    let [(anns, node), (bobs, _)] = &made[..] else { panic!("{made:?}") };
    let next = json!({"approvals": allow("call_a"), "tools": always()});
    assert_eq!(post(&bob, format!("{ALL}/{anns}/turns"), next.clone()).await.status, 404);
    let mixed = post(&bob, format!("{ALL}/{bobs}/turns"), next.clone()).await;
    assert_eq!(mixed.error()["code"], "approval_request_not_found");
    let mut foreign = next.clone();
    foreign["node"] = node.clone();
    assert_eq!(post(&bob, format!("{ALL}/{bobs}/turns"), foreign).await.status, 404);
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    // None of these has used it up.
    let answer = post(&ann, format!("{ALL}/{anns}/turns"), next).await;
    assert_eq!((answer.status, calls.load(Ordering::SeqCst)), (200, 1), "{}", answer.text);
}

#[tokio::test]
async fn all_calls_of_a_reply_are_answered_in_one_turn() {
    let called = calling(&[("call_0", "add"), ("call_1", "weather"), ("call_2", "fail"), ("call_3", "add")]);
    let (server, calls) = server(vec![called, text("Done.")]).await;
    let weather = json!({"name": "weather", "description": "", "parameters": {"type": "object"}});
    let id = created(&server, json!({"tools": [{"type": "function", "function": weather}]})).await;
    let filter = json!({"never": {"tool_names": ["fail"]}});
    let tools = json!([{"type": "mcp", "server_label": "sums", "require_approval": filter}]);
    let asked = turn(&server, &id, json!({"text": "Hi", "tools": tools})).await;
    assert_eq!(
        (asked["pending"].as_array().unwrap().len(), &asked["pending"][0]["id"]),
        (1, &json!("call_1"))
    );
    let waiting: Vec<&str> =
        asked["waiting"].as_array().unwrap().iter().map(|call| call["call_id"].as_str().unwrap()).collect();
    assert_eq!((waiting, calls.load(Ordering::SeqCst)), (vec!["call_0", "call_3"], 1));
    let result = json!([{"role": "tool", "tool_call_id": "call_1", "name": "weather", "content": "rain"}]);
    let both = json!([
        {"call_id": "call_0", "approve": true},
        {"call_id": "call_3", "approve": false},
    ]);
    let error = refused(&server, &id, json!({"approvals": both, "tools": tools})).await;
    assert!(error["message"].as_str().unwrap().contains("\"call_1\""), "{error}");
    let one = json!({"approvals": allow("call_0"), "messages": result, "tools": tools});
    let error = refused(&server, &id, one).await;
    assert!(error["message"].as_str().unwrap().contains("\"call_3\""), "{error}");
    let all = json!({"approvals": both, "messages": result, "tools": tools});
    assert_eq!(turn(&server, &id, all).await["text"], "Done.");
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_is_not_possible_is_refused_with_its_place() {
    let (server, calls) = server(vec![calling(&[("call_0", "add")]), text("Five.")]).await;
    let id = created(&server, json!({})).await;
    let unknown = json!([{"type": "mcp", "server_label": "other"}]);
    let twice = json!([{"type": "mcp", "server_label": "sums"}, {"type": "mcp", "server_label": "sums"}]);
    let allowed = json!([{"type": "mcp", "server_label": "sums", "allowed_tools": ["subtract"]}]);
    let function = json!([{"type": "function", "name": "add"}]);
    let cases = [
        (json!({"text": "Hi", "tools": unknown}), "tools[0].server_label"),
        (json!({"text": "Hi", "tools": twice}), "tools[1].allowed_tools"),
        (json!({"text": "Hi", "tools": allowed}), "tools[0].allowed_tools"),
        (json!({"text": "Hi", "tools": function}), "tools[0].type"),
        (json!({"text": "Hi", "metadata": {"openai_mcp": []}}), "metadata.openai_mcp"),
        (json!({"approvals": allow("call_0"), "tools": always()}), "approvals[0].call_id"),
    ];
    for (body, param) in cases {
        let error = refused(&server, &id, body).await;
        let (found, message) = (error["param"].as_str().unwrap_or_default(), &error["message"]);
        assert!(
            found == param || param == "tools[0].type" && found.starts_with("tools[0]"),
            "{found}: {message}"
        );
    }
    turn(&server, &id, json!({"text": "Hi", "tools": always()})).await;
    let both = json!([{"call_id": "call_0", "approve": true}, {"call_id": "call_0", "approve": false}]);
    let cases = [
        (json!({"approvals": [], "tools": always()}), "approvals"),
        (json!({"approvals": both, "tools": always()}), "approvals[1].call_id"),
        (json!({"approvals": allow("call_1"), "tools": always()}), "approvals[0].call_id"),
        (json!({"approvals": allow("call_0")}), "tools"),
        (json!({"approvals": allow("call_0"), "tools": always(), "node": "0"}), "approvals[0].call_id"),
        (json!({"approvals": allow("call_0"), "tools": always(), "action": "retry"}), "action"),
        (json!({"approvals": allow("call_0"), "tools": always(), "prompt": {"name": "a/b"}}), "prompt"),
    ];
    for (body, param) in cases {
        let error = refused(&server, &id, body.clone()).await;
        assert_eq!(error["param"], param, "{body}: {error}");
    }
    let next = json!({"approvals": allow("call_0"), "tools": always()});
    let elsewhere = server.posting(&format!("{ALL}/{id}/turns"), &next).header("if-match", "\"root\"");
    assert_eq!(server.send(elsewhere).await.status, 412);
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    // None of these has used it up.
    assert_eq!(turn(&server, &id, next).await["text"], "Five.");
    let add = json!({"name": "add", "description": "", "parameters": {"type": "object"}});
    let own = created(&server, json!({"tools": [{"type": "function", "function": add}]})).await;
    let error = refused(&server, &own, json!({"text": "Hi", "tools": never()})).await;
    assert_eq!(error["param"], "tools");
}

#[tokio::test]
async fn a_call_of_a_response_is_answered_by_a_turn_and_the_other_way_round() {
    let replies =
        vec![calling(&[("call_0", "add")]), text("Five."), calling(&[("call_1", "add")]), text("Ten.")];
    let (server, calls) = server(replies).await;
    let request = json!({"model": "tea", "input": "2 + 3?", "tools": always()});
    let asked = server.post("/v1/responses", &request).await.json();
    let id = asked["alloquy"]["conversation"].as_str().unwrap().to_owned();
    let made = turn(&server, &id, json!({"approvals": allow("call_0"), "tools": always()})).await;
    assert_eq!((&made["text"], calls.load(Ordering::SeqCst)), (&json!("Five."), 1));
    let approval = |request: &Value| {
        let id = &request["id"];
        json!([{"type": "mcp_approval_response", "approval_request_id": id, "approve": true}])
    };
    let again = json!({"model": "tea", "previous_response_id": asked["id"], "tools": always(),
        "input": approval(&asked["output"][1])});
    let answer = server.post("/v1/responses", &again).await;
    assert_eq!(answer.error()["code"], "approval_already_answered");
    turn(&server, &id, json!({"text": "Twice?", "tools": always()})).await;
    let items = items(&server, &format!("conv_{id}")).await;
    let request = items.iter().rfind(|item| item["type"] == "mcp_approval_request").unwrap();
    let next = json!({"model": "tea", "conversation": format!("conv_{id}"), "tools": always(),
        "input": approval(request)});
    let answer = server.post("/v1/responses", &next).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}
