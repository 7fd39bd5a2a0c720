//! Phone numbers.

use crate::redact::Pattern;

/// International numbers, those of North America, and national numbers that begin with 0.
const PHONE: &str = concat!(
    r"\+[1-9](?:[ ./\-]?\(?[0-9]\)?){6,14}",
    r"|(?:\([2-9][0-9]{2}\)|[2-9][0-9]{2})[ .\-]{1,2}[2-9][0-9]{2}[ .\-][0-9]{4}",
    r"|(?:\(0[1-9][0-9]{1,4}\)|0[1-9][0-9]{1,4})[ /\-]{1,3}[0-9]{2,4}(?:[ \-]?[0-9]{1,4}){1,4}",
);

/// Returns the recognizer of phone numbers: international ones with a plus, those of North America, and national ones that begin
/// with 0 and have a space, a slash or a hyphen after the area code.
///
/// Phone numbers have no checksum, so other numbers of this form are found too.
///
/// ```
/// use alloquy_guards::redact::{Redactor, recognizers};
///
/// let redactor = Redactor::new([recognizers::phone()])?;
/// assert_eq!(redactor.redact("Call +49 30 901820 or (555) 234-5678.")?, "Call [phone] or [phone].");
/// assert_eq!(redactor.redact("On 2024-01-02 at 10:30.")?, "On 2024-01-02 at 10:30.");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn phone() -> Pattern {
    Pattern::new("phone", PHONE).checked(is_number)
}

/// A number does not begin within a word, another number or a fraction, and has 8 to 15 digits (ITU-T E.164).
fn is_number(before: Option<char>, found: &str) -> Option<usize> {
    let is_within = before.is_some_and(|before| before.is_alphanumeric() || "._-/".contains(before));
    let digits = found.chars().filter(char::is_ascii_digit).count();
    if is_within || !(8..=15).contains(&digits) {
        return None;
    }
    // A parenthesis after the number is not part of it.
    Some(found.rfind(is_digit)? + 1)
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::recognizers::check;

    #[test]
    fn numbers_are_found_and_dates_are_not() {
        let found = [
            "+49 30 901820",
            "+4930901820",
            "+1 (555) 234-5678",
            "+44 20 7946 0958",
            "(555) 234-5678",
            "555-234-5678",
            "555.234.5678",
            "030 901820",
            "0151 23456789",
            "030/901 82-0",
        ];
        let not_found = [
            "2024-01-02",
            "02.01.2024",
            "10:30",
            "1.2.3",
            "192.168.100.200",
            "3.14159265",
            "x555-234-5678",
            "+1",
            "+12 345",
            "1 + 234",
            "100 000 000",
            "978-3-16-148410-0",
            "007",
        ];
        check(phone, &found, &not_found);
    }
}
