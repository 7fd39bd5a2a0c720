//! The characters that mark a text: which they are, where they go, and how templates print them.

/// The private-use characters of plane 16, from the last on. Icon fonts hardly use them.
pub(crate) const MARKS: (char, char) = ('\u{100000}', '\u{10FFFD}');

/// A character that follows each marked character, and substitutes for some characters.
///
/// A template that prints a text character by character separates a character from the mark after it. This matters only if the
/// character alone is a whole control token. Such a character is removed, and its substitute printed.
#[derive(Debug)]
pub(crate) struct Mark {
    follower: Symbol,
    substitutes: Vec<(char, Symbol)>,
}

/// A private-use character, and the ways in which templates may print it.
#[derive(Debug)]
struct Symbol {
    symbol: char,
    python: String,
    json: String,
}

impl Symbol {
    fn new(symbol: char) -> Self {
        Self { symbol, python: python_escape(symbol), json: json_escape(symbol) }
    }

    /// Adds every place where `text` has this character. `original` is the character that it replaces.
    fn find_in(&self, text: &str, original: Option<char>, found: &mut Vec<Printed>) {
        let raw = text.match_indices(self.symbol);
        let python = text.match_indices(&self.python);
        for (place, printed) in raw.chain(python) {
            found.push(Printed { place, length: printed.len(), original, is_json: false });
        }
        for (place, printed) in text.match_indices(&self.json) {
            found.push(Printed { place, length: printed.len(), original, is_json: true });
        }
    }
}

/// A mark in a rendered prompt.
struct Printed {
    place: usize,
    length: usize,
    /// The character that a substitute replaces; `None` for a mark after a character.
    original: Option<char>,
    /// Whether it is an escape of ASCII JSON.
    is_json: bool,
}

impl Mark {
    /// Takes the character that follows marked characters, and pairs of a character and its substitute.
    pub(crate) fn new(follower: char, substitutes: impl IntoIterator<Item = (char, char)>) -> Self {
        let substitutes = substitutes.into_iter().map(|(original, symbol)| (original, Symbol::new(symbol)));
        Self { follower: Symbol::new(follower), substitutes: substitutes.collect() }
    }

    /// Marks the character at each of the sorted `starts`.
    pub(crate) fn put(&self, text: &str, starts: &[usize]) -> String {
        let mut marked = String::with_capacity(text.len() + 4 * starts.len());
        for (index, symbol) in text.char_indices() {
            if starts.binary_search(&index).is_err() {
                marked.push(symbol);
            } else if let Some((_, substitute)) =
                self.substitutes.iter().find(|(original, _)| *original == symbol)
            {
                marked.push(substitute.symbol);
            } else {
                marked.push(symbol);
                marked.push(self.follower.symbol);
            }
        }
        marked
    }

    /// Removes the marks, and returns the places of the marked characters.
    pub(crate) fn take(&self, marked: &str) -> (String, Vec<usize>) {
        let mut found = Vec::new();
        self.follower.find_in(marked, None, &mut found);
        for (original, substitute) in &self.substitutes {
            substitute.find_in(marked, Some(*original), &mut found);
        }
        found.sort_unstable_by_key(|printed| printed.place);
        let mut text = String::with_capacity(marked.len());
        let mut starts = Vec::new();
        let mut done = 0;
        for printed in found {
            text += marked.get(done..printed.place).unwrap_or_default();
            done = printed.place + printed.length;
            match printed.original {
                None => starts.extend(text.char_indices().next_back().map(|(start, _)| start)),
                // JSON prints the original as an escape too: `\u2605` for `★`. These letters are not a control token.
                Some(original) if printed.is_json && !original.is_ascii() => text += &json_escape(original),
                Some(original) => {
                    starts.push(text.len());
                    text.push(original);
                }
            }
        }
        text += marked.get(done..).unwrap_or_default();
        (text, starts)
    }
}

/// Returns the escape that Python's `repr` prints for a character without a glyph beyond the first plane.
pub(crate) fn python_escape(symbol: char) -> String {
    format!("\\U{:08x}", u32::from(symbol))
}

/// Returns the escape that ASCII JSON prints: two halves for a character beyond the first plane.
pub(crate) fn json_escape(symbol: char) -> String {
    symbol.encode_utf16(&mut [0; 2]).iter().map(|half| format!("\\u{half:04x}")).collect()
}

/// Returns the characters beyond the first plane that `text` contains as either escape. None of them can be the mark, because
/// the escape is text here.
pub(crate) fn escaped(text: &str) -> impl Iterator<Item = char> {
    text.match_indices('\\').filter_map(|(start, _)| escaped_at(text.get(start..)?))
}

/// Returns the character beyond the first plane whose escape `text` begins with.
fn escaped_at(text: &str) -> Option<char> {
    if text.starts_with("\\U") {
        return char::from_u32(u32::from_str_radix(text.get(2..10)?, 16).ok()?);
    }
    let first = half(text)?;
    let second = half(text.get(6..)?)?;
    char::decode_utf16([first, second]).next()?.ok()
}

/// Returns the number in an escape such as `\udbff`.
fn half(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// Returns the first of the sorted `places` from `from` to before `to`.
pub(crate) fn marked_in(places: &[usize], from: usize, to: usize) -> Option<usize> {
    let next = places.partition_point(|place| *place < from);
    places.get(next).copied().filter(|place| *place < to)
}
