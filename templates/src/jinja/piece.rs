//! A rewritten piece of an expression: its text, and what may be put behind it. Knows no grammar.

use super::operators;

/// How deep an expression may nest: each operator of a chain is a level. 567 public templates need 27.
const DEPTH: usize = 160;

/// Why an expression was not rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// Not an expression.
    Syntax,
    /// Deeper than [`DEPTH`] or [`BRACKETS`].
    Depth,
}

pub(super) type Result<T> = std::result::Result<T, Problem>;

/// What stands outermost in an expression, which decides what may follow without brackets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Outermost {
    /// A name, a literal, brackets: anything may follow.
    #[default]
    Operand,
    /// A filter: another one may follow, but no attribute or call.
    Filter,
    /// An operator: brackets first.
    Operator,
}

/// A rewritten expression.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) outermost: Outermost,
    /// Whether it is a text or a number as it stands: cheap to compare.
    pub(super) literal: bool,
    /// Whether it is part of what is there already, or spelt out: it cannot be larger than that.
    pub(super) settled: bool,
    /// Whether it is a text for sure: texts are recorded where they are made.
    pub(super) textual: bool,
    pub(super) depth: usize,
}

impl Piece {
    pub(super) fn operand(text: String, depth: usize) -> Self {
        Self { text, depth, ..Self::default() }
    }

    pub(super) fn operation(text: String, depth: usize) -> Self {
        Self { text, outermost: Outermost::Operator, depth, ..Self::default() }
    }

    pub(super) fn filter(text: String, depth: usize) -> Self {
        Self { text, outermost: Outermost::Filter, depth, ..Self::default() }
    }

    /// Puts a filter behind.
    pub(super) fn filtered(self, name: &str, arguments: &[Piece]) -> Result<Self> {
        let depth = arguments.iter().map(|argument| argument.depth).fold(self.depth, usize::max) + 1;
        let mut text = self.bracketed();
        text.extend(["|", name]);
        if !arguments.is_empty() {
            let arguments: Vec<_> = arguments.iter().map(|argument| argument.text.as_str()).collect();
            text.extend(["(", &arguments.join(", "), ")"]);
        }
        level(Self::filter(text, depth))
    }

    pub(super) fn settled(self, settled: bool) -> Self {
        Self { settled, ..self }
    }

    /// A text is settled, too.
    pub(super) fn textual(self, textual: bool) -> Self {
        Self { textual, settled: self.settled || textual, ..self }
    }

    /// As an operand or what a filter goes behind.
    pub(super) fn bracketed(self) -> String {
        match self.outermost {
            Outermost::Operator => format!("({})", self.text),
            Outermost::Operand | Outermost::Filter => self.text,
        }
    }

    /// As what an attribute, a subscript or a call goes behind.
    pub(super) fn receiver(self) -> String {
        match self.outermost {
            Outermost::Operand => self.text,
            Outermost::Operator | Outermost::Filter => format!("({})", self.text),
        }
    }
}

/// What stands between brackets.
#[derive(Debug)]
pub(super) struct Items {
    /// With the opening bracket.
    pub(super) text: String,
    /// How deep they nest.
    pub(super) depth: usize,
    /// Whether all are literal.
    pub(super) literal: bool,
}

impl Default for Items {
    fn default() -> Self {
        Self::new(String::new())
    }
}

impl Items {
    pub(super) fn new(text: String) -> Self {
        Self { text, depth: 0, literal: true }
    }

    /// Counts an item that is written otherwise.
    pub(super) fn add(&mut self, item: &Piece) {
        self.depth = self.depth.max(item.depth);
        self.literal &= item.literal;
    }

    pub(super) fn push(&mut self, item: &Piece) {
        self.add(item);
        self.text.push_str(&item.text);
    }

    /// The whole; an expression `alone` between round brackets is what it was without them.
    pub(super) fn closed(self, bracket: &str, alone: Option<Piece>) -> Result<Piece> {
        let alone = alone.unwrap_or_default();
        let whole = Piece::operand(self.text + bracket, self.depth + 1);
        let settled = self.literal || alone.settled;
        level(Piece { literal: self.literal, ..whole.settled(settled).textual(alone.textual) })
    }
}

/// Returns `piece` unless it is too deep.
pub(super) fn level(piece: Piece) -> Result<Piece> {
    match piece.depth > DEPTH {
        true => Err(Problem::Depth),
        false => Ok(piece),
    }
}

/// What a variable is given is weighed, unless it cannot be larger than what was there before.
pub(super) fn given(piece: Piece) -> Result<String> {
    let piece = if piece.settled { piece } else { piece.filtered(operators::GIVEN, &[])? };
    Ok(piece.text)
}
