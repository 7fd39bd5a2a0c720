//! Servers that hang, flood, lie and exit: each call ends in time and in bounded memory, with an error that says what happened.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod hostile;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use alloquy_core::tool::ToolProvider;
use alloquy_core::{ErrorKind, Result};
use alloquy_mcp::{McpLimits, McpServer};
use pollster::block_on;
use serde_json::{Value, json};

/// The environment variable that makes this program a server, and names what it does wrong.
const SCENARIO: &str = "ALLOQUY_MCP_ATTACK";

/// How long a call may take here.
const CALL: Duration = Duration::from_secs(60);

/// This test program is also the server: it is started again for this test alone.
#[test]
fn serves_when_asked() {
    if let Ok(scenario) = std::env::var(SCENARIO) {
        hostile::serve(&scenario);
    }
}

fn connect(scenario: &str, limits: McpLimits) -> Result<McpServer> {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "serves_when_asked", "--nocapture", "--test-threads=2"]).env(SCENARIO, scenario);
    block_on(McpServer::program_within(program, limits))
}

fn limits() -> McpLimits {
    McpLimits::default().start(CALL).call(Some(CALL))
}

fn call(server: &McpServer, arguments: &Value) -> Result<Value> {
    let tool = server.tools().into_iter().find(|tool| tool.spec().name == "call").unwrap();
    block_on(tool.call(arguments))
}

/// Returns the peak memory of this process in MiB.
fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib >> 10)
}

fn eventually(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what} does not come true");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_server_that_cannot_be_connected_to_says_why_in_time() {
    let short = limits().start(Duration::from_secs(2));
    let late = "did not start and list its tools within 2 s";
    let cases = [
        ("silent", short, late),
        ("hangs when it is greeted", short, late),
        ("hangs when it is asked for tools", short, late),
        ("talks before it is asked", short, late),
        ("writes one endless line", short.message(1 << 10), "cannot connect"),
        ("dies at once", limits(), "cannot connect"),
        ("dies when it is greeted", limits(), "cannot connect"),
        ("dies when it is asked for tools", limits(), "cannot connect"),
        (
            "lists pages without an end",
            limits(),
            "its list of tools has more than 1024 pages, which is the limit",
        ),
        ("lists tools without an end", limits(), "it lists more than 1024 tools, which is the limit"),
        (
            "lists a tool of 5 MiB",
            limits(),
            "its list of tools has more than 4194304 bytes, which is the limit",
        ),
        (
            "lists a tool of 20 MiB",
            limits(),
            "the server's answer has more than 16777216 bytes, which is the limit",
        ),
        (
            "lists a schema 100,000 deep",
            limits(),
            "the server's answer cannot be read: recursion limit exceeded",
        ),
        ("lists what is no list", limits(), "cannot connect"),
    ];
    for (scenario, limits, said) in cases {
        let began = Instant::now();
        let error = connect(scenario, limits).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tool, "{scenario}");
        assert!(format!("{error:#}").contains(said), "{scenario}: {error:#}");
        assert!(began.elapsed() < 2 * CALL, "{scenario}: {:?}", began.elapsed());
    }
    println!("{} servers that cannot be connected to", cases.len());
}

#[test]
fn a_call_that_goes_wrong_is_an_error_and_the_next_one_is_answered() {
    let short = limits().call(Some(Duration::from_secs(2)));
    let late = "the server \"hostile\" did not answer within 2 s";
    let too_long = "the server's answer has more than 16777216 bytes, which is the limit";
    let unread = "the server's answer cannot be read: ";
    let cases = [
        ("hangs in a call", short, late),
        ("answers other calls", short, late),
        ("answers with 1 GB", limits(), too_long),
        ("answers with 1 GB, its id last", limits(), too_long),
        ("answers what cannot be read", limits(), unread),
        ("answers in no encoding", limits(), unread),
        ("answers 100,000 deep", limits(), unread),
        ("answers what is no answer", limits(), "the server \"hostile\" did not answer as it should"),
        ("answers an error that is none", limits(), unread),
    ];
    for (scenario, limits, said) in cases {
        let server = connect(scenario, limits).unwrap();
        let began = Instant::now();
        let error = call(&server, &json!({})).unwrap_err();
        assert!(error.to_string().starts_with(said), "{scenario}: {error:#}");
        assert!(began.elapsed() < 2 * CALL, "{scenario}: {:?}", began.elapsed());
        assert!(call(&server, &json!({})).unwrap().as_str().unwrap().contains("heard"), "{scenario}");
    }
    if let Some(most) = most_memory() {
        println!("{} calls that go wrong; the most memory was {most} MiB", cases.len());
        assert!(most < 400, "{most} MiB");
    }
}

#[test]
fn a_server_that_is_gone_is_said_to_be() {
    let cases = [
        ("dies in a call", limits()),
        ("dies in the middle of a line", limits()),
        ("answers without an end", limits().message(1 << 16)),
    ];
    for (scenario, limits) in cases {
        let server = connect(scenario, limits).unwrap();
        for _ in 0..2 {
            let error = call(&server, &json!({})).unwrap_err();
            assert_eq!(
                error.to_string(),
                "the server \"hostile\" is gone, and its tools with it",
                "{scenario}"
            );
        }
        assert!(server.is_closed(), "{scenario}");
    }
    println!("{} servers that are gone", cases.len());
}

#[test]
fn messages_that_were_not_requested_do_no_harm() {
    let answers = [
        ("writes garbage", "well"),
        ("writes errors for ever", "well"),
        ("answers twice", "first"),
        ("tells without an end", "before"),
        ("says 100,000 times that its tools changed", "said"),
        ("asks for what was not offered", "asked"),
    ];
    for (scenario, answer) in answers {
        let server = connect(scenario, limits()).unwrap();
        assert_eq!(call(&server, &json!({})).unwrap(), answer, "{scenario}");
        let second = call(&server, &json!({})).unwrap();
        let second = second.as_str().unwrap();
        let (lists, heard) = second.split_once(" lists, heard ").unwrap();
        match scenario {
            // The list is read now and then, however often the server reports a change.
            "says 100,000 times that its tools changed" => {
                assert!(lists.parse::<usize>().unwrap() < 40, "{lists}");
            }
            "asks for what was not offered" => {
                let heard: Vec<Value> = serde_json::from_str(heard).unwrap();
                let of = |id: &str| heard.iter().find(|answer| answer["id"] == id).unwrap();
                for id in ["q0", "q3"] {
                    assert!(of(id)["error"].is_object(), "{heard:?}");
                }
                assert_eq!(of("q2")["result"], json!({"action": "decline"}), "{heard:?}");
                // There are no roots to list, and a ping is answered.
                assert_eq!(of("q1")["result"], json!({"roots": []}), "{heard:?}");
                assert!(of("q4")["result"].is_object(), "{heard:?}");
            }
            _ => {}
        }
    }
    println!("{} servers that send messages that were not requested", answers.len());
}

#[test]
fn a_server_that_does_not_listen_stops_itself_alone() {
    for (scenario, arguments) in [
        ("asks without listening", json!({})),
        ("stops reading", json!({})),
        ("stops reading", json!({"text": "x".repeat(1 << 20)})),
    ] {
        let server = connect(scenario, limits().call(Some(Duration::from_secs(2)))).unwrap();
        for _ in 0..3 {
            let error = call(&server, &arguments).unwrap_err();
            assert_eq!(error.to_string(), "the server \"hostile\" did not answer within 2 s", "{scenario}");
        }
    }
}

#[test]
fn strange_tools_are_refused_with_a_reason_and_others_are_offered() {
    let server = connect("lists strange tools", limits()).unwrap();
    let offered: Vec<_> = server.tools().iter().map(|tool| tool.spec().name).collect();
    assert_eq!(offered, ["call", "größe/値"]);
    let reasons: Vec<_> = server.refused().into_iter().map(|tool| tool.reason).collect();
    let held = |character: &str| {
        format!("its name holds {character}, and only letters, digits and _ - . / : are allowed")
    };
    assert_eq!(
        reasons,
        [
            "another tool of the server has that name".to_owned(),
            "its name has 0 characters, and 1 to 128 are allowed".to_owned(),
            held("' '"),
            held("'\\u{1b}'"),
            held("'\\u{202e}'"),
            held("'\\n'"),
            held("'<'"),
            "its name has 129 characters, and 1 to 128 are allowed".to_owned(),
            "its schema nests more than 64 deep".to_owned(),
        ]
    );
}

#[test]
fn tools_that_change_midway_are_those_of_the_next_turn() {
    let server = connect("changes its tools", limits()).unwrap();
    let before = server.tools();
    assert_eq!(call(&server, &json!({})).unwrap(), "changed");
    eventually("the change", || server.tools().iter().map(|tool| tool.spec().name).eq(["other"]));
    // A turn that began before the change calls the tool that it was offered, and the server answers.
    assert!(block_on(before[0].call(&json!({}))).unwrap().as_str().unwrap().contains("heard"));
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_that_was_started_is_left() {
    let state = |process: &Value| {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        status.rsplit_once(") ")?.1.chars().next()
    };
    for round in 0..20 {
        let server = connect("starts a program", limits()).unwrap();
        let processes = call(&server, &json!({})).unwrap();
        assert!(state(&processes[0]).is_some() && state(&processes[1]).is_some());
        drop(server);
        eventually("the end of the server, which is no zombie either", || state(&processes[0]).is_none());
        // The process that it started is reaped by init.
        eventually("the end of what it started", || matches!(state(&processes[1]), None | Some('Z' | 'X')));
        assert!(round < 20);
    }
    // The same holds for a program that is dropped before the connection is made.
    let zombies = || {
        let children = std::fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id()));
        let children = children.unwrap_or_default();
        children
            .split_whitespace()
            .filter(|child| state(&json!(child.parse::<u32>().unwrap())) == Some('Z'))
            .count()
    };
    drop(connect("silent", limits().start(Duration::from_millis(200))).unwrap_err());
    eventually("that there are no zombies", || zombies() == 0);
    println!("20 servers ended, and what they had started");
}

/// What an address answers to every request.
type Answer = fn(&mut TcpStream, SocketAddr) -> std::io::Result<()>;

/// Serves on a thread, and returns the address and a count of the requests.
fn address(answer: Answer, other: SocketAddr) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().take(1_000) {
            let mut stream = stream.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || {
                let mut bytes = [0; 4_096];
                let _ = stream.read(&mut bytes);
                let _ = answer(&mut stream, other);
            });
        }
    });
    (address, count)
}

fn whole(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn endless(stream: &mut TcpStream, kind: &str, begin: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{begin}\r\n",
        begin.len()
    )?;
    loop {
        write!(stream, "10000\r\n{}\r\n", "x".repeat(0x10000))?;
    }
}

#[test]
fn an_address_that_does_not_answer_as_it_should_is_an_error_in_time() {
    let answers: [(&str, Answer); 16] = [
        ("500", |stream, _| whole(stream, "500 Internal Server Error", "text/plain", "no")),
        ("500 with much to say", |stream, _| {
            whole(stream, "500 Internal Server Error", "application/json", &"x".repeat(1 << 22))
        }),
        ("503", |stream, _| whole(stream, "503 Service Unavailable", "text/html", "<html>")),
        ("429", |stream, _| whole(stream, "429 Too Many Requests", "text/plain", "later")),
        ("401", |stream, _| whole(stream, "401 Unauthorized", "text/plain", "no")),
        ("404", |stream, _| whole(stream, "404 Not Found", "text/plain", "no")),
        ("html", |stream, _| whole(stream, "200 OK", "text/html", "<html></html>")),
        ("no json", |stream, _| whole(stream, "200 OK", "application/json", "{")),
        ("deep json", |stream, _| whole(stream, "200 OK", "application/json", &"[".repeat(100_000))),
        ("empty", |stream, _| whole(stream, "200 OK", "application/json", "")),
        ("an endless body", |stream, _| endless(stream, "application/json", "{\"jsonrpc\":\"2.0\",\"x\":\"")),
        ("an endless event", |stream, _| endless(stream, "text/event-stream", "data: ")),
        ("nothing", |_, _| {
            std::thread::sleep(Duration::from_secs(30));
            Ok(())
        }),
        ("a byte now and then", |stream, _| {
            write!(stream, "HTTP/1.1 200 OK\r\n")?;
            for _ in 0..100 {
                write!(stream, "X: 1\r\n")?;
                std::thread::sleep(Duration::from_millis(300));
            }
            Ok(())
        }),
        ("an endless head", |stream, _| {
            write!(stream, "HTTP/1.1 200 OK\r\n")?;
            loop {
                write!(stream, "X: {}\r\n", "x".repeat(1_000))?;
            }
        }),
        ("no http", |stream, _| stream.write_all(&[0; 100])),
    ];
    let nobody = "127.0.0.1:9".parse().unwrap();
    for (name, answer) in answers {
        let (address, _) = address(answer, nobody);
        let began = Instant::now();
        let server = block_on(McpServer::http_within(
            format!("http://{address}/mcp").as_str(),
            limits().start(Duration::from_secs(4)),
        ));
        let error = server.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tool, "{name}");
        assert!(began.elapsed() < CALL, "{name}: {:?}", began.elapsed());
        println!("{name}: {error:#}");
    }
    println!(
        "{} addresses that do not answer as they should; the most memory was {:?} MiB",
        answers.len(),
        most_memory()
    );
}

#[test]
fn requests_are_not_sent_on_to_another_host() {
    let (elsewhere, hits) = address(
        |stream, _| whole(stream, "200 OK", "application/json", "{}"),
        "127.0.0.1:9".parse().unwrap(),
    );
    let answers: [Answer; 4] = [
        |stream, other| {
            write!(
                stream,
                "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{other}/\r\nContent-Length: 0\r\n\r\n"
            )
        },
        |stream, other| {
            write!(
                stream,
                "HTTP/1.1 308 Permanent Redirect\r\nLocation: http://{other}/\r\nContent-Length: 0\r\n\r\n"
            )
        },
        |stream, other| {
            write!(stream, "HTTP/1.1 302 Found\r\nLocation: http://{other}/\r\nContent-Length: 0\r\n\r\n")
        },
        |stream, other| {
            write!(
                stream,
                "HTTP/1.1 301 Moved\r\nLocation: //localhost:{}/\r\nContent-Length: 0\r\n\r\n",
                other.port()
            )
        },
    ];
    for answer in answers {
        let (address, count) = address(answer, elsewhere);
        let error =
            block_on(McpServer::http_within(format!("http://{address}/mcp").as_str(), limits())).unwrap_err();
        assert!(format!("{error:#}").contains("unexpected server response: HTTP 30"), "{error:#}");
        assert!(count.load(Ordering::SeqCst) > 0);
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
    let (round, count) = address(
        |stream, _| {
            write!(
                stream,
                "HTTP/1.1 307 Temporary Redirect\r\nLocation: /round\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
        },
        elsewhere,
    );
    let error =
        block_on(McpServer::http_within(format!("http://{round}/mcp").as_str(), limits())).unwrap_err();
    assert!(format!("{error:#}").contains("unexpected server response: HTTP 307"), "{error:#}");
    assert!(count.load(Ordering::SeqCst) <= 24);
}
