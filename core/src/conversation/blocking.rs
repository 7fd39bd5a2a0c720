//! Starts conversations in memory, and waits for replies without an async runtime.

use std::sync::Arc;

use super::{Conversation, TurnRequest};
use crate::chat_model::ChatModel;
use crate::preface::Preface;
use crate::store::{ConversationId, ConversationRecord};
use crate::turn::{Parts, TurnReply};
use crate::{Error, ErrorKind, Result};

impl Conversation {
    /// Starts a conversation in memory, without instructions and tools. It is dropped with its last handle.
    ///
    /// [`Manager`](crate::Manager) stores conversations, offers tools and adds middleware.
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

    /// Starts a conversation in memory with instructions, earlier messages, or tools that the host runs.
    pub fn with_preface(model: impl ChatModel + 'static, preface: Preface) -> Self {
        let record = ConversationRecord::new(ConversationId::new(), preface);
        let id = record.id.clone();
        Self::of(Arc::new(Parts::in_memory(Arc::new(model), record)), id)
    }

    /// Sends messages like [`Conversation::send`], and waits for the whole reply.
    ///
    /// It blocks the thread, also inside an async runtime: in async code, await [`Conversation::send`].
    ///
    /// # Errors
    /// Those of [`Turn::finish`](crate::Turn::finish), and [`ErrorKind::Backend`] for a reply that failed midway. The
    /// conversation keeps the text so far.
    pub fn ask(&self, ask: impl Into<TurnRequest>) -> Result<TurnReply> {
        let answered = pollster::block_on(self.send(ask).finish())?;
        match &answered.reply.error {
            Some(error) => Err(Error::new(ErrorKind::Backend, error.clone())),
            None => Ok(answered),
        }
    }
}
