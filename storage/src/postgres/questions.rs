//! Queries as SQL: lists, counts, searches. Inside a transaction that the caller begins and ends.

use std::ops::Bound;
use std::time::SystemTime;

use alloquy_core::{
    ConversationPage, Direction, Error, ErrorKind, Filter, Owner, Period, Query, SearchPage, SearchText,
    Sort, SortKey, Test,
};
use deadpool_postgres::Transaction;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::conversations;
use super::rows::{self, CONVERSATION, NODE};
use super::words::{run, wanted};
use crate::answers::{Hits, first_mark, limit, page};
use crate::failure::Failure;
use crate::stored::{milliseconds, unsigned};

type Value = Box<dyn ToSql + Sync>;

/// Conditions on a conversation `c`, and the values that stand in them.
struct Conditions {
    sql: Vec<String>,
    values: Vec<Value>,
    owner: Owner,
}

impl Conditions {
    fn of(owner: &Owner, query: &Query) -> Self {
        let mut conditions = Self { sql: Vec::new(), values: Vec::new(), owner: owner.clone() };
        let owner = conditions.owner();
        conditions.sql.push(format!("c.owner = {owner}"));
        conditions.within("c.created", query.created_in());
        conditions.within("c.updated", query.updated_in());
        query.filters().iter().for_each(|filter| conditions.filter(filter));
        conditions
    }

    /// Adds the condition that a node says something.
    fn saying(mut self, text: Option<&SearchText>) -> Self {
        if let Some(text) = text {
            let says = self.says(text);
            self.sql.push(format!("c.key IN (SELECT n.conversation FROM nodes n WHERE {says})"));
        }
        self
    }

    /// Keeps a value and returns how SQL names it.
    fn value(&mut self, value: impl ToSql + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    fn owner(&mut self) -> String {
        self.value(self.owner.to_string())
    }

    /// The condition that a node `n` says something: the index finds it, or the node is none of those in the index.
    fn says(&mut self, text: &SearchText) -> String {
        let wanted = self.value(wanted(&self.owner, text));
        let (mut every, mut phrases) = (Vec::new(), Vec::new());
        for term in text.terms() {
            let run = format!("strpos(n.words, {}) > 0", self.value(run(term)));
            // The index is right about single words.
            phrases.extend((term.tokens.len() > 1).then(|| run.clone()));
            every.push(run);
        }
        let found = [vec![format!("n.terms @@ {wanted}::text::tsquery")], phrases].concat().join(" AND ");
        format!("(({found}) OR (n.terms IS NULL AND {}))", every.join(" AND "))
    }

    fn within(&mut self, column: &str, period: Period) {
        let mut bound = |sign: &str, time: Option<SystemTime>| {
            if let Some(time) = time {
                let value = self.value(milliseconds(time));
                self.sql.push(format!("{column} {sign} {value}"));
            }
        };
        bound(">=", period.from);
        bound("<", period.until);
    }

    fn filter(&mut self, filter: &Filter) {
        let (owner, place) = (self.owner(), self.value(conversations::place(&filter.key().pointer())));
        let (test, is_there) = match filter.test() {
            Test::Exists => (String::new(), "IN"),
            Test::Missing => (String::new(), "NOT IN"),
            Test::OneOf(keys) => (format!("AND value = ANY({})", self.value(keys.clone())), "IN"),
            Test::Between(from, to) => (self.bound(">", from) + &self.bound("<", to), "IN"),
        };
        self.sql.push(format!(
            "c.key {is_there} (SELECT conversation FROM metadata WHERE owner = {owner} AND place = {place} {test})"
        ));
    }

    fn bound(&mut self, sign: &str, bound: &Bound<Vec<u8>>) -> String {
        match bound {
            Bound::Included(key) => format!(" AND value {sign}= {}", self.value(key.clone())),
            Bound::Excluded(key) => format!(" AND value {sign} {}", self.value(key.clone())),
            Bound::Unbounded => String::new(),
        }
    }

    fn all(&self) -> String {
        self.sql.join(" AND ")
    }

    async fn ask(&self, transaction: &Transaction<'_>, sql: &str) -> Result<Vec<Row>, Failure> {
        let statement = transaction.prepare_cached(sql).await?;
        let values: Vec<&(dyn ToSql + Sync)> = self.values.iter().map(AsRef::as_ref).collect();
        Ok(transaction.query(&statement, &values).await?)
    }
}

/// The column that an order sorts by.
fn sorted_by(sort: &Sort, conditions: &mut Conditions) -> String {
    match &sort.by {
        SortKey::Updated => "c.updated".to_owned(),
        SortKey::Created => "c.created".to_owned(),
        SortKey::Metadata(key) => {
            let place = conditions.value(conversations::place(&key.pointer()));
            format!(
                "coalesce((SELECT value FROM metadata m WHERE m.conversation = c.key AND m.place = {place}), ''::bytea)"
            )
        }
        _ => "''::bytea".to_owned(),
    }
}

/// Keeps a sort key as the column holds it: times are numbers there.
fn stored_key(sort: &Sort, key: Vec<u8>, conditions: &mut Conditions) -> Result<String, Failure> {
    if !is_time(sort) {
        return Ok(conditions.value(key));
    }
    let bytes: Result<[u8; 8], _> = key.try_into();
    let time = bytes.ok().and_then(|bytes| i64::try_from(u64::from_be_bytes(bytes)).ok());
    let wrong = || Error::new(ErrorKind::Invalid, "the cursor holds no time");
    Ok(conditions.value(time.ok_or_else(wrong)?))
}

/// Reads a sort key as cursors hold it.
fn cursor_key(sort: &Sort, row: &Row) -> Result<Vec<u8>, Failure> {
    match is_time(sort) {
        true => Ok(row.try_get::<_, i64>(6)?.to_be_bytes().to_vec()),
        false => Ok(row.try_get(6)?),
    }
}

fn is_time(sort: &Sort) -> bool {
    matches!(sort.by, SortKey::Updated | SortKey::Created)
}

pub(super) async fn list(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<ConversationPage, Failure> {
    let (sort, start) = (query.list_order()?, query.list_start()?);
    let mut conditions = Conditions::of(owner, query).saying(query.search_text());
    let key = sorted_by(&sort, &mut conditions);
    let (sign, direction) = match sort.direction {
        Direction::Ascending => (">", "ASC"),
        Direction::Descending => ("<", "DESC"),
    };
    let is_by_name = sort.by == SortKey::Id;
    if let Some((from, id)) = start {
        let id = conditions.value(id.to_string());
        let behind = match is_by_name {
            true => format!("c.id {sign} {id}"),
            false => format!("({key}, c.id) {sign} ({}, {id})", stored_key(&sort, from, &mut conditions)?),
        };
        conditions.sql.push(behind);
    }
    let order = if is_by_name { String::new() } else { format!("{key} {direction}, ") };
    let limit = conditions.value(limit(query.at_most().saturating_add(1)));
    let sql = format!(
        "SELECT {CONVERSATION}, {key} FROM conversations c WHERE {} ORDER BY {order}c.id {direction} LIMIT {limit}",
        conditions.all()
    );
    let found = conditions.ask(transaction, &sql).await?;
    let keyed = |row: &Row| Ok((rows::conversation(row)?, cursor_key(&sort, row)?));
    page(query, found.iter().map(keyed).collect::<Result<_, Failure>>()?)
}

pub(super) async fn count(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<usize, Failure> {
    let conditions = Conditions::of(owner, query).saying(query.search_text());
    let sql = format!("SELECT count(*) FROM conversations c WHERE {}", conditions.all());
    let rows = conditions.ask(transaction, &sql).await?;
    rows.first().map_or(Ok(0), |row| unsigned(row.try_get(0)?))
}

pub(super) async fn search(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<SearchPage, Failure> {
    let scope = query.search_scope()?;
    let mut conditions = Conditions::of(owner, query);
    let says = conditions.says(scope.text);
    let until = first_mark(&scope)?;
    let (until, limit) = (conditions.value(until), conditions.value(limit(scope.at_most)));
    let sql = format!(
        "SELECT {NODE}, c.id FROM nodes n JOIN conversations c ON c.key = n.conversation
        WHERE {says} AND n.position <= {until} AND {} ORDER BY n.position DESC LIMIT {limit}",
        conditions.all()
    );
    let mut hits = Hits::default();
    for row in conditions.ask(transaction, &sql).await? {
        hits.take(rows::node(&row), row.try_get(5)?);
    }
    Ok(hits.page(&scope))
}
