//! The words of a node, as the index keeps them and as it is asked for them.
//!
//! The index (`terms`) knows which words a node has, not where they stand: positions in a `tsvector` end at 16383.
//! What stands one behind the other is decided by the text of all tokens (`words`), each between two spaces.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::RangeInclusive;

use alloquy_core::{Digest, Node, Owner, SearchTerm, SearchText};

/// A `tsvector` holds a megabyte; what it adds to each word fits into the other half.
const LARGEST: usize = 512 * 1024;

/// What the index holds of a node `n`: its words, its owner, and its owner's stretch of positions in which it stands. Must be
/// as in `search_index.sql`.
pub(super) const INDEXED: &str = "(n.terms || array_to_tsvector(ARRAY[
    coalesce(substring(n.terms::text FROM '@[0-9a-f]{16}'), '@') || '#' || (n.position >> 13)::text
]))";

/// How many positions a stretch has: a thousandth of ten million messages, and few enough to look at.
pub(super) const STRETCH: i64 = 1 << 13;

/// What is written for a node.
pub(super) struct Words {
    /// All tokens, each between two spaces.
    pub(super) text: String,
    /// Each token once, divided by spaces, and the mark of the owner; `None` for more than the index takes.
    pub(super) terms: Option<String>,
}

impl Words {
    pub(super) fn of(owner: &Owner, node: &Node) -> Self {
        let tokens = SearchText::index(&node.message);
        if tokens.is_empty() {
            return Self { text: String::new(), terms: Some(String::new()) };
        }
        let once: BTreeSet<&str> = tokens.split(' ').collect();
        let terms = once.iter().fold(mark(owner), |terms, token| terms + " " + token);
        let terms = (terms.len() <= LARGEST).then_some(terms);
        Self { text: format!(" {tokens} "), terms }
    }
}

/// What no token is, so that the index finds the words of one owner without looking at those of others.
fn mark(owner: &Owner) -> String {
    let digest = Digest::of(owner.as_str().as_bytes()).to_string();
    format!("@{}", digest.get(..16).unwrap_or_default())
}

/// What the index is asked for: words of an owner, in some stretches of positions or everywhere. Tokens hold no quotes: see
/// [`SearchText::index`].
pub(super) fn wanted(owner: &Owner, text: &SearchText, stretches: Option<RangeInclusive<i64>>) -> String {
    let mark = mark(owner);
    let places: Vec<_> = match stretches {
        Some(stretches) => stretches.map(|stretch| format!("'{mark}#{stretch}'")).collect(),
        None => vec![format!("'{mark}'")],
    };
    let mut wanted = format!("({})", places.join(" | "));
    for term in text.terms() {
        let last = term.tokens.len().saturating_sub(1);
        for (number, token) in term.tokens.iter().enumerate() {
            let star = if term.is_prefix && number == last { ":*" } else { "" };
            // Writing to a string does not fail.
            let _ = write!(wanted, " & '{token}'{star}");
        }
    }
    wanted
}

/// What stands in the text of all tokens where a term does.
pub(super) fn run(term: &SearchTerm) -> String {
    let end = if term.is_prefix { "" } else { " " };
    format!(" {}{end}", term.tokens.join(" "))
}
