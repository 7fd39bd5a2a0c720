//! Family: DeepSeek
//! Models: DeepSeek V3, V3.1, V3.2 and R1, and what R1 was distilled to
//! Replies: `<think>…</think>`, then text, then `<｜tool▁calls▁begin｜>…<｜tool▁calls▁end｜>` with any number of calls; of
//!   V3.2 `<｜DSML｜function_calls>…</｜DSML｜function_calls>`, with tags.
//!
//! The templates of R1 put the arguments of old calls between texts, and so take them as text.

use crate::calls::{Syntax, ValueKind, XmlCalls};
use crate::family::{self, Family, is_one_of, prints, thinking};
use crate::shape;

pub(crate) static FAMILY: Family = Family {
    name: "deepseek",
    detect: |model| {
        let architectures = ["DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM"];
        is_one_of(model, &architectures, &["deepseek_v3", "deepseek_v32"])
            || prints(model, &["<｜Assistant｜>"])
    },
    spans: &[
        thinking("<think>", "</think>"),
        family::calls("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", &Syntax::DeepSeek),
        family::calls("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", &DSML),
    ],
    shape: |template, input| {
        let joined = template.contains("['arguments'] + '");
        if joined && !template.contains("arguments is not string") {
            shape::arguments_as_text(input);
        }
    },
    ..Family::PLAIN
};

static DSML: Syntax = Syntax::Xml(XmlCalls {
    function: ["<｜DSML｜invoke name=\"", "\">", "</｜DSML｜invoke>"],
    parameter: "<｜DSML｜parameter name=\"",
    kinds: &[
        ("\" string=\"true\">", ValueKind::Text),
        ("\" string=\"false\">", ValueKind::Json),
        ("\">", ValueKind::Schema),
    ],
    end: "</｜DSML｜parameter>",
    together: true,
    lines: false,
});
