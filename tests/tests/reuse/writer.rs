//! What the people and the model of a chat say. Knows how a family writes a reply from what its template prints of one.

use alloquy_core::message::ToolCall;
use alloquy_core::processor::{Channel, DataProcessor, ProcessorInput};
use alloquy_core::template::{PromptEnd, PromptTemplate};
use alloquy_core::{Content, Message, Preface, Role, Tool, ToolSpec};
use serde_json::{Value, json};

use crate::draws::Draws;
use crate::setting::Setting;

const WORDS: [&str; 16] = [
    "the",
    "tide",
    "comes",
    "in",
    "twice",
    "a",
    "day,",
    "naïve",
    "12.5",
    "日本",
    "and",
    "then",
    "it",
    "goes;",
    "(out)",
    "\"again\"",
];

/// What a reply is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Text,
    Thought,
    Call,
}

pub(crate) fn sentence(draws: &mut Draws, words: usize) -> String {
    let words: Vec<_> = (0..words.max(1)).map(|_| draws.pick(&WORDS)).collect();
    words.join(if draws.chance(5) { "  " } else { " " })
}

/// Answers with whatever it was asked.
#[derive(Debug)]
pub(crate) struct Weather;

#[async_trait::async_trait]
impl Tool for Weather {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Where"}},
            "required": ["city"],
        });
        ToolSpec::new("weather", "Says what the weather is", parameters)
    }

    async fn call(&self, arguments: &Value) -> alloquy_core::Result<Value> {
        Ok(format!("Fair in {}", arguments["city"].as_str().unwrap_or("the city")).into())
    }
}

/// Writes replies as the template prints them behind a question.
#[derive(Debug)]
pub(crate) struct Writer {
    preface: Preface,
    opening: String,
    /// What the template prints behind an answer.
    tail: String,
    channel: Option<Channel>,
    pub(crate) calls: bool,
}

impl Writer {
    pub(crate) fn new(setting: &Setting, preface: &Preface) -> Self {
        let known = setting.template.capabilities();
        let calls = known.tools && known.tool_calls && known.tool_results;
        let preface = if calls { preface.clone().tool(Weather.spec()) } else { preface.clone() };
        let channel = setting.processor.channels().iter().find(|channel| channel.name == Channel::THINKING);
        let mut writer =
            Self { preface, opening: String::new(), tail: String::new(), channel: channel.cloned(), calls };
        writer.opening = writer.printed(setting, None).unwrap_or_default();
        let answer = writer.printed(setting, Some(Message::assistant("QZX"))).unwrap_or_default();
        writer.tail = answer.rsplit_once("QZX").map(|(_, tail)| tail.to_owned()).unwrap_or_default();
        writer
    }

    fn printed(&self, setting: &Setting, reply: Option<Message>) -> Option<String> {
        let ending = if reply.is_some() { PromptEnd::Closed } else { PromptEnd::Generation };
        let path: Vec<_> = std::iter::once(Message::user("Well?")).chain(reply).collect();
        let input =
            setting.processor.template_input(ProcessorInput::new(&self.preface, &path, ending)).ok()?;
        setting.template.render(&input).ok()
    }

    /// A reply to a prompt that ends as `rendered` does.
    pub(crate) fn reply(&self, setting: &Setting, plan: Plan, rendered: &str, draws: &mut Draws) -> String {
        let length = 3 + draws.below(12);
        let answer = sentence(draws, length);
        let message = self.message(plan, &answer, draws);
        let thinks = message.thinking().is_some();
        let written = self.printed(setting, Some(message)).and_then(|whole| self.suffix(&whole));
        let text = match written {
            Some(written) => written,
            None => self.by_hand(thinks, &answer, rendered),
        };
        varied(text, draws)
    }

    fn message(&self, plan: Plan, answer: &str, draws: &mut Draws) -> Message {
        let thinks = self.channel.is_some() && (plan == Plan::Thought || draws.chance(60));
        let thought = thinks.then(|| Content::Thinking(sentence(draws, 8)));
        let said = match plan {
            Plan::Call if self.calls => {
                let city = sentence(draws, 2);
                Content::ToolCall(ToolCall::new("call00001", "weather", json!({"city": city})))
            }
            _ => Content::Text(answer.to_owned()),
        };
        Message::new(Role::Assistant, thought.into_iter().chain([said]).collect())
    }

    fn suffix(&self, whole: &str) -> Option<String> {
        let written = whole.strip_prefix(self.opening.as_str()).filter(|_| !self.opening.is_empty())?;
        Some(written.strip_suffix(self.tail.as_str()).unwrap_or(written).to_owned())
    }

    /// For templates that print an answer otherwise than they announce it.
    fn by_hand(&self, thinks: bool, answer: &str, rendered: &str) -> String {
        let Some(channel) = &self.channel else { return answer.to_owned() };
        let is_open = rendered.trim_end().ends_with(channel.start.trim_end());
        match (is_open, thinks) {
            (true, _) => format!("It is so.\n{}\n\n{answer}", channel.end),
            (false, true) => format!("{}\nIt is so.\n{}\n\n{answer}", channel.start, channel.end),
            (false, false) => answer.to_owned(),
        }
    }
}

/// At times as no template would print it: with blanks around it, or none in its JSON.
fn varied(text: String, draws: &mut Draws) -> String {
    match draws.below(12) {
        0 => format!(" {text}"),
        1 => format!("{text}\n"),
        2 => format!("\n\n{text}"),
        3 => text.replace("\": ", "\":"),
        _ => text,
    }
}
