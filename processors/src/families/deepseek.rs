//! Family: DeepSeek
//! Models: DeepSeek V3, V3.1, V3.2 and R1, and the models distilled from R1
//! Replies: `<think>…</think>`, then text, then `<｜tool▁calls▁begin｜>…<｜tool▁calls▁end｜>` with any number of calls.
//!   V3.2 writes `<｜DSML｜function_calls>…</｜DSML｜function_calls>`, with tags.
//!
//! The templates of R1 expect the arguments of old calls as text.

use std::borrow::Cow::{self, Borrowed};

use crate::built_in::{self, BuiltIn, is_one_of, prints, thinking};
use crate::calls::{CallSyntax, ValueKind, XmlCalls};
use crate::shape;

pub(crate) static FAMILY: BuiltIn = BuiltIn {
    name: "deepseek",
    detect: |model| {
        let architectures = ["DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM"];
        is_one_of(model, &architectures, &["deepseek_v3", "deepseek_v32"])
            || prints(model, &["<｜Assistant｜>"])
    },
    spans: &[
        thinking("<think>", "</think>"),
        built_in::calls("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", &CallSyntax::DeepSeek),
        built_in::calls("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", &DSML),
    ],
    shape: Some(|template, input| {
        let joined = template.contains("['arguments'] + '");
        if joined && !template.contains("arguments is not string") {
            shape::arguments_as_text(input);
        }
    }),
    ..BuiltIn::PLAIN
};

static DSML: CallSyntax = CallSyntax::Xml(XmlCalls {
    function: [Borrowed("<｜DSML｜invoke name=\""), Borrowed("\">"), Borrowed("</｜DSML｜invoke>")],
    parameter: Borrowed("<｜DSML｜parameter name=\""),
    kinds: Borrowed(&KINDS),
    end: Borrowed("</｜DSML｜parameter>"),
    together: true,
    lines: false,
});

static KINDS: [(Cow<'static, str>, ValueKind); 3] = [
    (Borrowed("\" string=\"true\">"), ValueKind::Text),
    (Borrowed("\" string=\"false\">"), ValueKind::Json),
    (Borrowed("\">"), ValueKind::Schema),
];
