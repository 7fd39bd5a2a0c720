//! Translates queries into SQL: lists, counts, searches. The caller begins and ends the transaction.

use std::ops::Bound;

use alloquy_core::query::{Filter, FilterTest, SearchScope, Sort, SortDirection, SortKey, TimeRange};
use alloquy_core::search::{SearchPage, SearchText};
use alloquy_core::store::ConversationPage;
use alloquy_core::{Owner, Query};
use deadpool_postgres::Transaction;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::rows::{self, CONVERSATION, NODE};
use super::words::{Blocks, LEVELS, indexed, run, wanted};
use crate::answers::{Hits, cursor_time, first_mark, limit, page};
use crate::failure::Failure;
use crate::stored::{milliseconds, unsigned};

type Value = Box<dyn ToSql + Sync>;

/// Conditions on a conversation `c`, and the values of their parameters.
struct Conditions {
    sql: Vec<String>,
    values: Vec<Value>,
    owner: Owner,
}

/// The parameter of the owner, which is the first value.
const OWNER: &str = "$1";

impl Conditions {
    fn of(owner: &Owner, query: &Query) -> Self {
        let mut conditions = Self { sql: Vec::new(), values: Vec::new(), owner: owner.clone() };
        conditions.value(owner.to_string());
        conditions.sql.push(format!("c.owner = {OWNER}"));
        conditions.within("c.created", &query.created_in());
        conditions.within("c.updated", &query.updated_in());
        for filter in query.filters() {
            conditions.filter(filter);
        }
        conditions
    }

    /// Returns whether all conversations of the owner match.
    fn is_plain(&self) -> bool {
        self.sql.len() == 1
    }

    /// Adds the condition that the text of a node matches.
    async fn with_text(
        mut self,
        transaction: &Transaction<'_>,
        text: Option<&SearchText>,
    ) -> Result<Self, Failure> {
        if let Some(text) = text {
            let nodes = self.nodes("n.conversation", text, &Index::of(transaction).await?, None);
            self.sql.push(format!("c.key IN ({nodes})"));
        }
        Ok(self)
    }

    /// Adds a value and returns its parameter: `$1` for the first.
    fn value(&mut self, value: impl ToSql + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    fn owner(&mut self) -> String {
        self.value(self.owner.to_string())
    }

    /// Returns the statement that selects columns of all matching nodes `n`, in a window or anywhere.
    ///
    /// It is a union of two: the nodes that the index finds, and those that are too large for it. One condition with an OR
    /// would make the server check each found node again, and reading the words of a node takes longer than finding it.
    fn nodes(&mut self, columns: &str, text: &SearchText, index: &Index, window: Option<&Window>) -> String {
        let blocks = window.and_then(|window| window.blocks.as_ref());
        let wanted = self.value(wanted(&self.owner, text, blocks));
        let mut found = vec![format!("{} @@ {wanted}::text::tsquery", indexed(index.format))];
        let mut beyond = vec!["n.terms IS NULL".to_owned()];
        for term in text.terms() {
            let run = format!("strpos(n.words, {}) > 0", self.value(run(term)));
            // For a single word the index alone is exact.
            if term.tokens.len() > 1 {
                found.push(run.clone());
            }
            beyond.push(run);
        }
        if let Some(window) = window {
            let first = self.value(window.first);
            let last = self.value(window.last);
            // The `+ 0` keeps the server from using the index of positions instead of the one of words.
            found.push(format!("n.position + 0 BETWEEN {first} AND {last}"));
            beyond.push(format!("n.position BETWEEN {first} AND {last}"));
        }
        beyond.push(format!("n.conversation IN (SELECT key FROM conversations WHERE owner = {OWNER})"));
        let found = found.join(" AND ");
        let beyond = beyond.join(" AND ");
        format!(
            "SELECT {columns} FROM nodes n WHERE {found} UNION ALL SELECT {columns} FROM nodes n WHERE {beyond}"
        )
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

    fn filter(&mut self, filter: &Filter) {
        let owner = self.owner();
        let place = self.value(rows::place(&filter.key().pointer()));
        let (test, is_there) = match filter.test() {
            FilterTest::Exists => (String::new(), "IN"),
            FilterTest::Missing => (String::new(), "NOT IN"),
            FilterTest::OneOf(keys) => (format!("AND value = ANY({})", self.value(keys.clone())), "IN"),
            FilterTest::Between(from, to) => (self.bound(">", from) + &self.bound("<", to), "IN"),
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

/// Returns the column that an order sorts by.
fn sorted_by(sort: &Sort, conditions: &mut Conditions) -> String {
    match &sort.by {
        SortKey::Updated => "c.updated".to_owned(),
        SortKey::Created => "c.created".to_owned(),
        SortKey::Metadata(key) => {
            let place = conditions.value(rows::place(&key.pointer()));
            format!(
                "coalesce((SELECT value FROM metadata m WHERE m.conversation = c.key AND m.place = {place}), ''::bytea)"
            )
        }
        _ => "''::bytea".to_owned(),
    }
}

/// Adds the key of a cursor as a value of the sort column: times are numbers there.
fn stored_key(sort: &Sort, key: Vec<u8>, conditions: &mut Conditions) -> Result<String, Failure> {
    if is_time(sort) { Ok(conditions.value(cursor_time(&key)?)) } else { Ok(conditions.value(key)) }
}

/// Returns the key of a cursor for the sort column of a row.
fn cursor_key(sort: &Sort, row: &Row) -> Result<Vec<u8>, Failure> {
    if is_time(sort) { Ok(row.try_get::<_, i64>(6)?.to_be_bytes().to_vec()) } else { Ok(row.try_get(6)?) }
}

fn is_time(sort: &Sort) -> bool {
    matches!(sort.by, SortKey::Updated | SortKey::Created)
}

pub(super) async fn list(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<ConversationPage, Failure> {
    let sort = query.list_order()?;
    let start = query.list_start()?;
    let conditions = Conditions::of(owner, query);
    let mut conditions = conditions.with_text(transaction, query.search_text()).await?;
    let key = sorted_by(&sort, &mut conditions);
    let (sign, direction) = match sort.direction {
        SortDirection::Ascending => (">", "ASC"),
        SortDirection::Descending => ("<", "DESC"),
    };
    let is_by_name = sort.by == SortKey::Id;
    if let Some((from, id)) = start {
        let id = conditions.value(id.to_string());
        let after = if is_by_name {
            format!("c.id {sign} {id}")
        } else {
            format!("({key}, c.id) {sign} ({}, {id})", stored_key(&sort, from, &mut conditions)?)
        };
        conditions.sql.push(after);
    }
    let order = if is_by_name { String::new() } else { format!("{key} {direction}, ") };
    let limit = conditions.value(limit(query.at_most().saturating_add(1)));
    let sql = format!(
        "SELECT {CONVERSATION}, {key} FROM conversations c WHERE {} ORDER BY {order}c.id {direction} LIMIT {limit}",
        conditions.all()
    );
    let mut found = Vec::new();
    for row in conditions.ask(transaction, &sql).await? {
        found.push((rows::conversation(&row)?, cursor_key(&sort, &row)?));
    }
    page(query, found)
}

pub(super) async fn count(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<usize, Failure> {
    let conditions = Conditions::of(owner, query);
    let conditions = conditions.with_text(transaction, query.search_text()).await?;
    let sql = format!("SELECT count(*) FROM conversations c WHERE {}", conditions.all());
    let rows = conditions.ask(transaction, &sql).await?;
    match rows.first() {
        Some(row) => unsigned(row.try_get(0)?),
        None => Ok(0),
    }
}

/// What a search must know about the index of words.
struct Index {
    /// The format of the tables. An older one is read without a migration.
    format: usize,
    /// The position of the newest node, 0 where there is none.
    newest: i64,
}

impl Index {
    async fn of(transaction: &Transaction<'_>) -> Result<Self, Failure> {
        let sql = "SELECT (SELECT version FROM format), coalesce(max(position), 0) FROM nodes";
        let statement = transaction.prepare_cached(sql).await?;
        let row = transaction.query_one(&statement, &[]).await?;
        let format: i32 = row.try_get(0)?;
        Ok(Self { format: usize::try_from(format).unwrap_or_default(), newest: row.try_get(1)? })
    }

    /// Returns whether it has the blocks of each node.
    fn has_blocks(&self) -> bool {
        self.format >= 3
    }
}

/// Positions that are searched together. A search starts with the newest ones, because a common word is in far more messages
/// than a page shows.
struct Window {
    first: i64,
    last: i64,
    /// The blocks that contain them, and possibly newer ones; `None` for all positions up to the last.
    blocks: Option<Blocks>,
}

/// How many positions the first window has.
const NARROW: i64 = 1 << 14;

/// The most blocks of a window. The index visits each node of a window once for each block.
const MOST_BLOCKS: i64 = 3;

impl Window {
    /// Returns a window of at least `width` positions up to `last`, or of all where that needs too many blocks.
    fn before(last: i64, width: i64, index: &Index) -> Self {
        // Takes the smallest blocks of which three suffice: for the last 16384 positions up to 100000, these are the blocks
        // 10 to 12 of 8192 positions each.
        let first = last.saturating_sub(width).saturating_add(1).max(0);
        for level in LEVELS {
            let numbers = first >> level..=last >> level;
            if index.has_blocks() && numbers.end() - numbers.start() < MOST_BLOCKS {
                let first = numbers.start() << level;
                return Self { first, last, blocks: Some(Blocks { level, numbers }) };
            }
        }
        Self { first: 0, last, blocks: None }
    }

    /// Returns the window before this one. It is as wide as the hits in the windows so far suggest.
    fn next(&self, index: &Index, newest: i64, found: usize, wanted: usize) -> Self {
        let seen = newest - self.first + 1;
        let found = limit(found);
        let missing = limit(wanted).saturating_sub(found);
        let expected = missing.saturating_mul(seen).checked_div(found);
        // After 10 hits in 16384 positions, the missing 40 are expected in 65536 positions. An eighth more makes it likely that
        // one window suffices.
        let width = expected.map_or(i64::MAX, |expected| expected.saturating_add(expected / 8));
        Self::before(self.first - 1, width.max(NARROW), index)
    }
}

pub(super) async fn search(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<SearchPage, Failure> {
    let scope = query.search_scope()?;
    let mark = first_mark(&scope)?;
    let index = Index::of(transaction).await?;
    let newest = index.newest.min(mark).max(0);
    let mut hits = Hits::default();
    if let Some(keys) = few(transaction, owner, query).await? {
        for row in rows_of(transaction, owner, query, keys, newest).await? {
            take(&mut hits, &scope, &row)?;
        }
        return Ok(hits.page(&scope));
    }
    let mut window = Window::before(newest, NARROW, &index);
    let mut rows = 0;
    loop {
        let most = scope.at_most.saturating_sub(rows);
        for row in rows_in(transaction, owner, query, &index, &window, most).await? {
            take(&mut hits, &scope, &row)?;
            rows += 1;
        }
        if rows >= scope.at_most || window.first == 0 {
            return Ok(hits.page(&scope));
        }
        window = window.next(&index, newest, rows, scope.at_most);
    }
}

/// Adds a node that the server found. The index identifies owners by a part of a digest, so the node may belong to another
/// owner; then the row has no name of a conversation.
fn take(hits: &mut Hits, scope: &SearchScope<'_>, row: &Row) -> Result<(), Failure> {
    if let Some(conversation) = row.try_get::<_, Option<String>>(6)? {
        hits.take(scope, rows::node(row), conversation);
    }
    Ok(())
}

/// Up to so many conversations and messages, every text is read and the index is not used.
const FEW_CONVERSATIONS: usize = 500;
const FEW_MESSAGES: i64 = 5_000;

/// Returns the matching conversations where they are so few that reading their messages is faster than filtering everything
/// that the index finds.
async fn few(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
) -> Result<Option<Vec<i64>>, Failure> {
    let conditions = Conditions::of(owner, query);
    if conditions.is_plain() {
        return Ok(None);
    }
    let limit = FEW_CONVERSATIONS + 1;
    let sql = format!("SELECT c.key, c.nodes FROM conversations c WHERE {} LIMIT {limit}", conditions.all());
    let mut keys = Vec::new();
    let mut messages = 0_i64;
    for row in conditions.ask(transaction, &sql).await? {
        keys.push(row.try_get(0)?);
        messages = messages.saturating_add(row.try_get(1)?);
    }
    let is_few = keys.len() <= FEW_CONVERSATIONS && messages <= FEW_MESSAGES;
    Ok(is_few.then_some(keys))
}

/// Reads the newest matching nodes of some conversations.
async fn rows_of(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
    keys: Vec<i64>,
    newest: i64,
) -> Result<Vec<Row>, Failure> {
    let scope = query.search_scope()?;
    let mut conditions = Conditions::of(owner, query);
    let keys = conditions.value(keys);
    let newest = conditions.value(newest);
    conditions.sql.push(format!("n.conversation = ANY({keys}) AND n.position <= {newest}"));
    for term in scope.text.terms() {
        let run = conditions.value(run(term));
        conditions.sql.push(format!("strpos(n.words, {run}) > 0"));
    }
    let most = conditions.value(limit(scope.at_most));
    let sql = format!(
        "SELECT {NODE}, n.conversation, c.id FROM nodes n JOIN conversations c ON c.key = n.conversation
        WHERE {} ORDER BY n.position DESC LIMIT {most}",
        conditions.all()
    );
    conditions.ask(transaction, &sql).await
}

/// Reads the newest matching nodes of a window, with the names of their conversations, which order equal hits.
///
/// Each step is materialized: the server overestimates the hits of rare words and underestimates those of common ones, and
/// would choose bad plans for a single step.
async fn rows_in(
    transaction: &Transaction<'_>,
    owner: &Owner,
    query: &Query,
    index: &Index,
    window: &Window,
    most: usize,
) -> Result<Vec<Row>, Failure> {
    let text = query.search_scope()?.text;
    let mut conditions = Conditions::of(owner, query);
    let matching = conditions.all();
    let is_plain = conditions.is_plain();
    let nodes = conditions.nodes(&format!("{NODE}, n.conversation"), text, index, Some(window));
    let most = conditions.value(limit(most));
    let among = if is_plain {
        String::new()
    } else {
        format!("JOIN conversations c ON c.key = f.conversation WHERE {matching}")
    };
    let sql = format!(
        "WITH found AS MATERIALIZED ({nodes}),
            newest AS MATERIALIZED (SELECT f.* FROM found f {among} ORDER BY f.position DESC LIMIT {most})
        SELECT newest.*, (SELECT c.id FROM conversations c WHERE c.key = newest.conversation AND c.owner = {OWNER})
        FROM newest ORDER BY position DESC"
    );
    conditions.ask(transaction, &sql).await
}
