//! Queries as SQL: lists, counts, searches. Inside a transaction that the caller begins and ends.

use std::ops::Bound;
use std::time::SystemTime;

use alloquy_core::query::{Direction, Filter, Period, SearchScope, Sort, SortKey, Test};
use alloquy_core::search::{SearchPage, SearchText};
use alloquy_core::store::ConversationPage;
use alloquy_core::{Error, ErrorKind, Owner, Query};
use rusqlite::types::Value;
use rusqlite::{Row, Transaction, params_from_iter};

use super::keys;
use super::rows::{self, CONVERSATION, NODE};
use super::words::UNWRITTEN;
use crate::answers::{Hits, first_mark, limit, page};
use crate::failure::Failure;
use crate::stored::{StoredNode, milliseconds, unsigned};

/// Conditions on a conversation `c`, and the values that stand in them.
struct Conditions {
    sql: Vec<String>,
    values: Vec<Value>,
    owner: i64,
    /// A filter leaves few conversations.
    is_narrow: bool,
}

/// So few conversations that they are looked at one by one, and so few nodes that all of their texts are.
const FEW_CONVERSATIONS: usize = 200;
const FEW_NODES: i64 = 2_000;

impl Conditions {
    fn of(transaction: &Transaction<'_>, owner: i64, query: &Query) -> Result<Self, Failure> {
        let mut conditions = Self { sql: Vec::new(), values: Vec::new(), owner, is_narrow: false };
        let owner = conditions.value(owner);
        conditions.sql.push(format!("c.owner = {owner}"));
        conditions.within("c.created", query.created_in());
        conditions.within("c.updated", query.updated_in());
        for filter in query.filters() {
            conditions.filter(transaction, filter)?;
        }
        Ok(conditions)
    }

    /// Adds the condition that a node says something: the index of words has it, or it is one of the newest.
    fn saying(mut self, transaction: &Transaction<'_>, text: Option<&SearchText>) -> Result<Self, Failure> {
        if let Some(text) = text {
            let (newest, wanted) = (newest_saying(transaction, self.owner, text)?, self.wanted(text));
            let newest = newest.into_iter().map(|key| format!(" UNION ALL VALUES ({})", self.value(key)));
            let newest: String = newest.collect();
            self.sql.push(format!(
                "c.key IN (SELECT n.conversation FROM words JOIN nodes n ON n.position = words.rowid
                WHERE words MATCH {wanted}{newest})"
            ));
        }
        Ok(self)
    }

    /// Keeps a value and returns how SQL names it.
    fn value(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn wanted(&mut self, text: &SearchText) -> String {
        let wanted = wanted(self.owner, text);
        self.value(wanted)
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

    fn filter(&mut self, transaction: &Transaction<'_>, filter: &Filter) -> Result<(), Failure> {
        let (owner, place) = (self.value(self.owner), self.value(filter.key().pointer()));
        let (test, is_there) = match filter.test() {
            Test::Exists => (String::new(), "IN"),
            Test::Missing => (String::new(), "NOT IN"),
            Test::OneOf(keys) => {
                let keys: Vec<_> = keys.iter().map(|key| self.value(key.clone())).collect();
                (format!("AND value IN ({})", keys.join(", ")), "IN")
            }
            Test::Between(from, to) => (self.bound(">", from) + &self.bound("<", to), "IN"),
        };
        let fitting =
            format!("SELECT conversation FROM metadata WHERE owner = {owner} AND place = {place} {test}");
        if is_there == "IN" && !self.is_narrow {
            let sql = format!("SELECT count(*) FROM ({fitting} LIMIT {FEW_CONVERSATIONS})");
            let mut statement = transaction.prepare_cached(&sql)?;
            let count: i64 = statement.query_row(params_from_iter(&self.values), |row| row.get(0))?;
            self.is_narrow = unsigned(count)? < FEW_CONVERSATIONS;
        }
        self.sql.push(format!("c.key {is_there} ({fitting})"));
        Ok(())
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
}

/// The conversations of an owner of which one of the newest nodes says something. A damaged node says nothing.
fn newest_saying(transaction: &Transaction<'_>, owner: i64, text: &SearchText) -> Result<Vec<i64>, Failure> {
    let sql = format!(
        "SELECT {NODE}, n.conversation FROM nodes n CROSS JOIN conversations c ON c.key = n.conversation
        WHERE {UNWRITTEN} AND c.owner = ?1"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let read = |row: &Row<'_>| Ok((rows::node(row)?, row.get::<_, i64>(5)?));
    let mut found = Vec::new();
    for row in statement.query_map([owner], read)? {
        let (stored, conversation) = row?;
        if stored.node().is_ok_and(|node| text.matches(&node)) {
            found.push(conversation);
        }
    }
    Ok(found)
}

/// What the index is asked for. Tokens hold no quotes: see [`SearchText::index`].
fn wanted(owner: i64, text: &SearchText) -> String {
    let term = |term: &alloquy_core::search::SearchTerm| {
        let star = if term.is_prefix { " *" } else { "" };
        format!(" AND text : \"{}\"{star}", term.tokens.join(" "))
    };
    format!("owner : \"{owner}\"{}", text.terms().iter().map(term).collect::<String>())
}

/// The column that an order sorts by, as `sort`.
fn sorted_by(sort: &Sort, conditions: &mut Conditions) -> String {
    match &sort.by {
        SortKey::Updated => "c.updated".to_owned(),
        SortKey::Created => "c.created".to_owned(),
        SortKey::Metadata(key) => {
            let place = conditions.value(key.pointer());
            format!(
                "coalesce((SELECT value FROM metadata m WHERE m.conversation = c.key AND m.place = {place}), x'')"
            )
        }
        _ => "NULL".to_owned(),
    }
}

/// A sort key as SQLite keeps it: times are numbers there.
fn stored_key(sort: &Sort, key: &[u8]) -> Result<Value, Failure> {
    match sort.by {
        SortKey::Updated | SortKey::Created => {
            let bytes: Result<[u8; 8], _> = key.try_into();
            let time = bytes.ok().and_then(|bytes| i64::try_from(u64::from_be_bytes(bytes)).ok());
            let wrong = || Error::new(ErrorKind::Invalid, "the cursor holds no time");
            Ok(Value::from(time.ok_or_else(wrong)?))
        }
        _ => Ok(Value::from(key.to_vec())),
    }
}

/// A sort key as cursors hold it.
fn cursor_key(value: Value) -> Vec<u8> {
    match value {
        Value::Integer(time) => time.to_be_bytes().to_vec(),
        Value::Blob(key) => key,
        _ => Vec::new(),
    }
}

pub(super) fn list(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<ConversationPage, Failure> {
    let (sort, start) = (query.list_order()?, query.list_start()?);
    let owner = keys::owner(transaction, owner)?;
    let mut conditions =
        Conditions::of(transaction, owner, query)?.saying(transaction, query.search_text())?;
    // A plus keeps SQLite from walking all conversations in order, which is best unless there are few to sort.
    let plus = if conditions.is_narrow { "+" } else { "" };
    let key = format!("{plus}{}", sorted_by(&sort, &mut conditions));
    let (sign, direction) = match sort.direction {
        Direction::Ascending => (">", "ASC"),
        Direction::Descending => ("<", "DESC"),
    };
    let is_by_name = sort.by == SortKey::Id;
    if let Some((from, id)) = start {
        let (from, id) = (conditions.value(stored_key(&sort, &from)?), conditions.value(id.to_string()));
        conditions.sql.push(match is_by_name {
            true => format!("c.id {sign} {id}"),
            false => format!("({key}, c.id) {sign} ({from}, {id})"),
        });
    }
    let order = if is_by_name { String::new() } else { format!("{key} {direction}, ") };
    let limit = conditions.value(limit(query.at_most().saturating_add(1)));
    let sql = format!(
        "SELECT {CONVERSATION}, {key} FROM conversations c WHERE {} ORDER BY {order}c.id {direction} LIMIT {limit}",
        conditions.all()
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let read = |row: &Row<'_>| Ok((rows::conversation(row)?, cursor_key(row.get(6)?)));
    let rows = statement.query_map(params_from_iter(conditions.values), read)?;
    page(query, rows.collect::<rusqlite::Result<Vec<_>>>()?)
}

pub(super) fn count(transaction: &Transaction<'_>, owner: &Owner, query: &Query) -> Result<usize, Failure> {
    let owner = keys::owner(transaction, owner)?;
    let conditions = Conditions::of(transaction, owner, query)?.saying(transaction, query.search_text())?;
    let sql = format!("SELECT count(*) FROM conversations c WHERE {}", conditions.all());
    let mut statement = transaction.prepare_cached(&sql)?;
    unsigned(statement.query_row(params_from_iter(conditions.values), |row| row.get(0))?)
}

pub(super) fn search(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<SearchPage, Failure> {
    let scope = query.search_scope()?;
    let conditions = Conditions::of(transaction, keys::owner(transaction, owner)?, query)?;
    let hits = match conditions.is_narrow && nodes_of(transaction, &conditions)? <= FEW_NODES {
        true => hits_among_all(transaction, &scope, conditions)?,
        false => hits_in_the_index(transaction, &scope, conditions)?,
    };
    Ok(hits.page(&scope))
}

/// How many nodes the conversations have that are meant.
fn nodes_of(transaction: &Transaction<'_>, conditions: &Conditions) -> Result<i64, Failure> {
    let sql = format!("SELECT coalesce(sum(c.nodes), 0) FROM conversations c WHERE {}", conditions.all());
    let mut statement = transaction.prepare_cached(&sql)?;
    Ok(statement.query_row(params_from_iter(&conditions.values), |row| row.get(0))?)
}

/// Looks at every text.
fn hits_among_all(
    transaction: &Transaction<'_>,
    scope: &SearchScope<'_>,
    mut conditions: Conditions,
) -> Result<Hits, Failure> {
    let until = conditions.value(first_mark(scope)?);
    let sql = format!(
        "SELECT {NODE}, c.id FROM conversations c CROSS JOIN nodes n ON n.conversation = c.key
        WHERE n.pruned = 0 AND n.position <= {until} AND {} ORDER BY n.position DESC",
        conditions.all()
    );
    let mut hits = Hits::default();
    for_nodes(transaction, &sql, &conditions, |row, name| hits.take_if_hit(scope, Ok(row), name))?;
    Ok(hits)
}

/// Looks at the texts of the newest nodes and asks the index for the others.
fn hits_in_the_index(
    transaction: &Transaction<'_>,
    scope: &SearchScope<'_>,
    mut conditions: Conditions,
) -> Result<Hits, Failure> {
    let until = conditions.value(first_mark(scope)?);
    let newest = format!(
        "SELECT {NODE}, c.id FROM nodes n CROSS JOIN conversations c ON c.key = n.conversation
        WHERE {UNWRITTEN} AND n.position <= {until} AND {} ORDER BY n.position DESC",
        conditions.all()
    );
    let mut hits = Hits::default();
    for_nodes(transaction, &newest, &conditions, |row, name| hits.take_if_hit(scope, Ok(row), name))?;
    let (wanted, limit) = (conditions.wanted(scope.text), conditions.value(limit(scope.at_most)));
    let indexed = format!(
        "SELECT {NODE}, c.id FROM words CROSS JOIN nodes n ON n.position = words.rowid
        CROSS JOIN conversations c ON c.key = n.conversation
        WHERE words MATCH {wanted} AND words.rowid <= {until} AND {} ORDER BY words.rowid DESC LIMIT {limit}",
        conditions.all()
    );
    for_nodes(transaction, &indexed, &conditions, |row, name| hits.take(scope, Ok(row), name))?;
    Ok(hits)
}

/// Reads nodes and the names of their conversations, one at a time: each may be large.
fn for_nodes(
    transaction: &Transaction<'_>,
    sql: &str,
    conditions: &Conditions,
    mut take: impl FnMut(StoredNode, String),
) -> Result<(), Failure> {
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query(params_from_iter(&conditions.values))?;
    while let Some(row) = rows.next()? {
        take(rows::node(row)?, row.get(5)?);
    }
    Ok(())
}
