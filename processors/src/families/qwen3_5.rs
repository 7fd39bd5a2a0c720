//! Family: Qwen3.5
//! Models: Qwen3.5 and later, Qwen3-Next, Qwen3-Coder; every Qwen whose template shows calls as tags
//! Replies: `<think>…</think>`, then text, then `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`.
//! Media: `<|image_pad|>` for pictures, `<|video_pad|>` for films.
//!
//! A value is text on lines of its own; what else it may be says the schema of the tool. Qwen3-Coder at times leaves
//! the outer tag out, which is read too.

use crate::calls::{Syntax, ValueKind, XmlCalls};
use crate::family::{self, Family, is_one_of, prints, thinking};
use crate::placeholders::{image, video};

pub(crate) static FAMILY: Family = Family {
    name: "qwen3_5",
    detect: |model| {
        let own = ["qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text", "qwen3_next"];
        let architectures = [
            "Qwen3_5ForCausalLM",
            "Qwen3_5ForConditionalGeneration",
            "Qwen3_5MoeForCausalLM",
            "Qwen3_5MoeForConditionalGeneration",
            "Qwen3NextForCausalLM",
        ];
        let older = ["qwen2", "qwen3", "qwen3_moe", "qwen2_moe"];
        let shown_as_tags = is_one_of(model, &["Qwen3MoeForCausalLM", "Qwen3ForCausalLM"], &older)
            && prints(model, &["<function="]);
        is_one_of(model, &architectures, &own) || shown_as_tags
    },
    spans: &[
        thinking("<think>", "</think>"),
        family::calls("<tool_call>", "</tool_call>", &INSIDE),
        family::calls("<function=", "</function>", &ALONE),
    ],
    placeholders: &[image("<|image_pad|>"), video("<|video_pad|>")],
    ..Family::PLAIN
};

static INSIDE: Syntax = tags(["<function=", ">", "</function>"]);
static ALONE: Syntax = tags(["", ">", ""]);

const fn tags(function: [&'static str; 3]) -> Syntax {
    Syntax::Xml(XmlCalls {
        function,
        parameter: "<parameter=",
        kinds: &[(">", ValueKind::Schema)],
        end: "</parameter>",
        together: false,
        lines: true,
    })
}
