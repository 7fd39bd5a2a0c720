//! Family: generic, for models that no other family claims
//! Models: any whose replies may be read as plain text
//! Replies: text.

use crate::family::Family;

pub(crate) static FAMILY: Family = Family { name: "generic", tags: TAGS, ..Family::PLAIN };

/// Tags that models of many families write. Replies are not cut at them, but templates look for them in a
/// model's old replies, to drop what it thought.
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
