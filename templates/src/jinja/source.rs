//! Rewrites a template's source where minijinja reads it otherwise than Jinja2; line numbers stay.
//!
//! Knows tags, comments and raw blocks; nothing of expressions.
//!
//! * line ends become line feeds, in strings too, as in Jinja2's lexer;
//! * `{% generation %}`, Hugging Face's mark around what the assistant said, becomes a scope of its own;
//! * `{% raw %}` keeps the line feed after it;
//! * `loop.last` becomes a look at the next item, because minijinja does not know the length of every iterable;
//! * `break` and `continue` out of a block that minijinja cannot leave (it panics, or loses all output that
//!   follows) are refused;
//! * every tag that gives variables a value is followed by a check of what they hold.

use super::fault::Fault;
use super::guards;
use super::tags::{self, Scanner};

/// Rewrites `source`.
pub(super) fn rewrite(source: &str) -> Result<String, Fault> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let mut rewriter =
        Rewriter { rest: &source, written: String::new(), open: Vec::new(), counts: Vec::new() };
    while rewriter.step()? {}
    Ok(rewriter.finish())
}

struct Rewriter<'a> {
    rest: &'a str,
    written: String,
    /// The blocks around this place, outermost first.
    open: Vec<Block<'a>>,
    counts: Vec<Count>,
}

struct Block<'a> {
    name: &'a str,
    code: &'a str,
    /// Which of the counts the text in it goes to: that of the innermost body that repeats.
    count: Option<usize>,
}

/// How many bytes of fixed text a body has, to be written at a place that comes before it.
struct Count {
    place: usize,
    bytes: usize,
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
        let comment = self.take(end);
        self.written.push_str(comment);
    }

    fn print(&mut self) {
        let code = self.take(tags::code_end(self.rest, "}}"));
        self.written.push_str(&with_loop_last(code));
    }

    fn tag(&mut self) -> Result<(), Fault> {
        let code = self.take(tags::code_end(self.rest, "%}"));
        match tags::name(code) {
            "raw" => self.raw(code),
            "generation" => self.open(code, "with"),
            "endgeneration" => self.close(code, "generation", "endwith"),
            "break" => self.jump(code, "break")?,
            "continue" => self.jump(code, "continue")?,
            name if tags::opens_block(name, code) => self.open(code, name),
            "set" => self.check(&with_loop_last(code), &tags::bound(code)),
            name => match name.strip_prefix("end") {
                Some(opened) => self.close(code, opened, name),
                None => self.written.push_str(&with_loop_last(code)),
            },
        }
        Ok(())
    }

    /// Copies a raw block whole; the plus keeps the line feed after its tag.
    fn raw(&mut self, code: &str) {
        match code.strip_suffix("%}").filter(|head| !head.ends_with(['-', '+'])) {
            Some(head) => self.written.extend([head, "+%}"]),
            None => self.written.push_str(code),
        }
        self.copy(end_of_raw(self.rest));
    }

    fn open(&mut self, code: &'a str, written_as: &str) {
        let name = tags::name(code);
        let written = with_loop_last(&code.replacen(name, written_as, 1));
        let repeats = matches!(name, "for" | "macro" | "call");
        match repeats || name == "with" {
            true => self.check(&written, &tags::bound(code)),
            false => self.written.push_str(&written),
        }
        let around = self.open.last().and_then(|block| block.count);
        let own = self.counts.len().checked_sub(1).filter(|_| repeats);
        self.open.push(Block { name, code, count: own.or(around) });
    }

    fn close(&mut self, code: &str, name: &str, written_as: &str) {
        let written = code.replacen(tags::name(code), written_as, 1);
        let block = self.open.pop_if(|block| block.name == name);
        match block.filter(|block| block.name == "set") {
            Some(block) => self.check(&written, &tags::bound(block.code)),
            None => self.written.push_str(&written),
        }
    }

    /// Writes a tag and, directly behind it so that no white space comes to stand between, a check of `values`.
    fn check(&mut self, tag: &str, values: &[&str]) {
        let Some(head) = tag.strip_suffix("%}") else {
            self.written.push_str(tag);
            return;
        };
        let (head, mark) = match head.strip_suffix(['-', '+']) {
            Some(bare) => (bare, head.get(bare.len()..).unwrap_or_default()),
            None => (head, ""),
        };
        self.written.extend([head, "%}{% if ", guards::NAME, "("]);
        self.counts.push(Count { place: self.written.len(), bytes: 0 });
        for value in values {
            self.written.extend([", ", value]);
        }
        self.written.extend([") %}{% endif ", mark, "%}"]);
    }

    fn jump(&mut self, code: &str, tag: &'static str) -> Result<(), Fault> {
        let inside = self.open.iter().rev().map(|block| block.name).find(|name| *name != "if");
        match inside {
            Some(inside) if inside != "for" && self.open.iter().any(|block| block.name == "for") => {
                let line = self.written.matches('\n').count() + 1;
                Err(Fault::Jump { line, tag, inside: inside.to_owned() })
            }
            _ => {
                self.written.push_str(code);
                Ok(())
            }
        }
    }

    /// Copies fixed text and counts it for the body it stands in.
    fn copy(&mut self, length: usize) {
        let text = self.take(length);
        self.written.push_str(text);
        let count = self.open.last().and_then(|block| block.count);
        if let Some(count) = count.and_then(|count| self.counts.get_mut(count)) {
            count.bytes += text.len();
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Writes the counts into their places.
    fn finish(self) -> String {
        let mut finished = String::with_capacity(self.written.len() + 8 * self.counts.len());
        let mut start = 0;
        for count in &self.counts {
            finished.push_str(self.written.get(start..count.place).unwrap_or_default());
            finished.push_str(&count.bytes.to_string());
            start = count.place;
        }
        finished.push_str(self.written.get(start..).unwrap_or_default());
        finished
    }
}

/// Finds the next `{{`, `{%` or `{#`.
fn next_code(text: &str) -> Option<usize> {
    text.match_indices('{')
        .map(|(start, _)| start)
        .find(|&start| matches!(text.as_bytes().get(start + 1), Some(b'{' | b'%' | b'#')))
}

/// Returns the length of what a raw block holds, with its closing tag.
fn end_of_raw(text: &str) -> usize {
    text.match_indices("{%")
        .find_map(|(start, _)| {
            let tag = text.get(start..)?;
            let end = tag.find("%}")? + 2;
            (tags::name(tag.get(..end)?) == "endraw").then_some(start + end)
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
        if scanner.is_code() && is_loop_last(before, rest) {
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
    let starts = !before.is_some_and(|character| tags::is_word(character) || character == '.');
    let after = rest.strip_prefix(LOOP_LAST).filter(|_| starts);
    after.is_some_and(|after| !after.starts_with(tags::is_word))
}
