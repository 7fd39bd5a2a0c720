//! A prompt on its way: what a template wrote, what the conversation said, and where descriptions of tools may go.
//!
//! The two kinds of text never mix: only what the template wrote is looked through for placeholders.

use super::part::{Part, PartKind};

/// Where a template wants the tools.
pub(super) const FUNCTION_PLACE: &str = "{function_string}";

enum Piece {
    Text(String),
    FunctionPlace,
}

/// The parts of a prompt, their places for tools not yet filled.
#[derive(Default)]
pub(super) struct Draft {
    parts: Vec<(PartKind, Vec<Piece>)>,
}

impl Draft {
    /// Begins the next part.
    pub(super) fn begin(&mut self, kind: PartKind) {
        self.parts.push((kind, Vec::new()));
    }

    /// Adds what the template wrote, its places for tools being places.
    pub(super) fn written(&mut self, text: &str) {
        for (position, text) in text.split(FUNCTION_PLACE).enumerate() {
            if position > 0 {
                self.push(Piece::FunctionPlace);
            }
            self.said(text);
        }
    }

    /// Adds what somebody said, whatever it says.
    pub(super) fn said(&mut self, text: &str) {
        if !text.is_empty() {
            self.push(Piece::Text(text.to_owned()));
        }
    }

    fn push(&mut self, piece: Piece) {
        if let Some((_, pieces)) = self.parts.last_mut() {
            pieces.push(piece);
        }
    }

    /// Says whether the part that was begun last has nothing in it.
    pub(super) fn is_blank(&self) -> bool {
        self.parts.last().is_none_or(|(_, pieces)| pieces.is_empty())
    }

    /// Takes the part that was begun last back.
    pub(super) fn take_back(&mut self) {
        self.parts.pop();
    }

    /// Says whether there is a place for tools.
    pub(super) fn has_function_place(&self) -> bool {
        self.places() > 0
    }

    fn places(&self) -> usize {
        let pieces = self.parts.iter().flat_map(|(_, pieces)| pieces);
        pieces.filter(|piece| matches!(piece, Piece::FunctionPlace)).count()
    }

    /// Prints the tools at the last place for them, and nothing at the others.
    pub(super) fn finish(self, function_string: &str) -> Vec<Part> {
        let mut places = self.places();
        let mut text_of = |piece| match piece {
            Piece::Text(text) => text,
            Piece::FunctionPlace => {
                places -= 1;
                if places == 0 { function_string.to_owned() } else { String::new() }
            }
        };
        let mut finish = |(kind, pieces): (PartKind, Vec<Piece>)| Part {
            kind,
            text: pieces.into_iter().map(&mut text_of).collect(),
        };
        self.parts.into_iter().map(&mut finish).collect()
    }
}
