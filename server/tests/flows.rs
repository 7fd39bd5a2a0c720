//! Flows over HTTP: begun, answered by any server, corrected, decided by another person. And the prompts of the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;

use alloquy_core::prompt_library::PromptLibrary;
use alloquy_core::store::MemoryStore;
use alloquy_flows::Flow;
use alloquy_server::{ServedModel, Server};
use alloquy_testing::EchoModel;
use serde_json::{Value, json};

use shared::TestServer;
use shared::prompts::Greeting;

const ORDER: &str = "
name: order
variables: {drink: string, cups: integer, allowed: boolean}
states:
  drink:
    wait: {say: Tea or coffee?, expects: {enum: [tea, coffee]}, set: drink}
    to: check
  check:
    approve: {say: 'Is {{drink}} allowed?', set: allowed}
    to:
      - if: {equals: {variable: allowed, value: true}}
        to: thanks
      - to: refusal
  thanks: {say: '{{cups}} of {{drink}}.'}
  refusal: {say: No.}
";

async fn started(store: &Arc<MemoryStore>) -> TestServer {
    let poem = Flow::from_yaml("name: poem\nstates:\n  poem: {ask: Write a poem.}\n").unwrap();
    let builder = Server::builder().model(ServedModel::loaded("echo", EchoModel)).store(store.clone());
    TestServer::start(builder.flow("order", Flow::from_yaml(ORDER).unwrap()).flow("poem", poem)).await
}

async fn posted(server: &TestServer, path: &str, body: Value, status: u16) -> Value {
    let answer = server.post(&format!("/v1/alloquy/flows/{path}"), &body).await;
    assert_eq!(answer.status, status, "{path} {body}: {}", answer.text);
    answer.json()
}

#[tokio::test]
async fn a_flow_waits_and_any_server_resumes_it() {
    let store = Arc::new(MemoryStore::default());
    let server = started(&store).await;
    let listed = server.get("/v1/alloquy/flows").await.json();
    assert_eq!((&listed["data"][0]["id"], &listed["data"][1]["asks_model"]), (&json!("order"), &json!(true)));
    let begun = posted(&server, "order/runs", json!({"variables": {"cups": 2}}), 201).await;
    assert_eq!(
        (&begun["progress"]["progress"], &begun["waits"][0]["state"]),
        (&json!("waiting"), &json!("drink"))
    );
    assert_eq!(begun["steps"].as_array().unwrap().len(), 1);
    let id = begun["id"].as_str().unwrap().to_owned();
    let run = format!("order/runs/{id}");
    posted(&server, &run, json!({"answer": "milk"}), 400).await;
    drop(server);
    let other = started(&store).await;
    let status = other.get(&format!("/v1/alloquy/flows/{run}")).await.json();
    assert_eq!((&status["state"], &status["waits"][0]["state"]), (&json!("drink"), &json!("drink")));
    let asked = posted(&other, &run, json!({"answer": "tea", "by": "Ann"}), 200).await;
    assert_eq!(asked["waits"][0]["is_approval"], true);
    // The person who asked does not decide.
    posted(&other, &run, json!({"answer": true, "by": "Ann"}), 400).await;
    posted(&other, &run, json!({"answer": true}), 400).await;
    let ended = posted(&other, &run, json!({"answer": true, "by": "Bea"}), 200).await;
    assert_eq!((&ended["progress"]["progress"], &ended["state"]), (&json!("ended"), &json!("thanks")));
    assert_eq!(ended["variables"], json!({"cups": 2, "drink": "tea", "allowed": true}));
    posted(&other, &run, json!({"answer": "tea"}), 409).await;
    // An earlier answer is corrected on a branch.
    let corrected = posted(&other, &run, json!({"answer": "coffee", "correct": "0"}), 200).await;
    assert_eq!(corrected["variables"]["drink"], "coffee");
    let branches = other.get(&format!("/v1/alloquy/conversations/{id}/branches")).await.json();
    assert_eq!(branches["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_calls_of_flows_are_measured() {
    let server = started(&Arc::new(MemoryStore::default())).await;
    let calls = "gen_ai_server_request_duration_seconds_count{gen_ai_operation_name=\"chat\"";
    assert!(!server.get("/metrics").await.text.contains(calls));
    posted(&server, "poem/runs", json!({}), 201).await;
    let measured = server.get("/metrics").await.text;
    assert!(measured.contains(calls), "{measured}");
}

#[tokio::test]
async fn flows_ask_the_model_and_refuse_what_has_no_effect() {
    let server = started(&Arc::new(MemoryStore::default())).await;
    let poem = posted(&server, "poem/runs", json!({"model": "echo"}), 201).await;
    assert_eq!(poem["progress"]["progress"], "ended");
    assert_eq!(poem["steps"].as_array().unwrap().last().unwrap()["text"], "Write a poem.");
    let id = poem["id"].as_str().unwrap();
    let again = posted(&server, "poem/runs", json!({"conversation": id, "again": true}), 201).await;
    assert_eq!(again["id"], *id);
    let cases = [
        ("order/runs", json!({"model": "echo"}), 400, "model"),
        ("order/runs", json!({"variables": {"cups": "two"}}), 400, "variables.cups"),
        ("order/runs", json!({"variables": {"size": 1}}), 400, "variables.size"),
        ("order/runs", json!({"conversation": id, "metadata": {"a": 1}}), 400, "metadata"),
        ("order/runs", json!({"conversation": "nowhere"}), 404, "conversation_id"),
        ("nothing/runs", json!({}), 404, "flow"),
        ("order/runs/nowhere", json!({}), 404, "conversation_id"),
    ];
    for (path, body, status, param) in cases {
        let refused = server.post(&format!("/v1/alloquy/flows/{path}"), &body).await;
        assert_eq!((refused.status, &refused.error()["param"]), (status, &json!(param)), "{path} {body}");
    }
    let run = format!("order/runs/{id}");
    for body in [json!({"late": true, "answer": "a"}), json!({"by": "Ann"}), json!({"correct": "0"})] {
        posted(&server, &run, body, 400).await;
    }
    // A refused run leaves no conversation.
    let listed = server.get("/v1/alloquy/conversations").await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
}

#[test]
fn flows_that_cannot_run_are_not_served() {
    let broken = Flow::from_yaml("name: a\nstates:\n  a: {say: Hi, to: nowhere}\n").unwrap();
    let served = || Server::builder().model(ServedModel::loaded("echo", EchoModel));
    let error = served().flow("a", broken).build().unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
    let order = Flow::from_yaml(ORDER).unwrap();
    let error = served().flow("a", order.clone()).flow("a", order).build().unwrap_err();
    assert!(error.to_string().contains("two flows"), "{error}");
}

#[tokio::test]
async fn prompts_and_flows_are_replaced_while_the_server_runs() {
    let store = Arc::new(MemoryStore::default());
    let builder = Server::builder().model(ServedModel::loaded("echo", EchoModel)).store(store);
    let builder = builder.prompts(Arc::new(Greeting::new())).flow("order", Flow::from_yaml(ORDER).unwrap());
    let server = TestServer::start(builder).await;
    let begun = posted(&server, "order/runs", json!({"variables": {"cups": 2}}), 201).await;
    let turns = "/v1/alloquy/conversations/conv_tea/turns";
    let greet = |name: &str| json!({"prompt": {"name": name, "values": {"name": "Ann"}}});
    server.post("/v1/alloquy/conversations", &json!({"name": "tea"})).await;
    assert_eq!(server.post(turns, &greet("user/greeting")).await.status, 200);

    // What cannot be changes nothing.
    let broken = Flow::from_yaml("name: a\nstates:\n  a: {say: Hi, to: nowhere}\n").unwrap();
    let welcome: Arc<dyn PromptLibrary> = Arc::new(Greeting::named("welcome"));
    let refused = server.handle.check_library(Some(welcome.clone()), vec![("a".to_owned(), broken)]);
    assert!(refused.unwrap_err().to_string().contains("nowhere"));
    let refused = server.handle.check_library(None, Vec::new()).unwrap_err();
    assert!(refused.to_string().contains("start it again"), "{refused}");
    assert_eq!(server.get("/v1/alloquy/flows").await.json()["data"][0]["id"], "order");
    assert_eq!(server.get("/v1/alloquy/prompts").await.json()["data"][0]["id"], "user/greeting");

    // A flow that waits continues in the new one of its name, and the model that is loaded has the new prompts.
    let order = Flow::from_yaml(&ORDER.replace("Is {{drink}} allowed?", "May it be {{drink}}?")).unwrap();
    let poem = Flow::from_yaml("name: poem\nstates:\n  poem: {ask: Write a poem.}\n").unwrap();
    let flows = vec![("order".to_owned(), order), ("poem".to_owned(), poem)];
    let library = server.handle.check_library(Some(welcome), flows).unwrap();
    server.handle.replace_library(library);
    assert_eq!(server.get("/v1/alloquy/flows").await.json()["data"].as_array().unwrap().len(), 2);
    assert_eq!(server.get("/v1/alloquy/prompts").await.json()["data"][0]["id"], "user/welcome");
    assert_eq!(server.post(turns, &greet("user/welcome")).await.status, 200);
    assert_eq!(server.post(turns, &greet("user/greeting")).await.status, 404);
    let run = format!("order/runs/{}", begun["id"].as_str().unwrap());
    let asked = posted(&server, &run, json!({"answer": "tea"}), 200).await;
    assert!(asked.to_string().contains("May it be tea?"), "{asked}");
}
