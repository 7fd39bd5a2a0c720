//! Rewrites a template's source where minijinja differs from Jinja2. Line numbers stay the same.
//!
//! This module handles tags, comments and raw blocks; [`super::expressions`] rewrites expressions.
//!
//! * Line ends become line feeds, also in strings, as in Jinja2's lexer.
//! * `{% generation %}`, Hugging Face's mark for the assistant's text, becomes a scope of its own. A variable is printed at
//!   either end, to which a render may assign a mark.
//! * `{% raw %}` keeps the line feed after it.
//! * `break` and `continue` are refused inside a block that minijinja cannot leave, where it panics or loses all further output.
//! * Every tag that assigns variables is followed by a check of their size.

use super::fault::Fault;
use super::piece::Problem;
use super::tags;
use super::{guards, operators, spans, statements};

/// How many `elif` an `if` may have, since each is a level deeper for the engine. 567 public templates need 7.
const BRANCHES: usize = 100;

/// A rewritten source.
pub(super) struct Rewritten {
    pub(super) source: String,
    /// The first line of code that is not Jinja2's and was left unchanged. The engine refuses it, or else the caller does.
    pub(super) doubtful: Option<usize>,
}

/// Replaces every line end with a line feed.
pub(super) fn with_line_feeds(source: &str) -> String {
    source.replace("\r\n", "\n").replace('\r', "\n")
}

/// Rewrites `source`.
pub(super) fn rewrite(source: &str) -> Result<Rewritten, Fault> {
    let mut rewriter = Rewriter {
        rest: source,
        written: String::new(),
        open: Vec::new(),
        counts: Vec::new(),
        doubtful: None,
    };
    while rewriter.step()? {}
    Ok(rewriter.finish())
}

struct Rewriter<'a> {
    rest: &'a str,
    written: String,
    /// The blocks around this place, outermost first.
    open: Vec<Block<'a>>,
    counts: Vec<Count>,
    doubtful: Option<usize>,
}

#[derive(Clone, Copy)]
struct Block<'a> {
    name: &'a str,
    code: &'a str,
    /// The index of the count for its text: that of the innermost body that is counted.
    count: Option<usize>,
    branches: usize,
    /// Whether its text, or that of a block around it, may become a value.
    is_captured: bool,
}

impl<'a> Block<'a> {
    fn new(name: &'a str, code: &'a str) -> Self {
        Self { name, code, count: None, branches: 0, is_captured: false }
    }

    fn is_recursive_loop(&self) -> bool {
        self.name == "for" && self.code.contains("recursive")
    }

    /// Returns whether its text may become a value. Any other text goes to the output, which has a limit of its own.
    fn captures(&self) -> bool {
        matches!(self.name, "block" | "call" | "filter" | "macro" | "set") || self.is_recursive_loop()
    }
}

/// The bytes of fixed text below which a body is not checked: within the limit for steps, such a body produces 50 MiB at most.
const LITTLE: usize = 32;

/// A check of the fixed text of a body. Its place precedes that text, so it is written at the end.
struct Count {
    place: usize,
    /// The place after a loop's iterable, where the text of all iterations is counted at once. `None` for a loop that may be
    /// left early.
    all_rounds: Option<usize>,
    /// How many bytes of fixed text the body has.
    bytes: usize,
    /// The variables to weigh.
    values: String,
}

impl Count {
    /// Returns the place of the check and its code.
    fn check(&self) -> (usize, String) {
        match self.all_rounds {
            _ if self.values.is_empty() && self.bytes <= LITTLE => (self.place, String::new()),
            Some(place) => (place, format!("({})", self.bytes)),
            None => {
                let check =
                    format!("%}}{{% if {}|{}({}) %}}{{% endif ", self.bytes, guards::NAME, self.values);
                (self.place, check)
            }
        }
    }
}

impl<'a> Rewriter<'a> {
    /// Copies the text up to the next tag, print or comment, and rewrites that.
    ///
    /// One that never ends is copied unchanged, and the engine reports the error.
    fn step(&mut self) -> Result<bool, Fault> {
        let Some(start) = next_code(self.rest) else {
            self.copy(self.rest.len());
            return Ok(false);
        };
        self.copy(start);
        match self.rest.get(..2) {
            Some("{#") => self.comment(),
            Some("{{") => self.print()?,
            _ => self.tag()?,
        }
        Ok(!self.rest.is_empty())
    }

    fn comment(&mut self) {
        let end = self.rest.find("#}").map_or(self.rest.len(), |end| end + 2);
        let comment = self.take(end);
        self.written.push_str(comment);
    }

    fn print(&mut self) -> Result<(), Fault> {
        let code = self.take(tags::code_end(self.rest, "}}"));
        let written = self.rewritten(code, statements::print)?;
        self.written.push_str(&written);
        Ok(())
    }

    fn tag(&mut self) -> Result<(), Fault> {
        let code = self.take(tags::code_end(self.rest, "%}"));
        let name = tags::name(code);
        match name {
            "raw" => self.raw(code),
            "generation" => self.open_generation(code),
            "endgeneration" => self.close_generation(code),
            "break" => self.jump(code, "break")?,
            "continue" => self.jump(code, "continue")?,
            "include" | "import" | "from" | "extends" => self.load(code),
            // A Jinja2 extension that Hugging Face does not load.
            "do" => return Err(Fault::Tag { line: self.line(), tag: "do" }),
            _ => {
                let written = self.rewritten(code, statements::tag)?;
                self.statement(code, name, &written)?;
            }
        }
        Ok(())
    }

    fn statement(&mut self, code: &'a str, name: &'a str, written: &str) -> Result<(), Fault> {
        if tags::opens_block(name, code) {
            self.open(code, name, written);
            return Ok(());
        }
        match name.strip_prefix("end") {
            _ if name == "set" => self.check(written, &tags::given_fields(code)),
            Some(opened) => self.close(opened, written),
            None => {
                self.branch(name)?;
                self.written.push_str(written);
            }
        }
        Ok(())
    }

    fn branch(&mut self, name: &str) -> Result<(), Fault> {
        let Some(block) = self.open.last_mut().filter(|_| name == "elif") else {
            return Ok(());
        };
        block.branches += 1;
        if block.branches > BRANCHES { Err(Fault::Depth { line: self.line() }) } else { Ok(()) }
    }

    /// Rewrites the expressions of a tag or print.
    fn rewritten(
        &mut self,
        code: &str,
        rewrite: fn(&str) -> Result<String, Problem>,
    ) -> Result<String, Fault> {
        let (open, inner, close) = tags::parts(code);
        match rewrite(inner) {
            _ if close.is_empty() => Ok(code.to_owned()),
            Ok(inner) => Ok(format!("{open} {inner} {close}")),
            Err(Problem::Depth) => Err(Fault::Depth { line: self.line() }),
            Err(Problem::Syntax) => {
                let line = self.line();
                self.doubtful.get_or_insert(line);
                Ok(code.to_owned())
            }
        }
    }

    /// Returns the number of the current line.
    fn line(&self) -> usize {
        self.written.matches('\n').count() + 1
    }

    /// Rewrites a tag that loads another template. There are none, which is an error only when the tag is reached.
    fn load(&mut self, code: &str) {
        let (open, inner, close) = tags::parts(code);
        let lines = "\n".repeat(inner.matches('\n').count());
        let open = open.replace('%', "{");
        let close = close.replace('%', "}");
        self.written.extend([&open, " ", statements::NO_LOADER, "() ", &lines, &close]);
    }

    /// Opens a scope for the assistant's text. The inner `if` keeps the outer tag from trimming white space.
    fn open_generation(&mut self, code: &'a str) {
        let (open, _, close) = tags::parts(code);
        self.written.extend([open, " with %}{{ ", spans::START, " }}{% if true ", close]);
        self.push(Block::new("generation", code), false);
    }

    fn close_generation(&mut self, code: &str) {
        let (open, _, close) = tags::parts(code);
        self.written.extend([open, " endif %}{{ ", spans::END, " }}{% endwith ", close]);
        let _ = self.open.pop_if(|block| block.name == "generation");
    }

    /// Copies a raw block whole; the plus keeps the line feed after its tag.
    fn raw(&mut self, code: &str) {
        // Jinja2 accepts a block without an end at the end of the source.
        if self.rest.is_empty() {
            return;
        }
        match code.strip_suffix("%}").filter(|head| !head.ends_with(['-', '+'])) {
            Some(head) => self.written.extend([head, "+%}"]),
            None => self.written.push_str(code),
        }
        self.copy(end_of_raw(self.rest));
    }

    fn open(&mut self, code: &'a str, name: &'a str, written: &str) {
        let block = Block::new(name, code);
        let is_counted = block.captures() || (name == "for" && self.is_captured());
        let start = self.written.len();
        if is_counted {
            self.check(written, &[]);
        } else {
            self.written.push_str(written);
        }
        if let Some(count) = self.counts.last_mut().filter(|_| is_counted && name == "for") {
            count.all_rounds = end_of_iterable(written).map(|end| start + end);
        }
        self.push(block, is_counted);
    }

    fn is_captured(&self) -> bool {
        self.open.last().is_some_and(|block| block.is_captured)
    }

    fn push(&mut self, block: Block<'a>, is_counted: bool) {
        let around = self.open.last().and_then(|block| block.count);
        let own = self.counts.len().checked_sub(1).filter(|_| is_counted);
        let is_captured = block.captures() || self.is_captured();
        self.open.push(Block { count: own.or(around), is_captured, ..block });
    }

    fn close(&mut self, name: &str, written: &str) {
        let block = self.open.pop_if(|block| block.name == name);
        match block.filter(|block| block.name == "set") {
            Some(block) => self.check(written, &tags::bound(block.code)),
            None => self.written.push_str(written),
        }
    }

    /// Writes a tag, and keeps a place for a check of `values` directly after it, without white space between.
    fn check(&mut self, tag: &str, values: &[&str]) {
        let Some(head) = tag.strip_suffix("%}") else {
            self.written.push_str(tag);
            return;
        };
        let (head, mark) = match head.strip_suffix(['-', '+']) {
            Some(bare) => (bare, head.get(bare.len()..).unwrap_or_default()),
            None => (head, ""),
        };
        self.written.push_str(head);
        self.counts.push(Count {
            place: self.written.len(),
            all_rounds: None,
            bytes: 0,
            values: values.join(", "),
        });
        self.written.extend([mark, "%}"]);
    }

    fn jump(&mut self, code: &str, tag: &'static str) -> Result<(), Fault> {
        let inside = self.open.iter().rev().map(|block| block.name).find(|name| *name != "if");
        match inside {
            Some(inside) if inside != "for" && self.open.iter().any(|block| block.name == "for") => {
                Err(Fault::Jump { line: self.line(), tag, inside: inside.to_owned() })
            }
            _ => {
                self.written.push_str(code);
                self.leave_loop();
                Ok(())
            }
        }
    }

    /// Counts the iterations of the innermost loop one by one, because not all of them may be complete.
    fn leave_loop(&mut self) {
        let inner = self.open.iter().rev().find(|block| block.name == "for");
        if let Some(count) = inner.and_then(|inner| self.counts.get_mut(inner.count?)) {
            count.all_rounds = None;
        }
    }

    /// Copies fixed text and counts it for its body.
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

    /// Writes the checks into their places.
    fn finish(self) -> Rewritten {
        let mut finished = String::with_capacity(self.written.len() + 8 * self.counts.len());
        let mut start = 0;
        for count in &self.counts {
            let (place, check) = count.check();
            finished.push_str(self.written.get(start..place).unwrap_or_default());
            finished.push_str(&check);
            start = place;
        }
        finished.push_str(self.written.get(start..).unwrap_or_default());
        Rewritten { source: finished, doubtful: self.doubtful }
    }
}

/// Returns where the iterable of a loop's rewritten tag ends, if it is the last part of the tag.
fn end_of_iterable(tag: &str) -> Option<usize> {
    let end = tag.rfind(operators::ITERATED)? + operators::ITERATED.len();
    let rest = tag.get(end..)?.trim_start().trim_start_matches(['-', '+']);
    (rest == "%}").then_some(end)
}

/// Finds the next `{{`, `{%` or `{#`.
pub(super) fn next_code(text: &str) -> Option<usize> {
    text.match_indices('{')
        .map(|(start, _)| start)
        .find(|&start| matches!(text.as_bytes().get(start + 1), Some(b'{' | b'%' | b'#')))
}

/// Returns the length of the content of a raw block, with its closing tag.
pub(super) fn end_of_raw(text: &str) -> usize {
    text.match_indices("{%")
        .find_map(|(start, _)| {
            let tag = text.get(start..)?;
            // The name is read first: a search for the end of every tag would take quadratic time.
            if tags::name(tag) != "endraw" {
                return None;
            }
            Some(start + tag.find("%}")? + 2)
        })
        .unwrap_or(text.len())
}
