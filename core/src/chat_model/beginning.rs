//! What a reply begins with, where a request says so.

use crate::tokenizer::TokenId;

/// What a reply begins with: the model continues it, and the reply has it at its start, as if the model had written it.
///
/// ```
/// use alloquy_core::chat_model::ReplyBeginning;
/// use alloquy_core::{Conversation, TurnRequest};
/// use alloquy_testing::EchoModel;
///
/// let begun = TurnRequest::from("Hi").beginning(ReplyBeginning::Text("Good mo".to_owned()));
/// // A language model continues the text. One that has no tokens of its own says that it cannot.
/// let error = Conversation::new(EchoModel).ask(begun).unwrap_err();
/// assert_eq!(error.kind(), alloquy_core::ErrorKind::Unsupported);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyBeginning {
    /// A text. What only a model writes, such as the marker of its thinking, is read as such; other control tokens stay text.
    Text(String),
    /// Tokens, exactly these: those of a reply that was cut, or a part of them with another token at the end.
    Tokens(Vec<TokenId>),
}
