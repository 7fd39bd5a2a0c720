//! What is peculiar to one model family, as data. Knows no model's files beyond what `detect` looks at.

use alloquy_core::{ModelInfo, TemplateInput};
use serde_json::Value;

use crate::calls::Syntax;
use crate::placeholders::Placeholder;

/// One model family. A family's file states what differs from [`Family::PLAIN`].
#[derive(Debug)]
pub(crate) struct Family {
    /// The name that people use, such as `qwen3`.
    pub(crate) name: &'static str,
    /// Says whether `model` is one of this family; at most one family may say so.
    pub(crate) detect: fn(&ModelInfo) -> bool,
    /// The marked stretches of a reply.
    pub(crate) spans: &'static [Span],
    /// Calls that may begin a reply without a marker, if they call a tool that is offered.
    pub(crate) unmarked: &'static [&'static Syntax],
    /// Texts of a reply that say how it goes on and are no part of it, such as the head of a message in a reply of
    /// several.
    pub(crate) silent: &'static [&'static str],
    /// What stands before an answer, where a reply is messages with heads.
    pub(crate) answer: Option<Announced>,
    /// Brings a conversation into the form that the family's templates expect, where that is not Hugging Face's. Is
    /// given the model's own template, whose source tells what it looks for.
    pub(crate) shape: fn(&str, &mut TemplateInput),
    /// Makes the id of a call from a number.
    pub(crate) call_id: fn(usize) -> String,
    /// Further tags that the model itself writes, and that its history therefore keeps as they are.
    pub(crate) tags: &'static [&'static str],
    /// Added tokens that are ordinary text for this family, unless they begin or end a text.
    pub(crate) ordinary: &'static [&'static str],
    /// Texts that end a reply, for models without a token for that.
    pub(crate) stops: &'static [&'static str],
    /// The texts that templates print where media go. Of several for one kind a template prints one.
    pub(crate) placeholders: &'static [Placeholder],
}

impl Family {
    /// A family that says nothing of itself: it claims no model, and its replies are text.
    pub(crate) const PLAIN: Family = Family {
        name: "",
        detect: |_| false,
        spans: &[],
        unmarked: &[],
        silent: &[],
        answer: None,
        shape: |_, _| {},
        call_id: |number| format!("call_{number}"),
        tags: &[],
        ordinary: &[],
        stops: &[],
        placeholders: &[],
    };
}

/// The heads of the messages that a reply consists of.
#[derive(Debug)]
pub(crate) struct Announced {
    /// What begins a message behind another.
    pub(crate) message: &'static str,
    /// What begins the answer then, one of these.
    pub(crate) answers: &'static [&'static str],
    /// What begins a text before calls, and what ends it.
    pub(crate) aside: &'static str,
    /// See `aside`.
    pub(crate) end: &'static str,
}

/// A stretch of a reply between two markers.
#[derive(Debug)]
pub(crate) struct Span {
    /// The text that begins it.
    pub(crate) open: &'static str,
    /// The text that ends it; empty where the calls themselves tell.
    pub(crate) close: &'static str,
    /// How many bytes at the end of `open` belong to what stands between.
    pub(crate) kept: usize,
    /// What stands between.
    pub(crate) holds: Holds,
}

/// What a [`Span`] holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holds {
    /// What the model thinks before it answers.
    Thinking,
    /// Tool calls; looked for only where tools are offered.
    Calls(&'static Syntax),
}

/// A span of thinking.
pub(crate) const fn thinking(open: &'static str, close: &'static str) -> Span {
    Span { open, close, kept: 0, holds: Holds::Thinking }
}

/// A span of tool calls.
pub(crate) const fn calls(open: &'static str, close: &'static str, syntax: &'static Syntax) -> Span {
    Span { open, close, kept: 0, holds: Holds::Calls(syntax) }
}

/// Says whether a model calls itself one of `architectures` or one of `model_types`.
pub(crate) fn is_one_of(model: &ModelInfo, architectures: &[&str], model_types: &[&str]) -> bool {
    let says =
        |field: &Option<String>, names: &[&str]| field.as_deref().is_some_and(|said| names.contains(&said));
    says(&model.architecture, architectures) || says(&model.model_type, model_types)
}

/// Returns the model's chat template, or nothing if it has none.
pub(crate) fn chat_template(model: &ModelInfo) -> String {
    if let Some(file) = model.files.get("chat_template.jinja") {
        return file.clone();
    }
    // A damaged file says nothing here; whoever needs it reports it.
    let template = |file: &str| {
        model.json(file).ok().flatten()?.get("chat_template").filter(|text| !text.is_null()).cloned()
    };
    match template("tokenizer_config.json").or_else(|| template("chat_template.json")) {
        Some(Value::String(text)) => text,
        // Several by name: what one of them prints, the model reads.
        Some(Value::Array(named)) => {
            named.iter().filter_map(|one| one.get("template")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Says whether the model's chat template contains one of `texts`; of a model without a template, whether one of them is
/// a control token. Models that were tuned from others keep tokens which they do not write.
pub(crate) fn prints(model: &ModelInfo, texts: &[&str]) -> bool {
    let template = chat_template(model);
    let is_special = |text: &str| model.specials.iter().any(|special| special.text == text);
    texts.iter().any(|text| if template.is_empty() { is_special(text) } else { template.contains(text) })
}
