//! A rewritten piece of an expression: its text, and what may follow it without brackets.

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

/// The outermost part of an expression, which decides what may follow without brackets.
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
    /// Whether it is a literal text or number, which is cheap to compare.
    pub(super) literal: bool,
    /// Whether it is a literal or part of an existing value, so that it is not larger than that.
    pub(super) settled: bool,
    /// Whether it is certainly a text. Texts are recorded when they are created.
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

    /// Appends a filter.
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

    /// Sets whether it is a text. A text is settled, too.
    pub(super) fn textual(self, textual: bool) -> Self {
        Self { textual, settled: self.settled || textual, ..self }
    }

    /// Returns its text as an operand, or for a filter to follow.
    pub(super) fn bracketed(self) -> String {
        match self.outermost {
            Outermost::Operator => format!("({})", self.text),
            Outermost::Operand | Outermost::Filter => self.text,
        }
    }

    /// Returns its text for an attribute, a subscript or a call to follow.
    pub(super) fn receiver(self) -> String {
        match self.outermost {
            Outermost::Operand => self.text,
            Outermost::Operator | Outermost::Filter => format!("({})", self.text),
        }
    }
}

/// The items between brackets.
#[derive(Debug)]
pub(super) struct Items {
    /// Their text, with the opening bracket.
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

    /// Counts an item whose text the caller writes.
    pub(super) fn add(&mut self, item: &Piece) {
        self.depth = self.depth.max(item.depth);
        self.literal &= item.literal;
    }

    pub(super) fn push(&mut self, item: &Piece) {
        self.add(item);
        self.text.push_str(&item.text);
    }

    /// Ends the items. A single expression `alone` between round brackets keeps its properties.
    pub(super) fn closed(self, bracket: &str, alone: Option<Piece>) -> Result<Piece> {
        let alone = alone.unwrap_or_default();
        let whole = Piece::operand(self.text + bracket, self.depth + 1);
        let settled = self.literal || alone.settled;
        level(Piece { literal: self.literal, ..whole.settled(settled).textual(alone.textual) })
    }
}

/// Returns `piece` unless it is too deep.
pub(super) fn level(piece: Piece) -> Result<Piece> {
    if piece.depth > DEPTH { Err(Problem::Depth) } else { Ok(piece) }
}

/// Returns the text of a value that is assigned to a variable. It is weighed unless it is settled.
pub(super) fn given(piece: Piece) -> Result<String> {
    let piece = if piece.settled { piece } else { piece.filtered(operators::GIVEN, &[])? };
    Ok(piece.text)
}
