//! A server that is killed in the middle of replies, over and over: nothing that a reader has seen is lost, each tree is valid,
//! and the next turn succeeds.
//!
//! A plain test run kills a few; `cargo xtask torture servers` says in the environment how many. It says when it skips.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

#[path = "../../backends/openai/tests/llama/mod.rs"]
mod llama;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use alloquy_core::store::ConversationStore;
use alloquy_core::tokenizer::{TokenId, decode};
use alloquy_core::tree::{Node, NodeStatus, Tree};
use alloquy_core::turn::{TurnReply, TurnRequest};
use alloquy_core::{Conversation, Delta, Manager, Owner, Preface, Result, SamplingOptions, TurnEvent};
use alloquy_engine::decoder::Decoder;
use alloquy_inference::LanguageModel;
use alloquy_openai::{RemoteDecoder, RemoteRetries, RemoteServer};
use alloquy_testing::{TaggedProcessor, TaggedTemplate};
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::future::{join, join_all};
use llama::Llama;

/// What the environment says to the test.
const KILLS: &str = "ALLOQUY_TORTURE_KILLS";

/// How many servers a plain test run kills, over each store.
const FEW: usize = 3;

/// How long a reply is if its server lives.
const LENGTH: usize = 120;

/// How long the reply after it is.
const NEXT: usize = 16;

/// The questions that are asked at once, one in each slot of the server.
const QUESTIONS: [&str; 2] = ["Once upon a time", "There was a dog"];

#[test]
fn killed_servers_of_conversations_in_a_database() {
    let folder = tempfile::tempdir().unwrap();
    torture(&format!("sqlite:{}", folder.path().join("chats.db").display()), FEW);
}

#[test]
fn killed_servers_of_conversations_in_files() {
    let folder = tempfile::tempdir().unwrap();
    torture(&format!("file:{}", folder.path().join("chats").display()), FEW);
}

#[test]
fn killed_servers_as_the_environment_says() {
    let Ok(kills) = std::env::var(KILLS) else {
        return eprintln!("skipped: {KILLS} says no number");
    };
    let kills: usize = kills.parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let half = kills / 2;
    for (kind, kills) in [("sqlite", kills - half), ("file", half)] {
        torture(&format!("{kind}:{}", folder.path().join(kind).display()), kills);
    }
}

/// What happened, and what was wrong.
#[derive(Default)]
struct Figures {
    kills: usize,
    /// Replies that their server did not finish.
    cut: usize,
    /// Replies that were finished before the server was killed.
    whole: usize,
    /// Questions whose server was killed before the first token.
    unanswered: usize,
    /// The ids of the replies that were cut.
    kept: usize,
    /// Lengths of replies that were cut.
    lengths: BTreeSet<usize>,
    /// Characters that a reader has seen and the store does not have.
    lost: usize,
    /// Replies whose stored ids are not those of their text.
    broken: usize,
    /// Turns that did not succeed after the server was started again.
    stuck: usize,
    /// Nodes without their parent, and conversations whose head is not in their tree.
    dangling: usize,
    nodes: usize,
}

impl fmt::Display for Figures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} kills: {} replies cut after {} to {} ids ({} ids kept), {} unanswered, {} complete; {} nodes in valid trees; \
             {} characters lost, {} replies broken, {} next turns failed, {} nodes dangling",
            self.kills,
            self.cut,
            self.lengths.first().unwrap_or(&0),
            self.lengths.last().unwrap_or(&0),
            self.kept,
            self.unanswered,
            self.whole,
            self.nodes,
            self.lost,
            self.broken,
            self.stuck,
            self.dangling
        )
    }
}

/// A number that looks random and is the same in each run.
fn random(number: usize, limit: usize) -> usize {
    let mixed = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::try_from((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33).unwrap() % limit
}

fn torture(url: &str, kills: usize) {
    let Some(server) = Llama::start() else { return };
    let mut server = Some(server);
    let mut retries = RemoteRetries::default();
    retries.attempts = 2;
    let (url_of_server, models) =
        server.as_ref().map(|server| (server.url.clone(), server.models.clone())).unwrap();
    let address = RemoteServer::at(&url_of_server).retries(retries);
    let folder = models.join("stories260k-hf64");
    let (_, port) = url_of_server.rsplit_once(':').unwrap();
    let port = format!("port={port}");
    let mut figures = Figures { kills, ..Figures::default() };
    pollster::block_on(async {
        let decoder = RemoteDecoder::builder(address, folder).connect().await.unwrap();
        let mut ids = BTreeSet::new();
        for number in 0..kills {
            let store = alloquy_storage::open(url).await.unwrap();
            let manager = manager(decoder.clone(), Arc::clone(&store));
            let (asked, seen) = cut(&manager, &mut server, number).await;
            server = Llama::with_slots("2", &[&port]);
            assert_eq!(server.as_ref().map(|server| server.url.as_str()), Some(url_of_server.as_str()));
            for (conversation, seen) in asked.iter().zip(seen) {
                figures.note(&decoder, conversation, seen).await;
                ids.insert(conversation.id().clone());
                let next =
                    conversation.send(TurnRequest::from("And then?").sampling(sampling(NEXT))).finish().await;
                figures.stuck += usize::from(!next.is_ok_and(|next| next.reply.error.is_none()));
            }
        }
        // What is in the store, for a program that starts later.
        let store = alloquy_storage::open(url).await.unwrap();
        for id in &ids {
            let (record, tree) = store.load(&Owner::local(), id).await.unwrap();
            figures.nodes += tree.len();
            figures.dangling += dangling(&tree) + usize::from(tree.path(record.head).is_err());
        }
    });
    let name = Path::new(url).file_stem().unwrap_or_default().to_string_lossy();
    println!("torture servers, {name}: {figures}");
    let wrong = figures.lost + figures.broken + figures.stuck + figures.dangling;
    assert_eq!(wrong, 0, "{figures}");
    assert!(figures.cut * 2 > kills, "too few replies were cut: {figures}");
}

fn manager(decoder: RemoteDecoder, store: Arc<dyn ConversationStore>) -> Manager {
    let model = LanguageModel::builder(decoder).template(TaggedTemplate).processor(TaggedProcessor);
    Manager::builder(model.build().unwrap()).store(store).sampling(sampling(LENGTH)).build().unwrap()
}

/// No end of a text is sampled, so each reply is as long as it may be.
fn sampling(length: usize) -> SamplingOptions {
    SamplingOptions {
        temperature: Some(0.0),
        max_tokens: Some(length),
        suppress: vec![2],
        ..SamplingOptions::default()
    }
}

/// What a reader of a turn has seen of it, and how it ended.
struct Seen {
    text: String,
    end: Result<TurnReply>,
}

/// Asks at once, and kills the server once one of the replies has so many pieces.
async fn cut(manager: &Manager, server: &mut Option<Llama>, number: usize) -> (Vec<Conversation>, Vec<Seen>) {
    let pieces = random(number, LENGTH * 2 / 3);
    let mut asked = Vec::new();
    for _ in QUESTIONS {
        asked.push(manager.create(Preface::default()).await.unwrap());
    }
    let (sender, mut came) = unbounded();
    let turns: Vec<_> = asked
        .iter()
        .zip(QUESTIONS)
        .map(|(conversation, question)| read(conversation, question, sender.clone()))
        .collect();
    // The channel ends when all turns have ended.
    drop(sender);
    let killing = async {
        for _ in 0..pieces {
            came.next().await;
        }
        // Dropping it kills the process, which finishes nothing.
        *server = None;
    };
    let (seen, ()) = join(join_all(turns), killing).await;
    (asked, seen)
}

/// Reads a turn to its end, and reports each piece of its text.
async fn read(conversation: &Conversation, question: &str, came: UnboundedSender<()>) -> Seen {
    let mut turn = conversation.send(question);
    let mut text = String::new();
    while let Some(event) = turn.next().await {
        if let Ok(TurnEvent::Delta(Delta::Text(piece))) = event {
            text.push_str(&piece);
            // The server may be killed already.
            let _ = came.unbounded_send(());
        }
    }
    Seen { text, end: turn.finish().await }
}

impl Figures {
    /// Looks at what is stored of a turn.
    async fn note(&mut self, decoder: &dyn Decoder, conversation: &Conversation, seen: Seen) {
        let history = conversation.history().await.unwrap();
        let Ok(reply) = seen.end else {
            self.unanswered += 1;
            // Nothing was said, so the question is not in the history.
            self.lost += seen.text.chars().count() + history.len();
            return;
        };
        let node = history.last().unwrap();
        let text = node.message.text();
        if !text.starts_with(seen.text.trim_end()) {
            self.lost += seen.text.chars().count();
        }
        if reply.reply.error.is_none() {
            self.whole += 1;
            self.broken += usize::from(node.status != NodeStatus::Complete);
            return;
        }
        self.cut += 1;
        self.kept += node.tokens.len();
        self.lengths.insert(node.tokens.len());
        self.broken +=
            usize::from(node.status != NodeStatus::Interrupted || !is_text_of(decoder, node, &text));
    }
}

/// Returns whether the ids of a node are those of its text.
fn is_text_of(decoder: &dyn Decoder, node: &Node, text: &str) -> bool {
    let ids: &[TokenId] = &node.tokens;
    let decoded = decode(decoder.tokenizer(), ids).unwrap();
    !ids.is_empty() && decoded.trim() == text.trim()
}

fn dangling(tree: &Tree) -> usize {
    let parents = tree.nodes().filter_map(|node| node.parent);
    parents.filter(|parent| tree.node(*parent).is_err()).count()
}
