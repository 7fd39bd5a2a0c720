//! Family: gpt-oss
//! Models: gpt-oss 20B and 120B
//! Replies: messages in OpenAI's harmony format: `<|channel|>analysis<|message|>…<|end|>` is thinking,
//!   `<|channel|>final<|message|>…` is text, and a message to `functions.name` is a call.
//!
//! A comment before a call (`<|channel|>commentary<|message|>`) is text. Templates read thinking from the field `thinking`, and
//! print the first call of a message. Of a message with text and thinking before a call, they print neither.

use crate::built_in::{self, Announced, BuiltIn, is_one_of, thinking};
use crate::calls::CallSyntax;
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "gpt_oss",
    detect: |model| is_one_of(model, &["GptOssForCausalLM"], &["gpt_oss"]),
    spans: &[
        thinking("<|channel|>analysis<|message|>", "<|end|>"),
        built_in::calls("<|channel|>commentary to=", "<|call|>", &CallSyntax::Harmony),
        built_in::calls("<|channel|>analysis to=", "<|call|>", &CallSyntax::Harmony),
        built_in::calls("<|start|>assistant to=", "<|call|>", &CallSyntax::Harmony),
        built_in::calls(" to=functions.", "<|call|>", &CallSyntax::Harmony),
    ],
    silent: &[
        "<|start|>assistant",
        "<|channel|>final<|message|>",
        "<|channel|>final <|constrain|>json<|message|>",
        "<|channel|>commentary<|message|>",
        "<|end|>",
        "<|return|>",
    ],
    answer: Some(Announced {
        message: "<|start|>assistant",
        answers: &["<|channel|>final<|message|>", "<|channel|>final <|constrain|>json<|message|>"],
        aside: "<|channel|>commentary<|message|>",
        end: "<|end|>",
    }),
    shape: Some(|template, input| {
        shape::one_call_a_message(input);
        if template.contains("message.thinking") {
            shape::rename_field(input, "reasoning_content", "thinking");
        }
        if template.contains("Cannot pass both content and thinking") {
            shape::text_before_calls_alone(input);
        }
    }),
    ..BuiltIn::PLAIN
};
