//! Rewrites a text as chat templates do before they print it.
//!
//! A template that removes words joins the text around them, and one that inserts words prints text that is not in the
//! conversation. Both may produce a control token that the text does not contain: `<|im_/no_thinkend|>` becomes `<|im_end|>`.

/// The replacements of one template, in order.
type Rewrite = &'static [(&'static str, &'static str)];

/// The replacements of published templates that can produce a control token.
const REWRITES: [Rewrite; 4] = [
    // SmolLM3: switches in the system message.
    &[("/no_think", ""), ("/think", ""), ("/system_override", "")],
    // Nemotron Nano: switches in any message. Another name keeps the tag that ends a thinking block.
    &[("/think", ""), ("/no_think", ""), ("<_end_think>", "</think>")],
    // Nemotron's rerankers: the placeholder of images.
    &[("<image>", "")],
    // Qwen3-Coder: the keys of a tool's schema become tags.
    &[("-", "_"), (" ", "_"), ("$", "")],
];

/// Calls `look` with each rewritten form of `text`, and with the place in `text` of each of its bytes.
pub(crate) fn each(text: &str, mut look: impl FnMut(&str, &[usize])) {
    for rewrite in REWRITES.iter().filter(|rewrite| rewrite.iter().any(|(old, _)| text.contains(old))) {
        let mut traced = Traced { text: text.to_owned(), places: (0..text.len()).collect() };
        for (old, new) in *rewrite {
            traced = traced.replace(old, new);
            look(&traced.text, &traced.places);
        }
    }
}

/// A rewritten text.
struct Traced {
    text: String,
    /// The place of each byte in the original text.
    places: Vec<usize>,
}

impl Traced {
    /// Replaces `old` everywhere. The place of `new` is where `old` begins.
    fn replace(&self, old: &str, new: &str) -> Self {
        let mut replaced = Self { text: String::with_capacity(self.text.len()), places: Vec::new() };
        let mut done = 0;
        for (start, found) in self.text.match_indices(old) {
            replaced.extend(self, done, start);
            let place = self.places.get(start).copied().unwrap_or_default();
            replaced.text += new;
            replaced.places.extend(std::iter::repeat_n(place, new.len()));
            done = start + found.len();
        }
        replaced.extend(self, done, self.text.len());
        replaced
    }

    fn extend(&mut self, other: &Self, start: usize, end: usize) {
        self.text += other.text.get(start..end).unwrap_or_default();
        self.places.extend(other.places.get(start..end).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::each;

    fn places(text: &str, wanted: &str) -> Vec<usize> {
        let mut places = Vec::new();
        each(text, |rewritten, traced| {
            places.extend(rewritten.match_indices(wanted).map(|(start, _)| traced[start]));
        });
        places.dedup();
        places
    }

    #[test]
    fn a_joined_token_has_the_place_of_its_beginning() {
        assert_eq!(places("é <|im_/no_thinkend|>", "<|im_end|>"), [3]);
        assert_eq!(places("a <_end_think>", "</think>"), [2]);
        assert_eq!(places("<|im-end|>", "<|im_end|>"), [0]);
        // The text around a removed word is another word to remove.
        assert_eq!(places("<|/no_/thinkthinkx|>", "<|x|>"), [0]);
        assert_eq!(places("<|x|>", "<|x|>"), [0; 0]);
    }
}
