//! What each recall finds, how several are joined, and what a failure does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::manager::NewConversation;
use alloquy_core::media::Digest;
use alloquy_core::query::Filter;
use alloquy_core::store::MemoryStore;
use alloquy_core::{
    Content, Error, ErrorKind, Manager, Message, NodeId, Owner, Part, Preface, Result, Source,
};
use alloquy_memory::{
    Composite, Cue, LookBack, Note, NoteVectors, NoteWords, Notes, Recall, RecallRequest, Recalled, Remember,
    StoredNote, laws,
};
use alloquy_retrieval::{Embedder, Embeddings, Found, Lookup, Passage, Retriever, TextKind};
use alloquy_testing::EchoModel;
use async_trait::async_trait;
use pollster::block_on;

async fn notes_of(texts: &[&str]) -> (Notes, BTreeMap<NodeId, String>) {
    let notes = Notes::new(Arc::new(MemoryStore::default()));
    let mut ids = BTreeMap::new();
    for text in texts {
        let id = notes.remember(&Owner::local(), Note::new(*text)).await.unwrap();
        ids.insert(id, (*text).to_owned());
    }
    (notes, ids)
}

async fn recalled(recall: &dyn Recall, question: &str) -> Vec<String> {
    let path = [Message::user(question)];
    let recalled = recall.recall(RecallRequest::new(&Owner::local(), &path).limit(10)).await.unwrap();
    recalled.notes.into_iter().map(|note| note.note.text).collect()
}

/// Counts how often it computes vectors: of how many letters are a, b and c.
#[derive(Debug, Default)]
struct Letters(AtomicUsize);

#[async_trait]
impl Embedder for Letters {
    fn digest(&self) -> Digest {
        Digest::of(b"letters")
    }

    fn dimensions(&self) -> usize {
        3
    }

    async fn embed(&self, texts: &[&str], _: TextKind) -> Result<Embeddings> {
        self.0.fetch_add(texts.len(), Ordering::Relaxed);
        let mut embeddings = Embeddings::default();
        for text in texts {
            let counts = ['a', 'b', 'c'].map(|letter| text.matches(letter).count() as f32 + 0.01);
            let length = counts.iter().map(|count| count * count).sum::<f32>().sqrt();
            embeddings.vectors.push(counts.iter().map(|count| count / length).collect());
        }
        Ok(embeddings)
    }
}

/// An index that is older than the notes: it finds what is gone, and what belongs to others.
#[derive(Debug)]
struct Stale(Vec<String>);

#[async_trait]
impl Retriever for Stale {
    fn name(&self) -> &str {
        "stale"
    }

    async fn version(&self, _: &Owner) -> Result<Digest> {
        Ok(Digest::of(b"stale"))
    }

    async fn find(&self, owner: &Owner, _: &Lookup) -> Result<Found> {
        let passages = self.0.iter().map(|id| Passage::new(id.clone(), "an old text"));
        Ok(Found::new(passages.collect(), self.version(owner).await?))
    }
}

#[derive(Debug)]
struct Broken;

#[async_trait]
impl Recall for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    async fn recall(&self, _: RecallRequest<'_>) -> Result<Recalled> {
        Err(Error::new(ErrorKind::Store, "the disk is gone"))
    }
}

#[derive(Debug)]
struct Fixed(Vec<StoredNote>);

#[async_trait]
impl Recall for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }

    async fn recall(&self, request: RecallRequest<'_>) -> Result<Recalled> {
        let known = if *request.owner == Owner::local() { self.0.clone() } else { Vec::new() };
        Ok(Recalled::first(known, request.limit))
    }
}

#[test]
fn a_cue_recalls_notes_with_the_words_of_the_question() {
    block_on(async {
        let (notes, _) = notes_of(&["Ann lives in Oslo.", "Oslo is cold.", "Ann drinks tea."]).await;
        let cue = Cue::new(notes.clone());
        laws::recall::all(&cue, &Owner::local(), "Oslo? Ann?").await;
        assert_eq!(recalled(&cue, "Which tea?").await, ["Ann drinks tea."]);
        assert!(recalled(&cue, "").await.is_empty());
        laws::recall::all(&Cue::by(notes.clone(), NoteWords::new(notes)), &Owner::local(), "Oslo? Ann?")
            .await;
    });
}

#[test]
fn a_forgotten_note_is_not_recalled_by_an_index_that_still_has_it() {
    block_on(async {
        let (notes, ids) = notes_of(&["one", "two"]).await;
        let [one, two] = [0, 1].map(|place| *ids.keys().nth(place).unwrap());
        let others = Notes::new(Arc::new(MemoryStore::default()));
        let foreign = others.remember(&"bob".parse().unwrap(), Note::new("a secret of Bob")).await.unwrap();
        notes.forget(&Owner::local(), one).await.unwrap();
        let found = [one, foreign, two].map(|id| id.to_string()).to_vec();
        let cue = Cue::by(notes, Stale([found, vec!["no id".to_owned()]].concat()));
        assert_eq!(recalled(&cue, "anything").await, ["two"]);
    });
}

#[test]
fn vectors_find_notes_without_common_words_and_are_computed_once() {
    block_on(async {
        let (notes, ids) = notes_of(&["aaa", "bbb", "abab"]).await;
        let letters = Arc::new(Letters::default());
        let vectors = Arc::new(NoteVectors::new(notes.clone(), letters.clone()));
        let cue = Cue::by(notes.clone(), vectors.clone());
        laws::recall::all(&cue, &Owner::local(), "baa").await;
        assert_eq!(recalled(&cue, "aaaaaab").await, ["aaa", "abab", "bbb"]);
        let before = letters.0.load(Ordering::Relaxed);
        recalled(&cue, "c").await;
        assert_eq!(letters.0.load(Ordering::Relaxed), before + 1, "only the question is computed again");

        // The version changes with the notes.
        let version = vectors.version(&Owner::local()).await.unwrap();
        notes.forget(&Owner::local(), *ids.keys().next().unwrap()).await.unwrap();
        assert_ne!(vectors.version(&Owner::local()).await.unwrap(), version);
        let near = NoteVectors::new(notes.clone(), letters).min_score(0.9);
        assert_eq!(recalled(&Cue::by(notes, near), "bbb").await, ["bbb"]);
    });
}

#[test]
fn words_and_vectors_are_joined_by_rank() {
    block_on(async {
        let (notes, _) = notes_of(&["bbb tea", "aaa cups", "ccc"]).await;
        let vectors = NoteVectors::new(notes.clone(), Arc::new(Letters::default())).min_score(0.5);
        let hybrid = Cue::new(notes).retriever(vectors);
        assert_eq!(recalled(&hybrid, "tea for aaaaa").await, ["aaa cups", "bbb tea"]);
        laws::recall::all(&hybrid, &Owner::local(), "tea for aaaaa").await;
    });
}

#[test]
fn looking_back_recalls_the_last_exchanges_of_other_conversations() {
    block_on(async {
        let store = Arc::new(MemoryStore::default());
        let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
        Notes::new(store.clone()).remember(manager.owner(), Note::new("a note")).await.unwrap();
        let old = manager.create(Preface::default()).await.unwrap();
        let new = manager.create(NewConversation::default().metadata("project", "garden")).await.unwrap();
        old.send("one").await.unwrap();
        new.send("two").await.unwrap();
        old.send("three").await.unwrap();
        let other = manager.for_owner("bob".parse().unwrap());
        other.create(Preface::default()).await.unwrap().send("a secret").await.unwrap();

        let exchange = |text: &str| format!("The user said: {text} The reply was: {text}");
        let look_back = LookBack::new(store);
        assert_eq!(recalled(&look_back, "Hi").await, ["three", "two", "one"].map(exchange));
        assert_eq!(recalled(&look_back.clone().exchanges(2), "Hi").await, ["three", "two"].map(exchange));
        let garden = look_back.clone().filter(Filter::equals("project", "garden"));
        assert_eq!(recalled(&garden, "Hi").await, ["two"].map(exchange));
        laws::recall::all(&look_back, manager.owner(), "Hi").await;

        // The conversation of the question is not among the others.
        let path = [Message::user("Hi")];
        let request = RecallRequest::new(manager.owner(), &path).conversation(old.id());
        let found = look_back.recall(request).await.unwrap();
        assert_eq!((found.notes.len(), found.of), (1, 1));
        let source = found.notes[0].note.source.clone().unwrap();
        assert_eq!((&source.conversation, Some(source.node)), (new.id(), new.head().await.unwrap()));

        // Only the path to the head counts: an undone exchange is not recalled.
        old.undo().await.unwrap();
        assert_eq!(recalled(&look_back, "Hi").await, ["two", "one"].map(exchange));
    });
}

#[test]
fn many_conversations_are_looked_at_until_no_older_one_matters() {
    block_on(async {
        let store = Arc::new(MemoryStore::default());
        let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
        for number in 0..50 {
            let conversation = manager.create(Preface::default()).await.unwrap();
            conversation.send(format!("{number}")).await.unwrap();
        }
        let found = recalled(&LookBack::new(store.clone()).exchanges(3), "Hi").await;
        assert_eq!(found[0], "The user said: 49 The reply was: 49");
        assert_eq!(found.len(), 3);
        assert_eq!(recalled(&LookBack::new(store.clone()).exchanges(45), "Hi").await.len(), 10);
        assert!(recalled(&LookBack::new(store).exchanges(0), "Hi").await.is_empty());
    });
}

#[test]
fn long_messages_are_shortened_and_are_one_line() {
    block_on(async {
        let store = Arc::new(MemoryStore::default());
        let manager = Manager::builder(EchoModel).store(store.clone()).build().unwrap();
        manager.create(Preface::default()).await.unwrap().send("Tea\n\nand  milk, please").await.unwrap();
        let found = recalled(&LookBack::new(store).longest(8), "Hi").await;
        assert_eq!(found, ["The user said: Tea and … The reply was: Tea and …"]);
    });
}

#[test]
fn a_composite_joins_by_rank_and_counts_each_note_once() {
    block_on(async {
        let all: Vec<_> =
            ["a", "b", "c"].iter().map(|text| StoredNote::new(NodeId::new(), Note::new(*text))).collect();
        let [a, b, c] = [0, 1, 2].map(|place| all[place].clone());
        let both =
            Composite::new().with(Fixed(vec![a.clone(), b.clone()])).with(Fixed(vec![b.clone(), c.clone()]));
        assert_eq!(both.name(), "fixed+fixed");
        laws::recall::all(&both, &Owner::local(), "Hi").await;
        assert_eq!(recalled(&both, "Hi").await, ["b", "a", "c"]);
        let weighted = Composite::new().weighted(Fixed(vec![c, a]), 3.0).unwrap().with(Fixed(vec![b]));
        assert_eq!(recalled(&weighted, "Hi").await[0], "c");
        assert!(recalled(&Composite::new(), "Hi").await.is_empty());
    });
}

#[test]
fn a_composite_names_what_failed_and_fails_if_all_fail() {
    block_on(async {
        let note = StoredNote::new(NodeId::new(), Note::new("a"));
        let path = [Message::user("Hi")];
        let owner = Owner::local();
        let request = RecallRequest::new(&owner, &path);
        let some = Composite::new().with(Broken).with(Fixed(vec![note])).recall(request).await.unwrap();
        assert_eq!((some.notes.len(), some.failed[0].name.as_str()), (1, "broken"));
        assert_eq!(some.failed[0].reason, "the disk is gone");
        let none = Composite::new().with(Broken).with(Broken).recall(request).await;
        assert_eq!(none.unwrap_err().to_string(), "the disk is gone");
    });
}

#[test]
fn weights_are_finite_numbers_above_zero() {
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Composite::new().weighted(Broken, weight).unwrap_err();
        assert!(
            error.to_string().ends_with("of \"broken\" is not a finite number above 0, such as 1"),
            "{error}"
        );
    }
}

#[test]
fn a_document_in_front_of_a_question_is_no_part_of_it() {
    let document = Part::from(Content::Text("Oslo is in Norway. ".into()));
    let mut question = Message::user("Which tea?");
    question.parts.insert(0, document.from_source(Source::Retrieved { id: "docs".into() }));
    let owner = Owner::local();
    assert_eq!(RecallRequest::new(&owner, &[question]).text(), "Which tea?");
}
