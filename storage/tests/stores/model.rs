//! Any sequence of calls has the same outcomes in every store; the memory store is the model.

use std::sync::Arc;

use alloquy_core::{
    ConversationId, ConversationRecord, ConversationStore, Digest, ErrorKind, MemoryStore, Message, Node,
    NodeId, Preface, Query, Result,
};
use alloquy_storage::{FileStore, SqliteStore};
use pollster::block_on;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Places, say};

/// A call, with indices into what the test made so far.
#[derive(Clone, Debug)]
enum Call {
    Create(u8),
    Append(u8, Vec<Which>),
    SetHead(u8, Place, Place),
    Load(u8),
    LoadPath(u8, u8),
    List(Option<u8>, u8),
    Delete(u8),
    Blob(Vec<u8>),
    /// Closes the stores and opens them again.
    Reopen,
}

/// A node of a batch.
#[derive(Clone, Debug)]
enum Which {
    /// A new one below one that was made before, whatever conversation that is in.
    New(Place, String, Value),
    /// One that was made before.
    Again(u8),
    /// One that was made before, with other content.
    Other(u8),
}

#[derive(Clone, Debug)]
enum Place {
    Start,
    Node(u8),
    /// Where the head stands.
    Head,
    Nowhere,
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((any::<String>(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        1 => Just(Place::Start),
        6 => any::<u8>().prop_map(Place::Node),
        4 => Just(Place::Head),
        1 => Just(Place::Nowhere),
    ]
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![
        8 => (place(), any::<String>(), value()).prop_map(|(parent, text, extra)| Which::New(parent, text, extra)),
        2 => any::<u8>().prop_map(Which::Again),
        1 => any::<u8>().prop_map(Which::Other),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let conversation = 0..3_u8;
    prop_oneof![
        2 => conversation.clone().prop_map(Call::Create),
        8 => (conversation.clone(), vec(which(), 0..4)).prop_map(|(id, nodes)| Call::Append(id, nodes)),
        6 => (conversation.clone(), place(), place()).prop_map(|(id, from, to)| Call::SetHead(id, from, to)),
        2 => conversation.clone().prop_map(Call::Load),
        2 => (conversation.clone(), any::<u8>()).prop_map(|(id, node)| Call::LoadPath(id, node)),
        1 => (any::<Option<u8>>(), 0..4_u8).prop_map(|(limit, offset)| Call::List(limit, offset)),
        1 => conversation.prop_map(Call::Delete),
        1 => vec(any::<u8>(), 0..4).prop_map(Call::Blob),
        1 => Just(Call::Reopen),
    ]
}

/// The stores, and every node that the test made.
struct Stores {
    places: Places,
    model: MemoryStore,
    files: Option<FileStore>,
    sqlite: Option<SqliteStore>,
    nodes: Vec<Node>,
}

impl Stores {
    fn new() -> Self {
        let mut stores = Self {
            places: Places::new(),
            model: MemoryStore::default(),
            files: None,
            sqlite: None,
            nodes: vec![],
        };
        stores.reopen();
        stores
    }

    fn reopen(&mut self) {
        let root = self.places.folder.path();
        self.files = None;
        self.sqlite = None;
        self.files = Some(block_on(FileStore::open(root.join("files"))).unwrap());
        self.sqlite = Some(block_on(SqliteStore::open(root.join("chats.db"))).unwrap());
    }

    /// Makes the call in every store and compares the outcomes; they contain everything that can be seen of it.
    fn same(&self, call: impl AsyncFn(&dyn ConversationStore) -> Result<Value>) {
        let outcome =
            move |store: &dyn ConversationStore| block_on(call(store)).map_err(|error| error.kind());
        let expected: Result<Value, ErrorKind> = outcome(&self.model);
        assert_eq!(outcome(self.files.as_ref().unwrap()), expected, "files");
        assert_eq!(outcome(self.sqlite.as_ref().unwrap()), expected, "SQLite");
    }

    fn node(&self, index: u8) -> Option<&Node> {
        self.nodes.get(usize::from(index) % self.nodes.len().max(1))
    }

    fn place(&self, conversation: u8, place: &Place) -> Option<NodeId> {
        match place {
            Place::Start => None,
            Place::Node(index) => self.node(*index).map(|node| node.id),
            Place::Head => block_on(self.model.record(&name(conversation))).ok()?.head,
            Place::Nowhere => Some(NodeId::new()),
        }
    }

    fn make(&mut self, conversation: u8, which: &Which) -> Option<Node> {
        match which {
            Which::New(parent, text, extra) => {
                let mut node = say(self.place(conversation, parent), text);
                node.message.extra.insert(text.clone(), extra.clone());
                self.nodes.push(node.clone());
                Some(node)
            }
            Which::Again(index) => self.node(*index).cloned(),
            Which::Other(index) => {
                let node = self.node(*index)?.clone();
                Some(Node { message: Message::user("other"), ..node })
            }
        }
    }

    fn run(&mut self, call: &Call) {
        match call {
            Call::Create(id) => {
                let record = ConversationRecord::new(name(*id), Preface::system("Be brief."));
                self.same(async |store| store.create(&record).await.map(Value::from));
            }
            Call::Append(id, batch) => {
                let batch: Vec<Node> = batch.iter().filter_map(|which| self.make(*id, which)).collect();
                self.same(async |store| store.append(&name(*id), &batch).await.map(Value::from));
            }
            Call::SetHead(id, from, to) => {
                let (from, to) = (self.place(*id, from), self.place(*id, to));
                self.same(async |store| store.set_head(&name(*id), from, to).await.map(Value::from));
            }
            Call::Load(id) => self.same(async |store| load(store, &name(*id)).await),
            Call::LoadPath(id, node) => {
                let node = self.node(*node).map_or_else(NodeId::new, |node| node.id);
                self.same(async |store| Ok(json!(store.load_path(&name(*id), node).await?)));
            }
            Call::List(limit, offset) => {
                let query = Query { limit: limit.map(usize::from), offset: usize::from(*offset) };
                self.same(async |store| list(store, &query).await);
            }
            Call::Delete(id) => self.same(async |store| store.delete(&name(*id)).await.map(Value::from)),
            Call::Blob(bytes) => self.same(async |store| blob(store, bytes).await),
            Call::Reopen => self.reopen(),
        }
    }
}

fn name(index: u8) -> ConversationId {
    ["tea", "TEA", "tea/.."][usize::from(index)].parse().unwrap()
}

async fn load(store: &dyn ConversationStore, id: &ConversationId) -> Result<Value> {
    let (record, tree) = store.load(id).await?;
    let nodes: Vec<_> = tree.walk().collect();
    // As text, which keeps the order of fields apart; equality of values does not.
    Ok(Value::from(json!([record, nodes]).to_string()))
}

async fn list(store: &dyn ConversationStore, query: &Query) -> Result<Value> {
    let summaries = store.list(query).await?;
    let lines = summaries.iter().map(|line| json!([line.record, line.nodes, line.updated]));
    Ok(json!([lines.collect::<Vec<_>>(), store.count().await?]))
}

async fn blob(store: &dyn ConversationStore, bytes: &[u8]) -> Result<Value> {
    let digest = store.put_blob(&Arc::from(bytes)).await?;
    let read = store.get_blob(digest).await?;
    let missing = store.get_blob(Digest::of(b"never stored")).await?;
    Ok(json!([digest, read.as_deref(), missing.as_deref()]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_store_is_the_memory_store(calls in vec(call(), 1..50)) {
        let mut stores = Stores::new();
        (0..2).for_each(|id| stores.run(&Call::Create(id)));
        calls.iter().for_each(|call| stores.run(call));
        stores.reopen();
        (0..3).for_each(|id| stores.run(&Call::Load(id)));
        stores.run(&Call::List(None, 0));
    }
}
