//! The extension `pgvector`: its table, its index, and the SQL of its types, which may be in any schema.

use alloquy_core::{Error, ErrorKind};
use deadpool_postgres::Transaction;

use crate::failure::Failure;

/// The most numbers of a vector that the extension stores, and that its index HNSW takes.
const MOST_STORED: usize = 16_000;
const MOST_INDEXED: usize = 2_000;

/// The first version whose index continues until enough passages pass a filter.
const ITERATES: (u32, u32) = (0, 8);

/// The extension as this database has it.
#[derive(Clone, Debug)]
pub(super) struct Pgvector {
    /// The schema of its types, in quotes.
    schema: String,
    /// Whether its index continues until enough passages pass a filter.
    pub(super) iterates: bool,
}

impl Pgvector {
    /// Creates the extension if it is installed on the server, and the table and index of vectors where they are missing.
    pub(super) async fn prepare(
        unit: &Transaction<'_>,
        dimensions: usize,
        hnsw: bool,
    ) -> Result<Self, Failure> {
        check_dimensions(dimensions, hnsw)?;
        let found = match Self::find(unit).await? {
            Some(found) => found,
            None => {
                create(unit).await?;
                Self::find(unit).await?.ok_or_else(absent)?
            }
        };
        let schema = &found.schema;
        let table = format!(
            "CREATE TABLE IF NOT EXISTS vectors (
                passage BIGINT PRIMARY KEY REFERENCES passages (key) ON DELETE CASCADE,
                owner BIGINT NOT NULL,
                vector {schema}.vector({dimensions}) NOT NULL
            );
            CREATE INDEX IF NOT EXISTS vectors_by_owner ON vectors (owner);"
        );
        unit.batch_execute(&table).await?;
        if hnsw {
            let index = format!(
                "CREATE INDEX IF NOT EXISTS vectors_by_neighbours ON vectors USING hnsw (vector {schema}.vector_ip_ops)"
            );
            unit.batch_execute(&index).await?;
        }
        Ok(found)
    }

    /// Returns the extension if the database has it.
    async fn find(unit: &Transaction<'_>) -> Result<Option<Self>, Failure> {
        let sql = "SELECT quote_ident(nspname), extversion FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
            WHERE extname = 'vector'";
        let Some(row) = unit.query_opt(sql, &[]).await? else { return Ok(None) };
        let version: String = row.try_get(1)?;
        let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        Ok(Some(Self { schema: row.try_get(0)?, iterates: version >= ITERATES }))
    }

    /// Returns the SQL of the vector that a parameter has as text, such as `[0.6,0.8]`.
    pub(super) fn parameter(&self, parameter: &str) -> String {
        format!("{parameter}::text::{}.vector", self.schema)
    }

    /// Returns the SQL of the negative dot product of two vectors: the least is the nearest.
    pub(super) fn distance(&self, left: &str, right: &str) -> String {
        format!("{left} OPERATOR({}.<#>) {right}", self.schema)
    }
}

/// Returns a vector as text.
pub(super) fn text(vector: &[f32]) -> String {
    let numbers: Vec<String> = vector.iter().map(f32::to_string).collect();
    format!("[{}]", numbers.join(","))
}

async fn create(unit: &Transaction<'_>) -> Result<(), Failure> {
    let is_installed =
        unit.query_opt("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'", &[]).await?;
    if is_installed.is_none() {
        return Err(absent());
    }
    let created = unit.batch_execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public").await;
    created.map_err(|source| {
        let words = "the role may not create the extension pgvector: let an administrator run CREATE EXTENSION vector, or open \
            the passages without an embedder";
        Error::new(ErrorKind::Unsupported, words).with_source(source).into()
    })
}

fn absent() -> Failure {
    let words = "vectors in PostgreSQL need the extension pgvector, which the server lacks: install it, or open the passages \
        without an embedder to search by words";
    Error::new(ErrorKind::Unsupported, words).into()
}

fn check_dimensions(dimensions: usize, hnsw: bool) -> Result<(), Failure> {
    let most = if hnsw { MOST_INDEXED } else { MOST_STORED };
    if dimensions <= most {
        return Ok(());
    }
    let words = format!(
        "vectors of {dimensions} numbers are too long for pgvector, which takes {MOST_STORED} without and {MOST_INDEXED} with an \
         HNSW index: choose an exact search or another embedder"
    );
    Err(Error::new(ErrorKind::Invalid, words).into())
}
