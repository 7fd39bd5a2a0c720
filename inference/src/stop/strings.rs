//! Finds texts that end a reply, regardless of where its tokens begin and end.

use super::automaton::Watch;

/// Watches text for the first of several stop texts, and holds back only what may still become one.
///
/// The first one is the one that ends first. Of several with the same end, it is the longest. The text may arrive in any
/// pieces.
///
/// ```
/// use alloquy_inference::StopStrings;
///
/// let mut stops = StopStrings::new(["USER:".to_owned()]);
/// assert_eq!(stops.push("Hello US"), ("Hello ".to_owned(), None));
/// assert_eq!(stops.push("A"), ("USA".to_owned(), None));
/// assert_eq!(stops.push(" USER: x"), (" ".to_owned(), Some("USER:".to_owned())));
/// ```
#[derive(Clone, Debug)]
pub struct StopStrings {
    stops: Vec<String>,
    watch: Watch<u8>,
}

impl Default for StopStrings {
    fn default() -> Self {
        Self::new([])
    }
}

impl StopStrings {
    /// Watches for `stops`. Empty ones are ignored, because they would match anywhere.
    pub fn new(stops: impl IntoIterator<Item = String>) -> Self {
        let stops: Vec<_> = stops.into_iter().collect();
        let watch = Watch::new(stops.iter().map(String::as_bytes));
        Self { stops, watch }
    }

    /// Adds text. Returns the text that is certainly part of the reply, and the stop text that ended it.
    pub fn push(&mut self, text: &str) -> (String, Option<String>) {
        let mut settled = Vec::new();
        let found = self.watch.push(text.as_bytes(), &mut settled);
        (whole(settled), found.and_then(|index| self.stops.get(index).cloned()))
    }

    /// Returns how many bytes are held back.
    pub fn held(&self) -> usize {
        self.watch.held()
    }

    /// Returns the text that was held back, for a reply that ended without a stop text.
    pub fn finish(&mut self) -> String {
        whole(self.watch.finish())
    }
}

/// What is held back begins like a stop text, so it begins with a whole character, and what precedes it ends with one.
fn whole(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
