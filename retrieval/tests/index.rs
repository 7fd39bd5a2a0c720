//! The index in a folder: what is added, kept and removed, and what is there after a crash.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a test may panic

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::query::Filter;
use alloquy_core::{Error, ErrorKind, Owner, Result};
use alloquy_retrieval::{
    Chunker, Document, Embedder, Embeddings, Index, IndexOptions, Lookup, NgramEmbedder, Retriever,
    StemLanguage, TextKind, VectorFormat,
};
use pollster::block_on;
use proptest::prelude::*;

/// Computes vectors, counts texts, and fails from a given one on.
#[derive(Debug)]
struct Counting {
    embedder: NgramEmbedder,
    texts: AtomicUsize,
    most: AtomicUsize,
}

impl Counting {
    fn new() -> Arc<Self> {
        let embedder = NgramEmbedder::new(32);
        Arc::new(Self { embedder, texts: AtomicUsize::new(0), most: AtomicUsize::new(usize::MAX) })
    }

    fn taken(&self) -> usize {
        self.texts.swap(0, Ordering::SeqCst)
    }
}

#[async_trait::async_trait]
impl Embedder for Counting {
    fn digest(&self) -> Digest {
        self.embedder.digest()
    }

    fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Embeddings> {
        let before = self.texts.fetch_add(texts.len(), Ordering::SeqCst);
        if before + texts.len() > self.most.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Model, "out of memory"));
        }
        self.embedder.embed(texts, kind).await
    }
}

fn document(name: &str, parts: &[&str]) -> Document {
    let mut text = String::new();
    for (number, part) in parts.iter().enumerate() {
        text += &format!("# Part {number}\n\n{part}\n\n");
    }
    Document::markdown(name, text)
}

fn found(retriever: &dyn Retriever, owner: &Owner, text: &str) -> Vec<String> {
    let found = block_on(retriever.find(owner, &Lookup::new(text).limit(100))).unwrap();
    found.passages.into_iter().map(|passage| passage.text).collect()
}

fn add(index: &Index, documents: Vec<Document>) -> (usize, usize, usize) {
    let report = block_on(index.add(&Owner::local(), documents, &|_| {})).unwrap();
    (report.added, report.kept, report.removed)
}

#[test]
fn what_is_unchanged_is_not_computed_again() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = Counting::new();
    let index = Index::open(folder.path(), IndexOptions::default(), Some(embedder.clone())).unwrap();
    assert_eq!(
        add(&index, vec![document("a", &["one", "two", "three"]), document("b", &["four"])]),
        (4, 0, 0)
    );
    assert_eq!(embedder.taken(), 4);

    let version = block_on(index.words().version(&Owner::local())).unwrap();
    assert_eq!(add(&index, vec![document("a", &["one", "two", "three"])]), (0, 3, 0));
    assert_eq!((embedder.taken(), block_on(index.words().version(&Owner::local())).unwrap()), (0, version));

    assert_eq!(add(&index, vec![document("a", &["one", "changed", "three"])]), (1, 2, 1));
    assert_eq!(embedder.taken(), 1);
    assert_ne!(block_on(index.words().version(&Owner::local())).unwrap(), version);
    for retriever in [index.words(), index.vectors().unwrap(), index.hybrid()] {
        assert!(found(&*retriever, &Owner::local(), "changed")[0].ends_with("changed"));
        assert!(!found(&*retriever, &Owner::local(), "two").iter().any(|text| text.ends_with("two")));
    }

    // A passage that comes back, in its old place.
    assert_eq!(add(&index, vec![document("a", &["one", "two", "three"])]), (1, 2, 1));
    assert!(found(&*index.words(), &Owner::local(), "two")[0].ends_with("two"));
}

#[test]
fn documents_that_are_gone_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let owner = Owner::local();
    let index = Index::open(folder.path(), IndexOptions::default(), None).unwrap();
    add(&index, vec![document("a", &["one"]), document("b", &["two"]), document("c", &["three"])]);
    let report = block_on(index.sync(&owner, vec![document("b", &["two"])], &|_| {})).unwrap();
    assert_eq!((report.added, report.kept, report.removed), (0, 1, 2));
    let documents = index.documents(&owner).unwrap();
    assert_eq!(documents.iter().map(|document| document.source.as_str()).collect::<Vec<_>>(), ["b"]);

    let report = block_on(index.remove(&owner, &["b", "z"])).unwrap();
    assert_eq!((report.removed, report.skipped[0].source.as_str()), (1, "z"));
    assert!(index.documents(&owner).unwrap().is_empty());
    let left: Vec<_> = segment_files(folder.path());
    assert!(left.is_empty(), "files are left: {left:?}");
}

#[test]
fn documents_that_are_not_added_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), IndexOptions::default(), None).unwrap();
    let documents = vec![document("a", &["one"]), Document::text("empty", " \n"), document("a", &["two"])];
    let report = block_on(index.add(&Owner::local(), documents, &|_| {})).unwrap();
    let skipped: Vec<_> = report.skipped.iter().map(|skipped| skipped.source.as_str()).collect();
    assert_eq!((report.added, skipped), (1, vec!["empty", "a"]));
    assert!(report.skipped[1].reason.contains("name of its own"), "{:?}", report.skipped);
}

#[test]
fn metadata_that_changed_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), IndexOptions::default(), None).unwrap();
    add(&index, vec![document("a", &["tea"]).metadata("language", "en")]);
    assert_eq!(add(&index, vec![document("a", &["tea"]).metadata("language", "de")]), (1, 0, 1));
    let lookup = Lookup::new("tea").filter(Filter::equals("language", "de"));
    assert_eq!(block_on(index.words().find(&Owner::local(), &lookup)).unwrap().passages.len(), 1);
}

#[test]
fn owners_are_apart() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
    let other: Owner = "../other/ö".parse().unwrap();
    block_on(index.add(&other, vec![document("a", &["tea"])], &|_| {})).unwrap();
    for retriever in [index.words(), index.vectors().unwrap()] {
        assert!(found(&*retriever, &Owner::local(), "tea").is_empty());
        assert_eq!(found(&*retriever, &other, "tea").len(), 1);
    }
}

#[test]
fn another_program_sees_changes() {
    let folder = tempfile::tempdir().unwrap();
    let here = Index::open(folder.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
    let there = Index::open(folder.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
    add(&here, vec![document("a", &["tea"])]);
    assert_eq!(found(&*there.words(), &Owner::local(), "tea").len(), 1);
    add(&here, vec![document("b", &["green tea"])]);
    assert_eq!(found(&*there.vectors().unwrap(), &Owner::local(), "tea").len(), 2);
}

#[test]
fn two_changes_at_once_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), IndexOptions::default(), None).unwrap();
    let other = Index::open(folder.path(), IndexOptions::default(), None).unwrap();
    let kinds = Mutex::new(Vec::new());
    let try_again = |_| {
        let result = block_on(other.add(&Owner::local(), vec![document("b", &["two"])], &|_| {}));
        kinds.lock().unwrap().push(result.map_err(|error| error.kind()).unwrap_err());
    };
    block_on(index.add(&Owner::local(), vec![document("a", &["one"])], &try_again)).unwrap();
    assert_eq!(*kinds.lock().unwrap(), [ErrorKind::Busy]);
    assert_eq!(add(&other, vec![document("b", &["two"])]), (1, 0, 0));
}

#[test]
fn another_embedder_or_other_settings_are_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = Arc::new(NgramEmbedder::new(16));
    Index::open(folder.path(), IndexOptions::default(), Some(embedder.clone())).unwrap();
    let mut chunks = IndexOptions::default();
    chunks.chunker = Chunker::new(77, 7).unwrap();
    let mut words = IndexOptions::default();
    words.words.stems = Some(StemLanguage::English);
    let mut int8 = IndexOptions::default();
    int8.vectors = VectorFormat::Int8;
    let other = Arc::new(NgramEmbedder::new(17));
    let given: Arc<dyn Embedder> = embedder.clone();
    let given_other: Arc<dyn Embedder> = other.clone();
    let table = [
        (
            IndexOptions::default(),
            Some(given_other),
            [embedder.digest().to_string(), other.digest().to_string()],
        ),
        (IndexOptions::default(), None, [embedder.digest().to_string(), "none".to_owned()]),
        (chunks, Some(given.clone()), ["200 words".to_owned(), "77 words".to_owned()]),
        (words, Some(given.clone()), ["stems: None".to_owned(), "English".to_owned()]),
        (int8, Some(given.clone()), ["F32".to_owned(), "Int8".to_owned()]),
    ];
    for (options, embedder, both) in table {
        let error = Index::open(folder.path(), options, embedder).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(both.iter().all(|one| error.to_string().contains(one)), "{error} does not name {both:?}");
    }
}

#[test]
fn a_failing_embedder_leaves_the_last_whole_state() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = Counting::new();
    let index = Index::open(folder.path(), IndexOptions::default(), Some(embedder.clone())).unwrap();
    // A segment is 2,048 passages: the first is written, the second fails.
    let documents: Vec<_> =
        (0..3_000).map(|number| document(&format!("{number}"), &[&format!("tea {number}")])).collect();
    embedder.most.store(2_500, Ordering::SeqCst);
    let error = block_on(index.add(&Owner::local(), documents.clone(), &|_| {})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Model);
    assert_eq!(index.documents(&Owner::local()).unwrap().len(), 2_048);

    embedder.most.store(usize::MAX, Ordering::SeqCst);
    let progress = Mutex::new(Vec::new());
    let report = |now| progress.lock().unwrap().push(now);
    let report = block_on(index.add(&Owner::local(), documents, &report)).unwrap();
    assert_eq!((report.added, report.kept), (952, 2_048));
    let progress = progress.into_inner().unwrap();
    let last = progress.last().unwrap();
    assert_eq!((last.documents, last.of, last.passages), (3_000, 3_000, 952));
}

#[test]
fn unfinished_files_change_nothing_and_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
    add(&index, vec![document("a", &["tea"])]);
    let owner = owner_folder(folder.path());
    for name in ["manifest.json.part", "00.passages", "00.vectors", "00.words.part"] {
        std::fs::write(owner.join(name), "half").unwrap();
    }
    let again = Index::open(folder.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
    assert_eq!(found(&*again.hybrid(), &Owner::local(), "tea").len(), 1);
    add(&again, vec![document("b", &["tea"])]);
    assert_eq!(segment_files(folder.path()).len(), 6);
    assert!(!owner.join("manifest.json.part").exists());
}

#[test]
fn damage_is_reported() {
    for ending in ["passages", "words", "vectors", "json"] {
        for length in [0, 20] {
            let folder = tempfile::tempdir().unwrap();
            let index = Index::open(folder.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
            add(&index, vec![document("a", &["tea"])]);
            let files = std::fs::read_dir(owner_folder(folder.path())).unwrap();
            let file = files
                .map(|file| file.unwrap().path())
                .find(|path| path.extension().is_some_and(|found| found == ending));
            let file = file.unwrap();
            let bytes = std::fs::read(&file).unwrap();
            std::fs::write(&file, &bytes[..length]).unwrap();
            let again = Index::open(folder.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
            let error =
                block_on(again.vectors().unwrap().find(&Owner::local(), &Lookup::new("tea"))).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert!(error.to_string().contains(ending), "{error} does not name the file");
        }
    }
}

/// The documents of a round: those of the next one are others.
fn round(number: usize) -> Vec<Document> {
    let name = |place: usize| format!("{}", place + number % 2);
    (0..400).map(|place| document(&name(place), &[&format!("tea {place} of round {number}")])).collect()
}

/// A program that changes an index round by round until it is killed.
#[test]
#[ignore = "the test `a_killed_program_leaves_a_whole_index` runs it"]
fn changes_without_end() {
    let Some(folder) = std::env::var_os("ALLOQUY_TEST_INDEX") else { return };
    let index = Index::open(folder, IndexOptions::default(), Some(Counting::new())).unwrap();
    for number in 0.. {
        block_on(index.sync(&Owner::local(), round(number), &|_| {})).unwrap();
    }
}

#[test]
fn a_killed_program_leaves_a_whole_index() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
    for kill in 0..12 {
        let mut program = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "changes_without_end", "--ignored"])
            .env("ALLOQUY_TEST_INDEX", folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(60 + 37 * kill));
        program.kill().unwrap();
        program.wait().unwrap();

        // All passages are of one round, which words and vectors both find.
        let lookup = Lookup::new("tea").limit(1_000);
        let words = block_on(index.words().find(&Owner::local(), &lookup)).unwrap();
        let vectors = block_on(index.vectors().unwrap().find(&Owner::local(), &lookup)).unwrap();
        let rounds: HashSet<_> =
            words.passages.iter().filter_map(|passage| passage.text.split("round").nth(1)).collect();
        assert!(rounds.len() <= 1, "passages of several rounds: {rounds:?}");
        assert!([0, 400].contains(&words.passages.len()), "{} passages", words.passages.len());
        assert_eq!(words.passages.len(), vectors.passages.len());
    }
    let report = block_on(index.sync(&Owner::local(), round(0), &|_| {})).unwrap();
    assert_eq!(report.added + report.kept, 400);
}

#[cfg(unix)]
#[test]
fn others_cannot_read_an_index() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/index");
    let index = Index::open(&path, IndexOptions::default(), Some(Counting::new())).unwrap();
    add(&index, vec![document("a", &["tea"])]);
    let mut folders = vec![folder.path().join("new")];
    while let Some(folder) = folders.pop() {
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o77, 0, "{folder:?}");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o77, 0, "{path:?}");
            }
        }
    }
}

#[test]
fn many_small_additions_are_few_files() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
    for number in 0..60 {
        add(&index, vec![document(&format!("{number}"), &[&format!("tea number{number}")])]);
    }
    assert!(segment_files(folder.path()).len() <= 3 * 9);
    assert_eq!(found(&*index.words(), &Owner::local(), "tea").len(), 60);
    assert!(found(&*index.vectors().unwrap(), &Owner::local(), "tea number33")[0].ends_with("number33"));
}

fn owner_folder(folder: &Path) -> PathBuf {
    let mut owners = std::fs::read_dir(folder.join("owners")).unwrap();
    owners.next().unwrap().unwrap().path()
}

fn segment_files(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(owner_folder(folder)).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending != "json")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// After any changes the index finds what one finds that was made with the last documents alone, with the same scores.
    #[test]
    fn an_index_forgets_its_past(changes in prop::collection::vec(prop::collection::vec(change(), 0..4), 1..6)) {
        let folder = tempfile::tempdir().unwrap();
        let fresh = tempfile::tempdir().unwrap();
        let owner = Owner::local();
        let index = Index::open(folder.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
        let mut left = std::collections::BTreeMap::new();
        for documents in changes {
            let mut given = Vec::new();
            for (name, parts) in documents {
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                if given.iter().all(|document: &Document| document.source() != name) {
                    given.push(document(&name, &parts));
                    left.insert(name.clone(), document(&name, &parts));
                }
            }
            block_on(index.add(&owner, given, &|_| {})).unwrap();
        }
        let other = Index::open(fresh.path(), IndexOptions::default(), Some(Counting::new())).unwrap();
        block_on(other.sync(&owner, left.into_values().collect(), &|_| {})).unwrap();
        for text in ["tea", "green cup", "milk", "part"] {
            let lookup = Lookup::new(text).limit(50);
            let words = (block_on(index.words().find(&owner, &lookup)).unwrap(), block_on(other.words().find(&owner, &lookup)).unwrap());
            prop_assert_eq!(words.0.passages, words.1.passages);
            let vectors = (index.vectors().unwrap(), other.vectors().unwrap());
            let vectors = (block_on(vectors.0.find(&owner, &lookup)).unwrap(), block_on(vectors.1.find(&owner, &lookup)).unwrap());
            prop_assert_eq!(vectors.0.passages, vectors.1.passages);
        }
    }
}

/// A document and its parts.
fn change() -> impl Strategy<Value = (String, Vec<String>)> {
    let words = prop::sample::select(vec!["tea", "green", "cup", "milk", "black tea"]);
    let part = prop::collection::vec(words, 1..4).prop_map(|words| words.join(" "));
    let name = prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned);
    (name, prop::collection::vec(part, 0..4))
}

#[test]
fn a_document_is_listed_with_what_all_of_its_passages_have() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), IndexOptions::default(), None).unwrap();
    let text = "# Tea\n\nTea is grown in Assam.\n\n# Coffee\n\nCoffee is grown in Kona.\n";
    let document = Document::markdown("drinks.md", text).metadata("language", "en");
    add(&index, vec![document]);
    let documents = index.documents(&Owner::local()).unwrap();
    assert_eq!(documents[0].passages, 2);
    assert_eq!(serde_json::to_value(&documents[0].metadata).unwrap(), serde_json::json!({"language": "en"}));
}
