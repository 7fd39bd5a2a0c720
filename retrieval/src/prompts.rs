//! Passages in prompts: what a prompt asks for is found, and its placeholders have values.

mod search;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{
    Prompt, PromptPlace, PromptRetrieval, SourcedValues, ValueSource, Values,
};
use alloquy_core::report::Warning;
use alloquy_core::tool::Timer;
use alloquy_core::{Error, ErrorKind, Owner, Result, Source};
use async_trait::async_trait;
use futures::future::{join_all, try_join_all};
use serde_json::Map;

use self::search::Search;
use crate::facts::{PassageName, RETRIEVAL_KEY, RetrievalFacts, RetrievalOutcome};
use crate::on_failure::OnFailure;
use crate::time_limit::TimeLimit;
use crate::{Passage, Retriever};

/// How many bytes of passages a node stores. Of more it stores the names and digests.
const STORED_BYTES: usize = 64 << 10;

/// Which passages of earlier messages of a conversation are used again.
///
/// [`PromptPassages::reuse`] sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// Those of the same lookup, whichever prompt made it.
    #[default]
    Lookups,
    /// Those of the same prompt, and only if each of its lookups is the same, as in dataknobs.
    Prompts,
    /// None: every lookup is made again.
    Never,
}

/// Finds the passages that prompts ask for, and keeps what was found with the message.
///
/// A manager has one ([`ManagerBuilder::value_source`](alloquy_core::manager::ManagerBuilder::value_source)). When a turn or a new
/// conversation names a prompt with [retrievals](Prompt::retrievals), each query is filled in, all retrievers are asked at the same
/// time, and each placeholder gets the text of its passages. The text is part of the message, so the tree has what the model saw.
///
/// A lookup that an earlier message of the conversation made, on any branch, is not made again while the retriever's
/// [version](Retriever::version) is the same: see [`lookup_key`](crate::lookup_key()). The passages are formatted again.
///
/// A value that the caller gives under the name of a placeholder replaces the search.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::prompt_library::{PromptLibrary, PromptName, Values};
/// use alloquy_core::{Manager, Preface, TurnRequest};
/// use alloquy_retrieval::{PromptPassages, RetrievalFacts, Retriever};
/// use alloquy_testing::EchoModel;
///
/// # async fn ask(library: Arc<dyn PromptLibrary>, docs: Arc<dyn Retriever>) -> alloquy_core::Result<()> {
/// let manager = Manager::builder(EchoModel)
///     .prompts(library)
///     .value_source(PromptPassages::new().retriever(docs))
///     .build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// let question = TurnRequest::default().prompt_name(PromptName::user("ask"), Values::new().set("topic", "tea"));
/// conversation.complete(question).await?;
/// let facts = RetrievalFacts::of(&conversation.history().await?[0].metadata)?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct PromptPassages {
    retrievers: BTreeMap<String, Arc<dyn Retriever>>,
    on_failure: OnFailure,
    reuse: Reuse,
    fresh_for: Option<Duration>,
    time_limit: Option<TimeLimit>,
}

impl PromptPassages {
    /// Creates a source without retrievers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a retriever, which prompts name by its [name](Retriever::name).
    #[must_use]
    pub fn retriever(self, retriever: Arc<dyn Retriever>) -> Self {
        let name = retriever.name().to_owned();
        self.named(name, retriever)
    }

    /// Adds a retriever under another name. One of the same name is replaced.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>, retriever: Arc<dyn Retriever>) -> Self {
        self.retrievers.insert(name.into(), retriever);
        self
    }

    /// Sets what happens if passages cannot be found.
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// Sets which passages of earlier messages are used again.
    #[must_use]
    pub fn reuse(mut self, reuse: Reuse) -> Self {
        self.reuse = reuse;
        self
    }

    /// Makes a lookup again if the passages are older. By default they are used as long as the version of the index is the same.
    #[must_use]
    pub fn fresh_for(mut self, age: Duration) -> Self {
        self.fresh_for = Some(age);
        self
    }

    /// Limits how long each retriever may take. One that takes longer has failed. `timer` is one of the host's runtime.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration, timer: Arc<dyn Timer>) -> Self {
        self.time_limit = Some(TimeLimit { limit, timer });
        self
    }

    fn find(&self, name: &str) -> Result<&Arc<dyn Retriever>> {
        self.retrievers.get(name).ok_or_else(|| {
            let names: Vec<_> = self.retrievers.keys().map(|name| format!("{name:?}")).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let message = if name.is_empty() {
                format!("the prompt names no retriever; set adapter_name to one of: {known}")
            } else {
                format!("retriever {name:?} does not exist; name one of: {known}")
            };
            Error::new(ErrorKind::NotFound, message)
        })
    }

    /// Fills in a query, and asks for the version of the index.
    async fn search<'a>(
        &'a self,
        retrieval: &'a PromptRetrieval,
        values: &Values,
        owner: &Owner,
    ) -> Result<Search<'a>> {
        let mut search = Search::new(retrieval, values)?;
        let limit = self.time_limit.as_ref();
        match self.find(&retrieval.retriever) {
            Ok(retriever) => search.prepare(&**retriever, owner, limit).await,
            Err(error) => search.error = Some(error),
        }
        Ok(search)
    }

    /// Uses what earlier messages found, where [`Reuse`] allows it. Returns the key of the whole prompt.
    async fn use_earlier(
        &self,
        prompt: &dyn Prompt,
        searches: &mut [Search<'_>],
        place: &PromptPlace<'_>,
    ) -> Result<Option<Digest>> {
        match self.reuse {
            Reuse::Never => Ok(None),
            Reuse::Lookups => {
                for search in searches {
                    if let Some(key) = search.facts.key
                        && let Some(node) = place.node_with(key).await?
                    {
                        search.use_node(&node, self.fresh_for)?;
                    }
                }
                Ok(None)
            }
            Reuse::Prompts => {
                let Some(key) = prompt_key(prompt, searches) else { return Ok(None) };
                let Some(node) = place.node_with(key).await? else { return Ok(Some(key)) };
                for search in searches.iter_mut() {
                    search.use_node(&node, self.fresh_for)?;
                }
                if searches.iter().any(|search| search.passages.is_none()) {
                    searches.iter_mut().for_each(Search::forget);
                }
                Ok(Some(key))
            }
        }
    }

    /// Returns the text of a search, and puts what is to be stored of it into `found`.
    fn show(
        &self,
        search: Search<'_>,
        values: &Values,
        found: &mut SourcedValues,
    ) -> Result<(String, RetrievalFacts)> {
        let name = &search.retrieval.placeholder;
        let mut facts = search.facts;
        match (search.passages, search.error) {
            (Some(passages), None) => {
                let text = formatted(search.retrieval, values, &passages)?;
                let failed = facts.failed.iter();
                found.warnings.extend(failed.map(|(name, error)| warning(name, error)));
                if search.is_new {
                    facts.outcome = stored(passages);
                    found.keys.extend(facts.key.filter(|_| self.reuse == Reuse::Lookups));
                }
                Ok((text, facts))
            }
            (_, Some(error)) if self.on_failure == OnFailure::Fail => {
                Err(error.context(format_args!("the passages for {name:?} of the prompt cannot be found")))
            }
            (_, error) => {
                let error =
                    error.map_or_else(|| "nothing was searched".to_owned(), |error| error.to_string());
                found.warnings.push(warning(&facts.retriever, &error));
                facts.outcome = RetrievalOutcome::Failed(error);
                Ok((String::new(), facts))
            }
        }
    }
}

#[async_trait]
impl ValueSource for PromptPassages {
    async fn values(
        &self,
        prompt: &dyn Prompt,
        given: &Values,
        place: &PromptPlace<'_>,
    ) -> Result<SourcedValues> {
        let values = place.with_known(prompt.info(), given);
        let mut searches = Vec::new();
        for retrieval in prompt.retrievals() {
            // A value of the caller replaces the search.
            if given.get(&retrieval.placeholder).is_none() {
                searches.push(self.search(retrieval, &values, place.owner));
            }
        }
        let mut searches = try_join_all(searches).await?;
        let key = self.use_earlier(prompt, &mut searches, place).await?;
        let limit = self.time_limit.as_ref();
        join_all(searches.iter_mut().map(|search| search.run(place.owner, limit))).await;
        let mut found = SourcedValues::default();
        if searches.iter().all(|search| search.is_new && search.error.is_none()) {
            found.keys.extend(key);
        }
        let mut all = Map::new();
        for search in searches {
            let name = search.retrieval.placeholder.clone();
            let (text, facts) = self.show(search, &values, &mut found)?;
            let facts = serde_json::to_value(&facts).map_err(|source| {
                Error::new(ErrorKind::Invalid, "these passages cannot be written as JSON").with_source(source)
            })?;
            all.insert(name.clone(), facts);
            let source = Source::Retrieved { id: name.clone() };
            found.values = found.values.set_from(name, text, source);
        }
        if !all.is_empty() {
            found.metadata.insert(RETRIEVAL_KEY.to_owned(), all.into());
        }
        Ok(found)
    }
}

/// The key of all lookups of a prompt; `None` if the key of one is unknown.
fn prompt_key(prompt: &dyn Prompt, searches: &[Search<'_>]) -> Option<Digest> {
    let mut text = format!("{}\n", prompt.info().name);
    for search in searches {
        text.push_str(&format!("{} {}\n", search.facts.key?, search.retrieval.placeholder));
    }
    Some(Digest::of(text.as_bytes()))
}

/// Writes the header and each passage. Without passages there is no header.
fn formatted(retrieval: &PromptRetrieval, values: &Values, passages: &[Passage]) -> Result<String> {
    let mut text = String::new();
    if passages.is_empty() {
        return Ok(text);
    }
    if let Some(header) = &retrieval.header {
        text.push_str(&header.render(values)?.text());
    }
    for (index, passage) in passages.iter().enumerate() {
        let Some(item) = &retrieval.item else {
            text.push_str(&passage.text);
            continue;
        };
        let mut of_passage = Values::from(passage.metadata.clone())
            .set("content", passage.text.as_str())
            .set("score", passage.score)
            .set("index", index + 1)
            .set("id", passage.id.as_str());
        if let Some(source) = &passage.source {
            of_passage = of_passage.set("source", source.as_str());
        }
        text.push_str(&item.render(&of_passage.or(values.clone()))?.text());
    }
    Ok(text)
}

/// What a node stores of new passages.
fn stored(passages: Vec<Passage>) -> RetrievalOutcome {
    let bytes: usize = passages.iter().map(|passage| passage.text.len()).sum();
    if bytes > STORED_BYTES {
        RetrievalOutcome::Names(passages.iter().map(PassageName::of).collect())
    } else {
        RetrievalOutcome::Found(passages)
    }
}

fn warning(retriever: &str, error: &str) -> Warning {
    Warning::RetrievalFailed { retriever: retriever.to_owned(), error: error.to_owned() }
}
