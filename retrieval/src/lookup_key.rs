//! The key under which what was found is found again.

use std::ops::Bound;

use alloquy_core::media::Digest;
use alloquy_core::query::{Filter, FilterTest};
use alloquy_core::{Error, ErrorKind, Owner, Result};
use serde::Serialize;

use crate::Lookup;

/// The version of this key. A release that computes it in another way has another number.
const SCHEMA: u32 = 1;

/// Everything on which the result of a lookup depends. As JSON, no two of these have one text.
#[derive(Serialize)]
struct LookupKey<'a> {
    schema: u32,
    owner: &'a str,
    retriever: &'a str,
    version: Digest,
    text: &'a str,
    limit: usize,
    filters: Vec<String>,
    min_score: Option<String>,
}

/// Computes the key of a lookup: a digest of the owner, the retriever, the version of its index, and the whole lookup. A
/// [reranker](crate::Reranker) is part of the version.
///
/// ```
/// use alloquy_core::Owner;
/// use alloquy_core::media::Digest;
/// use alloquy_retrieval::{Lookup, lookup_key};
///
/// let (owner, version) = (Owner::local(), Digest::of(b"1"));
/// let key = lookup_key(&owner, "docs", version, &Lookup::new("tea"))?;
/// assert_eq!(key, lookup_key(&owner, "docs", version, &Lookup::new("tea"))?);
/// assert_ne!(key, lookup_key(&owner, "docs", version, &Lookup::new("tea").limit(2))?);
/// assert_ne!(key, lookup_key(&owner, "docs", Digest::of(b"2"), &Lookup::new("tea"))?);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Invalid`] for a lookup that cannot be written as JSON.
pub fn lookup_key(owner: &Owner, retriever: &str, version: Digest, lookup: &Lookup) -> Result<Digest> {
    // All filters must hold, so their order has no effect.
    let mut filters: Vec<String> = lookup.filters.iter().map(filter).collect();
    filters.sort_unstable();
    let key = LookupKey {
        schema: SCHEMA,
        owner: owner.as_str(),
        retriever,
        version,
        text: &lookup.text,
        limit: lookup.limit.get(),
        filters,
        // The bits, because JSON has no infinity.
        min_score: lookup.min_score.map(|score| format!("{:016x}", score.to_bits())),
    };
    let bytes = serde_json::to_vec(&key).map_err(|source| {
        Error::new(ErrorKind::Invalid, "this lookup cannot be written as JSON").with_source(source)
    })?;
    Ok(Digest::of(&bytes))
}

/// Writes a filter: its place, and what it demands there.
fn filter(filter: &Filter) -> String {
    let test = match filter.test() {
        FilterTest::OneOf(keys) => {
            let mut keys: Vec<String> = keys.iter().map(|key| hex(key)).collect();
            keys.sort_unstable();
            format!("one of {}", keys.join(","))
        }
        FilterTest::Exists => "exists".to_owned(),
        FilterTest::Missing => "missing".to_owned(),
        FilterTest::Between(from, to) => format!("from {} to {}", bound(from), bound(to)),
    };
    format!("{} {test}", filter.key().pointer())
}

fn bound(bound: &Bound<Vec<u8>>) -> String {
    match bound {
        Bound::Included(key) => format!("including {}", hex(key)),
        Bound::Excluded(key) => format!("excluding {}", hex(key)),
        Bound::Unbounded => "anything".to_owned(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
