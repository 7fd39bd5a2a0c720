//! Translates queries into SQL: lists, counts, searches. The caller begins and ends the transaction.

use std::ops::Bound;

use alloquy_core::query::{Filter, FilterTest, SearchScope, Sort, SortDirection, SortKey, TimeRange};
use alloquy_core::search::{SearchPage, SearchText};
use alloquy_core::store::ConversationPage;
use alloquy_core::{Owner, Query};
use rusqlite::types::Value;
use rusqlite::{Transaction, params_from_iter};

use super::keys;
use super::rows::{self, CONVERSATION, NODE};
use super::words::UNWRITTEN;
use crate::answers::{Hits, cursor_time, first_mark, limit, page};
use crate::failure::Failure;
use crate::stored::{StoredNode, milliseconds, unsigned};

/// Conditions on a conversation `c`, and the values of their parameters.
struct Conditions {
    sql: Vec<String>,
    values: Vec<Value>,
    owner: i64,
    /// A filter matches few conversations.
    is_narrow: bool,
}

/// Up to so many conversations and nodes, every text is read and the index is not used.
const FEW_CONVERSATIONS: usize = 200;
const FEW_NODES: i64 = 2_000;

impl Conditions {
    fn of(transaction: &Transaction<'_>, owner: i64, query: &Query) -> Result<Self, Failure> {
        let mut conditions = Self { sql: Vec::new(), values: Vec::new(), owner, is_narrow: false };
        let owner = conditions.value(owner);
        conditions.sql.push(format!("c.owner = {owner}"));
        conditions.within("c.created", &query.created_in());
        conditions.within("c.updated", &query.updated_in());
        for filter in query.filters() {
            conditions.filter(transaction, filter)?;
        }
        Ok(conditions)
    }

    /// Adds the condition that the text of a node matches: the index of words has it, or it is one of the newest nodes.
    fn with_text(
        mut self,
        transaction: &Transaction<'_>,
        text: Option<&SearchText>,
    ) -> Result<Self, Failure> {
        if let Some(text) = text {
            let wanted = self.wanted(text);
            let mut newest = String::new();
            for key in newest_matching(transaction, self.owner, text)? {
                newest.push_str(&format!(" UNION ALL VALUES ({})", self.value(key)));
            }
            self.sql.push(format!(
                "c.key IN (SELECT n.conversation FROM words JOIN nodes n ON n.position = words.rowid
                WHERE words MATCH {wanted}{newest})"
            ));
        }
        Ok(self)
    }

    /// Adds a value and returns its parameter: `?1` for the first.
    fn value(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn wanted(&mut self, text: &SearchText) -> String {
        let wanted = wanted(self.owner, text);
        self.value(wanted)
    }

    fn within(&mut self, column: &str, period: &TimeRange) {
        if let Some(from) = period.from {
            let value = self.value(milliseconds(from));
            self.sql.push(format!("{column} >= {value}"));
        }
        if let Some(until) = period.until {
            let value = self.value(milliseconds(until));
            self.sql.push(format!("{column} < {value}"));
        }
    }

    fn filter(&mut self, transaction: &Transaction<'_>, filter: &Filter) -> Result<(), Failure> {
        let owner = self.value(self.owner);
        let place = self.value(filter.key().pointer());
        let (test, is_there) = match filter.test() {
            FilterTest::Exists => (String::new(), "IN"),
            FilterTest::Missing => (String::new(), "NOT IN"),
            FilterTest::OneOf(keys) => {
                let keys: Vec<_> = keys.iter().map(|key| self.value(key.clone())).collect();
                (format!("AND value IN ({})", keys.join(", ")), "IN")
            }
            FilterTest::Between(from, to) => (self.bound(">", from) + &self.bound("<", to), "IN"),
        };
        let fitting =
            format!("SELECT conversation FROM metadata WHERE owner = {owner} AND place = {place} {test}");
        // Counts what the filter matches, but not beyond what is few.
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

/// Returns the conversations of an owner in which one of the newest nodes matches. A damaged node does not match.
fn newest_matching(
    transaction: &Transaction<'_>,
    owner: i64,
    text: &SearchText,
) -> Result<Vec<i64>, Failure> {
    let sql = format!(
        "SELECT {NODE}, n.conversation FROM nodes n CROSS JOIN conversations c ON c.key = n.conversation
        WHERE {UNWRITTEN} AND c.owner = ?1"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut found = Vec::new();
    let mut rows = statement.query([owner])?;
    while let Some(row) = rows.next()? {
        if rows::node(row)?.node().is_ok_and(|node| text.matches(&node)) {
            found.push(row.get(5)?);
        }
    }
    Ok(found)
}

/// Returns the query for the index of words, such as `owner : "1" AND text : "green tea"`. Tokens contain no quotes: see
/// [`SearchText::index`].
fn wanted(owner: i64, text: &SearchText) -> String {
    let mut wanted = format!("owner : \"{owner}\"");
    for term in text.terms() {
        let star = if term.is_prefix { " *" } else { "" };
        wanted.push_str(&format!(" AND text : \"{}\"{star}", term.tokens.join(" ")));
    }
    wanted
}

/// Returns the column that an order sorts by.
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

/// Returns the value in a sort column for a key of a cursor: times are numbers there.
fn stored_key(sort: &Sort, key: &[u8]) -> Result<Value, Failure> {
    match sort.by {
        SortKey::Updated | SortKey::Created => Ok(Value::from(cursor_time(key)?)),
        _ => Ok(Value::from(key.to_vec())),
    }
}

/// Returns the key of a cursor for the value in a sort column.
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
    let sort = query.list_order()?;
    let start = query.list_start()?;
    let owner = keys::owner(transaction, owner)?;
    let mut conditions =
        Conditions::of(transaction, owner, query)?.with_text(transaction, query.search_text())?;
    // Walking all conversations in the order of an index is best unless few match. A plus before the column prevents it.
    let plus = if conditions.is_narrow { "+" } else { "" };
    let key = format!("{plus}{}", sorted_by(&sort, &mut conditions));
    let (sign, direction) = match sort.direction {
        SortDirection::Ascending => (">", "ASC"),
        SortDirection::Descending => ("<", "DESC"),
    };
    let is_by_name = sort.by == SortKey::Id;
    if let Some((from, id)) = start {
        let from = conditions.value(stored_key(&sort, &from)?);
        let id = conditions.value(id.to_string());
        conditions.sql.push(if is_by_name {
            format!("c.id {sign} {id}")
        } else {
            format!("({key}, c.id) {sign} ({from}, {id})")
        });
    }
    let order = if is_by_name { String::new() } else { format!("{key} {direction}, ") };
    let limit = conditions.value(limit(query.at_most().saturating_add(1)));
    let sql = format!(
        "SELECT {CONVERSATION}, {key} FROM conversations c WHERE {} ORDER BY {order}c.id {direction} LIMIT {limit}",
        conditions.all()
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(conditions.values), |row| {
        Ok((rows::conversation(row)?, cursor_key(row.get(6)?)))
    })?;
    page(query, rows.collect::<rusqlite::Result<Vec<_>>>()?)
}

pub(super) fn count(transaction: &Transaction<'_>, owner: &Owner, query: &Query) -> Result<usize, Failure> {
    let owner = keys::owner(transaction, owner)?;
    let conditions =
        Conditions::of(transaction, owner, query)?.with_text(transaction, query.search_text())?;
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
    let hits = if conditions.is_narrow && nodes_of(transaction, &conditions)? <= FEW_NODES {
        hits_among_all(transaction, &scope, conditions)?
    } else {
        hits_in_the_index(transaction, &scope, conditions)?
    };
    Ok(hits.page(&scope))
}

/// Returns how many nodes the matching conversations have.
fn nodes_of(transaction: &Transaction<'_>, conditions: &Conditions) -> Result<i64, Failure> {
    let sql = format!("SELECT coalesce(sum(c.nodes), 0) FROM conversations c WHERE {}", conditions.all());
    let mut statement = transaction.prepare_cached(&sql)?;
    Ok(statement.query_row(params_from_iter(&conditions.values), |row| row.get(0))?)
}

/// Searches by reading every text.
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

/// Searches by reading the texts of the newest nodes, and with the index of words for the others.
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
    let wanted = conditions.wanted(scope.text);
    let limit = conditions.value(limit(scope.at_most));
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
