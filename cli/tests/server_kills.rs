//! Two servers over one PostgreSQL database, one of which is killed over and over: what a client was answered is never lost, and each
//! conversation continues on the other server.
//!
//! A plain test run kills a few; `cargo xtask torture serve` says in the environment how many, and whether each server has a network
//! namespace of its own. It says when it skips.
#![cfg(all(feature = "pocket", feature = "postgres", unix))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod http;
#[cfg(target_os = "linux")]
mod namespaces;
mod program;
#[allow(dead_code)] // each test file uses its part
mod shared;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use http::{Answer, Served, send_to};
#[cfg(target_os = "linux")]
use namespaces::Namespace;
use program::Program;
use serde_json::{Value, json};

/// What the environment says to the test.
const KILLS: &str = "ALLOQUY_TORTURE_KILLS";
const CONVERSATIONS: &str = "ALLOQUY_TORTURE_CONVERSATIONS";
const POSTGRES: &str = "ALLOQUY_TEST_POSTGRES";
#[cfg(target_os = "linux")]
const NAMESPACES: &str = "ALLOQUY_TORTURE_NAMESPACES";

/// How many servers a plain test run kills, and over how many conversations.
const FEW: (usize, usize) = (3, 24);

/// How many clients ask at once.
const CLIENTS: usize = 4;

/// How often each conversation is continued while servers are killed.
const TURNS: usize = 2;

/// How long a server lives before it is killed, at least and at most, in milliseconds.
const LIFE: (u64, u64) = (1500, 4000);

/// How long a client tries. A server that is killed is started again within a second.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn killed_servers_over_one_database() {
    let Some(url) = database() else { return };
    torture(&Cluster::on_loopback(&url), FEW.0, FEW.1);
}

#[cfg(target_os = "linux")]
#[test]
fn killed_servers_in_namespaces() {
    let Some(url) = database() else { return };
    // A probe: only root may create one.
    match Namespace::new(2) {
        Ok(_) => torture(&Cluster::in_namespaces(&url), 2, 8),
        Err(error) => eprintln!("skipped: {error}"),
    }
}

#[test]
fn killed_servers_as_the_environment_says() {
    let (Ok(kills), Ok(conversations)) = (std::env::var(KILLS), std::env::var(CONVERSATIONS)) else {
        return eprintln!("skipped: {KILLS} and {CONVERSATIONS} say no numbers");
    };
    let Some(url) = database() else { return };
    torture(&cluster(&url), kills.parse().unwrap(), conversations.parse().unwrap());
}

/// Returns the servers as the environment says.
fn cluster(url: &str) -> Cluster {
    #[cfg(target_os = "linux")]
    if std::env::var_os(NAMESPACES).is_some() {
        return Cluster::in_namespaces(url);
    }
    Cluster::on_loopback(url)
}

/// Returns the URL of a schema of this run.
fn database() -> Option<String> {
    let Some(url) = std::env::var(POSTGRES).ok().filter(|url| !url.is_empty()) else {
        eprintln!("skipped: {POSTGRES} does not say where a server is");
        return None;
    };
    let sign = if url.contains('?') { '&' } else { '?' };
    let number = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    Some(format!("{url}{sign}schema=torture_{}_{number}", std::process::id()))
}

/// A number that looks random and is the same in each run.
fn random(number: usize, limit: usize) -> usize {
    let mixed = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::try_from((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33).unwrap() % limit
}

/// What a client was answered, and must find again.
struct Acknowledged {
    path: String,
    /// The text of the reply, and the metadata that were set last.
    text: Value,
    metadata: Value,
}

/// What happened, and what was wrong.
#[derive(Default)]
struct Figures {
    kills: AtomicUsize,
    requests: AtomicUsize,
    /// Requests without a whole answer, which their client sent again.
    cut: AtomicUsize,
    /// Requests that a server refused although they are right.
    refused: AtomicUsize,
    acknowledged: AtomicUsize,
    /// Conversations that were continued on the other server.
    continued: AtomicUsize,
    lost: AtomicUsize,
    different: AtomicUsize,
    stuck: AtomicUsize,
    /// The first answers that were wrong.
    examples: Mutex<Vec<String>>,
}

impl Figures {
    fn count(&self, counter: &AtomicUsize, example: impl fmt::Display) {
        counter.fetch_add(1, Ordering::Relaxed);
        let mut examples = self.examples.lock().unwrap_or_else(PoisonError::into_inner);
        if examples.len() < 5 {
            examples.push(example.to_string());
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        write!(
            formatter,
            "{} kills: {} requests, {} of them cut and sent again, {} answers acknowledged, {} conversations continued on the other \
             server; {} lost, {} different, {} refused, {} stuck",
            of(&self.kills),
            of(&self.requests),
            of(&self.cut),
            of(&self.acknowledged),
            of(&self.continued),
            of(&self.lost),
            of(&self.different),
            of(&self.refused),
            of(&self.stuck),
        )
    }
}

/// Where one server runs.
struct Place {
    address: SocketAddr,
    /// The database as the server reaches it.
    store: String,
    #[cfg(target_os = "linux")]
    namespace: Option<Namespace>,
}

/// The places of the two servers.
struct Cluster {
    program: Program,
    places: [Place; 2],
    /// The header with the key, where servers need one.
    key: String,
}

impl Cluster {
    fn on_loopback(url: &str) -> Self {
        // Both are held until both are known, so that they differ.
        let free = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        let places = free.each_ref().map(|listener| Place {
            address: listener.local_addr().unwrap(),
            store: url.to_owned(),
            #[cfg(target_os = "linux")]
            namespace: None,
        });
        Self { program: Program::new(), places, key: String::new() }
    }

    /// Puts each server into a namespace of its own, whose one link reaches the database and the clients.
    #[cfg(target_os = "linux")]
    fn in_namespaces(url: &str) -> Self {
        let (database, _) = url.split_once('@').unwrap().1.split_once('/').unwrap();
        let places = [0, 1].map(|number| {
            let namespace = Namespace::new(number).unwrap();
            let seen = namespace.forward(database.parse().unwrap()).unwrap();
            Place {
                address: SocketAddr::from((namespace.address(), 8080)),
                store: url.replacen(database, &seen.to_string(), 1),
                namespace: Some(namespace),
            }
        });
        let program = Program::new();
        // Addresses that other machines could reach need keys.
        let keys = program.run(&["keys", "add", "ann", "--keys", "keys.json"]).ok();
        let key = format!("authorization: Bearer {}\r\n", keys.out.trim());
        Self { program, places, key }
    }

    fn start(&self, which: usize) -> Served {
        let place = &self.places[which];
        let bind = place.address.to_string();
        let mut arguments = vec![
            "serve",
            "--model",
            "pocket",
            "--store",
            &place.store,
            "--bind",
            &bind,
            "--concurrent",
            "64",
        ];
        if !self.key.is_empty() {
            arguments.extend(["--keys", "keys.json"]);
        }
        #[cfg(target_os = "linux")]
        if let Some(namespace) = &place.namespace {
            let mut command = namespace.command(&self.program.command(&arguments));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            return Served::of(command.spawn().unwrap());
        }
        Served::of(self.program.spawn(&arguments))
    }

    /// Sends a request to one server, once.
    fn send(&self, which: usize, method: &str, path: &str, body: Option<&Value>) -> std::io::Result<Answer> {
        send_to(self.places[which].address, method, path, &self.key, body)
    }

    /// Sends a request to a server, and to the other one in turn where it gets no whole answer. What a cut attempt has stored stays, as
    /// an answer that nobody was given.
    fn ask(
        &self,
        figures: &Figures,
        first: usize,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Option<Answer> {
        let start = Instant::now();
        let mut which = first;
        while start.elapsed() < PATIENCE {
            figures.requests.fetch_add(1, Ordering::Relaxed);
            match self.send(which, method, path, body) {
                Ok(answer) if answer.status == 200 => return Some(answer),
                // A server that has lost its connections to the database says so once.
                Ok(answer) if answer.status >= 500 || answer.status == 429 => {
                    figures.cut.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(100));
                }
                Ok(answer) => {
                    figures.count(&figures.refused, format_args!("{method} {path}: {answer:?}"));
                    return None;
                }
                Err(_) => {
                    figures.cut.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(50));
                }
            }
            which = 1 - which;
        }
        figures.count(&figures.stuck, format_args!("{method} {path}"));
        None
    }
}

/// The protocol by which conversations are continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// Responses: each names the one before it.
    Responses,
    /// Chat Completions, where a server has no Responses: the metadata of each are changed, and the messages are sent again.
    Completions,
}

impl Protocol {
    fn of(cluster: &Cluster) -> Self {
        let asked = cluster.send(0, "POST", "/v1/responses", Some(&json!({}))).unwrap();
        if asked.status == 404 { Self::Completions } else { Self::Responses }
    }

    fn question(number: usize, turn: usize) -> String {
        format!("Question {turn} of {number}: what is {number} plus {turn}?")
    }

    /// Asks the first or a further question of a conversation, and returns what was answered.
    fn turn(
        self,
        cluster: &Cluster,
        figures: &Figures,
        which: usize,
        number: usize,
        before: &[Acknowledged],
    ) -> Option<Acknowledged> {
        let question = Self::question(number, before.len());
        let (path, body) = match self {
            Self::Responses => {
                let mut body =
                    json!({"model": "pocket", "input": question, "store": true, "max_output_tokens": 4});
                if let Some(last) = before.last() {
                    body["previous_response_id"] = json!(last.path.rsplit('/').next());
                }
                ("/v1/responses", body)
            }
            Self::Completions => {
                let mut messages = Vec::new();
                for (turn, answer) in before.iter().enumerate() {
                    messages.push(json!({"role": "user", "content": Self::question(number, turn)}));
                    messages.push(json!({"role": "assistant", "content": answer.text}));
                }
                messages.push(json!({"role": "user", "content": question}));
                (
                    "/v1/chat/completions",
                    json!({"model": "pocket", "messages": messages, "store": true, "max_tokens": 4}),
                )
            }
        };
        let answer = cluster.ask(figures, which, "POST", path, Some(&body))?.json();
        figures.acknowledged.fetch_add(1, Ordering::Relaxed);
        let path = format!("{path}/{}", answer["id"].as_str().unwrap());
        let mut acknowledged = Acknowledged { path, text: self.text(&answer), metadata: json!({}) };
        if self == Self::Completions {
            let metadata = json!({"number": number.to_string()});
            let change = json!({"metadata": metadata});
            cluster.ask(figures, 1 - which, "POST", &acknowledged.path, Some(&change))?;
            acknowledged.metadata = metadata;
        }
        Some(acknowledged)
    }

    /// Returns what of an answer must be found again.
    fn text(self, answer: &Value) -> Value {
        match self {
            Self::Responses => answer["output"].clone(),
            Self::Completions => answer["choices"][0]["message"]["content"].clone(),
        }
    }
}

/// Kills one server after the other until so many were killed and all clients are done.
fn kill(
    cluster: &Cluster,
    servers: [Served; 2],
    kills: usize,
    are_done: &AtomicBool,
    figures: &Figures,
) -> [Served; 2] {
    let mut servers = servers.map(Some);
    for number in 0.. {
        if number >= kills && are_done.load(Ordering::Relaxed) {
            break;
        }
        if number >= kills {
            thread::sleep(Duration::from_millis(100));
            continue;
        }
        let span = usize::try_from(LIFE.1 - LIFE.0).unwrap();
        thread::sleep(Duration::from_millis(LIFE.0 + random(number, span) as u64));
        let which = random(number + 1000, 2);
        // Dropping it kills the process, which finishes nothing.
        servers[which] = None;
        figures.kills.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(random(number, 300) as u64));
        servers[which] = Some(cluster.start(which));
    }
    servers.map(Option::unwrap)
}

/// Holds conversations until there are enough and enough servers were killed, and returns what was answered by conversation.
fn hold(
    cluster: &Cluster,
    protocol: Protocol,
    conversations: usize,
    kills: usize,
    figures: &Figures,
) -> BTreeMap<usize, Vec<Acknowledged>> {
    let next = AtomicUsize::new(0);
    let held = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    // Conversations are held for as long as servers are killed.
                    let is_over = figures.kills.load(Ordering::Relaxed) >= kills;
                    if number >= conversations && is_over {
                        return;
                    }
                    let mut answers = Vec::new();
                    for turn in 0..=TURNS {
                        let which = random(number * 7 + turn, 2);
                        answers.extend(protocol.turn(cluster, figures, which, number, &answers));
                    }
                    held.lock().unwrap().insert(number, answers);
                }
            });
        }
    });
    held.into_inner().unwrap()
}

/// Looks for everything that was answered, on both servers, and continues each conversation on the server that did not answer last.
fn verify(
    cluster: &Cluster,
    protocol: Protocol,
    held: &BTreeMap<usize, Vec<Acknowledged>>,
    figures: &Figures,
) {
    for (number, answers) in held {
        for (turn, answer) in answers.iter().enumerate() {
            let found = cluster.send((number + turn) % 2, "GET", &answer.path, None).unwrap();
            if found.status != 200 {
                figures.count(&figures.lost, format_args!("{}: {found:?}", answer.path));
                continue;
            }
            let found = found.json();
            let has_metadata = protocol == Protocol::Responses || found["metadata"] == answer.metadata;
            let is_same = has_metadata && protocol.text(&found) == answer.text;
            if !is_same {
                figures.count(
                    &figures.different,
                    format_args!("{}: {} and then {found}", answer.path, answer.text),
                );
            }
        }
        let last = random(number * 7 + answers.len() - 1, 2);
        if protocol.turn(cluster, figures, 1 - last, *number, answers).is_some() {
            figures.continued.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn torture(cluster: &Cluster, kills: usize, conversations: usize) {
    let servers = [cluster.start(0), cluster.start(1)];
    let protocol = Protocol::of(cluster);
    let figures = Figures::default();
    let are_done = AtomicBool::new(false);
    let (held, servers) = thread::scope(|scope| {
        let killing = scope.spawn(|| kill(cluster, servers, kills, &are_done, &figures));
        let held = hold(cluster, protocol, conversations, kills, &figures);
        are_done.store(true, Ordering::Relaxed);
        (held, killing.join().unwrap())
    });
    verify(cluster, protocol, &held, &figures);
    drop(servers);
    println!("torture serve, {protocol:?}, {} conversations, {figures}", held.len());
    let examples = figures.examples.lock().unwrap();
    let wrong = [&figures.lost, &figures.different, &figures.refused, &figures.stuck];
    let wrong: usize = wrong.iter().map(|counter| counter.load(Ordering::Relaxed)).sum();
    assert_eq!(wrong, 0, "{figures}: {examples:?}");
    assert!(held.values().all(|answers| answers.len() == TURNS + 1));
    assert_eq!(figures.continued.load(Ordering::Relaxed), held.len());
}
