//! Whose tables they are, which version they have, and how they come to be.

use deadpool_postgres::{Pool, Transaction};

use super::unit;
use crate::failure::Failure;

/// What takes a database from each format to the next; the first one makes the tables.
const STEPS: [&str; 1] = [include_str!("schema.sql")];

/// Two servers that start at once take turns: the bytes `Allq`, as in SQLite.
const LOCK: i64 = 0x416c_6c71;

/// The oldest server that says whether a transaction was committed.
const OLDEST: i32 = 130_000;

/// Makes the tables ready: refuses what is not ours, creates them where there are none, and takes older ones to this
/// format, all at once or not at all.
pub(super) async fn prepare(pool: &Pool, schema: &str) -> Result<(), Failure> {
    let mut client = unit::connection(pool).await?;
    let transaction = client.transaction().await?;
    transaction.query_one("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    suits(&transaction).await?;
    let steps = STEPS.get(format(&transaction, schema).await?..).unwrap_or_default();
    if !steps.is_empty() {
        for step in steps {
            transaction.batch_execute(step).await?;
        }
        transaction.execute("DELETE FROM format", &[]).await?;
        transaction.execute("INSERT INTO format (version) VALUES ($1)", &[&(STEPS.len() as i32)]).await?;
    }
    Ok(transaction.commit().await?)
}

/// Refuses a server that is too old, and a database whose texts cannot hold every character.
async fn suits(transaction: &Transaction<'_>) -> Result<(), Failure> {
    let sql = "SELECT current_setting('server_version_num')::integer, current_setting('server_encoding')";
    let row = transaction.query_one(sql, &[]).await?;
    let (version, encoding): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
    match (version >= OLDEST, encoding.as_str()) {
        (true, "UTF8") => Ok(()),
        (true, _) => Err(Failure::Unsuited(format!("its encoding is {encoding}, not UTF8"))),
        (false, _) => {
            Err(Failure::Unsuited(format!("its server is of version {version}, older than 130000")))
        }
    }
}

/// Returns the format of the tables, 0 where there are none; creates the schema.
async fn format(transaction: &Transaction<'_>, schema: &str) -> Result<usize, Failure> {
    let exists = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
    if transaction.query_opt(exists, &[&schema]).await?.is_none() {
        transaction.batch_execute(&format!("CREATE SCHEMA \"{schema}\"")).await?;
        return Ok(0);
    }
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = $1";
    let rows = transaction.query(tables, &[&schema]).await?;
    let names = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
    if names.is_empty() {
        return Ok(0);
    }
    if !["format", "conversations", "nodes"].iter().all(|ours| names.iter().any(|name| name == ours)) {
        return Err(Failure::Foreign);
    }
    let version: i32 = transaction.query_one("SELECT version FROM format", &[]).await?.try_get(0)?;
    match usize::try_from(version) {
        Ok(known @ 1..=1) => Ok(known),
        _ => Err(Failure::Newer {
            what: "it".to_owned(),
            found: version.unsigned_abs().into(),
            known: STEPS.len() as u64,
        }),
    }
}
