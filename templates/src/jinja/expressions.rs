//! Rewrites expressions: operators that differ from Python's in the engine, or that have no bound there, become filters of this
//! crate. For example, `a + b * 2` becomes `a|__alloquy_add(b|__alloquy_multiply(2))`. Line numbers stay the same.
//!
//! Reference: the grammar of `jinja2/parser.py` of Jinja2 3.1, which the engine shares. An expression outside this grammar is
//! left to the engine's parser, and refused even if that parser accepts it.

use super::operators as names;
use super::piece::{Items, Piece, Problem, Result, given, level};
use super::tokens::{self, Kind, Token};

mod suffixes;

/// How deep brackets may nest. Each level takes the stack of a dozen functions.
const BRACKETS: usize = 40;

const COMPARISONS: [&str; 7] = ["==", "!=", "<=", ">=", "<", ">", "in"];

/// Reads the tokens of a tag or print and rewrites its expressions.
#[derive(Debug)]
pub(super) struct Expressions<'a> {
    tokens: Vec<Token<'a>>,
    /// Line feeds after the last token.
    lines: usize,
    next: usize,
    /// How many expressions contain the one that is read.
    nested: usize,
}

impl<'a> Expressions<'a> {
    pub(super) fn new(code: &'a str) -> Result<Self> {
        let (tokens, lines) = tokens::tokens(code).ok_or(Problem::Syntax)?;
        Ok(Self { tokens, lines, next: 0, nested: 0 })
    }

    /// Takes the next token if it is `text`, with the line feeds before it.
    pub(super) fn take(&mut self, text: &str) -> Option<String> {
        let token =
            self.tokens.get(self.next).filter(|token| token.kind != Kind::String && token.text == text)?;
        self.next += 1;
        Some(format!("{}{}", "\n".repeat(token.lines), token.text))
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<String> {
        self.take(text).ok_or(Problem::Syntax)
    }

    /// Takes a name.
    pub(super) fn name(&mut self) -> Result<String> {
        let token = self.peek().filter(|token| token.kind == Kind::Name).ok_or(Problem::Syntax)?;
        self.next += 1;
        Ok(format!("{}{}", "\n".repeat(token.lines), token.text))
    }

    /// Takes the tokens before the first of `ends` unchanged.
    pub(super) fn until(&mut self, ends: &[&str]) -> String {
        let mut written = String::new();
        while let Some(token) = self.peek().filter(|_| !self.is_any(ends)) {
            written.push_str(&"\n".repeat(token.lines));
            written.push_str(token.text);
            if token.kind == Kind::Name {
                written.push(' ');
            }
            self.next += 1;
        }
        written
    }

    /// Takes all remaining tokens unchanged.
    pub(super) fn rest(&mut self) -> String {
        self.until(&[])
    }

    /// Ends the code, and returns the line feeds after it.
    pub(super) fn end(&self) -> Result<String> {
        match self.peek() {
            Some(_) => Err(Problem::Syntax),
            None => Ok("\n".repeat(self.lines)),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.next >= self.tokens.len()
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).copied()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.peek().is_some_and(|token| token.kind != Kind::String && token.text == text)
    }

    fn is_any(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.is(text))
    }

    /// Rewrites one expression, or a tuple: several expressions with commas between them.
    pub(super) fn list(&mut self) -> Result<String> {
        self.tuple(Self::expression)
    }

    /// Rewrites the iterable of a loop, which ends before the loop's own `if`.
    pub(super) fn iterable(&mut self) -> Result<String> {
        let iterable = self.tuple_piece(Self::or)?;
        let builds_items = !iterable.settled && iterable.text.trim_start().starts_with(['[', '(', '{']);
        let iterable = if builds_items { iterable.filtered(names::GIVEN, &[])? } else { iterable };
        Ok(iterable.filtered(names::ITERATED, &[])?.text)
    }

    /// Rewrites one expression.
    pub(super) fn single(&mut self) -> Result<String> {
        Ok(self.expression()?.text)
    }

    /// Rewrites one expression or a tuple that is assigned to a variable.
    pub(super) fn value(&mut self) -> Result<String> {
        given(self.tuple_piece(Self::expression)?)
    }

    /// Rewrites one expression that is assigned to a variable.
    pub(super) fn single_value(&mut self) -> Result<String> {
        given(self.expression()?)
    }

    fn tuple(&mut self, item: fn(&mut Self) -> Result<Piece>) -> Result<String> {
        Ok(self.tuple_piece(item)?.text)
    }

    fn tuple_piece(&mut self, item: fn(&mut Self) -> Result<Piece>) -> Result<Piece> {
        let first = item(self)?;
        if !self.is(",") {
            return Ok(first);
        }
        let mut text = format!("({}", first.text);
        let mut depth = first.depth;
        while let Some(comma) = self.take(",") {
            text.push_str(&comma);
            if self.is_done() || self.is_any(&["=", "in", ")", "if", "recursive"]) {
                break;
            }
            let item = item(self)?;
            depth = depth.max(item.depth);
            text.push_str(&item.text);
        }
        text.push(')');
        level(Piece::operand(text, depth + 1))
    }

    fn expression(&mut self) -> Result<Piece> {
        self.nested += 1;
        if self.nested > BRACKETS {
            return Err(Problem::Depth);
        }
        let mut piece = self.or()?;
        while let Some(word) = self.take("if") {
            let test = self.or()?;
            let mut depth = piece.depth.max(test.depth);
            let mut settled = piece.settled;
            let mut text = format!("{} {word} {}", piece.bracketed(), test.bracketed());
            if let Some(word) = self.take("else") {
                let other = self.expression()?;
                depth = depth.max(other.depth);
                settled &= other.settled;
                text.extend([" ", &word, " ", &other.text]);
            }
            piece = level(Piece::operation(text, depth + 1).settled(settled))?;
        }
        self.nested -= 1;
        Ok(piece)
    }

    fn or(&mut self) -> Result<Piece> {
        self.chain(&["or"], Self::and)
    }

    fn and(&mut self) -> Result<Piece> {
        self.chain(&["and"], Self::not)
    }

    /// Rewrites a chain of operators of one rank that the engine evaluates itself.
    fn chain(&mut self, operators: &[&str], operand: fn(&mut Self) -> Result<Piece>) -> Result<Piece> {
        let mut piece = operand(self)?;
        while let Some(operator) = operators.iter().find_map(|operator| self.take(operator)) {
            let right = operand(self)?;
            let depth = piece.depth.max(right.depth) + 1;
            let settled = piece.settled && right.settled;
            piece.text.extend([" ", &operator, " ", &right.text]);
            piece = level(Piece::operation(piece.text, depth).settled(settled))?;
        }
        Ok(piece)
    }

    fn not(&mut self) -> Result<Piece> {
        let mut words = String::new();
        let mut depth = 0;
        while let Some(word) = self.take("not") {
            words.extend([word.as_str(), " "]);
            depth += 1;
            if depth > BRACKETS {
                return Err(Problem::Depth);
            }
        }
        let piece = self.compare()?;
        match depth {
            0 => Ok(piece),
            _ => level(Piece::operation(words + &piece.text, piece.depth + depth).settled(true)),
        }
    }

    /// Rewrites a comparison. The engine itself compares for equality, and evaluates chains such as `a < b < c`; values that
    /// are not literal are weighed first, because such a comparison may take long.
    fn compare(&mut self) -> Result<Piece> {
        let left = self.sum()?;
        let Some(operator) = self.comparison() else {
            return Ok(left);
        };
        let right = self.sum()?;
        if self.is_comparison() {
            return self.compare_chain(&left, &operator, right);
        }
        match operator.trim_start() {
            "==" | "!=" => {
                let is_cheap = left.literal || right.literal;
                let right = if is_cheap { right } else { right.filtered(names::WEIGHED, &[])? };
                operation(&left, &operator, right)
            }
            "in" => left.filtered(names::IN, &[with_lines(&operator, right)]),
            "<" | ">" | "<=" | ">=" => {
                let symbol = Piece::operand(format!("{:?}", operator.trim_start()), 1);
                left.filtered(names::ORDERED, &[symbol, with_lines(&operator, right)])
            }
            _ => {
                let within = left.filtered(names::IN, &[with_lines(&operator, right)])?;
                level(Piece::operation(format!("not {}", within.text), within.depth + 1))
            }
        }
    }

    fn compare_chain(&mut self, left: &Piece, operator: &str, right: Piece) -> Result<Piece> {
        let mut chain = operation(left, operator, right.filtered(names::WEIGHED, &[])?)?;
        while let Some(operator) = self.comparison() {
            let right = self.sum()?.filtered(names::WEIGHED, &[])?;
            chain = operation(&chain, &operator, right)?;
        }
        Ok(chain)
    }

    /// Returns whether a comparison follows.
    fn is_comparison(&self) -> bool {
        self.is_any(&COMPARISONS)
            || (self.is("not") && self.tokens.get(self.next + 1).is_some_and(|token| token.text == "in"))
    }

    fn comparison(&mut self) -> Option<String> {
        for operator in COMPARISONS {
            if let Some(operator) = self.take(operator) {
                return Some(operator);
            }
        }
        if self.is_comparison() { Some(format!("{} {}", self.take("not")?, self.take("in")?)) } else { None }
    }

    fn sum(&mut self) -> Result<Piece> {
        let mut piece = self.concatenation()?;
        while let Some(operator) = self.take("+").or_else(|| self.take("-")) {
            let right = self.concatenation()?;
            piece = match operator.trim_start() {
                "+" => {
                    // Only text can be added to text, so one operand decides.
                    let textual = piece.textual || right.textual;
                    piece.filtered(names::ADDED, &[with_lines(&operator, right)])?.textual(textual)
                }
                _ => operation(&piece, &operator, right)?,
            };
        }
        Ok(piece)
    }

    fn concatenation(&mut self) -> Result<Piece> {
        let piece = self.product()?;
        let mut others = Vec::new();
        while let Some(operator) = self.take("~") {
            others.push(with_lines(&operator, self.product()?));
        }
        if others.is_empty() { Ok(piece) } else { Ok(piece.filtered(names::JOINED, &others)?.textual(true)) }
    }

    fn product(&mut self) -> Result<Piece> {
        let mut piece = self.power()?;
        while let Some(operator) = ["*", "/", "//", "%"].iter().find_map(|operator| self.take(operator)) {
            let right = self.power()?;
            piece = match operator.trim_start() {
                "*" => piece.filtered(names::MULTIPLIED, &[with_lines(&operator, right)])?,
                "%" => piece.filtered(names::REMAINDER, &[with_lines(&operator, right)])?,
                _ => operation(&piece, &operator, right)?,
            };
        }
        Ok(piece)
    }

    fn power(&mut self) -> Result<Piece> {
        let mut piece = self.unary()?;
        while let Some(operator) = self.take("**") {
            let right = self.unary()?;
            piece = operation(&piece, &operator, right)?;
        }
        Ok(piece)
    }

    fn unary(&mut self) -> Result<Piece> {
        let piece = self.signed()?;
        self.filters(piece)
    }

    /// Rewrites signs with their operand: `-a.b|f` is `(-(a.b))|f`.
    fn signed(&mut self) -> Result<Piece> {
        let mut signs = Vec::new();
        while let Some(sign) = self.take("-").or_else(|| self.take("+")) {
            signs.push(sign);
            // Checked before the operand, because without one the code goes to the engine's parser, which recurses per sign.
            if signs.len() > BRACKETS {
                return Err(Problem::Depth);
            }
        }
        let mut piece = self.primary()?;
        piece = self.postfix(piece)?;
        for sign in signs.into_iter().rev() {
            let depth = piece.depth + 1;
            piece = match sign.trim_start() {
                "-" if piece.literal => {
                    let text = format!("{sign}{}", piece.bracketed());
                    level(Piece { literal: true, ..Piece::operation(text, depth) })?
                }
                "-" => with_lines(&sign, piece).filtered(names::NEGATIVE, &[])?,
                _ => with_lines(&sign, piece).filtered(names::POSITIVE, &[])?,
            };
        }
        Ok(piece)
    }

    fn primary(&mut self) -> Result<Piece> {
        let token = self.peek().ok_or(Problem::Syntax)?;
        let lines = "\n".repeat(token.lines);
        match (token.kind, token.text) {
            (Kind::String, _) => Ok(self.strings()),
            (Kind::Number, text) => {
                self.next += 1;
                Ok(Piece { literal: true, settled: true, ..Piece::operand(lines + text, 1) })
            }
            (Kind::Name, text) => {
                self.next += 1;
                let literal = matches!(text, "true" | "false" | "none" | "True" | "False" | "None");
                Ok(Piece { literal, settled: true, ..Piece::operand(lines + text, 1) })
            }
            (_, "(") => self.brackets(")"),
            (_, "[") => self.brackets("]"),
            (_, "{") => self.dict(),
            _ => Err(Problem::Syntax),
        }
    }

    /// Takes strings that follow each other as one.
    fn strings(&mut self) -> Piece {
        let mut text = String::new();
        while let Some(token) = self.peek().filter(|token| token.kind == Kind::String) {
            text.push_str(&"\n".repeat(token.lines));
            text.push_str(&tokens::respell(token.text));
            text.push(' ');
            self.next += 1;
        }
        let piece = Piece::operand(text.trim_end_matches(' ').to_owned(), 1);
        Piece { literal: true, ..piece }.textual(true)
    }

    /// Rewrites the inside of brackets: one expression, a tuple or a list.
    fn brackets(&mut self, close: &str) -> Result<Piece> {
        let mut items = self.targets_to_open().map(Items::new)?;
        let mut alone = None;
        while !self.is(close) {
            let item = self.expression()?;
            items.push(&item);
            let Some(comma) = self.take(",") else {
                alone = alone.or(Some(item)).filter(|_| close == ")");
                break;
            };
            alone = Some(Piece::default());
            items.text.extend([comma.as_str(), " "]);
        }
        let closed = self.expect(close)?;
        items.closed(&closed, alone)
    }

    /// Takes an opening bracket.
    fn targets_to_open(&mut self) -> Result<String> {
        ["(", "[", "{"].iter().find_map(|bracket| self.take(bracket)).ok_or(Problem::Syntax)
    }

    fn dict(&mut self) -> Result<Piece> {
        let mut items = self.expect("{").map(Items::new)?;
        while !self.is("}") {
            items.push(&self.read_as_key()?);
            items.text.extend([self.expect(":")?.as_str(), " "]);
            items.push(&self.expression()?);
            match self.take(",") {
                Some(comma) => items.text.extend([comma.as_str(), " "]),
                None => break,
            }
        }
        // A space keeps the brackets of nested dicts from ending the print.
        let closed = format!(" {}", self.expect("}")?);
        items.closed(&closed, None)
    }

    /// Rewrites the key or the index of an item.
    fn read_as_key(&mut self) -> Result<Piece> {
        let key = self.expression()?;
        if key.literal { Ok(key) } else { key.filtered(names::READ, &[]) }
    }
}

/// Joins two operands with an operator that the engine evaluates itself.
fn operation(left: &Piece, operator: &str, right: Piece) -> Result<Piece> {
    let depth = left.depth.max(right.depth) + 1;
    level(Piece::operation(format!("{} {operator} {}", left.text, right.bracketed()), depth).settled(true))
}

/// Moves the line feeds before an operator, which is removed, to its operand.
fn with_lines(operator: &str, mut piece: Piece) -> Piece {
    let lines = operator.matches('\n').count();
    if lines > 0 {
        piece.text.insert_str(0, &"\n".repeat(lines));
    }
    piece
}
