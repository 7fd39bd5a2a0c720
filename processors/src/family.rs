//! What is peculiar to one model family, as data. Knows no model's files beyond what `detect` looks at.

use alloquy_core::ModelInfo;

use crate::calls::CallSyntax;

/// One model family. A family's file states what differs from [`Family::PLAIN`].
#[derive(Debug)]
pub(crate) struct Family {
    /// The name that people use, such as `qwen3`.
    pub(crate) name: &'static str,
    /// Says whether `model` is one of this family; at most one family may say so.
    pub(crate) detect: fn(&ModelInfo) -> bool,
    /// The marked stretches of a reply.
    pub(crate) spans: &'static [Span],
    /// Further tags that the model itself writes, and that its history therefore keeps as they are.
    pub(crate) tags: &'static [&'static str],
    /// Added tokens that are ordinary text for this family, unless they begin or end a text.
    pub(crate) ordinary: &'static [&'static str],
    /// Texts that end a reply, for models without a token for that.
    pub(crate) stops: &'static [&'static str],
}

impl Family {
    /// A family that says nothing of itself: it claims no model, and its replies are text.
    pub(crate) const PLAIN: Family =
        Family { name: "", detect: |_| false, spans: &[], tags: &[], ordinary: &[], stops: &[] };
}

/// A stretch of a reply between two markers.
#[derive(Debug)]
pub(crate) struct Span {
    /// The text that begins it.
    pub(crate) open: &'static str,
    /// The text that ends it.
    pub(crate) close: &'static str,
    /// What stands between.
    pub(crate) holds: Holds,
}

/// What a [`Span`] holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Holds {
    /// What the model thinks before it answers.
    Thinking,
    /// Tool calls; looked for only where tools are offered.
    Calls(&'static CallSyntax),
}

/// A span of thinking.
pub(crate) const fn thinking(open: &'static str, close: &'static str) -> Span {
    Span { open, close, holds: Holds::Thinking }
}

/// A span of tool calls.
pub(crate) const fn calls(open: &'static str, close: &'static str, syntax: &'static CallSyntax) -> Span {
    Span { open, close, holds: Holds::Calls(syntax) }
}

/// Says whether a model calls itself one of `architectures` or one of `model_types`.
pub(crate) fn is_one_of(model: &ModelInfo, architectures: &[&str], model_types: &[&str]) -> bool {
    let says =
        |field: &Option<String>, names: &[&str]| field.as_deref().is_some_and(|said| names.contains(&said));
    says(&model.architecture, architectures) || says(&model.model_type, model_types)
}
