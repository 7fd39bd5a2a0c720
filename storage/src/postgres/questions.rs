//! Queries as SQL: lists, counts, searches. Inside a transaction that the caller begins and ends.

use std::ops::Bound;
use std::time::SystemTime;

use alloquy_core::query::{Direction, Filter, Period, SearchScope, Sort, SortKey, Test};
use alloquy_core::search::{SearchPage, SearchText};
use alloquy_core::store::ConversationPage;
use alloquy_core::{Error, ErrorKind, Owner, Query};
use deadpool_postgres::Transaction;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::rows::{self, CONVERSATION, NODE};
use super::words::{Blocks, LEVELS, indexed, run, wanted};
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

/// The owner is the first of all values.
const OWNER: &str = "$1";

impl Conditions {
    fn of(owner: &Owner, query: &Query) -> Self {
        let mut conditions = Self { sql: Vec::new(), values: Vec::new(), owner: owner.clone() };
        conditions.value(owner.to_string());
        conditions.sql.push(format!("c.owner = {OWNER}"));
        conditions.within("c.created", query.created_in());
        conditions.within("c.updated", query.updated_in());
        query.filters().iter().for_each(|filter| conditions.filter(filter));
        conditions
    }

    /// Whether all conversations of the owner are meant.
    fn is_plain(&self) -> bool {
        self.sql.len() == 1
    }

    /// Adds the condition that a node says something.
    async fn saying(
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

    /// Keeps a value and returns how SQL names it.
    fn value(&mut self, value: impl ToSql + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    fn owner(&mut self) -> String {
        self.value(self.owner.to_string())
    }

    /// The statement that selects columns of all nodes `n` that say something, in a window or anywhere: those that the index
    /// finds, and those that are not in it. They are two, since a node that is found by one of two conditions is looked at
    /// again, and the words of a node take longer to read than to find.
    fn nodes(&mut self, columns: &str, text: &SearchText, index: &Index, window: Option<&Window>) -> String {
        let blocks = window.and_then(|window| window.blocks.as_ref());
        let wanted = self.value(wanted(&self.owner, text, blocks));
        let mut found = vec![format!("{} @@ {wanted}::text::tsquery", indexed(index.format))];
        let mut beyond = vec!["n.terms IS NULL".to_owned()];
        for term in text.terms() {
            let run = format!("strpos(n.words, {}) > 0", self.value(run(term)));
            // The index is right about single words.
            if term.tokens.len() > 1 {
                found.push(run.clone());
            }
            beyond.push(run);
        }
        if let Some(window) = window {
            let first = self.value(window.first);
            let last = self.value(window.last);
            // Not by the index of positions, which is the wrong one where there are words.
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
        let (owner, place) = (self.owner(), self.value(rows::place(&filter.key().pointer())));
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
            let place = conditions.value(rows::place(&key.pointer()));
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
    let conditions = Conditions::of(owner, query);
    let mut conditions = conditions.saying(transaction, query.search_text()).await?;
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
    let conditions = Conditions::of(owner, query);
    let conditions = conditions.saying(transaction, query.search_text()).await?;
    let sql = format!("SELECT count(*) FROM conversations c WHERE {}", conditions.all());
    let rows = conditions.ask(transaction, &sql).await?;
    rows.first().map_or(Ok(0), |row| unsigned(row.try_get(0)?))
}

/// What is known of the index of words before it is asked.
struct Index {
    /// The format of the tables: an older one is read as it is.
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

    /// Whether it knows in which blocks of positions a node is.
    fn has_blocks(&self) -> bool {
        self.format >= 3
    }
}

/// Positions that are looked at together, the newest first: the two commonest words are in so many messages that nobody
/// wants all of them.
struct Window {
    first: i64,
    last: i64,
    /// The blocks that hold them, and maybe newer ones; `None` for all positions up to the last.
    blocks: Option<Blocks>,
}

/// How many positions the first window has.
const NARROW: i64 = 1 << 14;

/// The most blocks that a window is of: the index looks at each node of a window once for each of them.
const MOST_BLOCKS: i64 = 3;

impl Window {
    /// At least so many positions up to `last`, or all of them where that takes too many blocks.
    fn before(last: i64, width: i64, index: &Index) -> Self {
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

    /// The window before this one, as wide as those that were looked at let expect it must be.
    fn next(&self, index: &Index, newest: i64, found: usize, wanted: usize) -> Self {
        let seen = newest - self.first + 1;
        let found = limit(found);
        let missing = limit(wanted).saturating_sub(found);
        let expected = missing.saturating_mul(seen).checked_div(found);
        // A little more than expected, so that one is mostly enough.
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

/// Looks into a node that the server found. Its conversation has no name here where another owner has it: the index knows
/// owners by a digest.
fn take(hits: &mut Hits, scope: &SearchScope<'_>, row: &Row) -> Result<(), Failure> {
    if let Some(conversation) = row.try_get::<_, Option<String>>(6)? {
        hits.take(scope, rows::node(row), conversation);
    }
    Ok(())
}

/// How many conversations, and how many messages in all of them, are looked at one by one.
const FEW_CONVERSATIONS: usize = 500;
const FEW_MESSAGES: i64 = 5_000;

/// Returns the conversations that are meant, where they are so few that looking at their messages is faster than looking for
/// them among all that the index finds.
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

/// Reads the newest nodes of some conversations that say what is searched for.
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

/// Reads the newest nodes of a window that are meant, and the names of their conversations, which order hits that are equal
/// in all else. Each step is bound to be one of its own, since the server expects more of few words and less of many than
/// there is.
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
    let meant = conditions.all();
    let is_plain = conditions.is_plain();
    let nodes = conditions.nodes(&format!("{NODE}, n.conversation"), text, index, Some(window));
    let most = conditions.value(limit(most));
    let among = if is_plain {
        String::new()
    } else {
        format!("JOIN conversations c ON c.key = f.conversation WHERE {meant}")
    };
    let sql = format!(
        "WITH found AS MATERIALIZED ({nodes}),
            newest AS MATERIALIZED (SELECT f.* FROM found f {among} ORDER BY f.position DESC LIMIT {most})
        SELECT newest.*, (SELECT c.id FROM conversations c WHERE c.key = newest.conversation AND c.owner = {OWNER})
        FROM newest ORDER BY position DESC"
    );
    conditions.ask(transaction, &sql).await
}
