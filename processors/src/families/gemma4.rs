//! Family: Gemma 4
//! Models: Gemma 4
//! Replies: `<|channel>thought…<channel|>`, then text, then `<|tool_call>call:name{key:<|"|>value<|"|>}<tool_call|>`,
//!   any number of them.
//! Media: `<|image|>` for images, `<|audio|>` for audio, `<|video|>` for videos.
//!
//! Google's template prints the fields of a result that is an object only if the result follows its call. One of LiteRT's
//! templates expects results as lists of a name and a response. Another prints tools without changes, and expects tools,
//! arguments and results as text in the model's own notation.

use crate::built_in::{self, BuiltIn, is_one_of, thinking};
use crate::calls::{CallSyntax, GemmaCalls, GemmaQuote};
use crate::placeholders::{audio, image, video};
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "gemma4",
    detect: |model| {
        let architectures = ["Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"];
        is_one_of(model, &architectures, &["gemma4", "gemma4_text"])
    },
    spans: &[
        thinking("<|channel>thought", "<channel|>"),
        built_in::calls("<|tool_call>", "<tool_call|>", &CALLS),
    ],
    shape: Some(|template, input| {
        if template.contains("tool_responses") {
            shape::results_with_calls(input);
        } else if template.contains("item['response']") {
            shape::results_as_items(input);
        } else if template.contains("tool | trim") {
            shape::gemma_notation(input, &NOTATION);
        }
    }),
    placeholders: &[image("<|image|>"), audio("<|audio|>"), video("<|video|>")],
    ..BuiltIn::PLAIN
};

static CALLS: CallSyntax = CallSyntax::Gemma(NOTATION);
const NOTATION: GemmaCalls = GemmaCalls { quote: GemmaQuote::Bar };
