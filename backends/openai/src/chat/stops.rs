//! Stop texts, found in text that comes in pieces.

/// Holds back text that may be the beginning of a stop text.
#[derive(Debug, Default)]
pub(crate) struct StopTexts {
    stops: Vec<String>,
    held: String,
}

impl StopTexts {
    pub(crate) fn new(stops: Vec<String>) -> Self {
        Self { stops, held: String::new() }
    }

    /// Takes text. Returns what can be shown, and the stop text after it, if there is one.
    pub(crate) fn push(&mut self, text: &str) -> (String, Option<String>) {
        self.held.push_str(text);
        let mut first: Option<(usize, &String)> = None;
        for stop in &self.stops {
            let Some(place) = self.held.find(stop.as_str()) else { continue };
            if first.is_none_or(|(earliest, _)| place < earliest) {
                first = Some((place, stop));
            }
        }
        if let Some((place, stop)) = first {
            let stop = stop.clone();
            self.held.truncate(place);
            return (std::mem::take(&mut self.held), Some(stop));
        }
        let kept = self.held.split_off(self.held.len() - self.open());
        (std::mem::replace(&mut self.held, kept), None)
    }

    /// Returns the text that is held back, because no more follows.
    pub(crate) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Returns how many bytes at the end may begin a stop text: of `a tale o` and the stop text ` of`, two.
    fn open(&self) -> usize {
        let mut longest = 0;
        for stop in &self.stops {
            for (length, _) in stop.char_indices() {
                let start = stop.get(..length).unwrap_or_default();
                if length > longest && self.held.ends_with(start) {
                    longest = length;
                }
            }
        }
        longest
    }
}
