//! Rewrites what follows an operand: attributes, subscripts, calls, filters and tests.

use super::super::operators as names;
use super::super::piece::{Items, Piece, Problem, Result, given, level};
use super::super::tokens::Kind;
use super::Expressions;

/// The methods of Python's dicts: `value.items` without a call is one of them, not the key of that name.
const DICT_METHODS: [&str; 9] =
    ["items", "keys", "values", "get", "pop", "copy", "update", "clear", "setdefault"];

/// Filters that return a text and record it in the ledger.
#[rustfmt::skip]
const TEXT_FILTERS: [&str; 8] = ["capitalize", "lower", "replace", "string", "title", "tojson", "trim", "upper"];

impl Expressions<'_> {
    pub(super) fn postfix(&mut self, mut piece: Piece) -> Result<Piece> {
        loop {
            piece = if self.is(".") {
                self.attribute(piece)?
            } else if self.is("[") {
                self.subscript(piece)?
            } else if self.is("(") {
                self.call(piece)?
            } else {
                return Ok(piece);
            };
        }
    }

    fn call(&mut self, called: Piece) -> Result<Piece> {
        let arguments = self.in_brackets(given)?;
        let depth = called.depth.max(arguments.depth) + 1;
        let settled = arguments.literal && called.text == "namespace";
        level(Piece::operand(called.receiver() + &arguments.text, depth).settled(settled))
    }

    fn attribute(&mut self, piece: Piece) -> Result<Piece> {
        let dot = self.expect(".")?;
        let token = self.peek().filter(|token| matches!(token.kind, Kind::Name | Kind::Number));
        let token = token.ok_or(Problem::Syntax)?;
        self.next += 1;
        if DICT_METHODS.contains(&token.text) && !self.is("(") {
            let name = Piece::operand(format!("{}{:?}", "\n".repeat(token.lines), token.text), 1);
            return piece.filtered(names::METHOD, &[name]);
        }
        let depth = piece.depth + 1;
        let settled = piece.settled;
        let text = format!("{}{dot}{}{}", piece.receiver(), "\n".repeat(token.lines), token.text);
        level(Piece::operand(text, depth).settled(settled))
    }

    fn subscript(&mut self, piece: Piece) -> Result<Piece> {
        let mut depth = piece.depth;
        let settled = piece.settled;
        let mut is_slice = false;
        let mut text = self.expect("[")?;
        while !self.is("]") {
            if let Some(colon) = self.take(":") {
                text.push_str(&colon);
                is_slice = true;
                continue;
            }
            let index = self.read_as_key()?;
            depth = depth.max(index.depth);
            text.push_str(&index.text);
        }
        text.push_str(&self.expect("]")?);
        let piece = if is_slice { piece.filtered(names::READ, &[])? } else { piece };
        depth = depth.max(piece.depth);
        let piece = Piece::operand(piece.receiver() + &text, depth + 1);
        let piece = if is_slice { piece.filtered(names::SLICED, &[])? } else { level(piece)? };
        Ok(piece.settled(settled))
    }

    /// Rewrites the arguments of a filter or a test, with their brackets.
    fn arguments(&mut self) -> Result<Items> {
        self.in_brackets(|argument| Ok(argument.text))
    }

    /// Rewrites the arguments of a call or the defaults of a signature. Each may become the value of a variable.
    pub(in crate::jinja) fn parameters(&mut self) -> Result<String> {
        Ok(self.in_brackets(given)?.text)
    }

    fn in_brackets(&mut self, written: fn(Piece) -> Result<String>) -> Result<Items> {
        let mut items = self.expect("(").map(Items::new)?;
        while !self.is(")") {
            if let Some(stars) = self.take("**").or_else(|| self.take("*")) {
                items.text.push_str(&stars);
            }
            let mut argument = self.expression()?;
            if let Some(equals) = self.take("=") {
                items.text.extend([argument.text, equals]);
                argument = self.expression()?;
            }
            items.add(&argument);
            items.text.push_str(&written(argument)?);
            match self.take(",") {
                Some(comma) => items.text.extend([comma.as_str(), " "]),
                None => break,
            }
        }
        items.text.push_str(&self.expect(")")?);
        Ok(items)
    }

    pub(super) fn filters(&mut self, mut piece: Piece) -> Result<Piece> {
        loop {
            if let Some(pipe) = self.take("|") {
                let depth = piece.depth + 1;
                let settled = piece.settled;
                let mut text = piece.bracketed() + &pipe;
                let name = text.len();
                let arguments = self.filter(&mut text)?;
                let (settled, textual) = filtered(text.get(name..).unwrap_or_default(), settled, &arguments);
                let filtered = Piece::filter(text, depth.max(arguments.depth + 1)).settled(settled);
                piece = level(filtered.textual(textual))?;
            } else if let Some(word) = self.take("is") {
                piece = self.test(piece, &word)?;
            } else if self.is("(") {
                piece = self.call(piece)?;
            } else {
                return Ok(piece);
            }
        }
    }

    /// Appends a filter's name and arguments to `text`, and returns the arguments.
    pub(in crate::jinja) fn filter(&mut self, text: &mut String) -> Result<Items> {
        text.push_str(&self.dotted()?);
        let arguments = if self.is("(") { self.arguments()? } else { Items::default() };
        text.push_str(&arguments.text);
        Ok(arguments)
    }

    fn dotted(&mut self) -> Result<String> {
        let mut name = self.name()?;
        while let Some(dot) = self.take(".") {
            name.extend([dot, self.name()?]);
        }
        Ok(name)
    }

    fn test(&mut self, piece: Piece, word: &str) -> Result<Piece> {
        let mut depth = piece.depth;
        // In brackets, because the engine takes a sign after the test for its argument: `x is defined - 1`.
        let mut text = format!("({} {word} ", piece.bracketed());
        if let Some(word) = self.take("not") {
            text.extend([word.as_str(), " "]);
        }
        text.push_str(&self.dotted()?);
        if self.is("(") {
            let arguments = self.arguments()?;
            depth = depth.max(arguments.depth);
            text.push_str(&arguments.text);
        } else if self.begins_argument() {
            let argument = self.primary()?;
            let argument = self.postfix(argument)?;
            depth = depth.max(argument.depth);
            text.extend(["(", &argument.text, ")"]);
        }
        text.push(')');
        level(Piece::operand(text, depth + 1))
    }

    fn begins_argument(&self) -> bool {
        let is_word = self.is_any(&["else", "or", "and", "is"]);
        self.peek().is_some_and(|token| match token.kind {
            Kind::Name => !is_word,
            Kind::Number | Kind::String => true,
            Kind::Operator => matches!(token.text, "[" | "{"),
        })
    }
}

/// Returns whether the result of a filter is settled, and whether it is a text. `filter` is its name with its arguments;
/// `settled` says whether its operand is settled.
fn filtered(filter: &str, settled: bool, arguments: &Items) -> (bool, bool) {
    let name = filter.split('(').next().unwrap_or_default().trim();
    match name {
        "length" | "count" => (true, false),
        "default" | "d" => (settled && arguments.literal, false),
        "first" | "last" => (settled, false),
        _ => (false, TEXT_FILTERS.contains(&name)),
    }
}
