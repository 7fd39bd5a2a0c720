//! Splits text into words without case and accents, in any script.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::{UnicodeSegmentation as _, UnicodeWordIndices};

/// Longer words are cut to this length, both in texts and in queries, because indexes have limits.
const LONGEST: usize = 64;

/// A word as an index stores it, with its place in the text.
///
/// [`tokens`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Token {
    /// The word without case, accents and compatibility forms.
    pub text: String,
    /// The bytes of the text that it was made from.
    pub place: Range<usize>,
    /// Whether it is a pair of neighbouring characters in a script without spaces.
    pub is_pair: bool,
    /// Whether it is the last character of a run in a script without spaces.
    pub ends_run: bool,
}

/// Splits a text into tokens. Only a few of them are in memory at a time, because a text may be large.
///
/// Words are those of UAX #29. In scripts without spaces between words, each pair of neighbouring characters is a
/// token, and so is the last character of a run. So any part of a run is found: "東京都" becomes "東京", "京都", "都".
///
/// ```
/// use alloquy_core::search::tokens;
///
/// let words: Vec<String> = tokens("Une TASSE de thé").map(|token| token.text).collect();
/// assert_eq!(words, ["une", "tasse", "de", "the"]);
/// ```
pub fn tokens(text: &str) -> Tokens<'_> {
    Tokens { words: text.unicode_word_indices(), ready: VecDeque::new(), run: None }
}

/// The tokens of a text.
///
/// [`tokens`] creates it.
pub struct Tokens<'a> {
    words: UnicodeWordIndices<'a>,
    ready: VecDeque<Token>,
    /// The last character of a run that may continue.
    run: Option<(char, Range<usize>)>,
}

impl fmt::Debug for Tokens<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tokens").field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        while self.ready.is_empty() {
            match self.words.next() {
                Some((start, word)) => self.word(word, start..start + word.len()),
                None if self.run.is_some() => self.end_run(),
                None => return None,
            }
        }
        self.ready.pop_front()
    }
}

impl Tokens<'_> {
    fn word(&mut self, word: &str, place: Range<usize>) {
        if self.run.as_ref().is_some_and(|(_, last)| last.end != place.start) {
            self.end_run();
        }
        if word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            let start = word.get(..LONGEST).unwrap_or(word);
            return self.letters(&start.to_ascii_lowercase(), place);
        }
        let folded = folded(word);
        for piece in folded.split(|character: char| !is_of_word(character)) {
            self.piece(piece, &place);
        }
    }

    fn piece(&mut self, piece: &str, place: &Range<usize>) {
        let mut letters = String::new();
        for character in piece.chars() {
            if is_unspaced(character) {
                self.letters(&std::mem::take(&mut letters), place.clone());
                self.unspaced(character, place.clone());
            } else {
                letters.push(character);
            }
        }
        self.letters(&letters, place.clone());
    }

    fn letters(&mut self, letters: &str, place: Range<usize>) {
        if !letters.is_empty() {
            self.end_run();
            let text = letters.chars().take(LONGEST).collect();
            self.ready.push_back(Token { text, place, is_pair: false, ends_run: false });
        }
    }

    fn unspaced(&mut self, character: char, place: Range<usize>) {
        if let Some((before, from)) = self.run.take() {
            let text = String::from_iter([before, character]);
            self.ready.push_back(Token {
                text,
                place: from.start..place.end,
                is_pair: true,
                ends_run: false,
            });
        }
        self.run = Some((character, place));
    }

    fn end_run(&mut self) {
        if let Some((last, place)) = self.run.take() {
            self.ready.push_back(Token { text: last.to_string(), place, is_pair: false, ends_run: true });
        }
    }
}

/// Replaces compatibility forms, removes accents and folds case: `Ｓｔｒａßé` and `STRASSE` become equal.
fn folded(word: &str) -> String {
    let plain: String = word.nfkd().filter(|&character| !is_accent(character)).collect();
    let folded = caseless::default_case_fold_str(&plain);
    folded.nfkd().filter(|&character| !is_accent(character)).nfc().collect()
}

/// Returns whether a mark is usually left out in typed text: diacritics, Hebrew points, Arabic vowel signs. The vowel
/// signs of scripts that cannot be read without them are not.
fn is_accent(character: char) -> bool {
    matches!(character,
        '\u{300}'..='\u{36F}' | '\u{591}'..='\u{5C7}' | '\u{610}'..='\u{61A}' | '\u{64B}'..='\u{65F}' | '\u{670}'
        | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || is_combining_mark(character)
}

/// Returns whether a character belongs to a script without spaces between words, or to Hangul, whose words have
/// endings.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1100}'..='\u{11FF}' | '\u{1780}'..='\u{17FF}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}
