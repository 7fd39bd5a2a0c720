//! Finds the places to mark in a text with quotes.

use std::ops::Range;

use alloquy_core::arguments::{InjectionPolicy, TextSource};

use super::Literals;
use super::quotes::Quote;
use super::texts::Voice;

impl Literals {
    /// Returns the places to mark in a text of `author` with `quotes` of others, if no writer is trusted; sorted.
    ///
    /// In a reply, the model's tags stay control tokens. In a quote inside of it, they are text.
    pub(super) fn quoting_starts(
        &self,
        author: Option<TextSource>,
        text: &str,
        quotes: &[Quote],
    ) -> Vec<usize> {
        let is_reply = author == Some(TextSource::Assistant);
        let voice = if is_reply { Voice::Model } else { Voice::Other };
        let mut starts = self.starts(voice, text);
        if is_reply {
            for quote in quotes {
                let quoted = text.get(quote.range.clone()).unwrap_or_default();
                let within = self.starts(Voice::Other, quoted).into_iter();
                starts.extend(within.map(|start| quote.range.start + start));
            }
            // A tag that is partly in a quote is not the model's.
            for (start, token) in self.tokens_in(text) {
                let range = start..start + token.len();
                if quotes.iter().any(|quote| overlap(&range, &quote.range)) {
                    starts.push(start);
                }
            }
        }
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Returns the same places without those in control tokens whose writers are all trusted by `policy`.
    pub(super) fn untrusted_starts(
        &self,
        author: Option<TextSource>,
        text: &str,
        quotes: &[Quote],
        policy: &InjectionPolicy,
    ) -> Vec<usize> {
        let mut starts = self.quoting_starts(author, text, quotes);
        for (start, token) in self.tokens_in(text) {
            let range = start..start + token.len();
            if writers(author, &range, quotes).iter().all(|writer| is_trusted(*writer, policy)) {
                starts.retain(|start| !range.contains(start));
            }
        }
        starts
    }
}

/// Returns the writers of a range of a text: the sources of its quotes, and the author if some of it is in no quote.
pub(super) fn writers(
    author: Option<TextSource>,
    range: &Range<usize>,
    quotes: &[Quote],
) -> Vec<Option<TextSource>> {
    let mut writers = Vec::new();
    let mut quoted = 0;
    for quote in quotes.iter().filter(|quote| overlap(range, &quote.range)) {
        quoted += quote.range.end.min(range.end) - quote.range.start.max(range.start);
        writers.push(quote.source);
    }
    if quoted < range.len() {
        writers.push(author);
    }
    writers
}

fn is_trusted(writer: Option<TextSource>, policy: &InjectionPolicy) -> bool {
    writer.is_some_and(|source| policy.trusts(source))
}

fn overlap(left: &Range<usize>, right: &Range<usize>) -> bool {
    left.start < right.end && right.start < left.end
}
