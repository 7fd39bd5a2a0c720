//! The regular expression of the unfinished matches of another one, so that a stream holds back no more than may become a match.
//!
//! For `ab{1,2}\b` it matches `a`, `ab` and `abb` at the end of a text: the next character decides each of them.

use regex_syntax::hir::{Hir, HirKind, Repetition};

/// Returns a pattern of the ends of texts that more text may complete, or extend, to a match of `pattern`.
pub(super) fn unfinished(pattern: &Hir) -> String {
    // A group may be needed twice, and a pattern must not have a name twice.
    format!("(?:{})\\z", proper(&without_groups(pattern)))
}

/// Returns the pattern with each group replaced by what is in it.
fn without_groups(pattern: &Hir) -> Hir {
    match pattern.kind() {
        HirKind::Capture(capture) => without_groups(&capture.sub),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(without_groups(&repetition.sub));
            Hir::repetition(Repetition { sub, ..repetition.clone() })
        }
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(without_groups).collect()),
        HirKind::Alternation(cases) => Hir::alternation(cases.iter().map(without_groups).collect()),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => pattern.clone(),
    }
}

/// Returns what matches the beginnings of all matches, except the matches that no text can extend.
///
/// A condition, such as the end of a word, is unfinished at the end of a text, because it depends on the next character.
fn proper(pattern: &Hir) -> Hir {
    match pattern.kind() {
        HirKind::Empty => Hir::fail(),
        HirKind::Class(_) | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0).into_owned();
            if text.chars().count() < 2 {
                return Hir::empty();
            }
            let characters: Vec<_> =
                text.chars().map(|one| Hir::literal(one.to_string().into_bytes())).collect();
            of_sequence(&characters)
        }
        HirKind::Repetition(repetition) => of_repetition(repetition),
        HirKind::Capture(capture) => proper(&capture.sub),
        HirKind::Concat(parts) => of_sequence(parts),
        HirKind::Alternation(cases) => Hir::alternation(cases.iter().map(proper).collect()),
    }
}

/// Halves the sequence, so that the pattern grows with the logarithm of its length: the beginnings of the first half, or all of it
/// and the beginnings of the second.
fn of_sequence(parts: &[Hir]) -> Hir {
    match parts {
        [] => Hir::fail(),
        [one] => proper(one),
        parts => {
            let (first, second) = parts.split_at(parts.len() / 2);
            let mut whole = first.to_vec();
            whole.push(of_sequence(second));
            Hir::alternation(vec![of_sequence(first), Hir::concat(whole)])
        }
    }
}

/// Up to one time less than the most, and then a beginning of one more.
fn of_repetition(repetition: &Repetition) -> Hir {
    let max = match repetition.max {
        Some(0) => return Hir::fail(),
        Some(max) => Some(max - 1),
        None => None,
    };
    let before = Hir::repetition(Repetition { min: 0, max, greedy: true, sub: repetition.sub.clone() });
    let one_more = Hir::alternation(vec![Hir::empty(), proper(&repetition.sub)]);
    Hir::concat(vec![before, one_more])
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    fn tail(pattern: &str, text: &str) -> Option<usize> {
        let hir = regex_syntax::parse(pattern).unwrap();
        Regex::new(&unfinished(&hir)).unwrap().find(text).map(|found| found.start())
    }

    #[test]
    fn the_tail_begins_where_a_match_may_begin() {
        assert_eq!(tail("abc", "xxab"), Some(2));
        assert_eq!(tail("abc", "xabc"), Some(4), "a whole literal is finished");
        assert_eq!(tail("ab{1,2}", "xab"), Some(1));
        assert_eq!(tail("ab{1,2}", "xabb"), Some(4));
        assert_eq!(tail(r"ab\b", "xab"), Some(1), "the next character decides the end of the word");
        assert_eq!(tail(r"\bab", "xa"), Some(2));
        assert_eq!(tail("(?:cd|ab){2}", "abc"), Some(0));
        assert_eq!(tail("abcd|ab", "abc"), Some(0));
        assert_eq!(tail("ß{2,3}", "xß"), Some(1));
        assert_eq!(tail("(?<one>a)(?<two>b)(?<three>c)(?<four>d){2}", "xabcd"), Some(1));
    }
}
