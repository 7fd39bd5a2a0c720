//! Family: SmolLM3
//! Models: SmolLM3 3B
//! Replies: `<think>…</think>`, then text, then `<tool_call>{json}</tool_call>`, any number of them.
//!
//! Most templates read tools from the variable `xml_tools`. They print no calls, so old calls are written into the text as the
//! model writes them. Python between `<code>` tags, another notation of the templates, is text for this family.

use crate::built_in::{self, BuiltIn, is_one_of, thinking};
use crate::calls;
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "smollm3",
    detect: |model| is_one_of(model, &["SmolLM3ForCausalLM"], &["smollm3"]),
    spans: &[thinking("<think>", "</think>"), built_in::calls("<tool_call>", "</tool_call>", &calls::JSON)],
    shape: Some(|template, input| {
        if template.contains("xml_tools") && !template.contains("xml_tools = tools") {
            shape::tools_as_variable(input, "xml_tools");
        }
        if !template.is_empty() && !template.contains("tool_calls") {
            shape::calls_in_content(input, ["<tool_call>\n", "\n</tool_call>"], &calls::JSON);
        }
    }),
    ..BuiltIn::PLAIN
};
