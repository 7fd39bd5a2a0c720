//! Models, conversations and templates of our own for the tests. Knows nothing of the crate's inside.

use std::sync::Arc;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart};
use alloquy_core::template::{PromptEnd, TemplateInput};
use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{Message, Preface, ToolSpec};
use serde_json::{Value, json};

/// The control tokens of the test models.
pub(crate) fn specials(family: &str) -> Vec<SpecialToken> {
    let texts: &[&str] = match family {
        "gemma3" => &["<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>"],
        "vicuna" => &["<unk>", "<s>", "</s>"],
        "gemma4" => {
            &["<bos>", "<turn|>", "<|turn>", "<|image>", "<|image|>", "<image|>", "<|audio|>", "<|video|>"]
        }
        _ => &[
            "<|im_start|>",
            "<|im_end|>",
            "<|endoftext|>",
            "<think>",
            "</think>",
            "<tool_call>",
            "</tool_call>",
            "<tool_response>",
            "</tool_response>",
        ],
    };
    (1..).zip(texts).map(|(id, text)| SpecialToken { text: (*text).to_owned(), id }).collect()
}

pub(crate) fn model(family: &str) -> ModelInfo {
    let mut model = ModelInfo::default();
    model.specials = specials(family);
    model
}

pub(crate) fn processor(family: &str) -> Arc<dyn DataProcessor> {
    alloquy_processors::named(family, &model(family)).unwrap()
}

/// A conversation that a fixture describes.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) preface: Preface,
    pub(crate) path: Vec<Message>,
    pub(crate) ending: PromptEnd,
}

impl Conversation {
    pub(crate) fn of(fixture: &Value) -> Self {
        let field = |name: &str, absent: Value| fixture.get(name).cloned().unwrap_or(absent);
        Self {
            preface: serde_json::from_value(field("preface", json!({}))).unwrap(),
            path: serde_json::from_value(field("path", json!([]))).unwrap(),
            ending: match field("ending", json!("answer")).as_str() {
                Some("answer") => PromptEnd::Generation,
                Some("closed") => PromptEnd::Closed,
                Some("continue") => PromptEnd::Continuation,
                other => panic!("unknown ending {other:?}"),
            },
        }
    }

    pub(crate) fn source(&self) -> ProcessorInput<'_> {
        ProcessorInput::new(&self.preface, &self.path, self.ending)
    }
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec::new(name, "A tool", json!({"type": "object", "properties": {}}))
}

/// Renders as a plain template of the family would, with the control tokens that the family has.
pub(crate) fn render(family: &str, input: &TemplateInput) -> String {
    let mut prompt: String = match family {
        "gemma3" => "<bos>".to_owned(),
        "vicuna" => "<s>".to_owned(),
        _ => input.tools.iter().flatten().map(|tool| format!("{tool}\n")).collect(),
    };
    for message in &input.messages {
        prompt += &match family {
            "gemma3" => format!(
                "<start_of_turn>{}\n{}<end_of_turn>\n",
                message["role"].as_str().unwrap(),
                text(family, message).trim()
            ),
            "vicuna" => {
                format!(
                    "{}: {} ",
                    message["role"].as_str().unwrap().to_uppercase(),
                    text(family, message).trim()
                )
            }
            _ => chatml(family, message),
        };
    }
    let answer = match family {
        "gemma3" => "<start_of_turn>model\n",
        "vicuna" => "ASSISTANT:",
        _ => "<|im_start|>assistant\n",
    };
    prompt + if input.ending == PromptEnd::Generation { answer } else { "" }
}

fn chatml(family: &str, message: &Value) -> String {
    let thought = message.get("reasoning_content").and_then(Value::as_str);
    let thought = thought.map(|thought| format!("<think>\n{thought}\n</think>\n\n")).unwrap_or_default();
    let calls: String =
        message.get("tool_calls").and_then(Value::as_array).into_iter().flatten().map(call).collect();
    let (role, content) = match message["role"].as_str().unwrap() {
        "tool" => ("user", format!("<tool_response>\n{}\n</tool_response>", text(family, message))),
        role => (role, text(family, message)),
    };
    format!("<|im_start|>{role}\n{thought}{content}{calls}<|im_end|>\n")
}

fn call(call: &Value) -> String {
    let function = &call["function"];
    format!(
        "\n<tool_call>\n{{\"name\": {}, \"arguments\": {}}}\n</tool_call>",
        function["name"], function["arguments"]
    )
}

/// The text of a message; of a list of parts, the texts, and for media what templates of the family print.
fn text(family: &str, message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| printed(family, part)).collect(),
        other => panic!("content {other}"),
    }
}

fn printed(family: &str, part: &Value) -> String {
    let place = match (family, part["type"].as_str().unwrap()) {
        (_, "text") => part["text"].as_str().unwrap(),
        ("gemma3", "image") => "<start_of_image>",
        ("gemma3", "audio") => "<audio_soft_token>",
        ("gemma4", "image") => "<|image|>",
        ("gemma4", "audio") => "<|audio|>",
        ("gemma4", "video") => "<|video|>",
        ("qwen2_5", "audio") => "<|audio_bos|><|AUDIO|><|audio_eos|>",
        ("qwen2_5" | "qwen3" | "qwen3_5", "image") => "<|vision_start|><|image_pad|><|vision_end|>",
        ("qwen2_5" | "qwen3" | "qwen3_5", "video") => "<|vision_start|><|video_pad|><|vision_end|>",
        ("lfm2" | "vicuna" | "generic", "image") => "<image>",
        (_, kind) => return format!("[{kind}]"),
    };
    place.to_owned()
}

pub(crate) fn text_of(parts: &[PromptPart]) -> String {
    let text = |part: &PromptPart| match part {
        PromptPart::Text(text) | PromptPart::Literal(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    parts.iter().map(text).collect()
}
