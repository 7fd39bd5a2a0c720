//! Paragraphs of comments and pages, and their sentences. Code within them counts as one word.

use super::place::{Count, Place};

/// How many words a sentence may have.
const LONG: usize = 30;

/// What is written without a blank line between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Paragraph {
    /// The line where it begins, from 1.
    pub(super) line: usize,
    /// Its text on one line, code and the targets of links left out.
    pub(super) text: String,
}

impl Paragraph {
    /// Returns the sentences.
    pub(super) fn sentences(&self) -> Vec<&str> {
        let mut sentences = Vec::new();
        let mut rest = self.text.as_str();
        while let Some(end) = end_of_sentence(rest) {
            let (sentence, after) = rest.split_at(end);
            sentences.push(sentence.trim());
            rest = after;
        }
        if !rest.trim().is_empty() {
            sentences.push(rest.trim());
        }
        sentences
    }
}

/// Returns the place after the first sign that ends a sentence.
fn end_of_sentence(text: &str) -> Option<usize> {
    for (place, sign) in text.char_indices() {
        let end = place + sign.len_utf8();
        let after = text.get(end..).unwrap_or_default();
        if ".!?".contains(sign) && after.starts_with(' ') {
            let next = after.trim_start().chars().next();
            if next.is_some_and(|next| !next.is_lowercase()) {
                return Some(end);
            }
        }
    }
    None
}

/// Adds the long sentences of a paragraph.
pub(super) fn places(path: &str, paragraph: &Paragraph, places: &mut Vec<Place>) {
    for sentence in paragraph.sentences() {
        let words =
            sentence.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
        if words > LONG {
            let text = format!("{words} words: {sentence}");
            places.push(Place { count: Count::Sentences, path: path.to_owned(), line: paragraph.line, text });
        }
    }
}

/// Returns the paragraphs of the comments of a source file.
pub(super) fn of_comments(code: &str) -> Vec<Paragraph> {
    let mut blocks = Blocks::default();
    for (number, line) in (1..).zip(code.lines()) {
        let trimmed = line.trim_start();
        let comment = ["/// ", "//! ", "// "].iter().find_map(|mark| trimmed.strip_prefix(mark));
        match comment {
            Some(comment) => blocks.add(number, comment),
            None if ["///", "//!", "//"].contains(&trimmed) => blocks.end_paragraph(),
            None => blocks.end_comment(),
        }
    }
    blocks.finish()
}

/// Returns the paragraphs of a page of Markdown.
pub(super) fn of_page(text: &str) -> Vec<Paragraph> {
    let mut blocks = Blocks::default();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            blocks.end_paragraph();
        } else {
            blocks.add(number, line);
        }
    }
    blocks.finish()
}

/// Paragraphs while they are read.
#[derive(Default)]
struct Blocks {
    paragraphs: Vec<Paragraph>,
    line: usize,
    text: String,
    is_code: bool,
}

impl Blocks {
    fn add(&mut self, number: usize, line: &str) {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            self.end_paragraph();
            self.is_code = !self.is_code;
            return;
        }
        let is_table = trimmed.starts_with('|');
        let is_heading = trimmed.starts_with('#');
        let is_remark = trimmed.starts_with("<!--");
        if self.is_code || is_heading || is_remark {
            self.end_paragraph();
            return;
        }
        if is_table {
            self.end_paragraph();
            for cell in trimmed.split(" | ") {
                self.push(number, cell.trim_matches(['|', ' ']));
                self.end_paragraph();
            }
            return;
        }
        if is_item(trimmed) {
            self.end_paragraph();
        }
        self.push(number, trimmed);
    }

    fn push(&mut self, number: usize, line: &str) {
        if self.text.is_empty() {
            self.line = number;
        } else {
            self.text.push(' ');
        }
        self.text.push_str(line);
    }

    fn end_paragraph(&mut self) {
        if !self.text.is_empty() {
            let text = plain(&std::mem::take(&mut self.text));
            self.paragraphs.push(Paragraph { line: self.line, text });
        }
    }

    fn end_comment(&mut self) {
        self.end_paragraph();
        self.is_code = false;
    }

    fn finish(mut self) -> Vec<Paragraph> {
        self.end_paragraph();
        self.paragraphs
    }
}

/// Returns whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let numbered = line.split_once(". ").is_some_and(|(number, _)| number.parse::<usize>().is_ok());
    numbered || line.starts_with("* ") || line.starts_with("- ")
}

/// Returns a text whose code is the word `code`, and whose links are their texts alone.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut is_code = false;
    let mut target = 0;
    let mut before = ' ';
    for sign in text.chars() {
        match sign {
            '`' => {
                if !is_code {
                    plain.push_str("code");
                }
                is_code = !is_code;
            }
            _ if is_code => {}
            '(' if before == ']' || target > 0 => target += 1,
            ')' if target > 0 => target -= 1,
            _ if target > 0 => {}
            '[' | ']' | '*' => {}
            other => plain.push(other),
        }
        before = sign;
    }
    plain
}
