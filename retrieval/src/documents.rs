//! Passages for each model call, which the conversation does not store.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use alloquy_core::media::Digest;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::query::Filter;
use alloquy_core::report::Warning;
use alloquy_core::{
    Content, Error, ErrorKind, Message, Owner, Part, Reply, ReplyStream, Request, Result, Role, Source,
};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::document::one_line;
use crate::facts::PassageName;
use crate::on_failure::OnFailure;
use crate::{Found, Lookup, Passage, Retriever, lookup_key};

/// The name of the fact in [`Reply::facts`] that lists the passages in a prompt: [`DocumentsUse`].
///
/// [`DocumentsUse`] has an example.
pub const DOCUMENTS_KEY: &str = "documents";

/// How many lookups are kept, so that the calls after tools of one turn do not search again.
const KEPT: usize = 16;

/// Shows the model passages for the last question, in each call. The conversation stores the question as it was asked.
///
/// The passages are one part in front of the question, each with its number, so that everything before is reused, and a reply can
/// cite them: [`citations`](crate::citations). Models whose template reads the variable `documents`, such as Command R and Granite, get
/// them there with [`RetrieveDocuments::as_documents`]. The part has the source [`Source::Retrieved`], so no passage becomes a
/// control token. The lines around it have a number that no author of a passage can know.
///
/// A passage can still say what the model should do, and no layout keeps a model from obeying.
///
/// ```
/// use alloquy_core::{Manager, Owner, Preface};
/// use alloquy_retrieval::{DocumentsUse, MemoryRetriever, Passage, RetrieveDocuments};
/// use alloquy_testing::ScriptedModel;
///
/// # pollster::block_on(async {
/// let docs = MemoryRetriever::default();
/// docs.add(&Owner::local(), [Passage::new("tea.md#0", "Tea is grown in Assam.").source("tea.md")]);
/// let model = ScriptedModel::new([("[1] tea.md: Tea is grown in Assam.", "In Assam [1].")]);
/// let manager = Manager::builder(model).middleware(RetrieveDocuments::new(docs)).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// let reply = conversation.send("Where is tea grown?").await?;
/// assert_eq!(reply.text(), "In Assam [1].");
///
/// // The reply remembers what its prompt had.
/// let used = DocumentsUse::of(&reply.reply).unwrap();
/// assert_eq!(used.passages[0].source.as_deref(), Some("tea.md"));
/// assert_eq!(conversation.history().await?[0].message.text(), "Where is tea grown?");
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct RetrieveDocuments<R> {
    retriever: R,
    /// What each lookup has besides the question.
    lookup: Lookup,
    on_failure: OnFailure,
    is_variable: bool,
    owner: Option<Owner>,
    recent: Mutex<VecDeque<(Digest, Found)>>,
}

/// The passages that the prompt of a reply had.
///
/// ```
/// use alloquy_core::{Message, Reply};
/// use alloquy_retrieval::DocumentsUse;
/// use serde_json::json;
///
/// let mut reply = Reply::new(Message::assistant("In Assam [1]."));
/// let passage = json!({"id": "tea.md#0", "source": "tea.md", "digest": "00".repeat(32)});
/// reply.facts.insert("documents".into(), json!({"retriever": "docs", "query": "Where?", "passages": [passage]}));
/// assert_eq!(DocumentsUse::of(&reply).unwrap().passages[0].id, "tea.md#0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DocumentsUse {
    /// The retriever.
    pub retriever: String,
    /// The question for which passages were found.
    pub query: String,
    /// The passages, in the order of their numbers, from 1.
    pub passages: Vec<PassageName>,
}

impl DocumentsUse {
    /// Reads the fact of a reply. A stored reply has it in [`ReplyFacts::facts`](alloquy_core::report::ReplyFacts::facts).
    pub fn of(reply: &Reply) -> Option<Self> {
        Self::deserialize(reply.facts.get(DOCUMENTS_KEY)?).ok()
    }
}

/// A request with passages, and what is to be reported of them.
struct Grounded {
    request: Request,
    used: Option<DocumentsUse>,
    warnings: Vec<Warning>,
}

impl<R: Retriever> RetrieveDocuments<R> {
    /// Creates the middleware, which shows at most [`Lookup::LIMIT`] passages.
    pub fn new(retriever: R) -> Self {
        Self {
            retriever,
            lookup: Lookup::new(""),
            on_failure: OnFailure::default(),
            is_variable: false,
            owner: None,
            recent: Mutex::default(),
        }
    }

    /// Sets the largest number of passages.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.lookup = self.lookup.limit(limit);
        self
    }

    /// Adds a condition on the metadata of passages.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.lookup = self.lookup.filter(filter);
        self
    }

    /// Sets the lowest score of a passage, on the scale of the retriever.
    #[must_use]
    pub fn min_score(mut self, score: f64) -> Self {
        self.lookup = self.lookup.min_score(score);
        self
    }

    /// Sets what happens if passages cannot be found.
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// Passes the passages in the template's variable `documents`, as objects with `title` and `text`, instead of a part before the
    /// question. A template that does not read the variable shows nothing.
    #[must_use]
    pub fn as_documents(mut self) -> Self {
        self.is_variable = true;
        self
    }

    /// Sets whose documents are shown in requests outside of a conversation. In a conversation they are those of its owner.
    #[must_use]
    pub fn owner(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    async fn ground(&self, mut request: Request) -> Result<Grounded> {
        let query = question(&request.path).map(Message::own_text).unwrap_or_default();
        if query.trim().is_empty() {
            return Ok(Grounded { request, used: None, warnings: Vec::new() });
        }
        let found = match self.found(&request, &query).await {
            Ok(found) => found,
            Err(error) if self.on_failure == OnFailure::Without => {
                let warnings = vec![failed(self.retriever.name(), error.to_string())];
                return Ok(Grounded { request, used: None, warnings });
            }
            Err(error) => return Err(error),
        };
        let warnings = found.failed.iter().map(|one| failed(&one.name, one.error.clone())).collect();
        let retriever = self.retriever.name().to_owned();
        let passages = found.passages.iter().map(PassageName::of).collect();
        if !found.passages.is_empty() {
            self.show(&mut request, &found.passages);
        }
        Ok(Grounded { request, used: Some(DocumentsUse { retriever, query, passages }), warnings })
    }

    /// Finds passages, or returns those of a recent call with the same question.
    async fn found(&self, request: &Request, query: &str) -> Result<Found> {
        let origin = request.origin.as_ref().map(|origin| &origin.owner);
        let Some(owner) = origin.or(self.owner.as_ref()) else {
            let message = "a request outside of a conversation has no owner whose documents to show: set `RetrieveDocuments::owner`";
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        let lookup = Lookup { text: query.to_owned(), ..self.lookup.clone() };
        let version = self.retriever.version(owner).await?;
        let key = lookup_key(owner, self.retriever.name(), version, &lookup)?;
        if let Some(found) = self.recent(key) {
            return Ok(found);
        }
        let found = self.retriever.find(owner, &lookup).await?;
        // A part of the answer may be missing only now.
        if found.version == version && found.failed.is_empty() {
            self.keep(key, &found);
        }
        Ok(found)
    }

    fn recent(&self, key: Digest) -> Option<Found> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.iter().find(|(known, _)| *known == key).map(|(_, found)| found.clone())
    }

    fn keep(&self, key: Digest, found: &Found) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= KEPT {
            recent.pop_front();
        }
        recent.push_back((key, found.clone()));
    }

    /// Puts passages into a request.
    fn show(&self, request: &mut Request, passages: &[Passage]) {
        if self.is_variable {
            let documents: Vec<Value> = passages
                .iter()
                .map(|passage| json!({"title": passage.source.as_ref().unwrap_or(&passage.id), "text": passage.text}))
                .collect();
            request.arguments = std::mem::take(&mut request.arguments).extra("documents", documents);
            return;
        }
        let source = Source::Retrieved { id: self.retriever.name().to_owned() };
        let part = Part::from(Content::Text(listed(passages))).from_source(source);
        request.insert_before_question(part);
    }
}

#[async_trait]
impl<R: Retriever> Middleware for RetrieveDocuments<R> {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let Grounded { request, used, warnings } = self.ground(request).await?;
        let stream = next.call(request).await?;
        if used.is_none() && warnings.is_empty() {
            return Ok(stream);
        }
        Ok(stream.map_result(move |mut reply| {
            reply.warnings.splice(..0, warnings);
            if let Some(used) = used {
                reply.facts.insert(DOCUMENTS_KEY.to_owned(), json!(used));
            }
            Ok(reply)
        }))
    }

    async fn prepare(&self, request: Request) -> Result<Request> {
        Ok(self.ground(request).await?.request)
    }
}

fn failed(retriever: &str, error: String) -> Warning {
    Warning::RetrievalFailed { retriever: retriever.to_owned(), error }
}

fn question(path: &[Message]) -> Option<&Message> {
    path.iter().rfind(|message| message.role == Role::User)
}

/// Writes passages as a numbered list between two lines that no author of a passage can write: their number depends on all texts.
fn listed(passages: &[Passage]) -> String {
    let texts: Vec<_> = passages.iter().map(|passage| [passage.id.as_str(), passage.text.as_str()]).collect();
    let digest = Digest::of(json!(texts).to_string().as_bytes()).to_string();
    let mark = digest.get(..8).unwrap_or_default();
    let mut list = format!("<documents {mark}>\n");
    for (index, passage) in passages.iter().enumerate() {
        let number = index + 1;
        let source = passage.source.as_ref().unwrap_or(&passage.id);
        list.push_str(&format!("[{number}] {}: {}\n", one_line(source), passage.text.trim()));
    }
    list.push_str(&format!("</documents {mark}>\n\n"));
    list
}
