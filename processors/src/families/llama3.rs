//! Family: Llama 3
//! Models: Llama 3, 3.1, 3.2, 3.3 and 4
//! Replies: text, or calls and nothing else: `{"name": …, "parameters": …}`, with or without `<|python_tag|>` before it, or
//!   `[f(a=1), g()]`.
//!
//! Most calls have no marker. A reply that begins like a call is held until its name shows whether it is an offered tool. A
//! built-in tool, `name.call(…)`, may also follow the tag. The templates of 3.1 refuse messages with several calls, so each call
//! becomes a message of its own, followed by its result.

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
