//! Prepares the tables of passages: checks whose they are, and creates them.

use alloquy_core::{Error, ErrorKind};
use deadpool_postgres::{Pool, Transaction};

use super::super::schema;
use super::super::transaction::connection;
use super::pgvector::Pgvector;
use crate::failure::Failure;
use crate::passages::settings::Settings;

/// The number of the present tables.
const FORMAT: i32 = 1;

/// Prepares the tables, all at once or not at all. It refuses those of another program, and those that were made with other settings.
pub(super) async fn prepare(
    pool: &Pool,
    schema: &str,
    settings: &Settings,
    hnsw: bool,
) -> Result<Option<Pgvector>, Failure> {
    let mut client = connection(pool).await?;
    let transaction = client.transaction().await?;
    schema::lock(&transaction).await?;
    schema::suits(&transaction).await?;
    match stored(&transaction, schema).await? {
        Some(stored) => settings.check(&stored)?,
        None => {
            transaction.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\"")).await?;
            transaction.batch_execute(include_str!("schema.sql")).await?;
            let sql = "INSERT INTO passage_settings (version, json) VALUES ($1, $2)";
            transaction.execute(sql, &[&FORMAT, &settings.json()]).await?;
        }
    }
    let mut pgvector = None;
    if let Some(vectors) = &settings.vectors {
        pgvector = Some(Pgvector::prepare(&transaction, vectors.dimensions, hnsw).await?);
    }
    transaction.commit().await?;
    Ok(pgvector)
}

/// Returns the settings of the tables; `None` where there are none.
async fn stored(transaction: &Transaction<'_>, schema: &str) -> Result<Option<String>, Failure> {
    let names = schema::tables(transaction, schema).await?;
    if names.is_empty() {
        return Ok(None);
    }
    if !["passage_settings", "passages", "blocks"].iter().all(|ours| names.iter().any(|name| name == ours)) {
        let words =
            format!("schema {schema:?} has tables of another program: name another schema in the URL");
        return Err(Error::new(ErrorKind::Unsupported, words).into());
    }
    let row = transaction.query_one("SELECT version, json FROM passage_settings", &[]).await?;
    let version: i32 = row.try_get(0)?;
    if version == FORMAT {
        return Ok(Some(row.try_get(1)?));
    }
    let found = version.unsigned_abs().into();
    Err(Failure::Newer { what: "it".to_owned(), found, known: FORMAT.unsigned_abs().into() })
}
