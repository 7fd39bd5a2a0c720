//! Finds passages. The caller begins and ends the transaction.

use std::collections::HashSet;
use std::ops::Bound;

use alloquy_core::Owner;
use alloquy_core::query::{Filter, FilterTest};
use alloquy_retrieval::{Lookup, Passage, VectorSettings};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Transaction, params, params_from_iter};

use super::owners;
use super::vector_cache::VectorCache;
use crate::failure::Failure;
use crate::json::decode;
use crate::passages::blocks::Block;
use crate::passages::change::first_version;
use crate::passages::scores::{Question, Scored, best, scores};
use crate::passages::tables::{Hits, State};
use crate::stored::must_be_intact;

pub(super) fn state(unit: &Transaction<'_>, owner: &Owner) -> Result<State, Failure> {
    match owners::find(unit, owner)? {
        Some(row) => Ok(State { passages: row.totals.passages, version: row.version }),
        None => Ok(State { passages: 0, version: first_version() }),
    }
}

pub(super) fn by_words(
    unit: &Transaction<'_>,
    owner: &Owner,
    question: &Question,
    lookup: &Lookup,
) -> Result<Hits, Failure> {
    let Some(row) = owners::find(unit, owner)? else { return Ok(nothing()) };
    let scored = scores(question, &row.totals, |word| blocks_of(unit, row.key, word))?;
    Ok(Hits { passages: chosen(unit, row.key, scored, lookup)?, version: row.version })
}

pub(super) fn by_vector(
    unit: &Transaction<'_>,
    cache: &mut VectorCache,
    owner: &Owner,
    settings: &VectorSettings,
    vector: &[f32],
    lookup: &Lookup,
) -> Result<Hits, Failure> {
    let Some(row) = owners::find(unit, owner)? else { return Ok(nothing()) };
    let vectors = cache.of(unit, row.key, row.version, settings)?;
    let similarities = vectors.vectors.similarities(vector)?;
    let scored = vectors.passages.iter().copied().zip(similarities.into_iter().map(f64::from)).collect();
    Ok(Hits { passages: chosen(unit, row.key, scored, lookup)?, version: row.version })
}

fn nothing() -> Hits {
    Hits { passages: Vec::new(), version: first_version() }
}

fn blocks_of(unit: &Transaction<'_>, owner: i64, word: &str) -> Result<Vec<Block>, Failure> {
    let sql = "SELECT first, postings FROM blocks WHERE owner = ?1 AND word = ?2 ORDER BY first";
    let mut statement = unit.prepare_cached(sql)?;
    let rows = statement
        .query_map(params![owner, word], |row| Ok(Block { first: row.get(0)?, bytes: row.get(1)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the passages of a lookup among those with scores, the best first.
fn chosen(
    unit: &Transaction<'_>,
    owner: i64,
    mut scored: Vec<Scored>,
    lookup: &Lookup,
) -> Result<Vec<Passage>, Failure> {
    if let Some(least) = lookup.min_score {
        scored.retain(|(_, score)| *score >= least);
    }
    for filter in &lookup.filters {
        let matching = matching(unit, owner, filter)?;
        let is_wanted = !matches!(filter.test(), FilterTest::Missing);
        scored.retain(|(key, _)| matching.contains(key) == is_wanted);
    }
    let limit = lookup.limit.get();
    let mut named = Vec::new();
    let mut id_of = unit.prepare_cached("SELECT id FROM passages WHERE key = ?1")?;
    for (key, score) in best(scored, limit) {
        let id: Option<String> = id_of.query_row([key], |row| row.get(0)).optional()?;
        let id = id.ok_or_else(|| {
            Failure::damaged(format!("passage {key}"), "a word or vector has it, and it is gone")
        })?;
        named.push((key, score, id));
    }
    named.sort_by(|left, right| right.1.total_cmp(&left.1).then_with(|| left.2.cmp(&right.2)));
    named.truncate(limit);
    named.into_iter().map(|(key, score, _)| Ok(passage(unit, key)?.score(score))).collect()
}

fn passage(unit: &Transaction<'_>, key: i64) -> Result<Passage, Failure> {
    let mut statement = unit.prepare_cached("SELECT body, checksum FROM passages WHERE key = ?1")?;
    let (body, sum): (String, i64) = statement.query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let what = format!("passage {key}");
    must_be_intact(&body, sum, &what)?;
    decode(body.as_bytes(), &what)
}

/// Returns the passages that have a value that a filter asks for; those that have any where it asks for none.
fn matching(unit: &Transaction<'_>, owner: i64, filter: &Filter) -> Result<HashSet<i64>, Failure> {
    let pointer = filter.key().pointer();
    let mut keys = HashSet::new();
    match filter.test() {
        FilterTest::Exists | FilterTest::Missing => {
            collect(unit, owner, &pointer, "", Vec::new(), &mut keys)?;
        }
        FilterTest::OneOf(values) => {
            for value in values {
                let value = vec![Value::Blob(value.clone())];
                collect(unit, owner, &pointer, " AND value = ?3", value, &mut keys)?;
            }
        }
        FilterTest::Between(from, to) => {
            let mut test = String::new();
            let mut values = Vec::new();
            for (sign, bound) in [(">", from), ("<", to)] {
                let (equal, value) = match bound {
                    Bound::Included(value) => ("=", value),
                    Bound::Excluded(value) => ("", value),
                    Bound::Unbounded => continue,
                };
                values.push(Value::Blob(value.clone()));
                test.push_str(&format!(" AND value {sign}{equal} ?{}", values.len() + 2));
            }
            collect(unit, owner, &pointer, &test, values, &mut keys)?;
        }
    }
    Ok(keys)
}

fn collect(
    unit: &Transaction<'_>,
    owner: i64,
    pointer: &str,
    test: &str,
    values: Vec<Value>,
    keys: &mut HashSet<i64>,
) -> Result<(), Failure> {
    let sql = format!("SELECT passage FROM metadata WHERE owner = ?1 AND place = ?2{test}");
    let mut statement = unit.prepare_cached(&sql)?;
    let first = [Value::Integer(owner), Value::Text(pointer.to_owned())];
    let mut rows = statement.query(params_from_iter(first.into_iter().chain(values)))?;
    while let Some(row) = rows.next()? {
        keys.insert(row.get(0)?);
    }
    Ok(())
}
