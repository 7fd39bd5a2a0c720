//! Replies that are read as values of a Rust type.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::Conversation;
use crate::Result;
use crate::grammar::Grammar;
use crate::turn::{TurnReply, TurnRequest};

impl Conversation {
    /// Sends messages like [`Conversation::send`], and reads the reply as a value of a type. The reply is constrained
    /// to the type's schema ([`Grammar::of`]), which replaces another response format of the request.
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
    /// Those of [`Turn::finish`](crate::Turn::finish), and of [`TurnReply::parse`] for a reply that does not fit,
    /// because it was interrupted or because the model accepts no grammars. The conversation contains that reply too.
    pub async fn send_as<T: JsonSchema + DeserializeOwned>(
        &self,
        ask: impl Into<TurnRequest>,
    ) -> Result<(T, TurnReply)> {
        let reply = self.send(ask.into().response_format(Grammar::of::<T>())).await?;
        Ok((reply.parse()?, reply))
    }

    /// Sends messages, waits for the reply, and reads it as a value of a type.
    ///
    /// It blocks the thread like [`Conversation::ask`]; in async code, await [`Conversation::send_as`].
    ///
    /// # Errors
    /// Those of [`Conversation::ask`] and [`Conversation::send_as`].
    pub fn ask_as<T: JsonSchema + DeserializeOwned>(&self, ask: impl Into<TurnRequest>) -> Result<T> {
        self.ask(ask.into().response_format(Grammar::of::<T>()))?.parse()
    }
}
