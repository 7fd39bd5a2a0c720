//! A model family: what goes into its template, and how its replies are read.

use std::fmt::Debug;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::arguments::ProcessorArguments;
use crate::grammar::Grammar;
use crate::media::Media;
use crate::message::{ChannelText, Content, Malformed, Message, ToolCall};
use crate::output::{ParallelCalls, ToolChoice};
use crate::preface::Preface;
use crate::report::Degradation;
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
    /// Instructions and tools.
    pub preface: &'a Preface,
    /// The messages from the root to the one to answer.
    pub path: &'a [Message],
    /// How the prompt ends.
    pub ending: Ending,
    /// What the call, the conversation and the preface tell, joined; those of the preface are not read again.
    pub arguments: &'a ProcessorArguments,
}

impl<'a> PromptSource<'a> {
    /// Takes a prompt's source from a preface and a path; the processor is told what the preface tells.
    pub fn new(preface: &'a Preface, path: &'a [Message], ending: Ending) -> Self {
        Self { preface, path, ending, arguments: &preface.arguments }
    }
}

/// Knows one model family.
///
/// # Contract
/// A processor is pure: no clock, no I/O, no state between calls. `prompt_parts` undoes whatever marks
/// `template_input` put into texts, so that joining the parts' texts gives the unmarked prompt. Text of users,
/// systems, tools and documents that spells a control token comes out as [`PromptPart::Literal`], unless the source's
/// [injection policy](crate::arguments::InjectionPolicy) lets it through, which `degradations` then tells.
/// `laws::processor` checks all of it. An `Arc` of a processor is a processor.
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

    /// Puts what announces an answer before the grammar of one, for families whose replies are messages with heads.
    fn answer_grammar(&self, grammar: Grammar) -> Grammar {
        grammar
    }

    /// Returns the stretches of a reply that are not its text and have a name; none unless a family says so.
    fn channels(&self) -> &[Channel] {
        &[]
    }

    /// Returns what of the arguments `rendered` does not do as asked, and the control tokens that their injection
    /// policy let through. A processor that lets nothing through and leaves thoughts to the template has nothing to say.
    fn degradations(&self, rendered: &str, source: PromptSource<'_>) -> Vec<Degradation> {
        let _ = (rendered, source);
        Vec::new()
    }
}

// A method that is provided later is passed on too.
#[deny(clippy::missing_trait_methods)]
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

    fn answer_grammar(&self, grammar: Grammar) -> Grammar {
        (**self).answer_grammar(grammar)
    }

    fn channels(&self) -> &[Channel] {
        (**self).channels()
    }

    fn degradations(&self, rendered: &str, source: PromptSource<'_>) -> Vec<Degradation> {
        (**self).degradations(rendered, source)
    }
}

/// A named stretch of a reply between two markers, such as what the model thinks.
///
/// The markers are the texts as the model is trained to write them. A template may have printed `start` already:
/// then a reply begins inside the channel.
///
/// ```
/// use alloquy_core::processor::Channel;
///
/// let channel = Channel::new(Channel::THINKING, "<think>\n", "\n</think>");
/// assert_eq!(channel.name, "thinking");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// What it is called; [`Channel::THINKING`] is the one that every family with thoughts has. What is said in
    /// another becomes [`Content::Channel`].
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
    /// More of what is said in another channel.
    Channel(ChannelText),
    /// More of the arguments of a call that is not whole yet. [`Delta::ToolCall`] with the same id brings it whole;
    /// when it cannot be read in the end, [`Delta::Malformed`] brings its text.
    Arguments(ArgumentsDelta),
    /// A whole tool call.
    ToolCall(ToolCall),
    /// Something that could not be read.
    Malformed(Malformed),
}

impl Delta {
    /// Adds this piece to the parts that the pieces before it made; one of arguments makes none.
    pub fn join_to(&self, parts: &mut Vec<Content>) {
        match (parts.last_mut(), self) {
            (_, Self::Arguments(_)) => {}
            (Some(Content::Text(text)), Self::Text(more))
            | (Some(Content::Thinking(text)), Self::Thinking(more)) => text.push_str(more),
            (Some(Content::Channel(said)), Self::Channel(more)) if said.name == more.name => {
                said.text.push_str(&more.text);
            }
            (_, Self::Text(text) | Self::Thinking(text)) if text.is_empty() => {}
            (_, Self::Channel(said)) if said.text.is_empty() => {}
            (_, Self::Text(text)) => parts.push(Content::Text(text.clone())),
            (_, Self::Thinking(text)) => parts.push(Content::Thinking(text.clone())),
            (_, Self::Channel(said)) => parts.push(Content::Channel(said.clone())),
            (_, Self::ToolCall(call)) => parts.push(Content::ToolCall(call.clone())),
            (_, Self::Malformed(malformed)) => parts.push(Content::Malformed(malformed.clone())),
        }
    }
}

/// A piece of a call's arguments, for whoever shows a call while the model writes it.
///
/// The text is in the model's own notation, which is JSON in most families and may be tags or Python in others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArgumentsDelta {
    /// The id of the call; no other call of the conversation has it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// What has come since the last piece.
    pub text: String,
}

/// Reads one reply, piece by piece.
///
/// # Contract
/// Total and incremental: reading never fails, what cannot be read becomes [`Delta::Malformed`], and any
/// chunking of a reply gives the same deltas once joined, and the same message. Nothing is dropped: text that
/// was held back because it might become a marker comes out at the latest in `finish`. Pieces of arguments are
/// besides: the message is what the other deltas make, and the pieces of one call join to the same text in any
/// chunking too.
pub trait ReplyParser: Send {
    /// Takes more text and returns what it settles.
    fn push(&mut self, text: &str) -> Vec<Delta>;

    /// Ends the reply: the last deltas, and the message that all deltas make.
    fn finish(self: Box<Self>) -> (Vec<Delta>, Message);
}
