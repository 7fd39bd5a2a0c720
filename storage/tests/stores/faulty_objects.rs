//! An object store whose server fails: what stands before it answers 500 and 503, loses and cuts answers, is slow, says wrong
//! ETags, makes requests twice and lists what was there before.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use alloquy_core::store::ConversationRecord;
use alloquy_core::{ErrorKind, Preface};
use alloquy_storage::open;
use alloquy_testing::Draws;
use pollster::block_on;

use crate::attacks::{rounds, while_writing};
use crate::me;
use crate::servers::buckets;

/// What is done to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fault {
    Error500,
    SlowDown503,
    /// It takes effect, and the answer is an error.
    LostAnswer,
    /// It takes effect, and the connection ends.
    Hangup,
    /// The answer ends in its middle.
    CutBody,
    Slow,
    WrongEtag,
    Twice,
    /// A list is that of some time ago.
    StaleList,
}

const FAULTS: [Fault; 9] = [
    Fault::Error500,
    Fault::SlowDown503,
    Fault::LostAnswer,
    Fault::Hangup,
    Fault::CutBody,
    Fault::Slow,
    Fault::WrongEtag,
    Fault::Twice,
    Fault::StaleList,
];

/// How many lists a stale one may be behind, and for how long: S3 promises none, others some moments.
const STALE: Duration = Duration::from_millis(300);

/// Answers with this fault always, or with any of some in one of so many requests.
#[derive(Clone, Copy)]
enum Plan {
    Always(Fault),
    OneIn(usize),
}

struct Gateway {
    server: String,
    plan: Plan,
    draws: Mutex<Draws>,
    lists: Mutex<HashMap<String, (Instant, Vec<u8>)>>,
    counts: Mutex<HashMap<Fault, usize>>,
    requests: AtomicUsize,
    is_calm: AtomicBool,
}

/// A request or an answer.
struct Message {
    head: String,
    body: Vec<u8>,
}

impl Message {
    fn read(stream: &mut TcpStream, ends: bool) -> Option<Self> {
        let mut bytes = Vec::new();
        let mut piece = [0; 8192];
        loop {
            let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                let head = String::from_utf8_lossy(&bytes[..end + 2]).into_owned();
                let length = field(&head, "content-length").and_then(|length| length.parse::<usize>().ok());
                let body = bytes[end + 4..].to_vec();
                match length {
                    Some(length) if body.len() >= length => return Some(Self { head, body }),
                    None if !ends => return Some(Self { head, body }),
                    _ => {}
                }
            }
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => {
                    let end = end?;
                    let head = String::from_utf8_lossy(&bytes[..end + 2]).into_owned();
                    return Some(Self { head, body: bytes[end + 4..].to_vec() });
                }
                Ok(count) => bytes.extend_from_slice(&piece[..count]),
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        [self.head.as_bytes(), b"\r\n", &self.body].concat()
    }

    fn error(status: &str, code: &str) -> Self {
        let body =
            format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>told to</Message></Error>");
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        Self { head, body: body.into_bytes() }
    }
}

fn field(head: &str, name: &str) -> Option<String> {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The same head, with connections that end after the answer.
fn closing(head: &str) -> String {
    let lines = head.lines().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    lines.map(|line| format!("{line}\r\n")).collect::<String>() + "Connection: close\r\n"
}

impl Gateway {
    fn start(server: &str, plan: Plan) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let gateway = Arc::new(Self {
            server: server.trim_start_matches("http://").to_owned(),
            plan,
            draws: Mutex::default(),
            lists: Mutex::default(),
            counts: Mutex::default(),
            requests: AtomicUsize::new(0),
            is_calm: AtomicBool::new(true),
        });
        let serving = gateway.clone();
        spawn(move || {
            for client in listener.incoming().flatten() {
                let gateway = serving.clone();
                spawn(move || gateway.serve(client));
            }
        });
        (gateway, address)
    }

    fn fault(&self) -> Option<Fault> {
        self.requests.fetch_add(1, Ordering::AcqRel);
        if self.is_calm.load(Ordering::Acquire) {
            return None;
        }
        let mut draws = self.draws.lock().unwrap();
        let fault = match self.plan {
            Plan::Always(fault) => fault,
            Plan::OneIn(many) if draws.below(many) == 0 => FAULTS[draws.below(FAULTS.len())],
            Plan::OneIn(_) => return None,
        };
        *self.counts.lock().unwrap().entry(fault).or_default() += 1;
        Some(fault)
    }

    fn forward(&self, request: &Message) -> Option<Message> {
        let mut server = TcpStream::connect(&self.server).ok()?;
        let head = closing(&request.head);
        server.write_all(&Message { head, body: request.body.clone() }.bytes()).ok()?;
        let mut answer = Message::read(&mut server, true)?;
        answer.head = closing(&answer.head);
        Some(answer)
    }

    fn serve(&self, mut client: TcpStream) {
        let Some(request) = Message::read(&mut client, false) else { return };
        let first = request.head.lines().next().unwrap_or_default().to_owned();
        let is_list = first.starts_with("GET") && first.contains("list-type=2");
        let fault = self.fault();
        let answer = match fault {
            Some(Fault::Error500) => Some(Message::error("500 Internal Server Error", "InternalError")),
            Some(Fault::SlowDown503) => Some(Message::error("503 Slow Down", "SlowDown")),
            Some(Fault::LostAnswer) => {
                self.forward(&request);
                Some(Message::error("500 Internal Server Error", "InternalError"))
            }
            Some(Fault::Hangup) => {
                self.forward(&request);
                None
            }
            Some(Fault::Slow) => {
                sleep(Duration::from_millis(400));
                self.forward(&request)
            }
            Some(Fault::Twice) => {
                self.forward(&request);
                self.forward(&request)
            }
            Some(Fault::StaleList) if is_list => self.earlier(&first).or_else(|| self.forward(&request)),
            _ => self.forward(&request),
        };
        let Some(mut answer) = answer else { return };
        if is_list {
            let mut lists = self.lists.lock().unwrap();
            let is_old = lists.get(&first).is_none_or(|(at, _)| at.elapsed() > STALE);
            if is_old {
                lists.insert(first, (Instant::now(), answer.bytes()));
            }
        }
        if fault == Some(Fault::WrongEtag) {
            let lines = answer.head.lines().map(|line| {
                if line.to_ascii_lowercase().starts_with("etag:") {
                    "ETag: \"00000000000000000000000000000000\"\r\n".to_owned()
                } else {
                    format!("{line}\r\n")
                }
            });
            answer.head = lines.collect();
        }
        let bytes = answer.bytes();
        let shown = if fault == Some(Fault::CutBody) {
            bytes.len() - answer.body.len().div_ceil(2)
        } else {
            bytes.len()
        };
        let _ = client.write_all(&bytes[..shown]);
    }

    /// What the same list was some time ago.
    fn earlier(&self, first: &str) -> Option<Message> {
        let lists = self.lists.lock().unwrap();
        let (at, bytes) = lists.get(first)?;
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").filter(|_| at.elapsed() <= STALE)?;
        let head = String::from_utf8_lossy(&bytes[..end + 2]).into_owned();
        Some(Message { head, body: bytes[end + 4..].to_vec() })
    }
}

fn behind(gateway: &str, url: &str, server: &str) -> String {
    url.replace(server, gateway)
}

#[test]
fn a_faulty_server_of_objects_loses_nothing_acknowledged() {
    let Some(fresh) = buckets() else { return };
    let url = fresh();
    let server = std::env::var("ALLOQUY_TEST_S3").unwrap();
    let (gateway, address) = Gateway::start(&server, Plan::OneIn(6));
    let store = block_on(open(&behind(&address, &url, &server))).unwrap();
    gateway.is_calm.store(false, Ordering::Release);
    let reported = while_writing(store.as_ref(), |reported| {
        sleep(Duration::from_secs(rounds(8) as u64));
        reported.wait_for_more();
    });
    gateway.is_calm.store(true, Ordering::Release);
    let direct = block_on(open(&url)).unwrap();
    let requests = gateway.requests.load(Ordering::Acquire);
    let counts = gateway.counts.lock().unwrap().clone();
    reported.check(direct.as_ref(), &format!("S3, {requests} requests, faults {counts:?}"));
}

#[test]
fn a_server_of_objects_that_always_fails_is_told_in_time() {
    let Some(fresh) = buckets() else { return };
    let server = std::env::var("ALLOQUY_TEST_S3").unwrap();
    std::thread::scope(|scope| {
        for fault in [Fault::Error500, Fault::SlowDown503, Fault::Hangup, Fault::CutBody] {
            let url = fresh();
            let server = &server;
            scope.spawn(move || {
                let (gateway, address) = Gateway::start(server, Plan::Always(fault));
                let store = block_on(open(&behind(&address, &url, server))).unwrap();
                gateway.is_calm.store(false, Ordering::Release);
                let began = Instant::now();
                let id = "tea".parse().unwrap();
                let outcome = block_on(store.create(&me(), &ConversationRecord::new(id, Preface::default())));
                println!("S3 with {fault:?} always: {:.1?}, {outcome:?}", began.elapsed());
                if let Err(error) = outcome {
                    assert_eq!(error.kind(), ErrorKind::Store, "{error:#}");
                    assert!(error.to_string().contains("object store"), "{error:#}");
                }
                assert!(began.elapsed() < Duration::from_secs(180), "{fault:?}");
            });
        }
    });
}
