//! Family: LFM2
//! Models: LFM2 and LFM2.5, their mixtures of experts, LFM2-VL
//! Replies: `<think>…</think>` in models that think, then text, then `<|tool_call_start|>[f(a=1)]<|tool_call_end|>`.
//! Media: `<image>` for images.
//!
//! Most templates print no calls, so old calls are written into the text as the model writes them. Templates look for old
//! thinking in the text and print only the last, so thinking is written into the text too.

use crate::built_in::{self, BuiltIn, is_one_of, thinking};
use crate::calls;
use crate::placeholders::image;
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "lfm2",
    detect: |model| {
        let architectures = ["Lfm2ForCausalLM", "Lfm2MoeForCausalLM", "Lfm2VlForConditionalGeneration"];
        is_one_of(model, &architectures, &["lfm2", "lfm2_moe", "lfm2_vl", "lfm2-vl"])
    },
    spans: &[
        thinking("<think>", "</think>"),
        built_in::calls("<|tool_call_start|>", "<|tool_call_end|>", &calls::PYTHON_LIST),
    ],
    shape: Some(|template, input| {
        if template.contains("</think>") && !template.contains("reasoning_content") {
            shape::thinking_in_content(input, ["<think>", "</think>"]);
        }
        if !template.is_empty() && !template.contains("tool_calls") {
            shape::calls_in_content(input, ["<|tool_call_start|>", "<|tool_call_end|>"], &calls::PYTHON_LIST);
        }
    }),
    placeholders: &[image("<image>")],
    ..BuiltIn::PLAIN
};
