//! What an operator sees: metrics, the lines of the log, and the ids of requests. None of them has contents.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloquy_core::report::{CacheReport, MissReason, Usage};
use alloquy_core::{ErrorKind, Message, Reply};
use alloquy_retrieval::NgramEmbedder;
use alloquy_server::{ClientTrace, KeyFile, KeyLimits, RequestLimits, ServedEmbedder, Server};
use alloquy_testing::ScriptedReply;
use proptest::prelude::*;
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use shared::{TestServer, replying, scripted};

/// A text of a conversation, which no metric and no line of the log may have.
const SECRET: &str = "the seventh sea";

fn reply(text: &str, prompt: usize, cached: usize, generated: usize) -> Reply {
    let mut reply = Reply::new(Message::assistant(text));
    reply.usage = Usage::new(prompt, generated);
    reply.usage.cached = cached;
    reply
}

/// Returns the value of a sample, such as `name{label="value"}`; 0 for one that is not there.
fn sample(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

async fn metrics(server: &TestServer) -> String {
    let answer = server.get("/metrics").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.headers["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    assert!(answer.text.ends_with("# EOF\n"), "{}", answer.text);
    answer.text
}

#[tokio::test]
async fn calls_are_measured_by_model_and_counted_by_tokens() {
    let mut missed = reply("Four", 30, 10, 5);
    missed.cache = Some(CacheReport::new(30, 10));
    missed.cache.as_mut().unwrap().miss = Some(MissReason::Rewritten);
    let model = replying("tea", [reply(SECRET, 20, 0, 3).into(), missed.into()]);
    let server = TestServer::start(Server::builder().model(model)).await;
    assert_eq!(server.chat(json!({})).await.status, 200);
    assert_eq!(server.chat(json!({"stream": true})).await.status, 200);
    let text = metrics(&server).await;
    let expected = [
        ("gen_ai_usage_input_tokens_total{gen_ai_request_model=\"tea\"}", 50.0),
        ("gen_ai_usage_cache_read_input_tokens_total{gen_ai_request_model=\"tea\"}", 10.0),
        ("gen_ai_usage_output_tokens_total{gen_ai_request_model=\"tea\"}", 8.0),
        ("gen_ai_server_time_to_first_token_seconds_count{gen_ai_request_model=\"tea\"}", 2.0),
        ("gen_ai_server_time_per_output_token_seconds_count{gen_ai_request_model=\"tea\"}", 2.0),
        ("alloquy_cache_misses_total{gen_ai_request_model=\"tea\",reason=\"rewritten\"}", 1.0),
        ("alloquy_model_loaded{gen_ai_request_model=\"tea\"}", 1.0),
        (
            "gen_ai_server_request_duration_seconds_count{gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"alloquy\",\
             gen_ai_request_model=\"tea\",error_type=\"\"}",
            2.0,
        ),
        (
            "http_server_request_duration_seconds_count{http_request_method=\"POST\",http_route=\"/v1/chat/completions\",\
             http_response_status_code=\"200\"}",
            2.0,
        ),
        // The request for the metrics itself.
        ("http_server_active_requests", 1.0),
        ("alloquy_requests_running", 0.0),
    ];
    for (name, value) in expected {
        assert_eq!(sample(&text, name), value, "{name} in {text}");
    }
    assert!(!text.contains(SECRET), "{text}");
}

#[tokio::test]
async fn vectors_are_calls_of_their_own_operation() {
    let words = ServedEmbedder::new("words", NgramEmbedder::new(16));
    let words = words.tokens(|text| text.split_whitespace().count());
    let server = TestServer::start(Server::builder().model(scripted("tea", [])).embedder(words)).await;
    let asked = json!({"model": "words", "input": [SECRET, "tea"]});
    assert_eq!(server.post("/v1/embeddings", &asked).await.status, 200);
    let refused = json!({"model": "words", "input": [""]});
    assert_eq!(server.post("/v1/embeddings", &refused).await.status, 400);
    let text = metrics(&server).await;
    assert_eq!(
        sample(&text, "gen_ai_usage_input_tokens_total{gen_ai_request_model=\"words\"}"),
        4.0,
        "{text}"
    );
    for error in ["", "invalid_value"] {
        let labels = format!(
            "{{gen_ai_operation_name=\"embeddings\",gen_ai_provider_name=\"alloquy\",gen_ai_request_model=\"words\",\
             error_type=\"{error}\"}}"
        );
        let name = format!("gen_ai_server_request_duration_seconds_count{labels}");
        assert_eq!(sample(&text, &name), 1.0, "{name} in {text}");
    }
    assert!(!text.contains(SECRET), "{text}");
}

#[tokio::test]
async fn errors_have_their_kind_and_routes_their_pattern() {
    let failing = ScriptedReply::Fails(SECRET.to_owned());
    let server = TestServer::start(Server::builder().model(replying("tea", [failing]))).await;
    assert_eq!(server.chat(json!({})).await.status, 500);
    assert_eq!(server.get(&format!("/v1/{}", SECRET.replace(' ', ""))).await.status, 404);
    assert_eq!(server.get("/v1/chat/completions/chatcmpl-1").await.status, 404);
    assert_eq!(server.send(server.request("SPILL", "/v1/models")).await.status, 405);
    let text = metrics(&server).await;
    let expected = [
        "gen_ai_request_model=\"tea\",error_type=\"backend\"} 1",
        "http_request_method=\"GET\",http_route=\"unknown\",http_response_status_code=\"404\"} 1",
        "http_request_method=\"GET\",http_route=\"/v1/chat/completions/{id}\",http_response_status_code=\"404\"} 1",
        "http_request_method=\"_OTHER\",http_route=\"/v1/models\",http_response_status_code=\"405\"} 1",
    ];
    for line in expected {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains("seventh") && !text.contains("SPILL"), "{text}");
}

#[tokio::test]
async fn requests_that_run_wait_and_are_refused_are_counted() {
    let mut limits = RequestLimits::default();
    (limits.running, limits.waiting) = (1, 1);
    let hanging = ScriptedReply::Hangs("Once upon".to_owned());
    let model = replying("tea", [hanging.clone(), hanging]);
    let server = Arc::new(TestServer::start(Server::builder().model(model).limits(limits)).await);
    let mut asked = Vec::new();
    for _ in 0..2 {
        let client = Arc::clone(&server);
        asked.push(tokio::spawn(async move { client.chat(json!({"stream": true})).await }));
    }
    let mut text = String::new();
    for _ in 0..200 {
        text = metrics(&server).await;
        if sample(&text, "alloquy_requests_waiting") == 1.0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(server.chat(json!({})).await.status, 429);
    assert_eq!(sample(&text, "alloquy_requests_running"), 1.0, "{text}");
    assert_eq!(sample(&text, "alloquy_requests_waiting"), 1.0, "{text}");
    assert_eq!(sample(&metrics(&server).await, "alloquy_queue_refusals_total"), 1.0);
    for client in asked {
        client.abort();
    }
    // Clients that leave are counted as such, once their replies have been dropped.
    for _ in 0..300 {
        text = metrics(&server).await;
        if sample(&text, "http_server_active_requests") == 1.0
            && sample(&text, "alloquy_requests_running") == 0.0
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(sample(&text, "alloquy_requests_running"), 0.0, "{text}");
    assert_eq!(sample(&text, "http_server_active_requests"), 1.0, "{text}");
}

#[tokio::test]
async fn two_servers_of_one_process_count_apart() {
    let one = TestServer::saying(["One"]).await;
    let other = TestServer::saying(["Two"]).await;
    one.chat(json!({})).await;
    assert!(metrics(&one).await.contains("http_route=\"/v1/chat/completions\""));
    assert!(!metrics(&other).await.contains("http_route=\"/v1/chat/completions\""));
}

#[tokio::test]
async fn the_metrics_of_a_server_with_keys_need_their_own_token() {
    const TOKEN: &str = "8f1c6d0e2b7a49358f1c6d0e2b7a4935";
    let mut keys = KeyFile::default();
    let secret = keys.add("ann".parse().unwrap(), KeyLimits::default()).unwrap();
    let closed = TestServer::start(Server::builder().model(scripted("tea", [])).keys(keys.clone())).await;
    let open =
        TestServer::start(Server::builder().model(scripted("tea", [])).keys(keys).metrics_token(TOKEN)).await;
    let cases = [
        (&closed, Some(secret.as_str()), 401),
        (&closed, Some(TOKEN), 401),
        (&closed, None, 401),
        (&open, None, 401),
        (&open, Some(secret.as_str()), 401),
        (&open, Some(TOKEN), 200),
    ];
    for (server, token, status) in cases {
        // A scraper names the server by its address.
        let mut request = server.request("GET", "/metrics").header("host", "10.0.0.7:8080");
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = server.send(request).await;
        assert_eq!(answer.status, status, "{token:?}: {}", answer.text);
        if status == 401 {
            assert_eq!(answer.error()["code"], "invalid_api_key");
        }
    }
    // The token opens nothing else.
    let models = open.send(open.request("GET", "/v1/models").bearer_auth(TOKEN)).await;
    assert_eq!(models.status, 401);
    // Without keys, a page elsewhere cannot read them under its own name.
    let local = TestServer::saying([]).await;
    let answer = local.send(local.request("GET", "/metrics").header("host", "evil.example")).await;
    assert_eq!(answer.status, 403);
}

#[test]
fn a_token_that_can_be_guessed_is_refused() {
    for token in ["", "short", "with a space in it", "with\u{e9}clat-and-more"] {
        let built = Server::builder().model(scripted("tea", [])).metrics_token(token).build();
        assert_eq!(built.unwrap_err().kind(), ErrorKind::Invalid, "{token:?}");
    }
}

/// What is logged, as lines of JSON.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// The fields of the lines of requests.
    fn requests(&self) -> Vec<Value> {
        let lines = self.text();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["fields"].clone());
        lines.filter(|fields| fields["message"] == "answered").collect()
    }
}

/// Runs on one thread, whose log this is.
fn logged() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().json().with_max_level(tracing::Level::INFO);
    let subscriber = subscriber.with_writer(log.clone()).finish();
    (log, tracing::subscriber::set_default(subscriber))
}

#[tokio::test]
async fn each_request_is_a_line_without_contents() {
    let (log, _guard) = logged();
    let model = replying("tea", [reply(SECRET, 20, 4, 3).into(), reply(SECRET, 30, 5, 6).into()]);
    let server = TestServer::start(Server::builder().model(model)).await;
    let fields = json!({"messages": [{"role": "user", "content": SECRET}], "store": true});
    let whole = server.chat(fields.clone()).await;
    let id = whole.json()["id"].as_str().unwrap().to_owned();
    server.get(&format!("/v1/chat/completions/{id}?after={}", "seventh")).await;
    let mut streamed = fields;
    streamed["stream"] = true.into();
    server.chat(streamed).await;
    server.get("/health").await;
    let lines = log.requests();
    assert_eq!(lines.len(), 3, "{}", log.text());
    let expected = [
        ("POST", "/v1/chat/completions", 24),
        ("GET", "/v1/chat/completions/{id}", 0),
        ("POST", "/v1/chat/completions", 35),
    ];
    for (line, (method, route, tokens)) in lines.iter().zip(expected) {
        assert_eq!((&line["method"], &line["route"]), (&json!(method), &json!(route)), "{line}");
        assert_eq!((&line["status"], &line["complete"]), (&json!(200), &json!(true)), "{line}");
        assert!(line["milliseconds"].is_u64(), "{line}");
        let cached = line["cached_tokens"].as_u64().unwrap_or_default();
        let input = line["input_tokens"].as_u64().unwrap_or_default();
        assert_eq!(cached + input, tokens, "{line}");
    }
    assert_eq!(lines[0]["id"], whole.headers["x-request-id"].to_str().unwrap());
    assert!(lines[1]["model"].is_null() && lines[2]["output_tokens"] == 6, "{lines:?}");
    let text = log.text();
    assert!(!text.contains("seventh") && !text.contains(&id), "{text}");
}

#[tokio::test]
async fn a_client_that_leaves_is_a_line_too() {
    let (log, _guard) = logged();
    let hanging = ScriptedReply::Hangs("Once upon".to_owned());
    let server = TestServer::start(Server::builder().model(replying("tea", [hanging]))).await;
    let asked = server.posting("/v1/chat/completions", &shared::asking(json!({})));
    assert!(asked.timeout(Duration::from_secs(2)).send().await.is_err());
    for _ in 0..1000 {
        if !log.requests().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let line = log.requests().remove(0);
    assert_eq!((&line["status"], &line["complete"]), (&json!(499), &json!(false)), "{line}");
}

/// Returns the id that the server uses for a request that has this one.
fn id_for(given: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = TestServer::saying([]).await;
        let answer = server.send(server.request("GET", "/health").header("x-request-id", given)).await;
        answer.headers["x-request-id"].to_str().unwrap().to_owned()
    })
}

#[tokio::test]
async fn the_trace_of_a_client_is_followed() {
    let followed: Arc<Mutex<Vec<ClientTrace>>> = Arc::default();
    let noted = Arc::clone(&followed);
    let builder = Server::builder().model(scripted("tea", ["Hello!"]));
    let builder = builder.follow_traces(move |_, trace| noted.lock().unwrap().push(trace.clone()));
    let server = TestServer::start(builder).await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    assert_eq!(server.get("/health").await.status, 200);
    assert_eq!(server.send(server.request("GET", "/health").header("traceparent", parent)).await.status, 200);
    let traces = std::mem::take(&mut *followed.lock().unwrap());
    let found: Vec<_> = traces.iter().map(|trace| (trace.parent(), trace.state())).collect();
    assert_eq!(found, [(parent, None)]);
    let many = |count: usize| (0..count).map(|number| format!("k{number}=v")).collect::<Vec<_>>().join(",");
    let long = |length: usize| format!("a={}", "b".repeat(length));
    let two = format!("{},c={}", long(256), "d".repeat(251));
    let kept = [
        ("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7", "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"),
        (" tenant@vendor=1 ,, b_-*/=x y\t", "tenant@vendor=1,b_-*/=x y"),
        (&many(32), &many(32)),
        (&long(256), &long(256)),
        (&two, &two),
    ];
    let refused = [
        "",
        "a",
        "A=1",
        "=1",
        "a=",
        "a=1,a=2",
        "a=1=2",
        "a=\u{e9}",
        &many(33),
        &long(257),
        &format!("{two}e"),
    ];
    let refused = refused.iter().map(|state| (*state, None));
    for (state, expected) in kept.into_iter().map(|(state, kept)| (state, Some(kept))).chain(refused) {
        let request = server.request("GET", "/health").header("traceparent", parent);
        server.send(request.header("tracestate", state)).await;
        let traces = std::mem::take(&mut *followed.lock().unwrap());
        assert_eq!(traces.iter().map(ClientTrace::state).collect::<Vec<_>>(), [expected], "{state:?}");
    }
    // Several headers are one list, and alone they say nothing.
    let request = server.request("GET", "/health").header("traceparent", parent);
    server.send(request.header("tracestate", "a=1").header("tracestate", "b=2")).await;
    server.send(server.request("GET", "/health").header("tracestate", "a=1")).await;
    let traces = std::mem::take(&mut *followed.lock().unwrap());
    assert_eq!(traces.iter().map(ClientTrace::state).collect::<Vec<_>>(), [Some("a=1,b=2")]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn an_id_is_kept_if_it_is_one(given in "[ -~]{1,160}") {
        let given = given.trim();
        prop_assume!(!given.is_empty());
        let is_id = given.len() <= 128 && given.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_.:".contains(sign));
        let used = id_for(given);
        if is_id {
            prop_assert_eq!(used, given);
        } else {
            prop_assert!(used.starts_with("req_") && used.len() == 36, "{}", used);
        }
    }

    #[test]
    fn ids_of_clients_are_kept(given in "[a-zA-Z0-9._:-]{1,128}") {
        prop_assert_eq!(id_for(&given), given);
    }
}
