//! The words of a node in the index, and the queries for them.
//!
//! The index (`terms`) has the words of a node without their order, because positions in a `tsvector` end at 16383. A phrase
//! is found by the text of all tokens (`words`), each between two spaces.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::RangeInclusive;

use alloquy_core::media::Digest;
use alloquy_core::search::{SearchTerm, SearchText};
use alloquy_core::{Node, Owner};

/// How many bytes of words are indexed. A `tsvector` holds a megabyte, of which its own data may take half.
const LARGEST: usize = 512 * 1024;

/// The indexed expression for a node `n` in each format, the oldest first.
///
/// The first has its words and the mark of its owner. The second also has its block of positions, and the third its block of
/// each of [`LEVELS`]. They must be the same as in `schema.sql`, `search_index.sql` and `blocks.sql`.
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

/// The sizes of blocks of positions, as powers of two. The smallest, 8192, is a thousandth of ten million messages, and small
/// enough to read.
pub(super) const LEVELS: RangeInclusive<u32> = 13..=22;

/// Returns the indexed expression of a format.
pub(super) fn indexed(format: usize) -> &'static str {
    let [oldest, middle, newest] = INDEXED;
    match format {
        ..=1 => oldest,
        2 => middle,
        _ => newest,
    }
}

/// Adjacent blocks of positions, all of one size.
pub(super) struct Blocks {
    /// One of [`LEVELS`].
    pub(super) level: u32,
    pub(super) numbers: RangeInclusive<i64>,
}

/// The words of a node, as they are stored.
pub(super) struct Words {
    /// All tokens, each between two spaces.
    pub(super) text: String,
    /// Each token once, separated by spaces, and the mark of the owner; `None` for more than the index can hold.
    pub(super) terms: Option<String>,
}

impl Words {
    pub(super) fn of(owner: &Owner, node: &Node) -> Self {
        let tokens = SearchText::index(&node.message);
        if tokens.is_empty() {
            return Self { text: String::new(), terms: Some(String::new()) };
        }
        let mut terms = mark(owner);
        for token in tokens.split(' ').collect::<BTreeSet<&str>>() {
            terms.push(' ');
            terms.push_str(token);
        }
        let terms = (terms.len() <= LARGEST).then_some(terms);
        Self { text: format!(" {tokens} "), terms }
    }
}

/// Returns the mark of an owner, such as `@0123456789abcdef`. No token looks like it. With it the index finds the words of one
/// owner without reading those of others.
fn mark(owner: &Owner) -> String {
    let digest = Digest::of(owner.as_str().as_bytes()).to_string();
    format!("@{}", digest.get(..16).unwrap_or_default())
}

/// Returns the query for the index: words of an owner, in some blocks of positions or everywhere, such as
/// `('@0123456789abcdef#13:7') & 'green' & 'te':*`. Tokens contain no quotes: see [`SearchText::index`].
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

/// Returns the part of the text of all tokens that a term matches: ` green tea `, or ` green te` for a prefix.
pub(super) fn run(term: &SearchTerm) -> String {
    let end = if term.is_prefix { "" } else { " " };
    format!(" {}{end}", term.tokens.join(" "))
}
