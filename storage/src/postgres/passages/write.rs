//! Changes passages. The caller begins and ends the transaction.

use std::collections::{BTreeMap, HashSet};

use alloquy_core::Owner;
use alloquy_core::media::Digest;
use deadpool_postgres::Transaction;

use super::super::rows::place;
use super::owners::{self, OwnerRow};
use super::pgvector::{self, Pgvector};
use crate::failure::Failure;
use crate::passages::blocks::{Block, Posting, blocks};
use crate::passages::change::{Change, Changed, PreparedPassage, Removal, is_sparse, next_version};
use crate::stored::checksum;

/// Returns the ids of those passages that are stored as they are here.
pub(super) async fn known(
    unit: &Transaction<'_>,
    owner: &Owner,
    passages: &[(String, Digest)],
) -> Result<HashSet<String>, Failure> {
    if passages.is_empty() {
        return Ok(HashSet::new());
    }
    let mut ids: Vec<&[u8]> = Vec::new();
    let mut digests: Vec<&[u8]> = Vec::new();
    for (id, digest) in passages {
        ids.push(id.as_bytes());
        digests.push(digest.as_bytes());
    }
    let sql = "SELECT p.id FROM unnest($2::bytea[], $3::bytea[]) AS wanted (id, digest)
        JOIN passages p ON p.owner = (SELECT key FROM owners WHERE name = $1) AND sha256(p.id) = sha256(wanted.id)
            AND p.digest = wanted.digest";
    let statement = unit.prepare_cached(sql).await?;
    let mut known = HashSet::new();
    for row in unit.query(&statement, &[&owner.as_str(), &ids, &digests]).await? {
        known.insert(String::from_utf8_lossy(row.try_get(0)?).into_owned());
    }
    Ok(known)
}

/// Makes a change, and returns the version after it.
pub(super) async fn change(
    unit: &Transaction<'_>,
    owner: &Owner,
    change: &Change,
    vectors: Option<&Pgvector>,
) -> Result<(Changed, Digest), Failure> {
    let mut row = owners::lock(unit, owner).await?;
    change.check_kept(&known(unit, owner, &change.kept).await?)?;
    let gone = to_remove(unit, row.key, change).await?;
    let replaced = change.added.iter().map(|passage| passage.id.as_str());
    let mut keys = gone.clone();
    keys.extend(keys_of(unit, row.key, replaced).await?);
    let removed = remove(unit, &mut row, &keys).await?;
    add(unit, &mut row, &change.added, vectors).await?;
    if is_sparse(row.totals.removed.len(), row.totals.passages) {
        repack(unit, &mut row).await?;
    }
    if !removed.is_empty() || !change.added.is_empty() {
        row.version = next_version(row.version, removed, &change.added);
        owners::write(unit, &row).await?;
    }
    Ok((Changed { added: change.added.len(), removed: gone.len() }, row.version))
}

async fn keys_of(
    unit: &Transaction<'_>,
    owner: i64,
    ids: impl Iterator<Item = &str>,
) -> Result<Vec<i64>, Failure> {
    let ids: Vec<&[u8]> = ids.map(str::as_bytes).collect();
    let sql = "SELECT key FROM passages WHERE owner = $1
            AND sha256(id) = ANY (SELECT sha256(wanted.id) FROM unnest($2::bytea[]) AS wanted (id)) ORDER BY key";
    let statement = unit.prepare_cached(sql).await?;
    let rows = unit.query(&statement, &[&owner, &ids]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Returns the keys of the passages that a change removes.
async fn to_remove(unit: &Transaction<'_>, owner: i64, change: &Change) -> Result<Vec<i64>, Failure> {
    let source = match &change.removal {
        Removal::Nothing => return Ok(Vec::new()),
        Removal::Ids(ids) => return keys_of(unit, owner, ids.iter().map(String::as_str)).await,
        Removal::Others { source } => source,
    };
    let source = source.as_ref().map(String::as_bytes);
    let kept: Vec<&[u8]> = change.ids().into_iter().map(str::as_bytes).collect();
    let of_source = if source.is_some() { "sha256(source) = sha256($3::bytea)" } else { "$3::bytea IS NULL" };
    let sql = format!(
        "SELECT key FROM passages p WHERE owner = $1 AND {of_source}
            AND NOT EXISTS (SELECT 1 FROM unnest($2::bytea[]) AS kept (id) WHERE kept.id = p.id) ORDER BY key"
    );
    let statement = unit.prepare_cached(&sql).await?;
    let rows = unit.query(&statement, &[&owner, &kept, &source]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Removes passages, and returns their digests. Blocks still have them: their keys are noted.
async fn remove(unit: &Transaction<'_>, row: &mut OwnerRow, keys: &[i64]) -> Result<Vec<Vec<u8>>, Failure> {
    let mut digests = Vec::new();
    if keys.is_empty() {
        return Ok(digests);
    }
    let sql = "DELETE FROM passages WHERE key = ANY($1) RETURNING key, length, digest";
    let statement = unit.prepare_cached(sql).await?;
    for removed in unit.query(&statement, &[&keys]).await? {
        let length: i64 = removed.try_get(1)?;
        row.totals.passages = row.totals.passages.saturating_sub(1);
        row.totals.words = row.totals.words.saturating_sub(length.unsigned_abs());
        row.totals.removed.insert(removed.try_get(0)?);
        digests.push(removed.try_get(2)?);
    }
    Ok(digests)
}

async fn add(
    unit: &Transaction<'_>,
    row: &mut OwnerRow,
    passages: &[PreparedPassage],
    vectors: Option<&Pgvector>,
) -> Result<(), Failure> {
    if passages.is_empty() {
        return Ok(());
    }
    let keys = insert(unit, row.key, passages).await?;
    insert_metadata(unit, row.key, &keys, passages).await?;
    if let Some(pgvector) = vectors {
        insert_vectors(unit, row.key, &keys, passages, pgvector).await?;
    }
    let mut words: BTreeMap<String, Vec<Posting>> = BTreeMap::new();
    for (key, passage) in keys.iter().zip(passages) {
        for (word, count) in &passage.words {
            let posting = Posting { passage: *key, count: *count, length: passage.length };
            words.entry(word.clone()).or_default().push(posting);
        }
        row.totals.passages += 1;
        row.totals.words += u64::from(passage.length);
    }
    extend(unit, row.key, words).await
}

/// Adds passages, and returns their keys in the same order.
async fn insert(
    unit: &Transaction<'_>,
    owner: i64,
    passages: &[PreparedPassage],
) -> Result<Vec<i64>, Failure> {
    // The keys are taken first, because the order in which a statement returns new rows is not promised.
    let sql = "SELECT nextval(pg_get_serial_sequence('passages', 'key')) FROM generate_series(1, $1::bigint)";
    let count = i64::try_from(passages.len()).unwrap_or(i64::MAX);
    let statement = unit.prepare_cached(sql).await?;
    let rows = unit.query(&statement, &[&count]).await?;
    let mut keys = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
    keys.sort_unstable();
    let ids: Vec<&[u8]> = passages.iter().map(|passage| passage.id.as_bytes()).collect();
    let sources: Vec<Option<&[u8]>> =
        passages.iter().map(|passage| passage.source.as_ref().map(String::as_bytes)).collect();
    let digests: Vec<&[u8]> = passages.iter().map(|passage| passage.digest.as_bytes().as_slice()).collect();
    let lengths: Vec<i64> = passages.iter().map(|passage| passage.length.into()).collect();
    let bodies: Vec<&str> = passages.iter().map(|passage| passage.body.as_str()).collect();
    let sums: Vec<i64> = passages.iter().map(|passage| checksum(&passage.body)).collect();
    let sql = "INSERT INTO passages (key, owner, id, source, digest, length, body, checksum) OVERRIDING SYSTEM VALUE
        SELECT key, $1, id, source, digest, length, body, checksum
        FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bigint[], $7::text[], $8::bigint[])
            AS new (key, id, source, digest, length, body, checksum)";
    let statement = unit.prepare_cached(sql).await?;
    unit.execute(&statement, &[&owner, &keys, &ids, &sources, &digests, &lengths, &bodies, &sums]).await?;
    Ok(keys)
}

async fn insert_metadata(
    unit: &Transaction<'_>,
    owner: i64,
    keys: &[i64],
    passages: &[PreparedPassage],
) -> Result<(), Failure> {
    let mut of: Vec<i64> = Vec::new();
    let mut places: Vec<Vec<u8>> = Vec::new();
    let mut values: Vec<&[u8]> = Vec::new();
    for (key, passage) in keys.iter().zip(passages) {
        for (pointer, value) in &passage.metadata {
            of.push(*key);
            places.push(place(pointer));
            values.push(value);
        }
    }
    let sql = "INSERT INTO metadata (passage, owner, place, value)
        SELECT passage, $1, place, value FROM unnest($2::bigint[], $3::bytea[], $4::bytea[]) AS new (passage, place, value)";
    let statement = unit.prepare_cached(sql).await?;
    unit.execute(&statement, &[&owner, &of, &places, &values]).await?;
    Ok(())
}

async fn insert_vectors(
    unit: &Transaction<'_>,
    owner: i64,
    keys: &[i64],
    passages: &[PreparedPassage],
    pgvector: &Pgvector,
) -> Result<(), Failure> {
    let mut of: Vec<i64> = Vec::new();
    let mut vectors: Vec<String> = Vec::new();
    for (key, passage) in keys.iter().zip(passages) {
        if let Some(vector) = &passage.vector {
            of.push(*key);
            vectors.push(pgvector::text(vector));
        }
    }
    let vector = pgvector.parameter("vector");
    let sql = format!(
        "INSERT INTO vectors (passage, owner, vector)
        SELECT passage, $1, {vector} FROM unnest($2::bigint[], $3::text[]) AS new (passage, vector)"
    );
    let statement = unit.prepare_cached(&sql).await?;
    unit.execute(&statement, &[&owner, &of, &vectors]).await?;
    Ok(())
}

/// Adds passages to those that have words. Their keys are larger than all others of the owner, so they follow in the last blocks.
async fn extend(
    unit: &Transaction<'_>,
    owner: i64,
    mut words: BTreeMap<String, Vec<Posting>>,
) -> Result<(), Failure> {
    let sql = "SELECT w.word, b.first, b.postings FROM unnest($2::text[]) AS w (word)
        CROSS JOIN LATERAL (SELECT first, postings FROM blocks WHERE owner = $1 AND word = w.word ORDER BY first DESC LIMIT 1) b";
    let names: Vec<&str> = words.keys().map(String::as_str).collect();
    let statement = unit.prepare_cached(sql).await?;
    for row in unit.query(&statement, &[&owner, &names]).await? {
        let word: String = row.try_get(0)?;
        let block = Block { first: row.try_get(1)?, bytes: row.try_get(2)? };
        let mut all = Vec::new();
        block.read(&mut all).ok_or_else(|| damaged(&word))?;
        if let Some(postings) = words.get_mut(&word) {
            all.append(postings);
            *postings = all;
        }
    }
    write_blocks(unit, owner, &words).await
}

async fn write_blocks(
    unit: &Transaction<'_>,
    owner: i64,
    words: &BTreeMap<String, Vec<Posting>>,
) -> Result<(), Failure> {
    let mut names: Vec<&str> = Vec::new();
    let mut firsts: Vec<i64> = Vec::new();
    let mut postings: Vec<Vec<u8>> = Vec::new();
    for (word, all) in words {
        for block in blocks(all) {
            names.push(word);
            firsts.push(block.first);
            postings.push(block.bytes);
        }
    }
    let sql = "INSERT INTO blocks (owner, word, first, postings)
        SELECT $1, word, first, postings FROM unnest($2::text[], $3::bigint[], $4::bytea[]) AS new (word, first, postings)
        ON CONFLICT (owner, word, first) DO UPDATE SET postings = EXCLUDED.postings";
    let statement = unit.prepare_cached(sql).await?;
    unit.execute(&statement, &[&owner, &names, &firsts, &postings]).await?;
    Ok(())
}

/// Writes all blocks again, without the passages that were removed.
async fn repack(unit: &Transaction<'_>, row: &mut OwnerRow) -> Result<(), Failure> {
    let mut words: BTreeMap<String, Vec<Posting>> = BTreeMap::new();
    let sql = "DELETE FROM blocks WHERE owner = $1 RETURNING word, first, postings";
    let statement = unit.prepare_cached(sql).await?;
    for found in unit.query(&statement, &[&row.key]).await? {
        let word: String = found.try_get(0)?;
        let block = Block { first: found.try_get(1)?, bytes: found.try_get(2)? };
        let mut postings = Vec::new();
        block.read(&mut postings).ok_or_else(|| damaged(&word))?;
        postings.retain(|posting| !row.totals.removed.contains(&posting.passage));
        words.entry(word).or_default().extend(postings);
    }
    for postings in words.values_mut() {
        postings.sort_unstable_by_key(|posting| posting.passage);
    }
    write_blocks(unit, row.key, &words).await?;
    row.totals.removed.clear();
    Ok(())
}

fn damaged(word: &str) -> Failure {
    Failure::damaged(format!("the word {word:?}"), "its passages are unreadable")
}
