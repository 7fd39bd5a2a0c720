//! What the model would be given next. Runs nothing and changes nothing.

use super::{Conversation, Messages, joined};
use crate::Result;
use crate::prompt::PreparedPrompt;
use crate::template::Ending;

/// The prompt of the next turn, and what of it is new.
#[derive(Clone, Debug, PartialEq)]
pub struct NextPrompt {
    /// The whole prompt at each of its stages.
    pub prompt: PreparedPrompt,
    /// From which byte of the rendered text on it differs from the prompt without the new messages.
    new: usize,
}

impl NextPrompt {
    /// Returns the text that the new messages add, up to where the reply begins. A template that writes old messages
    /// differently because of them makes it begin there.
    pub fn added(&self) -> &str {
        self.prompt.rendered.get(self.new..).unwrap_or_default()
    }

    /// Returns how many units the whole prompt has; media count as many as the positions that they take.
    pub fn units(&self) -> usize {
        self.prompt.positions()
    }

    /// Returns how many units are left for the reply.
    pub fn remaining(&self) -> usize {
        self.prompt.context.saturating_sub(self.units())
    }
}

impl Conversation {
    /// Returns what the model would be given for `messages`, without asking it and without changing anything; `None` for
    /// models that keep their prompts to themselves.
    ///
    /// # Errors
    /// Those of the middleware, the template, the processor and the tokenizer.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_testing::ScriptedModel;
    /// use alloquy_core::{Conversation, Preface};
    ///
    /// let model = ScriptedModel::new([("<user>Hi<end><assistant>", "Hello!")]);
    /// let mut conversation = Conversation::new(Arc::new(model), Preface::default());
    /// conversation.send_message("Hi")?;
    /// let next = conversation.next_prompt("And you?")?.expect("a local model");
    /// assert_eq!(next.added(), "<user>And you?<end><assistant>");
    /// assert_eq!(next.units() + next.remaining(), 4096);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn next_prompt(&self, messages: impl Into<Messages>) -> Result<Option<NextPrompt>> {
        let said = joined(&self.pending, messages.into().0);
        let whole = pollster::block_on(self.next().prompt(self.request(&said, Ending::Answer)))?;
        let Some(prompt) = whole else { return Ok(None) };
        let before = self.closed()?.unwrap_or_default();
        let same = before.bytes().zip(prompt.rendered.bytes()).take_while(|(left, right)| left == right);
        let new = prompt.rendered.floor_char_boundary(same.count());
        Ok(Some(NextPrompt { prompt, new }))
    }

    /// Returns how many units the conversation takes as it stands, pending messages included; `None` for models that keep
    /// their prompts to themselves, and for a conversation in which nothing was said that the template could print.
    ///
    /// # Errors
    /// As [`Conversation::next_prompt`].
    pub fn token_count(&self) -> Result<Option<usize>> {
        Ok(self.standing()?.map(|prompt| prompt.positions()))
    }

    /// Returns how many units are left of the model's context behind the conversation as it stands, pending messages included;
    /// `None` where [`Conversation::token_count`] is. A question takes of it, and so does what the template writes around it:
    /// [`NextPrompt::remaining`] tells what a question leaves for its answer.
    ///
    /// # Errors
    /// As [`Conversation::next_prompt`].
    pub fn remaining(&self) -> Result<Option<usize>> {
        let standing = self.standing()?;
        Ok(standing.map(|prompt| prompt.context.saturating_sub(prompt.positions())))
    }

    /// The conversation as it stands, pending messages included.
    fn standing(&self) -> Result<Option<PreparedPrompt>> {
        if self.is_blank() {
            return Ok(None);
        }
        pollster::block_on(self.next().prompt(self.request(&self.pending, Ending::Closed)))
    }

    /// The text of the conversation as it stands, without what is pending.
    fn closed(&self) -> Result<Option<String>> {
        if self.history.is_empty() && self.preface.messages.is_empty() {
            return Ok(None);
        }
        let prompt = pollster::block_on(self.next().prompt(self.request(&[], Ending::Closed)))?;
        Ok(prompt.map(|prompt| prompt.rendered))
    }

    fn is_blank(&self) -> bool {
        self.history.is_empty() && self.pending.is_empty() && self.preface.messages.is_empty()
    }
}
