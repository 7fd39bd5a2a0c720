//! Recognizers: patterns of e-mail addresses, card numbers, IBANs, keys, phone numbers, and words of a list.
//!
//! They recognize forms. A checksum refuses most numbers that only look like a card or an IBAN. Names of people and postal addresses
//! have no form; a [`Scanner`](super::Scanner) finds them.

mod card;
mod email;
mod iban;
mod key;
mod phone;
mod words;

use alloquy_core::{Error, ErrorKind, Result};

use super::Pattern;

pub use card::card;
pub use email::email;
pub use iban::iban;
pub use key::key;
pub use phone::phone;
pub use words::words;

/// A recognizer and the function that creates it.
type Named = (&'static str, fn() -> Pattern);

/// The recognizers that have a name, in the order of an error message.
const NAMED: [Named; 5] = [("email", email), ("card", card), ("iban", iban), ("key", key), ("phone", phone)];

/// Returns the names of the recognizers, which [`named`] takes.
///
/// ```
/// use alloquy_guards::redact::recognizers;
///
/// assert_eq!(recognizers::names().collect::<Vec<_>>(), ["email", "card", "iban", "key", "phone"]);
/// ```
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|(name, _)| *name)
}

/// Returns the recognizer of a name.
///
/// ```
/// use alloquy_guards::redact::{Redactor, Strategy, recognizers};
///
/// let masked = recognizers::named("card")?.strategy(Strategy::Mask { keep: 4 });
/// assert_eq!(Redactor::new([masked])?.redact("4111 1111 1111 1111")?, "**** **** **** 1111");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::NotFound`] for another name, with the names that there are.
pub fn named(name: &str) -> Result<Pattern> {
    for (known, create) in NAMED {
        if known == name {
            return Ok(create());
        }
    }
    let known: Vec<_> = names().collect();
    let message = format!("there is no recognizer {name:?}, one of: {}", known.join(", "));
    Err(Error::new(ErrorKind::NotFound, message))
}

/// Returns the place in `text` after its first `count` characters that `counts`, if the next character does not continue them.
fn end_of(text: &str, count: usize, counts: fn(char) -> bool) -> Option<usize> {
    let mut seen = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        seen += usize::from(counts(character));
        if seen == count {
            let is_end = characters.peek().is_none_or(|(_, next)| !next.is_alphanumeric());
            return is_end.then_some(place + character.len_utf8());
        }
    }
    None
}

/// Checks what each recognizer finds and what it does not.
#[cfg(test)]
fn check(pattern: fn() -> Pattern, found: &[&str], not_found: &[&str]) {
    let redactor = super::Redactor::new([pattern()]).unwrap();
    let shown = format!("[{}]", pattern().name());
    for text in found {
        assert_eq!(redactor.redact(text).unwrap(), shown, "{text:?} is found");
        let among = format!("See: {text}, and ({text}) or “{text}”\n{text}");
        let redacted = format!("See: {shown}, and ({shown}) or “{shown}”\n{shown}");
        assert_eq!(redactor.redact(&among).unwrap(), redacted, "{text:?} is found among words");
    }
    for text in not_found {
        assert_eq!(redactor.redact(text).unwrap(), *text, "{text:?} is not found");
    }
}
