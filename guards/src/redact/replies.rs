//! The middleware that redacts replies while they stream.

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::stream::{Emitter, EventStream};
use alloquy_core::{Delta, Reply, ReplyStream, Request, Result};
use async_trait::async_trait;
use futures::StreamExt;
use serde_json::{Map, Value};

use super::blocks::Blocks;
use super::message;
use super::ordered::{Ids, Ordered};
use super::redactor::{Counts, Redactor};

/// The name of the fact with the number of matches of each pattern, in [`Reply::facts`].
///
/// [`RedactReplies`] has an example.
pub const REDACTION_FACT: &str = "alloquy.redaction";

/// Redacts replies before a caller sees them, also while they stream.
///
/// Text, thinking and each channel are held back only where they may become a match. Arguments of a call are shown with the whole
/// call, because a match may be escaped in them. The next request sees the redacted reply, because it is what is stored.
///
/// A reply in which something was removed has no [token ids](Reply::tokens) and no [log-probabilities](Reply::logprobs), because
/// they spell it. Its facts have the number of matches, by pattern, as [`REDACTION_FACT`].
///
/// Register it as the outermost middleware: a middleware outside of it sees redacted replies, one inside sees all.
///
/// ```
/// use alloquy_core::{Manager, Preface};
/// use alloquy_guards::redact::{RedactReplies, Redactor};
/// use alloquy_testing::ScriptedModel;
///
/// # pollster::block_on(async {
/// let model = ScriptedModel::new([("<assistant>", "Write to ann@example.org.")]);
/// let guard = RedactReplies::new(Redactor::named(["email", "key"])?);
/// let manager = Manager::builder(model).middleware(guard).build()?;
/// let conversation = manager.create(Preface::default()).await?;
/// let turn = conversation.send("Whom do I ask?").await?;
/// assert_eq!(turn.text(), "Write to [email].");
/// assert_eq!(turn.reply.facts["alloquy.redaction"]["email"], 1);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RedactReplies {
    redactor: Redactor,
    blocks: Blocks,
}

impl RedactReplies {
    /// Creates the middleware.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, blocks: Blocks::default() }
    }

    /// Sets whether a match may continue in the next block of thinking.
    #[must_use]
    pub fn blocks(mut self, blocks: Blocks) -> Self {
        self.blocks = blocks;
        self
    }
}

#[async_trait]
impl Middleware for RedactReplies {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        // The path grows with each reply, so its length makes ids unique in the conversation.
        let prefix = format!("redacted_{}_", request.path.len());
        let stream = next.call(request).await.map_err(|error| self.redactor.error(error))?;
        let guard = self.clone();
        Ok(EventStream::new(move |emit| guard.run(stream, prefix, emit)))
    }
}

impl RedactReplies {
    async fn run(self, mut stream: ReplyStream, prefix: String, mut emit: Emitter<Delta>) -> Result<Reply> {
        let mut ordered = Ordered::new(&self.redactor, self.blocks, Ids::new(prefix.clone()));
        while let Some(delta) = stream.next().await {
            for (_, shown) in ordered.push(delta)? {
                emit.send(shown).await;
            }
        }
        // A reply that failed is kept as far as it was generated, so what was held back is shown in any case.
        for (_, shown) in ordered.finish()? {
            emit.send(shown).await;
        }
        let reply = stream.finish().await.map_err(|error| self.redactor.error(error))?;
        self.reply(reply, prefix)
    }

    /// Redacts a whole reply.
    fn reply(&self, mut reply: Reply, prefix: String) -> Result<Reply> {
        let mut counts = Counts::new();
        message::redact(&mut reply.message, &self.redactor, self.blocks, &mut Ids::new(prefix), &mut counts)?;
        for text in [&mut reply.stop_string, &mut reply.error].into_iter().flatten() {
            *text = self.redactor.counted(text, &mut counts)?;
        }
        if let Some(summary) = reply.cut.as_mut().and_then(|cut| cut.summary.as_mut()) {
            summary.text = self.redactor.counted(&summary.text, &mut counts)?;
        }
        self.redactor.fields(&mut reply.facts, &mut counts)?;
        self.warnings(&mut reply, &mut counts)?;
        if !counts.is_empty() {
            reply.tokens.clear();
            reply.logprobs.clear();
        }
        note(&mut reply, REDACTION_FACT, counts);
        Ok(reply)
    }

    /// Redacts the texts in warnings, such as the marker of an unwanted call.
    fn warnings(&self, reply: &mut Reply, counts: &mut Counts) -> Result<()> {
        let mut kept = Vec::with_capacity(reply.warnings.len());
        for warning in reply.warnings.drain(..) {
            let before = serde_json::to_value(&warning).unwrap_or_default();
            let mut value = before.clone();
            self.redactor.value(&mut value, counts)?;
            if value == before {
                kept.push(warning);
            } else if let Ok(redacted) = serde_json::from_value(value) {
                kept.push(redacted);
            }
        }
        reply.warnings = kept;
        Ok(())
    }
}

/// Notes the number of matches, by pattern, if there were any.
pub(super) fn note(reply: &mut Reply, fact: &str, counts: Counts) {
    if counts.is_empty() {
        return;
    }
    let mut all = Map::new();
    for (name, times) in counts {
        all.insert(name, Value::from(times));
    }
    reply.facts.insert(fact.to_owned(), Value::Object(all));
}
