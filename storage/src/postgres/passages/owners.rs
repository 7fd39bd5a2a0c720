//! The rows of owners: how many passages each has, and their version.

use alloquy_core::Owner;
use alloquy_core::media::Digest;
use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::passages::blocks::{read_keys, write_keys};
use crate::passages::change::first_version;
use crate::passages::scores::Totals;
use crate::stored::unsigned;

const COLUMNS: &str = "key, passages, words, removed, version";

/// What a database knows of all passages of an owner together.
#[derive(Clone, Debug)]
pub(super) struct OwnerRow {
    pub(super) key: i64,
    pub(super) totals: Totals,
    pub(super) version: Digest,
}

/// Returns the row of an owner; `None` where it has stored nothing yet.
pub(super) async fn find(unit: &Transaction<'_>, owner: &Owner) -> Result<Option<OwnerRow>, Failure> {
    let sql = format!("SELECT {COLUMNS} FROM owners WHERE name = $1");
    let statement = unit.prepare_cached(&sql).await?;
    let row = unit.query_opt(&statement, &[&owner.as_str()]).await?;
    row.map(|row| read(&row)).transpose()
}

/// Returns the row of an owner, which is added where it is missing, and locks it until the transaction ends: changes of one owner take
/// turns.
pub(super) async fn lock(unit: &Transaction<'_>, owner: &Owner) -> Result<OwnerRow, Failure> {
    let sql = "INSERT INTO owners (name, version) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    let statement = unit.prepare_cached(sql).await?;
    unit.execute(&statement, &[&owner.as_str(), &first_version().as_bytes().as_slice()]).await?;
    let sql = format!("SELECT {COLUMNS} FROM owners WHERE name = $1 FOR UPDATE");
    let statement = unit.prepare_cached(&sql).await?;
    read(&unit.query_one(&statement, &[&owner.as_str()]).await?)
}

pub(super) async fn write(unit: &Transaction<'_>, row: &OwnerRow) -> Result<(), Failure> {
    let sql = "UPDATE owners SET passages = $2, words = $3, removed = $4, version = $5 WHERE key = $1";
    let statement = unit.prepare_cached(sql).await?;
    let passages = i64::try_from(row.totals.passages).unwrap_or(i64::MAX);
    let words = i64::try_from(row.totals.words).unwrap_or(i64::MAX);
    let removed = write_keys(&row.totals.removed);
    let version = row.version.as_bytes().as_slice();
    unit.execute(&statement, &[&row.key, &passages, &words, &removed, &version]).await?;
    Ok(())
}

fn read(row: &Row) -> Result<OwnerRow, Failure> {
    let removed: Vec<u8> = row.try_get(3)?;
    let removed = read_keys(&removed).ok_or_else(|| damaged("the removed passages are unreadable"))?;
    let version: Vec<u8> = row.try_get(4)?;
    let version = <[u8; 32]>::try_from(version).map_err(|_| damaged("the version is unreadable"))?;
    let passages = unsigned(row.try_get(1)?)? as u64;
    let words = unsigned(row.try_get(2)?)? as u64;
    let totals = Totals { passages, words, removed };
    Ok(OwnerRow { key: row.try_get(0)?, totals, version: Digest::from_bytes(version) })
}

fn damaged(reason: &str) -> Failure {
    Failure::damaged("the row of an owner", reason)
}
