//! A model family: what goes into its template, and how its replies are read.

use std::fmt::Debug;
use std::sync::Arc;

use crate::Result;
use crate::constraint::Grammar;
use crate::guidance::{ParallelCalls, ToolChoice};
use crate::media::Media;
use crate::message::{Malformed, Message, ToolCall};
use crate::preface::Preface;
use crate::template::{Ending, TemplateInput};
use crate::tokenizer::TokenId;

/// A piece of a prompt, before tokens.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PromptPart {
    /// Text in which control tokens count as such.
    Text(String),
    /// Text of a person or a tool that looks like control tokens and must stay text.
    Literal(String),
    /// Tokens as they were sampled.
    Tokens(Vec<TokenId>),
    /// A picture, a sound or a frame; the session knows how many positions it takes.
    Media(Media),
}

/// What a prompt is made from: the preface and the path of messages to answer.
#[derive(Clone, Copy, Debug)]
pub struct PromptSource<'a> {
    /// Instructions, tools and template variables.
    pub preface: &'a Preface,
    /// The messages from the root to the one to answer.
    pub path: &'a [Message],
    /// How the prompt ends.
    pub ending: Ending,
}

/// Knows one model family.
///
/// # Contract
/// A processor is pure: no clock, no I/O, no state between calls. `prompt_parts` undoes whatever marks
/// `template_input` put into texts, so that joining the parts' texts gives the unmarked prompt. Text of users,
/// systems, tools and documents that spells a control token comes out as [`PromptPart::Literal`].
/// [`laws::processor`](crate::laws::processor) checks all of it. An `Arc` of a processor is a processor.
pub trait DataProcessor: Send + Sync + Debug {
    /// Returns the family's name, such as `qwen3`.
    fn name(&self) -> &str;

    /// Puts messages and tools into the shape that the family's templates expect.
    fn template_input(&self, source: PromptSource<'_>) -> Result<TemplateInput>;

    /// Cuts the rendered prompt into parts.
    fn prompt_parts(&self, rendered: &str, source: PromptSource<'_>) -> Result<Vec<PromptPart>>;

    /// Starts reading a reply to `rendered`, which may have opened a thought already.
    fn reply_parser(&self, rendered: &str, source: PromptSource<'_>) -> Box<dyn ReplyParser>;

    /// Returns texts that end a reply and are not part of it, for models without a token for that.
    fn stop_strings(&self) -> Vec<String>;

    /// Returns the grammar of a reply behind its thoughts in which tools are called as `choice` demands, or `None`
    /// when it is not known how the family's models write calls.
    ///
    /// The tools are those of the source's preface. With [`ToolChoice::Auto`] text is free up to the first call.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a tool whose call cannot be written.
    fn tool_grammar(
        &self,
        source: PromptSource<'_>,
        choice: &ToolChoice,
        parallel: ParallelCalls,
    ) -> Result<Option<Grammar>> {
        let _ = (source, choice, parallel);
        Ok(None)
    }

    /// Returns the stretches of a reply that are not its text and have a name; none unless a family says so.
    fn channels(&self) -> &[Channel] {
        &[]
    }
}

impl<T: DataProcessor + ?Sized> DataProcessor for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn template_input(&self, source: PromptSource<'_>) -> Result<TemplateInput> {
        (**self).template_input(source)
    }

    fn prompt_parts(&self, rendered: &str, source: PromptSource<'_>) -> Result<Vec<PromptPart>> {
        (**self).prompt_parts(rendered, source)
    }

    fn reply_parser(&self, rendered: &str, source: PromptSource<'_>) -> Box<dyn ReplyParser> {
        (**self).reply_parser(rendered, source)
    }

    fn stop_strings(&self) -> Vec<String> {
        (**self).stop_strings()
    }

    fn tool_grammar(
        &self,
        source: PromptSource<'_>,
        choice: &ToolChoice,
        parallel: ParallelCalls,
    ) -> Result<Option<Grammar>> {
        (**self).tool_grammar(source, choice, parallel)
    }

    fn channels(&self) -> &[Channel] {
        (**self).channels()
    }
}

/// A named stretch of a reply between two markers, such as what the model thinks.
///
/// The markers are the texts as the model is trained to write them. A template may have printed `start` already:
/// then a reply begins inside the channel.
///
/// ```
/// use alloquy_core::Channel;
///
/// let channel = Channel::new(Channel::THINKING, "<think>\n", "\n</think>");
/// assert_eq!(channel.name, "thinking");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// What it is called; [`Channel::THINKING`] is the one that every family with thoughts has.
    pub name: String,
    /// The text that begins it.
    pub start: String,
    /// The text that ends it.
    pub end: String,
}

impl Channel {
    /// The channel of what a model thinks before it answers.
    pub const THINKING: &'static str = "thinking";

    /// Creates a channel.
    pub fn new(name: impl Into<String>, start: impl Into<String>, end: impl Into<String>) -> Self {
        Self { name: name.into(), start: start.into(), end: end.into() }
    }
}

/// A piece of a reply as it arrives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// More text.
    Text(String),
    /// More thinking.
    Thinking(String),
    /// A whole tool call.
    ToolCall(ToolCall),
    /// Something that could not be read.
    Malformed(Malformed),
}

/// Reads one reply, piece by piece.
///
/// # Contract
/// Total and incremental: reading never fails, what cannot be read becomes [`Delta::Malformed`], and any
/// chunking of a reply gives the same deltas once joined, and the same message. Nothing is dropped: text that
/// was held back because it might become a marker comes out at the latest in `finish`.
pub trait ReplyParser: Send {
    /// Takes more text and returns what it settles.
    fn push(&mut self, text: &str) -> Vec<Delta>;

    /// Ends the reply: the last deltas, and the message that all deltas make.
    fn finish(self: Box<Self>) -> (Vec<Delta>, Message);
}
