//! Choices as the grammars that servers take.

use std::fmt::Write as _;

/// Returns a regular expression that matches exactly these texts.
pub(crate) fn choice_as_regex(texts: &[String]) -> String {
    let mut regex = "(".to_owned();
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            regex.push('|');
        }
        for character in text.chars() {
            if character.is_ascii_punctuation() {
                regex.push('\\');
            }
            regex.push(character);
        }
    }
    regex.push(')');
    regex
}

/// Returns a grammar in the notation of llama.cpp that derives exactly these texts.
pub(crate) fn choice_as_gbnf(texts: &[String]) -> String {
    let mut grammar = "root ::= ".to_owned();
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            grammar.push_str(" | ");
        }
        grammar.push('"');
        for character in text.chars() {
            match character {
                '"' | '\\' => {
                    grammar.push('\\');
                    grammar.push(character);
                }
                '\n' => grammar.push_str("\\n"),
                '\r' => grammar.push_str("\\r"),
                '\t' => grammar.push_str("\\t"),
                control if control.is_control() => {
                    // Writing to a string never fails.
                    let _ = write!(grammar, "\\U{:08X}", u32::from(control));
                }
                character => grammar.push(character),
            }
        }
        grammar.push('"');
    }
    grammar
}
