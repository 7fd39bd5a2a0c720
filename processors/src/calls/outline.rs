//! Finds the strings and comments of a call, because brackets in them do not count.

use std::ops::Range;

use super::value::{Escapes, Notation};

/// Returns the end of the first bracketed part of `text`: 2 in `{}x`. Brackets in strings do not count.
pub(crate) fn balanced(text: &str, notation: &Notation) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, symbol) in Outline::of(text, notation).outside {
        match symbol {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' if depth == 1 => return Some(at + symbol.len_utf8()),
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Returns whether `text` ends inside a string.
pub(crate) fn is_inside_string(text: &str, notation: &Notation) -> bool {
    Outline::of(text, notation).ends_inside
}

/// Returns the comments of `text`, each with its `#`.
pub(crate) fn comments<'t>(text: &'t str, notation: &Notation) -> Vec<&'t str> {
    let comments = Outline::of(text, notation).comments.into_iter();
    comments.filter_map(|comment| Some(text.get(comment)?.trim_end())).collect()
}

/// The parts of a text.
#[derive(Debug, Default)]
struct Outline {
    /// The characters outside strings and comments, with their places.
    outside: Vec<(usize, char)>,
    comments: Vec<Range<usize>>,
    /// Whether the text ends inside a string.
    ends_inside: bool,
}

impl Outline {
    fn of(text: &str, notation: &Notation) -> Self {
        let mut outline = Self::default();
        let mut open = None::<&str>;
        let mut at = 0;
        while let Some(symbol) = text.get(at..).and_then(|rest| rest.chars().next()) {
            let rest = text.get(at..).unwrap_or_default();
            let quote = match open {
                Some(quote) => Some(quote).filter(|quote| rest.starts_with(*quote)),
                None => notation.quotes.iter().copied().find(|quote| rest.starts_with(quote)),
            };
            at += match (quote, open) {
                (None, None) if symbol == '#' && notation.escapes == Escapes::Python => {
                    let length = rest.find('\n').unwrap_or(rest.len());
                    outline.comments.push(at..at + length);
                    length
                }
                (Some(quote), _) => {
                    open = if open.is_some() { None } else { Some(quote) };
                    quote.len()
                }
                (None, Some(_)) if symbol == '\\' && notation.escapes != Escapes::None => {
                    1 + rest.chars().nth(1).map_or(0, char::len_utf8)
                }
                (None, _) => {
                    if open.is_none() {
                        outline.outside.push((at, symbol));
                    }
                    symbol.len_utf8()
                }
            };
        }
        outline.ends_inside = open.is_some();
        outline
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::{JSON, PYTHON};
    use super::{balanced, comments};

    #[test]
    fn brackets_in_strings_and_comments_do_not_count() {
        assert_eq!(balanced(r#"{"a": "}"} x"#, &JSON), Some(10));
        assert_eq!(balanced("[f(a=']')", &PYTHON), None);
        assert_eq!(balanced("[f(a=1) # ] don't\n]", &PYTHON), Some(19));
    }

    #[test]
    fn comments_are_found_outside_strings() {
        assert_eq!(comments("f(a='#', # one \n b=2) #two", &PYTHON), ["# one", "#two"]);
        assert!(comments(r##"{"a": 1} # no"##, &JSON).is_empty());
    }
}
