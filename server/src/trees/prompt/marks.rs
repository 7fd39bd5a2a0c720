//! Finds where the texts of a request are in its prompt: they are rendered once more with a mark within each, and the marks are looked
//! for. A template may trim, cut or escape a text, so marks count only where the prompt without them is the one that is sent.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use super::texts::SourcedText;

/// The characters of marks, which no text and no vocabulary has.
const PLANE: RangeInclusive<char> = '\u{F0000}'..='\u{FFFFD}';

/// How often a prompt is rendered to find the texts in it.
const RENDERS: usize = 40;

/// A text of a request, and where it is in the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundText {
    /// The number of the text.
    pub(super) number: usize,
    pub(super) range: Range<usize>,
}

/// The marks of texts, by their numbers.
pub(super) struct Marks {
    characters: Vec<char>,
}

impl Marks {
    /// Chooses characters that none of the texts has. Of too many texts, only the last ones have marks.
    pub(super) fn new(texts: &[SourcedText]) -> Self {
        let mut used = HashSet::new();
        for text in texts {
            used.extend(text.text.chars().filter(|symbol| PLANE.contains(symbol)));
        }
        Self { characters: PLANE.filter(|symbol| !used.contains(symbol)).collect() }
    }

    /// Returns how many texts can have marks.
    fn room(&self) -> usize {
        self.characters.len() / 2
    }

    fn pair(&self, number: usize) -> Option<(char, char)> {
        Some((*self.characters.get(2 * number)?, *self.characters.get(2 * number + 1)?))
    }

    /// Puts the marks of a text into it: after its first visible character and before its last one, so that a template which trims the
    /// text, or looks how it begins, does what it does without them.
    pub(super) fn put(&self, place: usize, text: &str) -> Option<String> {
        let (open, close) = self.pair(place)?;
        let start = text.len() - text.trim_start().len();
        let end = text.trim_end().len();
        let first = text.get(start..)?.chars().next()?;
        let last = text.get(..end)?.chars().next_back()?;
        let after = start + first.len_utf8();
        let before = end - last.len_utf8();
        if before < after {
            return Some(format!("{}{open}{}", text.get(..after)?, text.get(after..)?));
        }
        Some(format!(
            "{}{open}{}{close}{}",
            text.get(..after)?,
            text.get(after..before)?,
            text.get(before..)?
        ))
    }

    /// Takes the marks out of a prompt, and returns what they are around; `None` where it is not `plain` without them.
    fn take(&self, marked: &str, plain: &str, first: usize) -> Option<Vec<FoundText>> {
        let mut found = Vec::new();
        let mut text = String::with_capacity(plain.len());
        // The text that has begun, and where.
        let mut open: Option<(usize, usize)> = None;
        for symbol in marked.chars() {
            let Ok(place) = self.characters.binary_search(&symbol) else {
                text.push(symbol);
                continue;
            };
            let number = first + place / 2;
            let here = text.len();
            match open.take() {
                Some((begun, start)) if begun == number && place % 2 == 1 => {
                    found.push(FoundText { number, range: before(plain, start)..after(plain, here) });
                    continue;
                }
                Some((begun, start)) => {
                    found.push(FoundText { number: begun, range: before(plain, start)..start });
                }
                None => {}
            }
            if place % 2 == 0 {
                open = Some((number, here));
            }
        }
        if let Some((begun, start)) = open {
            found.push(FoundText { number: begun, range: before(plain, start)..start });
        }
        (text == plain).then_some(found)
    }
}

/// Returns where the character before a place begins.
fn before(text: &str, place: usize) -> usize {
    let symbol = text.get(..place).and_then(|text| text.chars().next_back());
    place - symbol.map_or(0, char::len_utf8)
}

/// Returns where the character after a place ends.
fn after(text: &str, place: usize) -> usize {
    let symbol = text.get(place..).and_then(|text| text.chars().next());
    place + symbol.map_or(0, char::len_utf8)
}

/// Finds the texts of a request in its prompt, in the order of the prompt. `render` renders it with marks in the texts of a range of
/// numbers, the first of which has the marks of place 0.
pub(super) fn find(
    plain: &str,
    texts: &[SourcedText],
    marks: &Marks,
    render: &dyn Fn(Range<usize>) -> Option<String>,
) -> Vec<FoundText> {
    let first = texts.len().saturating_sub(marks.room());
    let mut found = Vec::new();
    let mut left: Vec<usize> = (0..first).collect();
    let mut ranges = Vec::new();
    ranges.push(first..texts.len());
    let mut renders = 0;
    while let Some(range) = ranges.pop() {
        if range.is_empty() {
            continue;
        }
        renders += 1;
        let marked = if renders <= RENDERS { render(range.clone()) } else { None };
        let taken = marked.and_then(|marked| marks.take(&marked, plain, range.start));
        match taken {
            Some(places) => found.extend(places),
            // One of these texts is changed where it has a mark. It is looked for by halves.
            None if range.len() > 1 && renders < RENDERS => {
                let middle = range.start + range.len() / 2;
                ranges.push(range.start..middle);
                ranges.push(middle..range.end);
            }
            None => left.extend(range),
        }
    }
    found.sort_by_key(|found| found.range.start);
    left.sort_unstable();
    for number in left {
        search(plain, texts, number, &mut found);
    }
    widened(plain, texts, found)
}

/// Looks for a text as it is, between the texts before and after it that were found.
fn search(plain: &str, texts: &[SourcedText], number: usize, found: &mut Vec<FoundText>) {
    let Some(wanted) = texts.get(number).map(|text| text.text.trim()).filter(|text| !text.is_empty()) else {
        return;
    };
    let from =
        found.iter().filter(|known| known.number < number).map(|known| known.range.end).max().unwrap_or(0);
    let later = found.iter().filter(|known| known.number > number).map(|known| known.range.start);
    let to = later.filter(|start| *start >= from).min().unwrap_or(plain.len());
    let Some(place) = plain.get(from..to).and_then(|between| between.find(wanted)) else { return };
    let range = from + place..from + place + wanted.len();
    let index = found.partition_point(|known| known.range.start < range.start);
    found.insert(index, FoundText { number, range });
}

/// Adds the blanks at the edges of texts, and what is between the strings of one JSON value.
fn widened(plain: &str, texts: &[SourcedText], found: Vec<FoundText>) -> Vec<FoundText> {
    let mut all: Vec<FoundText> = Vec::with_capacity(found.len());
    for mut text in found {
        let Some(source) = texts.get(text.number) else { continue };
        if source.is_json {
            match all.last_mut().filter(|last| last.number == text.number) {
                Some(last) => last.range.end = text.range.end,
                None => all.push(text),
            }
            continue;
        }
        let blanks = source.text.len() - source.text.trim_start().len();
        let leading = source.text.get(..blanks).unwrap_or_default();
        if plain.get(..text.range.start).is_some_and(|before| before.ends_with(leading)) {
            text.range.start -= leading.len();
        }
        let trailing = source.text.get(source.text.trim_end().len()..).unwrap_or_default();
        if plain.get(text.range.end..).is_some_and(|after| after.starts_with(trailing)) {
            text.range.end += trailing.len();
        }
        all.push(text);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::origin::TokenOrigin;
    use super::*;

    fn sourced(texts: &[&str]) -> Vec<SourcedText> {
        let of =
            |text: &&str| SourcedText { origin: TokenOrigin::User, text: (*text).to_owned(), is_json: false };
        texts.iter().map(of).collect()
    }

    /// The texts that are found where `print` is the template.
    fn found(texts: &[&str], print: impl Fn(&[String]) -> String) -> Vec<(usize, String)> {
        let plain_texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let plain = print(&plain_texts);
        let sources = sourced(texts);
        let marks = Marks::new(&sources);
        let found = find(&plain, &sources, &marks, &|range| {
            let mut marked = plain_texts.clone();
            for number in range.clone() {
                marked[number] = marks.put(number - range.start, &marked[number]).unwrap_or_default();
            }
            Some(print(&marked))
        });
        found.into_iter().map(|text| (text.number, plain[text.range].to_owned())).collect()
    }

    #[test]
    fn texts_are_found_wherever_the_template_prints_them() {
        let print = |texts: &[String]| format!("user: {}|tail {}|user: {}", texts[0], texts[2], texts[1]);
        assert_eq!(
            found(&["user", "tail", "é"], print),
            [(0, "user".to_owned()), (2, "é".to_owned()), (1, "tail".to_owned())]
        );
    }

    #[test]
    fn blanks_belong_to_a_text_unless_they_are_trimmed() {
        assert_eq!(found(&["  hi\n"], |texts| format!("[{}]", texts[0])), [(0, "  hi\n".to_owned())]);
        assert_eq!(found(&["  hi\n"], |texts| format!("[{}]", texts[0].trim())), [(0, "hi".to_owned())]);
    }

    #[test]
    fn a_text_that_a_template_measures_is_searched_for() {
        let print = |texts: &[String]| format!("{}:{} {}", texts[0].chars().count(), texts[0], texts[1]);
        assert_eq!(found(&["tea", "milk"], print), [(0, "tea".to_owned()), (1, "milk".to_owned())]);
    }

    #[test]
    fn a_text_that_is_not_printed_is_not_found() {
        assert_eq!(found(&["thought", "said"], |texts| texts[1].clone()), [(1, "said".to_owned())]);
        assert_eq!(found(&["", " "], <[String]>::concat), []);
    }
}
