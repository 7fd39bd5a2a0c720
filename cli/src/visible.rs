//! Makes text safe to show: text of others must not move a cursor, change a window's title or reverse a line.

/// What happens to control characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Nothing: a document that a program reads, byte for byte.
    Exact,
    /// Control characters become U+FFFD; line breaks and tabs stay, carriage returns are removed. For the text of a model.
    Prose,
    /// Characters that reverse the direction of text become U+FFFD, too. For this program's own texts: errors, notes, lists.
    Line,
    /// Both are written as JSON escapes them, which changes no value.
    Json,
}

impl Rule {
    /// Returns a text as it may be shown.
    pub(crate) fn apply(self, text: &str) -> String {
        match self {
            Rule::Exact => text.to_owned(),
            Rule::Json => escaped(text),
            Rule::Prose => replaced(text, is_control),
            Rule::Line => replaced(text, |character| is_control(character) || is_turning(character)),
        }
    }
}

/// Returns a text on one line, as names, titles and labels are shown.
pub(crate) fn on_one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Rule::Line.apply(&line)
}

/// How many characters of the start and of the end of a long sentence are shown.
const SHOWN: (usize, usize) = (1500, 300);

/// Returns a very long sentence without its middle, with a note of how much is left out.
pub(crate) fn bounded(text: &str) -> String {
    let (start, end) = SHOWN;
    let count = text.chars().count();
    if count <= 2 * (start + end) {
        return text.to_owned();
    }
    let first: String = text.chars().take(start).collect();
    let last: String = text.chars().skip(count - end).collect();
    format!("{first} […{} characters more…] {last}", count - start - end)
}

/// Returns whether a text has characters that no terminal should be given.
pub(crate) fn is_hostile(text: &str) -> bool {
    text.chars().any(|character| is_control(character) || is_turning(character))
}

fn replaced(text: &str, is_replaced: fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars().filter(|character| *character != '\r') {
        shown.push(if is_replaced(character) { char::REPLACEMENT_CHARACTER } else { character });
    }
    shown
}

/// Writes characters of JSON's strings as escapes: outside of strings JSON has none of them.
fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if is_control(character) || is_turning(character) || matches!(character, '\u{2028}' | '\u{2029}') {
            escaped += &format!("\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Returns whether a character is of C0 (except line breaks and tabs), DEL or C1.
fn is_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

/// Returns whether a character is an embedding, an override or an isolate of the bidirectional algorithm.
fn is_turning(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;title\u{7}\tb\r\nü\u{9b}2J\u{7f}\u{202e}txt";

    #[test]
    fn control_characters_are_replaced() {
        let prose = "a\u{FFFD}]0;title\u{FFFD}\tb\nü\u{FFFD}2J\u{FFFD}";
        assert_eq!(Rule::Prose.apply(HOSTILE), format!("{prose}\u{202e}txt"));
        assert_eq!(Rule::Line.apply(HOSTILE), format!("{prose}\u{FFFD}txt"));
        assert_eq!(Rule::Exact.apply(HOSTILE), HOSTILE);
        assert_eq!(on_one_line("a\nb \u{85}c\u{1b}"), "a b c\u{FFFD}");
    }

    #[test]
    fn escapes_change_no_value() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE, "\u{2028}"] });
        let shown = Rule::Json.apply(&value.to_string());
        assert!(!is_hostile(&shown), "{shown:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn a_very_long_sentence_loses_its_middle_and_says_so() {
        assert_eq!(bounded("short"), "short");
        let long = bounded(&"é".repeat(100_000));
        assert!(long.contains("[…98200 characters more…]") && long.chars().count() < 2000, "{long}");
    }
}
