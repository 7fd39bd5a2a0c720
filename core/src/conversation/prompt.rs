//! The prompt of the next question: computed ahead, scored, measured. Nothing of it is stored.

use super::Conversation;
use crate::Result;
use crate::chat_model::Request;
use crate::prompt::PreparedPrompt;
use crate::report::{CacheReport, Score};
use crate::template::Ending;
use crate::turn::{self, TurnRequest};

impl Conversation {
    /// Computes the prompt up to the head with the messages of `draft` after it, ahead of the next question, as middleware
    /// passes it on.
    ///
    /// Nothing of the draft is stored: send it, or what it has become, with [`Conversation::send`], which computes only what differs.
    /// [`TurnRequest::default`] is no draft.
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
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a result without its call, and those of the store, the middleware
    /// and the model.
    pub async fn warm(&self, draft: impl Into<TurnRequest>) -> Result<Option<CacheReport>> {
        let draft = self.draft(draft.into());
        let middleware = self.parts.middleware(&draft);
        let request = turn::drafted(&self.parts, &self.id, &draft).await?;
        self.parts.next(&middleware).warm(request.ending(Ending::Closed)).await
    }

    /// Returns what the model would be asked at the head, before middleware.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::Tool`](crate::ErrorKind::Tool) for tools whose names clash.
    pub async fn request(&self) -> Result<Request> {
        let draft = self.draft(TurnRequest::default());
        Ok(turn::drafted(&self.parts, &self.id, &draft).await?.ending(Ending::Closed))
    }

    /// Returns how likely each of `targets` is as the answer to `draft`, as middleware passes it on. With
    /// [`TurnRequest::default`] it is the answer to the message at the head.
    ///
    /// The conversation stays as it is, stored and computed: the next turn reuses as much as it would have without.
    ///
    /// # Errors
    /// As [`Conversation::warm`], and as [`ChatModel::score`](crate::ChatModel::score).
    pub async fn score(&self, draft: impl Into<TurnRequest>, targets: &[String]) -> Result<Vec<Score>> {
        let draft = self.draft(draft.into());
        let middleware = self.parts.middleware(&draft);
        let request = turn::drafted(&self.parts, &self.id, &draft).await?;
        self.parts.next(&middleware).score(request.ending(Ending::Answer), targets).await
    }

    /// Returns the prompt that the model would be given for `draft`, as middleware passes it on, without asking the model;
    /// `None` for models that keep their prompts to themselves.
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
    /// As [`Conversation::warm`]; the template, the processor and the tokenizer of the model may refuse.
    pub async fn prompt(&self, draft: impl Into<TurnRequest>) -> Result<Option<PreparedPrompt>> {
        let draft = self.draft(draft.into());
        let middleware = self.parts.middleware(&draft);
        let request = turn::drafted(&self.parts, &self.id, &draft).await?;
        self.parts.next(&middleware).prompt(request.ending(Ending::Answer)).await
    }

    /// Returns the prompt of the messages up to the head, in which no reply begins; `None` for models that keep their prompts
    /// to themselves, and where there is no message that the template could print.
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

    /// Returns how many positions of the context the messages up to the head take; `None` where [`Conversation::history_prompt`] is.
    ///
    /// # Errors
    /// As [`Conversation::prompt`].
    pub async fn token_count(&self) -> Result<Option<usize>> {
        Ok(self.history_prompt().await?.map(|prompt| prompt.positions()))
    }

    /// Returns how many positions of the context are left after the messages up to the head; `None` where
    /// [`Conversation::history_prompt`] is. A question takes some of them, and so does what the template writes around it:
    /// [`PreparedPrompt::remaining`] is what a question leaves for its answer.
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
