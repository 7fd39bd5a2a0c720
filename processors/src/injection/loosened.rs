//! What a policy that somebody loosened lets through, and what came through. Knows no template.

use std::collections::BTreeMap;

use alloquy_core::{Degradation, InjectionPolicy, PromptPart, Result, TemplateInput, TextSource};
use serde_json::Value;

use super::literal::Literals;

/// Marks every text of `input` in which a control token must stay text, and only those.
///
/// # Errors
/// Those of [`Literals::protect`].
pub(crate) fn protect(
    literals: &Literals,
    policy: &InjectionPolicy,
    input: &mut TemplateInput,
) -> Result<()> {
    let unmarked = policy.sources().next().map(|_| input.clone());
    among(literals, policy, |literals| literals.protect(input))?;
    unmarked.into_iter().for_each(|unmarked| restore(input, unmarked, policy));
    Ok(())
}

/// Undoes [`protect`] in what was rendered from `input`, which is given as it was before.
///
/// # Errors
/// Those of [`Literals::cut`].
pub(crate) fn cut(
    literals: &Literals,
    policy: &InjectionPolicy,
    rendered: &str,
    input: &mut TemplateInput,
) -> Result<Vec<PromptPart>> {
    among(literals, policy, |literals| literals.cut(rendered, input))
}

/// Works with the control tokens that are not let through whoever writes them. A set of others is made only where
/// there are such, for large vocabularies have thousands.
fn among<T>(literals: &Literals, policy: &InjectionPolicy, work: impl FnOnce(&Literals) -> T) -> T {
    match policy.tokens().next() {
        None => work(literals),
        Some(_) => work(&literals.without(policy)),
    }
}

/// Returns the control tokens that texts of `input` spell and that the policy lets through. What a template makes a
/// control token of without it being spelled is not among them.
pub(crate) fn let_through(
    literals: &Literals,
    policy: &InjectionPolicy,
    input: &TemplateInput,
) -> Vec<Degradation> {
    let mut found = BTreeMap::<(TextSource, &str), usize>::new();
    each_text(input, &mut |place, text| {
        for token in literals.spelled_in(text).filter(|token| policy.lets(place.source, token)) {
            if !(place.is_said_by_model && literals.is_spoken(token)) {
                *found.entry((place.source, token)).or_default() += 1;
            }
        }
    });
    let told = |((source, token), times): ((TextSource, &str), usize)| Degradation::ControlTokenLetThrough {
        token: token.to_owned(),
        source,
        times,
    };
    found.into_iter().map(told).collect()
}

/// Takes the marks out of what comes from trusted sources.
fn restore(input: &mut TemplateInput, unmarked: TemplateInput, policy: &InjectionPolicy) {
    for (message, unmarked) in input.messages.iter_mut().zip(unmarked.messages) {
        if source_of(&unmarked).is_some_and(|source| policy.trusts(source)) {
            *message = unmarked;
        }
    }
    if policy.trusts(TextSource::ToolSpecs) {
        input.tools = unmarked.tools;
    }
    if policy.trusts(TextSource::Variables) {
        (input.documents, input.extra) = (unmarked.documents, unmarked.extra);
    }
}

/// Who says a message.
fn source_of(message: &Value) -> Option<TextSource> {
    let role = message.get("role")?.as_str()?;
    let sources = [TextSource::System, TextSource::User, TextSource::Assistant, TextSource::Tool];
    sources.into_iter().find(|source| source.as_str() == role)
}

/// Where a text stands.
#[derive(Clone, Copy)]
struct Place {
    source: TextSource,
    /// It is the content of a reply, in which the model's own tags are no matter of policy.
    is_said_by_model: bool,
}

type Visit<'v, 'i> = dyn FnMut(Place, &'i str) + 'v;

/// Visits every text that a template may print, and keys, which templates print too.
fn each_text<'i>(input: &'i TemplateInput, visit: &mut Visit<'_, 'i>) {
    for message in &input.messages {
        // A role that is none of ours is trusted by nobody, but what it writes is told of.
        let source = source_of(message).unwrap_or(TextSource::User);
        let fields = message.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(name, _)| *name != "role") {
            let is_said_by_model = source == TextSource::Assistant && name == "content";
            visit(Place { source, is_said_by_model: false }, name);
            each_text_of(value, Place { source, is_said_by_model }, visit);
        }
    }
    let place = |source| Place { source, is_said_by_model: false };
    for tool in input.tools.iter().flatten() {
        each_text_of(tool, place(TextSource::ToolSpecs), visit);
    }
    // A host that sets `bos_token` and the like means the token.
    let extra = input.extra.iter().filter(|(name, _)| !name.ends_with("_token")).map(|(_, value)| value);
    for value in input.documents.iter().flatten().chain(extra) {
        each_text_of(value, place(TextSource::Variables), visit);
    }
}

fn each_text_of<'i>(value: &'i Value, place: Place, visit: &mut Visit<'_, 'i>) {
    match value {
        Value::String(text) => visit(place, text),
        Value::Array(values) => values.iter().for_each(|value| each_text_of(value, place, visit)),
        Value::Object(fields) => {
            for (name, value) in fields {
                visit(place, name);
                each_text_of(value, place, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
