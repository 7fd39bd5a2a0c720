//! What every tokenizer must do.
//!
//! ```
//! use alloquy_testing::{ByteTokenizer, laws};
//!
//! laws::tokenizer::all(&ByteTokenizer::new(["<end>"]), &["Hello", " <end> 🦀"]);
//! ```

use alloquy_core::tokenizer::{Piece, TokenId, Tokenizer, decode};

/// Runs every law with these texts.
///
/// # Panics
/// When a law is broken.
pub fn all(tokenizer: &dyn Tokenizer, texts: &[&str]) {
    for text in texts {
        bytes_join_to_the_text(tokenizer, text);
    }
    added_tokens_have_their_texts_bytes(tokenizer);
}

/// Behind another text, the bytes of a text's tokens are the text.
///
/// # Panics
/// When the law is broken.
pub fn bytes_join_to_the_text(tokenizer: &dyn Tokenizer, text: &str) {
    let before = Piece::Literal("\n");
    let encode =
        |pieces: &[Piece<'_>]| tokenizer.encode(pieces).unwrap_or_else(|error| panic!("{text:?}: {error:#}"));
    let known = encode(&[before]).len();
    let whole = encode(&[before, Piece::Literal(text)]);
    let tokens = whole.get(known..).unwrap_or_default();
    let joined: Vec<u8> = tokens.iter().flat_map(|&token| bytes(tokenizer, token)).collect();
    assert_eq!(String::from_utf8_lossy(&joined), *text, "the bytes of {tokens:?} are not those of the text");
    let read = decode(tokenizer, &whole).unwrap_or_else(|error| panic!("{text:?}: {error:#}"));
    assert!(read.ends_with(text), "{text:?} reads {read:?} behind another text");
}

/// An added token stands for its text, and a number without a token for nothing.
///
/// # Panics
/// When the law is broken.
pub fn added_tokens_have_their_texts_bytes(tokenizer: &dyn Tokenizer) {
    for special in tokenizer.specials() {
        let read = decode(tokenizer, &[special.id]).unwrap_or_else(|error| panic!("{special:?}: {error:#}"));
        let bytes = bytes(tokenizer, special.id);
        assert!(
            bytes.ends_with(read.as_bytes()),
            "{special:?} is decoded as {read:?} and stands for {bytes:?}"
        );
    }
    assert_eq!(tokenizer.bytes(TokenId::MAX), None, "the largest number stands for a token");
}

fn bytes(tokenizer: &dyn Tokenizer, token: TokenId) -> Vec<u8> {
    tokenizer.bytes(token).unwrap_or_else(|| panic!("token {token} of the vocabulary has no bytes"))
}
