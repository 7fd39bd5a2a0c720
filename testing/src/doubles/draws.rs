//! Pseudorandom numbers for tests that must fail the same way twice.

/// A small generator (xorshift64, Marsaglia 2003) that draws the same numbers on every platform and in every run.
///
/// ```
/// use alloquy_testing::Draws;
///
/// let mut draws = Draws::default();
/// assert!(draws.below(6) < 6);
/// assert_eq!(draws.below(0), 0);
/// ```
#[derive(Clone, Debug)]
pub struct Draws(u64);

impl Default for Draws {
    /// Starts with the bits of the golden ratio.
    fn default() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }
}

impl Draws {
    /// Draws a number below `limit`, or 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }

    /// Draws a character boundary of `text`.
    pub fn border(&mut self, text: &str) -> usize {
        text.floor_char_boundary(self.below(text.len() + 1))
    }

    /// Cuts `text` into pieces of at most `longest` characters, some of them empty.
    pub fn pieces<'t>(&mut self, text: &'t str, longest: usize) -> Vec<&'t str> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let length = self.below(longest + 1);
            let border = rest.char_indices().nth(length).map_or(rest.len(), |(border, _)| border);
            let (piece, after) = rest.split_at(border);
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}
