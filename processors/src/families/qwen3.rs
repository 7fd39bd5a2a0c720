//! Family: Qwen3
//! Models: Qwen3 and its mixtures of experts, Qwen3-Instruct-2507, Qwen3-Thinking-2507, QwQ; Qwen3-VL
//! Replies: `<think>…</think>`, then text, then `<tool_call>{json}</tool_call>`, any number of them.
//! Media: `<|image_pad|>` for images, `<|video_pad|>` for videos.

use crate::built_in::{self, BuiltIn, is_one_of, prints, thinking};
use crate::calls;
use crate::placeholders::{image, video};

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "qwen3",
    detect: |model| {
        let architectures = [
            "Qwen3ForCausalLM",
            "Qwen3MoeForCausalLM",
            "Qwen3VLForConditionalGeneration",
            "Qwen3VLMoeForConditionalGeneration",
        ];
        let types = ["qwen3", "qwen3_moe", "qwen3_vl", "qwen3_vl_moe", "qwen3vl"];
        let qwen3 = is_one_of(model, &architectures, &types);
        // QwQ is a Qwen2 that thinks. Qwen3-Coder writes calls as Qwen3.5 does, and DeepSeek's distillations as DeepSeek.
        let thinks = is_one_of(model, &["Qwen2ForCausalLM"], &["qwen2"]) && prints(model, &["<think>"]);
        (qwen3 || thinks) && !prints(model, &["<function=", "<｜Assistant｜>"])
    },
    spans: &[thinking("<think>", "</think>"), built_in::calls("<tool_call>", "</tool_call>", &calls::JSON)],
    placeholders: &[image("<|image_pad|>"), video("<|video_pad|>")],
    ..BuiltIn::PLAIN
};
