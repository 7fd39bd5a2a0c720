//! Family: Gemma 3
//! Models: Gemma 3 1B to 27B and Gemma 3n
//! Replies: text, with calls in Python: a fence of Markdown named `tool_code`, or `[f(a=1)]` and nothing else.
//! Media: `<start_of_image>` or `<image_soft_token>` for pictures, `<start_of_audio>` or `<audio_soft_token>` for sounds.
//!
//! Google's models were taught no one form of calls; the fence is what Google's own guides and templates show, the list
//! what vLLM's template asks for. The templates that come with the models tell of no tools. LiteRT's, which know the
//! fence, take tools, arguments and results as Python.

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

/// A template prints the token that begins media, or the one that stands for them: LiteRT's runtime takes either, and so
/// both at once.
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

/// Gemma's vocabulary has tokens of their own for the commonest HTML tags, listed among the added tokens of its
/// `tokenizer.json`. They are how the model reads HTML, and control nothing.
#[rustfmt::skip]
const HTML: &[&str] = &[
    "<table>", "<caption>", "<thead>", "<tbody>", "<tfoot>", "<tr>", "<th>", "<td>",
    "</table>", "</caption>", "</thead>", "</tbody>", "</tfoot>", "</tr>", "</th>", "</td>",
    "<h1>", "<h2>", "<h3>", "<h4>", "<h5>", "<h6>", "<blockquote>",
    "</h1>", "</h2>", "</h3>", "</h4>", "</h5>", "</h6>", "</blockquote>",
    "<strong>", "<em>", "<b>", "<i>", "<u>", "<s>", "<sub>", "<sup>", "<code>",
    "</strong>", "</em>", "</b>", "</i>", "</u>", "</s>", "</sub>", "</sup>", "</code>",
];
