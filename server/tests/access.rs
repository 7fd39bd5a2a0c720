//! Who is served, and how much of the server one client can use: keys, names, origins, sizes, times, queues.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::time::Duration;

use alloquy_core::{Content, Message, Reply, Role};
use alloquy_server::{KeyFile, KeyLimits, RequestLimits, Server};
use alloquy_testing::ScriptedReply;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use shared::{Answer, TestServer, asking, replying, scripted};

const CHAT: &str = "/v1/chat/completions";

fn hanging() -> ScriptedReply {
    ScriptedReply::Hangs("Once upon".to_owned())
}

/// Sends bytes and returns all that comes back until the server closes.
async fn raw(server: &TestServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn json_body(server: &TestServer, text: &'static str) -> reqwest::RequestBuilder {
    server.request("POST", CHAT).header("content-type", "application/json").body(text)
}

#[tokio::test]
async fn every_error_has_one_body() {
    let server = TestServer::saying([]).await;
    let cases = [
        (server.request("GET", "/v1/nothing"), 404, "unknown_url"),
        (server.request("PUT", CHAT), 405, "method_not_allowed"),
        (json_body(&server, "{\"messages\": "), 400, "invalid_json"),
        (json_body(&server, "[1]"), 400, "invalid_json"),
        (json_body(&server, "{\"messages\": []} {}"), 400, "invalid_json"),
        (server.request("POST", CHAT).body("{}"), 415, "unsupported_media_type"),
        (
            server.request("POST", CHAT).header("content-type", "text/plain").body("{}"),
            415,
            "unsupported_media_type",
        ),
        (server.request("GET", "/v1/models/coffee"), 404, "model_not_found"),
        (server.posting(CHAT, &asking(json!({"model": "coffee"}))), 404, "model_not_found"),
        (server.request("GET", "/v1/chat/completions/chatcmpl-1"), 404, "not_found"),
        (server.request("GET", "/v1/chat/completions/%00"), 404, "not_found"),
    ];
    for (request, status, code) in cases {
        let answer = server.send(request).await;
        assert_eq!(answer.status, status, "{code}: {}", answer.text);
        assert_eq!(answer.error()["code"], code, "{}", answer.text);
    }
}

#[tokio::test]
async fn a_body_has_a_limit() {
    let mut limits = RequestLimits::default();
    limits.body_bytes = 1000;
    let server = TestServer::start(Server::builder().model(scripted("tea", [])).limits(limits)).await;
    let answer = server.chat(json!({"user": "x".repeat(1000)})).await;
    assert_eq!((answer.status, &answer.error()["code"]), (413, &json!("body_too_large")));
}

#[tokio::test]
async fn a_body_and_headers_must_arrive_in_time() {
    let mut limits = RequestLimits::default();
    limits.body_time = Duration::from_millis(200);
    let server = TestServer::start(Server::builder().model(scripted("tea", [])).limits(limits)).await;
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    assert!(raw(&server, head.as_bytes()).await.starts_with("HTTP/1.1 408"));
    let mut limits = RequestLimits::default();
    limits.header_time = Duration::from_millis(200);
    let server = TestServer::start(Server::builder().model(scripted("tea", [])).limits(limits)).await;
    // No answer: the connection is closed.
    assert_eq!(raw(&server, b"GET /health HTTP/1.1\r\nhost: loc").await, "");
}

#[tokio::test]
async fn headers_have_limits() {
    let mut limits = RequestLimits::default();
    limits.headers = 10;
    limits.header_bytes = 8192;
    let server = TestServer::start(Server::builder().model(scripted("tea", [])).limits(limits)).await;
    let many = "x: y\r\n".repeat(20);
    let answer =
        raw(&server, format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{many}\r\n").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let long = "y".repeat(20_000);
    let answer =
        raw(&server, format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n").as_bytes())
            .await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn other_names_are_refused_unless_they_are_set() {
    let builder = Server::builder().model(scripted("tea", [])).host("llm.example.org");
    let server = TestServer::start(builder).await;
    for (host, status) in [("localhost", 200), ("llm.example.org:8080", 200), ("evil.example", 403)] {
        let answer = server.send(server.request("GET", "/v1/models").header("host", host)).await;
        assert_eq!(answer.status, status, "{host}: {}", answer.text);
    }
    // A probe of an orchestrator uses an address.
    assert_eq!(server.send(server.request("GET", "/health").header("host", "10.0.0.7")).await.status, 200);
}

/// Asks as a browser does before a page of this origin sends a request, and returns whether it may.
async fn allows(server: &TestServer, origin: &str) -> bool {
    let preflight = server.request("OPTIONS", CHAT).header("origin", origin);
    let preflight = preflight.header("access-control-request-method", "POST");
    let sent = "authorization,x-api-key,x-stainless-os";
    let answer = server.send(preflight.header("access-control-request-headers", sent)).await;
    let allowed = answer.headers.get("access-control-allow-headers");
    answer.headers.contains_key("access-control-allow-origin")
        && allowed.is_some_and(|headers| headers == sent)
}

#[tokio::test]
async fn web_pages_are_served_where_their_origin_is_named() {
    let closed = TestServer::saying([]).await;
    assert!(!allows(&closed, "https://chat.example.org").await);
    let keys = KeyFile::default();
    let builder = Server::builder().model(scripted("tea", [])).origin("https://chat.example.org").keys(keys);
    let open = TestServer::start(builder).await;
    assert!(allows(&open, "https://chat.example.org").await);
    assert!(!allows(&open, "https://evil.example").await);
    assert!(Server::builder().model(scripted("tea", [])).origin("chat.example.org").build().is_err());
}

fn keys(limits: KeyLimits) -> (KeyFile, String, String) {
    let mut keys = KeyFile::default();
    let ann = keys.add("ann".parse().unwrap(), limits).unwrap();
    let bob = keys.add("bob".parse().unwrap(), KeyLimits::default()).unwrap();
    (keys, ann, bob)
}

async fn asked_by(server: &TestServer, key: &str, fields: Value) -> Answer {
    server.send(server.posting(CHAT, &asking(fields)).bearer_auth(key)).await
}

#[tokio::test]
async fn keys_open_the_data_of_their_owners_alone() {
    let (keys, ann, bob) = keys(KeyLimits::default());
    let server = TestServer::start(Server::builder().model(scripted("tea", ["Hello!"])).keys(keys)).await;
    for request in
        [server.request("GET", "/v1/models"), server.request("GET", "/v1/models").bearer_auth("alq_no")]
    {
        let answer = server.send(request).await;
        assert_eq!((answer.status, &answer.error()["code"]), (401, &json!("invalid_api_key")));
    }
    assert_eq!(server.send(server.request("GET", "/v1/models").header("x-api-key", &bob)).await.status, 200);
    assert_eq!(server.get("/health").await.status, 200);
    let id = asked_by(&server, &ann, json!({"store": true})).await.json()["id"].as_str().unwrap().to_owned();
    let path = format!("{CHAT}/{id}");
    assert_eq!(server.send(server.request("GET", &path).bearer_auth(&ann)).await.status, 200);
    for method in ["GET", "DELETE"] {
        assert_eq!(server.send(server.request(method, &path).bearer_auth(&bob)).await.status, 404);
    }
    let list = server.send(server.request("GET", CHAT).bearer_auth(&bob)).await.json();
    assert_eq!(list["data"], json!([]));
}

#[tokio::test]
async fn a_revoked_key_ends_with_the_next_reading_of_the_file() {
    let (mut keys, ann, bob) = keys(KeyLimits::default());
    let server = TestServer::start(Server::builder().model(scripted("tea", [])).keys(keys.clone())).await;
    let id = keys.keys()[0].id.clone();
    keys.revoke(&id).unwrap();
    server.handle.replace_keys(keys).unwrap();
    assert_eq!(server.send(server.request("GET", "/v1/models").bearer_auth(&ann)).await.status, 401);
    assert_eq!(server.send(server.request("GET", "/v1/models").bearer_auth(&bob)).await.status, 200);
}

#[tokio::test]
async fn a_key_has_a_rate() {
    let mut limits = KeyLimits::default();
    limits.calls_per_minute = Some(1);
    let (keys, ann, bob) = keys(limits);
    let server =
        TestServer::start(Server::builder().model(scripted("tea", ["1", "2", "3"])).keys(keys)).await;
    assert_eq!(asked_by(&server, &ann, json!({})).await.status, 200);
    let refused = asked_by(&server, &ann, json!({})).await;
    assert_eq!((refused.status, &refused.error()["code"]), (429, &json!("rate_limit_exceeded")));
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(asked_by(&server, &bob, json!({})).await.status, 200);
}

#[tokio::test]
async fn a_key_has_a_budget_of_tokens() {
    let mut limits = KeyLimits::default();
    limits.tokens_per_day = Some(100);
    let (keys, ann, _) = keys(limits);
    let model = alloquy_testing::ScriptedModel::new([("Hi", "Hello!")]);
    let model = alloquy_server::ServedModel::loaded("tea", model);
    let server = TestServer::start(Server::builder().model(model).keys(keys)).await;
    let answer = asked_by(&server, &ann, json!({"max_tokens": 5})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let refused = asked_by(&server, &ann, json!({"max_tokens": 99})).await;
    assert!([400, 429].contains(&refused.status), "{}", refused.text);
    assert!(refused.error()["message"].as_str().unwrap().contains("budget"));
}

#[tokio::test]
async fn a_full_queue_is_refused_and_other_owners_are_served() {
    let (keys, ann, bob) = keys(KeyLimits::default());
    let mut limits = RequestLimits::default();
    limits.running = 1;
    limits.waiting = 0;
    let model = replying("tea", [hanging(), ScriptedReply::text("Hello!"), ScriptedReply::text("Again!")]);
    let server = TestServer::start(Server::builder().model(model).keys(keys).limits(limits)).await;
    let streamed = server.posting(CHAT, &asking(json!({"stream": true}))).bearer_auth(&ann);
    let mut running = streamed.send().await.unwrap();
    running.chunk().await.unwrap();
    let refused = asked_by(&server, &ann, json!({})).await;
    assert_eq!((refused.status, &refused.error()["type"]), (429, &json!("rate_limit_error")));
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(asked_by(&server, &bob, json!({})).await.status, 200);
    // Once the client has gone, its place is free.
    drop(running);
    for _ in 0..200 {
        if asked_by(&server, &ann, json!({})).await.status == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the place is not free");
}

#[tokio::test]
async fn a_request_waits_for_a_place() {
    let mut limits = RequestLimits::default();
    limits.running = 1;
    limits.waiting_time = Duration::from_millis(100);
    let model = replying("tea", [hanging(), ScriptedReply::text("Hello!")]);
    let server = TestServer::start(Server::builder().model(model).limits(limits)).await;
    let mut running = server.posting(CHAT, &asking(json!({"stream": true}))).send().await.unwrap();
    running.chunk().await.unwrap();
    assert_eq!(server.chat(json!({})).await.status, 429);
    drop(running);
    for _ in 0..200 {
        if server.chat(json!({})).await.status == 200 {
            return;
        }
    }
    panic!("the place is not free");
}

#[tokio::test]
async fn a_silent_stream_is_kept_open_and_begins_without_the_first_word() {
    let mut limits = RequestLimits::default();
    limits.heartbeat = Duration::from_millis(50);
    let model = replying("tea", [hanging()]);
    let server = TestServer::start(Server::builder().model(model).limits(limits)).await;
    let mut running = server.posting(CHAT, &asking(json!({"stream": true}))).send().await.unwrap();
    let mut text = String::new();
    while !text.contains(": waiting") {
        text += std::str::from_utf8(&running.chunk().await.unwrap().unwrap()).unwrap();
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_no_place() {
    let mut limits = RequestLimits::default();
    limits.running = 1;
    limits.waiting = 0;
    limits.stalled_time = Duration::from_millis(100);
    // More than the buffers of the sockets and the queue hold; pieces of one kind in a row would be one piece.
    let mut parts = Vec::new();
    for _ in 0..1500 {
        parts.push(Content::Text("tea ".repeat(4096)));
        parts.push(Content::Thinking("hm ".repeat(4096)));
    }
    let message = Message::new(Role::Assistant, parts);
    let reply = Reply::new(message);
    let model = replying("tea", [reply.into(), ScriptedReply::text("Hello!")]);
    let server = TestServer::start(Server::builder().model(model).limits(limits)).await;
    let body = asking(json!({"stream": true})).to_string();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // Its reply has begun when it has read the head of the answer.
    stream.read_exact(&mut [0; 8]).await.unwrap();
    for _ in 0..600 {
        if server.chat(json!({})).await.status == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the client that does not read still has its place");
}

#[tokio::test]
async fn without_keys_no_other_machine_is_served() {
    let server = Server::builder().model(scripted("tea", [])).build().unwrap();
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let error = server.serve(listener).await.unwrap_err();
    assert!(error.to_string().contains("alloquy keys add"), "{error}");
}

#[tokio::test]
async fn a_server_that_ends_is_not_ready() {
    let server = TestServer::start(Server::builder().model(replying("tea", [hanging()]))).await;
    assert_eq!(server.get("/ready").await.json(), json!({"status": "ready"}));
    let body = asking(json!({"stream": true}));
    let mut running = server.posting(CHAT, &body).send().await.unwrap();
    running.chunk().await.unwrap();
    server.handle.shut_down();
    // Probes are answered as long as the reply runs, and nothing else that is new.
    let mut ready = server.get("/ready").await;
    while ready.status == 200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        ready = server.get("/ready").await;
    }
    assert_eq!((ready.status, ready.json()), (503, json!({"status": "draining"})));
    assert_eq!(server.get("/health").await.status, 200);
    for _ in 0..3 {
        let refused = server.chat(json!({})).await;
        assert_eq!((refused.status, &refused.error()["code"]), (503, &json!("shutting_down")));
        assert!(refused.headers.contains_key("retry-after"));
    }
    drop(running);
    server.served.await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn a_connection_has_a_number_of_requests() {
    let mut limits = RequestLimits::default();
    limits.requests_of_connection = 2;
    let server = TestServer::start(Server::builder().model(scripted("tea", [])).limits(limits)).await;
    let request = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(3);
    let answers = raw(&server, request.as_bytes()).await;
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
    assert_eq!(answers.matches("connection: close").count(), 1, "{answers}");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let mut limits = RequestLimits::default();
    limits.header_time = Duration::from_millis(200);
    let server = TestServer::start(Server::builder().model(scripted("tea", [])).limits(limits)).await;
    let answer = raw(&server, b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
