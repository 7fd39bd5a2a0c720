//! Which conversations or nodes are meant, in which order, and which page of them. Knows no store: those that scan
//! ask it, those with an index translate it.

mod cursor;
mod filter;
mod scalar;

use std::ops::{Bound, RangeBounds};
use std::time::{Duration, SystemTime};

pub(crate) use cursor::Rank;
pub use cursor::{Cursor, Direction, Sort, SortKey};
pub use filter::{Filter, MetadataKey, Test};
pub use scalar::Scalar;

use cursor::Place;

use crate::search::SearchText;
use crate::store::{ConversationId, ConversationPage, ConversationSummary, milliseconds};
use crate::{Error, ErrorKind, Result};

/// Which conversations are meant; every condition must hold.
///
/// The same query lists, counts, searches and deletes. Without conditions it means all conversations of the owner
/// that is asked about.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use alloquy_core::Query;
/// use alloquy_core::query::{Filter, Sort, SortKey};
///
/// let week = Duration::from_secs(7 * 86_400);
/// let query = Query::default()
///     .filter(Filter::equals("user.name", "ann"))
///     .updated(SystemTime::now() - week..)
///     .text("\"green tea\" cup*")?
///     .sort(Sort::ascending(SortKey::Created))
///     .limit(20);
/// assert!(query.is_filtered());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Query {
    filters: Vec<Filter>,
    created: Period,
    updated: Period,
    text: Option<SearchText>,
    sort: Option<Sort>,
    limit: Option<usize>,
    after: Option<Cursor>,
}

/// A stretch of time, from a moment on and up to another that is no longer part of it, both to the millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// The first moment; `None` is the beginning of time.
    pub from: Option<SystemTime>,
    /// The first moment that is later; `None` is the end of time.
    pub until: Option<SystemTime>,
}

impl Period {
    fn of(range: &impl RangeBounds<SystemTime>) -> Self {
        let next = |time: SystemTime| milliseconds::whole(time) + Duration::from_millis(1);
        // What is stored is whole: the first whole moment of the range, and the first one beyond it.
        let ceiling = |time: SystemTime| match milliseconds::whole(time) {
            whole if whole < time => next(time),
            whole => whole,
        };
        let from = match range.start_bound() {
            Bound::Included(&time) => Some(ceiling(time)),
            Bound::Excluded(&time) => Some(next(time)),
            Bound::Unbounded => None,
        };
        let until = match range.end_bound() {
            Bound::Included(&time) => Some(next(time)),
            Bound::Excluded(&time) => Some(ceiling(time)),
            Bound::Unbounded => None,
        };
        Self { from, until }
    }

    /// Says whether a moment is part of it.
    pub fn contains(&self, time: SystemTime) -> bool {
        self.from.is_none_or(|from| from <= time) && self.until.is_none_or(|until| time < until)
    }

    fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

impl Query {
    /// Means only conversations of whose metadata this holds.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filters.push(filter);
        self
    }

    /// Means only conversations that were created in this time.
    pub fn created(mut self, range: impl RangeBounds<SystemTime>) -> Self {
        self.created = Period::of(&range);
        self
    }

    /// Means only conversations that were updated last in this time.
    pub fn updated(mut self, range: impl RangeBounds<SystemTime>) -> Self {
        self.updated = Period::of(&range);
        self
    }

    /// Means only conversations with a node, on any branch, of which this holds; see [`SearchText`].
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for text without a word.
    pub fn text(mut self, text: &str) -> Result<Self> {
        self.text = Some(text.parse()?);
        Ok(self)
    }

    /// Orders the answer; unless set, lists stand last updated first, and searches by relevance.
    pub fn sort(mut self, sort: Sort) -> Self {
        self.sort = Some(sort);
        self
    }

    /// Means at most the first `limit`.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Goes on where an earlier page of the same query ended.
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.after = Some(cursor);
        self
    }

    /// Says whether there is a condition at all: a filter, a time or a text. Order and limit are none.
    pub fn is_filtered(&self) -> bool {
        !self.filters.is_empty() || !self.created.is_all() || !self.updated.is_all() || self.text.is_some()
    }
}

/// What a query asks for, for those who write a store.
impl Query {
    /// Returns the conditions on metadata.
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// Returns when the conversations were created.
    pub fn created_in(&self) -> Period {
        self.created
    }

    /// Returns when the conversations were updated last.
    pub fn updated_in(&self) -> Period {
        self.updated
    }

    /// Returns what a node must hold.
    pub fn search_text(&self) -> Option<&SearchText> {
        self.text.as_ref()
    }

    /// Returns how many are meant at most.
    pub fn at_most(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }

    /// Returns the order of a list.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for relevance: a conversation has none, only its nodes do.
    pub fn list_order(&self) -> Result<Sort> {
        let sort = self.sort.clone().unwrap_or_else(|| Sort::descending(SortKey::Updated));
        match sort.by {
            SortKey::Relevance => {
                let message = "a list of conversations is not sorted by relevance: search for nodes";
                Err(Error::new(ErrorKind::Invalid, message))
            }
            _ => Ok(sort),
        }
    }

    /// Refuses to mean everything, for calls that destroy.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a query without conditions.
    pub fn must_be_filtered(&self) -> Result<()> {
        match self.is_filtered() {
            true => Ok(()),
            false => {
                let message = "a query without a filter, a time or a text would delete every conversation";
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }

    /// Says whether filters and times hold; the text is a matter of nodes.
    pub fn matches(&self, summary: &ConversationSummary) -> bool {
        self.created.contains(summary.record.created)
            && self.updated.contains(summary.updated)
            && self.filters.iter().all(|filter| filter.holds(&summary.record.metadata))
    }

    /// Returns the bytes by which `sort` orders a conversation; names decide between equal ones.
    pub fn sort_key(sort: &Sort, summary: &ConversationSummary) -> Vec<u8> {
        let moment = |time| milliseconds::since_epoch(time).to_be_bytes().to_vec();
        match &sort.by {
            SortKey::Updated => moment(summary.updated),
            SortKey::Created => moment(summary.record.created),
            SortKey::Metadata(key) => key.value_key(&summary.record.metadata),
            SortKey::Id | SortKey::Relevance => Vec::new(),
        }
    }

    /// Returns the sort key and the name behind which this page of a list begins.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a cursor of another order.
    pub fn list_start(&self) -> Result<Option<(Vec<u8>, ConversationId)>> {
        let Some(cursor) = &self.after else {
            return Ok(None);
        };
        match &cursor.place {
            Place::Conversation { key, id } if cursor.sort == self.list_order()? => {
                Ok(Some((key.clone(), id.clone())))
            }
            _ => Err(other_order()),
        }
    }

    /// Returns the cursor of the page that begins behind the conversation with this sort key and name.
    ///
    /// # Errors
    /// As [`Query::list_order`].
    pub fn cursor_behind(&self, key: Vec<u8>, id: ConversationId) -> Result<Cursor> {
        Ok(Cursor { sort: self.list_order()?, place: Place::Conversation { key, id } })
    }

    /// Orders and cuts what [`Query::matches`], for a store that has all of it at hand.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an order that lists do not have and for a cursor of another one.
    pub fn page(&self, matching: Vec<ConversationSummary>) -> Result<ConversationPage> {
        let (sort, start) = (self.list_order()?, self.list_start()?);
        let place =
            |summary: &ConversationSummary| (Self::sort_key(&sort, summary), summary.record.id.clone());
        let mut found: Vec<_> = matching.into_iter().map(|summary| (place(&summary), summary)).collect();
        found.sort_by(|left, right| in_direction(&sort, left.0.cmp(&right.0)));
        if let Some(start) = start {
            found.retain(|(place, _)| in_direction(&sort, place.cmp(&start)).is_gt());
        }
        let is_more = found.len() > self.at_most();
        found.truncate(self.at_most());
        let last = found.last().filter(|_| is_more).map(|((key, id), _)| (key.clone(), id.clone()));
        let next = last.map(|(key, id)| self.cursor_behind(key, id)).transpose()?;
        let conversations = found.into_iter().map(|(_, summary)| summary).collect();
        Ok(ConversationPage { conversations, next, damaged: Vec::new() })
    }

    /// Returns what a store is to find for this page of a search.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a query without text, an order that searches do not have, and a cursor of another
    /// one.
    pub fn search_scope(&self) -> Result<SearchScope<'_>> {
        let missing = || Error::new(ErrorKind::Invalid, "a search needs a text");
        let text = self.text.as_ref().ok_or_else(missing)?;
        let sort = self.search_order()?;
        let (until, after) = match &self.after {
            None => (None, None),
            Some(Cursor { sort: of, place: Place::Hit { until, after } }) if *of == sort => {
                (Some(until.as_str()), after.as_ref())
            }
            Some(_) => return Err(other_order()),
        };
        let by_relevance = sort.by == SortKey::Relevance;
        let needed = if by_relevance { RANKED } else { self.at_most() };
        Ok(SearchScope { text, until, at_most: needed.saturating_add(1), after, sort, limit: self.at_most() })
    }

    fn search_order(&self) -> Result<Sort> {
        let sort = self.sort.clone().unwrap_or_else(|| Sort::descending(SortKey::Relevance));
        match sort {
            Sort { by: SortKey::Relevance | SortKey::Created, direction: Direction::Descending } => Ok(sort),
            other => {
                let message = format!(
                    "a search is sorted by relevance or by creation, the highest first, not by {:?} {:?}",
                    other.by, other.direction
                );
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }
}

/// How many of the newest hits are compared by relevance; the answer says when there were more.
pub const RANKED: usize = 500;

/// What a store is to find for one page of a search: nodes whose text matches, in conversations that match, the newest
/// first, from `until` on, at most `at_most` of them. [`SearchScope::page`](crate::query::SearchScope::page) makes the answer
/// of them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SearchScope<'a> {
    /// What the text of a node must hold.
    pub text: &'a SearchText,
    /// The mark of the first node that counts, as the store gave it; `None` for the newest of all.
    pub until: Option<&'a str>,
    /// How many are needed.
    pub at_most: usize,
    pub(crate) after: Option<&'a Rank>,
    pub(crate) sort: Sort,
    pub(crate) limit: usize,
}

impl SearchScope<'_> {
    pub(crate) fn is_by_relevance(&self) -> bool {
        self.sort.by == SortKey::Relevance
    }

    pub(crate) fn cursor(&self, until: String, after: Option<Rank>) -> Cursor {
        Cursor { sort: self.sort.clone(), place: Place::Hit { until, after } }
    }
}

fn in_direction(sort: &Sort, order: std::cmp::Ordering) -> std::cmp::Ordering {
    match (&sort.by, sort.direction) {
        (_, Direction::Ascending) => order,
        (_, Direction::Descending) => order.reverse(),
    }
}

fn other_order() -> Error {
    Error::new(ErrorKind::Invalid, "the cursor is of a query in another order")
}
