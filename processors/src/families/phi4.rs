//! Family: Phi-4
//! Models: Phi-4, Phi-4-mini, Phi-4-reasoning, and Phi-4-multimodal without media
//! Replies: `<think>…</think>` in models that think, then text, then `<|tool_call|>[json]<|/tool_call|>` or
//!   `functools[json]`.
//!
//! Phi-4-mini's template expects tools as text in the field `tools` of the system message. It prints no calls, so old calls are
//! written into the text as the model writes them. It does not mention results. They are turns of `tool_response`, after the
//! name of an added token.

use crate::built_in::{self, BuiltIn, Span, is_one_of, prints, thinking};
use crate::calls;
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "phi4",
    detect: |model| {
        let multimodal = is_one_of(model, &["Phi4MMForCausalLM"], &["phi4mm", "phi4_multimodal"]);
        // The architecture of Phi-4 is that of Phi-3.
        let renamed = is_one_of(model, &["Phi3ForCausalLM"], &["phi3"]);
        multimodal || renamed && prints(model, &["<|tool|>", "<|tool_call|>", "<|im_sep|>", "functools["])
    },
    spans: &[
        thinking("<think>", "</think>"),
        built_in::calls("<|tool_call|>", "<|/tool_call|>", &calls::JSON_LIST),
        // The bracket belongs to the list, and distinguishes the marker from a word.
        Span { kept: "[".len(), ..built_in::calls("functools[", "", &calls::JSON_LIST) },
    ],
    shape: Some(|template, input| {
        if template.contains("message['tools']") {
            shape::tools_in_system(input);
        }
        if template.contains("tool_calls") {
            shape::arguments_as_text(input);
        } else if !template.is_empty() {
            shape::calls_in_content(input, ["<|tool_call|>", "<|/tool_call|>"], &calls::JSON_LIST);
            shape::results_as(input, "tool_response");
        }
    }),
    ..BuiltIn::PLAIN
};
