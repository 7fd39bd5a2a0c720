//! Answers that are values of a Rust type.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::Conversation;
use crate::Result;
use crate::grammar::Grammar;
use crate::turn::{TurnReply, TurnRequest};

impl Conversation {
    /// Sends messages, as [`Conversation::send`], and reads the answer as a value of a type. The reply is constrained to the
    /// type's schema ([`Grammar::of`]), in place of another form that the request asks for.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// use alloquy_testing::{ScriptedModel, ScriptedReply};
    ///
    /// # pollster::block_on(async {
    /// let conversation = Conversation::new(ScriptedModel::replying([ScriptedReply::text("[1, 2]")]));
    /// let (numbers, reply) = conversation.send_as::<Vec<u8>>("Count to two").await?;
    /// assert_eq!(numbers, [1, 2]);
    /// assert_eq!(reply.text(), "[1, 2]");
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Turn::finish`](crate::Turn::finish), and of [`TurnReply::parse`] for an answer that does not fit, because it
    /// was cut or because the model takes no grammars. The answer is in the conversation then too.
    pub async fn send_as<T: JsonSchema + DeserializeOwned>(
        &self,
        ask: impl Into<TurnRequest>,
    ) -> Result<(T, TurnReply)> {
        let reply = self.send(ask.into().response_format(Grammar::of::<T>())).await?;
        Ok((reply.parse()?, reply))
    }

    /// Sends messages, waits for the answer, and reads it as a value of a type.
    ///
    /// It blocks the thread, as [`Conversation::ask`] does; in asynchronous code await [`Conversation::send_as`].
    ///
    /// # Errors
    /// Those of [`Conversation::ask`] and [`Conversation::send_as`].
    pub fn ask_as<T: JsonSchema + DeserializeOwned>(&self, ask: impl Into<TurnRequest>) -> Result<T> {
        self.ask(ask.into().response_format(Grammar::of::<T>()))?.parse()
    }
}
