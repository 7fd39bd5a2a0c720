//! Replies that are dropped with everything around them: a manager for each request, its runtime, its store, its process.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::manager::NewConversation;
use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::tree::NodeStatus;
use alloquy_core::{Conversation, ConversationManager, Manager, Owner, Preface, Turn, TurnEvent};
use alloquy_storage::{BucketStore, SqliteStore, open};
use alloquy_testing::{EchoModel, laws::store::count_kept};
use futures::StreamExt;
use pollster::block_on;

use crate::Places;
use crate::servers::{buckets, postgres};

/// The arguments of a child: the store, and the number of its first request.
const URL: &str = "ALLOQUY_STORAGE_TEST_URL";
const FIRST: &str = "ALLOQUY_STORAGE_TEST_FIRST";

const QUESTION: &str = "one two three four five six";

/// Every kind of place that needs no server, and the servers that there are.
fn urls(places: &Places) -> Vec<String> {
    let mut urls = vec![
        format!("file:{}", places.next().display()),
        format!("file:{}?durability=crash", places.next().display()),
        format!("sqlite:{}", places.next().display()),
    ];
    urls.extend(postgres().map(|fresh| fresh()));
    urls.extend(buckets().map(|fresh| fresh()));
    urls
}

fn manager(store: Arc<dyn ConversationStore>, number: usize) -> Manager {
    let owner: Owner = format!("client {number}").parse().unwrap();
    Manager::builder(EchoModel).store(store).owner(owner).build().unwrap()
}

/// Serves a request whose client goes after some words: everything that was made for it is dropped.
async fn request(store: Arc<dyn ConversationStore>, number: usize) {
    drop(begun(&manager(store, number), number).await);
}

/// Takes a turn up to some word.
async fn begun(manager: &Manager, number: usize) -> Turn {
    let new = NewConversation::from(Preface::default()).id("chat".parse().unwrap());
    let conversation = manager.create(new).await.unwrap();
    let mut turn = conversation.send(QUESTION);
    let mut words = 0;
    while words <= number % 4 {
        words += usize::from(matches!(turn.next().await.unwrap(), Ok(TurnEvent::Delta(_))));
    }
    turn
}

async fn conversation(store: Arc<dyn ConversationStore>, number: usize) -> Conversation {
    manager(store, number).open(&"chat".parse().unwrap()).await.unwrap()
}

/// Says whether question and interrupted answer are on the path to the head.
async fn is_kept(conversation: &Conversation) -> bool {
    let history = conversation.history().await.unwrap();
    let [question, reply] = history.as_slice() else { return false };
    let said = reply.message.text();
    question.message.text() == QUESTION
        && reply.status == NodeStatus::Interrupted
        && !said.is_empty()
        && QUESTION.starts_with(&said)
}

#[test]
fn of_a_hundred_dropped_replies_every_store_keeps_a_hundred() {
    let places = Places::new();
    let objects = block_on(BucketStore::in_folder(places.next())).unwrap();
    let mut stores: Vec<(String, Arc<dyn ConversationStore>)> = vec![
        ("memory".to_owned(), Arc::new(MemoryStore::default())),
        ("objects in a folder".to_owned(), Arc::new(objects)),
    ];
    for url in urls(&places) {
        let store = block_on(open(&url)).unwrap();
        stores.push((url, store));
    }
    for (name, store) in stores {
        let kept = block_on(count_kept(&store, 100));
        println!("{name}: {kept} of 100 dropped replies are kept");
        assert_eq!(kept, 100, "{name}");
    }
}

#[test]
fn replies_are_kept_that_are_dropped_with_their_store_and_their_runtime() {
    let places = Places::new();
    for url in urls(&places) {
        for number in 0..100 {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            // The task is ended where it is, in the middle of an answer, and nothing of this runtime polls behind that.
            let (parked, waiting) = futures::channel::oneshot::channel();
            runtime.spawn(park(url.clone(), number, parked));
            runtime.block_on(waiting).unwrap();
            drop(runtime);
            let store = block_on(open(&url)).unwrap();
            assert!(block_on(async { is_kept(&conversation(store, number).await).await }), "{url}, {number}");
        }
    }
}

#[test]
fn a_runtime_does_not_wait_for_a_store_that_is_dropped_on_its_thread() {
    let places = Places::new();
    let path = places.next();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let blocker = rusqlite::Connection::open(&path).unwrap();
    runtime.block_on(async {
        let store: Arc<dyn ConversationStore> = Arc::new(SqliteStore::open(&path).await.unwrap());
        let manager = manager(store, 0);
        let turn = begun(&manager, 3).await;
        blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
        // The thread of the store waits for the lock of this one, which would be held until it gave up.
        drop((turn, manager));
        blocker.execute_batch("COMMIT").unwrap();
        let store = Arc::new(SqliteStore::open(&path).await.unwrap());
        assert!(is_kept(&conversation(store, 0).await).await);
    });
}

/// Holds a store, a manager and a turn that has said some words, for ever.
async fn park(url: String, number: usize, parked: futures::channel::oneshot::Sender<()>) {
    let store = open(&url).await.unwrap();
    let _turn = begun(&manager(store, number), number).await;
    parked.send(()).unwrap();
    futures::future::pending::<()>().await;
}

#[test]
fn killed_processes_keep_every_dropped_reply_that_was_acknowledged() {
    let places = Places::new();
    for url in urls(&places) {
        let mut acknowledged = Vec::new();
        let mut kills = 0_u64;
        let mut begun = 0;
        while acknowledged.len() < 100 {
            acknowledged.extend(killed(&url, begun, kills));
            kills += 1;
            begun += 1000;
            assert!(kills < 200, "{url}: {} acknowledged in {kills} processes", acknowledged.len());
        }
        let store = block_on(open(&url)).unwrap();
        let kept = acknowledged.iter().filter(|&&number| {
            let store = Arc::clone(&store);
            block_on(async { is_kept(&conversation(store, number).await).await })
        });
        let kept = kept.count();
        println!(
            "{url}: {kept} of {} acknowledged replies are kept behind {kills} kills",
            acknowledged.len()
        );
        assert_eq!(kept, acknowledged.len(), "{url}");
    }
}

/// Starts a process that serves requests and kills it; returns what it acknowledged.
fn killed(url: &str, first: usize, kill: u64) -> Vec<usize> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "dropped::server", "--ignored", "--nocapture"]);
    command.env(URL, url).env(FIRST, first.to_string());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut heard = Vec::new();
    for line in lines.by_ref() {
        heard.extend(number_of(&line.unwrap()));
        if !heard.is_empty() {
            break;
        }
    }
    // Anywhere in the requests that follow.
    std::thread::sleep(Duration::from_micros(kill * 7919 % 60_000));
    child.kill().unwrap();
    for line in lines {
        heard.extend(number_of(&line.unwrap()));
    }
    assert!(!child.wait().unwrap().success(), "it was killed");
    heard
}

/// The test harness says things of its own, and a killed child may end within a line.
fn number_of(line: &str) -> Option<usize> {
    line.strip_prefix("kept ")?.strip_suffix(" .")?.parse().ok()
}

/// Serves requests whose clients go, and says of each that its reply is kept once the store says so.
#[test]
#[ignore = "another test starts it as a process of its own"]
fn server() {
    let Ok(url) = std::env::var(URL) else {
        return println!("skipped: {URL} is not set, another test sets it");
    };
    let first: usize = std::env::var(FIRST).unwrap().parse().unwrap();
    block_on(async {
        let store = open(&url).await.unwrap();
        for number in first.. {
            request(Arc::clone(&store), number).await;
            // Reading it is what acknowledges it.
            assert!(is_kept(&conversation(Arc::clone(&store), number).await).await);
            let mut output = std::io::stdout();
            writeln!(output, "kept {number} .").unwrap();
            output.flush().unwrap();
        }
    });
}
