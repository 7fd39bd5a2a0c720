//! What a turn costs under a policy does not grow with what was said before: what is rendered, read and kept is counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_context::{DropPolicy, HistoryDrop, HistoryShift, HistorySummary, ShiftPolicy, SummaryPolicy};
use alloquy_core::manager::ManagerBuilder;
use alloquy_core::media::Digest;
use alloquy_core::store::{ConversationRecord, ConversationStore, MemoryStore};
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::{ConversationManager, Manager, Message, Node, Owner, Preface, Request, Result};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{FaultStore, ScriptedEngine, StoreCall, TaggedProcessor, TaggedTemplate};
use pollster::block_on;

const WINDOW: usize = 600;
const POLICIES: [&str; 3] = ["drop", "shift", "summary"];

/// Counts the messages that it renders.
#[derive(Clone, Debug, Default)]
struct Counting(Arc<AtomicUsize>);

impl Counting {
    fn so_far(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl PromptTemplate for Counting {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        self.0.fetch_add(input.messages.len(), Ordering::Relaxed);
        TaggedTemplate.render(input)
    }

    fn digest(&self) -> Digest {
        TaggedTemplate.digest()
    }
}

fn round(template: Counting, context: usize) -> LanguageModel {
    let engine = ScriptedEngine::new([("<assistant>", "An answer.")]).context_length(context);
    LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
        .template(template)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

fn policy(name: &str, round: &LanguageModel) -> Box<dyn FnOnce(ManagerBuilder) -> ManagerBuilder> {
    let round = round.clone();
    let reply = 20;
    match name {
        "drop" => {
            let policy = HistoryDrop::new(round, DropPolicy::new(WINDOW).reply(reply)).unwrap();
            Box::new(|builder| builder.middleware(policy))
        }
        "shift" => {
            let policy = HistoryShift::new(round, ShiftPolicy::new(WINDOW).reply(reply)).unwrap();
            Box::new(|builder| builder.middleware(policy))
        }
        _ => {
            let policy = SummaryPolicy::new(WINDOW).reply(reply).summary(40);
            let policy = HistorySummary::new(round.clone(), Arc::new(round), policy).unwrap();
            Box::new(|builder| builder.middleware(policy))
        }
    }
}

/// A store with one conversation of so many messages; replies have the ids that they were sampled as.
async fn store(messages: usize) -> Arc<FaultStore<MemoryStore>> {
    let store = FaultStore::new(MemoryStore::default());
    let owner = Owner::local();
    let id = "long".parse().unwrap();
    let record = ConversationRecord::new(id, Preface::system("Be kind."));
    store.create(&owner, &record).await.unwrap();
    let mut nodes: Vec<Node> = Vec::new();
    for number in 0..messages {
        let parent = nodes.last().map(|node| node.id);
        nodes.push(match number % 2 {
            0 => Node::new(parent, Message::user(format!("question {number:6}"))),
            _ => {
                let text = format!("answer {number:6}");
                let mut node = Node::new(parent, Message::assistant(&text));
                node.tokens = text.bytes().map(u32::from).collect();
                node
            }
        });
    }
    store.append(&owner, &record.id, &nodes).await.unwrap();
    let head = nodes.last().map(|node| node.id);
    store.set_head(&owner, &record.id, None, head).await.unwrap();
    Arc::new(store)
}

/// Returns how many messages were rendered in each of several turns after so many messages, and how often the path was read.
fn rendered(name: &str, messages: usize, turns: usize) -> (Vec<usize>, usize) {
    block_on(async {
        let store = store(messages).await;
        let template = Counting::default();
        let round = round(template.clone(), 4096);
        let builder = Manager::builder(round.clone()).store(Arc::clone(&store) as Arc<dyn ConversationStore>);
        let manager = policy(name, &round)(builder).build().unwrap();
        let conversation = manager.open(&"long".parse().unwrap()).await.unwrap();
        let mut counts = Vec::new();
        for number in 0..turns {
            let before = template.so_far();
            conversation.send(format!("further {number:6}")).finish().await.unwrap();
            counts.push(template.so_far() - before);
        }
        let read = store.calls().into_iter().filter(|call| *call == StoreCall::LoadPath).count();
        (counts, read)
    })
}

#[test]
fn a_turn_renders_what_is_kept_however_much_was_said() {
    for name in POLICIES {
        let (short, _) = rendered(name, 100, 40);
        let (long, read) = rendered(name, 3_000, 40);
        let all = |turns: &[usize]| turns[1..].iter().sum::<usize>();
        assert!(all(&long) * 10 <= all(&short) * 12, "{name}: {short:?} after 100, {long:?} after 3,000");
        assert_eq!(read, 1, "{name} reads the path of a conversation that it knows");
    }
}

#[test]
fn what_was_said_in_another_process_is_gone_through_once() {
    for name in ["drop", "shift"] {
        let (long, _) = rendered(name, 3_000, 1);
        assert!(long[0] <= 8 * 3_000, "{name} renders {} messages for a path of 3,000", long[0]);
    }
}

#[test]
fn a_reply_tells_another_process_where_its_prompt_began() {
    for name in POLICIES {
        let store = block_on(store(3_000));
        let process = || {
            let template = Counting::default();
            let kept = Arc::clone(&store) as Arc<dyn ConversationStore>;
            let round = round(template.clone(), 4096);
            let manager = policy(name, &round)(Manager::builder(round.clone()).store(kept));
            let manager = manager.build().unwrap();
            block_on(async {
                let conversation = manager.open(&"long".parse().unwrap()).await.unwrap();
                let reply = conversation.send("and now?").finish().await.unwrap().reply;
                (template.so_far(), reply.cut.unwrap())
            })
        };
        let (_, first) = process();
        let (count, second) = process();
        assert!(count < 400, "{name} renders {count} messages of a path that a reply remembers");
        assert!(second.dropped >= first.dropped && second.dropped < first.dropped + 60, "{name}");
        assert!(second.tokens >= first.tokens, "{name}");
        assert_eq!(second.summary.is_some(), name == "summary");
    }
}

#[test]
fn what_another_policy_remembers_is_of_no_consequence() {
    let store = block_on(store(300));
    let cut = |window: usize| {
        let kept = Arc::clone(&store) as Arc<dyn ConversationStore>;
        let round = round(Counting::default(), 4096);
        let shift = HistoryShift::new(round.clone(), ShiftPolicy::new(window).reply(20)).unwrap();
        let manager = Manager::builder(round).store(kept).middleware(shift).build().unwrap();
        block_on(async {
            let conversation = manager.open(&"long".parse().unwrap()).await.unwrap();
            let before = conversation.request().await.unwrap();
            let reply = conversation.send("and now?").finish().await.unwrap().reply;
            (before, reply.cut.unwrap())
        })
    };
    cut(300);
    let (before, wide) = cut(1_000);
    let path = before.path.iter().cloned().chain([Message::user("and now?")]).collect();
    let fresh =
        HistoryShift::new(round(Counting::default(), 4096), ShiftPolicy::new(1_000).reply(20)).unwrap();
    let fitted = fresh.shift(Request::new(before.preface, path)).unwrap();
    assert_eq!((wide.dropped, wide.tokens), (fitted.dropped, fitted.tokens));
}

#[test]
fn a_conversation_that_is_shifted_keeps_one_cache() {
    for name in ["drop", "shift"] {
        let round = round(Counting::default(), WINDOW);
        let manager = policy(name, &round)(Manager::builder(round.clone())).build().unwrap();
        block_on(async {
            let conversation = manager.create(Preface::system("Be kind.")).await.unwrap();
            for number in 0..200 {
                conversation.send(format!("question {number:6}")).finish().await.unwrap();
            }
            let statistics = round.cache_statistics().await.unwrap();
            assert!(statistics.sessions <= 2, "{name}: {statistics:?}");
        });
    }
}

#[test]
fn what_a_cut_off_conversation_says_is_what_it_would_say_with_a_fresh_memory() {
    let template = Counting::default();
    let round = round(template, 4096);
    let used = HistoryShift::new(round.clone(), ShiftPolicy::new(WINDOW).reply(20)).unwrap();
    let dropping = HistoryDrop::new(round.clone(), DropPolicy::new(WINDOW).reply(20)).unwrap();
    let mut path = Vec::new();
    for number in 0..120 {
        path.push(Message::user(format!("question {number}{}", "?".repeat(number % 7))));
        let request = || Request::new(Preface::system("Be kind."), path.clone());
        let fresh = HistoryShift::new(round.clone(), ShiftPolicy::new(WINDOW).reply(20)).unwrap();
        let one = used.shift(request()).unwrap();
        let other = fresh.shift(request()).unwrap();
        assert_eq!((one.request.path, one.tokens), (other.request.path, other.tokens));
        let fresh = HistoryDrop::new(round.clone(), DropPolicy::new(WINDOW).reply(20)).unwrap();
        let one = dropping.fit(request()).unwrap();
        let other = fresh.fit(request()).unwrap();
        let whole = round.prepare(&request()).unwrap().positions();
        let left = round.prepare(&one.request).unwrap().positions();
        assert_eq!((one.tokens, other.tokens), (whole - left, whole - left));
        assert_eq!(one.request.path, other.request.path);
        path.push(Message::assistant(format!("answer {number}")));
    }
}
