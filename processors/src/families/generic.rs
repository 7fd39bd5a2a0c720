//! Family: generic, for models that no other family claims
//! Models: any model whose replies are plain text
//! Replies: text.
//! Media: the placeholders of all families.

use crate::built_in::BuiltIn;
use crate::placeholders::{Place, audio, image, video};

pub(crate) static FAMILY: BuiltIn =
    BuiltIn { name: "generic", tags: TAGS, placeholders: PLACEHOLDERS, ..BuiltIn::PLAIN };

/// Tags that models of many families write. Replies are not cut at them, but templates look for them in a model's old replies,
/// to remove its thinking.
const TAGS: &[&str] = &[
    "<think>",
    "</think>",
    "<thinking>",
    "</thinking>",
    "[THINK]",
    "[/THINK]",
    "<thought>",
    "</thought>",
    "<think_on>",
    "<think_off>",
    "<mm:think>",
    "</mm:think>",
    "<|channel>",
    "<channel|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<tool_sep>",
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
];

/// The texts that the templates of all families print, and those of models tuned from them.
const PLACEHOLDERS: &[Place] = &[
    image("<image>"),
    image("<start_of_image>"),
    image("<image_soft_token>"),
    image("<|image|>"),
    image("<|image_pad|>"),
    image("<|IMAGE|>"),
    audio("<start_of_audio>"),
    audio("<audio_soft_token>"),
    audio("<|audio|>"),
    audio("<|AUDIO|>"),
    video("<|video|>"),
    video("<|video_pad|>"),
    video("<|VIDEO|>"),
];
