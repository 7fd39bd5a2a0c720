//! E-mail addresses.

use crate::redact::Pattern;

/// The name may have letters of Latin, Greek and Cyrillic. The domain has at least two labels, and ends in letters.
const EMAIL: &str =
    r"[A-Za-z0-9À-ɏͰ-ӿ._%+'\-]{1,64}@(?:[A-Za-z0-9À-ɏͰ-ӿ\-]{1,63}\.){1,8}[A-Za-zÀ-ɏͰ-ӿ]{2,24}";

/// Endings of file names that look like addresses, such as `logo@2x.png`.
const FILES: [&str; 7] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".js"];

/// Returns the recognizer of e-mail addresses.
///
/// ```
/// use alloquy_guards::redact::{Redactor, recognizers};
///
/// let redactor = Redactor::new([recognizers::email()])?;
/// assert_eq!(redactor.redact("ann.lee+tea@mail.example.org or @ann")?, "[email] or @ann");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn email() -> Pattern {
    Pattern::new("email", EMAIL).checked(is_address)
}

fn is_address(_: Option<char>, found: &str) -> Option<usize> {
    let is_file = FILES.iter().any(|ending| found.ends_with(ending));
    (!is_file).then_some(found.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::recognizers::check;

    #[test]
    fn addresses_are_found_and_other_texts_are_not() {
        let found = [
            "ann@example.org",
            "ann.lee+tea@mail.example.co.uk",
            "ANN_LEE%x@EXAMPLE.COM",
            "o'neil@example.org",
            "jürgen@bücher.example",
            "иван@пример.рф",
            "a@b-c.io",
            "1234567890@example.museum",
        ];
        let not_found = [
            "@ann",
            "ann@localhost",
            "ann @ example.org",
            "user@10.0.0.1",
            "logo@2x.png",
            "lib@1.2.js",
            "a@b",
            "see example.org",
            "5 apples @ 2.50",
            "git@github",
            "@media print",
        ];
        check(email, &found, &not_found);
    }

    #[test]
    fn an_address_among_characters_without_spaces() {
        let redactor = crate::redact::Redactor::new([email()]).unwrap();
        assert_eq!(redactor.redact("请联系ann@example.org谢谢").unwrap(), "请联系[email]谢谢");
        assert_eq!(redactor.redact("mailto:ann@example.org?subject=x").unwrap(), "mailto:[email]?subject=x");
        assert_eq!(redactor.redact("key=ann@example.org;").unwrap(), "key=[email];");
    }
}
