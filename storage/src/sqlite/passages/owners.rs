//! The rows of owners: how many passages each has, and their version.

use alloquy_core::Owner;
use alloquy_core::media::Digest;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::failure::Failure;
use crate::passages::blocks::{read_keys, write_keys};
use crate::passages::change::first_version;
use crate::passages::scores::Totals;
use crate::stored::unsigned;

/// What a database knows of all passages of an owner together.
#[derive(Clone, Debug)]
pub(super) struct OwnerRow {
    pub(super) key: i64,
    pub(super) totals: Totals,
    pub(super) version: Digest,
}

/// Returns the row of an owner; `None` where it has stored nothing yet.
pub(super) fn find(unit: &Transaction<'_>, owner: &Owner) -> Result<Option<OwnerRow>, Failure> {
    let sql = "SELECT key, passages, words, removed, version FROM owners WHERE name = ?1";
    let mut statement = unit.prepare_cached(sql)?;
    let row = statement.query_row([owner.as_str()], |row| Ok(read(row))).optional()?;
    row.transpose()
}

/// Returns the row of an owner, and adds it where the owner has stored nothing yet.
pub(super) fn find_or_add(unit: &Transaction<'_>, owner: &Owner) -> Result<OwnerRow, Failure> {
    if let Some(row) = find(unit, owner)? {
        return Ok(row);
    }
    let version = first_version();
    let sql = "INSERT INTO owners (name, passages, words, removed, version) VALUES (?1, 0, 0, x'', ?2)";
    unit.prepare_cached(sql)?.execute(params![owner.as_str(), version.as_bytes()])?;
    Ok(OwnerRow { key: unit.last_insert_rowid(), totals: Totals::default(), version })
}

pub(super) fn write(unit: &Transaction<'_>, row: &OwnerRow) -> Result<(), Failure> {
    let sql = "UPDATE owners SET passages = ?2, words = ?3, removed = ?4, version = ?5 WHERE key = ?1";
    unit.prepare_cached(sql)?.execute(params![
        row.key,
        signed(row.totals.passages),
        signed(row.totals.words),
        write_keys(&row.totals.removed),
        row.version.as_bytes(),
    ])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<OwnerRow, Failure> {
    let removed: Vec<u8> = row.get(3)?;
    let removed = read_keys(&removed).ok_or_else(|| damaged("the removed passages are unreadable"))?;
    let version: [u8; 32] = row.get(4)?;
    let passages = unsigned(row.get(1)?)? as u64;
    let words = unsigned(row.get(2)?)? as u64;
    let totals = Totals { passages, words, removed };
    Ok(OwnerRow { key: row.get(0)?, totals, version: Digest::from_bytes(version) })
}

fn damaged(reason: &str) -> Failure {
    Failure::damaged("the row of an owner", reason)
}

/// No database has more rows than the largest number.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
