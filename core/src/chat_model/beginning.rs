//! What a reply begins with, where a request says so.

use crate::tokenizer::TokenId;

/// What a reply begins with: the model continues it, and the reply has it at its start, as if the model had written it.
///
/// ```
/// use std::sync::Arc;
/// use alloquy_core::chat_model::ReplyBeginning;
/// use alloquy_core::{Conversation, TurnRequest};
/// use alloquy_inference::{Generator, LanguageModel};
/// use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
///
/// # pollster::block_on(async {
/// let engine = ScriptedEngine::new([("<user>Hi<end><assistant>", "Good morning")]);
/// let generator = Generator::new(Arc::new(engine), 1)?;
/// let model = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
/// let conversation = Conversation::new(model);
/// let begun = TurnRequest::from("Hi").beginning(ReplyBeginning::Text("Good mo".to_owned()));
/// let reply = conversation.send(begun).await?;
/// assert_eq!((reply.text().as_str(), reply.reply.begun), ("Good morning", 7));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyBeginning {
    /// A text. What only a model writes, such as the marker of its thinking, is read as such; other control tokens stay text.
    Text(String),
    /// Tokens, exactly these: those of a reply that was cut, or a part of them with another token at the end.
    Tokens(Vec<TokenId>),
}
