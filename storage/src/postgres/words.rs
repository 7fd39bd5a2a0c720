//! The words of a node, as the index keeps them and as it is asked for them.
//!
//! The index (`terms`) knows which words a node has, not where they stand: positions in a `tsvector` end at 16383.
//! What stands one behind the other is decided by the text of all tokens (`words`), each between two spaces.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::RangeInclusive;

use alloquy_core::media::Digest;
use alloquy_core::search::{SearchTerm, SearchText};
use alloquy_core::{Node, Owner};

/// A `tsvector` holds a megabyte; what it adds to each word fits into the other half.
const LARGEST: usize = 512 * 1024;

/// What the index of each format holds of a node `n`, the oldest first: its words and the mark of its owner, then also in which
/// block of positions it is, then in which blocks of each of [`LEVELS`]. Must be as in `schema.sql`, `search_index.sql` and
/// `blocks.sql`.
const INDEXED: [&str; 3] = [
    "n.terms",
    "(n.terms || array_to_tsvector(ARRAY[
        coalesce(substring(n.terms::text FROM '@[0-9a-f]{16}'), '@') || '#' || (n.position >> 13)::text
    ]))",
    "(n.terms || replace(
        '''@#13:' || (n.position >> 13)::text || ''' ''@#14:' || (n.position >> 14)::text
            || ''' ''@#15:' || (n.position >> 15)::text || ''' ''@#16:' || (n.position >> 16)::text
            || ''' ''@#17:' || (n.position >> 17)::text || ''' ''@#18:' || (n.position >> 18)::text
            || ''' ''@#19:' || (n.position >> 19)::text || ''' ''@#20:' || (n.position >> 20)::text
            || ''' ''@#21:' || (n.position >> 21)::text || ''' ''@#22:' || (n.position >> 22)::text || '''',
        '@', coalesce(substring(n.terms::text FROM '@[0-9a-f]{16}'), '@')
    )::tsvector)",
];

/// The sizes of blocks of positions, as powers of two. The smallest is a thousandth of ten million messages, and few enough to
/// look at.
pub(super) const LEVELS: RangeInclusive<u32> = 13..=22;

/// Returns what the index of a format holds.
pub(super) fn indexed(format: usize) -> &'static str {
    let [oldest, middle, newest] = INDEXED;
    match format {
        ..=1 => oldest,
        2 => middle,
        _ => newest,
    }
}

/// Blocks of positions that follow each other, all of one size.
pub(super) struct Blocks {
    /// One of [`LEVELS`].
    pub(super) level: u32,
    pub(super) numbers: RangeInclusive<i64>,
}

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

/// What the index is asked for: words of an owner, in some blocks of positions or everywhere. Tokens hold no quotes: see
/// [`SearchText::index`].
pub(super) fn wanted(owner: &Owner, text: &SearchText, blocks: Option<&Blocks>) -> String {
    let mark = mark(owner);
    let mut places = Vec::new();
    if let Some(Blocks { level, numbers }) = blocks {
        for number in numbers.clone() {
            places.push(format!("'{mark}#{level}:{number}'"));
        }
    } else {
        places.push(format!("'{mark}'"));
    }
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
