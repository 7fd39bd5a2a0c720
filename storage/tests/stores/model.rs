//! Any sequence of calls has the same outcomes in every store; the memory store is the model.

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::query::{Filter, Sort, SortKey};
use alloquy_core::store::{ConversationRecord, ConversationStore, HeadMove, MemoryStore};
use alloquy_core::{ConversationId, ErrorKind, Message, Node, NodeId, Preface, Query, Result};
use alloquy_storage::{BucketStore, FileStore, PostgresStore, SqliteStore};
use object_store::memory::InMemory;
use pollster::block_on;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::servers::postgres;
use crate::{Places, me, say};

/// A call, with indices into what the test made so far.
#[derive(Clone, Debug)]
enum Call {
    Create(u8),
    Append(u8, Vec<Which>),
    SetHead(u8, Place, Place),
    AppendAndMove(u8, Vec<Which>, Place, Place),
    Load(u8),
    LoadPath(u8, u8),
    Metadata(u8, u8, u8, Value),
    Prune(u8, Place),
    Compact(u8),
    List(Asked),
    Search(Asked, String),
    Delete(u8),
    DeleteMatching(Asked),
    Blob(Vec<u8>),
    /// Closes the stores and opens them again.
    Reopen,
}

/// What a query asks: a limit, an order, and whether a number in the metadata is this one.
#[derive(Clone, Debug)]
struct Asked {
    limit: Option<u8>,
    sort: Sort,
    number: Option<u8>,
}

impl Asked {
    fn query(&self) -> Query {
        let query = Query::default().sort(self.sort.clone());
        let query = self.limit.into_iter().fold(query, |query, limit| query.limit(limit.into()));
        self.number
            .into_iter()
            .fold(query, |query, number| query.filter(Filter::equals("n", i32::from(number))))
    }
}

fn asked() -> impl Strategy<Value = Asked> {
    let by = prop_oneof![
        Just(SortKey::Updated),
        Just(SortKey::Created),
        Just(SortKey::Id),
        Just(SortKey::Metadata("n".into())),
        Just(SortKey::Metadata("v".into())),
    ];
    let sort =
        (by, any::<bool>()).prop_map(|(by, up)| if up { Sort::ascending(by) } else { Sort::descending(by) });
    (proptest::option::of(0..4_u8), sort, proptest::option::of(0..3_u8))
        .prop_map(|(limit, sort, number)| Asked { limit, sort, number })
}

/// Few words, so that searches find something.
fn said() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => prop::sample::select(vec!["tea", "Th\u{e9}", "green", "GREEN", "\u{7eff}\u{8336}", "tea-time", "x1"])
            .prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    vec(word, 0..5).prop_map(|words| words.join(" "))
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
        8 => (place(), said(), value()).prop_map(|(parent, text, extra)| Which::New(parent, text, extra)),
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
        6 => (conversation.clone(), vec(which(), 0..3), place(), place())
            .prop_map(|(id, nodes, from, to)| Call::AppendAndMove(id, nodes, from, to)),
        2 => conversation.clone().prop_map(Call::Load),
        2 => (conversation.clone(), any::<u8>()).prop_map(|(id, node)| Call::LoadPath(id, node)),
        2 => (conversation.clone(), 0..3_u8, 0..3_u8, value())
            .prop_map(|(id, revision, number, value)| Call::Metadata(id, revision, number, value)),
        1 => (conversation.clone(), place()).prop_map(|(id, node)| Call::Prune(id, node)),
        1 => conversation.clone().prop_map(Call::Compact),
        2 => asked().prop_map(Call::List),
        2 => (asked(), prop::sample::select(vec!["tea", "green the", "\"tea green\"", "\u{8336}", "t*", "x1"]))
            .prop_map(|(asked, text)| Call::Search(asked, text.to_owned())),
        1 => conversation.prop_map(Call::Delete),
        1 => asked().prop_map(Call::DeleteMatching),
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
    objects: Arc<InMemory>,
    bucket: Option<BucketStore>,
    /// A schema on a server, where the environment names one.
    url: Option<String>,
    postgres: Option<PostgresStore>,
    nodes: Vec<Node>,
}

impl Stores {
    fn new() -> Self {
        let mut stores = Self {
            places: Places::new(),
            model: MemoryStore::default(),
            files: None,
            sqlite: None,
            objects: Arc::default(),
            bucket: None,
            url: postgres().map(|fresh| fresh()),
            postgres: None,
            nodes: vec![],
        };
        stores.reopen();
        stores
    }

    fn reopen(&mut self) {
        let root = self.places.folder.path();
        self.files = None;
        self.sqlite = None;
        self.bucket = None;
        self.postgres = None;
        self.files = Some(block_on(FileStore::open(root.join("files"))).unwrap());
        self.sqlite = Some(block_on(SqliteStore::open(root.join("chats.db"))).unwrap());
        self.bucket = Some(block_on(BucketStore::new(self.objects.clone(), "")).unwrap());
        self.postgres = self.url.as_deref().map(|url| block_on(PostgresStore::open(url)).unwrap());
    }

    /// Makes the call in every store and compares the outcomes; they contain everything that can be seen of it.
    fn same(&self, call: impl AsyncFn(&dyn ConversationStore) -> Result<Value>) {
        let outcome =
            move |store: &dyn ConversationStore| block_on(call(store)).map_err(|error| error.kind());
        let expected: Result<Value, ErrorKind> = outcome(&self.model);
        assert_eq!(outcome(self.files.as_ref().unwrap()), expected, "files");
        assert_eq!(outcome(self.sqlite.as_ref().unwrap()), expected, "SQLite");
        assert_eq!(outcome(self.bucket.as_ref().unwrap()), expected, "objects");
        if let Some(postgres) = &self.postgres {
            assert_eq!(outcome(postgres), expected, "PostgreSQL");
        }
    }

    fn node(&self, index: u8) -> Option<&Node> {
        self.nodes.get(usize::from(index) % self.nodes.len().max(1))
    }

    fn place(&self, conversation: u8, place: &Place) -> Option<NodeId> {
        match place {
            Place::Start => None,
            Place::Node(index) => self.node(*index).map(|node| node.id),
            Place::Head => block_on(self.model.record(&me(), &name(conversation))).ok()?.head,
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
                let mut node = self.node(*index)?.clone();
                node.message = Message::user("other");
                Some(node)
            }
        }
    }

    fn run(&mut self, call: &Call) {
        match call {
            Call::Create(id) => {
                let record = ConversationRecord::new(name(*id), Preface::system("Be brief."));
                self.same(async |store| store.create(&me(), &record).await.map(Value::from));
            }
            Call::Append(id, batch) => {
                let batch: Vec<Node> = batch.iter().filter_map(|which| self.make(*id, which)).collect();
                self.same(async |store| store.append(&me(), &name(*id), &batch).await.map(Value::from));
            }
            Call::SetHead(id, from, to) => {
                let from = self.place(*id, from);
                let to = self.place(*id, to);
                self.same(async |store| store.set_head(&me(), &name(*id), from, to).await.map(Value::from));
            }
            Call::AppendAndMove(id, batch, from, to) => {
                let from = self.place(*id, from);
                let batch: Vec<Node> = batch.iter().filter_map(|which| self.make(*id, which)).collect();
                // Mostly to one of the batch, as a turn does.
                let last = batch.last().filter(|_| !matches!(to, Place::Nowhere)).map(|node| node.id);
                let to = last.or_else(|| self.place(*id, to));
                self.same(async |store| {
                    store.append_and_move(&me(), &name(*id), &batch, from, to).await.map(moved)
                });
            }
            Call::Load(id) => self.same(async |store| load(store, &name(*id)).await),
            Call::LoadPath(id, node) => {
                let node = self.node(*node).map_or_else(NodeId::new, |node| node.id);
                self.same(async |store| Ok(json!(store.load_path(&me(), &name(*id), node).await?)));
            }
            Call::Metadata(id, revision, number, value) => {
                let metadata = json!({"n": number, "v": value});
                let metadata = metadata.as_object().unwrap();
                self.same(async |store| {
                    let new = store.update_metadata(&me(), &name(*id), u64::from(*revision), metadata).await;
                    new.map(Value::from)
                });
            }
            Call::Prune(id, node) => {
                let node = self.place(*id, node).unwrap_or_else(NodeId::new);
                self.same(async |store| store.prune(&me(), &name(*id), node).await.map(Value::from));
            }
            Call::Compact(id) => {
                self.same(async |store| store.compact(&me(), &name(*id)).await.map(Value::from));
            }
            Call::List(asked) => self.same(async |store| list(store, &asked.query()).await),
            Call::Search(asked, text) => {
                let query =
                    Asked { sort: Sort::descending(SortKey::Relevance), limit: None, ..asked.clone() };
                let query = query.query().text(text).unwrap();
                self.same(async |store| search(store, &query).await);
            }
            Call::DeleteMatching(asked) => {
                self.same(async |store| Ok(json!(store.delete_matching(&me(), &asked.query()).await?)));
            }
            Call::Delete(id) => {
                self.same(async |store| store.delete(&me(), &name(*id)).await.map(Value::from));
            }
            Call::Blob(bytes) => self.same(async |store| blob(store, bytes).await),
            Call::Reopen => self.reopen(),
        }
    }
}

fn name(index: u8) -> ConversationId {
    ["tea", "TEA", "tea/.."][usize::from(index)].parse().unwrap()
}

fn moved(head: HeadMove) -> Value {
    match head {
        HeadMove::Moved => json!("moved"),
        HeadMove::Branched { head } => json!({ "branched": head }),
        other => panic!("{other:?}"),
    }
}

async fn load(store: &dyn ConversationStore, id: &ConversationId) -> Result<Value> {
    let (record, tree) = store.load(&me(), id).await?;
    let nodes: Vec<_> = tree.walk().collect();
    // As text, which keeps the order of fields apart; equality of values does not.
    Ok(Value::from(json!([record, nodes]).to_string()))
}

async fn list(store: &dyn ConversationStore, query: &Query) -> Result<Value> {
    let page = store.list(&me(), query).await?;
    let lines = page.conversations.iter().map(|line| json!([line.record, line.nodes, line.updated]));
    let more = page.next.is_some();
    Ok(json!([lines.collect::<Vec<_>>(), more, store.count(&me(), query).await?]))
}

async fn search(store: &dyn ConversationStore, query: &Query) -> Result<Value> {
    let page = store.search(&me(), query).await?;
    let hits = page.hits.iter().map(|hit| {
        let marked: Vec<_> =
            hit.snippet.highlights.iter().map(|place| &hit.snippet.text[place.clone()]).collect();
        json!([hit.conversation, hit.node, hit.role, hit.score, hit.snippet.text, marked])
    });
    Ok(json!([hits.collect::<Vec<_>>(), store.count(&me(), query).await?]))
}

async fn blob(store: &dyn ConversationStore, bytes: &[u8]) -> Result<Value> {
    let digest = store.put_blob(&me(), &Arc::from(bytes)).await?;
    let read = store.get_blob(&me(), digest).await?;
    let missing = store.get_blob(&me(), Digest::of(b"never stored")).await?;
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
        stores.run(&Call::List(Asked { limit: None, sort: Sort::ascending(SortKey::Id), number: None }));
    }
}
