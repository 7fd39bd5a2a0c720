//! The character that marks: which, where it goes, and how it comes out of a template. Knows no control tokens.

/// The private-use characters of plane 16, which fonts of icons hardly use; taken from the end.
pub(crate) const MARKS: (char, char) = ('\u{100000}', '\u{10FFFD}');

/// A character that marks, and the ways it may be printed.
#[derive(Debug)]
pub(crate) struct Mark {
    symbol: char,
    spellings: [String; 3],
}

impl Mark {
    pub(crate) fn new(symbol: char) -> Self {
        Self { symbol, spellings: [symbol.to_string(), python_escape(symbol), json_escape(symbol)] }
    }

    /// Puts the mark behind the character at each of `starts`.
    pub(crate) fn put(&self, text: &str, starts: &[usize]) -> String {
        let mut marked = String::with_capacity(text.len() + 4 * starts.len());
        for (index, symbol) in text.char_indices() {
            marked.push(symbol);
            if starts.binary_search(&index).is_ok() {
                marked.push(self.symbol);
            }
        }
        marked
    }

    /// Takes the marks out, and returns where the characters before them stand.
    pub(crate) fn take(&self, marked: &str) -> (String, Vec<usize>) {
        let places = self.spellings.iter().flat_map(|spelling| marked.match_indices(spelling.as_str()));
        let mut places: Vec<_> = places.collect();
        places.sort_unstable();
        let (mut text, mut starts, mut done) = (String::with_capacity(marked.len()), Vec::new(), 0);
        for (place, spelling) in places {
            text += marked.get(done..place).unwrap_or_default();
            starts.extend(text.char_indices().next_back().map(|(start, _)| start));
            done = place + spelling.len();
        }
        text += marked.get(done..).unwrap_or_default();
        (text, starts)
    }
}

/// How Python's `repr` prints a character without a glyph beyond the first plane.
pub(crate) fn python_escape(symbol: char) -> String {
    format!("\\U{:08x}", u32::from(symbol))
}

/// How JSON in ASCII prints it: as two halves.
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
