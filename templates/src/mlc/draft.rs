//! A prompt in progress: the texts of the template and of the conversation, and the places for descriptions of tools.
//!
//! Placeholders are looked for in the texts of the template only, never in those of the conversation.

use super::part::{Part, PartKind};

/// The placeholder of the tools.
pub(super) const FUNCTION_PLACE: &str = "{function_string}";

enum Piece {
    Text(String),
    FunctionPlace,
}

/// The parts of a prompt whose places for tools are not yet filled in.
#[derive(Default)]
pub(super) struct Draft {
    parts: Vec<(PartKind, Vec<Piece>)>,
}

impl Draft {
    /// Begins the next part.
    pub(super) fn begin(&mut self, kind: PartKind) {
        self.parts.push((kind, Vec::new()));
    }

    /// Adds a text of the template, with its places for tools.
    pub(super) fn written(&mut self, text: &str) {
        for (position, text) in text.split(FUNCTION_PLACE).enumerate() {
            if position > 0 {
                self.push(Piece::FunctionPlace);
            }
            self.said(text);
        }
    }

    /// Adds a text of the conversation, unchanged.
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

    /// Returns whether the last part is empty.
    pub(super) fn is_blank(&self) -> bool {
        self.parts.last().is_none_or(|(_, pieces)| pieces.is_empty())
    }

    /// Removes the last part.
    pub(super) fn take_back(&mut self) {
        self.parts.pop();
    }

    /// Returns whether there is a place for tools.
    pub(super) fn has_function_place(&self) -> bool {
        self.places() > 0
    }

    fn places(&self) -> usize {
        let pieces = self.parts.iter().flat_map(|(_, pieces)| pieces);
        pieces.filter(|piece| matches!(piece, Piece::FunctionPlace)).count()
    }

    /// Prints the tools at the last place for them, and nothing at the other places.
    pub(super) fn finish(self, function_string: &str) -> Vec<Part> {
        let mut places_left = self.places();
        let mut parts = Vec::with_capacity(self.parts.len());
        for (kind, pieces) in self.parts {
            let mut text = String::new();
            for piece in pieces {
                match piece {
                    Piece::Text(piece) => text.push_str(&piece),
                    Piece::FunctionPlace => {
                        places_left -= 1;
                        if places_left == 0 {
                            text.push_str(function_string);
                        }
                    }
                }
            }
            parts.push(Part { kind, text });
        }
        parts
    }
}
