//! The text of HTML as a browser shows it.

use std::ops::Range;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};

use super::heading::Heading;
use super::lines::one_line;

/// A page as text.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) text: String,
    pub(super) title: String,
    pub(super) headings: Vec<Heading>,
    pub(super) blocks: Vec<Range<usize>>,
}

/// Elements whose content is not shown.
const HIDDEN: &[&[u8]] = &[b"head", b"noscript", b"script", b"style", b"svg", b"template"];
/// Elements that begin and end a line.
const LINES: &[&[u8]] = &[b"br", b"dd", b"dt", b"li", b"option", b"tr"];
/// Elements with an empty line before and after.
const BLOCKS: &[&[u8]] = &[
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"body",
    b"details",
    b"dialog",
    b"div",
    b"dl",
    b"fieldset",
    b"figcaption",
    b"figure",
    b"footer",
    b"form",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"header",
    b"hr",
    b"main",
    b"nav",
    b"ol",
    b"p",
    b"pre",
    b"section",
    b"summary",
    b"table",
    b"ul",
];

/// Reads a page. Like a browser it accepts everything.
pub(super) fn read(html: &str) -> Page {
    let mut emitter: DefaultEmitter = DefaultEmitter::default();
    // Scripts and titles are not markup, as a browser's parser knows.
    emitter.naively_switch_states(true);
    let mut reader = Reader::default();
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reader.start(&tag.name, tag.self_closing),
            Token::EndTag(tag) => reader.end(&tag.name),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reader.finish()
}

/// The white space between two words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    Line,
    Block,
}

#[derive(Debug, Default)]
struct Reader {
    page: Page,
    gap: Gap,
    /// The hidden element that is open, and how many of its name are in each other.
    hidden: Option<(Vec<u8>, usize)>,
    in_title: bool,
    /// Where the block with fixed lines began.
    fixed: Option<usize>,
    /// The heading that is open; its place is that of its first word.
    heading: Option<Heading>,
}

impl Reader {
    fn start(&mut self, name: &[u8], is_closed: bool) {
        if name == b"title" {
            self.in_title = self.page.title.is_empty();
            return;
        }
        if let Some((hidden, depth)) = &mut self.hidden {
            // A page without the end of its head has a body nevertheless.
            if name == b"body" {
                self.hidden = None;
            } else if hidden == name {
                *depth += 1;
            }
        } else if HIDDEN.contains(&name) && !is_closed {
            self.hidden = Some((name.to_vec(), 1));
            return;
        }
        self.widen(gap_of(name));
        if let Some(level) = level(name) {
            self.end_heading();
            self.heading = Some(Heading { at: 0, level, title: String::new() });
        }
        if name == b"pre" && self.fixed.is_none() {
            self.fixed = Some(self.page.text.len());
        }
        if name == b"td" || name == b"th" {
            self.widen(Gap::Space);
        }
    }

    fn end(&mut self, name: &[u8]) {
        if name == b"title" {
            self.in_title = false;
        }
        if let Some((hidden, depth)) = &mut self.hidden
            && hidden == name
        {
            *depth -= 1;
            if *depth == 0 {
                self.hidden = None;
            }
        }
        if level(name).is_some() {
            self.end_heading();
        }
        if name == b"pre"
            && let Some(start) = self.fixed.take()
        {
            self.page.blocks.push(start..self.page.text.len());
        }
        self.widen(gap_of(name));
    }

    fn text(&mut self, text: &str) {
        if self.in_title {
            self.page.title.push_str(text);
        } else if self.hidden.is_none() && self.fixed.is_some() {
            if !text.trim().is_empty() {
                self.word(text.trim_end_matches('\n'));
            }
        } else if self.hidden.is_none() {
            self.words(text);
        }
    }

    fn words(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.widen(Gap::Space);
        }
        for word in text.split_whitespace() {
            self.word(word);
            self.widen(Gap::Space);
        }
        if !text.ends_with(char::is_whitespace) && self.gap == Gap::Space {
            self.gap = Gap::None;
        }
    }

    /// Writes the gap before a word, and the word.
    fn word(&mut self, word: &str) {
        let gap = match std::mem::take(&mut self.gap) {
            _ if self.page.text.is_empty() => "",
            Gap::None => "",
            Gap::Space => " ",
            Gap::Line => "\n",
            Gap::Block => "\n\n",
        };
        self.page.text.push_str(gap);
        if let Some(heading) = &mut self.heading {
            if heading.title.is_empty() {
                heading.at = self.page.text.len();
            } else {
                heading.title.push_str(gap);
            }
            heading.title.push_str(word);
        }
        self.page.text.push_str(word);
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn end_heading(&mut self) {
        let ended = self.heading.take().filter(|heading| !heading.title.is_empty());
        let ended = ended.map(|heading| Heading { title: one_line(&heading.title), ..heading });
        self.page.headings.extend(ended);
    }

    fn finish(mut self) -> Page {
        self.end_heading();
        self.page.title = one_line(&self.page.title);
        self.page
    }
}

fn gap_of(name: &[u8]) -> Gap {
    if BLOCKS.contains(&name) {
        Gap::Block
    } else if LINES.contains(&name) {
        Gap::Line
    } else {
        Gap::None
    }
}

fn level(name: &[u8]) -> Option<u8> {
    match name {
        [b'h', digit @ b'1'..=b'6'] => Some(digit - b'0'),
        _ => None,
    }
}
