//! Words that are not the field's, each with the one that is.

use proc_macro2::{Literal, TokenStream, TokenTree};
use syn::LitStr;

use super::place::{Count, Place};
use super::prose::Paragraph;
use crate::{Error, Result};

/// What is not written, and what is written instead. Each is looked for as whole words, in small letters.
const WORDS: [(&str, &str); 53] = [
    ("a model within", "a built-in model"),
    ("abandoned", "interrupted"),
    ("anew", "again"),
    ("asked for", "requested"),
    ("be had", "be available"),
    ("behind", "after"),
    ("cut short", "interrupted"),
    ("degradation", "warning"),
    ("degradations", "warnings"),
    ("disguise", "look-alike"),
    ("disguises", "look-alikes"),
    ("film", "video"),
    ("films", "videos"),
    ("flaw", "defect"),
    ("flaws", "defects"),
    ("forwarded", "computed"),
    ("go on", "continue"),
    ("go without", "omit"),
    ("goes on", "continues"),
    ("goes without", "omits"),
    ("going on", "continuing"),
    ("guidance", "output constraints"),
    ("heard", "received"),
    ("hears", "receives"),
    ("in its stead", "instead"),
    ("in their stead", "instead"),
    ("is had", "is available"),
    ("makers", "authors"),
    ("mend", "repair"),
    ("mended", "repaired"),
    ("mends", "repairs"),
    ("nobody", "no caller"),
    ("picture", "image"),
    ("pictures", "images"),
    ("put before", "shown to"),
    ("resident", "cached"),
    ("respelled", "retokenized"),
    ("sound", "audio"),
    ("sounds", "audio"),
    ("spending", "cost"),
    ("stand", "are"),
    ("standing", "being"),
    ("stands", "is"),
    ("stood", "was"),
    ("tells", "reports"),
    ("the model within", "the built-in model"),
    ("thoughts", "thinking"),
    ("told", "reported"),
    ("went on", "continued"),
    ("went without", "omitted"),
    ("whoever", "the caller"),
    ("writes down", "saves"),
    ("written down", "saved"),
];

/// Files that name what is not written: this one, and those that read what former versions stored.
const EXCEPTIONS: [&str; 1] = ["xtask/src/style/words.rs"];

/// Texts in the code that are part of what former versions stored, or of another project's files.
const STORED: [&str; 6] = ["degradations", "films", "guidance_scale", "pictures", "sounds", SUMMARY];
/// The instruction of the policy that summarizes. Replies store its digest.
const SUMMARY: &str = "Summarise the conversation below for somebody who has to go on with it, in the language that it is \
    held in. Keep names, numbers, decisions, what was promised and what is still open. Write the summary alone.";

/// Adds the words of a paragraph.
pub(super) fn places(path: &str, paragraph: &Paragraph, places: &mut Vec<Place>) {
    add(path, paragraph.line, &paragraph.text, places);
}

/// Adds the words of names and of texts in the code. Attributes are left out: they hold the names of stored forms.
pub(super) fn places_in_code(path: &str, code: &str, places: &mut Vec<Place>) -> Result {
    let tokens: TokenStream =
        code.parse().map_err(|source| Error::new(format!("{path} is not Rust: {source}")))?;
    add_tokens(path, tokens, places);
    Ok(())
}

fn add_tokens(path: &str, tokens: TokenStream, places: &mut Vec<Place>) {
    let mut is_attribute = false;
    for token in tokens {
        let line = token.span().start().line;
        match token {
            TokenTree::Group(_) if is_attribute => {}
            TokenTree::Group(group) => add_tokens(path, group.stream(), places),
            TokenTree::Ident(name) => add(path, line, &split(&name.to_string()), places),
            TokenTree::Literal(literal) if is_stored(&literal) => {}
            TokenTree::Literal(literal) => add(path, line, &literal.to_string(), places),
            TokenTree::Punct(sign) => {
                is_attribute = sign.as_char() == '#' || (is_attribute && sign.as_char() == '!');
                continue;
            }
        }
        is_attribute = false;
    }
}

fn is_stored(literal: &Literal) -> bool {
    let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string()) else { return false };
    STORED.contains(&text.value().as_str())
}

fn add(path: &str, line: usize, text: &str, places: &mut Vec<Place>) {
    if EXCEPTIONS.contains(&path) {
        return;
    }
    let text = padded(text);
    for (word, instead) in WORDS {
        let sought = format!(" {word} ");
        for _ in text.matches(&sought) {
            let text = format!("{word:?}: write {instead:?}");
            places.push(Place { count: Count::Words, path: path.to_owned(), line, text });
        }
    }
}

/// Returns the words of a name: of `RoleMarker` and of `role_marker`, "Role Marker" and "role marker".
fn split(name: &str) -> String {
    let mut words = String::new();
    for sign in name.chars() {
        if sign == '_' {
            words.push(' ');
        } else {
            if sign.is_uppercase() {
                words.push(' ');
            }
            words.push(sign);
        }
    }
    words
}

/// Returns the words of a text in small letters, with a space before and after each.
fn padded(text: &str) -> String {
    let mut padded = String::from(" ");
    for word in text.split(|sign: char| !sign.is_alphanumeric() && sign != '\'' && sign != '-') {
        if !word.is_empty() {
            padded.push_str(&word.to_lowercase());
            padded.push(' ');
        }
    }
    padded
}
