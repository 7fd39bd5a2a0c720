//! Family: Llama 3
//! Models: Llama 3, 3.1, 3.2, 3.3 and 4
//! Replies: text, or calls and nothing else: `{"name": …, "parameters": …}` as it is or behind `<|python_tag|>`, or
//!   `[f(a=1), g()]`.
//!
//! No marker announces most calls, so a reply that begins like one is held until its name tells whether that is a tool
//! that was offered. Behind the tag may also stand a built-in tool, `name.call(…)`. Templates of 3.1 take one call a
//! message and refuse more: an answer with several becomes several, each with its result.

use crate::built_in::{self, BuiltIn, is_one_of, prints};
use crate::calls;
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "llama3",
    detect: |model| {
        let architectures = [
            "LlamaForCausalLM",
            "MllamaForConditionalGeneration",
            "Llama4ForConditionalGeneration",
            "Llama4ForCausalLM",
        ];
        let is_llama = is_one_of(model, &architectures, &["llama", "mllama", "llama4", "llama4_text"]);
        is_llama && prints(model, &["<|start_header_id|>", "<|header_start|>"])
    },
    spans: &[
        built_in::calls("<|python_tag|>", "", &calls::CallSyntax::Llama),
        built_in::calls("<|python_start|>", "<|python_end|>", &calls::PYTHON_LIST),
    ],
    unmarked: &[&calls::JSON_PARAMETERS, &calls::PYTHON_LIST],
    shape: Some(|template, input| {
        if template.contains("single tool-calls at once") {
            shape::one_call_a_message(input);
        }
    }),
    ..BuiltIn::PLAIN
};
