//! Random numbers for tests that must fail the same way twice.

/// A small generator (xorshift64, Marsaglia 2003) that draws the same on every platform.
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
    /// Starts with the golden ratio's bits.
    fn default() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }
}

impl Draws {
    /// Draws a number below `limit`, or 0 where there is none.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }

    /// Draws a place where `text` can be cut.
    pub fn border(&mut self, text: &str) -> usize {
        text.floor_char_boundary(self.below(text.len() + 1))
    }

    /// Cuts `text` into pieces of at most `longest` characters, some of them empty.
    pub fn pieces<'t>(&mut self, text: &'t str, longest: usize) -> Vec<&'t str> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let length = self.below(longest + 1);
            let border = rest.char_indices().nth(length).map_or(rest.len(), |(border, _)| border);
            let (piece, behind) = rest.split_at(border);
            pieces.push(piece);
            rest = behind;
        }
        pieces
    }
}
