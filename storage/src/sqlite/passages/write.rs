//! Changes passages. The caller begins and ends the transaction.

use std::collections::{BTreeMap, HashSet};

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};
use alloquy_retrieval::{VectorSettings, Vectors};
use rusqlite::{OptionalExtension, Transaction, params};

use super::owners::{self, OwnerRow};
use crate::failure::Failure;
use crate::passages::blocks::{Block, Posting, blocks};
use crate::passages::change::{Change, Changed, PreparedPassage, Removal, is_sparse, next_version};
use crate::stored::checksum;

/// Returns the ids of those passages that are stored as they are here.
pub(super) fn known(
    unit: &Transaction<'_>,
    owner: &Owner,
    passages: &[(String, Digest)],
) -> Result<HashSet<String>, Failure> {
    let mut known = HashSet::new();
    let Some(row) = owners::find(unit, owner)? else { return Ok(known) };
    let mut statement = unit.prepare_cached("SELECT digest FROM passages WHERE owner = ?1 AND id = ?2")?;
    for (id, digest) in passages {
        let stored: Option<[u8; 32]> =
            statement.query_row(params![row.key, id], |row| row.get(0)).optional()?;
        if stored.as_ref() == Some(digest.as_bytes()) {
            known.insert(id.clone());
        }
    }
    Ok(known)
}

/// Makes a change.
pub(super) fn change(
    unit: &Transaction<'_>,
    owner: &Owner,
    change: &Change,
    vectors: Option<&VectorSettings>,
) -> Result<Changed, Failure> {
    let mut row = owners::find_or_add(unit, owner)?;
    change.check_kept(&known(unit, owner, &change.kept)?)?;
    let gone = to_remove(unit, row.key, change)?;
    let mut keys = gone.clone();
    for passage in &change.added {
        keys.extend(key_of(unit, row.key, &passage.id)?);
    }
    let removed = remove(unit, &mut row, &keys)?;
    add(unit, &mut row, &change.added, vectors)?;
    if is_sparse(row.totals.removed.len(), row.totals.passages) {
        repack(unit, &mut row)?;
    }
    if !removed.is_empty() || !change.added.is_empty() {
        row.version = next_version(row.version, removed, &change.added);
        owners::write(unit, &row)?;
    }
    Ok(Changed { added: change.added.len(), removed: gone.len() })
}

fn key_of(unit: &Transaction<'_>, owner: i64, id: &str) -> Result<Option<i64>, Failure> {
    let mut statement = unit.prepare_cached("SELECT key FROM passages WHERE owner = ?1 AND id = ?2")?;
    Ok(statement.query_row(params![owner, id], |row| row.get(0)).optional()?)
}

/// Returns the keys of the passages that a change removes.
fn to_remove(unit: &Transaction<'_>, owner: i64, change: &Change) -> Result<Vec<i64>, Failure> {
    let mut keys = Vec::new();
    match &change.removal {
        Removal::Nothing => {}
        Removal::Ids(ids) => {
            for id in ids {
                keys.extend(key_of(unit, owner, id)?);
            }
        }
        Removal::Others { source } => {
            let kept = change.ids();
            let mut sql = "SELECT key, id FROM passages WHERE owner = ?1".to_owned();
            let mut values: Vec<&dyn rusqlite::ToSql> = vec![&owner];
            if let Some(source) = source {
                sql.push_str(" AND source = ?2");
                values.push(source);
            }
            let mut statement = unit.prepare_cached(&sql)?;
            let mut rows = statement.query(values.as_slice())?;
            while let Some(row) = rows.next()? {
                let id: String = row.get(1)?;
                if !kept.contains(id.as_str()) {
                    keys.push(row.get(0)?);
                }
            }
        }
    }
    keys.sort_unstable();
    Ok(keys)
}

/// Removes passages, and returns their digests. Blocks still have them: their keys are noted.
fn remove(unit: &Transaction<'_>, row: &mut OwnerRow, keys: &[i64]) -> Result<Vec<Vec<u8>>, Failure> {
    let mut digests = Vec::new();
    let mut statement =
        unit.prepare_cached("DELETE FROM passages WHERE key = ?1 RETURNING length, digest")?;
    for key in keys {
        let removed: Option<(u32, Vec<u8>)> =
            statement.query_row([key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((length, digest)) = removed else { continue };
        digests.push(digest);
        row.totals.passages = row.totals.passages.saturating_sub(1);
        row.totals.words = row.totals.words.saturating_sub(length.into());
        row.totals.removed.insert(*key);
    }
    Ok(digests)
}

fn add(
    unit: &Transaction<'_>,
    row: &mut OwnerRow,
    passages: &[PreparedPassage],
    vectors: Option<&VectorSettings>,
) -> Result<(), Failure> {
    let mut words: BTreeMap<&str, Vec<Posting>> = BTreeMap::new();
    for passage in passages {
        let key = insert(unit, row.key, passage)?;
        if let (Some(settings), Some(vector)) = (vectors, &passage.vector) {
            insert_vector(unit, row.key, key, settings, vector)?;
        }
        for (word, count) in &passage.words {
            let posting = Posting { passage: key, count: *count, length: passage.length };
            words.entry(word).or_default().push(posting);
        }
        row.totals.passages += 1;
        row.totals.words += u64::from(passage.length);
    }
    for (word, postings) in words {
        extend(unit, row.key, word, &postings)?;
    }
    Ok(())
}

/// Adds a passage and its metadata, and returns its key.
fn insert(unit: &Transaction<'_>, owner: i64, passage: &PreparedPassage) -> Result<i64, Failure> {
    let sql = "INSERT INTO passages (owner, id, source, digest, length, body, checksum)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    unit.prepare_cached(sql)?.execute(params![
        owner,
        passage.id,
        passage.source,
        passage.digest.as_bytes(),
        passage.length,
        passage.body,
        checksum(&passage.body),
    ])?;
    let key = unit.last_insert_rowid();
    let sql = "INSERT INTO metadata (passage, owner, place, value) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = unit.prepare_cached(sql)?;
    for (place, value) in &passage.metadata {
        statement.execute(params![key, owner, place, value])?;
    }
    Ok(key)
}

fn insert_vector(
    unit: &Transaction<'_>,
    owner: i64,
    passage: i64,
    settings: &VectorSettings,
    vector: &[f32],
) -> Result<(), Failure> {
    let mut stored = Vectors::new(settings.dimensions, settings.format)?;
    stored.push(vector)?;
    let sql = "INSERT INTO vectors (owner, passage, vector) VALUES (?1, ?2, ?3)";
    unit.prepare_cached(sql)?.execute(params![owner, passage, stored.row_bytes(0)])?;
    Ok(())
}

/// Adds passages to those that have a word. Their keys are larger than all others, so they follow in the last block.
fn extend(unit: &Transaction<'_>, owner: i64, word: &str, postings: &[Posting]) -> Result<(), Failure> {
    let sql = "SELECT first, postings FROM blocks WHERE owner = ?1 AND word = ?2 ORDER BY first DESC LIMIT 1";
    let last = unit
        .prepare_cached(sql)?
        .query_row(params![owner, word], |row| Ok(Block { first: row.get(0)?, bytes: row.get(1)? }))
        .optional()?;
    let mut all = Vec::new();
    if let Some(block) = last {
        block.read(&mut all).ok_or_else(|| damaged(word))?;
    }
    all.extend(postings);
    write_blocks(unit, owner, word, &all)
}

fn write_blocks(unit: &Transaction<'_>, owner: i64, word: &str, postings: &[Posting]) -> Result<(), Failure> {
    let sql = "INSERT OR REPLACE INTO blocks (owner, word, first, postings) VALUES (?1, ?2, ?3, ?4)";
    let mut statement = unit.prepare_cached(sql)?;
    for block in blocks(postings) {
        statement.execute(params![owner, word, block.first, block.bytes])?;
    }
    Ok(())
}

/// Writes all blocks again, without the passages that were removed.
fn repack(unit: &Transaction<'_>, row: &mut OwnerRow) -> Result<(), Failure> {
    let mut words: BTreeMap<String, Vec<Posting>> = BTreeMap::new();
    let sql = "SELECT word, first, postings FROM blocks WHERE owner = ?1 ORDER BY word, first";
    let mut statement = unit.prepare_cached(sql)?;
    let mut rows = statement.query([row.key])?;
    while let Some(found) = rows.next()? {
        let word: String = found.get(0)?;
        let block = Block { first: found.get(1)?, bytes: found.get(2)? };
        let mut postings = Vec::new();
        block.read(&mut postings).ok_or_else(|| damaged(&word))?;
        postings.retain(|posting| !row.totals.removed.contains(&posting.passage));
        words.entry(word).or_default().extend(postings);
    }
    drop(rows);
    unit.prepare_cached("DELETE FROM blocks WHERE owner = ?1")?.execute([row.key])?;
    for (word, postings) in &words {
        write_blocks(unit, row.key, word, postings)?;
    }
    row.totals.removed.clear();
    Ok(())
}

fn damaged(word: &str) -> Failure {
    Failure::damaged(format!("the word {word:?}"), "its passages are unreadable")
}
