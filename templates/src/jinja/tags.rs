//! The code between `{%` and `%}`: finds its end, its name and the variables that it assigns.

/// Returns the length of the code at the start of `text`, including its `end`, which counts only outside strings and brackets.
pub(super) fn code_end(text: &str, end: &str) -> usize {
    let mut scanner = Scanner::default();
    for (position, character) in text.char_indices().skip(2) {
        if scanner.is_plain() && text.get(position..).is_some_and(|rest| rest.starts_with(end)) {
            return position + end.len();
        }
        scanner.read(character);
    }
    text.len()
}

/// Splits code into its opening delimiter, its inside and its closing delimiter, which is empty if it has none.
pub(super) fn parts(code: &str) -> (&str, &str, &str) {
    let start = if is_mark(code.get(2..3)) { 3 } else { 2 };
    let Some(head) = code.strip_suffix("%}").or_else(|| code.strip_suffix("}}")) else {
        return (code, "", "");
    };
    let end = if is_mark(head.get(head.len().saturating_sub(1)..)) { head.len() - 1 } else { head.len() };
    match (code.get(..start), code.get(start..end.max(start)), code.get(end.max(start)..)) {
        (Some(open), Some(inner), Some(close)) => (open, inner, close),
        _ => (code, "", ""),
    }
}

/// Returns whether a text is a mark for white space, as in `{%-`.
fn is_mark(text: Option<&str>) -> bool {
    matches!(text, Some("-" | "+"))
}

/// Follows strings and brackets through code.
#[derive(Default)]
pub(super) struct Scanner {
    quote: Option<char>,
    escaped: bool,
    depth: usize,
}

impl Scanner {
    /// Returns whether this place is outside strings and brackets.
    fn is_plain(&self) -> bool {
        self.quote.is_none() && self.depth == 0
    }

    /// Moves on by one character.
    pub(super) fn read(&mut self, character: char) {
        match (self.quote, character) {
            (Some(_), _) if self.escaped => self.escaped = false,
            (Some(_), '\\') => self.escaped = true,
            (Some(quote), character) if character == quote => self.quote = None,
            (None, '"' | '\'') => self.quote = Some(character),
            (None, '(' | '[' | '{') => self.depth += 1,
            (None, ')' | ']' | '}') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Returns the name of a tag.
pub(super) fn name(code: &str) -> &str {
    let (name, _) = split_name(code);
    name
}

/// Splits a tag into its name and what follows, without the delimiters.
fn split_name(code: &str) -> (&str, &str) {
    let inner = code.strip_prefix("{%").unwrap_or(code).trim_start_matches(['-', '+']).trim_start();
    let inner = inner.strip_suffix("%}").unwrap_or(inner).trim_end_matches(['-', '+']);
    inner.split_at(inner.find(|character| !is_word(character)).unwrap_or(inner.len()))
}

/// Returns whether a name may contain this character.
pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns whether a closing tag belongs to this one.
pub(super) fn opens_block(name: &str, code: &str) -> bool {
    match name {
        "for" | "if" | "with" | "filter" | "call" | "macro" | "block" | "autoescape" => true,
        "set" => !assigns(code),
        _ => false,
    }
}

/// Returns whether a tag is `{% set name = value %}` and not the block `{% set name %}…{% endset %}`.
fn assigns(code: &str) -> bool {
    split_plain(code.get(2..).unwrap_or_default(), '=').len() > 1
}

/// Returns the fields of namespaces that an assignment sets: `ns.b` of `{% set a, ns.b = … %}`. None if the value is a small
/// literal.
pub(super) fn given_fields(code: &str) -> Vec<&str> {
    let (_, inner, _) = parts(code);
    let (_, rest) = split_name(inner);
    let pieces = split_plain(rest, '=');
    let value = pieces.get(1).map_or("", |value| value.trim());
    if is_literal(value) && pieces.len() == 2 {
        Vec::new()
    } else {
        bound(code).into_iter().filter(|target| target.contains('.')).collect()
    }
}

fn is_literal(value: &str) -> bool {
    let is_number = !value.is_empty() && value.chars().all(|digit| digit.is_ascii_digit());
    is_number || matches!(value, "true" | "false" | "none" | "True" | "False" | "None" | "''" | "\"\"")
}

/// Returns the variables that `{% set … %}` assigns, by `=` or as a block.
pub(super) fn bound(code: &str) -> Vec<&str> {
    let (_, rest) = split_name(code);
    let list = split_plain(rest, '=').into_iter().next().unwrap_or_default();
    targets(list).into_iter().filter(|target| is_target(target)).collect()
}

/// Returns the names in `a, (b, c)`, and in `a | filter` of a block.
fn targets(list: &str) -> Vec<&str> {
    let list = list.split('|').next().unwrap_or_default();
    list.split([',', '(', ')', '[', ']']).map(str::trim).collect()
}

fn is_target(target: &str) -> bool {
    target
        .split('.')
        .map(str::trim)
        .all(|name| name.chars().all(is_word) && name.starts_with(|first: char| !first.is_ascii_digit()))
}

/// Splits at each `separator` outside strings and brackets.
fn split_plain(code: &str, separator: char) -> Vec<&str> {
    let mut scanner = Scanner::default();
    let mut pieces = Vec::new();
    let mut start = 0;
    for (position, character) in code.char_indices() {
        if scanner.is_plain() && character == separator {
            pieces.extend(code.get(start..position));
            start = position + character.len_utf8();
        }
        scanner.read(character);
    }
    pieces.extend(code.get(start..));
    pieces
}
