//! What templates that take tools otherwise than Hugging Face's are given.

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::processor::ProcessorInput;
use alloquy_core::template::PromptEnd;
use alloquy_core::{Content, Message, Preface, Role, ToolSpec};
use serde_json::json;

/// A family, and what its template says that tells how it takes tools.
const SHAPES: [(&str, &str, &str); 6] = [
    ("texts", "gemma4", "{{- tool | trim }}"),
    ("items", "gemma4", "{%- if item['response'] is mapping -%}"),
    ("beside_calls", "gemma4", "{%- for response in message['tool_responses'] -%}"),
    ("texts", "function_gemma", "{{- tool | trim }}"),
    ("names", "function_gemma", "{{ message['content']['response'] }}"),
    ("python", "gemma3", "```tool_code"),
];

fn weather() -> ToolSpec {
    let properties =
        json!({"city": {"type": "string", "description": "Where?"}, "days": {"type": "integer"}});
    let schema = json!({"type": "object", "properties": properties, "required": ["city"]});
    ToolSpec::new("weather", "How it is.", schema)
}

fn path() -> Vec<Message> {
    let call = |id: &str, city: &str| {
        Content::ToolCall(ToolCall::new(id, "weather", json!({"city": city, "days": 2})))
    };
    let result =
        |id: &str, content: serde_json::Value| Content::ToolResult(ToolResult::new(id, "weather", content));
    vec![
        Message::user("How is it?"),
        Message::new(Role::Assistant, vec![call("call_0", "Zürich 🌧"), call("call_1", "Oslo")]),
        Message::new(Role::Tool, vec![result("call_0", json!({"rain": true, "mm": [1, 2.5]}))]),
        Message::new(Role::Tool, vec![result("call_1", json!("no \"signal\""))]),
    ]
}

#[test]
fn templates_get_tools_as_they_take_them() {
    let preface = Preface::default().tool(weather());
    let path = path();
    for (shape, family, template) in SHAPES {
        let mut model = ModelInfo::default();
        model.files.insert("chat_template.jinja".to_owned(), template.to_owned());
        let processor = alloquy_processors::named(family, &model).unwrap();
        let input =
            processor.template_input(ProcessorInput::new(&preface, &path, PromptEnd::Generation)).unwrap();
        let lines = input.tools.iter().flatten().chain(&input.messages);
        let drawing: String = lines.map(|line| format!("{line}\n")).collect();
        insta::assert_snapshot!(format!("{family}_{shape}"), drawing);
    }
}
