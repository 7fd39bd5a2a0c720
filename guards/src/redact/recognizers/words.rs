//! The words of a list, for a content filter.

use alloquy_core::{Error, ErrorKind, Result};

use crate::redact::Pattern;

/// How many words a list may have.
const MOST: usize = 10_000;

/// Returns a pattern of words and phrases, whole and whatever their case.
///
/// The words are literal. A word is found as it is written, so a look-alike letter or a space within it hides it.
///
/// ```
/// use alloquy_guards::redact::{Redactor, Strategy, recognizers};
///
/// let filter = recognizers::words("secret project", ["Bluebird", "blue bird"])?;
/// let redactor = Redactor::new([filter.clone()])?;
/// assert_eq!(redactor.redact("BLUEBIRD, bluebirds")?, "[secret project], bluebirds");
///
/// let blocking = Redactor::new([filter.strategy(Strategy::Block)])?;
/// assert!(blocking.redact("A blue bird.").is_err());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`] for a list without words, with an empty word, or with more than 10,000.
pub fn words(name: impl Into<String>, list: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Pattern> {
    let mut cases = Vec::new();
    for word in list {
        let word = word.as_ref().trim();
        if word.is_empty() {
            return Err(invalid("a word of the list is empty: remove it".to_owned()));
        }
        let begins = if word.starts_with(char::is_alphanumeric) { r"\b" } else { "" };
        let ends = if word.ends_with(char::is_alphanumeric) { r"\b" } else { "" };
        cases.push(format!("{begins}{}{ends}", regex_syntax::escape(word)));
    }
    if cases.is_empty() || cases.len() > MOST {
        return Err(invalid(format!("the list has {} words: it needs 1 to {MOST}", cases.len())));
    }
    // Of two words with the same beginning the longer one is tried first.
    cases.sort_by_key(|case| std::cmp::Reverse(case.len()));
    Ok(Pattern::new(name, format!("(?i)(?:{})", cases.join("|"))))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redactor;

    #[test]
    fn whole_words_are_found_in_any_case() {
        let pattern = words("list", ["Ärger", "c++", "new york", "new york city"]).unwrap();
        let redactor = Redactor::new([pattern]).unwrap();
        assert_eq!(redactor.redact("ärger ÄRGER Ärgernis").unwrap(), "[list] [list] Ärgernis");
        assert_eq!(redactor.redact("C++, New York City!").unwrap(), "[list], [list]!");
        assert_eq!(redactor.redact("c+ new yorker").unwrap(), "c+ new yorker");
    }

    #[test]
    fn lists_without_words_are_refused() {
        assert!(words("list", Vec::<String>::new()).is_err());
        assert!(words("list", ["a", " "]).is_err());
    }
}
