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

use alloquy_core::{
    ConversationId, ConversationRecord, ConversationStore, Digest, Media, Message, Node, NodeId, Part,
    Preface, Query, Role, Tree,
};
use alloquy_storage::open;
use pollster::block_on;

use crate::servers::{buckets, postgres};
use crate::{Places, me};

/// What the environment says to the test, and the test to the writer.
const STORE: &str = "ALLOQUY_TORTURE_STORE";
const KILLS: &str = "ALLOQUY_TORTURE_KILLS";
const URL: &str = "ALLOQUY_TORTURE_URL";
const CHAT: &str = "ALLOQUY_TORTURE_CHAT";

/// How many writers write to one conversation, one after the other.
const WRITERS: u64 = 25;

#[test]
fn killed_writers_of_files() {
    let places = Places::new();
    println!("{}", torture(&format!("file:{}", places.next().display()), 30, 30));
}

#[test]
fn killed_writers_of_a_database() {
    let places = Places::new();
    println!("{}", torture(&format!("sqlite:{}", places.next().display()), 30, 30));
}

#[test]
fn killed_writers_of_what_the_environment_names() {
    let Ok(store) = std::env::var(STORE) else {
        return eprintln!("skipped: {STORE} names no store");
    };
    let places = Places::new();
    let (url, longest) = match store.as_str() {
        "file" | "sqlite" => (Some(format!("{store}:{}", places.next().display())), 60),
        "postgres" => (postgres().map(|fresh| fresh()), 80),
        "s3" => (buckets().map(|fresh| fresh()), 300),
        _ => (None, 0),
    };
    let url = url.unwrap_or_else(|| panic!("{store:?} is no store, or its server is missing"));
    let kills = std::env::var(KILLS).unwrap().parse().unwrap();
    println!("torture {store}: {}", torture(&url, kills, longest));
}

/// What writers acknowledged, by conversation, and what was wrong.
#[derive(Default)]
struct Figures {
    kills: u64,
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
            "{} kills; acknowledged {} nodes, {} moves of the head, {} blobs; {} nodes found; \
            {} acknowledged lost, {} dangling parents, {} duplicate nodes, {} blobs not whole",
            self.kills,
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

fn torture(url: &str, kills: u64, longest: u64) -> Figures {
    let mut figures = Figures { kills, ..Figures::default() };
    for kill in 0..kills {
        let chat = format!("chat-{}", kill / WRITERS);
        let said = figures.said.entry(chat.clone()).or_default();
        said.read(url, &chat, kill, longest);
        if kill.is_multiple_of(WRITERS) || kill + 1 == kills {
            figures.check(url, kill + 1 == kills);
        }
        block_on(figures.check_last(url, &chat));
    }
    let wrong = figures.lost + figures.dangling + figures.duplicate + figures.broken;
    assert_eq!(wrong, 0, "{figures}");
    assert!(figures.said.values().map(|said| said.nodes.len() as u64).sum::<u64>() > kills / 2, "{figures}");
    figures
}

impl Said {
    /// Starts a writer, kills it, and reads what it had said.
    fn read(&mut self, url: &str, chat: &str, kill: u64, longest: u64) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "torture::writer", "--ignored", "--nocapture"])
            .env(URL, url)
            .env(CHAT, chat);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let random = RandomState::new().hash_one(kill);
        // Some are killed while they open the store, the others while they write.
        if !kill.is_multiple_of(8) {
            for line in lines.by_ref() {
                if self.note(&line.unwrap()) {
                    break;
                }
            }
        }
        std::thread::sleep(Duration::from_micros(random % (longest * 1000)));
        child.kill().unwrap();
        lines.for_each(|line| {
            self.note(&line.unwrap());
        });
        assert!(!child.wait().unwrap().success(), "a writer ended by itself");
    }

    /// The test harness says things of its own, and a killed writer may end within a line.
    fn note(&mut self, line: &str) -> bool {
        match line.split_once(' ') {
            Some(("node", id)) => id.parse().is_ok_and(|id| self.nodes.insert(id)),
            Some(("head", id)) => id.parse().map(|id| self.heads.push(id)).is_ok(),
            Some(("blob", digest)) => digest.parse().is_ok_and(|digest| self.blobs.insert(digest)),
            _ => false,
        }
    }
}

impl Figures {
    /// Opens the store anew and looks at one conversation.
    async fn check_last(&mut self, url: &str, chat: &str) {
        let store = open(url).await.unwrap();
        let Some(said) = self.said.get(chat) else { return };
        let loaded = store.load(&me(), &chat.parse().unwrap()).await;
        let (record, tree) = match loaded {
            Err(error) if error.is_not_found() && said.nodes.is_empty() => return,
            loaded => loaded.unwrap(),
        };
        self.lost += said.nodes.iter().filter(|&&id| tree.node(id).is_err()).count();
        let path: HashSet<NodeId> = tree.path(record.head).unwrap().iter().map(|node| node.id).collect();
        self.lost += said.heads.iter().filter(|head| !path.contains(head)).count();
        self.dangling += dangling(&tree);
    }

    /// Looks at everything: counts, and at the end every blob.
    fn check(&mut self, url: &str, with_blobs: bool) {
        let store = block_on(open(url)).unwrap();
        let page = block_on(store.list(&me(), &Query::default())).unwrap();
        assert!(page.damaged.is_empty(), "{:?}", page.damaged);
        self.nodes = 0;
        for summary in page.conversations {
            let tree = block_on(store.load(&me(), &summary.record.id)).unwrap().1;
            self.nodes += tree.len();
            let unique: BTreeSet<_> = tree.walk().map(|(_, node)| text(node)).collect();
            self.duplicate += summary.nodes - unique.len();
            let shown: BTreeSet<Digest> = tree.nodes().flat_map(Node::media).collect();
            if with_blobs {
                self.broken += shown.iter().filter(|&&digest| !is_whole(store.as_ref(), digest)).count();
            }
        }
        if with_blobs {
            let said = self.said.values().flat_map(|said| &said.blobs);
            self.broken += said.filter(|&&digest| !is_whole(store.as_ref(), digest)).count();
        }
    }
}

/// Each message of a writer is another one.
fn text(node: &Node) -> String {
    serde_json::to_string(&node.message).unwrap()
}

fn dangling(tree: &Tree) -> usize {
    let parents = tree.nodes().filter_map(|node| node.parent);
    parents.filter(|&parent| tree.node(parent).is_err()).count()
}

fn is_whole(store: &dyn ConversationStore, digest: Digest) -> bool {
    block_on(store.get_blob(&me(), digest)).is_ok_and(|bytes| bytes.is_some())
}

/// Puts a picture, appends a question that shows it and its answer, and moves the head; says what was acknowledged.
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
    let picture = Part::Image(Media::new("image/png", bytes.to_vec()));
    let question = Node::new(head, Message::new(Role::User, vec![Part::Text(marked.clone()), picture]));
    let answer = Node::new(Some(question.id), Message::assistant(format!("answer to {marked}")));
    let nodes = [question, answer];
    store.append(&me(), id, &nodes).await.unwrap();
    nodes.iter().for_each(|node| say("node", node.id));
    store.set_head(&me(), id, head, Some(nodes[1].id)).await.unwrap();
    say("head", nodes[1].id);
}

fn say(what: &str, id: impl fmt::Display) {
    let mut output = std::io::stdout();
    writeln!(output, "{what} {id}").unwrap();
    output.flush().unwrap();
}
