//! Family: MiniCPM
//! Models: MiniCPM, MiniCPM3, MiniCPM4, MiniCPM5
//! Replies: of MiniCPM3 `<|thought_start|>…<|thought_end|>`, calls in Python between `<|tool_call_start|>` and
//!   `<|tool_call_end|>`, then text; of MiniCPM5 `<think>…</think>`, then text, then
//!   `<function name="f"><param name="p">value</param></function>`.
//!
//! MiniCPM3's template takes thoughts under `thought`.

use crate::calls::{self, Syntax, ValueKind, XmlCalls};
use crate::family::{self, Family, is_one_of, prints, thinking};
use crate::shape;

pub(crate) static FAMILY: Family = Family {
    name: "minicpm",
    detect: |model| {
        let architectures = ["MiniCPMForCausalLM", "MiniCPM3ForCausalLM", "MiniCPM5ForCausalLM"];
        is_one_of(model, &architectures, &["minicpm", "minicpm3", "minicpm4", "minicpm5"])
            || prints(model, &["<function name=\""]) && !prints(model, &["<｜Assistant｜>"])
    },
    spans: &[
        thinking("<think>", "</think>"),
        thinking("<|thought_start|>", "<|thought_end|>"),
        family::calls("<|tool_call_start|>", "<|tool_call_end|>", &calls::PYTHON_LINES),
        family::calls("<function name=\"", "</function>", &TAGS),
    ],
    shape: |template, input| {
        if template.contains("message.thought") {
            shape::rename_field(input, "reasoning_content", "thought");
        }
    },
    ..Family::PLAIN
};

static TAGS: Syntax = Syntax::Xml(XmlCalls {
    function: ["", "\">", ""],
    parameter: "<param name=\"",
    kinds: &[("\">", ValueKind::Schema)],
    end: "</param>",
    together: false,
    lines: false,
});
