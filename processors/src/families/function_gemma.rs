//! Family: FunctionGemma
//! Models: FunctionGemma 270M, and models tuned from it
//! Replies: text, or `<start_function_call>call:name{key:<escape>value<escape>}<end_function_call>`, any number of them.
//!
//! Hugging Face's template expects results as objects of a name and a response. LiteRT's template expects tools, arguments and
//! results as text in the model's own notation.

use crate::built_in::{self, BuiltIn, is_one_of, prints};
use crate::calls::{CallSyntax, GemmaCalls, GemmaQuote};
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "function_gemma",
    detect: |model| is_gemma(model) && prints(model, &["<start_function_call>"]),
    spans: &[built_in::calls("<start_function_call>", "<end_function_call>", &CALLS)],
    shape: Some(|template, input| {
        if template.contains("message['content']['response']") {
            shape::results_with_names(input);
        } else if template.contains("tool | trim") {
            shape::gemma_notation(input, &NOTATION);
        }
    }),
    ..BuiltIn::PLAIN
};

static CALLS: CallSyntax = CallSyntax::Gemma(NOTATION);
const NOTATION: GemmaCalls = GemmaCalls { quote: GemmaQuote::Escape };

fn is_gemma(model: &alloquy_core::model_info::ModelInfo) -> bool {
    is_one_of(model, &["Gemma3ForCausalLM"], &["gemma3_text", "function_gemma"])
}
