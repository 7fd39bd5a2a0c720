//! Passages in databases: the laws of retrievers, the same results as the indexes in memory, hostile texts, several processes.
#![cfg(all(feature = "retrieval", feature = "sqlite", feature = "postgres"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

#[path = "../../retrieval/tests/eval/mod.rs"]
mod eval;

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use alloquy_core::media::Digest;
use alloquy_core::query::{Filter, MetadataValue};
use alloquy_core::{ErrorKind, Owner, Result};
use alloquy_retrieval::{
    Embedder, Embeddings, Found, Lookup, NgramEmbedder, Passage, Retriever, StemLanguage, TextKind,
    VectorFormat, VectorIndex, WordIndex, WordOptions, laws,
};
use alloquy_storage::{
    PassageDatabase, PassageReport, PostgresPassageOptions, SqlitePassageOptions, SqliteStore, VectorSearch,
};
use pollster::block_on;
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

use self::eval::measured;

/// Where a PostgreSQL server is: a URL whose user may create schemas, and the extension pgvector.
const POSTGRES: &str = "ALLOQUY_TEST_POSTGRES";

/// A database of a kind, before it is opened.
#[derive(Clone, Debug)]
enum Place {
    Sqlite(PathBuf),
    Postgres(String),
}

/// Passages in a database of any kind, whose calls are waited for.
#[derive(Clone, Debug)]
struct Database(PassageDatabase);

impl Place {
    async fn open(&self, words: WordOptions, embedder: Option<Arc<dyn Embedder>>) -> Result<Database> {
        let opened = match self {
            Self::Sqlite(path) => {
                let mut options = SqlitePassageOptions::default();
                options.words = words;
                PassageDatabase::sqlite(path, options, embedder).await?
            }
            Self::Postgres(url) => {
                let mut options = PostgresPassageOptions::default();
                options.words = words;
                PassageDatabase::postgres(url, options, embedder).await?
            }
        };
        Ok(Database(opened))
    }

    fn by_words(&self) -> Database {
        block_on(self.open(WordOptions::default(), None)).unwrap()
    }

    /// Returns a database with vectors; `None` where there is no pgvector.
    fn by_vectors(&self, dimensions: usize) -> Option<Database> {
        let embedder = Arc::new(NgramEmbedder::new(dimensions));
        match block_on(self.open(WordOptions::default(), Some(embedder))) {
            Err(error) if error.kind() == ErrorKind::Unsupported && error.whole().contains("pgvector") => {
                eprintln!("skipped: {error:#}");
                None
            }
            opened => Some(opened.unwrap()),
        }
    }
}

impl Database {
    fn add(&self, owner: &Owner, passages: Vec<Passage>) -> PassageReport {
        block_on(self.0.add(owner, passages)).unwrap()
    }

    fn replace(&self, owner: &Owner, source: &str, passages: Vec<Passage>) -> Result<PassageReport> {
        block_on(self.0.replace(owner, source, passages))
    }

    fn sync(&self, owner: &Owner, passages: Vec<Passage>) -> PassageReport {
        block_on(self.0.sync(owner, passages)).unwrap()
    }

    fn remove(&self, owner: &Owner, ids: &[&str]) -> usize {
        block_on(self.0.remove(owner, ids)).unwrap()
    }

    fn len(&self, owner: &Owner) -> usize {
        block_on(self.0.len(owner)).unwrap()
    }

    fn words(&self) -> Arc<dyn Retriever> {
        self.0.words()
    }

    fn vectors(&self) -> Arc<dyn Retriever> {
        self.0.vectors().unwrap()
    }

    fn hybrid(&self) -> Arc<dyn Retriever> {
        self.0.hybrid()
    }

    fn close(&self) {
        block_on(self.0.close());
    }
}

/// Empty databases of each kind that is available.
struct Places {
    folder: TempDir,
    used: AtomicUsize,
}

impl Places {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), used: AtomicUsize::new(0) }
    }

    fn sqlite(&self) -> Place {
        let number = self.used.fetch_add(1, Ordering::Relaxed);
        Place::Sqlite(self.folder.path().join(format!("{number}.db")))
    }

    fn each(&self) -> Vec<Place> {
        let mut places = vec![self.sqlite()];
        places.extend(postgres().map(Place::Postgres));
        places
    }
}

/// Returns the URL of an empty schema, where there is a server.
fn postgres() -> Option<String> {
    static USED: AtomicUsize = AtomicUsize::new(0);
    let Some(url) = std::env::var(POSTGRES).ok().filter(|url| !url.is_empty()) else {
        eprintln!("skipped: {POSTGRES} does not say where a server is");
        return None;
    };
    let sign = if url.contains('?') { '&' } else { '?' };
    let id = alloquy_core::NodeId::new().to_string().replace('-', "");
    Some(format!("{url}{sign}schema=test_{id}_{}", USED.fetch_add(1, Ordering::Relaxed)))
}

fn me() -> Owner {
    Owner::local()
}

fn other() -> Owner {
    "other".parse().unwrap()
}

fn found(retriever: &dyn Retriever, owner: &Owner, lookup: &Lookup) -> Vec<Passage> {
    block_on(retriever.find(owner, lookup)).unwrap().passages
}

fn found_ids(retriever: &dyn Retriever, owner: &Owner, text: &str) -> Vec<String> {
    found(retriever, owner, &Lookup::new(text)).into_iter().map(|passage| passage.id).collect()
}

#[test]
fn words_obey_the_laws() {
    for place in Places::new().each() {
        block_on(laws::retriever::all(async |sample: laws::retriever::Sample| {
            let database = place.by_words();
            for (owner, passages) in sample.owners {
                database.add(&owner, passages);
            }
            Ok(database.words())
        }))
        .unwrap();
    }
}

#[test]
fn vectors_obey_the_laws() {
    for place in Places::new().each() {
        let Some(database) = place.by_vectors(256) else { continue };
        for retriever in [database.vectors(), database.hybrid()] {
            block_on(laws::retriever::all(async |sample: laws::retriever::Sample| {
                for (owner, passages) in sample.owners {
                    database.add(&owner, passages);
                }
                Ok(retriever)
            }))
            .unwrap();
        }
    }
}

#[test]
fn the_index_of_neighbours_obeys_the_laws() {
    let Some(url) = postgres() else { return };
    let mut options = PostgresPassageOptions::default();
    options.search = VectorSearch::Hnsw { candidates: 100 };
    let embedder = Arc::new(NgramEmbedder::new(256));
    let passages = match block_on(PassageDatabase::postgres(&url, options, Some(embedder))) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return eprintln!("skipped: {error:#}"),
        opened => opened.unwrap(),
    };
    block_on(laws::retriever::all(async |sample: laws::retriever::Sample| {
        for (owner, added) in sample.owners {
            passages.add(&owner, added).await?;
        }
        passages.vectors()
    }))
    .unwrap();
}

#[test]
fn numbers_of_candidates_that_the_index_does_not_take_are_refused() {
    for candidates in [0, 1_001] {
        let mut options = PostgresPassageOptions::default();
        options.search = VectorSearch::Hnsw { candidates };
        let opened = block_on(PassageDatabase::postgres("postgres://ann@127.0.0.1:1/chats", options, None));
        let error = opened.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
        assert!(error.to_string().contains(&candidates.to_string()), "{error:#}");
    }
}

/// What happens to the passages of an owner.
#[derive(Clone, Debug)]
enum Step {
    Add(Vec<(u8, String)>),
    Remove(Vec<u8>),
    Sync(Vec<(u8, String)>),
}

fn texts() -> impl Strategy<Value = Vec<(u8, String)>> {
    let word = prop::sample::select(vec![
        "tea", "green", "Grün", "black", "cup", "of", "茶", "緑茶", "brewing", "it",
    ]);
    let text = prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "));
    prop::collection::vec((0_u8..20, text), 0..8)
}

fn steps() -> impl Strategy<Value = Vec<(bool, Step)>> {
    let step = prop_oneof![
        texts().prop_map(Step::Add),
        prop::collection::vec(0_u8..20, 0..6).prop_map(Step::Remove),
        texts().prop_map(Step::Sync),
    ];
    prop::collection::vec((any::<bool>(), step), 1..8)
}

fn passages(texts: &[(u8, String)]) -> Vec<Passage> {
    let mut passages = Vec::new();
    for (id, text) in texts {
        let passage = Passage::new(format!("{id}"), text.clone());
        passages.push(passage.metadata("id", u64::from(*id)).metadata("words", text.len()));
    }
    passages
}

/// Makes the same changes in a database and in memory, and compares what they find.
fn finds_the_same(place: &Place, steps: &[(bool, Step)], stems: Option<StemLanguage>) {
    let mut options = WordOptions::default();
    options.stems = stems;
    let database = block_on(place.open(options, None)).unwrap();
    let memory = WordIndex::new(options).unwrap();
    for (is_mine, step) in steps {
        let owner = if *is_mine { me() } else { other() };
        match step {
            Step::Add(texts) => {
                database.add(&owner, passages(texts));
                memory.add(&owner, passages(texts));
            }
            Step::Remove(ids) => {
                let ids: Vec<String> = ids.iter().map(u8::to_string).collect();
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                assert_eq!(database.remove(&owner, &ids), memory.remove(&owner, ids));
            }
            Step::Sync(texts) => {
                database.sync(&owner, passages(texts));
                let all: Vec<String> = (0..20).map(|id: u8| id.to_string()).collect();
                memory.remove(&owner, all.iter().map(String::as_str));
                memory.add(&owner, passages(texts));
            }
        }
    }
    let range = Filter::range("words", MetadataValue::from(3)..MetadataValue::from(20)).unwrap();
    let lookups = [
        Lookup::new("green tea"),
        Lookup::new("茶 of it brewed").limit(2),
        Lookup::new("black cup grun").limit(30).min_score(0.2),
        Lookup::new("tea cup 緑茶").limit(3).filter(range),
        Lookup::new("tea").filter(Filter::one_of("id", [1, 3, 5, 7])).filter(Filter::missing("none")),
    ];
    for owner in [me(), other()] {
        assert_eq!(database.len(&owner), memory.len(&owner));
        for lookup in &lookups {
            assert_eq!(
                found(&*database.words(), &owner, lookup),
                found(&memory, &owner, lookup),
                "{lookup:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// The scores are those of the index in memory to the last digit, whatever was added and removed before.
    #[test]
    fn words_find_what_the_index_in_memory_finds(steps in steps(), has_stems in any::<bool>()) {
        for place in Places::new().each() {
            finds_the_same(&place, &steps, has_stems.then_some(StemLanguage::English));
        }
    }
}

#[test]
fn vectors_find_what_the_index_in_memory_finds() {
    let page: Vec<Passage> = (0..60)
        .map(|number| {
            Passage::new(format!("{number}"), format!("tea number {number} of {}", number % 7))
                .metadata("n", number % 5)
        })
        .collect();
    let memory = VectorIndex::new(Arc::new(NgramEmbedder::new(256)), VectorFormat::F32).unwrap();
    block_on(memory.add(&me(), page.clone())).unwrap();
    for place in Places::new().each() {
        let Some(database) = place.by_vectors(256) else { continue };
        database.add(&me(), page.clone());
        for lookup in [Lookup::new("tea 17"), Lookup::new("number 5").limit(9).filter(Filter::equals("n", 2))]
        {
            let here = found(&*database.vectors(), &me(), &lookup);
            let there = found(&memory, &me(), &lookup);
            assert_eq!(here.len(), there.len());
            for (here, there) in here.iter().zip(&there) {
                assert!((here.score - there.score).abs() < 1e-5, "{here:?} {there:?}");
            }
        }
    }
}

#[test]
fn integers_of_one_byte_find_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passages.db");
    let mut options = SqlitePassageOptions::default();
    options.vectors = VectorFormat::Int8;
    let embedder = Arc::new(NgramEmbedder::default());
    let database = block_on(PassageDatabase::sqlite(&path, options, Some(embedder.clone()))).unwrap();
    let memory = VectorIndex::new(embedder, VectorFormat::Int8).unwrap();
    let pages =
        vec![Passage::new("1", "Green tea"), Passage::new("2", "Black coffee"), Passage::new("3", "Greens")];
    block_on(database.add(&me(), pages.clone())).unwrap();
    block_on(memory.add(&me(), pages)).unwrap();
    let lookup = Lookup::new("greenish teas");
    let vectors = database.vectors().unwrap();
    assert_eq!(found(&*vectors, &me(), &lookup), found(&memory, &me(), &lookup));
}

#[test]
fn any_text_is_a_question() {
    let large = "tea \"AND\" (green) NEAR/2 ".repeat(45_000);
    let hostile = [
        "\"",
        "'",
        "tea'; DROP TABLE passages; --",
        "tea AND",
        "NOT tea",
        "NEAR(tea green)",
        "tea*",
        "^tea",
        "words:tea",
        "(((",
        "-tea",
        "+",
        "\0",
        "tea\0green",
        "\u{1}\u{7f}\u{200b}\u{feff}",
        "\\",
        "%_",
        "$1",
        "?1",
        "tea & !green",
        "tea:*A",
        "\u{202e}tea",
        "👩‍👩‍👧",
        &large,
    ];
    for place in Places::new().each() {
        let database = place.by_words();
        let mut stored = vec![Passage::new("tea", "Green tea")];
        for (number, text) in hostile.iter().enumerate() {
            let name = format!("{number}{text}");
            let name: String = name.chars().take(200).collect();
            stored.push(Passage::new(&name, *text).source(&name).metadata(name.clone(), *text));
        }
        assert_eq!(database.add(&me(), stored.clone()).added, stored.len());
        for text in hostile {
            let ids = found_ids(&*database.words(), &me(), text);
            let has_tea = WordOptions::default().words(text).contains(&"tea".to_owned());
            assert!(!has_tea || !ids.is_empty(), "{:?} finds nothing", text.get(..40));
        }
        for passage in &stored {
            let text: String = passage.id.clone();
            let lookup = Lookup::new("tea green")
                .limit(50)
                .filter(Filter::exists(alloquy_core::query::MetadataKey::of([text])));
            found(&*database.words(), &me(), &lookup);
            assert_eq!(database.remove(&me(), &[&passage.id]), 1, "{:?}", passage.id);
        }
        assert_eq!(database.len(&me()), 0);
    }
}

fn version(database: &Database) -> Digest {
    block_on(database.words().version(&me())).unwrap()
}

#[test]
fn versions_change_with_what_is_found() {
    for place in Places::new().each() {
        let database = place.by_words();
        let mut versions = vec![version(&database)];
        let tea = Passage::new("1", "Green tea").source("tea.md");
        database.add(&me(), vec![tea.clone()]);
        versions.push(version(&database));
        database.add(&me(), vec![tea.clone().metadata("language", "en")]);
        versions.push(version(&database));
        database.add(&me(), vec![Passage::new("2", "Black tea")]);
        versions.push(version(&database));
        database.remove(&me(), &["2"]);
        versions.push(version(&database));
        database.sync(&me(), Vec::new());
        versions.push(version(&database));
        let distinct: std::collections::HashSet<_> = versions.iter().collect();
        assert_eq!(distinct.len(), versions.len(), "a change does not change the version");

        database.add(&me(), vec![tea.clone()]);
        let before = version(&database);
        assert_eq!(database.add(&me(), vec![tea.clone()]).kept, 1);
        assert_eq!(database.remove(&me(), &["absent"]), 0);
        database.add(&other(), vec![Passage::new("1", "Oolong tea")]);
        assert_eq!(version(&database), before, "nothing of this owner has changed");
        database.close();
        let again = block_on(place.open(WordOptions::default(), None)).unwrap();
        assert_eq!(version(&again), before);
    }
}

/// The keys of rows say which passages were there before, of any owner: the version must not.
#[test]
fn equal_versions_have_equal_passages() {
    let (tea, coffee) = (Passage::new("1", "Green tea"), Passage::new("2", "Black coffee"));
    let (places, more) = (Places::new(), Places::new());
    for (place, after_another) in places.each().iter().zip(more.each()) {
        let first = place.by_words();
        let second = after_another.by_words();
        second.add(&other(), vec![Passage::new("x", "Oolong tea")]);
        for database in [&first, &second] {
            database.add(&me(), vec![tea.clone(), coffee.clone()]);
        }
        assert_eq!(version(&first), version(&second));
        first.remove(&me(), &["2"]);
        second.remove(&me(), &["1"]);
        assert_ne!(version(&first), version(&second));
        first.add(&me(), vec![coffee.clone()]);
        let before = version(&first);
        first.sync(&me(), vec![coffee.clone()]);
        assert_ne!(version(&first), before);
    }
}

/// Indexes of databases do not take names of any length.
#[test]
fn names_may_be_long() {
    let digests: Vec<String> = (0..200_u8).map(|number| Digest::of(&[number]).to_string()).collect();
    let name = digests.concat();
    for place in Places::new().each() {
        let database = place.by_words();
        let passage = Passage::new(&name, "Green tea").source(&name).metadata(&name, name.as_str());
        assert_eq!(database.add(&me(), vec![passage.clone()]).added, 1);
        assert_eq!(database.add(&me(), vec![passage]).kept, 1);
        assert_eq!(found_ids(&*database.words(), &me(), "tea"), [name.as_str()]);
        let changed = Passage::new(&name, "Black tea").source(&name);
        let report = database.replace(&me(), &name, vec![changed]).unwrap();
        assert_eq!((report.added, report.removed), (1, 0));
        assert_eq!(database.remove(&me(), &[&name]), 1);
        assert_eq!(database.len(&me()), 0);
    }
}

/// A passage of a document.
fn part(source: &str, id: &str) -> Passage {
    Passage::new(id, format!("tea {id}")).source(source)
}

#[test]
fn the_passages_of_a_document_are_replaced() {
    for place in Places::new().each() {
        let database = place.by_words();
        database.add(&me(), vec![part("a", "a1"), part("a", "a2"), part("b", "b1")]);
        let report = database.replace(&me(), "a", vec![part("a", "a2"), part("a", "a3")]).unwrap();
        assert_eq!((report.added, report.kept, report.removed), (1, 1, 1));
        let mut ids = found_ids(&*database.words(), &me(), "tea");
        ids.sort();
        assert_eq!(ids, ["a2", "a3", "b1"]);
        let error = database.replace(&me(), "a", vec![part("b", "b2")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        // The last one with an id is stored.
        let twice = vec![Passage::new("x", "first"), Passage::new("x", "second")];
        assert_eq!(database.add(&other(), twice).added, 1);
        assert_eq!(found_ids(&*database.words(), &other(), "second"), ["x"]);
        let twice = vec![Passage::new("x", "second"), Passage::new("x", "third")];
        assert_eq!(database.sync(&other(), twice).added, 1, "the last one is not stored yet");
        assert_eq!(found_ids(&*database.words(), &other(), "third"), ["x"]);
    }
}

/// Replaces the document once, while the vectors of another replacement are computed.
#[derive(Debug)]
struct Meanwhile {
    embedder: NgramEmbedder,
    other: Mutex<Option<Database>>,
}

#[async_trait::async_trait]
impl Embedder for Meanwhile {
    fn digest(&self) -> Digest {
        self.embedder.digest()
    }

    fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Embeddings> {
        let other = self.other.lock().unwrap().take();
        if let Some(other) = other {
            other.0.replace(&me(), "a", vec![part("a", "a1"), part("a", "a3")]).await?;
        }
        self.embedder.embed(texts, kind).await
    }
}

#[test]
fn two_replacements_of_a_document_do_not_mix() {
    for place in Places::new().each() {
        let Some(other) = place.by_vectors(256) else { continue };
        other.replace(&me(), "a", vec![part("a", "a1"), part("a", "a2")]).unwrap();
        let meanwhile =
            Meanwhile { embedder: NgramEmbedder::new(256), other: Mutex::new(Some(other.clone())) };
        let database = block_on(place.open(WordOptions::default(), Some(Arc::new(meanwhile)))).unwrap();
        let pages = vec![part("a", "a1"), part("a", "a2"), part("a", "a4")];
        // The other call removes a2, which this one has found stored.
        let error = database.replace(&me(), "a", pages.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error:#}");
        assert!(error.whole().contains("a2"), "{}", error.whole());
        assert_eq!(database.len(&me()), 2, "an error changed something");
        database.replace(&me(), "a", pages).unwrap();
        let mut ids = found_ids(&*database.words(), &me(), "tea");
        ids.sort();
        assert_eq!(ids, ["a1", "a2", "a4"]);
    }
}

fn round_of_passages(round: usize) -> Vec<Passage> {
    let numbers = 0..1_200;
    numbers
        .map(|number| Passage::new(format!("{number}"), format!("tea {number} of round {round}")))
        .collect()
}

/// Blocks of words that have more removed passages than others are written again.
#[test]
fn many_removed_passages_leave_no_trace() {
    for place in Places::new().each() {
        let database = place.by_words();
        let memory = WordIndex::new(WordOptions::default()).unwrap();
        for round in 0..3 {
            database.add(&me(), round_of_passages(round));
        }
        memory.add(&me(), round_of_passages(2));
        assert_eq!(database.len(&me()), 1_200);
        for text in ["tea 700", "round 1", "round 2 number 5"] {
            let lookup = Lookup::new(text).limit(20);
            assert_eq!(found(&*database.words(), &me(), &lookup), found(&memory, &me(), &lookup));
        }
    }
}

#[test]
fn other_settings_and_contents_are_refused() {
    for place in Places::new().each() {
        drop(place.by_words());
        let mut options = WordOptions::default();
        options.stems = Some(StemLanguage::English);
        let error = block_on(place.open(options, None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error:#}");
        assert!(error.whole().contains("English"), "{}", error.whole());
        options.b = -1.0;
        assert_eq!(block_on(place.open(options, None)).unwrap_err().kind(), ErrorKind::Invalid);
        let database = place.by_words();
        let refused = database.0.vectors().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        let vectors = vec![(Passage::new("1", "tea"), vec![1.0])];
        let refused = block_on(database.0.add_vectors(&me(), vectors)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        database.close();
        let error = block_on(database.0.len(&me())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passages.db");
    drop(block_on(SqliteStore::open(&path)).unwrap());
    let error = block_on(PassageDatabase::sqlite(&path, SqlitePassageOptions::default(), None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
}

/// A vector that has a 1 at a place.
fn unit(place: usize) -> Vec<f32> {
    let mut vector = vec![0.0; 256];
    vector[place] = 1.0;
    vector
}

#[test]
fn given_vectors_are_checked_and_found() {
    for place in Places::new().each() {
        let Some(database) = place.by_vectors(256) else { continue };
        let pages =
            (0..50).map(|number| (Passage::new(format!("{number:02}"), "page"), unit(number))).collect();
        let report = block_on(database.0.add_vectors(&me(), pages)).unwrap();
        assert_eq!(report.added, 50);
        let lookup = Lookup::new("").limit(3);
        let near = block_on(database.0.nearest(&me(), &unit(7), &lookup)).unwrap();
        let ids: Vec<&str> = near.passages.iter().map(|passage| passage.id.as_str()).collect();
        assert_eq!(ids, ["07", "00", "01"], "equal scores are sorted by id");
        for wrong in [vec![1.0], vec![f32::NAN; 256]] {
            let vectors = vec![(Passage::new("x", "page"), wrong.clone())];
            let error = block_on(database.0.add_vectors(&me(), vectors)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
            let error = block_on(database.0.nearest(&me(), &wrong, &lookup)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
        }
        // A new vector of the same passage replaces the former one.
        let moved = vec![(Passage::new("00", "page"), unit(200))];
        block_on(database.0.add_vectors(&me(), moved)).unwrap();
        let near = block_on(database.0.nearest(&me(), &unit(200), &lookup)).unwrap();
        assert_eq!(near.passages[0].id, "00");
        assert_eq!(database.len(&me()), 50);
    }
}

#[test]
fn threads_with_databases_of_their_own_lose_nothing() {
    for place in Places::new().each() {
        let first = place.by_words();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let place = &place;
                scope.spawn(move || {
                    let database = place.by_words();
                    for number in 0..25 {
                        let id = format!("{thread}-{number}");
                        database.add(&me(), vec![Passage::new(&id, format!("tea of thread {thread}"))]);
                        assert!(!found_ids(&*database.words(), &me(), "tea").is_empty());
                    }
                    assert_eq!(database.remove(&me(), &[&format!("{thread}-0")]), 1);
                });
            }
        });
        assert_eq!(first.len(&me()), 96);
        let lookup = Lookup::new("thread").limit(200);
        assert_eq!(found(&*first.words(), &me(), &lookup).len(), 96);
    }
}

/// Names the database that this program, started again, writes.
const CHILD: &str = "ALLOQUY_TEST_PASSAGES_CHILD";

/// Adds and removes passages in the database that the variable names; without it, there is nothing to do.
#[test]
fn in_another_process() {
    let Ok(name) = std::env::var(CHILD) else { return };
    let place = match name.strip_prefix("sqlite:") {
        Some(path) => Place::Sqlite(path.into()),
        None => Place::Postgres(name),
    };
    let database = place.by_words();
    let own = std::process::id();
    for number in 0..40 {
        let id = format!("{own}-{number}");
        database.add(&me(), vec![Passage::new(&id, format!("tea {number}"))]);
    }
}

#[test]
fn processes_lose_nothing() {
    for place in Places::new().each() {
        let database = place.by_words();
        let name = match &place {
            Place::Sqlite(path) => format!("sqlite:{}", path.display()),
            Place::Postgres(url) => url.clone(),
        };
        let mut children = Vec::new();
        for _ in 0..3 {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "in_another_process"]).env(CHILD, &name);
            children.push(command.stdout(std::process::Stdio::null()).spawn().unwrap());
        }
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        assert_eq!(database.len(&me()), 120);
        assert_eq!(found(&*database.words(), &me(), &Lookup::new("tea").limit(500)).len(), 120);
    }
}

#[cfg(unix)]
#[test]
fn only_its_user_can_read_a_database() {
    use std::os::unix::fs::PermissionsExt as _;
    let places = Places::new();
    let place = places.sqlite();
    let database = place.by_words();
    database.add(&me(), vec![Passage::new("1", "tea")]);
    let Place::Sqlite(path) = &place else { return };
    for ending in ["", "-wal", "-shm"] {
        let file = format!("{}{ending}", path.display());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file}");
    }
}

/// The full-text search of SQLite, of all words in quotes.
#[derive(Debug)]
struct FullText(Mutex<Connection>);

impl FullText {
    fn new(pages: &[Passage], tokenizer: &str) -> Self {
        let connection = Connection::open_in_memory().unwrap();
        let table =
            format!("CREATE VIRTUAL TABLE pages USING fts5 (text, body UNINDEXED, tokenize = '{tokenizer}')");
        connection.execute_batch(&table).unwrap();
        for page in pages {
            let heading =
                page.metadata.get("heading").and_then(|heading| heading.as_str()).unwrap_or_default();
            let body = serde_json::to_string(page).unwrap();
            let text = format!("{heading}\n\n{}", page.text);
            connection.execute("INSERT INTO pages (text, body) VALUES (?1, ?2)", [text, body]).unwrap();
        }
        Self(Mutex::new(connection))
    }

    fn passages(&self, lookup: &Lookup) -> Vec<Passage> {
        let words = WordOptions::default().words(&lookup.text);
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let connection = self.0.lock().unwrap();
        let sql = "SELECT body FROM pages WHERE pages MATCH ?1 ORDER BY rank LIMIT ?2";
        let mut statement = connection.prepare(sql).unwrap();
        let limit = i64::try_from(lookup.limit.get()).unwrap();
        let rows = statement.query_map((quoted.join(" OR "), limit), |row| row.get::<_, String>(0)).unwrap();
        rows.map(|body| serde_json::from_str(&body.unwrap()).unwrap()).collect()
    }
}

#[async_trait::async_trait]
impl Retriever for FullText {
    fn name(&self) -> &str {
        "FTS5"
    }

    async fn version(&self, _owner: &Owner) -> Result<Digest> {
        Ok(Digest::of(b"pages"))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        let passages = self.passages(lookup);
        Ok(Found::new(passages, self.version(owner).await?))
    }
}

/// Our words find about as much as the full-text search of SQLite, which a `PassageDatabase` does not use: its scores depend on the
/// passages of all owners.
#[test]
fn the_full_text_search_of_sqlite_finds_as_much() {
    let pages = eval::passages();
    for (tokenizer, stems) in [("unicode61", None), ("porter unicode61", Some(StemLanguage::English))] {
        let full_text = measured(&format!("FTS5, {tokenizer}"), &FullText::new(&pages, tokenizer));
        let mut options = WordOptions::default();
        options.stems = stems;
        let words = WordIndex::new(options).unwrap();
        words.add(&me(), pages.iter().cloned());
        let ours = measured("our words", &words);
        assert!(ours.ndcg >= full_text.ndcg - 0.02, "{ours:?} {full_text:?}");
    }
}

/// The floors are those of the indexes in memory.
#[test]
fn answers_are_found() {
    let pages = eval::passages();
    for (stems, floor) in [(None, 0.50), (Some(StemLanguage::English), 0.52)] {
        let mut options = WordOptions::default();
        options.stems = stems;
        let memory = WordIndex::new(options).unwrap();
        memory.add(&me(), pages.iter().cloned());
        let expected = measured(&format!("memory, stems {stems:?}"), &memory);
        for place in Places::new().each() {
            let database = block_on(place.open(options, None)).unwrap();
            database.add(&me(), pages.clone());
            let here = measured(&format!("{}, stems {stems:?}", kind(&place)), &*database.words());
            assert_eq!(here, expected, "{place:?} finds other passages than the index in memory");
            assert!(here.ndcg >= floor, "{place:?} finds less than {floor}: {here:?}");
        }
    }
    for place in Places::new().each() {
        let Some(database) = place.by_vectors(1_024) else { continue };
        database.add(&me(), pages.clone());
        let words = measured(&format!("{}, words", kind(&place)), &*database.words());
        let vectors = measured(&format!("{}, vectors", kind(&place)), &*database.vectors());
        let both = measured(&format!("{}, words and vectors", kind(&place)), &*database.hybrid());
        assert!(both.ndcg >= words.ndcg.max(vectors.ndcg) - 0.005, "{both:?}");
    }
}

fn kind(place: &Place) -> &'static str {
    match place {
        Place::Sqlite(_) => "SQLite",
        Place::Postgres(_) => "PostgreSQL",
    }
}
