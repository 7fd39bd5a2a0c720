//! Splits a prompt text into plain text, prints, tags, comments and raw blocks.

use alloquy_core::Result;

use super::super::{source, tags};
use super::problem::invalid;

/// What a piece of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Print,
    Tag,
    Comment,
    /// A whole block `{% raw %}…{% endraw %}`.
    Raw,
}

/// A piece of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) kind: Kind,
    /// The text, with its delimiters.
    pub(super) text: &'a str,
    /// The line where it starts.
    pub(super) line: usize,
}

/// Splits a text into its items, which together are the text.
pub(super) fn items(text: &str) -> Result<Vec<Item<'_>>> {
    let mut items = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let (kind, length) = next(rest);
        let (text, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let end = match kind {
            Kind::Print => "}}",
            Kind::Tag => "%}",
            Kind::Comment => "#}",
            Kind::Text | Kind::Raw => "",
        };
        if text.len() < 4 && !end.is_empty() || !text.ends_with(end) {
            let open = text.get(..2).unwrap_or_default();
            return Err(invalid(line, &format!("{open:?} is not closed, add {end:?}")));
        }
        items.push(Item { kind, text, line });
        line += text.matches('\n').count();
        rest = after;
    }
    Ok(items)
}

/// Returns the kind and the length of the first item.
fn next(rest: &str) -> (Kind, usize) {
    match (source::next_code(rest), rest.get(..2)) {
        (None, _) => (Kind::Text, rest.len()),
        (Some(0), Some("{{")) => (Kind::Print, tags::code_end(rest, "}}")),
        (Some(0), Some("{#")) => {
            // After the opening, because in `{#}` the sign is not the closing one.
            let inner = rest.get(2..).unwrap_or_default();
            (Kind::Comment, inner.find("#}").map_or(rest.len(), |end| end + 4))
        }
        (Some(0), _) => tag(rest),
        (Some(start), _) => (Kind::Text, start),
    }
}

fn tag(rest: &str) -> (Kind, usize) {
    let length = tags::code_end(rest, "%}");
    let (code, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
    if tags::name(code) == "raw" && code.ends_with("%}") {
        (Kind::Raw, length + source::end_of_raw(after))
    } else {
        (Kind::Tag, length)
    }
}
