//! Whether units that differ are the same words in other tokens. Decides nothing.

use crate::prompt::Unit;
use crate::tokenizer::Tokenizer;

/// Says whether two sequences begin with the same text up to where a token ends in both. Control tokens are no text.
pub(super) fn spells_alike(left: &[Unit], right: &[Unit], tokenizer: &dyn Tokenizer) -> bool {
    let (mut left, mut right) = (Spelled::new(left, tokenizer), Spelled::new(right, tokenizer));
    loop {
        let shorter = if left.text.len() <= right.text.len() { &mut left } else { &mut right };
        if !shorter.read() {
            return false;
        }
        let common = left.text.len().min(right.text.len());
        if left.text.get(..common) != right.text.get(..common) {
            return false;
        }
        if common > 0 && left.text.len() == right.text.len() {
            return true;
        }
    }
}

/// A sequence with the text of what was read of it.
struct Spelled<'a> {
    rest: std::slice::Iter<'a, Unit>,
    tokenizer: &'a dyn Tokenizer,
    text: Vec<u8>,
}

impl<'a> Spelled<'a> {
    fn new(units: &'a [Unit], tokenizer: &'a dyn Tokenizer) -> Self {
        Self { rest: units.iter(), tokenizer, text: Vec::new() }
    }

    /// Reads one more token; false where none with text follows.
    fn read(&mut self) -> bool {
        let Some(&Unit::Token(token)) = self.rest.next() else { return false };
        let is_special = self.tokenizer.specials().iter().any(|special| special.id == token);
        let bytes = self.tokenizer.bytes(token).filter(|_| !is_special);
        self.text.extend_from_slice(bytes.as_deref().unwrap_or_default());
        bytes.is_some()
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::Result;
    use crate::testing::ByteTokenizer;
    use crate::tokenizer::{Detokenizer, Piece, SpecialToken, TokenId};

    /// Bytes, and tokens for two letters: `ab` is 1000, `bc` is 1001.
    #[derive(Debug)]
    struct Pairs(ByteTokenizer);

    impl Tokenizer for Pairs {
        fn specials(&self) -> &[SpecialToken] {
            self.0.specials()
        }

        fn encode(&self, pieces: &[Piece<'_>]) -> Result<Vec<TokenId>> {
            self.0.encode(pieces)
        }

        fn bytes(&self, token: TokenId) -> Option<Vec<u8>> {
            match token {
                1000 => Some(b"ab".to_vec()),
                1001 => Some(b"bc".to_vec()),
                token => self.0.bytes(token),
            }
        }

        fn detokenizer(&self) -> Box<dyn Detokenizer> {
            self.0.detokenizer()
        }
    }

    #[test]
    fn words_are_the_same_where_a_token_ends_in_both() {
        let tokenizer = Pairs(ByteTokenizer::new(["<end>"]));
        let end: Vec<_> = tokenizer.specials().iter().map(|special| special.id).collect();
        let [a, b, c] = [b'a', b'b', b'c'].map(u32::from);
        let alike = |left: &[TokenId], right: &[TokenId]| {
            let units = |tokens: &[TokenId]| tokens.iter().copied().map(Unit::Token).collect::<Vec<_>>();
            spells_alike(&units(left), &units(right), &tokenizer)
        };
        assert!(alike(&[1000, c], &[a, b, b]));
        assert!(alike(&[1000, c], &[a, 1001]));
        assert!(!alike(&[1000], &[a, c]), "they begin with one letter");
        assert!(!alike(&[1000], &[a]), "no token ends with it in both");
        assert!(!alike(&end, &"<end>".bytes().map(u32::from).collect::<Vec<_>>()), "one is no text");
        assert!(!alike(&[], &[a]));
    }
}
