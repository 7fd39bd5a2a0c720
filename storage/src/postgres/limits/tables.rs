//! Prepares the tables of limits: checks whose they are, and creates them.

use alloquy_core::{Error, ErrorKind};
use deadpool_postgres::{Pool, Transaction};

use super::super::schema;
use super::super::transaction::connection;
use crate::failure::Failure;

/// The number of the present tables.
const FORMAT: i32 = 1;

/// Prepares the tables, all at once or not at all. It refuses those of another program.
pub(super) async fn prepare(pool: &Pool, schema: &str) -> Result<(), Failure> {
    let mut client = connection(pool).await?;
    let transaction = client.transaction().await?;
    schema::lock(&transaction).await?;
    schema::suits(&transaction).await?;
    if is_prepared(&transaction, schema).await? {
        return Ok(());
    }
    transaction.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\"")).await?;
    transaction.batch_execute(include_str!("tables.sql")).await?;
    Ok(transaction.commit().await?)
}

async fn is_prepared(transaction: &Transaction<'_>, schema: &str) -> Result<bool, Failure> {
    let names = schema::tables(transaction, schema).await?;
    if names.is_empty() {
        return Ok(false);
    }
    if !["limits", "rates", "budgets"].iter().all(|ours| names.iter().any(|name| name == ours)) {
        let words =
            format!("schema {schema:?} has tables of another program: name another schema in the URL");
        return Err(Error::new(ErrorKind::Unsupported, words).into());
    }
    let version: i32 = transaction.query_one("SELECT version FROM limits", &[]).await?.try_get(0)?;
    if version == FORMAT {
        return Ok(true);
    }
    let found = version.unsigned_abs().into();
    Err(Failure::Newer { what: "it".to_owned(), found, known: FORMAT.unsigned_abs().into() })
}
