//! Renders small conversations, and returns the text that the template prints around their messages.

use serde_json::{Value, json};

use alloquy_core::message::Role;
use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};

/// The texts of the messages: letters that no template gives a meaning.
const SAID: [&str; 7] =
    ["Zqalphazq", "Zqbravozq", "Zqcharliezq", "Zqdeltazq", "Zqechozq", "Zqfoxtrotzq", "Zqgolfzq"];
/// The text of a call's argument.
const ARGUMENT: &str = "Zqhotelzq";
const TOOL: &str = "zqindiazq";
/// Nine letters and digits, which some templates demand.
const CALL: &str = "call12345";

/// Text that a template prints between two messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seam {
    /// The speaker before; `None` at the start of a prompt.
    pub(super) from: Option<Speaker>,
    /// The next speaker; `None` at the end.
    pub(super) to: Option<Speaker>,
    pub(super) text: String,
}

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
    /// The assistant when it calls a tool: its message ends differently.
    Caller,
    Tool,
}

impl Speaker {
    fn role(self) -> Role {
        match self {
            Self::System => Role::System,
            Self::User => Role::User,
            Self::Assistant | Self::Caller => Role::Assistant,
            Self::Tool => Role::Tool,
        }
    }
}

/// How many of the conversations are short: a template takes one of them, or none.
const SHORT: usize = 4;

/// The speakers of conversations that most templates accept, the shorter first.
const CONVERSATIONS: [&[Speaker]; 9] = {
    use Speaker::{Assistant, Caller, System, Tool, User};
    [
        &[User],
        &[User, Assistant],
        &[System, User],
        &[User, Assistant, User],
        &[User, Assistant, User, Assistant, User],
        &[System, User, Assistant, User, Assistant],
        &[User, Assistant, System, User],
        &[User, Caller],
        &[User, Caller, Tool, Assistant, User],
    ]
};

/// Returns what a template prints before, between and after messages.
pub(super) fn seams(template: &dyn PromptTemplate) -> Vec<Seam> {
    let mut seams = Vec::new();
    for (index, speakers) in CONVERSATIONS.into_iter().enumerate() {
        // A template that refuses all short conversations refuses the long ones too, perhaps after much work.
        if index >= SHORT && seams.is_empty() {
            break;
        }
        for has_tools in [false, true] {
            for ending in [PromptEnd::Closed, PromptEnd::Generation] {
                let input = conversation(speakers, has_tools, ending);
                let Ok(rendered) = template.probe(&input) else { continue };
                seams.extend(around(speakers, ending, &rendered).unwrap_or_default());
            }
        }
    }
    seams.sort();
    seams.dedup();
    seams
}

fn conversation(speakers: &[Speaker], has_tools: bool, ending: PromptEnd) -> TemplateInput {
    let said = SAID.iter().zip(speakers);
    let parameters =
        json!({"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]});
    let function = json!({"name": TOOL, "description": "Looks up", "parameters": parameters});
    let tool = json!({"type": "function", "function": function});
    TemplateInput {
        messages: said.map(|(said, speaker)| message(*speaker, said)).collect(),
        tools: has_tools.then(|| vec![tool]),
        ending,
        ..TemplateInput::default()
    }
}

fn message(speaker: Speaker, said: &str) -> Value {
    let mut message = json!({"role": speaker.role().as_str(), "content": said});
    let function = json!({"name": TOOL, "arguments": {"key": ARGUMENT}});
    let Some(fields) = message.as_object_mut() else { return message };
    if speaker == Speaker::Caller {
        let call = json!({"id": CALL, "type": "function", "function": function});
        fields.insert("tool_calls".to_owned(), json!([call]));
    }
    if speaker == Speaker::Tool {
        fields.insert("tool_call_id".to_owned(), CALL.into());
        fields.insert("name".to_owned(), TOOL.into());
    }
    message
}

/// Returns the text around the messages; `None` where the template does not print each of them once and in their order.
fn around(speakers: &[Speaker], ending: PromptEnd, rendered: &str) -> Option<Vec<Seam>> {
    let mut seams = Vec::new();
    let mut from = None;
    let mut rest = rendered;
    for (said, speaker) in SAID.iter().zip(speakers) {
        // Some templates omit the text of a message with a call.
        let is_left_out = *speaker == Speaker::Caller && !rest.contains(said);
        if !is_left_out {
            let (before, after) = rest.split_once(said)?;
            if after.contains(said) {
                return None;
            }
            seams.push(Seam { from, to: Some(*speaker), text: before.to_owned() });
            rest = after;
        }
        if *speaker == Speaker::Caller {
            rest = rest.split_once(ARGUMENT).map_or(rest, |(_, after)| after);
        }
        from = Some(*speaker);
    }
    let to = (ending == PromptEnd::Generation).then_some(Speaker::Assistant);
    seams.push(Seam { from, to, text: rest.to_owned() });
    Some(seams)
}
