//! Family: Qwen3.5
//! Models: Qwen3.5 and later, Qwen3-Next, Qwen3-Coder; every Qwen whose template shows calls as tags
//! Replies: `<think>…</think>`, then text, then `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`.
//! Media: `<|image_pad|>` for images, `<|video_pad|>` for videos.
//!
//! A value is text on lines of its own, and is read as the type that the tool's schema gives it. Qwen3-Coder sometimes omits the
//! outer tag; these calls are read too.

use std::borrow::Cow::{self, Borrowed};

use crate::built_in::{self, BuiltIn, is_one_of, prints, thinking};
use crate::calls::{CallSyntax, ValueKind, XmlCalls};
use crate::placeholders::{image, video};

pub(crate) static FAMILY: BuiltIn = BuiltIn {
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
        built_in::calls("<tool_call>", "</tool_call>", &INSIDE),
        built_in::calls("<function=", "</function>", &ALONE),
    ],
    placeholders: &[image("<|image_pad|>"), video("<|video_pad|>")],
    ..BuiltIn::PLAIN
};

static INSIDE: CallSyntax = tags(["<function=", ">", "</function>"]);
static ALONE: CallSyntax = tags(["", ">", ""]);

const fn tags([before, after_name, end]: [&'static str; 3]) -> CallSyntax {
    CallSyntax::Xml(XmlCalls {
        function: [Borrowed(before), Borrowed(after_name), Borrowed(end)],
        parameter: Borrowed("<parameter="),
        kinds: Borrowed(&KINDS),
        end: Borrowed("</parameter>"),
        together: false,
        lines: true,
    })
}

static KINDS: [(Cow<'static, str>, ValueKind); 1] = [(Borrowed(">"), ValueKind::Schema)];
