//! Writers that are killed at random moments: nothing that they acknowledged is lost, nothing is there by half.
//!
//! A plain test run kills a few; `cargo xtask torture` says in the environment which store, and how many.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::tree::Tree;
use alloquy_core::{Content, ConversationId, Media, Message, Node, NodeId, Preface, Query, Role};
use alloquy_storage::open;
use pollster::block_on;

use crate::raw::duplicates;
use crate::servers::{buckets, postgres};
use crate::{Places, me};

/// What the environment says to the test, and the test to the writer.
const STORE: &str = "ALLOQUY_TORTURE_STORE";
const KILLS: &str = "ALLOQUY_TORTURE_KILLS";
const URL: &str = "ALLOQUY_TORTURE_URL";
const CHAT: &str = "ALLOQUY_TORTURE_CHAT";

/// What is done to a store: how many writers are killed, how many of them in one conversation, and within how many
/// milliseconds after they began to write.
struct Plan {
    kills: u64,
    in_one: u64,
    longest: u64,
}

const FEW: Plan = Plan { kills: 30, in_one: 15, longest: 30 };

#[test]
fn killed_writers_of_files() {
    let places = Places::new();
    println!("{}", torture(&format!("file:{}", places.next().display()), &FEW));
}

#[test]
fn killed_writers_of_files_that_do_not_wait_for_the_disk() {
    let places = Places::new();
    println!("{}", torture(&format!("file:{}?durability=crash", places.next().display()), &FEW));
}

#[test]
fn killed_writers_of_a_database() {
    let places = Places::new();
    println!("{}", torture(&format!("sqlite:{}", places.next().display()), &FEW));
}

#[test]
fn killed_writers_of_what_the_environment_names() {
    let Ok(store) = std::env::var(STORE) else {
        return eprintln!("skipped: {STORE} names no store");
    };
    let places = Places::new();
    // A request to a server takes its time, and an object is read with a request of its own.
    let (url, in_one, longest) = match store.as_str() {
        "file" | "sqlite" => (Some(format!("{store}:{}", places.next().display())), 25, 60),
        "postgres" => (postgres().map(|fresh| fresh()), 25, 80),
        "s3" => (buckets().map(|fresh| fresh()), 10, 300),
        _ => (None, 1, 1),
    };
    let url = url.unwrap_or_else(|| panic!("{store:?} is no store, or its server is missing"));
    let kills = std::env::var(KILLS).unwrap().parse().unwrap();
    println!("torture {store}: {}", torture(&url, &Plan { kills, in_one, longest }));
}

/// What writers acknowledged, by conversation, and what was wrong.
#[derive(Default)]
struct Figures {
    kills: u64,
    together: u64,
    said: BTreeMap<String, Said>,
    nodes: usize,
    lost: usize,
    dangling: usize,
    duplicate: usize,
    broken: usize,
}

#[derive(Default)]
struct Said {
    nodes: HashSet<NodeId>,
    heads: Vec<NodeId>,
    blobs: BTreeSet<Digest>,
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |count: fn(&Said) -> usize| self.said.values().map(count).sum::<usize>();
        write!(
            formatter,
            "{} kills, {} of them of two writers at once; acknowledged {} nodes, {} moves of the head, {} blobs; \
            {} nodes found; {} acknowledged lost, {} dangling parents, {} duplicate nodes, {} blobs not whole",
            self.kills,
            self.together,
            sum(|said| said.nodes.len()),
            sum(|said| said.heads.len()),
            sum(|said| said.blobs.len()),
            self.nodes,
            self.lost,
            self.dangling,
            self.duplicate,
            self.broken
        )
    }
}

/// Starts writers, one or two at a time, and kills them.
fn torture(url: &str, plan: &Plan) -> Figures {
    let mut figures = Figures { kills: plan.kills, ..Figures::default() };
    let mut killed = 0;
    while killed < plan.kills {
        let conversation = format!("chat-{}", killed / plan.in_one);
        let writers = (1 + killed % 3 / 2).min(plan.kills - killed);
        let heard: Vec<Vec<String>> = std::thread::scope(|scope| {
            let kill = |number| {
                let conversation = &conversation;
                scope.spawn(move || start_and_kill(url, conversation, number, plan.longest))
            };
            let writers: Vec<_> = (killed..killed + writers).map(kill).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let said = figures.said.entry(conversation.clone()).or_default();
        heard.iter().flatten().for_each(|line| said.note(line));
        figures.together += if writers == 2 { 2 } else { 0 };
        killed += writers;
        block_on(figures.check(url, &conversation));
    }
    figures.finish(url);
    let wrong = figures.lost + figures.dangling + figures.duplicate + figures.broken;
    assert_eq!(wrong, 0, "{figures}");
    assert!(
        figures.said.values().map(|said| said.nodes.len() as u64).sum::<u64>() > plan.kills / 2,
        "{figures}"
    );
    figures
}

/// Starts a writer, kills it, and returns what it had said.
fn start_and_kill(url: &str, conversation: &str, number: u64, longest: u64) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "torture::writer", "--ignored", "--nocapture"])
        .env(URL, url)
        .env(CHAT, conversation);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut heard = Vec::new();
    // Some are killed while they open the store, the others while they write.
    if !number.is_multiple_of(8) {
        for line in lines.by_ref() {
            let is_said = line.split_once(' ').is_some_and(|(what, id)| what == "blob" && id.len() == 64);
            heard.push(line);
            if is_said {
                break;
            }
        }
    }
    let random = RandomState::new().hash_one(number);
    std::thread::sleep(Duration::from_micros(random % (longest * 1000)));
    child.kill().unwrap();
    heard.extend(lines);
    assert!(!child.wait().unwrap().success(), "a writer ended by itself: {heard:?}");
    heard
}

impl Said {
    /// The test harness says things of its own, and a killed writer may end within a line.
    fn note(&mut self, line: &str) {
        match line.split_once(' ') {
            Some(("node", id)) => self.nodes.extend(id.parse::<NodeId>().ok()),
            Some(("head", id)) => self.heads.extend(id.parse::<NodeId>().ok()),
            Some(("blob", digest)) => self.blobs.extend(digest.parse::<Digest>().ok()),
            _ => {}
        }
    }
}

impl Figures {
    /// Opens the store anew and looks at one conversation; returns its tree, unless nothing was acknowledged.
    async fn check(&mut self, url: &str, conversation: &str) -> Option<Tree> {
        let store = open(url).await.unwrap();
        let said = self.said.get(conversation)?;
        let loaded = store.load(&me(), &conversation.parse().unwrap()).await;
        let (record, tree) = match loaded {
            Err(error) if error.is_not_found() && said.nodes.is_empty() => return None,
            loaded => loaded.unwrap(),
        };
        self.lost += said.nodes.iter().filter(|&&id| tree.node(id).is_err()).count();
        let path: HashSet<NodeId> = tree.path(record.head).unwrap().iter().map(|node| node.id).collect();
        self.lost += said.heads.iter().filter(|head| !path.contains(head)).count();
        self.dangling += dangling(&tree);
        Some(tree)
    }

    /// Looks at everything once more, with every blob, and at what is written where the store keeps it.
    fn finish(&mut self, url: &str) {
        let store = block_on(open(url)).unwrap();
        let page = block_on(store.list(&me(), &Query::default())).unwrap();
        assert!(page.damaged.is_empty(), "{:?}", page.damaged);
        let chats: Vec<String> = self.said.keys().cloned().collect();
        for conversation in chats {
            let Some(tree) = block_on(self.check(url, &conversation)) else { continue };
            self.nodes += tree.len();
            let listed = page.conversations.iter().find(|summary| summary.record.id.as_str() == conversation);
            assert_eq!(listed.map(|summary| summary.nodes), Some(tree.len()), "a list counts the same");
            let shown = tree.nodes().flat_map(Node::media);
            let all: BTreeSet<Digest> = self.said[&conversation].blobs.iter().copied().chain(shown).collect();
            self.broken += all.into_iter().filter(|&digest| !is_whole(store.as_ref(), digest)).count();
        }
        self.duplicate += duplicates(url);
    }
}

fn dangling(tree: &Tree) -> usize {
    let parents = tree.nodes().filter_map(|node| node.parent);
    parents.filter(|&parent| tree.node(parent).is_err()).count()
}

fn is_whole(store: &dyn ConversationStore, digest: Digest) -> bool {
    block_on(store.get_blob(&me(), digest)).is_ok_and(|bytes| bytes.is_some())
}

/// Puts an image, appends a question that shows it and its answer, and moves the head; says what was acknowledged.
#[test]
#[ignore = "the other tests start it as a process of its own"]
fn writer() {
    let Ok(url) = std::env::var(URL) else {
        return println!("skipped: {URL} is not set, the other tests set it");
    };
    let id: ConversationId = std::env::var(CHAT).unwrap().parse().unwrap();
    block_on(async {
        let store = open(&url).await.unwrap();
        match store.create(&me(), &ConversationRecord::new(id.clone(), Preface::default())).await {
            Err(error) if !error.is_conflict() => panic!("{error:#}"),
            _ => {}
        }
        loop {
            turn(store.as_ref(), &id).await;
        }
    });
}

async fn turn(store: &dyn ConversationStore, id: &ConversationId) {
    let head = store.record(&me(), id).await.unwrap().head;
    let marked = NodeId::new().to_string();
    let bytes: Arc<[u8]> = marked.repeat(100).into_bytes().into();
    say("blob", store.put_blob(&me(), &bytes).await.unwrap());
    let image = Content::Image(Media::new("image/png", bytes.to_vec()));
    let question = Node::new(head, Message::new(Role::User, vec![Content::Text(marked.clone()), image]));
    let answer = Node::new(Some(question.id), Message::assistant(format!("answer to {marked}")));
    let nodes = [question, answer];
    store.append(&me(), id, &nodes).await.unwrap();
    nodes.iter().for_each(|node| say("node", node.id));
    // As after an answer that did not come.
    store.append(&me(), id, &nodes).await.unwrap();
    match store.set_head(&me(), id, head, Some(nodes[1].id)).await {
        Ok(()) => say("head", nodes[1].id),
        // Another writer was faster.
        Err(error) if error.is_conflict() => {}
        Err(error) => panic!("{error:#}"),
    }
}

fn say(what: &str, id: impl fmt::Display) {
    let mut output = std::io::stdout();
    writeln!(output, "{what} {id}").unwrap();
    output.flush().unwrap();
}
