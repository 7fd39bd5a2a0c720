//! Queries as SQL: lists, counts, searches. Inside a transaction that the caller begins and ends.

use std::ops::{Bound, RangeInclusive};
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
use super::words::{INDEXED, STRETCH, run, wanted};
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
            let says = self.says(text, None);
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

    /// The condition that a node `n` says something, in a window or anywhere: the index finds it, or the node is none of
    /// those in the index.
    fn says(&mut self, text: &SearchText, window: Option<&Window>) -> String {
        let stretches = window.and_then(Window::stretches);
        let wanted = self.value(wanted(&self.owner, text, stretches));
        let (mut every, mut phrases) = (Vec::new(), Vec::new());
        for term in text.terms() {
            let run = format!("strpos(n.words, {}) > 0", self.value(run(term)));
            // The index is right about single words.
            phrases.extend((term.tokens.len() > 1).then(|| run.clone()));
            every.push(run);
        }
        let found = [vec![format!("{INDEXED} @@ {wanted}::text::tsquery")], phrases].concat().join(" AND ");
        if let Some(window) = window {
            let (first, last) = (self.value(window.first), self.value(window.last));
            every.push(format!("n.position BETWEEN {first} AND {last}"));
        }
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

/// Positions that are looked at together, the newest first: the two commonest words stand in so many messages that nobody
/// wants all of them.
struct Window {
    first: i64,
    last: i64,
}

/// How many stretches the first window has, and the widest that the index is asked for stretch by stretch: where it takes
/// more, the words are seldom, and all that is left is looked at.
const NARROW: i64 = 2;
const WIDEST: i64 = 48;

impl Window {
    /// So many stretches, the last of which holds `last`.
    fn before(last: i64, stretches: i64) -> Self {
        let first = (last / STRETCH + 1).saturating_sub(stretches).saturating_mul(STRETCH);
        Self { first: if stretches > WIDEST { 0 } else { first.max(0) }, last }
    }

    /// The stretches by name, unless they are all that there are.
    fn stretches(&self) -> Option<RangeInclusive<i64>> {
        (self.first > 0).then_some(self.first / STRETCH..=self.last / STRETCH)
    }

    /// The window behind this one, as wide as those before it let expect it must be.
    fn next(&self, newest: i64, found: usize, wanted: usize) -> Self {
        let seen = (newest / STRETCH - self.first / STRETCH + 1).max(1);
        let (found, missing) = (limit(found), limit(wanted.saturating_sub(found)));
        let expected = missing.saturating_mul(seen).checked_div(found);
        // A little more than expected, so that one is mostly enough.
        let width = expected.map_or(i64::MAX, |expected| expected.saturating_add(expected / 8));
        Self::before(self.first - 1, width.max(NARROW))
    }
}

pub(super) async fn search(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<SearchPage, Failure> {
    let scope = query.search_scope()?;
    let mark = first_mark(&scope)?;
    let sql = "SELECT coalesce(max(position), 0) FROM nodes";
    let statement = transaction.prepare_cached(sql).await?;
    let newest: i64 = transaction.query_one(&statement, &[]).await?.try_get(0)?;
    let newest = newest.min(mark).max(0);
    let mut hits = Hits::default();
    let mut window = Window::before(newest, NARROW);
    let mut rows = 0;
    loop {
        let most = scope.at_most.saturating_sub(rows);
        for row in rows_in(transaction, owner, query, &window, most).await? {
            hits.take(&scope, rows::node(&row), row.try_get(5)?);
            rows += 1;
        }
        if rows >= scope.at_most || window.first == 0 {
            return Ok(hits.page(&scope));
        }
        window = window.next(newest, rows, scope.at_most);
    }
}

/// Reads the newest nodes of a window that are meant. Each step is bound to be one of its own, since the server expects more
/// of few words and less of many than there is.
async fn rows_in(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
    window: &Window,
    most: usize,
) -> Result<Vec<Row>, Failure> {
    let text = query.search_scope()?.text;
    let mut conditions = Conditions::of(owner, query);
    let meant = conditions.all();
    let is_plain = conditions.sql.len() == 1;
    let says = conditions.says(text, Some(window));
    let (first, last) = (conditions.value(window.first), conditions.value(window.last));
    let most = conditions.value(limit(most));
    let among = if is_plain {
        String::new()
    } else {
        format!("JOIN conversations c ON c.key = f.conversation WHERE {meant}")
    };
    let sql = format!(
        "WITH found AS MATERIALIZED (
            SELECT n.position, n.conversation FROM nodes n
            WHERE {says} AND n.position + 0 BETWEEN {first} AND {last}
        ), newest AS MATERIALIZED (
            SELECT f.position FROM found f {among} ORDER BY f.position DESC LIMIT {most}
        )
        SELECT {NODE}, c.id FROM newest f JOIN nodes n ON n.position = f.position
        JOIN conversations c ON c.key = n.conversation WHERE {meant} ORDER BY n.position DESC"
    );
    conditions.ask(transaction, &sql).await
}
