//! The words of a text as a word index counts them, and the settings of its scores.

use alloquy_core::search::tokens;
use alloquy_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::Passage;
use crate::stems::{self, StemLanguage};

/// The settings of a [`WordIndex`](crate::WordIndex).
///
/// ```
/// use alloquy_retrieval::{StemLanguage, WordIndex, WordOptions};
///
/// let mut options = WordOptions::default();
/// assert_eq!((options.k1, options.b, options.stems), (1.2, 0.75, None));
/// options.stems = Some(StemLanguage::English);
/// WordIndex::new(options)?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WordOptions {
    /// How much more a word counts that occurs more often: from 0 (not at all) on; usual are 1.2 to 2.
    pub k1: f64,
    /// How much less words of a long passage count: from 0 (not at all) to 1.
    pub b: f64,
    /// How much a word of one or two ASCII letters counts, from 0 on; 1 is as much as others. In a few passages words such as "in" and
    /// "is" are as rare as names.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub short_words: f64,
    /// Compares the words of one language by their stems, so that "brewing" finds "brewed". It needs the feature `stems`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stems: Option<StemLanguage>,
}

impl Default for WordOptions {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75, short_words: 1.0, stems: None }
    }
}

impl WordOptions {
    /// Checks the settings.
    ///
    /// ```
    /// use alloquy_core::ErrorKind;
    /// use alloquy_retrieval::WordOptions;
    ///
    /// let mut options = WordOptions::default();
    /// options.check()?;
    /// options.b = 2.0;
    /// assert_eq!(options.check().unwrap_err().kind(), ErrorKind::Invalid);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for settings out of range, [`ErrorKind::Unsupported`] for stems without the feature `stems`.
    pub fn check(&self) -> Result<()> {
        let is_valid = self.k1.is_finite() && self.k1 >= 0.0 && (0.0..=1.0).contains(&self.b);
        if !is_valid {
            let message = format!(
                "a word index with k1 = {} and b = {} is not possible: choose k1 from 0 on, such as 1.2, and b from 0 to 1, such as \
                 0.75",
                self.k1, self.b
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if !(self.short_words.is_finite() && self.short_words >= 0.0) {
            let message = format!(
                "short words cannot count {}: choose a number from 0 on, such as 0.25",
                self.short_words
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        self.stems.map_or(Ok(()), stems::check)
    }

    /// Returns how much a word counts, whatever the passages are.
    pub(crate) fn importance(&self, word: &str) -> f64 {
        let is_short = word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        if is_short { self.short_words } else { 1.0 }
    }

    /// Returns the words of a text in their order, as an index stores them. They have no spaces, quotes or punctuation.
    ///
    /// ```
    /// use alloquy_retrieval::WordOptions;
    ///
    /// assert_eq!(WordOptions::default().words("Une TASSE de thé: 緑茶"), ["une", "tasse", "de", "the", "緑", "緑茶", "茶"]);
    /// ```
    pub fn words(&self, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        for token in tokens(text) {
            // In scripts without spaces a pair of characters is often a word, and so is a single one: "茶" finds "緑茶道".
            if token.is_pair {
                words.extend(token.text.chars().next().map(String::from));
            }
            words.push(token.text);
        }
        if let Some(language) = self.stems {
            stems::replace(language, &mut words);
        }
        words
    }

    /// Returns the words that find a passage: those of its heading and of its text.
    ///
    /// ```
    /// use alloquy_retrieval::{HEADING, Passage, WordOptions};
    ///
    /// let passage = Passage::new("1", "It grows in Assam.").metadata(HEADING, "Tea");
    /// assert_eq!(WordOptions::default().words_of(&passage)[0], "tea");
    /// ```
    pub fn words_of(&self, passage: &Passage) -> Vec<String> {
        self.words(&passage.text_with_heading())
    }
}

fn one() -> f64 {
    1.0
}

/// As serde calls it.
#[allow(clippy::trivially_copy_pass_by_ref, clippy::float_cmp)]
fn is_one(number: &f64) -> bool {
    *number == 1.0
}
