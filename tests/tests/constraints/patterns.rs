//! Regular expressions and choices at random, none of which allows an endless text.

use crate::draws::Draws;

const PIECES: [&str; 12] = [
    "[a-z]{2,8}",
    "[A-Z][a-z]{1,6}",
    "(?:yes|no|maybe)",
    "[0-9]{1,4}",
    "(?: [a-z]{1,5}){1,4}",
    "[^a-z\"]{1,3}",
    "(?:ab?c){2}",
    "é|ü|ß",
    "\\d{4}-\\d{2}-\\d{2}",
    "/[a-z/]{1,10}",
    "\\n",
    "🦀{1,2}",
];

const TEXTS: [&str; 12] = [
    "yes",
    "yes, please",
    "no",
    " leading space",
    "\"quoted\" \\ text",
    "zwölf Boxkämpfer",
    "🦀",
    "two\nlines",
    "Once upon a time",
    "/slashes/",
    "</s>",
    "0",
];

/// Returns a few pieces, one behind the other or as alternatives.
pub(crate) fn pattern(draws: &mut Draws) -> String {
    let pieces: Vec<_> = (0..=draws.below(4)).map(|_| format!("(?:{})", draws.pick(&PIECES))).collect();
    pieces.join(if draws.chance(30) { "|" } else { "" })
}

/// Returns one to six texts.
pub(crate) fn choices(draws: &mut Draws) -> Vec<String> {
    (0..=draws.below(6)).map(|_| draws.pick(&TEXTS).to_owned()).collect()
}
