//! Splits an expression into tokens, as Jinja2's lexer does.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    Number,
    String,
    Operator,
}

/// A piece of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Where the token starts in the code, in bytes.
    pub(super) start: usize,
    /// Line feeds between the previous token and this one.
    pub(super) lines: usize,
}

/// Operators of more than one character; longer ones first.
const LONG: [&str; 6] = ["**", "//", "==", "!=", "<=", ">="];

/// Splits `code` into tokens, and also returns the line feeds after the last one.
///
/// `None` when a character begins no token or a string does not end.
pub(super) fn tokens(code: &str) -> Option<(Vec<Token<'_>>, usize)> {
    let mut tokens = Vec::new();
    let mut rest = code;
    loop {
        let trimmed = rest.trim_start();
        let space = rest.get(..rest.len() - trimmed.len())?;
        let lines = space.matches('\n').count();
        let Some(first) = trimmed.chars().next() else {
            return Some((tokens, lines));
        };
        let (kind, length) = match first {
            '"' | '\'' => (Kind::String, string(trimmed, first)?),
            first if first.is_ascii_digit() => (Kind::Number, number(trimmed)),
            first if super::tags::is_word(first) => (Kind::Name, word(trimmed)),
            _ => (Kind::Operator, operator(trimmed)?),
        };
        let (text, after) = trimmed.split_at_checked(length)?;
        let start = code.len() - trimmed.len();
        tokens.push(Token { kind, text, start, lines });
        rest = after;
    }
}

fn string(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (position, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            character if character == quote => return Some(position + 1),
            _ => {}
        }
    }
    None
}

fn word(text: &str) -> usize {
    text.find(|character| !super::tags::is_word(character)).unwrap_or(text.len())
}

/// Returns the length of a number: digits with a fraction and an exponent, or an integer of another base.
fn number(text: &str) -> usize {
    if text.get(1..2).is_some_and(|base| matches!(base, "x" | "X" | "o" | "O" | "b" | "B")) {
        return word(text);
    }
    let mut length = digits(text);
    if let Some(fraction) = text.get(length..).and_then(|rest| rest.strip_prefix('.')) {
        length += match digits(fraction) {
            0 => 0,
            count => 1 + count,
        };
    }
    let Some(exponent) = text.get(length..).and_then(|rest| rest.strip_prefix(['e', 'E'])) else {
        return length;
    };
    let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    match digits(unsigned) {
        0 => length,
        count => length + 1 + (exponent.len() - unsigned.len()) + count,
    }
}

fn digits(text: &str) -> usize {
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return 0;
    }
    text.find(|character: char| !character.is_ascii_digit() && character != '_').unwrap_or(text.len())
}

fn operator(text: &str) -> Option<usize> {
    if LONG.iter().any(|long| text.starts_with(long)) {
        return Some(2);
    }
    text.starts_with([
        '+', '-', '*', '/', '%', '~', '<', '>', '=', '.', ',', ':', '|', '(', ')', '[', ']', '{', '}',
    ])
    .then_some(1)
}

/// Rewrites the inside of a string for the engine: Python's escapes are decoded, and a line break after a backslash vanishes.
///
/// Reference: Python's `unicode-escape` codec, by which Jinja2 reads strings.
pub(super) fn respell(string: &str) -> String {
    if !string.contains('\\') {
        return string.to_owned();
    }
    let inner = string.get(1..string.len() - 1).unwrap_or_default();
    let mut written = String::with_capacity(string.len());
    written.push('"');
    let mut rest = inner;
    while let Some(position) = rest.find('\\') {
        let (plain, escape) = rest.split_at(position);
        let (character, length) = escaped(escape);
        for character in plain.chars().chain(character) {
            spell(&mut written, character);
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    for character in rest.chars() {
        spell(&mut written, character);
    }
    written.push('"');
    written
}

/// Decodes the escape at the start of `text`, and returns its length, too. An unknown one stays unchanged.
fn escaped(text: &str) -> (Option<char>, usize) {
    let Some(kind) = text.chars().nth(1) else {
        return (Some('\\'), 1);
    };
    let simple = match kind {
        '\n' => return (None, 2),
        '\\' | '\'' | '"' => Some(kind),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'v' => Some('\u{b}'),
        _ => None,
    };
    match (simple, kind) {
        (Some(character), _) => (Some(character), 2),
        (None, 'x') => coded(text, 2, 2, 16),
        (None, 'u') => unit(text),
        (None, 'U') => coded(text, 2, 8, 16),
        (None, '0'..='7') => octal(text),
        (None, _) => (Some('\\'), 1),
    }
}

/// Decodes `\uXXXX`. Two such escapes may be a surrogate pair.
fn unit(text: &str) -> (Option<char>, usize) {
    let units: Vec<u16> = [Some(text), text.get(6..)].into_iter().flatten().map_while(code_unit).collect();
    match char::decode_utf16(units).next() {
        Some(Ok(character)) => (Some(character), 6 * character.len_utf16()),
        _ => (Some('\\'), 1),
    }
}

/// Reads the four hexadecimal digits of `\uXXXX`.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

fn octal(text: &str) -> (Option<char>, usize) {
    let code = text.get(1..).unwrap_or_default();
    let length = code.find(|digit| !('0'..='7').contains(&digit)).unwrap_or(code.len()).min(3);
    coded(text, 1, length, 8)
}

fn coded(text: &str, start: usize, length: usize, base: u32) -> (Option<char>, usize) {
    let code = text.get(start..start + length).and_then(|code| u32::from_str_radix(code, base).ok());
    match code.and_then(char::from_u32) {
        Some(character) => (Some(character), start + length),
        None => (Some('\\'), 1),
    }
}

/// Writes a character inside a string that double quotes delimit.
fn spell(written: &mut String, character: char) {
    if matches!(character, '"' | '\\') {
        written.push('\\');
    }
    written.push(character);
}
