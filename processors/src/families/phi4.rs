//! Family: Phi-4
//! Models: Phi-4, Phi-4-mini and Phi-4-multimodal as far as text goes, Phi-4-reasoning
//! Replies: `<think>…</think>` in models that think, then text, then `<|tool_call|>[json]<|/tool_call|>` or
//!   `functools[json]`.
//!
//! Phi-4-mini's template takes tools as text in the field `tools` of the system message, and knows no calls: those of
//! the history are written into the text as the model writes them. That results are a turn of `tool_response` is taken
//! from the names of the added tokens; the template says nothing of them.

use crate::built_in::{self, BuiltIn, Span, is_one_of, prints, thinking};
use crate::calls;
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "phi4",
    detect: |model| {
        let multimodal = is_one_of(model, &["Phi4MMForCausalLM"], &["phi4mm", "phi4_multimodal"]);
        // Phi-4 calls itself Phi-3.
        let renamed = is_one_of(model, &["Phi3ForCausalLM"], &["phi3"]);
        multimodal || renamed && prints(model, &["<|tool|>", "<|tool_call|>", "<|im_sep|>", "functools["])
    },
    spans: &[
        thinking("<think>", "</think>"),
        built_in::calls("<|tool_call|>", "<|/tool_call|>", &calls::JSON_LIST),
        // The bracket is the list's own, and tells the marker from a word.
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
