//! Family: Gemma 3
//! Models: Gemma 3 1B to 27B, text alone or with pictures
//! Replies: text; `<end_of_turn>` ends them, and is a token.

use crate::family::{Family, is_one_of};

pub(crate) static FAMILY: Family = Family {
    name: "gemma3",
    detect: |model| {
        let architectures = ["Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"];
        is_one_of(model, &architectures, &["gemma3", "gemma3_text"])
    },
    ordinary: HTML,
    ..Family::PLAIN
};

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
