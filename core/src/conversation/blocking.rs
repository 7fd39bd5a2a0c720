//! Begins conversations in memory, and asks them while the thread waits.

use std::sync::Arc;

use super::{Conversation, TurnRequest};
use crate::chat_model::ChatModel;
use crate::preface::Preface;
use crate::store::{ConversationId, ConversationRecord};
use crate::turn::{Parts, TurnReply};
use crate::{Error, ErrorKind, Result};

impl Conversation {
    /// Begins a conversation in memory, without instructions and without tools. It ends with its last handle.
    ///
    /// [`Manager`](crate::Manager) keeps conversations in a store, offers tools and puts middleware before the model.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// use alloquy_testing::EchoModel;
    ///
    /// let conversation = Conversation::new(EchoModel);
    /// assert_eq!(conversation.ask("Hello")?.text(), "Hello");
    /// assert_eq!(pollster::block_on(conversation.history())?.len(), 2);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn new(model: impl ChatModel + 'static) -> Self {
        Self::with_preface(model, Preface::default())
    }

    /// Begins a conversation in memory with instructions, earlier messages, or tools that the host runs.
    pub fn with_preface(model: impl ChatModel + 'static, preface: Preface) -> Self {
        let record = ConversationRecord::new(ConversationId::new(), preface);
        let id = record.id.clone();
        Self::of(Arc::new(Parts::in_memory(Arc::new(model), record)), id)
    }

    /// Sends messages, as [`Conversation::send`], and waits for the whole reply.
    ///
    /// It blocks the thread, inside of an async runtime too; in asynchronous code await [`Conversation::send`].
    ///
    /// # Errors
    /// Those of [`Turn::finish`](crate::Turn::finish), and [`ErrorKind::Backend`] for an answer that failed midway: what was
    /// said until then is kept in the conversation.
    pub fn ask(&self, ask: impl Into<TurnRequest>) -> Result<TurnReply> {
        let answered = pollster::block_on(self.send(ask).finish())?;
        match &answered.reply.error {
            Some(error) => Err(Error::new(ErrorKind::Backend, error.clone())),
            None => Ok(answered),
        }
    }
}
