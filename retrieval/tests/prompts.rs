//! Passages in prompts: facts, reuse, failures, limits of time, and the key of a lookup.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{
    FilledMessage, FilledPrompt, Prompt, PromptInfo, PromptName, PromptRetrieval, RenderedPrompt,
    TextTemplate, Values,
};
use alloquy_core::query::Filter;
use alloquy_core::report::Warning;
use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::{
    Conversation, ConversationManager, ErrorKind, Manager, Owner, Preface, Result, Role, Source, TurnRequest,
};
use alloquy_retrieval::{
    FailedRetriever, Found, Lookup, OnFailure, Passage, PromptPassages, RetrievalFacts, RetrievalOutcome,
    Retriever, Reuse, lookup_key,
};
use alloquy_testing::EchoModel;
use pollster::block_on;
use proptest::prelude::*;
use serde_json::json;

/// A retriever that counts its searches; its index can be rebuilt, and it can fail.
#[derive(Debug, Default)]
struct Shelf {
    edition: AtomicUsize,
    searches: AtomicUsize,
    error: Mutex<Option<ErrorKind>>,
    text: Mutex<String>,
    failed: Mutex<Vec<FailedRetriever>>,
}

impl Shelf {
    fn with(text: &str) -> Arc<Self> {
        let shelf = Self::default();
        shelf.put(text);
        Arc::new(shelf)
    }

    fn put(&self, text: &str) {
        text.clone_into(&mut self.text.lock().unwrap());
        self.edition.fetch_add(1, Ordering::Relaxed);
    }

    fn searches(&self) -> usize {
        self.searches.load(Ordering::Relaxed)
    }
}

#[async_trait::async_trait]
impl Retriever for Shelf {
    fn name(&self) -> &str {
        "shelf"
    }

    async fn version(&self, _: &Owner) -> Result<Digest> {
        Ok(Digest::of(&self.edition.load(Ordering::Relaxed).to_le_bytes()))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        self.searches.fetch_add(1, Ordering::Relaxed);
        if let Some(kind) = *self.error.lock().unwrap() {
            return Err(alloquy_core::Error::new(kind, "the shelf is empty"));
        }
        let text = format!("{} for {}", self.text.lock().unwrap(), lookup.text);
        let mut passages = vec![Passage::new("one", text).source("book.md").score(0.5).metadata("page", 7)];
        passages.retain(|passage| lookup.filters.iter().all(|filter| filter.holds(&passage.metadata)));
        let mut found = Found::new(passages, self.version(owner).await?);
        found.failed.clone_from(&self.failed.lock().unwrap());
        Ok(found)
    }
}

/// A template whose only variables are those in `[brackets]`.
#[derive(Debug)]
struct Brackets(&'static str);

impl TextTemplate for Brackets {
    fn template(&self) -> &str {
        self.0
    }

    fn render(&self, values: &Values) -> Result<RenderedPrompt> {
        let mut rendered = RenderedPrompt::default();
        let mut text = self.0.to_owned();
        for (name, value) in values.iter() {
            let shown = value.value.as_str().map_or_else(|| value.value.to_string(), str::to_owned);
            text = text.replace(&format!("[{name}]"), &shown);
        }
        rendered.push(&text, None);
        Ok(rendered)
    }
}

/// A prompt that shows what it finds for a topic.
#[derive(Debug)]
struct Ask {
    info: PromptInfo,
    retrievals: Vec<PromptRetrieval>,
}

impl Prompt for Ask {
    fn info(&self) -> &PromptInfo {
        &self.info
    }

    fn fill(&self, values: &Values) -> Result<FilledPrompt> {
        let mut rendered = RenderedPrompt::default();
        rendered.push("Read: ", None);
        for retrieval in &self.retrievals {
            if let Some(value) = values.get(&retrieval.placeholder) {
                rendered.push(value.value.as_str().unwrap(), value.source.clone());
            }
        }
        rendered.push(" Answer.", None);
        Ok(FilledPrompt::new(&self.info, vec![FilledMessage::new(Role::User, rendered)]))
    }

    fn retrievals(&self) -> &[PromptRetrieval] {
        &self.retrievals
    }
}

fn retrieval(placeholder: &str) -> PromptRetrieval {
    let mut retrieval = PromptRetrieval::new("shelf", placeholder, Arc::new(Brackets("[topic]")));
    retrieval.header = Some(Arc::new(Brackets("On [topic]:\n")));
    retrieval.item = Some(Arc::new(Brackets("[index]. [content] ([source], p. [page])\n")));
    retrieval
}

fn prompt_of(retrievals: Vec<PromptRetrieval>) -> Arc<dyn Prompt> {
    let mut info = PromptInfo::new(PromptName::user("ask"), Digest::of(b"ask"));
    info.variables.insert("topic".to_owned());
    Arc::new(Ask { info, retrievals })
}

fn ask(topic: &str) -> TurnRequest {
    TurnRequest::default().fill_prompt(prompt_of(vec![retrieval("DOCS")]), Values::new().set("topic", topic))
}

fn manager_over(store: &Arc<MemoryStore>, passages: PromptPassages) -> Manager {
    Manager::builder(EchoModel).store(Arc::clone(store) as _).value_source(passages).build().unwrap()
}

fn conversation_with(passages: PromptPassages) -> Conversation {
    let manager = manager_over(&Arc::new(MemoryStore::default()), passages);
    block_on(manager.create(Preface::default())).unwrap()
}

/// The place before the first message.
fn start() -> alloquy_core::tree::Address {
    alloquy_core::tree::NodePath::default().into()
}

fn facts_of(conversation: &Conversation, index: usize) -> RetrievalFacts {
    let history = block_on(conversation.history()).unwrap();
    RetrievalFacts::of(&history[index].metadata).unwrap().remove("DOCS").unwrap()
}

#[test]
fn passages_are_part_of_the_message_with_their_source_and_their_facts() {
    let shelf = Shelf::with("leaves");
    let conversation = conversation_with(PromptPassages::new().retriever(shelf));
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    let history = block_on(conversation.history()).unwrap();
    let message = &history[0].message;
    assert_eq!(message.text(), "Read: On tea:\n1. leaves for tea (book.md, p. 7)\n Answer.");
    let sources: Vec<_> = message.parts.iter().map(|part| part.source.clone()).collect();
    assert_eq!(sources, [None, Some(Source::Retrieved { id: "DOCS".into() }), None]);
    let facts = facts_of(&conversation, 0);
    assert_eq!((facts.retriever.as_str(), facts.query.as_str(), facts.limit), ("shelf", "tea", 5));
    assert_eq!(facts.header.as_deref(), Some("On [topic]:\n"));
    assert_eq!(facts.passages().unwrap()[0].text, "leaves for tea");
}

#[test]
fn a_lookup_is_made_once_in_a_conversation_on_each_branch_and_in_another_process() {
    let shelf = Shelf::with("leaves");
    let store = Arc::new(MemoryStore::default());
    let passages = || PromptPassages::new().retriever(Arc::clone(&shelf) as _);
    let conversation = block_on(manager_over(&store, passages()).create(Preface::default())).unwrap();
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    block_on(conversation.send("And?").finish()).unwrap();
    let first = block_on(conversation.history()).unwrap()[0].id;
    // On the same path, and on a branch that does not have the first message.
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    block_on(conversation.send(ask("tea").at(start())).finish()).unwrap();
    assert_eq!(shelf.searches(), 1);
    assert_eq!(facts_of(&conversation, 0).outcome, RetrievalOutcome::As(first));
    assert!(block_on(conversation.history()).unwrap()[0].message.text().contains("leaves for tea"));
    // A message that is only added, and another manager over the same store.
    block_on(conversation.add(ask("tea"))).unwrap();
    let again = block_on(manager_over(&store, passages()).open(conversation.id())).unwrap();
    block_on(again.send(ask("tea")).finish()).unwrap();
    assert_eq!(shelf.searches(), 1);
    // Another topic, and another conversation.
    block_on(again.send(ask("rum")).finish()).unwrap();
    let other = block_on(manager_over(&store, passages()).create(Preface::default())).unwrap();
    block_on(other.send(ask("tea")).finish()).unwrap();
    assert_eq!(shelf.searches(), 3);
}

#[test]
fn an_index_that_is_rebuilt_under_a_conversation_gives_new_passages() {
    let shelf = Shelf::with("leaves");
    let conversation = conversation_with(PromptPassages::new().retriever(Arc::clone(&shelf) as _));
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    shelf.put("bags");
    let turn = block_on(conversation.send(ask("tea")).finish()).unwrap();
    assert!(turn.text().contains("bags for tea"), "{}", turn.text());
    assert_eq!(shelf.searches(), 2);
}

#[test]
fn passages_of_a_pruned_message_are_found_again() {
    let shelf = Shelf::with("leaves");
    let conversation = conversation_with(PromptPassages::new().retriever(Arc::clone(&shelf) as _));
    block_on(conversation.send("Hello").finish()).unwrap();
    let greeting = block_on(conversation.head()).unwrap().unwrap();
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    let asked = block_on(conversation.history()).unwrap()[2].id;
    block_on(conversation.goto(greeting)).unwrap();
    block_on(conversation.prune(asked)).unwrap();
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    assert_eq!(shelf.searches(), 2);
}

#[test]
fn reuse_can_be_limited() {
    let shelf = Shelf::with("leaves");
    let never = PromptPassages::new().retriever(Arc::clone(&shelf) as _).reuse(Reuse::Never);
    let conversation = conversation_with(never);
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    assert_eq!(shelf.searches(), 2);

    let shelf = Shelf::with("leaves");
    let fresh = PromptPassages::new().retriever(Arc::clone(&shelf) as _).fresh_for(Duration::ZERO);
    let conversation = conversation_with(fresh);
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    std::thread::sleep(Duration::from_millis(3));
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    assert_eq!(shelf.searches(), 2);

    // As in dataknobs, one lookup of a prompt that differs makes all of them again.
    for (reuse, searches) in [(Reuse::Lookups, 3), (Reuse::Prompts, 4)] {
        let shelf = Shelf::with("leaves");
        let conversation =
            conversation_with(PromptPassages::new().retriever(Arc::clone(&shelf) as _).reuse(reuse));
        let mut other = retrieval("MORE");
        other.query = Arc::new(Brackets("[topic] and [more]"));
        let prompt = prompt_of(vec![retrieval("DOCS"), other]);
        for more in ["milk", "milk", "sugar"] {
            let values = Values::new().set("topic", "tea").set("more", more);
            let request = TurnRequest::default().fill_prompt(Arc::clone(&prompt), values);
            block_on(conversation.send(request).finish()).unwrap();
        }
        assert_eq!(shelf.searches(), searches, "{reuse:?}");
    }
}

#[test]
fn a_failure_is_an_error_and_stores_nothing_or_a_warning() {
    let shelf = Shelf::with("leaves");
    *shelf.error.lock().unwrap() = Some(ErrorKind::Store);
    let passages = || PromptPassages::new().retriever(Arc::clone(&shelf) as _);
    let conversation = conversation_with(passages());
    let error = block_on(conversation.send(ask("tea")).finish()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(format!("{error:#}").contains("the passages for \"DOCS\""), "{error:#}");
    assert!(block_on(conversation.history()).unwrap().is_empty());

    let conversation = conversation_with(passages().on_failure(OnFailure::Without));
    let turn = block_on(conversation.send(ask("tea")).finish()).unwrap();
    assert_eq!(turn.text(), "Read:  Answer.");
    let expected = Warning::RetrievalFailed { retriever: "shelf".into(), error: "the shelf is empty".into() };
    assert!(turn.reply.warnings.contains(&expected), "{:?}", turn.reply.warnings);
    assert_eq!(facts_of(&conversation, 0).outcome, RetrievalOutcome::Failed("the shelf is empty".into()));
    // What failed is not used again.
    *shelf.error.lock().unwrap() = None;
    let turn = block_on(conversation.send(ask("tea")).finish()).unwrap();
    assert!(turn.text().contains("leaves"), "{}", turn.text());
}

#[test]
fn a_retriever_that_is_unknown_or_that_failed_in_part_is_named() {
    let conversation = conversation_with(PromptPassages::new().retriever(Shelf::with("") as _));
    let mut unknown = retrieval("DOCS");
    unknown.retriever = "desk".to_owned();
    let request =
        TurnRequest::default().fill_prompt(prompt_of(vec![unknown]), Values::new().set("topic", "tea"));
    let error = block_on(conversation.send(request).finish()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let message = format!("{error:#}");
    assert!(message.contains("retriever \"desk\" does not exist; name one of: \"shelf\""), "{message}");

    let shelf = Shelf::with("leaves");
    *shelf.failed.lock().unwrap() = vec![FailedRetriever { name: "vectors".into(), error: "no disk".into() }];
    let conversation = conversation_with(PromptPassages::new().retriever(shelf));
    let turn = block_on(conversation.send(ask("tea")).finish()).unwrap();
    let expected = Warning::RetrievalFailed { retriever: "vectors".into(), error: "no disk".into() };
    assert!(turn.reply.warnings.contains(&expected), "{:?}", turn.reply.warnings);
    assert_eq!(facts_of(&conversation, 0).failed["vectors"], "no disk");
}

/// Never answers.
#[derive(Debug)]
struct Slow;

#[async_trait::async_trait]
impl Retriever for Slow {
    fn name(&self) -> &str {
        "shelf"
    }

    async fn version(&self, _: &Owner) -> Result<Digest> {
        Ok(Digest::of(b""))
    }

    async fn find(&self, _: &Owner, _: &Lookup) -> Result<Found> {
        std::future::pending().await
    }
}

#[test]
fn a_search_that_takes_too_long_has_failed() {
    async fn soon(_: Duration) {}
    let passages =
        PromptPassages::new().retriever(Arc::new(Slow)).time_limit(Duration::from_secs(9), Arc::new(soon));
    let error = block_on(conversation_with(passages).send(ask("tea")).finish()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(format!("{error:#}").contains("no result within 9s"), "{error:#}");
}

#[test]
fn a_value_of_the_caller_replaces_the_search_and_filters_apply() {
    let shelf = Shelf::with("leaves");
    let conversation = conversation_with(PromptPassages::new().retriever(Arc::clone(&shelf) as _));
    let values = Values::new().set("topic", "tea").set("DOCS", "nothing");
    let request = TurnRequest::default().fill_prompt(prompt_of(vec![retrieval("DOCS")]), values);
    assert_eq!(block_on(conversation.send(request).finish()).unwrap().text(), "Read: nothing Answer.");
    assert_eq!(shelf.searches(), 0);
    for (page, expected) in [
        (json!(7), "Read: On tea:\n1. leaves"),
        (json!([1, 7]), "Read: On tea:\n1. leaves"),
        (json!(8), "Read:  Answer."),
    ] {
        let mut filtered = retrieval("DOCS");
        filtered.filters.insert("page".to_owned(), page);
        let values = Values::new().set("topic", "tea");
        let request = TurnRequest::default().fill_prompt(prompt_of(vec![filtered]), values);
        let text = block_on(conversation.send(request).finish()).unwrap().text();
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn long_passages_are_stored_once() {
    let shelf = Shelf::with(&"leaves ".repeat(20_000));
    let conversation = conversation_with(PromptPassages::new().retriever(Arc::clone(&shelf) as _));
    block_on(conversation.send(ask("tea")).finish()).unwrap();
    let facts = facts_of(&conversation, 0);
    let RetrievalOutcome::Names(names) = &facts.outcome else { panic!("{facts:?}") };
    assert_eq!((names[0].id.as_str(), names[0].source.as_deref()), ("one", Some("book.md")));
    let history = block_on(conversation.history()).unwrap();
    assert!(serde_json::to_string(&history[0].metadata).unwrap().len() < 2000);
}

#[test]
fn a_query_reads_the_conversation_and_says_what_it_lacks() {
    /// Reports one variable as missing, as a template does that prints its name.
    #[derive(Debug)]
    struct Follow;

    impl TextTemplate for Follow {
        fn template(&self) -> &str {
            "[last_response] [city]"
        }

        fn render(&self, values: &Values) -> Result<RenderedPrompt> {
            let mut rendered = Brackets("[last_response] [city]").render(values)?;
            if values.get("city").is_none() {
                rendered.missing.push("city".to_owned());
            }
            Ok(rendered)
        }
    }

    let shelf = Shelf::with("leaves");
    let conversation = conversation_with(PromptPassages::new().retriever(Arc::clone(&shelf) as _));
    block_on(conversation.send("tea").finish()).unwrap();
    let mut follow = retrieval("DOCS");
    follow.query = Arc::new(Follow);
    let mut info = PromptInfo::new(PromptName::user("ask"), Digest::of(b"ask"));
    info.variables.insert("last_response".to_owned());
    let prompt: Arc<dyn Prompt> = Arc::new(Ask { info, retrievals: vec![follow] });
    for (values, query, missing) in [
        (Values::new(), "tea [city]", vec!["city".to_owned()]),
        (Values::new().set("city", "Assam").set("last_response", "rum"), "rum Assam", vec![]),
    ] {
        let request = TurnRequest::default().fill_prompt(Arc::clone(&prompt), values);
        block_on(conversation.add(request)).unwrap();
        let history = block_on(conversation.history()).unwrap();
        let facts = RetrievalFacts::of(&history.last().unwrap().metadata).unwrap();
        assert_eq!((facts["DOCS"].query.as_str(), &facts["DOCS"].missing), (query, &missing));
    }
}

/// A conversation of many topics remembers the newest ones, and its metadata does not grow without end.
#[test]
fn keys_of_lookups_are_bounded() {
    let shelf = Shelf::with("leaves");
    let store = Arc::new(MemoryStore::default());
    let manager = manager_over(&store, PromptPassages::new().retriever(Arc::clone(&shelf) as _));
    let conversation = block_on(manager.create(Preface::default())).unwrap();
    for topic in 0..300 {
        block_on(conversation.add(ask(&topic.to_string()).at(start()))).unwrap();
    }
    let record = block_on(store.record(&Owner::local(), conversation.id())).unwrap();
    assert_eq!(record.metadata["alloquy"]["keys"].as_object().unwrap().len(), 256);
    block_on(conversation.add(ask("299").at(start()))).unwrap();
    assert_eq!(shelf.searches(), 300);
    block_on(conversation.add(ask("0").at(start()))).unwrap();
    assert_eq!(shelf.searches(), 301);
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The key of a lookup whose eight fields are these.
fn key(fields: &[String; 8]) -> Digest {
    let [owner, retriever, version, text, limit, name, value, score] = fields;
    let owner: Owner = format!("o{}", hex(owner)).parse().unwrap();
    let mut lookup = Lookup::new(text.as_str()).limit(limit.len() + 1);
    lookup = lookup.filter(Filter::equals(name.as_str(), value.as_str())).filter(Filter::exists("z"));
    if !score.is_empty() {
        lookup = lookup.min_score(score.bytes().fold(0.0, |sum, byte| sum * 300.0 + f64::from(byte)));
    }
    lookup_key(&owner, retriever, Digest::of(version.as_bytes()), &lookup).unwrap()
}

fn fields() -> impl Strategy<Value = [String; 8]> {
    prop::array::uniform8("[a-c\"\\\\{}:,]{0,3}")
}

proptest! {
    #[test]
    fn a_key_changes_with_each_field_alone_and_returns_with_it(one in fields(), other in fields()) {
        for field in 0..8 {
            let mut changed = one.clone();
            changed[field].clone_from(&other[field]);
            let same = if field == 4 {
                changed[field].len() == one[field].len()
            } else {
                changed[field] == one[field]
            };
            prop_assert_eq!(key(&changed) == key(&one), same, "field {}", field);
            changed[field].clone_from(&one[field]);
            prop_assert_eq!(key(&changed), key(&one));
        }
    }

    #[test]
    fn the_order_of_filters_has_no_effect(names in prop::collection::vec("[a-z]{1,3}", 1..5)) {
        let mut forward = Lookup::new("tea");
        let mut backward = Lookup::new("tea");
        for name in &names {
            forward = forward.filter(Filter::exists(name.as_str()));
        }
        for name in names.iter().rev() {
            backward = backward.filter(Filter::exists(name.as_str()));
        }
        let key = |lookup| lookup_key(&Owner::local(), "docs", Digest::of(b""), lookup).unwrap();
        prop_assert_eq!(key(&forward), key(&backward));
    }
}
