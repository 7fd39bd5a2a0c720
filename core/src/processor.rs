//! A model family: how its template is filled, and how its replies are parsed.

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
use crate::report::Warning;
use crate::template::{PromptEnd, TemplateInput};
use crate::tokenizer::TokenId;

/// A piece of a prompt before it is encoded.
///
/// [`Prompt::lower`](crate::prompt::Prompt::lower) encodes parts as a [prompt](crate::prompt::Prompt).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PromptPart {
    /// Text in which control tokens are encoded as such.
    Text(String),
    /// Text of a user or a tool that looks like control tokens and must stay text.
    Literal(String),
    /// Tokens as they were sampled.
    Tokens(Vec<TokenId>),
    /// An image, an audio clip or a frame; the session knows how many positions it takes.
    Media(Media),
}

/// What a prompt is made from: the preface and the path of messages to answer.
///
/// ```
/// use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart};
/// use alloquy_core::template::{PromptEnd, PromptTemplate};
/// use alloquy_core::{Message, Preface};
/// use alloquy_testing::{TaggedProcessor, TaggedTemplate};
///
/// let preface = Preface::system("Be brief.");
/// let path = [Message::user("Tea?")];
/// let source = ProcessorInput::new(&preface, &path, PromptEnd::Generation);
/// let input = TaggedProcessor.template_input(source)?;
/// let rendered = TaggedTemplate.render(&input)?;
/// assert_eq!(rendered, "<system>Be brief.<end><user>Tea?<end><assistant>");
/// assert_eq!(TaggedProcessor.prompt_parts(&rendered, source)?, [PromptPart::Text(rendered)]);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ProcessorInput<'a> {
    /// Instructions and tools.
    pub preface: &'a Preface,
    /// The messages from the root to the one to answer.
    pub path: &'a [Message],
    /// How the prompt ends.
    pub ending: PromptEnd,
    /// The joined arguments of the call, the conversation and the preface; those in `preface` are not read again.
    pub arguments: &'a ProcessorArguments,
}

impl<'a> ProcessorInput<'a> {
    /// Creates a source from a preface and a path, with the arguments of the preface.
    pub fn new(preface: &'a Preface, path: &'a [Message], ending: PromptEnd) -> Self {
        Self { preface, path, ending, arguments: &preface.arguments }
    }
}

/// Handles one model family: its template input and its replies.
///
/// # Contract
/// * A processor is pure: no clock, no I/O, no state between calls.
/// * `prompt_parts` removes the marks that `template_input` inserted into texts. The joined texts of the parts are the
///   prompt without marks.
/// * A control token in a text of a user, system, tool or document becomes a [`PromptPart::Literal`], unless the
///   [injection policy](crate::arguments::InjectionPolicy) allows it. `warnings` reports each allowed one.
///
/// `laws::processor` checks this contract. An `Arc` of a processor is a processor.
pub trait DataProcessor: Send + Sync + Debug {
    /// Returns the family's name, such as `qwen3`.
    fn name(&self) -> &str;

    /// Puts messages and tools into the shape that the family's templates expect.
    fn template_input(&self, source: ProcessorInput<'_>) -> Result<TemplateInput>;

    /// Splits the rendered prompt into parts.
    fn prompt_parts(&self, rendered: &str, source: ProcessorInput<'_>) -> Result<Vec<PromptPart>>;

    /// Creates the parser of a reply to `rendered`, which may already begin a thinking block.
    fn reply_parser(&self, rendered: &str, source: ProcessorInput<'_>) -> Box<dyn ReplyParser>;

    /// Returns texts that end a reply and are not part of it, for models without an end token.
    fn stop_strings(&self) -> Vec<String>;

    /// Returns the grammar of a reply, after its thinking, with the tool calls that `choice` demands. It is `None` if
    /// it is unknown how the family's models write calls.
    ///
    /// The tools are those of the source's preface. With [`ToolChoice::Auto`] text is free up to the first call.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a tool whose call cannot be written.
    fn tool_grammar(
        &self,
        source: ProcessorInput<'_>,
        choice: &ToolChoice,
        parallel: ParallelCalls,
    ) -> Result<Option<Grammar>> {
        let _ = (source, choice, parallel);
        Ok(None)
    }

    /// Adds the header of an answer to its grammar, for families whose replies consist of messages with headers.
    fn answer_grammar(&self, grammar: Grammar) -> Grammar {
        grammar
    }

    /// Returns the texts that only tool calls have in a reply, such as `<tool_call>` and `</tool_call>`; by default there are none.
    ///
    /// Where no call is wanted, none of them is generated. A call that begins without a marker has none.
    fn call_texts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the channels of a reply; by default there are none.
    fn channels(&self) -> &[Channel] {
        &[]
    }

    /// Returns which of the arguments have no effect on `rendered`, and the control tokens that the injection policy
    /// allowed.
    fn warnings(&self, rendered: &str, source: ProcessorInput<'_>) -> Vec<Warning> {
        let _ = (rendered, source);
        Vec::new()
    }
}

// Every method is computed, also one that the trait gets later.
#[deny(clippy::missing_trait_methods)]
impl<T: DataProcessor + ?Sized> DataProcessor for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn template_input(&self, source: ProcessorInput<'_>) -> Result<TemplateInput> {
        (**self).template_input(source)
    }

    fn prompt_parts(&self, rendered: &str, source: ProcessorInput<'_>) -> Result<Vec<PromptPart>> {
        (**self).prompt_parts(rendered, source)
    }

    fn reply_parser(&self, rendered: &str, source: ProcessorInput<'_>) -> Box<dyn ReplyParser> {
        (**self).reply_parser(rendered, source)
    }

    fn stop_strings(&self) -> Vec<String> {
        (**self).stop_strings()
    }

    fn tool_grammar(
        &self,
        source: ProcessorInput<'_>,
        choice: &ToolChoice,
        parallel: ParallelCalls,
    ) -> Result<Option<Grammar>> {
        (**self).tool_grammar(source, choice, parallel)
    }

    fn answer_grammar(&self, grammar: Grammar) -> Grammar {
        (**self).answer_grammar(grammar)
    }

    fn call_texts(&self) -> Vec<String> {
        (**self).call_texts()
    }

    fn channels(&self) -> &[Channel] {
        (**self).channels()
    }

    fn warnings(&self, rendered: &str, source: ProcessorInput<'_>) -> Vec<Warning> {
        (**self).warnings(rendered, source)
    }
}

/// A named section of a reply between two markers, such as what the model thinks.
///
/// The markers are the texts that the model is trained to write. A template may print `start` itself; then the reply
/// begins inside the channel.
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
    /// Its name; every family that thinks has [`Channel::THINKING`]. Text in another channel becomes
    /// [`Content::Channel`].
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
///
/// ```
/// use alloquy_core::message::ToolCall;
/// use alloquy_core::processor::ToolCallDelta;
/// use alloquy_core::{Content, Delta};
/// use serde_json::json;
///
/// let call = ToolCall::new("call_1", "clock", json!({"zone": "UTC"}));
/// let piece = ToolCallDelta { id: call.id.clone(), name: call.name.clone(), text: "{\"zone\":".to_owned() };
/// let mut parts = Vec::new();
/// for delta in [
///     Delta::Text("One ".to_owned()),
///     Delta::Text("moment.".to_owned()),
///     Delta::Arguments(piece),
///     Delta::ToolCall(call.clone()),
/// ] {
///     delta.join_to(&mut parts);
/// }
/// assert_eq!(parts, [Content::Text("One moment.".to_owned()), Content::ToolCall(call)]);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// More text.
    Text(String),
    /// More thinking.
    Thinking(String),
    /// More text of another channel.
    Channel(ChannelText),
    /// More of the arguments of an unfinished call. [`Delta::ToolCall`] with the same id brings the whole call; if it
    /// turns out to be unreadable, [`Delta::Malformed`] brings its text.
    Arguments(ToolCallDelta),
    /// A whole tool call.
    ToolCall(ToolCall),
    /// Unreadable text.
    Malformed(Malformed),
}

impl Delta {
    /// Adds this piece to the parts of the pieces before it; a piece of arguments adds nothing.
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

/// A piece of a call's arguments, for programs that show a call while the model writes it.
///
/// The text is in the model's own notation, which is JSON in most families and may be tags or Python in others.
///
/// It arrives as a [`Delta`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolCallDelta {
    /// The id of the call; no other call of the conversation has it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The text since the last piece.
    pub text: String,
}

/// Parses one reply, piece by piece.
///
/// ```
/// use alloquy_core::processor::ReplyParser;
/// use alloquy_core::{Delta, Message};
///
/// /// Reads the whole reply as text.
/// #[derive(Debug, Default)]
/// struct PlainText(String);
///
/// impl ReplyParser for PlainText {
///     fn push(&mut self, text: &str) -> Vec<Delta> {
///         self.0 += text;
///         vec![Delta::Text(text.to_owned())]
///     }
///
///     fn finish(self: Box<Self>) -> (Vec<Delta>, Message) {
///         (Vec::new(), Message::assistant(self.0))
///     }
/// }
///
/// let mut parser = Box::new(PlainText::default());
/// assert_eq!(parser.push("Hello"), [Delta::Text("Hello".to_owned())]);
/// let (rest, message) = parser.finish();
/// assert!(rest.is_empty());
/// assert_eq!(message.text(), "Hello");
/// ```
///
/// # Contract
/// Parsing never fails: unreadable text becomes [`Delta::Malformed`]. However a reply is split into chunks, its joined
/// deltas and its message are the same. Nothing is dropped: text that was held back because it might become a marker is
/// returned by `finish` at the latest. The message consists of the other deltas; pieces of arguments are extra, and
/// those of one call join to the same text for any chunks too.
pub trait ReplyParser: Send {
    /// Receives more text and returns the deltas that are certain now.
    fn push(&mut self, text: &str) -> Vec<Delta>;

    /// Ends the reply. Returns the last deltas, and the message of all deltas.
    fn finish(self: Box<Self>) -> (Vec<Delta>, Message);
}
