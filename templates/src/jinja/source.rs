//! Rewrites a template's source where minijinja reads it otherwise than Jinja2; line numbers stay.
//!
//! Knows tags, strings, brackets and comments; nothing of expressions.
//!
//! * line ends become line feeds, in strings too, as in Jinja2's lexer;
//! * `{% generation %}`, Hugging Face's mark around what the assistant said, becomes a scope of its own;
//! * `{% raw %}` keeps the line feed after it;
//! * `loop.last` becomes a look at the next item, because minijinja does not know the length of every iterable;
//! * `break` and `continue` out of a block that minijinja cannot leave (it panics, or loses all output that
//!   follows) are refused.

use super::fault::Fault;

/// Rewrites `source`.
pub(super) fn rewrite(source: &str) -> Result<String, Fault> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let mut rewriter =
        Rewriter { rest: &source, written: String::with_capacity(source.len()), open: Vec::new() };
    while rewriter.step()? {}
    Ok(rewriter.written)
}

struct Rewriter<'a> {
    rest: &'a str,
    written: String,
    /// The names of the blocks around this place, outermost first.
    open: Vec<&'a str>,
}

impl<'a> Rewriter<'a> {
    /// Copies the text up to the next piece of code, and that piece.
    ///
    /// What never ends is copied as it is, and the engine says what is wrong with it.
    fn step(&mut self) -> Result<bool, Fault> {
        let Some(start) = next_code(self.rest) else {
            self.copy(self.rest.len());
            return Ok(false);
        };
        self.copy(start);
        match self.rest.get(..2) {
            Some("{#") => self.comment(),
            Some("{{") => self.print(),
            _ => self.tag()?,
        }
        Ok(!self.rest.is_empty())
    }

    fn comment(&mut self) {
        let end = self.rest.find("#}").map_or(self.rest.len(), |end| end + 2);
        self.copy(end);
    }

    fn print(&mut self) {
        let code = self.take(code_end(self.rest, "}}"));
        self.written.push_str(&with_loop_last(code));
    }

    fn tag(&mut self) -> Result<(), Fault> {
        let code = self.take(code_end(self.rest, "%}"));
        match tag_name(code) {
            "raw" => self.raw(code),
            "generation" => self.open(code, "generation", "with"),
            "endgeneration" => self.close(code, "generation", "endwith"),
            "break" => self.jump(code, "break")?,
            "continue" => self.jump(code, "continue")?,
            name if opens_block(name, code) => self.open(code, name, name),
            name => match name.strip_prefix("end").filter(|_| name != "endraw") {
                Some(opened) => self.close(code, opened, name),
                None => self.written.push_str(&with_loop_last(code)),
            },
        }
        Ok(())
    }

    /// Copies a raw block whole; the plus keeps the line feed after its tag.
    fn raw(&mut self, code: &str) {
        match code.strip_suffix("%}").filter(|head| !head.ends_with(['-', '+'])) {
            Some(head) => {
                self.written.push_str(head);
                self.written.push_str("+%}");
            }
            None => self.written.push_str(code),
        }
        self.copy(end_of_raw(self.rest));
    }

    fn open(&mut self, code: &'a str, name: &'a str, written_as: &str) {
        self.open.push(name);
        self.written.push_str(&with_loop_last(&code.replacen(name, written_as, 1)));
    }

    fn close(&mut self, code: &str, name: &str, written_as: &str) {
        if self.open.last() == Some(&name) {
            self.open.pop();
        }
        self.written.push_str(&code.replacen(tag_name(code), written_as, 1));
    }

    fn jump(&mut self, code: &str, tag: &'static str) -> Result<(), Fault> {
        let inside = self.open.iter().rev().find(|name| **name != "if");
        match inside {
            Some(&inside) if inside != "for" && self.open.contains(&"for") => {
                let line = self.written.matches('\n').count() + 1;
                Err(Fault::Jump { line, tag, inside: inside.to_owned() })
            }
            _ => {
                self.written.push_str(code);
                Ok(())
            }
        }
    }

    fn copy(&mut self, length: usize) {
        let text = self.take(length);
        self.written.push_str(text);
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }
}

/// Finds the next `{{`, `{%` or `{#`.
fn next_code(text: &str) -> Option<usize> {
    text.match_indices('{')
        .map(|(start, _)| start)
        .find(|&start| matches!(text.as_bytes().get(start + 1), Some(b'{' | b'%' | b'#')))
}

/// Returns the length of the code that `text` begins with, through its `end`: not in a string, not in brackets.
fn code_end(text: &str, end: &str) -> usize {
    let mut scanner = Scanner::default();
    for (position, character) in text.char_indices().skip(2) {
        if scanner.is_plain() && text.get(position..).is_some_and(|rest| rest.starts_with(end)) {
            return position + end.len();
        }
        scanner.read(character);
    }
    text.len()
}

/// Follows strings and brackets through code.
#[derive(Default)]
struct Scanner {
    quote: Option<char>,
    escaped: bool,
    depth: usize,
}

impl Scanner {
    fn is_plain(&self) -> bool {
        self.quote.is_none() && self.depth == 0
    }

    fn read(&mut self, character: char) {
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

fn tag_name(code: &str) -> &str {
    let inner = code.strip_prefix("{%").unwrap_or(code).trim_start_matches(['-', '+']).trim_start();
    let length = inner.find(|character| !is_word(character)).unwrap_or(inner.len());
    inner.get(..length).unwrap_or_default()
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn opens_block(name: &str, code: &str) -> bool {
    match name {
        "for" | "if" | "with" | "filter" | "call" | "macro" | "block" | "autoescape" => true,
        "set" => !assigns(code),
        _ => false,
    }
}

/// Tells `{% set name = value %}` from the block `{% set name %}…{% endset %}`.
fn assigns(code: &str) -> bool {
    let mut scanner = Scanner::default();
    code.chars().skip(2).any(|character| {
        let found = scanner.is_plain() && character == '=';
        scanner.read(character);
        found
    })
}

/// Returns the length of what a raw block holds, with its closing tag.
fn end_of_raw(text: &str) -> usize {
    text.match_indices("{%")
        .find_map(|(start, _)| {
            let tag = text.get(start..)?;
            let end = tag.find("%}")? + 2;
            (tag_name(tag.get(..end)?) == "endraw").then_some(start + end)
        })
        .unwrap_or(text.len())
}

const LOOP_LAST: &str = "loop.last";

/// Replaces `loop.last` outside strings.
fn with_loop_last(code: &str) -> String {
    let mut written = String::with_capacity(code.len());
    let mut scanner = Scanner::default();
    let mut before = None;
    let mut skip = 0;
    for (position, character) in code.char_indices() {
        if position < skip {
            continue;
        }
        let rest = code.get(position..).unwrap_or_default();
        if scanner.quote.is_none() && is_loop_last(before, rest) {
            written.push_str("(loop.nextitem is undefined)");
            skip = position + LOOP_LAST.len();
            before = Some(')');
            continue;
        }
        scanner.read(character);
        written.push(character);
        before = Some(character);
    }
    written
}

fn is_loop_last(before: Option<char>, rest: &str) -> bool {
    let starts = !before.is_some_and(|character| is_word(character) || character == '.');
    let after = rest.strip_prefix(LOOP_LAST).filter(|_| starts);
    after.is_some_and(|after| !after.starts_with(is_word))
}
