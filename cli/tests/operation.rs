//! What whoever operates `alloquy serve` relies on: its log, its metrics, the service manager, the collector of spans, and several servers
//! over one database.
#![cfg(all(feature = "pocket", unix))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod http;
mod program;
#[allow(dead_code)] // each test file uses its part
mod shared;

use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use http::{Served, send};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use program::Program;
use serde_json::{Value, json};

const TOKEN: &str = "8f1c6d0e2b7a49358f1c6d0e2b7a4935";

fn start(program: &Program, arguments: &[&str]) -> Served {
    Served::of(program.spawn(&[&["serve", "--bind", "127.0.0.1:0"], arguments].concat()))
}

/// Asks for a completion with the words of a question.
fn ask(port: u16, headers: &str, question: &str) -> http::Answer {
    let messages = json!([{"role": "user", "content": question}]);
    let body = json!({"messages": messages, "store": true, "max_tokens": 4});
    send(port, "POST", "/v1/chat/completions", headers, Some(&body)).unwrap()
}

#[test]
fn a_log_of_json_has_a_line_for_each_request_and_no_contents() {
    let program = Program::new();
    let server = start(&program, &["--log-format", "json"]);
    let answer = ask(server.port, "x-request-id: proxy-7\r\n", "What is the capital of Norway?");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("x-request-id"), Some("proxy-7"));
    let line = server.line("\"answered\"");
    let fields: Value = serde_json::from_str(&line).unwrap();
    assert!(fields["timestamp"].is_string(), "{line}");
    let fields = &fields["fields"];
    assert_eq!(
        (&fields["id"], &fields["status"], &fields["model"]),
        (&json!("proxy-7"), &json!(200), &json!("pocket"))
    );
    assert!(fields["input_tokens"].as_u64() > Some(4), "{line}");
    assert!(!line.contains("Norway"), "{line}");
}

#[test]
fn the_form_of_the_log_is_a_setting() {
    let program = Program::new();
    fs::create_dir_all(program.path("alloquy")).unwrap();
    program.write("alloquy/config.toml", "log-format = \"json\"\n");
    let server = start(&program, &[]);
    ask(server.port, "", "Tea?");
    assert!(server.line("answered").starts_with('{'));
    let wrong = program.run(&["serve", "--check", "--log-format", "xml"]);
    assert_eq!(wrong.code, Some(2));
}

#[test]
fn prompts_flows_and_prices_are_served_and_checked() {
    let program = Program::new();
    let folders = ["prompts/user", "flows"].map(|folder| program.path(folder));
    for folder in &folders {
        fs::create_dir_all(folder).unwrap();
    }
    program.write("prompts/user/greet.yaml", "template: Hello {{name}}!\n");
    program.write("flows/order.yaml", "name: order\nstates:\n  thanks: {say: Here you are.}\n");
    program.write("flows/notes.txt", "no flow");
    program.write(
        "prices.toml",
        "currency = \"EUR\"\n[[prices]]\nmodels = [\"*\"]\ninput = 0.1\noutput = \"0.3\"\n",
    );
    let [prompts, flows, prices] =
        ["prompts", "flows", "prices.toml"].map(|name| program.path(name).display().to_string());
    let arguments = ["--prompts", &prompts, "--flows", &flows, "--prices", &prices];
    let checked = program.run(&[&["serve", "--check"], &arguments[..]].concat()).ok().out;
    for line in
        [format!("prompts: 1 in {prompts}"), format!("flows: order in {flows}"), format!("prices: {prices}")]
    {
        assert!(checked.contains(&line), "{checked}");
    }
    let json =
        program.run(&[&["serve", "--check", "--json"], &arguments[..]].concat()).ok().events().remove(0);
    assert_eq!(json["flows"], format!("order in {flows}"), "{json}");

    // The configuration file has the same keys.
    let file = format!("prompts = {prompts:?}\nflows = {flows:?}\nprices = {prices:?}\n");
    let config = program.write("serve.toml", &file).display().to_string();
    let server = start(&program, &["--config", &config]);
    let listed = |path: &str| send(server.port, "GET", path, "", None).unwrap().json();
    let greet = listed("/v1/alloquy/prompts")["data"][0]["id"].clone();
    assert!(greet.as_str().unwrap().ends_with("greet"), "{greet}");
    assert_eq!(listed("/v1/alloquy/flows")["data"][0]["id"], "order");
    let run = send(server.port, "POST", "/v1/alloquy/flows/order/runs", "", Some(&json!({}))).unwrap();
    assert_eq!(run.status, 201, "{run:?}");
    let asked = ask(server.port, "", "What is the capital of Norway?").json();
    let conversation = asked["alloquy"]["conversation"].as_str().unwrap();
    let cost = listed(&format!("/v1/alloquy/conversations/{conversation}/cost"));
    assert!(cost["currency"] == "EUR" && cost["total"].is_string(), "{cost}");

    program.write("prompts/user/broken.yaml", "template: [\n");
    let cases: [(&[&str], &str); 4] = [
        (&["--prompts", &prompts], "`alloquy prompt check` lists them"),
        (&["--prompts", "no/prompts"], "no/prompts"),
        (&["--flows", &prompts], "there is no flow in"),
        (&["--flows", "no/flows"], "the folder of flows"),
    ];
    for (arguments, words) in cases {
        let wrong = program.run(&[&["serve", "--check"], arguments].concat());
        assert_eq!(wrong.code, Some(1), "{arguments:?}: {}", wrong.out);
        assert!(wrong.err.contains(words), "{arguments:?}: {}", wrong.err);
    }
    program.write("flows/broken.yaml", "name: broken\nstates:\n  a: {say: A., to: nowhere}\n");
    let wrong = program.run(&["serve", "--check", "--flows", &flows]);
    assert!(wrong.code == Some(1) && wrong.err.contains("nowhere"), "{}", wrong.err);
}

#[test]
fn the_metrics_of_a_server_with_keys_have_a_token() {
    let program = Program::new();
    program.run(&["keys", "add", "ann"]).ok();
    let file = program.write("metrics.token", &format!("{TOKEN}\n"));
    let server = start(&program, &["--metrics-token-file", &file.display().to_string()]);
    assert_eq!(send(server.port, "GET", "/metrics", "", None).unwrap().status, 401);
    let bearer = format!("authorization: Bearer {TOKEN}\r\n");
    let metrics = send(server.port, "GET", "/metrics", &bearer, None).unwrap();
    assert_eq!(metrics.status, 200);
    assert!(
        metrics.body.contains("alloquy_model_loaded{gen_ai_request_model=\"pocket\"} 0"),
        "{}",
        metrics.body
    );
    let short = program.write("short.token", "tea\n");
    for (path, words) in [(short, "at least 16"), (program.path("none"), "openssl rand -hex 32")] {
        let checked = program.run(&["serve", "--check", "--metrics-token-file", &path.display().to_string()]);
        assert_eq!(checked.code, Some(1));
        assert!(checked.err.contains(words), "{}", checked.err);
    }
}

#[test]
fn the_service_manager_is_notified_when_the_server_listens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let program = Program::new().variable("NOTIFY_SOCKET", &path);
    let server = start(&program, &[]);
    let mut message = [0; 64];
    let length = socket.recv(&mut message).unwrap();
    assert_eq!(&message[..length], b"READY=1");
    assert_eq!(send(server.port, "GET", "/ready", "", None).unwrap().status, 200);
}

/// A shell gives the socket the place and the number that a service manager does.
#[test]
fn a_socket_of_the_service_manager_is_used() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let program = Program::new();
    let alloquy = program.command(&["serve"]);
    let descriptor = listener.as_raw_fd();
    // What is duplicated by the shell stays open in the program.
    nix::fcntl::fcntl(&listener, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    let mut shell = Command::new("sh");
    let script = format!("exec 3<&{descriptor}; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve");
    shell.args(["-c", &script]).arg(alloquy.get_program());
    for (name, value) in alloquy.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let child = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let server = Served::of(child);
    assert_eq!(server.port, port);
    drop(listener);
    assert_eq!(send(port, "GET", "/health", "", None).unwrap().status, 200);
}

/// Returns the URL of an empty schema, where there is a PostgreSQL server.
#[cfg(feature = "postgres")]
fn postgres() -> Option<String> {
    let Some(url) = std::env::var("ALLOQUY_TEST_POSTGRES").ok().filter(|url| !url.is_empty()) else {
        eprintln!("skipped: ALLOQUY_TEST_POSTGRES does not say where a server is");
        return None;
    };
    let sign = if url.contains('?') { '&' } else { '?' };
    let number = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    Some(format!("{url}{sign}schema=test_serve_{}_{number}", std::process::id()))
}

#[cfg(feature = "postgres")]
#[test]
fn servers_over_one_database_share_conversations_and_limits() {
    let Some(url) = postgres() else { return };
    let program = Program::new();
    let key = program.run(&["keys", "add", "ann", "--calls-per-minute", "2"]).ok().out.trim_end().to_owned();
    let other_key = program.run(&["keys", "add", "bob"]).ok().out.trim_end().to_owned();
    let bearer = format!("authorization: Bearer {key}\r\n");
    let servers = [(); 2].map(|()| start(&program, &["--store", &url]));
    let [one, other] = servers.each_ref().map(|server| server.port);
    let created = ask(one, &bearer, "What is the capital of Norway?").json();
    let path = format!("/v1/chat/completions/{}", created["id"].as_str().unwrap());
    let read = send(other, "GET", &path, &bearer, None).unwrap().json();
    assert_eq!(read["choices"], created["choices"]);
    let theirs = format!("authorization: Bearer {other_key}\r\n");
    assert_eq!(send(other, "GET", &path, &theirs, None).unwrap().status, 404);
    let change = json!({"metadata": {"city": "Oslo"}});
    assert_eq!(send(other, "POST", &path, &bearer, Some(&change)).unwrap().status, 200);
    let read = send(one, "GET", &path, &bearer, None).unwrap().json();
    assert_eq!(read["metadata"], change["metadata"]);
    // Two calls a minute, on whichever server.
    assert_eq!(ask(other, &bearer, "And of Portugal?").status, 200);
    for port in [one, other] {
        let refused = ask(port, &bearer, "And of Peru?");
        assert_eq!(refused.status, 429, "{refused:?}");
        assert!(refused.header("retry-after").is_some());
    }
    assert_eq!(ask(one, &theirs, "And of Peru?").status, 200);
}

#[cfg(feature = "otlp")]
mod spans {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Receives what is exported until a request for a model's reply is among it.
    fn collected(listener: &TcpListener) -> Vec<Value> {
        let mut spans: Vec<Value> = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
            }
            assert!(head.starts_with("POST /v1/traces "), "{head}");
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap().trim();
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}").unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert!(body.to_string().contains("\"service.name\""), "{body}");
            spans.extend(body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone());
            if spans.len() >= 2 {
                break;
            }
        }
        spans
    }

    #[test]
    fn requests_and_model_calls_are_spans_at_the_collector() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector = format!("http://{}", listener.local_addr().unwrap());
        let program = Program::new().variable("OTEL_EXPORTER_OTLP_ENDPOINT", &collector);
        let collecting = thread::spawn(move || collected(&listener));
        let mut server = start(&program, &[]);
        let trace = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\ntracestate: tea=green\r\n";
        assert_eq!(ask(server.port, trace, "What is the capital of Norway?").status, 200);
        kill(Pid::from_raw(i32::try_from(server.child.id()).unwrap()), Signal::SIGTERM).unwrap();
        let spans = collecting.join().unwrap();
        server.child.wait().unwrap();
        let named = |name: &str| {
            spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{spans:?}"))
        };
        let request = named("POST /v1/chat/completions");
        let call = named("chat pocket");
        assert_eq!(call["parentSpanId"], request["spanId"], "{spans:?}");
        // The request is a part of its client's trace.
        assert_eq!(request["parentSpanId"], "b7ad6b7169203331", "{spans:?}");
        for span in [request, call] {
            assert_eq!(span["traceId"], "0af7651916cd43dd8448eb211c80319c", "{spans:?}");
            assert_eq!(span["traceState"], "tea=green", "{spans:?}");
        }
        assert!(!json!(spans).to_string().contains("Norway"), "{spans:?}");
    }
}

#[test]
fn a_signal_ends_the_server_with_its_log_complete() {
    let program = Program::new();
    let mut server = start(&program, &["--log-format", "json"]);
    ask(server.port, "", "Tea?");
    kill(Pid::from_raw(i32::try_from(server.child.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    for line in server.lines() {
        serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}
