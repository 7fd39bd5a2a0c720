//! Family: MiniCPM
//! Models: MiniCPM, MiniCPM3, MiniCPM4, MiniCPM5
//! Replies: of MiniCPM3, `<|thought_start|>…<|thought_end|>`, calls in Python between `<|tool_call_start|>` and
//!   `<|tool_call_end|>`, then text. Of MiniCPM5, `<think>…</think>`, then text, then
//!   `<function name="f"><param name="p">value</param></function>`.
//!
//! MiniCPM3's template reads thinking from the field `thought`.

use std::borrow::Cow::{self, Borrowed};

use crate::built_in::{self, BuiltIn, is_one_of, prints, thinking};
use crate::calls::{self, CallSyntax, ValueKind, XmlCalls};
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "minicpm",
    detect: |model| {
        let architectures = ["MiniCPMForCausalLM", "MiniCPM3ForCausalLM", "MiniCPM5ForCausalLM"];
        is_one_of(model, &architectures, &["minicpm", "minicpm3", "minicpm4", "minicpm5"])
            || prints(model, &["<function name=\""]) && !prints(model, &["<｜Assistant｜>"])
    },
    spans: &[
        thinking("<think>", "</think>"),
        thinking("<|thought_start|>", "<|thought_end|>"),
        built_in::calls("<|tool_call_start|>", "<|tool_call_end|>", &calls::PYTHON_LINES),
        built_in::calls("<function name=\"", "</function>", &TAGS),
    ],
    shape: Some(|template, input| {
        if template.contains("message.thought") {
            shape::rename_field(input, "reasoning_content", "thought");
        }
    }),
    ..BuiltIn::PLAIN
};

static TAGS: CallSyntax = CallSyntax::Xml(XmlCalls {
    function: [Borrowed(""), Borrowed("\">"), Borrowed("")],
    parameter: Borrowed("<param name=\""),
    kinds: Borrowed(&KINDS),
    end: Borrowed("</param>"),
    together: false,
    lines: false,
});

static KINDS: [(Cow<'static, str>, ValueKind); 1] = [(Borrowed("\">"), ValueKind::Schema)];
