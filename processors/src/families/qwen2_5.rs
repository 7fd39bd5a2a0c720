//! Family: Qwen2.5
//! Models: Qwen2, Qwen2.5 and Qwen2.5-Coder, instructed; Qwen2.5-VL as far as text goes
//! Replies: text, then `<tool_call>{json}</tool_call>`, any number of them.

use crate::calls;
use crate::family::{self, Family, is_one_of, prints};

pub(crate) static FAMILY: Family = Family {
    name: "qwen2_5",
    detect: |model| {
        let architectures = ["Qwen2ForCausalLM", "Qwen2MoeForCausalLM", "Qwen2_5_VLForConditionalGeneration"];
        let is_qwen = is_one_of(model, &architectures, &["qwen2", "qwen2_moe", "qwen2_5_vl"]);
        is_qwen && !prints(model, &["<think>", "<function=", "<｜Assistant｜>"])
    },
    spans: &[family::calls("<tool_call>", "</tool_call>", &calls::JSON)],
    ..Family::PLAIN
};
