//! Family: Qwen3
//! Models: Qwen3, Qwen3-Instruct-2507, Qwen3-Thinking-2507
//! Replies: `<think>…</think>`, then text, then `<tool_call>{json}</tool_call>`, any number of them.

use crate::calls;
use crate::family::{self, Family, is_one_of, thinking};

pub(crate) static FAMILY: Family = Family {
    name: "qwen3",
    detect: |model| is_one_of(model, &["Qwen3ForCausalLM"], &["qwen3"]),
    spans: &[thinking("<think>", "</think>"), family::calls("<tool_call>", "</tool_call>", &calls::JSON)],
    ..Family::PLAIN
};
