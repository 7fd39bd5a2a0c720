//! Finds the variables that an expression reads.

use super::super::tokens::{Kind, Token};

/// Words of expressions that are no variables.
const WORDS: [&str; 13] =
    ["and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None"];

/// Functions that every text has. A variable may have such a name if it is not called.
const FUNCTIONS: [&str; 8] =
    ["range", "dict", "namespace", "joiner", "cycler", "lipsum", "raise_exception", "strftime_now"];

/// What `loop` knows about itself, which is no part of a value.
const COUNTERS: [&str; 8] = ["index", "index0", "revindex", "revindex0", "first", "last", "length", "depth"];

/// The function that renders another prompt.
pub(super) const PROMPT_REF: &str = "prompt_ref";

/// A variable that an expression reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read<'a> {
    pub(super) name: &'a str,
    /// Whether the variable may become a part of the result. One in a condition does not: `b` of `a if b else c`.
    pub(super) flows: bool,
}

/// Returns the variables that an expression reads, in order.
pub(super) fn read<'a>(tokens: &[Token<'a>]) -> Vec<Read<'a>> {
    let mut reader = Reader::default();
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| tokens.get(before));
        reader.step(before, *token, tokens.get(index + 1..).unwrap_or_default());
    }
    reader.found
}

/// Returns the names of the variables whose values may become a part of the result.
pub(super) fn flowing<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    read(tokens).into_iter().filter(|read| read.flows).map(|read| read.name).collect()
}

/// Returns whether an expression calls something.
pub(super) fn has_call(tokens: &[Token<'_>]) -> bool {
    tokens.windows(2).any(|pair| match pair {
        [callee, open] => is(open, "(") && (callee.kind == Kind::Name || is(callee, ")") || is(callee, "]")),
        _ => false,
    })
}

/// Returns whether a token is this operator or word.
pub(super) fn is(token: &Token<'_>, text: &str) -> bool {
    token.kind != Kind::String && token.text == text
}

/// Returns whether a name is a variable's and no word of the language.
pub(super) fn is_variable(token: &Token<'_>) -> bool {
    token.kind == Kind::Name && !WORDS.contains(&token.text)
}

/// Splits at each `separator` outside brackets.
pub(super) fn split<'t, 'a>(tokens: &'t [Token<'a>], separator: &str) -> Vec<&'t [Token<'a>]> {
    let mut parts = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    for (index, token) in tokens.iter().enumerate() {
        depth = depth_after(depth, token);
        if depth == 0 && is(token, separator) {
            parts.push(tokens.get(start..index).unwrap_or_default());
            start = index + 1;
        }
    }
    parts.push(tokens.get(start..).unwrap_or_default());
    parts
}

/// Returns the depth of brackets after a token.
pub(super) fn depth_after(depth: usize, token: &Token<'_>) -> usize {
    match (token.kind, token.text) {
        (Kind::Operator, "(" | "[" | "{") => depth + 1,
        (Kind::Operator, ")" | "]" | "}") => depth.saturating_sub(1),
        _ => depth,
    }
}

#[derive(Default)]
struct Reader<'a> {
    found: Vec<Read<'a>>,
    depth: usize,
    /// The depths of the conditions that are open: after `if`, before its `else`.
    conditions: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn step(&mut self, before: Option<&Token<'a>>, token: Token<'a>, after: &[Token<'a>]) {
        match (token.kind, token.text) {
            (Kind::Operator, _) => self.operator(&token),
            (Kind::Name, "if") => self.conditions.push(self.depth),
            (Kind::Name, "else") => self.end_condition(),
            (Kind::Name, _) if is_variable(&token) => self.name(before, token, after),
            _ => {}
        }
    }

    fn operator(&mut self, token: &Token<'_>) {
        self.depth = depth_after(self.depth, token);
        let least = if token.text == "," { self.depth } else { self.depth + 1 };
        while self.conditions.pop_if(|depth| *depth >= least).is_some() {}
    }

    /// Ends the innermost condition of this depth.
    fn end_condition(&mut self) {
        let depth = self.depth;
        self.conditions.pop_if(|condition| *condition == depth);
    }

    fn name(&mut self, before: Option<&Token<'a>>, token: Token<'a>, after: &[Token<'a>]) {
        // Names after these are those of fields, filters and tests.
        let is_other = before.is_some_and(|before| is(before, ".") || is(before, "|") || is(before, "is"));
        if is_other || is_argument(self.depth, after) {
            return;
        }
        let next = after.first();
        let is_called = next.is_some_and(|next| is(next, "("));
        if is_called && (FUNCTIONS.contains(&token.text) || token.text == PROMPT_REF) {
            return;
        }
        let counts = token.text == "loop"
            && next.is_some_and(|next| is(next, "."))
            && after.get(1).is_some_and(|field| COUNTERS.contains(&field.text));
        self.found.push(Read { name: token.text, flows: self.conditions.is_empty() && !counts });
    }
}

/// Returns whether a name is that of an argument: `a` of `f(a=b)`.
fn is_argument(depth: usize, after: &[Token<'_>]) -> bool {
    depth > 0 && after.first().is_some_and(|next| is(next, "="))
}

/// A call of `prompt_ref`.
#[derive(Debug)]
pub(super) struct Reference<'a> {
    /// Where its name is in the code, in bytes.
    pub(super) start: usize,
    /// Where its arguments start, after the bracket.
    pub(super) inside: usize,
    /// The token that names the prompt, if it is a literal.
    pub(super) literal: Option<&'a str>,
    /// The arguments by name, with the variables that each may contain.
    pub(super) arguments: Vec<(&'a str, Vec<&'a str>)>,
    /// Whether it is the whole expression.
    pub(super) is_whole: bool,
}

/// Returns the calls of `prompt_ref` in an expression, in order.
pub(super) fn references<'a>(tokens: &[Token<'a>]) -> Vec<Reference<'a>> {
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let is_field = index > 0 && tokens.get(index - 1).is_some_and(|before| is(before, "."));
        let Some(open) = tokens.get(index + 1).filter(|open| is(open, "(")) else { continue };
        if is_field || !is(token, PROMPT_REF) {
            continue;
        }
        let inner = tokens.get(index + 2..).unwrap_or_default();
        let end = end_of_brackets(inner);
        let arguments = split(inner.get(..end).unwrap_or_default(), ",");
        found.push(Reference {
            start: token.start,
            inside: open.start + 1,
            literal: arguments.first().and_then(|first| literal(first)),
            arguments: arguments.iter().filter_map(|argument| named(argument)).collect(),
            is_whole: index == 0 && index + 2 + end + 1 == tokens.len(),
        });
    }
    found
}

/// Returns where the bracket closes that is open before these tokens.
fn end_of_brackets(tokens: &[Token<'_>]) -> usize {
    let mut depth = 1;
    for (index, token) in tokens.iter().enumerate() {
        depth = depth_after(depth, token);
        if depth == 0 {
            return index;
        }
    }
    tokens.len()
}

fn literal<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    match tokens {
        [token] if token.kind == Kind::String => Some(token.text),
        _ => None,
    }
}

fn named<'a>(tokens: &[Token<'a>]) -> Option<(&'a str, Vec<&'a str>)> {
    match tokens {
        [name, equals, value @ ..] if name.kind == Kind::Name && is(equals, "=") => {
            Some((name.text, flowing(value)))
        }
        _ => None,
    }
}
