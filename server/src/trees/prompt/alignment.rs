//! Finds where the units of a prompt are in its text.

use std::ops::Range;

use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::TokenId;

/// The character in the place of media, in the text of a prompt.
pub(super) const MEDIA: char = '\u{FFFC}';

/// How far ahead a token is looked for.
const AHEAD: usize = 256;

/// How many bytes a token has at least that is looked for: a shorter one is everywhere.
const LONG: usize = 3;

/// Returns the place of each unit in the text, in its bytes. A unit that the text does not have is nowhere, between the others.
pub(super) fn places(
    units: &[PromptUnit],
    text: &str,
    bytes: &dyn Fn(TokenId) -> Vec<u8>,
) -> Vec<Range<usize>> {
    let text = text.as_bytes();
    let mut media = [0; 4];
    let media = MEDIA.encode_utf8(&mut media).as_bytes().to_vec();
    let mut places = Vec::with_capacity(units.len());
    let mut from = 0;
    for unit in units {
        let wanted = match unit {
            PromptUnit::Token(token) => bytes(*token),
            PromptUnit::Media(_) => media.clone(),
        };
        let place = place_of(&wanted, text, from);
        from = place.end;
        places.push(place);
    }
    places
}

fn place_of(wanted: &[u8], text: &[u8], from: usize) -> Range<usize> {
    let rest = text.get(from..).unwrap_or_default();
    if wanted.is_empty() {
        return from..from;
    }
    if rest.starts_with(wanted) {
        return from..from + wanted.len();
    }
    // Some tokenizers add a space where a text begins.
    if let Some(unspaced) = wanted.strip_prefix(b" ").filter(|unspaced| !unspaced.is_empty())
        && rest.starts_with(unspaced)
    {
        return from..from + unspaced.len();
    }
    let near = rest.get(..AHEAD).unwrap_or(rest);
    let ahead = near.windows(wanted.len()).position(|window| window == wanted);
    match ahead.filter(|_| wanted.len() >= LONG) {
        Some(ahead) => from + ahead..from + ahead + wanted.len(),
        None => from..from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tokens: &[&str], text: &str) -> Vec<Range<usize>> {
        let units: Vec<_> = (0..).zip(tokens).map(|(id, _)| PromptUnit::Token(id)).collect();
        places(&units, text, &|id| tokens[id as usize].as_bytes().to_vec())
    }

    #[test]
    fn tokens_are_found_in_their_order() {
        assert_eq!(found(&["Hel", "lo", " you"], "Hello you"), [0..3, 3..5, 5..9]);
        // One that the tokenizer adds, a space that the text lacks, and what the tokenizer has changed.
        assert_eq!(found(&["<bos>", " Hi", "!"], "Hi!"), [0..0, 0..2, 2..3]);
        assert_eq!(found(&["a", "<end>", "b"], "A<end>b"), [0..0, 1..6, 6..7]);
    }
}
