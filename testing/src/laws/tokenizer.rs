//! What every tokenizer must do.
//!
//! ```
//! use alloquy_testing::{ByteTokenizer, laws};
//!
//! laws::tokenizer::all(&ByteTokenizer::new(["<end>"]), &["Hello", " <end> 🦀"]);
//! ```

use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput, decode};

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

/// The bytes of a text's tokens are the text, also after another text.
///
/// # Panics
/// When the law is broken.
pub fn bytes_join_to_the_text(tokenizer: &dyn Tokenizer, text: &str) {
    let before = TokenizerInput::Literal("\n");
    let known = tokens(tokenizer, &[before]).len();
    let whole = tokens(tokenizer, &[before, TokenizerInput::Literal(text)]);
    let tokens = whole.get(known..).unwrap_or_default();
    let joined: Vec<u8> = tokens.iter().flat_map(|&token| bytes(tokenizer, token)).collect();
    assert_eq!(String::from_utf8_lossy(&joined), *text, "the bytes of {tokens:?} are not those of the text");
    let read = decode(tokenizer, &whole).unwrap_or_else(|error| panic!("{text:?}: {error:#}"));
    assert!(read.ends_with(text), "{text:?} is decoded as {read:?} after another text");
}

/// An added token has the bytes of its text, and a number without a token has no bytes.
///
/// # Panics
/// When the law is broken.
pub fn added_tokens_have_their_texts_bytes(tokenizer: &dyn Tokenizer) {
    for special in tokenizer.specials() {
        let read = decode(tokenizer, &[special.id]).unwrap_or_else(|error| panic!("{special:?}: {error:#}"));
        let bytes = bytes(tokenizer, special.id);
        assert!(
            bytes.ends_with(read.as_bytes()),
            "{special:?} is decoded as {read:?} and has the bytes {bytes:?}"
        );
    }
    assert_eq!(tokenizer.bytes(TokenId::MAX), None, "the largest number is a token");
}

fn tokens(tokenizer: &dyn Tokenizer, pieces: &[TokenizerInput<'_>]) -> Vec<TokenId> {
    tokenizer.encode(pieces).unwrap_or_else(|error| panic!("{pieces:?}: {error:#}"))
}

fn bytes(tokenizer: &dyn Tokenizer, token: TokenId) -> Vec<u8> {
    tokenizer.bytes(token).unwrap_or_else(|| panic!("token {token} of the vocabulary has no bytes"))
}
