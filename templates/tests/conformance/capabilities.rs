//! What each template can do, compared with what the same probes found with Jinja2 itself.

use std::path::Path;

use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_templates::{Capabilities, JinjaTemplate, SystemRole};
use serde_json::{Value, json};

use crate::cases;
use crate::report::Report;

pub(crate) fn run(folder: &Path, report: &mut Report) {
    let (Some(index), Some(golden)) = (cases::json(folder, "index.json"), cases::json(folder, "caps.json"))
    else {
        return;
    };
    for entry in index["templates"].as_array().unwrap() {
        let slug = entry["slug"].as_str().unwrap();
        let Some(expected) = golden["templates"].get(slug) else { continue };
        let compared = match cases::template(folder, entry).build() {
            Ok(template) => compare(&template, expected, entry["bos_token"].is_string()),
            Err(error) => Err(error.to_string()),
        };
        report.count("capabilities", slug, compared);
    }
}

fn compare(template: &JinjaTemplate, expected: &Value, knows_bos: bool) -> Result<(), String> {
    let found = as_json(template.capabilities(), knows_bos);
    let differing =
        expected.as_object().unwrap().iter().filter(|(name, value)| found[name.as_str()] != **value);
    // The switches of thinking are found, or a switch that works would be reported as ignored.
    let input = TemplateInput::default();
    let unread = template.capabilities().thinking_switch.iter().find(|name| !template.reads(&input, name));
    if let Some(name) = unread {
        return Err(format!("{name} switches thinking, but is said not to be read"));
    }
    let differing: Vec<_> = differing
        .map(|(name, value)| format!("{name} is {} and not {value}", found[name.as_str()]))
        .collect();
    if differing.is_empty() { Ok(()) } else { Err(differing.join("; ")) }
}

/// In the form of the cases; BOS of models that name none was a stand-in, which does not count.
fn as_json(found: &Capabilities, knows_bos: bool) -> Value {
    let system = match found.system {
        SystemRole::Printed => "yes",
        SystemRole::Refused => "error",
        _ => "dropped",
    };
    let object = if found.arguments.object { "object" } else { "" };
    let string = if found.arguments.string { "|string" } else { "" };
    json!({
        "string_content": found.string_content,
        "list_content": found.list_content,
        "system": system,
        "generation_prompt": found.generation_prompt,
        "generation_prompt_suffix": found.generation_prompt_suffix,
        "tools": found.tools,
        "tool_calls": found.tool_calls,
        "tool_results": found.tool_results,
        "arguments": format!("{object}{string}"),
        "parallel_tool_calls": found.parallel_tool_calls,
        "missing_content_ok": found.missing_content_ok,
        "tool_call_id": found.tool_call_id,
        "reasoning_last": found.reasoning_last,
        "reasoning_history": found.reasoning_history,
        "thinking_switch": found.thinking_switch,
        "strip_think_from_history": found.strip_think_from_history,
        "writes_bos": found.writes_bos.filter(|_| knows_bos),
        "documents": found.documents,
        "developer_role": found.developer_role,
    })
}
