//! Words that are not the field's, each with the one that is.

use super::prose::Paragraph;
use super::{Count, Place};

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

/// Adds the words of a paragraph.
pub(super) fn places(path: &str, paragraph: &Paragraph, places: &mut Vec<Place>) {
    let text = padded(&paragraph.text);
    for (word, instead) in WORDS {
        let sought = format!(" {word} ");
        for _ in text.matches(&sought) {
            let text = format!("{word:?}: write {instead:?}");
            places.push(Place { count: Count::Words, path: path.to_owned(), line: paragraph.line, text });
        }
    }
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
