//! Applies an injection policy that lets some text through, and reports the control tokens that it let through.

use std::collections::BTreeMap;

use alloquy_core::Result;
use alloquy_core::arguments::{InjectionPolicy, TextSource};
use alloquy_core::processor::PromptPart;
use alloquy_core::report::Warning;
use alloquy_core::template::TemplateInput;
use serde_json::Value;

use super::literal::Literals;
use super::mark::Mark;
use super::quotes::{self, MessageQuotes, Quote, Quotes};
use super::quoting::writers;

/// Marks every text of `input` in which a control token must stay text.
///
/// # Errors
/// As [`Literals::protect`].
pub(crate) fn protect(
    literals: &Literals,
    policy: &InjectionPolicy,
    input: &mut TemplateInput,
    quotes: &Quotes,
) -> Result<()> {
    let trusts_some = policy.sources().next().is_some();
    let unmarked = (trusts_some || !quotes.is_empty()).then(|| input.clone());
    let literals = literals.without_let_through(policy);
    let mark = literals.protect(input, quotes)?;
    if let (Some(unmarked), Some(mark)) = (unmarked, mark) {
        restore(&literals, policy, input, unmarked, quotes, &mark);
    }
    Ok(())
}

/// Reverts [`protect`] in a rendered prompt, and cuts it into parts. `input` is the unmarked input.
///
/// # Errors
/// As [`Literals::cut`].
pub(crate) fn cut(
    literals: &Literals,
    policy: &InjectionPolicy,
    rendered: &str,
    input: &mut TemplateInput,
    quotes: &Quotes,
) -> Result<Vec<PromptPart>> {
    literals.without_let_through(policy).cut(rendered, input, quotes)
}

/// Reports the control tokens in texts of `input` that the policy lets through. Tokens that appear only when a template rewrites
/// a text are not reported.
pub(crate) fn let_through(
    literals: &Literals,
    policy: &InjectionPolicy,
    input: &TemplateInput,
    quotes: &Quotes,
) -> Vec<Warning> {
    let mut found = BTreeMap::<(TextSource, &str), usize>::new();
    each_text(input, quotes, &mut |place, text| {
        for (start, token) in literals.tokens_in(text) {
            let writers = writers(Some(place.source), &(start..start + token.len()), place.quotes);
            let is_models = place.is_said_by_model && writers == [Some(place.source)];
            let is_let = writers.iter().all(|writer| writer.is_some_and(|source| policy.lets(source, token)));
            if !is_let || (is_models && literals.is_spoken(token)) {
                continue;
            }
            // A token with several writers is counted for the first quote in it.
            if let Some(Some(source)) = writers.first() {
                *found.entry((*source, token)).or_default() += 1;
            }
        }
    });
    let mut warnings = Vec::new();
    for ((source, token), times) in found {
        warnings.push(Warning::ControlTokenLetThrough { token: token.to_owned(), source, times });
    }
    warnings
}

/// Removes the marks from texts of trusted sources. Texts with quotes are marked again, as their writers require.
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
    /// Whether it is the content of a reply. The policy does not apply to the model's own tags there.
    is_said_by_model: bool,
    /// The pieces that others wrote.
    quotes: &'q [Quote],
}

impl Place<'_> {
    fn of(source: TextSource) -> Self {
        Self { source, is_said_by_model: false, quotes: &[] }
    }
}

type Visit<'v, 'i> = dyn FnMut(Place<'_>, &'i str) + 'v;

/// Visits every text that a template may print, and every key, because templates print keys too.
fn each_text<'i>(input: &'i TemplateInput, quotes: &Quotes, visit: &mut Visit<'_, 'i>) {
    for (index, message) in input.messages.iter().enumerate() {
        // No policy trusts an unknown role. Its texts are reported as a user's.
        let source = quotes::author_of(message).unwrap_or(TextSource::User);
        let quotes = quotes.of_message(index);
        let fields = message.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(name, _)| *name != "role") {
            let is_said_by_model = source == TextSource::Assistant && name == "content";
            visit(Place::of(source), name);
            let place = Place { is_said_by_model, ..Place::of(source) };
            match quotes {
                Some(quotes) if name == "content" => each_text_of_content(value, place, quotes, visit),
                _ => each_text_of(value, place, visit),
            }
        }
    }
    for tool in input.tools.iter().flatten() {
        each_text_of(tool, Place::of(TextSource::ToolSpecs), visit);
    }
    // A host that sets `bos_token` and the like means the token.
    let extra = input.extra.iter().filter(|(name, _)| !name.ends_with("_token")).map(|(_, value)| value);
    for value in input.documents.iter().flatten().chain(extra) {
        each_text_of(value, Place::of(TextSource::Variables), visit);
    }
}

/// Visits the texts of a content with quotes.
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
