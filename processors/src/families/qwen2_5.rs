//! Family: Qwen2.5
//! Models: the instructed models of Qwen2, Qwen2.5 and Qwen2.5-Coder; Qwen2-VL and Qwen2.5-VL, Qwen2-Audio, Qwen2.5-Omni, FastVLM
//! Replies: text, then `<tool_call>{json}</tool_call>`, any number of them.
//! Media: `<|image_pad|>` for images and `<|video_pad|>` for videos of the VL models, `<|AUDIO|>` for audio of Qwen2-Audio.
//!   Omni writes `<|IMAGE|>`, `<|VIDEO|>` and `<|AUDIO|>`. FastVLM writes `<image>` for images.

use crate::built_in::{self, BuiltIn, is_one_of, prints};
use crate::calls;
use crate::placeholders::{Place, audio, image, video};

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "qwen2_5",
    detect: |model| {
        let is_qwen = is_one_of(model, &ARCHITECTURES, &TYPES);
        is_qwen && !prints(model, &["<think>", "<function=", "<｜Assistant｜>"])
    },
    spans: &[built_in::calls("<tool_call>", "</tool_call>", &calls::JSON)],
    placeholders: PLACEHOLDERS,
    ..BuiltIn::PLAIN
};

const ARCHITECTURES: [&str; 9] = [
    "Qwen2ForCausalLM",
    "Qwen2MoeForCausalLM",
    "Qwen2VLForConditionalGeneration",
    "Qwen2_5_VLForConditionalGeneration",
    "Qwen2AudioForConditionalGeneration",
    "Qwen2_5OmniModel",
    "Qwen2_5OmniForConditionalGeneration",
    "LlavaQwen2ForCausalLM",
    "FastVlmForConditionalGeneration",
];

#[rustfmt::skip]
const TYPES: [&str; 8] = [
    "qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen2_audio", "qwen2_5_omni", "llava_qwen2", "fast_vlm",
];

const PLACEHOLDERS: &[Place] = &[
    image("<|image_pad|>"),
    image("<|IMAGE|>"),
    image("<image>"),
    audio("<|AUDIO|>"),
    video("<|video_pad|>"),
    video("<|VIDEO|>"),
];
