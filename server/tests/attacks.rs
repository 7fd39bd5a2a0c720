//! Attacks and answers, as the table in `docs/server.md` has them. A further attack is a further line of a table here, or a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::time::{Duration, Instant};

use alloquy_core::{Message, Reply};
use alloquy_server::{KeyFile, KeyLimits, RequestLimits, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use shared::{TestServer, asking, replying, scripted};

const CHAT: &str = "/v1/chat/completions";

/// Limits that a test does not wait for.
fn short_limits() -> RequestLimits {
    let mut limits = RequestLimits::default();
    limits.header_time = Duration::from_millis(300);
    limits.body_time = Duration::from_millis(300);
    limits.stalled_time = Duration::from_millis(300);
    limits
}

async fn started(limits: RequestLimits) -> TestServer {
    TestServer::start(Server::builder().model(scripted("tea", ["Hello!", "Again!"])).limits(limits)).await
}

/// Sends bytes, and returns what comes back until the server closes.
async fn sent(server: &TestServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    // A server that refuses early closes while bytes are on their way.
    let _ = stream.write_all(bytes).await;
    read_to_end(stream).await
}

async fn read_to_end(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends one byte after another, and returns after how long the server has closed.
async fn dripped(server: &TestServer, beginning: &str) -> Duration {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(beginning.as_bytes()).await.unwrap();
    while begun.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if stream.write_all(b"x").await.is_err() {
            break;
        }
    }
    begun.elapsed()
}

fn posted(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn headers_and_bodies_that_drip_are_cut_off() {
    let server = started(short_limits()).await;
    let dripping_headers = "GET /health HTTP/1.1\r\nhost: localhost\r\nx: ";
    let dripping_body = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{{"
    );
    for beginning in [dripping_headers, &dripping_body] {
        let took = dripped(&server, beginning).await;
        assert!(took < Duration::from_secs(5), "{beginning}: {took:?}");
    }
    assert_eq!(server.get("/health").await.status, 200);
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let mut limits = RequestLimits::default();
    limits.body_bytes = 1000;
    limits.headers = 10;
    limits.header_bytes = 8192;
    let server = started(limits).await;
    let head = "GET /health HTTP/1.1\r\nhost: localhost\r\n";
    let cases = [
        (posted(json!({"user": "x".repeat(2000)}).to_string().as_bytes()), "413"),
        (format!("{head}{}\r\n", "x: y\r\n".repeat(20)).into_bytes(), "431"),
        (format!("{head}x: {}\r\n\r\n", "y".repeat(20_000)).into_bytes(), "431"),
        (format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(100_000)).into_bytes(), "4"),
        // A length that is announced and not sent costs nothing.
        (
            format!("POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n")
                .into_bytes(),
            "413",
        ),
        (
            format!("POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999999999999999999999\r\n\r\n")
                .into_bytes(),
            "400",
        ),
    ];
    for (bytes, status) in cases {
        let answer = sent(&server, &bytes).await;
        let beginning = String::from_utf8_lossy(&bytes[..bytes.len().min(150)]).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{beginning}: {answer}");
    }
}

#[tokio::test]
async fn no_request_is_hidden_in_another_one() {
    let server = started(short_limits()).await;
    let hidden = "GET /v1/hidden HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let chunks = format!("0\r\n\r\n{hidden}");
    let length = chunks.len();
    let cases = [
        format!("transfer-encoding: chunked\r\ncontent-length: {length}\r\n\r\n{chunks}"),
        format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"),
        format!("content-length: 4\r\ntransfer-encoding: chunked, identity\r\n\r\n{chunks}"),
        format!("transfer-encoding: xchunked\r\n\r\n{chunks}"),
        format!("transfer-encoding : chunked\r\n\r\n{chunks}"),
        format!("content-length: 0\r\ncontent-length: {length}\r\n\r\n{hidden}"),
        format!("content-length: +0\r\n\r\n{hidden}"),
        format!("content-length: 0, {length}\r\n\r\n{hidden}"),
        format!("x: a\r\n content-length: {length}\r\n\r\n{hidden}"),
        format!("x: a\0b\r\n\r\n{hidden}"),
        format!("x\0: b\r\n\r\n{hidden}"),
        format!("x: a\rcontent-length: {length}\r\n\r\n{hidden}"),
    ];
    for rest in cases {
        let request = format!("POST /v1/models HTTP/1.1\r\nhost: localhost\r\n{rest}");
        let answer = sent(&server, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{rest:?}: {answer}");
        assert!(!answer.contains("/v1/hidden"), "{rest:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{rest:?}: {answer}");
    }
}

#[tokio::test]
async fn pages_elsewhere_do_not_reach_it_by_a_name_of_their_own() {
    let builder = Server::builder().model(scripted("tea", [])).host("llm.example.org");
    let server = TestServer::start(builder).await;
    let cases = [
        ("host: evil.example", "403"),
        ("host: evil.example:8080", "403"),
        ("host: localhost.evil.example", "403"),
        ("host: 127.0.0.1.evil.example", "403"),
        ("host: llm.example.org.evil.example", "403"),
        ("host: 192.168.0.1", "403"),
        ("host: 0.0.0.0", "403"),
        ("host: ", "403"),
        ("x: y", "400"),
        ("host: localhost\r\nhost: evil.example", "400"),
        ("host: llm.example.org", "200"),
        ("host: [::1]:8080", "200"),
    ];
    for (host, status) in cases {
        let request = format!("GET /v1/models HTTP/1.1\r\n{host}\r\nconnection: close\r\n\r\n");
        let answer = sent(&server, request.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {answer}");
    }
}

#[tokio::test]
async fn a_thousand_connections_keep_nobody_out() {
    let mut limits = short_limits();
    limits.connections = 100;
    let server = started(limits).await;
    let mut idle = Vec::new();
    for _ in 0..1000 {
        // The handles of this process may be fewer, and those in the queue of the system.
        let Ok(Ok(stream)) =
            tokio::time::timeout(Duration::from_secs(2), TcpStream::connect(server.address)).await
        else {
            break;
        };
        idle.push(stream);
    }
    assert!(idle.len() >= 500, "{}", idle.len());
    let begun = Instant::now();
    assert_eq!(server.get("/health").await.status, 200);
    // Each hundred is closed after the time for headers.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn ids_are_no_paths() {
    let server = started(RequestLimits::default()).await;
    let ids = [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "chatcmpl-..%2f..%2fetc%2fpasswd",
        "chatcmpl-%2fetc%2fpasswd",
        "chatcmpl-..",
        "chatcmpl-%00",
        "chatcmpl-a%00b",
        "chatcmpl-%ff",
        "chatcmpl-c:%5cwindows",
        "chatcmpl-' or 1=1 --",
        "chatcmpl-%25s",
        "chatcmpl-%e2%80%ae",
        "chatcmpl-",
    ];
    for id in ids {
        for request in [
            format!("GET {CHAT}/{} HTTP/1.1", id.replace(' ', "%20")),
            format!("DELETE {CHAT}/{} HTTP/1.1", id.replace(' ', "%20")),
            format!("GET {CHAT}/{}/messages HTTP/1.1", id.replace(' ', "%20")),
            format!("GET /v1/models/{} HTTP/1.1", id.replace(' ', "%20")),
        ] {
            let request = format!("{request}\r\nhost: localhost\r\nconnection: close\r\n\r\n");
            let answer = sent(&server, request.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 40"), "{request}: {answer}");
            assert!(!answer.contains("root:"), "{request}: {answer}");
        }
    }
    assert_eq!(server.get(&format!("{CHAT}/{}", "x".repeat(5000))).await.status, 404);
}

#[tokio::test]
async fn bodies_that_are_no_requests_are_refused() {
    let server = started(RequestLimits::default()).await;
    let deep = |open: &str, close: &str| {
        format!("{{\"messages\": {}{}}}", open.repeat(100_000), close.repeat(100_000)).into_bytes()
    };
    let with = |field: &str| {
        format!("{{\"messages\": [{{\"role\": \"user\", \"content\": \"Hi\"}}], {field}}}").into_bytes()
    };
    let bodies = [
        deep("[", "]"),
        deep("{\"a\":", "}"),
        with("\"max_tokens\": 1e400"),
        with("\"max_tokens\": 18446744073709551616"),
        with("\"max_tokens\": -1"),
        with("\"max_tokens\": 1.5"),
        with("\"temperature\": 1e400"),
        with("\"temperature\": -1e38"),
        with("\"seed\": 9223372036854775808"),
        with("\"top_k\": 99999999999999999999999999"),
        with("\"n\": 99999999999"),
        with(&format!("\"seed\": {}", "9".repeat(100_000))),
        with("\"temperature\": NaN"),
        with("\"user\": \"\\ud800\""),
        with("\"user\": \"a\", \"user\": \"b\""),
        with(&format!("\"logit_bias\": {{\"{}\": 1}}", u64::MAX)),
        b"{\"messages\": [{\"role\": \"user\", \"content\": \"\xff\xfe\"}]}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"\0".to_vec(),
        Vec::new(),
    ];
    for body in bodies {
        let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
        let answer = sent(&server, &posted(&body)).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{shown}: {answer}");
        assert!(answer.contains("\"invalid_request_error\""), "{shown}: {answer}");
    }
    // After all of them, the server answers.
    assert_eq!(server.chat(json!({})).await.status, 200);
}

#[tokio::test]
async fn a_client_that_does_not_read_loses_its_connection() {
    let mut limits = short_limits();
    limits.connections = 1;
    let reply = Reply::new(Message::assistant("tea ".repeat(16 << 20)));
    let server =
        TestServer::start(Server::builder().model(replying("tea", [reply.into()])).limits(limits)).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&posted(asking(json!({})).to_string().as_bytes())).await.unwrap();
    stream.read_exact(&mut [0; 8]).await.unwrap();
    // The only place for a connection is free once this one is closed.
    assert_eq!(server.get("/health").await.status, 200);
}

#[tokio::test]
async fn keys_are_not_guessed_by_their_answers() {
    let mut keys = KeyFile::default();
    let ann = keys.add("ann".parse().unwrap(), KeyLimits::default()).unwrap();
    let revoked = keys.add("bob".parse().unwrap(), KeyLimits::default()).unwrap();
    let id = keys.keys()[1].id.clone();
    let digest = id.trim_start_matches("key_").to_owned();
    keys.revoke(&id).unwrap();
    let server = TestServer::start(Server::builder().model(scripted("tea", [])).keys(keys)).await;
    let mut near = ann.clone();
    near.pop();
    let guesses = [
        revoked,
        near.clone(),
        near + "g",
        format!("{ann}0"),
        "alq_".to_owned(),
        "x".repeat(10_000),
        id,
        digest,
    ];
    let mut answers = Vec::new();
    for guess in guesses {
        let request = server.request("GET", "/v1/models").header("x-api-key", guess.clone());
        let answer = server.send(request).await;
        assert_eq!(answer.status, 401, "{guess}");
        assert!(!answer.headers.contains_key("content-location"));
        answers.push(answer.text);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(server.send(server.request("GET", "/v1/models").bearer_auth(&ann)).await.status, 200);
}

/// A request with an image at this address.
fn showing(url: &str) -> Value {
    asking(
        json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]}),
    )
}

#[tokio::test]
async fn addresses_in_requests_reach_nothing_within() {
    let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = inside.local_addr().unwrap().port();
    let builder = Server::builder().model(scripted("tea", [])).media_host("images.example.org");
    // Even if the operator allows the name, the address is one of this machine.
    let builder = builder.media_host(format!("localhost:{port}")).media_host(format!("127.0.0.1:{port}"));
    let server = TestServer::start(builder.media_host(format!("[::1]:{port}"))).await;
    let urls = [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://LOCALHOST.:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://[::ffff:7f00:1]:{port}/"),
        format!("http://[64:ff9b::7f00:1]:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://0x7f000001:{port}/"),
        format!("http://0177.0.0.1:{port}/"),
        format!("http://127.1:{port}/"),
        format!("http://0:{port}/"),
        format!("http://images.example.org@127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}/#@images.example.org"),
        format!("http://127.0.0.1:{port}\\@images.example.org/"),
        format!("https://127.0.0.1:{port}/"),
        format!("ftp://127.0.0.1:{port}/"),
        format!("gopher://127.0.0.1:{port}/_GET"),
        format!("HTTP://127.0.0.1:{port}/"),
        format!(" http://127.0.0.1:{port}/"),
        format!("http:127.0.0.1:{port}"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[fd00:ec2::254]/latest/meta-data/".to_owned(),
        "http://images.example.org.evil.example/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "file://localhost/etc/passwd".to_owned(),
        "/etc/passwd".to_owned(),
        "../../../../etc/passwd".to_owned(),
        "C:\\windows\\win.ini".to_owned(),
        "\\\\evil.example\\share\\a.png".to_owned(),
        "jar:file:///etc/passwd".to_owned(),
        String::new(),
    ];
    for url in urls {
        let answer = server.post(CHAT, &showing(&url)).await;
        assert_eq!(answer.status, 400, "{url}: {}", answer.text);
        assert!(
            answer.error()["param"].as_str().unwrap().starts_with("messages[0]"),
            "{url}: {}",
            answer.text
        );
        assert!(!answer.text.contains("root:"), "{url}");
    }
    let reached = tokio::time::timeout(Duration::from_millis(100), inside.accept()).await;
    assert!(reached.is_err(), "an address within was opened");
}

#[tokio::test]
async fn media_of_allowed_hosts_are_opened_on_all_routes() {
    let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = inside.local_addr().unwrap().port();
    let builder = Server::builder().model(scripted("tea", [])).media_host(format!("localhost:{port}"));
    let server = TestServer::start(builder).await;
    let url = format!("http://localhost:{port}/");
    let messages = showing(&url)["messages"].clone();
    let all = "/v1/alloquy/conversations";
    let made = server.post(all, &json!({"name": "tea"})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut answers = vec![server.post(CHAT, &showing(&url)).await];
    for path in [all.to_owned(), format!("{all}/conv_tea/turns"), format!("{all}/conv_tea/nodes")] {
        answers.push(server.post(&path, &json!({"messages": messages})).await);
    }
    let document = json!({"messages": messages}).to_string();
    answers.push(server.post("/v1/alloquy/import", &json!({"format": "openai", "document": document})).await);
    // The host is allowed, so its name was resolved. It is refused for its address, which is one of this machine.
    for answer in answers {
        assert!(answer.text.contains("not on the public internet"), "{}: {}", answer.status, answer.text);
    }
}
