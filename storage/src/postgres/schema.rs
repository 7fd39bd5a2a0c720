//! Prepares the tables: checks whose they are, and creates or migrates them.

use deadpool_postgres::{Pool, Transaction};

use super::transaction;
use crate::failure::Failure;

/// The SQL that migrates a database from each format to the next. The first step creates the tables.
///
/// The last step changes no table. Its number keeps out older programs, which would not see the facts of replies in nodes.
const STEPS: [&str; 4] =
    [include_str!("schema.sql"), include_str!("search_index.sql"), include_str!("blocks.sql"), ""];

/// The oldest format that can be read without a migration. Its tables are the same, without the index that makes searches
/// fast.
const READABLE: usize = 1;

/// The advisory lock with which stores that open concurrently take turns: the bytes `Allq`, as in SQLite.
const LOCK: i64 = 0x416c_6c71;

/// The oldest version of PostgreSQL that reports whether a transaction was committed.
const OLDEST: i32 = 130_000;

/// Prepares the tables. It refuses those of another program, creates them where there are none, and migrates older ones to
/// this format, all at once or not at all.
pub(super) async fn prepare(pool: &Pool, schema: &str) -> Result<(), Failure> {
    let mut client = transaction::connection(pool).await?;
    let transaction = client.transaction().await?;
    lock(&transaction).await?;
    suits(&transaction).await?;
    let known = match format(&transaction, schema).await? {
        Some(known) => known,
        None => {
            transaction.batch_execute(&format!("CREATE SCHEMA \"{schema}\"")).await?;
            0
        }
    };
    let steps = STEPS.get(known..).unwrap_or_default();
    if !steps.is_empty() {
        for step in steps {
            transaction.batch_execute(step).await?;
        }
        transaction.execute("DELETE FROM format", &[]).await?;
        transaction.execute("INSERT INTO format (version) VALUES ($1)", &[&(STEPS.len() as i32)]).await?;
    }
    Ok(transaction.commit().await?)
}

/// Checks that the tables can be read, and changes nothing.
pub(super) async fn check(pool: &Pool, schema: &str) -> Result<(), Failure> {
    let mut client = transaction::connection(pool).await?;
    let transaction = client.transaction().await?;
    suits(&transaction).await?;
    match format(&transaction, schema).await? {
        None => Err(Failure::Absent { reason: "the schema does not exist" }),
        Some(READABLE..) => Ok(()),
        Some(_) => Err(Failure::Absent { reason: "the schema holds no conversations" }),
    }
}

/// Waits until no other store prepares its tables.
pub(super) async fn lock(transaction: &Transaction<'_>) -> Result<(), Failure> {
    transaction.query_one("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    Ok(())
}

/// Refuses a server that is too old, and a database whose texts cannot hold every character.
pub(super) async fn suits(transaction: &Transaction<'_>) -> Result<(), Failure> {
    let sql = "SELECT current_setting('server_version_num')::integer, current_setting('server_encoding')";
    let row = transaction.query_one(sql, &[]).await?;
    let version: i32 = row.try_get(0)?;
    let encoding: String = row.try_get(1)?;
    if version < OLDEST {
        return Err(Failure::Unsuited(format!("its server is of version {version}, older than {OLDEST}")));
    }
    if encoding != "UTF8" {
        return Err(Failure::Unsuited(format!("its encoding is {encoding}, not UTF8")));
    }
    Ok(())
}

/// Returns the format of the tables: 0 where there are none, `None` without a schema.
async fn format(transaction: &Transaction<'_>, schema: &str) -> Result<Option<usize>, Failure> {
    let exists = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
    if transaction.query_opt(exists, &[&schema]).await?.is_none() {
        return Ok(None);
    }
    let names = tables(transaction, schema).await?;
    if names.is_empty() {
        return Ok(Some(0));
    }
    if !["format", "conversations", "nodes"].iter().all(|ours| names.iter().any(|name| name == ours)) {
        return Err(Failure::Foreign);
    }
    let version: i32 = transaction.query_one("SELECT version FROM format", &[]).await?.try_get(0)?;
    match usize::try_from(version) {
        Ok(known) if (1..=STEPS.len()).contains(&known) => Ok(Some(known)),
        _ => Err(Failure::Newer {
            what: "it".to_owned(),
            found: version.unsigned_abs().into(),
            known: STEPS.len() as u64,
        }),
    }
}

/// Returns the names of the tables in a schema.
pub(super) async fn tables(transaction: &Transaction<'_>, schema: &str) -> Result<Vec<String>, Failure> {
    let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = $1";
    let rows = transaction.query(sql, &[&schema]).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?)
}
