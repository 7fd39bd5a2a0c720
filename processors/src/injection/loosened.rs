//! What a policy that somebody loosened lets through, and what came through. Knows no template.

use std::collections::BTreeMap;

use alloquy_core::Result;
use alloquy_core::arguments::{InjectionPolicy, TextSource};
use alloquy_core::processor::PromptPart;
use alloquy_core::report::Degradation;
use alloquy_core::template::TemplateInput;
use serde_json::Value;

use super::literal::Literals;
use super::mark::Mark;
use super::quotes::{self, MessageQuotes, Quote, Quotes};
use super::quoting::writers;

/// Marks every text of `input` in which a control token must stay text, and only those.
///
/// # Errors
/// Those of [`Literals::protect`].
pub(crate) fn protect(
    literals: &Literals,
    policy: &InjectionPolicy,
    input: &mut TemplateInput,
    quotes: &Quotes,
) -> Result<()> {
    let trusts_some = policy.sources().next().is_some();
    let unmarked = (trusts_some || !quotes.is_empty()).then(|| input.clone());
    among(literals, policy, |literals| {
        let mark = literals.protect(input, quotes)?;
        if let Some((unmarked, mark)) = unmarked.zip(mark) {
            restore(literals, policy, input, unmarked, quotes, &mark);
        }
        Ok(())
    })
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
    quotes: &Quotes,
) -> Result<Vec<PromptPart>> {
    among(literals, policy, |literals| literals.cut(rendered, input, quotes))
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
    quotes: &Quotes,
) -> Vec<Degradation> {
    let mut found = BTreeMap::<(TextSource, &str), usize>::new();
    each_text(input, quotes, &mut |place, text| {
        for (start, token) in literals.spelled_in(text) {
            let writers = writers(Some(place.source), &(start..start + token.len()), place.quotes);
            let is_models = place.is_said_by_model && writers == [Some(place.source)];
            let is_let = writers.iter().all(|writer| writer.is_some_and(|source| policy.lets(source, token)));
            if !is_let || (is_models && literals.is_spoken(token)) {
                continue;
            }
            // Where several wrote it, it is counted for the first quote in it.
            if let Some(Some(source)) = writers.first() {
                *found.entry((*source, token)).or_default() += 1;
            }
        }
    });
    let mut warnings = Vec::new();
    for ((source, token), times) in found {
        warnings.push(Degradation::ControlTokenLetThrough { token: token.to_owned(), source, times });
    }
    warnings
}

/// Takes the marks out of what comes from trusted sources, and puts those in that quotes in a reply need.
fn restore(
    literals: &Literals,
    policy: &InjectionPolicy,
    input: &mut TemplateInput,
    unmarked: TemplateInput,
    quotes: &Quotes,
    mark: &Mark,
) {
    for (index, (message, unmarked)) in input.messages.iter_mut().zip(unmarked.messages).enumerate() {
        let author = quotes::author_of(&unmarked);
        let is_trusted = author.is_some_and(|source| policy.trusts(source));
        match quotes.of_message(index) {
            None if is_trusted => *message = unmarked,
            None => {}
            Some(quotes) => {
                let mut texts = Vec::new();
                let mut original = unmarked;
                quotes::each_text_mut(&mut original, |index, text| {
                    let starts = literals.untrusted_starts(author, text, quotes.of_text(index), policy);
                    texts.push(mark.put(text, &starts));
                });
                if is_trusted && quotes.is_trusted_beside(policy) {
                    *message = original;
                }
                let mut texts = texts.into_iter();
                quotes::each_text_mut(message, |_, text| {
                    if let Some(marked) = texts.next() {
                        *text = marked;
                    }
                });
            }
        }
    }
    if policy.trusts(TextSource::ToolSpecs) {
        input.tools = unmarked.tools;
    }
    if policy.trusts(TextSource::Variables) {
        input.documents = unmarked.documents;
        input.extra = unmarked.extra;
    }
}

/// Where a text is.
#[derive(Clone, Copy)]
struct Place<'q> {
    source: TextSource,
    /// It is the content of a reply, in which the model's own tags are no matter of policy.
    is_said_by_model: bool,
    /// What others wrote of it.
    quotes: &'q [Quote],
}

type Visit<'v, 'i> = dyn FnMut(Place<'_>, &'i str) + 'v;

/// Visits every text that a template may print, and keys, which templates print too.
fn each_text<'i>(input: &'i TemplateInput, quotes: &Quotes, visit: &mut Visit<'_, 'i>) {
    for (index, message) in input.messages.iter().enumerate() {
        // A role that is none of ours is trusted by nobody, but what it writes is reported.
        let source = quotes::author_of(message).unwrap_or(TextSource::User);
        let quotes = quotes.of_message(index);
        let fields = message.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(name, _)| *name != "role") {
            let is_said_by_model = source == TextSource::Assistant && name == "content";
            visit(Place { source, is_said_by_model: false, quotes: &[] }, name);
            let place = Place { source, is_said_by_model, quotes: &[] };
            match quotes {
                Some(quotes) if name == "content" => each_text_of_content(value, place, quotes, visit),
                _ => each_text_of(value, place, visit),
            }
        }
    }
    let place = |source| Place { source, is_said_by_model: false, quotes: &[] };
    for tool in input.tools.iter().flatten() {
        each_text_of(tool, place(TextSource::ToolSpecs), visit);
    }
    // A host that sets `bos_token` and the like means the token.
    let extra = input.extra.iter().filter(|(name, _)| !name.ends_with("_token")).map(|(_, value)| value);
    for value in input.documents.iter().flatten().chain(extra) {
        each_text_of(value, place(TextSource::Variables), visit);
    }
}

/// Visits the texts of a content that quotes others.
fn each_text_of_content<'i>(
    content: &'i Value,
    place: Place<'_>,
    quotes: &MessageQuotes,
    visit: &mut Visit<'_, 'i>,
) {
    let Value::Array(items) = content else {
        return each_text_of(content, Place { quotes: quotes.of_text(0), ..place }, visit);
    };
    let mut index = 0;
    for item in items {
        let text = item.get("text").and_then(Value::as_str);
        for (name, value) in item.as_object().into_iter().flatten() {
            visit(place, name);
            let is_text = name == "text" && text.is_some();
            let quotes = if is_text { quotes.of_text(index) } else { &[] };
            each_text_of(value, Place { quotes, ..place }, visit);
        }
        index += usize::from(text.is_some());
    }
}

fn each_text_of<'i>(value: &'i Value, place: Place<'_>, visit: &mut Visit<'_, 'i>) {
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
