//! Computes, scores and measures the prompt of the next message, and stores nothing.

use super::Conversation;
use crate::Result;
use crate::chat_model::Request;
use crate::prompt::PreparedPrompt;
use crate::report::{CacheReport, TextScore};
use crate::template::PromptEnd;
use crate::turn::{self, TurnRequest};

impl Conversation {
    /// Computes the prompt of the messages up to the head and of `draft` ahead of the next turn. The middleware sees it
    /// first.
    ///
    /// The draft is not stored. [`Conversation::send`] with the same or a changed draft computes only what differs.
    /// [`TurnRequest::default`] is an empty draft.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// use alloquy_testing::ScriptedModel;
    ///
    /// # pollster::block_on(async {
    /// let conversation = Conversation::new(ScriptedModel::new([("<assistant>", "Good.")]));
    /// conversation.warm("How").await?;
    /// conversation.warm("How are").await?;
    /// assert_eq!(conversation.send("How are you?").await?.text(), "Good.");
    /// assert_eq!(conversation.history().await?.len(), 2);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a tool result without its call, and those of the store,
    /// the middleware and the model.
    pub async fn warm(&self, draft: impl Into<TurnRequest>) -> Result<Option<CacheReport>> {
        let draft = self.draft(draft.into());
        let middleware = self.parts.middleware(&draft);
        let request = turn::drafted(&self.parts, &self.id, &draft).await?;
        self.parts.next(&middleware).warm(request.ending(PromptEnd::Closed)).await
    }

    /// Returns the request that a turn at the head would begin with, before middleware.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::Tool`](crate::ErrorKind::Tool) for tools whose names clash.
    pub async fn request(&self) -> Result<Request> {
        let draft = self.draft(TurnRequest::default());
        Ok(turn::drafted(&self.parts, &self.id, &draft).await?.ending(PromptEnd::Closed))
    }

    /// Returns how likely each of `targets` is as the reply to `draft`. With [`TurnRequest::default`] it is the reply
    /// to the message at the head. The middleware sees the draft first.
    ///
    /// Neither the stored conversation nor the cache changes.
    ///
    /// # Errors
    /// As [`Conversation::warm`], and as [`ChatModel::score`](crate::ChatModel::score).
    pub async fn score(&self, draft: impl Into<TurnRequest>, targets: &[String]) -> Result<Vec<TextScore>> {
        let draft = self.draft(draft.into());
        let middleware = self.parts.middleware(&draft);
        let request = turn::drafted(&self.parts, &self.id, &draft).await?;
        self.parts.next(&middleware).score(request.ending(PromptEnd::Generation), targets).await
    }

    /// Returns the prompt of `draft` without running the model; `None` for models that do not report their prompts. The
    /// middleware sees the draft first.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// use alloquy_testing::ScriptedModel;
    ///
    /// # pollster::block_on(async {
    /// let model = ScriptedModel::new([("<user>Hi<end><assistant>", "Hello!")]);
    /// let conversation = Conversation::new(model);
    /// conversation.send("Hi").await?;
    /// let before = conversation.history_prompt().await?.expect("a local model");
    /// let next = conversation.prompt("And you?").await?.expect("a local model");
    /// assert_eq!(next.added_to(&before), "<user>And you?<end><assistant>");
    /// assert_eq!(next.positions() + next.remaining(), 4096);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Conversation::warm`], and those of the model's template, processor and tokenizer.
    pub async fn prompt(&self, draft: impl Into<TurnRequest>) -> Result<Option<PreparedPrompt>> {
        let draft = self.draft(draft.into());
        let middleware = self.parts.middleware(&draft);
        let request = turn::drafted(&self.parts, &self.id, &draft).await?;
        self.parts.next(&middleware).prompt(request.ending(PromptEnd::Generation)).await
    }

    /// Returns the prompt of the messages up to the head, without the start of a reply. It is `None` for models that do
    /// not report their prompts, and for a conversation without any message.
    ///
    /// # Errors
    /// As [`Conversation::prompt`].
    pub async fn history_prompt(&self) -> Result<Option<PreparedPrompt>> {
        let request = self.request().await?;
        if request.path.is_empty() && request.preface.messages.is_empty() {
            return Ok(None);
        }
        let middleware = self.parts.middleware(&self.draft(TurnRequest::default()));
        self.parts.next(&middleware).prompt(request).await
    }

    /// Returns how many positions of the context the messages up to the head take; `None` if
    /// [`Conversation::history_prompt`] is `None`.
    ///
    /// # Errors
    /// As [`Conversation::prompt`].
    pub async fn token_count(&self) -> Result<Option<usize>> {
        Ok(self.history_prompt().await?.map(|prompt| prompt.positions()))
    }

    /// Returns how many positions of the context are free after the messages up to the head; `None` if
    /// [`Conversation::history_prompt`] is `None`. The next message and the markup that the template adds take some of
    /// them. [`PreparedPrompt::remaining`] of [`Conversation::prompt`] is what a message leaves for its reply.
    ///
    /// # Errors
    /// As [`Conversation::prompt`].
    pub async fn remaining(&self) -> Result<Option<usize>> {
        Ok(self.history_prompt().await?.map(|prompt| prompt.remaining()))
    }

    /// Returns a draft with the settings of this handle.
    fn draft(&self, mut draft: TurnRequest) -> TurnRequest {
        self.settle(&mut draft);
        draft
    }
}
