//! The regular expression of what may be a match of another one: it is small, and one search for all patterns finds most texts clean.
//!
//! For `\bab{1,200}c` it matches `abc`, `abbc` and so on, whatever is before them and however many `b` there are.

use regex_syntax::hir::{Hir, HirKind, Repetition};

/// Returns a pattern that matches wherever `pattern` does, and perhaps elsewhere: without conditions, and without upper limits, which make a
/// compiled pattern large.
pub(super) fn candidates(pattern: &Hir) -> String {
    without_limits(pattern).to_string()
}

fn without_limits(pattern: &Hir) -> Hir {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(_) | HirKind::Class(_) => pattern.clone(),
        HirKind::Capture(capture) => without_limits(&capture.sub),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(without_limits(&repetition.sub));
            Hir::repetition(Repetition { sub, max: None, ..repetition.clone() })
        }
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(without_limits).collect()),
        HirKind::Alternation(cases) => Hir::alternation(cases.iter().map(without_limits).collect()),
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn a_candidate_begins_no_later_than_a_match() {
        for (pattern, text) in [
            ("abc", "xxabc"),
            (r"\bab{1,200}c\b", "xabbc abbbc"),
            ("(?<one>a)(?<two>b){2,3}c?", "ab abb"),
            ("(?i)straße|[α-ω]{3,9}$", "STRASSE STRASSE κόσμος STRAßE"),
            ("(?:[0-9]{2} ?){2,4}", "12 3 12 34 56"),
        ] {
            let found = Regex::new(pattern).unwrap().find(text).unwrap();
            let candidates = Regex::new(&candidates(&regex_syntax::parse(pattern).unwrap())).unwrap();
            let candidate = candidates.find(text).unwrap();
            assert!(candidate.start() <= found.start(), "{pattern}");
            assert!(!candidates.is_match("ab 1 x"), "{pattern}");
        }
    }
}
