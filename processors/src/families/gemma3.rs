//! Family: Gemma 3
//! Models: Gemma 3 1B to 27B and Gemma 3n
//! Replies: text, with calls in Python: a fence of Markdown named `tool_code`, or `[f(a=1)]` and nothing else.
//! Media: `<start_of_image>` or `<image_soft_token>` for images, `<start_of_audio>` or `<audio_soft_token>` for audio.
//!
//! Google's models were not trained on one form of calls. Google's guides and templates show the fence, and vLLM's template
//! requests the list. The models' own templates print no tools. LiteRT's templates, which print the fence, expect tools,
//! arguments and results as Python.

use crate::built_in::{self, BuiltIn, is_one_of, prints};
use crate::calls;
use crate::placeholders::{Place, audio, image};
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "gemma3",
    detect: |model| {
        let architectures = [
            "Gemma3ForCausalLM",
            "Gemma3ForConditionalGeneration",
            "Gemma3nForCausalLM",
            "Gemma3nForConditionalGeneration",
        ];
        let types = ["gemma3", "gemma3_text", "gemma3n", "gemma3n_text"];
        is_one_of(model, &architectures, &types) && !prints(model, &["<start_function_call>"])
    },
    spans: &[built_in::calls("```tool_code\n", "```", &calls::PYTHON_LINES)],
    unmarked: &[&calls::PYTHON_LIST],
    shape: Some(|template, input| {
        if template.contains("```tool_code") {
            shape::python(input);
        }
    }),
    ordinary: HTML,
    placeholders: PLACEHOLDERS,
    ..BuiltIn::PLAIN
};

/// A template prints the token that begins media, the token in their place, or both. LiteRT's runtime accepts all of these.
const PLACEHOLDERS: &[Place] = &[
    image("<start_of_image>"),
    image("<image_soft_token>"),
    image("<start_of_image><image_soft_token>"),
    image("<start_of_image><image_soft_token><end_of_image>"),
    audio("<start_of_audio>"),
    audio("<audio_soft_token>"),
    audio("<start_of_audio><audio_soft_token>"),
    audio("<start_of_audio><audio_soft_token><end_of_audio>"),
];

/// The added tokens of Gemma's `tokenizer.json` for common HTML tags. With them the model reads HTML; they control nothing.
#[rustfmt::skip]
const HTML: &[&str] = &[
    "<table>", "<caption>", "<thead>", "<tbody>", "<tfoot>", "<tr>", "<th>", "<td>",
    "</table>", "</caption>", "</thead>", "</tbody>", "</tfoot>", "</tr>", "</th>", "</td>",
    "<h1>", "<h2>", "<h3>", "<h4>", "<h5>", "<h6>", "<blockquote>",
    "</h1>", "</h2>", "</h3>", "</h4>", "</h5>", "</h6>", "</blockquote>",
    "<strong>", "<em>", "<b>", "<i>", "<u>", "<s>", "<sub>", "<sup>", "<code>",
    "</strong>", "</em>", "</b>", "</i>", "</u>", "</s>", "</sub>", "</sup>", "</code>",
];
