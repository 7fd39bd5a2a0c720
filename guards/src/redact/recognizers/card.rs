//! Numbers of payment cards.

use super::end_of;
use crate::redact::Pattern;

/// Up to 20 digits, one more than a card has, so that a longer number is not taken for a card.
const CARD: &str = r"[0-9](?:[ \-]?[0-9]){12,19}";

/// Returns the recognizer of card numbers of 13 to 19 digits, with or without spaces and hyphens.
///
/// A number must begin as those of a card network do, have as many digits, and have a valid check digit (Luhn's algorithm).
///
/// ```
/// use alloquy_guards::redact::{Redactor, recognizers};
///
/// let redactor = Redactor::new([recognizers::card()])?;
/// assert_eq!(redactor.redact("4111-1111-1111-1111, valid 12/29")?, "[card], valid 12/29");
/// assert_eq!(redactor.redact("4111-1111-1111-1112")?, "4111-1111-1111-1112");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn card() -> Pattern {
    Pattern::new("card", CARD).checked(length_of_card)
}

/// Returns the length of the card number at the beginning of some digits.
fn length_of_card(before: Option<char>, found: &str) -> Option<usize> {
    if before.is_some_and(|before| before.is_ascii_digit()) {
        return None;
    }
    let digits: Vec<u32> = found.chars().filter_map(|character| character.to_digit(10)).collect();
    for count in (13..=19).rev() {
        let Some(number) = digits.get(..count) else { continue };
        if is_of_network(number)
            && has_check_digit(number)
            && let Some(end) = end_of(found, count, is_digit)
        {
            return Some(end);
        }
    }
    None
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

/// Returns whether a network has numbers with this beginning and length.
fn is_of_network(number: &[u32]) -> bool {
    let first = number.iter().take(4).fold(0, |first, digit| first * 10 + digit);
    match first {
        2221..=2720 | 5100..=5599 => number.len() == 16,
        3400..=3499 | 3700..=3799 => number.len() == 15,
        3000..=3059 | 3600..=3699 | 3800..=3999 => (14..=19).contains(&number.len()),
        3528..=3589 => (16..=19).contains(&number.len()),
        4000..=4999 => matches!(number.len(), 13 | 16 | 19),
        5000..=5099 | 5600..=5999 => (13..=19).contains(&number.len()),
        6000..=6999 => (13..=19).contains(&number.len()),
        _ => false,
    }
}

/// Returns whether the last digit is the check digit of Luhn's algorithm (ISO/IEC 7812-1).
fn has_check_digit(number: &[u32]) -> bool {
    let mut sum = 0;
    for (place, digit) in number.iter().rev().enumerate() {
        let doubled = if place % 2 == 1 { digit * 2 } else { *digit };
        sum += if doubled > 9 { doubled - 9 } else { doubled };
    }
    sum % 10 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::recognizers::check;

    #[test]
    fn cards_are_found_and_other_numbers_are_not() {
        let found = [
            "4111111111111111",
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "4222222222222",
            "5555555555554444",
            "2223003122003222",
            "378282246310005",
            "3782 822463 10005",
            "30569309025904",
            "6011111111111117",
            "3530111333300000",
            "6200000000000005",
        ];
        let not_found = [
            "4111111111111112",
            "1234567890123456",
            "0000000000000000",
            "4111 1111 1111",
            "41111111111111111111111111",
            "14111111111111111",
            "+1 (555) 123-4567",
            "2024-01-02 12:34:56",
            "978-3-16-148410-0",
            "192.168.100.200",
            "3.14159265358979323846",
        ];
        check(card, &found, &not_found);
    }

    #[test]
    fn a_card_before_and_after_other_digits() {
        let redactor = crate::redact::Redactor::new([card()]).unwrap();
        assert_eq!(redactor.redact("12 4111 1111 1111 1111 12").unwrap(), "12 [card] 12");
        assert_eq!(redactor.redact("no4111111111111111x").unwrap(), "no[card]x");
        assert_eq!(redactor.redact("no4111111111111111.").unwrap(), "no[card].");
    }
}
