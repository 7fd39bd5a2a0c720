//! Tools of the host in responses: their lists, their calls, and the approvals of calls, each of which runs at most once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::store::MemoryStore;
use alloquy_core::tool::Toolbox;
use alloquy_core::{Message, Reply, Tool, ToolSpec};
use alloquy_server::{KeyFile, KeyLimits, ServedModel, ServedTools, Server};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use async_trait::async_trait;
use serde_json::{Value, json};

use shared::host_tools::{calling, sums};
use shared::{Answer, Recorder, TestServer};

fn text(words: &str) -> Reply {
    Reply::new(Message::assistant(words))
}

/// A server whose model gives these replies, and how often its tools were called.
async fn server(replies: Vec<Reply>) -> (TestServer, Arc<AtomicUsize>) {
    let (tools, calls) = sums();
    let replies: Vec<ScriptedReply> = replies.into_iter().map(ScriptedReply::from).collect();
    let model = ServedModel::loaded("tea", ScriptedModel::replying(replies));
    (TestServer::start(Server::builder().model(model).tools(tools)).await, calls)
}

fn never() -> Value {
    json!([{"type": "mcp", "server_label": "sums", "require_approval": "never"}])
}

fn always() -> Value {
    json!([{"type": "mcp", "server_label": "sums"}])
}

#[allow(clippy::needless_pass_by_value, reason = "callers write the fields in place")]
async fn respond(server: &TestServer, fields: Value) -> Answer {
    let mut request = json!({"model": "tea", "input": "What is 2 + 3?"});
    for (name, value) in fields.as_object().unwrap() {
        request[name] = value.clone();
    }
    server.post("/v1/responses", &request).await
}

async fn response(server: &TestServer, fields: Value) -> Value {
    let answer = respond(server, fields).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

async fn refused(server: &TestServer, fields: Value) -> Value {
    let answer = respond(server, fields).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    answer.error()
}

fn types(response: &Value) -> Vec<&str> {
    response["output"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect()
}

fn approval(request: &Value, approve: bool) -> Value {
    json!([{"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": approve}])
}

fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.events().iter().map(|event| serde_json::from_str(event).unwrap()).collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> =
        events.iter().map(|event| event["type"].as_str().unwrap().trim_start_matches("response.")).collect();
    names.dedup();
    names
}

/// The items as the events of a stream say that they are done.
fn done(events: &[Value]) -> Value {
    let mut done: Vec<(u64, &Value)> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| (event["output_index"].as_u64().unwrap(), &event["item"]))
        .collect();
    done.sort_by_key(|(index, _)| *index);
    json!(done.into_iter().map(|(_, item)| item).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_tool_without_approval_runs_at_once_and_the_response_shows_it() {
    let (server, calls) = server(vec![calling(&[("call_0", "add")]), text("Five."), text("Yes.")]).await;
    let made = response(&server, json!({"tools": never()})).await;
    assert_eq!(types(&made), ["mcp_list_tools", "mcp_call", "message"]);
    let [list, call] = [&made["output"][0], &made["output"][1]];
    assert_eq!(list["server_label"], "sums");
    assert_eq!((&list["tools"][0]["name"], &list["tools"][1]["name"]), (&json!("add"), &json!("fail")));
    assert_eq!(list["tools"][0]["input_schema"]["type"], "object");
    assert_eq!(
        (&call["output"], &call["error"], &call["status"]),
        (&json!("5"), &Value::Null, &json!("completed"))
    );
    assert_eq!((&call["name"], &call["arguments"]), (&json!("add"), &json!("{\"a\":2,\"b\":3}")));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let id = made["id"].as_str().unwrap();
    assert_eq!(server.get(&format!("/v1/responses/{id}")).await.json()["output"], made["output"]);
    // The conversation has the list already.
    let next = json!({"tools": never(), "input": "Sure?", "previous_response_id": id});
    assert_eq!(types(&response(&server, next).await), ["message"]);
    let conversation = made["alloquy"]["conversation"].as_str().unwrap();
    let items = server.get(&format!("/v1/conversations/conv_{conversation}/items?order=asc")).await.json();
    assert_eq!(items["data"][1], made["output"][0]);
    assert_eq!(items["data"][2], made["output"][1]);
}

#[tokio::test]
async fn a_failed_call_has_its_error() {
    let (server, _) = server(vec![calling(&[("call_0", "fail")]), text("Sorry.")]).await;
    let made = response(&server, json!({"tools": never()})).await;
    let error = json!({"type": "mcp_tool_execution_error", "content": "nothing to be done"});
    assert_eq!((&made["output"][1]["error"], &made["output"][1]["status"]), (&error, &json!("failed")));
    assert_eq!(made["output"][1]["output"], Value::Null);
}

#[tokio::test]
async fn the_events_of_tools_are_in_their_order() {
    let (server, _) = server(vec![calling(&[("call_0", "add"), ("call_1", "fail")]), text("Five.")]).await;
    let events = events(&respond(&server, json!({"tools": never(), "stream": true})).await);
    let call =
        ["output_item.added", "mcp_call.in_progress", "mcp_call_arguments.delta", "mcp_call_arguments.done"];
    let expected = [
        &["created", "in_progress", "output_item.added", "mcp_list_tools.in_progress"][..],
        &["mcp_list_tools.completed", "output_item.done"],
        &call,
        &call,
        &["mcp_call.completed", "output_item.done", "mcp_call.failed", "output_item.done"],
        &["output_item.added", "content_part.added", "output_text.delta", "output_text.done"],
        &["content_part.done", "output_item.done", "completed"],
    ];
    assert_eq!(names(&events), expected.concat());
    let last = &events.last().unwrap()["response"];
    assert_eq!(done(&events), last["output"]);
    let id = last["id"].as_str().unwrap();
    let replayed = self::events(&server.get(&format!("/v1/responses/{id}?stream=true")).await);
    assert_eq!(done(&replayed), last["output"]);
    for (number, event) in replayed.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
}

#[tokio::test]
async fn an_approved_call_runs_once_and_the_response_continues() {
    let (server, calls) = server(vec![calling(&[("call_0", "add")]), text("Five.")]).await;
    let asked = response(&server, json!({"tools": always()})).await;
    assert_eq!(types(&asked), ["mcp_list_tools", "mcp_approval_request"]);
    assert_eq!((asked["status"].as_str(), calls.load(Ordering::SeqCst)), (Some("completed"), 0));
    let request = &asked["output"][1];
    assert_eq!((&request["name"], &request["server_label"]), (&json!("add"), &json!("sums")));
    let mut input = approval(request, true);
    input[0]["reason"] = json!("it is only a sum");
    let next = json!({"tools": always(), "input": input, "previous_response_id": asked["id"]});
    let made = response(&server, next.clone()).await;
    assert_eq!(types(&made), ["mcp_call", "message"]);
    let call = &made["output"][0];
    assert_eq!((&call["output"], &call["approval_request_id"]), (&json!("5"), &request["id"]));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let id = made["id"].as_str().unwrap();
    assert_eq!(server.get(&format!("/v1/responses/{id}")).await.json()["output"], made["output"]);
    let sent = server.get(&format!("/v1/responses/{id}/input_items")).await.json();
    assert_eq!(sent["data"][0]["type"], "mcp_approval_response");
    assert_eq!(sent["data"][0]["approval_request_id"], request["id"]);
    assert_eq!(sent["data"][0]["reason"], "it is only a sum");
    // Again, also after what answered it is deleted.
    assert_eq!(refused(&server, next.clone()).await["code"], "approval_already_answered");
    assert_eq!(server.delete(&format!("/v1/responses/{id}")).await.status, 200);
    let tree = format!("/v1/alloquy/conversations/{}", asked["alloquy"]["conversation"].as_str().unwrap());
    let forgotten = server.post(&tree, &json!({"metadata": {"openai_approvals": null}})).await;
    assert_eq!(forgotten.error()["param"], "metadata.openai_approvals");
    assert_eq!(refused(&server, next).await["code"], "approval_already_answered");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_approval_streams_its_call_before_the_reply() {
    let (server, _) = server(vec![calling(&[("call_0", "add")]), text("Five.")]).await;
    let asked = self::events(&respond(&server, json!({"tools": always(), "stream": true})).await);
    let beginning = [
        "created",
        "in_progress",
        "output_item.added",
        "mcp_list_tools.in_progress",
        "mcp_list_tools.completed",
    ];
    let ending = ["output_item.done", "output_item.added", "output_item.done", "completed"];
    assert_eq!(names(&asked), [&beginning[..], &ending].concat());
    let asked = &asked.last().unwrap()["response"];
    let input = approval(&asked["output"][1], true);
    let next =
        json!({"tools": always(), "input": input, "previous_response_id": asked["id"], "stream": true});
    let events = self::events(&respond(&server, next).await);
    let expected = [
        &["created", "in_progress", "output_item.added", "mcp_call.in_progress", "mcp_call_arguments.delta"]
            [..],
        &["mcp_call_arguments.done", "mcp_call.completed", "output_item.done"],
        &["output_item.added", "content_part.added", "output_text.delta", "output_text.done"],
        &["content_part.done", "output_item.done", "completed"],
    ];
    assert_eq!(names(&events), expected.concat());
    let last = &events.last().unwrap()["response"];
    assert_eq!(done(&events), last["output"]);
    assert_eq!(last["output"][0]["approval_request_id"], asked["output"][1]["id"]);
    let id = last["id"].as_str().unwrap();
    assert_eq!(events[0]["response"]["id"], last["id"]);
    let found = server.get(&format!("/v1/responses/{id}")).await.json();
    assert_eq!(found["output"], last["output"]);
    let replayed = self::events(&server.get(&format!("/v1/responses/{id}?stream=true")).await);
    assert_eq!(done(&replayed), last["output"]);
}

#[tokio::test]
async fn a_refused_call_is_a_result_that_says_so() {
    let model = Recorder::new(calling(&[("call_0", "add")]));
    let (tools, calls) = sums();
    let builder = Server::builder().model(ServedModel::loaded("tea", model.clone())).tools(tools);
    let server = TestServer::start(builder).await;
    let asked = response(&server, json!({"tools": always()})).await;
    let mut input = approval(&asked["output"][1], false);
    input[0]["reason"] = json!("I know it");
    input.as_array_mut().unwrap().push(json!({"role": "user", "content": "Tell me of tea."}));
    let made =
        response(&server, json!({"tools": always(), "input": input, "previous_response_id": asked["id"]}))
            .await;
    let seen = model.last();
    let results: Vec<_> = seen.path.iter().flat_map(Message::tool_results).collect();
    assert_eq!((results.len(), results[0].text().as_str()), (1, "this call was refused: I know it"));
    assert!(results[0].is_error && calls.load(Ordering::SeqCst) == 0);
    assert_eq!(seen.path.iter().last().unwrap().text(), "Tell me of tea.");
    let id = made["id"].as_str().unwrap();
    let sent = server.get(&format!("/v1/responses/{id}/input_items?order=asc")).await.json();
    assert_eq!(
        (&sent["data"][0]["type"], &sent["data"][0]["approve"]),
        (&json!("mcp_approval_response"), &json!(false))
    );
    assert_eq!(sent["data"][1]["type"], "message");
}

#[tokio::test]
async fn of_several_clients_at_once_and_of_several_servers_one_approves() {
    let store = Arc::new(MemoryStore::default());
    let (tools, calls) = sums();
    let mut servers = Vec::new();
    for _ in 0..2 {
        let replies = [calling(&[("call_0", "add")]), text("Five."), text("Five.")].map(ScriptedReply::from);
        let model = ServedModel::loaded("tea", ScriptedModel::replying(replies));
        let builder = Server::builder().model(model).store(Arc::clone(&store) as _).tools(tools.clone());
        servers.push(TestServer::start(builder).await);
    }
    let asked = response(&servers[0], json!({"tools": always()})).await;
    let input = approval(&asked["output"][1], true);
    let next = json!({"tools": always(), "input": input, "previous_response_id": asked["id"]});
    let stream =
        json!({"tools": always(), "input": input, "previous_response_id": asked["id"], "stream": true});
    let (one, two, three) = tokio::join!(
        respond(&servers[0], next.clone()),
        respond(&servers[1], next.clone()),
        respond(&servers[0], stream)
    );
    let mut statuses = [one.status, two.status, three.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400, 400], "{} {} {}", one.text, two.text, three.text);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn approvals_that_nothing_waits_for_are_refused() {
    let mut keys = KeyFile::default();
    let mut key = |owner: &str| keys.add(owner.parse().unwrap(), KeyLimits::default()).unwrap();
    let (ann, bob) = (key("ann"), key("bob"));
    let (tools, calls) = sums();
    let replies = vec![calling(&[("call_0", "add")]), calling(&[("call_0", "add")]), text("Five.")];
    let model =
        ServedModel::loaded("tea", ScriptedModel::replying(replies.into_iter().map(ScriptedReply::from)));
    let server = TestServer::start(Server::builder().model(model).tools(tools).keys(keys)).await;
    let send = async |key: &str, body: Value| {
        let mut request = json!({"model": "tea", "tools": always()});
        for (name, value) in body.as_object().unwrap() {
            request[name] = value.clone();
        }
        server.send(server.posting("/v1/responses", &request).bearer_auth(key)).await
    };
    let asked = send(&ann, json!({"input": "Hi"})).await.json();
    let own = send(&bob, json!({"input": "Hi"})).await.json();
    let request = &asked["output"][1];
    let foreign =
        send(&bob, json!({"input": approval(request, true), "previous_response_id": asked["id"]})).await;
    assert_eq!(foreign.error()["code"], "previous_response_not_found");
    let mixed =
        send(&bob, json!({"input": approval(request, true), "previous_response_id": own["id"]})).await;
    assert_eq!(mixed.error()["code"], "approval_request_not_found");
    let forged = request["id"].as_str().unwrap().replace("_r1", "_r0");
    for id in [forged.as_str(), "mcpr_1", "", "mcpr_../x"] {
        let input = approval(&json!({"id": id}), true);
        let answer = send(&ann, json!({"input": input, "previous_response_id": asked["id"]})).await;
        assert_eq!(answer.error()["code"], "approval_request_not_found", "{id}");
    }
    // A request that a client has made up, with the call that it would like.
    let made_up = json!([{"role": "user", "content": "Hi"}, request, approval(request, true)[0]]);
    assert_eq!(send(&ann, json!({"input": made_up})).await.error()["code"], "approval_request_not_found");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    let twice = json!([approval(request, true)[0], approval(request, false)[0]]);
    assert_eq!(send(&ann, json!({"input": twice, "previous_response_id": asked["id"]})).await.status, 400);
    // None of these has used it up.
    let answer =
        send(&ann, json!({"input": approval(request, true), "previous_response_id": asked["id"]})).await;
    assert_eq!((answer.status, calls.load(Ordering::SeqCst)), (200, 1), "{}", answer.text);
}

#[tokio::test]
async fn all_calls_of_a_reply_are_answered_in_one_request() {
    let (server, calls) =
        server(vec![calling(&[("call_0", "add"), ("call_1", "weather"), ("call_2", "fail")]), text("Done.")])
            .await;
    let function =
        json!({"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}});
    let filter = json!({"never": {"tool_names": ["fail"]}});
    let tools = json!([{"type": "mcp", "server_label": "sums", "require_approval": filter}, function]);
    let asked = response(&server, json!({"tools": tools})).await;
    assert_eq!(types(&asked), ["mcp_list_tools", "mcp_approval_request", "function_call", "mcp_call"]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let approved = approval(&asked["output"][1], true);
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "cold"});
    for input in [approved.clone(), json!([output])] {
        let fields = json!({"tools": tools, "input": input, "previous_response_id": asked["id"]});
        assert_eq!(refused(&server, fields).await["param"], "input");
    }
    let input = json!([approved[0], output]);
    let fields = json!({"tools": [function], "input": input, "previous_response_id": asked["id"]});
    assert_eq!(refused(&server, fields).await["param"], "tools");
    let made =
        response(&server, json!({"tools": tools, "input": input, "previous_response_id": asked["id"]})).await;
    assert_eq!(types(&made), ["mcp_call", "message"]);
    let sent =
        server.get(&format!("/v1/responses/{}/input_items?order=asc", made["id"].as_str().unwrap())).await;
    let sent = sent.json();
    assert_eq!(sent["data"][0]["type"], "mcp_approval_response");
    assert_eq!(sent["data"][1]["type"], "function_call_output");
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_conversation_is_continued_by_an_approval() {
    let (server, calls) = server(vec![calling(&[("call_0", "add")]), text("Five.")]).await;
    let conversation = server.post("/v1/conversations", &json!({})).await.json()["id"].clone();
    let asked = response(&server, json!({"tools": always(), "conversation": conversation})).await;
    let input = approval(&asked["output"][1], true);
    let fields = json!({"tools": always(), "input": input, "conversation": conversation});
    let made = response(&server, fields.clone()).await;
    assert_eq!((types(&made), calls.load(Ordering::SeqCst)), (vec!["mcp_call", "message"], 1));
    let id = conversation.as_str().unwrap();
    let items = server.get(&format!("/v1/conversations/{id}/items?order=asc")).await.json();
    let kinds: Vec<&str> =
        items["data"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    let expected =
        ["message", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "mcp_call", "message"];
    assert_eq!(kinds, expected);
    assert_eq!(refused(&server, fields).await["code"], "approval_request_not_found");
}

#[tokio::test]
async fn a_response_that_is_not_stored_is_approved_with_its_items_and_once() {
    for stream in [false, true] {
        let replies = vec![calling(&[("call_0", "add")]), text("Five."), text("Six.")];
        let (server, calls) = server(replies).await;
        let asked = if stream {
            let answer = respond(&server, json!({"tools": always(), "store": false, "stream": true})).await;
            events(&answer).last().unwrap()["response"].clone()
        } else {
            response(&server, json!({"tools": always(), "store": false})).await
        };
        let items = asked["output"].as_array().unwrap();
        let mut changed = items[1].clone();
        changed["arguments"] = json!("{\"a\":9,\"b\":9}");
        let user = json!({"role": "user", "content": "What is 2 + 3?"});
        let decision = approval(&items[1], true)[0].clone();
        let forged = json!([user, items[0], changed, decision]);
        let error = refused(&server, json!({"tools": always(), "store": false, "input": forged})).await;
        assert_eq!((&error["code"], calls.load(Ordering::SeqCst)), (&json!("approval_request_not_found"), 0));
        let fields =
            json!({"tools": always(), "store": false, "input": [user, items[0], items[1], decision]});
        let made = response(&server, fields.clone()).await;
        assert_eq!((types(&made), calls.load(Ordering::SeqCst)), (vec!["mcp_call", "message"], 1));
        assert_eq!(refused(&server, fields).await["code"], "approval_request_not_found");
        // What has run goes back as it is.
        let output = made["output"].as_array().unwrap();
        let next =
            json!([user, items[0], output[0], output[1], {"role": "user", "content": "And one more?"}]);
        let last = response(&server, json!({"tools": always(), "store": false, "input": next})).await;
        assert_eq!(types(&last), ["message"]);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn what_is_not_possible_is_refused_with_its_place() {
    let (server, calls) = server(vec![]).await;
    let with = |fields: Value| {
        let mut tool = json!({"type": "mcp", "server_label": "sums"});
        for (name, value) in fields.as_object().unwrap() {
            tool[name] = value.clone();
        }
        json!({"tools": [tool]})
    };
    let cases = [
        (with(json!({"server_label": "other"})), "tools[0].server_label"),
        (with(json!({"server_url": "http://169.254.169.254/"})), "tools[0].server_url"),
        (with(json!({"allowed_tools": ["other"]})), "tools[0].allowed_tools"),
        (
            with(json!({"require_approval": {"never": {"tool_names": ["other"]}}})),
            "tools[0].require_approval.never.tool_names",
        ),
        (
            with(
                json!({"require_approval": {"never": {"tool_names": ["add"]}, "always": {"tool_names": ["add"]}}}),
            ),
            "tools[0].require_approval",
        ),
        (with(json!({"defer_loading": true})), "tools[0].defer_loading"),
        (with(json!({"allowed_callers": ["programmatic"]})), "tools[0].allowed_callers"),
        (json!({"tools": [always()[0], always()[0]]}), "tools[1].allowed_tools"),
        (
            json!({"tools": [always()[0], {"type": "function", "name": "add", "parameters": {}}]}),
            "tools[1].name",
        ),
        (json!({"tools": always(), "tool_choice": {"type": "mcp", "server_label": "other"}}), "tool_choice"),
        (
            json!({"tools": always(), "tool_choice": {"type": "mcp", "server_label": "sums", "name": "x"}}),
            "tool_choice",
        ),
    ];
    for (fields, place) in cases {
        assert_eq!(refused(&server, fields.clone()).await["param"], place, "{fields}");
    }
    for field in ["authorization", "headers", "connector_id", "tunnel_id"] {
        let fields = with(json!({field: "x"}));
        assert_eq!(respond(&server, fields).await.status, 400, "{field}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn names_select_tools_and_max_tool_calls_limits_them() {
    let model = Recorder::new(text("Hi."));
    let (tools, _) = sums();
    let tools = tools.url("http://localhost:1/mcp");
    let builder = Server::builder().model(ServedModel::loaded("tea", model.clone())).tools(tools);
    let server = TestServer::start(builder).await;
    let offered =
        || -> Vec<String> { model.last().preface.tools.iter().map(|tool| tool.name.clone()).collect() };
    response(&server, json!({"tools": never()})).await;
    assert_eq!(offered(), ["add", "fail"]);
    let one = json!([{"type": "mcp", "server_label": "sums", "server_url": "http://localhost:1/mcp",
        "allowed_tools": {"tool_names": ["fail"]}}]);
    response(&server, json!({"tools": one})).await;
    assert_eq!(offered(), ["fail"]);
    let choice = json!({"type": "mcp", "server_label": "sums", "name": "add"});
    response(&server, json!({"tools": never(), "tool_choice": choice})).await;
    let some = json!({"type": "allowed_tools", "mode": "auto", "tools": [choice]});
    response(&server, json!({"tools": never(), "tool_choice": some})).await;
    assert_eq!(offered(), ["add"]);
    let (server, calls) =
        self::server(vec![calling(&[("call_0", "add"), ("call_1", "add")]), text("Five.")]).await;
    let made = response(&server, json!({"tools": never(), "max_tool_calls": 1})).await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let error = made["output"][2]["error"]["content"].as_str().unwrap();
    assert!(error.contains("max_tool_calls"), "{error}");
}

#[tokio::test]
async fn tools_run_in_the_background() {
    let (server, calls) = server(vec![calling(&[("call_0", "add")]), text("Five.")]).await;
    let made = response(&server, json!({"tools": never(), "background": true})).await;
    let id = made["id"].as_str().unwrap();
    let answer = server.get(&format!("/v1/responses/{id}?stream=true")).await;
    let last = events(&answer).last().unwrap()["response"].clone();
    assert_eq!(
        (types(&last), calls.load(Ordering::SeqCst)),
        (vec!["mcp_list_tools", "mcp_call", "message"], 1)
    );
    assert_eq!(server.get(&format!("/v1/responses/{id}")).await.json()["output"], last["output"]);
}

/// Starts a server of its own over a store, as after a restart.
async fn over(store: &Arc<MemoryStore>, tools: &ServedTools, reply: Reply) -> TestServer {
    let model = ServedModel::loaded("tea", ScriptedModel::replying([ScriptedReply::from(reply)]));
    let builder = Server::builder().model(model).store(Arc::clone(store) as _).tools(tools.clone());
    TestServer::start(builder).await
}

/// Waits for the end of a response in the background, and returns it.
async fn ended(server: &TestServer, made: &Value) -> Value {
    let path = format!("/v1/responses/{}", made["id"].as_str().unwrap());
    let last = events(&server.get(&format!("{path}?stream=true")).await).pop().unwrap()["response"].clone();
    let found = server.get(&path).await.json();
    assert_eq!((&found["output"], &found["status"]), (&last["output"], &last["status"]));
    last
}

#[tokio::test]
async fn an_approval_is_requested_and_answered_in_the_background_also_after_restarts() {
    let store = Arc::new(MemoryStore::default());
    let (tools, calls) = sums();
    let first = over(&store, &tools, calling(&[("call_0", "add")])).await;
    let asked = response(&first, json!({"tools": always(), "background": true})).await;
    assert_eq!(asked["status"], "queued");
    let asked = ended(&first, &asked).await;
    assert_eq!(
        (types(&asked), asked["status"].as_str()),
        (vec!["mcp_list_tools", "mcp_approval_request"], Some("completed"))
    );
    first.handle.shut_down();
    let second = over(&store, &tools, text("Five.")).await;
    let request = &asked["output"][1];
    let input = approval(request, true);
    let next =
        json!({"tools": always(), "input": input, "previous_response_id": asked["id"], "background": true});
    let made = response(&second, next.clone()).await;
    assert_eq!(made["status"], "queued");
    let last = ended(&second, &made).await;
    assert_eq!((types(&last), &last["status"]), (vec!["mcp_call", "message"], &json!("completed")));
    let call = &last["output"][0];
    assert_eq!((&call["output"], &call["approval_request_id"]), (&json!("5"), &request["id"]));
    assert_eq!(refused(&second, next.clone()).await["code"], "approval_already_answered");
    second.handle.shut_down();
    let third = over(&store, &tools, text("Six.")).await;
    let id = made["id"].as_str().unwrap();
    assert_eq!(third.get(&format!("/v1/responses/{id}")).await.json()["output"], last["output"]);
    let sent = third.get(&format!("/v1/responses/{id}/input_items")).await.json();
    assert_eq!(sent["data"][0]["approval_request_id"], request["id"]);
    assert_eq!(refused(&third, next).await["code"], "approval_already_answered");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let conversation = asked["alloquy"]["conversation"].as_str().unwrap();
    let record = third.get(&format!("/v1/alloquy/conversations/{conversation}")).await;
    assert!(!record.text.contains("openai_running_approvals"), "{}", record.text);
    let more = json!({"input": "And now?", "previous_response_id": id});
    assert_eq!(types(&response(&third, more).await), ["message"]);
}

/// Waits without end, and says that it runs.
#[derive(Debug)]
struct Endless(Arc<tokio::sync::Notify>);

#[async_trait]
impl Tool for Endless {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("wait", "Waits", json!({"type": "object"}))
    }

    async fn call(&self, _: &Value) -> alloquy_core::Result<Value> {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_call_that_was_approved_in_the_background_is_found_and_cancelled_while_it_runs() {
    let store = Arc::new(MemoryStore::default());
    let runs = Arc::new(tokio::sync::Notify::new());
    let tools = ServedTools::new("sums", Toolbox::default().tool(Endless(Arc::clone(&runs))));
    let server = over(&store, &tools, calling(&[("call_0", "wait")])).await;
    let asked = response(&server, json!({"tools": always()})).await;
    let input = approval(&asked["output"][1], true);
    let fields =
        json!({"tools": always(), "input": input, "previous_response_id": asked["id"], "background": true});
    let made = response(&server, fields).await;
    runs.notified().await;
    let id = made["id"].as_str().unwrap();
    let path = format!("/v1/responses/{id}");
    assert_eq!(server.get(&path).await.json()["status"], "in_progress");
    // A server that has only the store, as after a crash.
    let other = over(&store, &tools, text("Five.")).await;
    assert_eq!(other.get(&path).await.json()["status"], "incomplete");
    let more = json!({"input": "And now?", "previous_response_id": id});
    let error = refused(&other, more.clone()).await;
    assert!(error["message"].as_str().unwrap().contains("continue the response before it"), "{error}");
    let cancelled = server.post(&format!("{path}/cancel"), &json!({})).await.json();
    assert_eq!((types(&cancelled), cancelled["status"].as_str()), (vec!["mcp_call"], Some("cancelled")));
    assert!(cancelled["output"][0]["error"].is_object(), "{cancelled}");
    assert_eq!(other.get(&path).await.json()["output"], cancelled["output"]);
    assert_eq!(types(&response(&other, more).await), ["message"]);
}

#[tokio::test]
async fn what_is_lost_with_its_server_can_be_deleted_and_the_conversation_goes_further() {
    let store = Arc::new(MemoryStore::default());
    let runs = Arc::new(tokio::sync::Notify::new());
    let tools = ServedTools::new("sums", Toolbox::default().tool(Endless(Arc::clone(&runs))));
    let server = over(&store, &tools, calling(&[("call_0", "wait")])).await;
    let asked = response(&server, json!({"tools": always()})).await;
    let input = approval(&asked["output"][1], true);
    let fields =
        json!({"tools": always(), "input": input, "previous_response_id": asked["id"], "background": true});
    let made = response(&server, fields.clone()).await;
    runs.notified().await;
    let other = over(&store, &tools, text("Five.")).await;
    let path = format!("/v1/responses/{}", made["id"].as_str().unwrap());
    assert_eq!(other.delete(&path).await.status, 200);
    assert_eq!(other.get(&path).await.status, 404);
    assert_eq!(refused(&other, fields).await["code"], "approval_already_answered");
    let more = json!({"input": "And now?", "previous_response_id": asked["id"]});
    assert_eq!(types(&response(&other, more).await), ["message"]);
}

#[tokio::test]
async fn an_approved_call_of_the_background_that_cannot_begin_has_a_result_that_says_so() {
    let (server, calls) = server(vec![calling(&[("call_0", "add")])]).await;
    let asked = response(&server, json!({"tools": always()})).await;
    let input = approval(&asked["output"][1], true);
    // The model has no texts of tokens, which is found once it is loaded.
    let fields = json!({"tools": always(), "input": input, "previous_response_id": asked["id"],
        "background": true, "include": ["message.output_text.logprobs"]});
    let made = response(&server, fields).await;
    let last = ended(&server, &made).await;
    assert_eq!((types(&last), &last["status"]), (vec!["mcp_call"], &json!("failed")));
    assert!(last["output"][0]["error"].is_object() && calls.load(Ordering::SeqCst) == 0, "{last}");
}

#[test]
fn labels_are_unique() {
    let (tools, _) = sums();
    let (same, _) = sums();
    let model = ServedModel::loaded("tea", ScriptedModel::new([("", "")]));
    assert!(Server::builder().model(model).tools(tools.clone()).tools(same).build().is_err());
    let nameless = ServedTools::new("", alloquy_core::tool::Toolbox::default());
    let model = ServedModel::loaded("tea", ScriptedModel::new([("", "")]));
    assert!(Server::builder().model(model).tools(nameless).build().is_err());
    assert_eq!(tools.label(), "sums");
}
