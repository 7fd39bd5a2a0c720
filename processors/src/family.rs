//! Describes a model family as data.

use alloquy_core::Result;
use alloquy_core::arguments::InjectionPolicy;
use alloquy_core::processor::Channel;
use serde::{Deserialize, Serialize};

use crate::call_markers::{CallMarkers, invalid};
use crate::calls::CallSyntax;
use crate::placeholders::Placeholder;

/// A model family as data: how its replies mark thinking and tool calls, what ends them, and where media go in its prompts.
///
/// The families of this crate are [taken by name](Family::named). Any other family is built with [`Family::new`] or read from
/// JSON. Every field but the name may be absent; a family with nothing but a name has replies that are text. The chat
/// template is not part of the family.
///
/// ```
/// use alloquy_core::{Message, Preface, ToolSpec};
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_core::processor::ProcessorInput;
/// use alloquy_core::template::PromptEnd;
/// use alloquy_processors::{DataProcessorConfig, Family};
/// use serde_json::json;
///
/// let family = Family::from_json(
///     r#"{
///         "name": "ada",
///         "channels": [{"name": "thinking", "start": "<thought>", "end": "</thought>"}],
///         "calls": [{"start": "<call>", "end": "</call>", "syntax": {"json": {"arguments": "parameters"}}}],
///         "stops": ["[USER]"],
///         "placeholders": [{"kind": "image", "text": "<picture>"}]
///     }"#,
/// )?;
/// let processor = family.processor(&ModelInfo::default(), &DataProcessorConfig::default())?;
///
/// let preface = Preface::default().tool(ToolSpec::new("add", "Adds", json!({"type": "object"})));
/// let path = [Message::user("1 + 2?")];
/// let mut parser = processor.reply_parser("", ProcessorInput::new(&preface, &path, PromptEnd::Generation));
/// parser.push("<thought>Hm</thought><call>{\"name\": \"add\", \"parameters\": {\"a\": 1, \"b\": 2}}</call>");
/// let (_, message) = parser.finish();
/// assert_eq!(message.thinking().as_deref(), Some("Hm"));
/// assert_eq!(message.tool_calls().next().map(|call| &call.arguments), Some(&json!({"a": 1, "b": 2})));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Family {
    /// The name, such as `qwen3`.
    pub name: String,
    /// Marked sections of a reply, such as [thinking](Channel::THINKING). One channel may have several pairs of markers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<Channel>,
    /// The markers around tool calls, and how the calls are written. They are looked for only if tools are offered. A grammar of
    /// calls demands the first pair of markers, unless the model's template shows another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallMarkers>,
    /// Calls that may begin a reply without a marker: JSON, or lists as in Python. They count only if they call an offered tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmarked_calls: Vec<CallSyntax>,
    /// Texts that are removed from a reply, such as the head of a message in a reply of several messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<String>,
    /// The heads of messages, if a reply consists of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerHeads>,
    /// The family of this crate whose templates expect conversations in the same form; Hugging Face's form unless set. A form is
    /// code that looks at the model's template, and for example writes calls into texts or renames results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_input: Option<String>,
    /// The form of call ids.
    #[serde(default, skip_serializing_if = "CallIdForm::is_counted")]
    pub call_ids: CallIdForm,
    /// Further tags that the model itself writes. They stay control tokens in the text of its old replies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Added tokens that are ordinary text for this family, unless they begin or end a text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ordinary: Vec<String>,
    /// Texts that end a reply, for models without a token that does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<String>,
    /// The texts that templates print in the place of media. Of several texts for one kind, a template prints one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placeholders: Vec<Placeholder>,
    /// Which texts may become control tokens if the conversation has no policy of its own; none unless set. Each token that
    /// is let through is reported with the reply.
    #[serde(default, skip_serializing_if = "is_strict")]
    pub injection: InjectionPolicy,
}

/// The heads of the messages that a reply consists of, as in OpenAI's harmony format.
///
/// ```
/// use alloquy_processors::Family;
///
/// let family = Family::from_json(
///     r#"{
///         "name": "ada",
///         "answer": {"message": "<next>", "answers": ["<answer>"], "aside": "<note>", "end": "<end>"}
///     }"#,
/// )?;
/// assert_eq!(family.answer.map(|heads| heads.message).as_deref(), Some("<next>"));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AnswerHeads {
    /// The text that begins a message after another.
    pub message: String,
    /// The texts that may begin the answer after that.
    pub answers: Vec<String>,
    /// The text that begins a comment before calls.
    pub aside: String,
    /// The text that ends that comment.
    pub end: String,
}

/// The form of the ids that tool calls are given. A model that writes ids keeps its own.
///
/// ```
/// use alloquy_processors::{CallIdForm, Family};
///
/// let family = Family::from_json(r#"{"name": "ada", "call_ids": "nine_characters"}"#)?;
/// assert_eq!(family.call_ids, CallIdForm::NineCharacters);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallIdForm {
    /// `call_0`, `call_1`, and so on.
    #[default]
    Counted,
    /// Nine letters or digits, as Mistral's templates demand: `call00000`.
    NineCharacters,
}

impl CallIdForm {
    /// Makes the id of a call from a number.
    pub(crate) fn id(self, number: usize) -> String {
        match self {
            Self::Counted => format!("call_{number}"),
            Self::NineCharacters => format!("call{number:05}"),
        }
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_counted(&self) -> bool {
        *self == Self::Counted
    }
}

impl Family {
    /// Creates a family whose replies are text.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a channel.
    #[must_use]
    pub fn channel(mut self, channel: Channel) -> Self {
        self.channels.push(channel);
        self
    }

    /// Adds markers around tool calls.
    #[must_use]
    pub fn calls(mut self, markers: CallMarkers) -> Self {
        self.calls.push(markers);
        self
    }

    /// Adds a text that ends a reply.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stops.push(text.into());
        self
    }

    /// Adds a text that templates print in the place of media.
    #[must_use]
    pub fn placeholder(mut self, placeholder: Placeholder) -> Self {
        self.placeholders.push(placeholder);
        self
    }

    /// Checks the family.
    pub(crate) fn check(&self) -> Result<()> {
        if self.name.trim().is_empty() {
            return Err(invalid("a family needs a name, and \"name\" is empty"));
        }
        self.check_parts().map_err(|error| error.context(format!("family {:?}", self.name)))
    }

    fn check_parts(&self) -> Result<()> {
        self.check_channels()?;
        self.check_calls()?;
        self.check_starts()?;
        self.check_texts()
    }

    fn check_channels(&self) -> Result<()> {
        for Channel { name, start, end } in &self.channels {
            if name.is_empty() {
                return Err(invalid(format!("the channel between {start:?} and {end:?} has an empty name")));
            }
            present(start, &format!("the start of channel {name:?}"))?;
            present(end, &format!("the end of channel {name:?}"))?;
        }
        Ok(())
    }

    fn check_calls(&self) -> Result<()> {
        for markers in &self.calls {
            markers.check()?;
        }
        for syntax in &self.unmarked_calls {
            syntax.check().map_err(invalid)?;
            if !syntax.announces_itself() {
                let message = "\"unmarked_calls\" are JSON or lists as in Python, {\"python\": {\"list\": true}}: others are not \
                               recognised without a marker";
                return Err(invalid(message));
            }
        }
        Ok(())
    }

    /// Checks that no two channels or calls begin with the same text.
    fn check_starts(&self) -> Result<()> {
        let mut starts: Vec<(&str, String)> = Vec::new();
        for channel in &self.channels {
            starts.push((&channel.start, format!("channel {:?}", channel.name)));
        }
        for markers in &self.calls {
            starts.push((&markers.start, "tool calls".to_owned()));
        }
        for (index, (start, what)) in starts.iter().enumerate() {
            let mut others = starts.iter().take(index);
            if let Some((_, taken)) = others.find(|(other, _)| other == start) {
                return Err(invalid(format!("{start:?} begins both {taken} and {what}")));
            }
        }
        Ok(())
    }

    fn check_texts(&self) -> Result<()> {
        let lists = [
            ("silent", &self.silent),
            ("tags", &self.tags),
            ("ordinary", &self.ordinary),
            ("stops", &self.stops),
        ];
        for (field, texts) in lists {
            for text in texts {
                if text.is_empty() {
                    return Err(invalid(format!("{field:?} has an empty text")));
                }
            }
        }
        for placeholder in &self.placeholders {
            present(&placeholder.text, &format!("the place of {}", placeholder.kind))?;
        }
        let Some(AnswerHeads { message, answers, aside, end }) = &self.answer else { return Ok(()) };
        if answers.is_empty() {
            return Err(invalid("\"answer\" needs what begins the answer: \"answers\" is empty"));
        }
        for text in answers.iter().chain([message, aside, end]) {
            present(text, "a head in \"answer\"")?;
        }
        Ok(())
    }
}

fn present(text: &str, what: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(invalid(format!("{what}, {text:?}, is empty or white space")));
    }
    Ok(())
}

fn is_strict(policy: &InjectionPolicy) -> bool {
    policy.is_strict()
}
