//! International bank account numbers.

use super::end_of;
use crate::redact::Pattern;

const IBAN: &str = r"[A-Za-z]{2}[0-9]{2}(?: ?[A-Za-z0-9]){11,31}";

/// How many characters an IBAN has, by its country (the registry of ISO 13616).
const LENGTHS: [(usize, &str); 18] = [
    (15, "NO"),
    (16, "BE"),
    (18, "DK FI FK FO GL NL SD"),
    (19, "MK SI"),
    (20, "AT BA EE KZ LT LU MN XK"),
    (21, "CH HR LI LV"),
    (22, "BG BH CR DE GB GE IE ME RS VA"),
    (23, "AE GI IL IQ OM SO TL"),
    (24, "AD CZ ES MD PK RO SA SE SK TN VG"),
    (25, "LY PT ST"),
    (26, "IS TR"),
    (27, "BI DJ FR GR IT MC MR SM"),
    (28, "AL AZ BY CY DO GT HU LB NI PL SV"),
    (29, "BR EG PS QA UA"),
    (30, "JO KW MU YE"),
    (31, "MT SC"),
    (32, "LC"),
    (33, "RU"),
];

/// Returns the recognizer of IBANs, with or without spaces. The country must exist, with this length, and the checksum must be valid.
///
/// ```
/// use alloquy_guards::redact::{Redactor, recognizers};
///
/// let redactor = Redactor::new([recognizers::iban()])?;
/// assert_eq!(redactor.redact("to DE89 3704 0044 0532 0130 00 please")?, "to [iban] please");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn iban() -> Pattern {
    Pattern::new("iban", IBAN).checked(length_of_iban)
}

fn length_of_iban(before: Option<char>, found: &str) -> Option<usize> {
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let country = found.get(..2)?.to_ascii_uppercase();
    let (length, _) = LENGTHS.iter().find(|(_, countries)| countries.split(' ').any(|one| one == country))?;
    let end = end_of(found, *length, is_alphanumeric)?;
    has_checksum(found.get(..end)?).then_some(end)
}

fn is_alphanumeric(character: char) -> bool {
    character.is_ascii_alphanumeric()
}

/// Returns whether the number, with its first four characters at its end and letters as 10 to 35, is 1 modulo 97 (ISO/IEC 7064).
fn has_checksum(iban: &str) -> bool {
    let characters: Vec<char> = iban.chars().filter(char::is_ascii_alphanumeric).collect();
    let rest = 4.min(characters.len());
    let (front, back) = characters.split_at(rest);
    let mut remainder = 0;
    for character in back.iter().chain(front) {
        let value = character.to_digit(36).unwrap_or(0);
        let shift = if value > 9 { 100 } else { 10 };
        remainder = (remainder * shift + value) % 97;
    }
    remainder == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::recognizers::check;

    #[test]
    fn ibans_are_found_and_other_codes_are_not() {
        let found = [
            "DE89370400440532013000",
            "DE89 3704 0044 0532 0130 00",
            "GB82 WEST 1234 5698 7654 32",
            "gb82west12345698765432",
            "FR14 2004 1010 0505 0001 3M02 606",
            "NO93 8601 1117 947",
            "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
            "CH93 0076 2011 6238 5295 7",
        ];
        let not_found = [
            "DE89370400440532013001",
            "DE89 3704 0044 0532 0130",
            "XX89370400440532013000",
            "ADE89370400440532013000",
            "DE893704004405320130001",
            "AB12 is the number of the flight",
            "e4d909c290d0fb1ca068ffaddf22cbd0",
        ];
        check(iban, &found, &not_found);
    }
}
