//! The characters that mark: which, where they go, and how they come out of a template. Knows no control tokens.

/// The private-use characters of plane 16, which fonts of icons hardly use; taken from the end.
pub(crate) const MARKS: (char, char) = ('\u{100000}', '\u{10FFFD}');

/// A character that stands behind another, and characters that stand instead of others.
///
/// A mark inside of a control token is lost when a template prints the text character by character, which does not
/// matter unless one character alone is the whole token: such a character is taken out, and a stand-in put there.
#[derive(Debug)]
pub(crate) struct Mark {
    behind: Symbol,
    stand_ins: Vec<(char, Symbol)>,
}

/// A private-use character, and the ways it may be printed.
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

    /// Where `text` has it, with the length of how it is printed there and what that is of `original`.
    fn printed_in<'t>(&'t self, text: &'t str, original: Option<char>) -> impl Iterator<Item = Printed> + 't {
        let raw = text.match_indices(self.symbol).map(|(place, found)| (place, found.len(), false));
        let python = text.match_indices(&self.python).map(|(place, found)| (place, found.len(), false));
        let json = text.match_indices(&self.json).map(|(place, found)| (place, found.len(), true));
        let found = raw.chain(python).chain(json);
        found.map(move |(place, length, escaped)| Printed { place, length, original, escaped })
    }
}

/// A mark in what was rendered.
struct Printed {
    place: usize,
    length: usize,
    /// What it stands for; nothing for a mark behind a character.
    original: Option<char>,
    /// Whether it is written as JSON in ASCII writes it.
    escaped: bool,
}

impl Mark {
    /// Takes a character to put behind others, and pairs of a character and its stand-in.
    pub(crate) fn new(behind: char, stand_ins: impl IntoIterator<Item = (char, char)>) -> Self {
        let stand_ins = stand_ins.into_iter().map(|(original, symbol)| (original, Symbol::new(symbol)));
        Self { behind: Symbol::new(behind), stand_ins: stand_ins.collect() }
    }

    /// Marks the character at each of the sorted `starts`.
    pub(crate) fn put(&self, text: &str, starts: &[usize]) -> String {
        let mut marked = String::with_capacity(text.len() + 4 * starts.len());
        for (index, symbol) in text.char_indices() {
            let is_marked = starts.binary_search(&index).is_ok();
            let stand_in = self.stand_ins.iter().find(|(original, _)| is_marked && *original == symbol);
            marked.push(stand_in.map_or(symbol, |(_, stand_in)| stand_in.symbol));
            if is_marked && stand_in.is_none() {
                marked.push(self.behind.symbol);
            }
        }
        marked
    }

    /// Takes the marks out, and returns where the marked characters stand.
    pub(crate) fn take(&self, marked: &str) -> (String, Vec<usize>) {
        let mut found: Vec<_> = self.behind.printed_in(marked, None).collect();
        for (original, stand_in) in &self.stand_ins {
            found.extend(stand_in.printed_in(marked, Some(*original)));
        }
        found.sort_unstable_by_key(|printed| printed.place);
        let (mut text, mut starts, mut done) = (String::with_capacity(marked.len()), Vec::new(), 0);
        for printed in found {
            text += marked.get(done..printed.place).unwrap_or_default();
            done = printed.place + printed.length;
            match printed.original {
                None => starts.extend(text.char_indices().next_back().map(|(start, _)| start)),
                // An escape has the character's letters and digits, and those are no control token.
                Some(original) if printed.escaped && !original.is_ascii() => text += &json_escape(original),
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

/// How Python's `repr` prints a character without a glyph beyond the first plane.
pub(crate) fn python_escape(symbol: char) -> String {
    format!("\\U{:08x}", u32::from(symbol))
}

/// How JSON in ASCII prints it: beyond the first plane as two halves.
pub(crate) fn json_escape(symbol: char) -> String {
    symbol.encode_utf16(&mut [0; 2]).iter().map(|half| format!("\\u{half:04x}")).collect()
}

/// The characters beyond the first plane that `text` writes as either escape. Somebody who does so means its letters,
/// so none of these can be the mark.
pub(crate) fn escaped(text: &str) -> impl Iterator<Item = char> {
    let number = |digits: Option<&str>| digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    text.match_indices("\\").filter_map(move |(start, _)| {
        let escape = text.get(start..)?;
        if escape.starts_with("\\U") {
            return char::from_u32(number(escape.get(2..10))?);
        }
        let half = |place: usize| u16::try_from(number(escape.get(place..place + 4))?).ok();
        let second = escape.get(6..).filter(|second| escape.starts_with("\\u") && second.starts_with("\\u"));
        let halves = [half(2)?, second.and_then(|_| half(8))?];
        char::decode_utf16(halves).next()?.ok()
    })
}

/// Returns the first of the sorted `places` from `from` to before `to`.
pub(crate) fn marked_in(places: &[usize], from: usize, to: usize) -> Option<usize> {
    let next = places.partition_point(|place| *place < from);
    places.get(next).copied().filter(|place| *place < to)
}
