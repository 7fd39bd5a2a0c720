//! Finds passages. The caller begins and ends the transaction.

use std::collections::{HashMap, HashSet};
use std::ops::Bound;

use alloquy_core::Owner;
use alloquy_core::query::{Filter, FilterTest};
use alloquy_retrieval::{Lookup, Passage};
use deadpool_postgres::Transaction;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::rows::place;
use super::owners::{self, OwnerRow};
use super::pgvector::{self, Pgvector};
use super::vector_search::{MOST_CANDIDATES, VectorSearch};
use crate::answers::limit;
use crate::failure::Failure;
use crate::json::decode;
use crate::passages::blocks::Block;
use crate::passages::change::first_version;
use crate::passages::scores::{Question, best, scores};
use crate::passages::tables::{Hits, State};
use crate::stored::must_be_intact;

pub(super) async fn state(unit: &Transaction<'_>, owner: &Owner) -> Result<State, Failure> {
    match owners::find(unit, owner).await? {
        Some(row) => Ok(State { passages: row.totals.passages, version: row.version }),
        None => Ok(State { passages: 0, version: first_version() }),
    }
}

pub(super) async fn by_words(
    unit: &Transaction<'_>,
    owner: &Owner,
    question: &Question,
    lookup: &Lookup,
) -> Result<Hits, Failure> {
    let Some(row) = owners::find(unit, owner).await? else { return Ok(nothing()) };
    let mut blocks = blocks_of(unit, row.key, question).await?;
    let mut scored = scores(question, &row.totals, |word| Ok(blocks.remove(word).unwrap_or_default()))?;
    if let Some(least) = lookup.min_score {
        scored.retain(|(_, score)| *score >= least);
    }
    if !lookup.filters.is_empty() {
        let matching = matching(unit, row.key, &lookup.filters).await?;
        scored.retain(|(key, _)| matching.contains(key));
    }
    let (keys, scores): (Vec<i64>, Vec<f64>) = best(scored, lookup.limit.get()).into_iter().unzip();
    let sql =
        "SELECT p.key, p.body, p.checksum, s.score FROM unnest($1::bigint[], $2::float8[]) AS s (key, score)
        LEFT JOIN passages p ON p.key = s.key ORDER BY s.score DESC, p.id LIMIT $3";
    let statement = unit.prepare_cached(sql).await?;
    let found = unit.query(&statement, &[&keys, &scores, &limit(lookup.limit.get())]).await?;
    Ok(Hits { passages: found.iter().map(passage).collect::<Result<_, _>>()?, version: row.version })
}

pub(super) async fn by_vector(
    unit: &Transaction<'_>,
    owner: &Owner,
    pgvector: &Pgvector,
    search: VectorSearch,
    vector: &[f32],
    lookup: &Lookup,
) -> Result<Hits, Failure> {
    let Some(row) = owners::find(unit, owner).await? else { return Ok(nothing()) };
    let mut found = None;
    if let VectorSearch::Hnsw { candidates } = search {
        found = neighbours(unit, &row, pgvector, candidates, vector, lookup).await?;
    }
    let found = match found {
        Some(found) => found,
        None => nearest(unit, &row, pgvector, vector, lookup, Order::Exact).await?,
    };
    let mut passages = found.iter().map(passage).collect::<Result<Vec<_>, _>>()?;
    passages.retain(|passage| lookup.min_score.is_none_or(|least| passage.score >= least));
    Ok(Hits { passages, version: row.version })
}

fn nothing() -> Hits {
    Hits { passages: Vec::new(), version: first_version() }
}

async fn blocks_of(
    unit: &Transaction<'_>,
    owner: i64,
    question: &Question,
) -> Result<HashMap<String, Vec<Block>>, Failure> {
    let words: Vec<&str> = question.words.keys().map(String::as_str).collect();
    let sql =
        "SELECT word, first, postings FROM blocks WHERE owner = $1 AND word = ANY($2) ORDER BY word, first";
    let statement = unit.prepare_cached(sql).await?;
    let mut blocks: HashMap<String, Vec<Block>> = HashMap::new();
    for row in unit.query(&statement, &[&owner, &words]).await? {
        let block = Block { first: row.try_get(1)?, bytes: row.try_get(2)? };
        blocks.entry(row.try_get(0)?).or_default().push(block);
    }
    Ok(blocks)
}

fn passage(row: &Row) -> Result<Passage, Failure> {
    let key: Option<i64> = row.try_get(0)?;
    let Some(key) = key else {
        return Err(Failure::damaged("the index of words", "it has a passage that is gone"));
    };
    let body: String = row.try_get(1)?;
    let what = format!("passage {key}");
    must_be_intact(&body, row.try_get(2)?, &what)?;
    let passage: Passage = decode(body.as_bytes(), &what)?;
    Ok(passage.score(row.try_get(3)?))
}

/// Returns the passages whose metadata matches.
async fn matching(unit: &Transaction<'_>, owner: i64, filters: &[Filter]) -> Result<HashSet<i64>, Failure> {
    let mut conditions = Conditions::of(owner, "p.key");
    for filter in filters {
        conditions.filter(filter);
    }
    let sql = format!("SELECT p.key FROM passages p WHERE p.owner = $1{}", conditions.sql);
    let rows = conditions.ask(unit, &sql).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// How vectors are ordered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Exact,
    ByIndex,
}

/// Finds passages by the HNSW index. `None` if it finds fewer than the limit: filters may have left out its candidates, so all vectors
/// are to be compared.
async fn neighbours(
    unit: &Transaction<'_>,
    owner: &OwnerRow,
    pgvector: &Pgvector,
    candidates: usize,
    vector: &[f32],
    lookup: &Lookup,
) -> Result<Option<Vec<Row>>, Failure> {
    let limit = lookup.limit.get();
    if limit > MOST_CANDIDATES {
        return Ok(None);
    }
    let candidates = candidates.max(limit).to_string();
    let statement = unit.prepare_cached("SELECT set_config('hnsw.ef_search', $1, true)").await?;
    unit.query(&statement, &[&candidates]).await?;
    if pgvector.iterates {
        let statement =
            unit.prepare_cached("SELECT set_config('hnsw.iterative_scan', 'strict_order', true)").await?;
        unit.query(&statement, &[]).await?;
    }
    let found = nearest(unit, owner, pgvector, vector, lookup, Order::ByIndex).await?;
    Ok(if found.len() == limit { Some(found) } else { None })
}

async fn nearest(
    unit: &Transaction<'_>,
    owner: &OwnerRow,
    pgvector: &Pgvector,
    vector: &[f32],
    lookup: &Lookup,
    order: Order,
) -> Result<Vec<Row>, Failure> {
    let mut conditions = Conditions::of(owner.key, "v.passage");
    for filter in &lookup.filters {
        conditions.filter(filter);
    }
    let asked = conditions.value(pgvector::text(vector));
    let distance = pgvector.distance("v.vector", &pgvector.parameter(&asked));
    let most = conditions.value(limit(lookup.limit.get()));
    // The `+ 0` keeps the server from using the HNSW index. Of equal distances the ids decide, after the limit and its ties.
    let sorted = match order {
        Order::Exact => format!("({distance}) + 0 FETCH FIRST ({most}::bigint) ROWS WITH TIES"),
        Order::ByIndex => format!("{distance} LIMIT {most}"),
    };
    let sql = format!(
        "WITH near AS MATERIALIZED (
            SELECT v.passage, {distance} AS distance FROM vectors v WHERE v.owner = $1{} ORDER BY {sorted}
        )
        SELECT p.key, p.body, p.checksum, -near.distance FROM near JOIN passages p ON p.key = near.passage
        ORDER BY near.distance, p.id LIMIT {most}",
        conditions.sql
    );
    conditions.ask(unit, &sql).await
}

/// Conditions on the passages of an owner, and the values of their parameters. The first is the owner.
struct Conditions {
    sql: String,
    /// The column that has the key of a passage.
    column: &'static str,
    values: Vec<Box<dyn ToSql + Sync>>,
}

impl Conditions {
    fn of(owner: i64, column: &'static str) -> Self {
        Self { sql: String::new(), column, values: vec![Box::new(owner)] }
    }

    /// Adds a value and returns its parameter.
    fn value(&mut self, value: impl ToSql + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    fn filter(&mut self, filter: &Filter) {
        let place = self.value(place(&filter.key().pointer()));
        let (test, is_there) = match filter.test() {
            FilterTest::Exists => (String::new(), "IN"),
            FilterTest::Missing => (String::new(), "NOT IN"),
            FilterTest::OneOf(keys) => (format!(" AND value = ANY({})", self.value(keys.clone())), "IN"),
            FilterTest::Between(from, to) => (self.bound(">", from) + &self.bound("<", to), "IN"),
        };
        self.sql.push_str(&format!(
            " AND {} {is_there} (SELECT passage FROM metadata WHERE owner = $1 AND place = {place}{test})",
            self.column
        ));
    }

    fn bound(&mut self, sign: &str, bound: &Bound<Vec<u8>>) -> String {
        match bound {
            Bound::Included(key) => format!(" AND value {sign}= {}", self.value(key.clone())),
            Bound::Excluded(key) => format!(" AND value {sign} {}", self.value(key.clone())),
            Bound::Unbounded => String::new(),
        }
    }

    async fn ask(&self, unit: &Transaction<'_>, sql: &str) -> Result<Vec<Row>, Failure> {
        let statement = unit.prepare_cached(sql).await?;
        let values: Vec<&(dyn ToSql + Sync)> = self.values.iter().map(AsRef::as_ref).collect();
        Ok(unit.query(&statement, &values).await?)
    }
}
