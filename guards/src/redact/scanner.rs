//! Redaction by a service outside of the program, such as one that recognizes names of people.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{Content, Delta, Error, ErrorKind, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use futures::StreamExt;

use super::ordered::delta_of;
use super::redactor::Counts;
use super::replies::{REDACTION_FACT, note};

/// A part of a text that a [`Scanner`] found.
///
/// ```
/// use alloquy_guards::redact::ScanFinding;
///
/// let finding = ScanFinding::new("person", 6..9);
/// assert_eq!(&"Write Ann."[finding.range], "Ann");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanFinding {
    /// What it is, such as `person`.
    pub name: String,
    /// Its bytes in the text.
    pub range: Range<usize>,
}

impl ScanFinding {
    /// Creates a finding.
    pub fn new(name: impl Into<String>, range: Range<usize>) -> Self {
        Self { name: name.into(), range }
    }
}

/// Finds what must not be shown in a whole text. It is for services that patterns cannot replace.
///
/// # Contract
/// The ranges of the findings are in the text, at borders of characters. An error refuses the text: [`ScanReplies`] shows nothing of a
/// reply that was not scanned.
///
/// [`ScanReplies`] has an example.
#[async_trait]
pub trait Scanner: Send + Sync + Debug {
    /// Returns what it finds in a text, in any order.
    ///
    /// # Errors
    /// When the text could not be scanned.
    async fn scan(&self, text: &str) -> Result<Vec<ScanFinding>>;
}

/// Redacts replies by a [`Scanner`]. Nothing of a reply is shown before all of it is scanned, and nothing at all if a scan fails.
///
/// Texts, thinking, channels, strings in arguments of calls, and unreadable text are scanned, each part by itself. What is found is
/// replaced by its name in brackets. A reply in which something was removed has no token ids and no log-probabilities.
///
/// ```
/// use alloquy_core::{Manager, Preface, Result};
/// use alloquy_guards::redact::{ScanFinding, ScanReplies, Scanner};
/// use alloquy_testing::EchoModel;
///
/// /// Knows one person.
/// #[derive(Debug)]
/// struct Ann;
///
/// #[async_trait::async_trait]
/// impl Scanner for Ann {
///     async fn scan(&self, text: &str) -> Result<Vec<ScanFinding>> {
///         let found = text.match_indices("Ann");
///         Ok(found.map(|(start, name)| ScanFinding::new("person", start..start + name.len())).collect())
///     }
/// }
///
/// # pollster::block_on(async {
/// let manager = Manager::builder(EchoModel).middleware(ScanReplies::new(Ann)).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// assert_eq!(conversation.send("Hello Ann!").await?.text(), "Hello [person]!");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScanReplies {
    scanner: Arc<dyn Scanner>,
}

impl ScanReplies {
    /// Creates the middleware.
    pub fn new(scanner: impl Scanner + 'static) -> Self {
        Self { scanner: Arc::new(scanner) }
    }

    async fn run(self, mut stream: ReplyStream, mut emit: Emitter<Delta>) -> Result<Reply> {
        while stream.next().await.is_some() {}
        let mut reply = stream.finish().await?;
        let mut counts = Counts::new();
        for part in &mut reply.message.parts {
            self.content(&mut part.content, &mut counts).await?;
        }
        reply.message.parts.retain(|part| !is_empty(&part.content));
        for text in [&mut reply.stop_string, &mut reply.error].into_iter().flatten() {
            *text = self.text(text, &mut counts).await?;
        }
        for part in &reply.message.parts {
            if let Some(delta) = delta_of(&part.content) {
                emit.send(delta).await;
            }
        }
        if !counts.is_empty() {
            reply.tokens.clear();
            reply.logprobs.clear();
        }
        note(&mut reply, REDACTION_FACT, counts);
        Ok(reply)
    }

    async fn content(&self, content: &mut Content, counts: &mut Counts) -> Result<()> {
        match content {
            Content::Text(text) | Content::Thinking(text) => *text = self.text(text, counts).await?,
            Content::Channel(said) => said.text = self.text(&said.text, counts).await?,
            Content::Malformed(malformed) => malformed.raw = self.text(&malformed.raw, counts).await?,
            Content::ToolCall(call) => {
                let mut texts = Vec::new();
                strings(&mut call.arguments, &mut texts);
                for text in texts {
                    *text = self.text(text, counts).await?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Scans a text, and replaces what was found.
    async fn text(&self, text: &str, counts: &mut Counts) -> Result<String> {
        if text.is_empty() {
            return Ok(String::new());
        }
        let mut findings = self.scanner.scan(text).await.map_err(|error| {
            Error::new(error.kind(), "the reply could not be scanned and is not shown").with_source(error)
        })?;
        findings.sort_by_key(|finding| finding.range.start);
        let mut shown = String::with_capacity(text.len());
        let mut end = 0;
        for finding in findings {
            let range = finding.range;
            if text.get(range.clone()).is_none() {
                let length = text.len();
                let message = format!(
                    "the scanner found {range:?} in a text of {length} bytes: a range is in the text, at borders of characters"
                );
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            // Findings may overlap: then both are removed, and the first one is named.
            if range.start >= end && !range.is_empty() {
                shown.push_str(text.get(end..range.start).unwrap_or_default());
                shown.push_str(&format!("[{}]", finding.name));
                *counts.entry(finding.name).or_default() += 1;
            }
            end = end.max(range.end);
        }
        shown.push_str(text.get(end..).unwrap_or_default());
        Ok(shown)
    }
}

/// Returns the strings of a JSON value.
fn strings<'a>(value: &'a mut serde_json::Value, texts: &mut Vec<&'a mut String>) {
    match value {
        serde_json::Value::String(text) => texts.push(text),
        serde_json::Value::Array(items) => {
            for item in items {
                strings(item, texts);
            }
        }
        serde_json::Value::Object(fields) => {
            for (_, field) in fields.iter_mut() {
                strings(field, texts);
            }
        }
        _ => {}
    }
}

fn is_empty(content: &Content) -> bool {
    match content {
        Content::Text(text) | Content::Thinking(text) => text.is_empty(),
        Content::Channel(said) => said.text.is_empty(),
        _ => false,
    }
}

#[async_trait]
impl Middleware for ScanReplies {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let stream = next.call(request).await?;
        let guard = self.clone();
        Ok(EventStream::new(move |emit| guard.run(stream, emit)))
    }
}
