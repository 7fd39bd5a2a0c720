//! Changes the text of a reply while it is generated.

use futures::StreamExt;

use super::{Reply, ReplyStream};
use crate::error::{Error, ErrorKind, Result};
use crate::message::{Content, Message};
use crate::processor::Delta;
use crate::stream::{Emitter, EventStream};

/// Changes a text that arrives in pieces.
///
/// ```
/// use alloquy_core::chat_model::TextMap;
///
/// /// Shortens a name, also if it arrives in two pieces.
/// #[derive(Debug, Default)]
/// struct Initials {
///     held: String,
/// }
///
/// impl TextMap for Initials {
///     fn push(&mut self, text: &str) -> String {
///         self.held += text;
///         // The last word may not be complete yet.
///         let end = self.held.rfind(' ').map_or(0, |space| space + 1);
///         let rest = self.held.split_off(end);
///         std::mem::replace(&mut self.held, rest).replace("Ann ", "A. ")
///     }
///
///     fn finish(&mut self) -> String {
///         std::mem::take(&mut self.held).replace("Ann", "A.")
///     }
/// }
///
/// let mut map = Initials::default();
/// assert_eq!(map.push("Dear An"), "Dear ");
/// assert_eq!(map.push("n Lee, "), "A. Lee, ");
/// assert_eq!(map.push("Ann"), "");
/// assert_eq!(map.finish(), "A.");
/// ```
pub trait TextMap: Send {
    /// Receives more of the text and returns what can be shown now. The rest is held back, for example an unfinished
    /// word.
    fn push(&mut self, text: &str) -> String;

    /// Ends the text and returns what was held back. The next piece begins another text.
    fn finish(&mut self) -> String {
        String::new()
    }
}

impl ReplyStream {
    /// Changes the text of a reply, both in its deltas and in its message.
    ///
    /// Thinking, other channels and tool calls stay as they are. The changed reply has no tokens and no
    /// log-probabilities, because they would reveal the original text, and the next prompt would contain it. The next
    /// prompt tokenizes the changed text, so what was cached for this reply is not used from there on.
    ///
    /// ```
    /// use alloquy_core::{ReplyStream, Request, Result};
    /// use alloquy_core::chat_model::TextMap;
    /// use alloquy_core::middleware::{Middleware, Next};
    ///
    /// #[derive(Debug)]
    /// struct Loud;
    ///
    /// impl TextMap for Loud {
    ///     fn push(&mut self, text: &str) -> String {
    ///         text.to_uppercase()
    ///     }
    /// }
    ///
    /// #[async_trait::async_trait]
    /// impl Middleware for Loud {
    ///     async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
    ///         Ok(next.call(request).await?.map_text(Loud))
    ///     }
    /// }
    /// ```
    pub fn map_text(self, map: impl TextMap + 'static) -> Self {
        EventStream::new(move |emit| Mapping { map, texts: Vec::new(), open: None, emit }.run(self))
    }
}

/// A reply whose text is being changed.
struct Mapping<M> {
    map: M,
    /// The changed texts that have ended.
    texts: Vec<String>,
    /// The changed text that is being written, if there is one.
    open: Option<String>,
    emit: Emitter<Delta>,
}

impl<M: TextMap> Mapping<M> {
    async fn run(mut self, mut stream: ReplyStream) -> Result<Reply> {
        while let Some(delta) = stream.next().await {
            match delta {
                // An empty piece begins no text, because the message has no part for it.
                Delta::Text(text) if text.is_empty() => {}
                Delta::Text(text) => {
                    let shown = self.map.push(&text);
                    self.show(shown).await;
                }
                other => {
                    // Pieces of arguments are not part of the message, so the text before them may continue after them.
                    let mut parts = Vec::new();
                    other.join_to(&mut parts);
                    if !parts.is_empty() {
                        self.end().await;
                    }
                    self.emit.send(other).await;
                }
            }
        }
        self.end().await;
        let mut reply = stream.finish().await?;
        self.rewrite(&mut reply.message)?;
        reply.tokens.clear();
        reply.logprobs.clear();
        Ok(reply)
    }

    async fn show(&mut self, shown: String) {
        self.open.get_or_insert_default().push_str(&shown);
        if !shown.is_empty() {
            self.emit.send(Delta::Text(shown)).await;
        }
    }

    async fn end(&mut self) {
        if self.open.is_some() {
            let held = self.map.finish();
            self.show(held).await;
        }
        self.texts.extend(self.open.take());
    }

    /// Replaces the texts of the message by what was shown of each, and removes parts that became empty.
    fn rewrite(self, message: &mut Message) -> Result<()> {
        let count = message.parts.iter().filter(|part| matches!(part.content, Content::Text(_))).count();
        if count != self.texts.len() {
            // A text that was never streamed would stay unchanged in the message.
            let streamed = self.texts.len();
            let words = format!(
                "the model streamed {streamed} texts, and its reply has {count}: a change of text needs the same texts"
            );
            return Err(Error::new(ErrorKind::Backend, words));
        }
        let mut texts = self.texts.into_iter();
        for part in &mut message.parts {
            if let Content::Text(text) = &mut part.content {
                *text = texts.next().unwrap_or_default();
            }
        }
        message.parts.retain(|part| !matches!(&part.content, Content::Text(text) if text.is_empty()));
        Ok(())
    }
}
