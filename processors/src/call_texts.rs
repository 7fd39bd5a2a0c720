//! Finds the texts that only tool calls have, so that no call begins where none is wanted.

use alloquy_core::tokenizer::{SpecialToken, TokenId};

use crate::configured::{Configured, SectionContent};

/// Returns the text that begins calls for each way in which the family's models mark them, and the control token that ends them
/// unless it ends other things too.
///
/// A marker of ordinary text is returned whole, because its beginning may be part of any text. Of a marker with a control token,
/// the shortest beginning is returned that nothing else of the family begins with. So a model that may not call does not begin a
/// marker that it cannot complete:
///
/// ```text
/// <tool_call>                   <tool_call>                    a control token
/// functools[                    functools[                     ordinary text
/// <|channel|>commentary to=     <|channel|>commentary to       `<|channel|>commentary<|message|>` begins a comment
/// ```
pub(crate) fn of(family: &Configured, specials: &[SpecialToken], stop_tokens: &[TokenId]) -> Vec<String> {
    let mut texts = Vec::new();
    for section in &family.sections {
        if !matches!(section.holds, SectionContent::Calls(_)) || section.open.is_empty() {
            continue;
        }
        texts.push(start(&section.open, family, specials).to_owned());
        let end = specials.iter().find(|special| special.text == section.close);
        if end.is_some_and(|end| !stop_tokens.contains(&end.id)) && !is_shared_end(&section.close, family) {
            texts.push(section.close.clone());
        }
    }
    texts.sort();
    texts.dedup();
    texts
}

/// Returns whether something else than calls ends with `close`.
fn is_shared_end(close: &str, family: &Configured) -> bool {
    let is_end = family.data.answer.as_ref().is_some_and(|heads| heads.end == close);
    let is_silent = family.data.silent.iter().any(|silent| silent == close);
    let mut channels = family.sections.iter().filter(|section| section.channel().is_some());
    is_end || is_silent || channels.any(|section| section.close == close)
}

/// Returns the beginning of `marker` that only calls begin with.
fn start<'a>(marker: &'a str, family: &Configured, specials: &[SpecialToken]) -> &'a str {
    let Some(mut end) = end_of_control_token(marker, specials) else { return marker };
    for (at, symbol) in marker.char_indices() {
        if at < end {
            continue;
        }
        let begun = marker.get(..end).unwrap_or(marker);
        // A space alone could be followed by anything, and many tokens begin with it: the word after it belongs to the start.
        let ends_in_word = !begun.ends_with(char::is_whitespace) && !symbol.is_alphanumeric();
        if !is_shared(begun, family) && (ends_in_word || !begun.contains(char::is_whitespace)) {
            return begun;
        }
        end = at + symbol.len_utf8();
    }
    marker
}

/// Returns where the first control token of a marker ends.
fn end_of_control_token(marker: &str, specials: &[SpecialToken]) -> Option<usize> {
    let mut first: Option<(usize, usize)> = None;
    for special in specials.iter().filter(|special| !special.text.is_empty()) {
        let Some(at) = marker.find(&special.text) else { continue };
        let end = at + special.text.len();
        // The longest of those that begin first.
        if first.is_none_or(|(begins, ends)| at < begins || at == begins && end > ends) {
            first = Some((at, end));
        }
    }
    first.map(|(_, end)| end)
}

/// Returns whether something else than calls begins with `text`.
fn is_shared(text: &str, family: &Configured) -> bool {
    let silent = family.data.silent.iter().map(String::as_str);
    let mut others: Vec<&str> = silent.collect();
    for section in &family.sections {
        if section.channel().is_some() {
            others.push(&section.open);
        }
    }
    if let Some(heads) = &family.data.answer {
        others.push(&heads.message);
        others.push(&heads.aside);
        others.extend(heads.answers.iter().map(String::as_str));
    }
    others.iter().any(|other| other.starts_with(text))
}
