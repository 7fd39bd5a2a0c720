//! Queries for conversations and nodes: conditions, order and page. A store that scans evaluates a query; a store with
//! an index translates it.

mod cursor;
mod filter;
mod scalar;

use std::ops::{Bound, RangeBounds};
use std::time::{Duration, SystemTime};

pub(crate) use cursor::Rank;
pub use cursor::{PageCursor, Sort, SortDirection, SortKey};
pub use filter::{Filter, FilterTest, MetadataKey};
pub use scalar::MetadataValue;

use cursor::Place;

use crate::search::SearchText;
use crate::store::{ConversationId, ConversationPage, ConversationSummary, milliseconds};
use crate::{Error, ErrorKind, Result};

/// Selects conversations; every condition must hold.
///
/// The same query lists, counts, searches or deletes conversations. Without conditions it selects all conversations of
/// the owner.
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
    created: TimeRange,
    updated: TimeRange,
    text: Option<SearchText>,
    sort: Option<Sort>,
    limit: Option<usize>,
    after: Option<PageCursor>,
}

/// A range of time from a first moment to a last one, which is not part of it, in milliseconds.
///
/// ```
/// use alloquy_core::Query;
/// use std::time::{Duration, SystemTime};
///
/// let begin = SystemTime::UNIX_EPOCH;
/// let end = begin + Duration::from_secs(60);
/// let minute = Query::default().created(begin..end).created_in();
/// assert!(minute.contains(begin));
/// assert!(!minute.contains(end));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// The first moment; `None` is the beginning of time.
    pub from: Option<SystemTime>,
    /// The first moment that is later; `None` is the end of time.
    pub until: Option<SystemTime>,
}

impl TimeRange {
    fn of(range: &impl RangeBounds<SystemTime>) -> Self {
        // Stored times are whole milliseconds, so a range from 1.5 ms to 3.5 ms is the one from 2 ms to 4 ms.
        let from = match range.start_bound() {
            Bound::Included(&time) => Some(ceiling(time)),
            Bound::Excluded(&time) => Some(next_whole(time)),
            Bound::Unbounded => None,
        };
        let until = match range.end_bound() {
            Bound::Included(&time) => Some(next_whole(time)),
            Bound::Excluded(&time) => Some(ceiling(time)),
            Bound::Unbounded => None,
        };
        Self { from, until }
    }

    /// Returns whether a moment is part of it.
    pub fn contains(&self, time: SystemTime) -> bool {
        self.from.is_none_or(|from| from <= time) && self.until.is_none_or(|until| time < until)
    }

    fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

impl Query {
    /// Selects only conversations whose metadata matches the filter.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filters.push(filter);
        self
    }

    /// Selects only conversations that were created in this range of time.
    pub fn created(mut self, range: impl RangeBounds<SystemTime>) -> Self {
        self.created = TimeRange::of(&range);
        self
    }

    /// Selects only conversations that were last updated in this range of time.
    pub fn updated(mut self, range: impl RangeBounds<SystemTime>) -> Self {
        self.updated = TimeRange::of(&range);
        self
    }

    /// Selects only conversations with a node, on any branch, that matches this text; see [`SearchText`].
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a text without a word.
    pub fn text(mut self, text: &str) -> Result<Self> {
        self.text = Some(text.parse()?);
        Ok(self)
    }

    /// Sets the order. By default, lists begin with the last updated conversation, and searches with the most relevant
    /// node.
    pub fn sort(mut self, sort: Sort) -> Self {
        self.sort = Some(sort);
        self
    }

    /// Returns at most the first `limit` results.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Continues where an earlier page of the same query ended.
    pub fn after(mut self, cursor: PageCursor) -> Self {
        self.after = Some(cursor);
        self
    }

    /// Returns whether there is a condition: a filter, a time or a text. Order and limit are not conditions.
    pub fn is_filtered(&self) -> bool {
        !self.filters.is_empty() || !self.created.is_all() || !self.updated.is_all() || self.text.is_some()
    }
}

/// What a query selects, for implementations of stores.
impl Query {
    /// Returns the conditions on metadata.
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// Returns when the conversations were created.
    pub fn created_in(&self) -> TimeRange {
        self.created
    }

    /// Returns when the conversations were updated last.
    pub fn updated_in(&self) -> TimeRange {
        self.updated
    }

    /// Returns the text that a node must match.
    pub fn search_text(&self) -> Option<&SearchText> {
        self.text.as_ref()
    }

    /// Returns the largest number of results.
    pub fn at_most(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }

    /// Returns the order of a list.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for relevance, which only nodes have.
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

    /// Checks that there is a condition, for calls that delete.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a query without conditions.
    pub fn must_be_filtered(&self) -> Result<()> {
        if !self.is_filtered() {
            let message = "a query without a filter, a time or a text would delete every conversation";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(())
    }

    /// Returns whether the filters and times match; the text is compared with nodes only.
    pub fn matches(&self, summary: &ConversationSummary) -> bool {
        self.created.contains(summary.record.created)
            && self.updated.contains(summary.updated)
            && self.filters.iter().all(|filter| filter.holds(&summary.record.metadata))
    }

    /// Returns the bytes by which `sort` orders a conversation; names decide between equal ones.
    pub fn sort_key(sort: &Sort, summary: &ConversationSummary) -> Vec<u8> {
        match &sort.by {
            SortKey::Updated => time_key(summary.updated),
            SortKey::Created => time_key(summary.record.created),
            SortKey::Metadata(key) => key.value_key(&summary.record.metadata),
            SortKey::Id | SortKey::Relevance => Vec::new(),
        }
    }

    /// Returns the sort key and the name after which this page of a list begins.
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

    /// Returns the cursor of the page that begins after the conversation with this sort key and name.
    ///
    /// # Errors
    /// As [`Query::list_order`].
    pub fn cursor_after(&self, key: Vec<u8>, id: ConversationId) -> Result<PageCursor> {
        Ok(PageCursor { sort: self.list_order()?, place: Place::Conversation { key, id } })
    }

    /// Sorts the conversations that [`Query::matches`] and returns the page, for a store that has read all of them.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an order that lists do not have, and for a cursor of another order.
    pub fn page(&self, matching: Vec<ConversationSummary>) -> Result<ConversationPage> {
        let sort = self.list_order()?;
        let start = self.list_start()?;
        let mut found = Vec::with_capacity(matching.len());
        for summary in matching {
            let place = (Self::sort_key(&sort, &summary), summary.record.id.clone());
            found.push((place, summary));
        }
        found.sort_by(|left, right| in_direction(&sort, left.0.cmp(&right.0)));
        if let Some(start) = start {
            found.retain(|(place, _)| in_direction(&sort, place.cmp(&start)).is_gt());
        }
        let is_more = found.len() > self.at_most();
        found.truncate(self.at_most());
        let last = found.last().filter(|_| is_more).map(|((key, id), _)| (key.clone(), id.clone()));
        let next = last.map(|(key, id)| self.cursor_after(key, id)).transpose()?;
        let conversations = found.into_iter().map(|(_, summary)| summary).collect();
        Ok(ConversationPage { conversations, next, damaged: Vec::new() })
    }

    /// Returns what a store must find for this page of a search.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a query without text, an order that searches do not have, and a cursor of another
    /// order.
    pub fn search_scope(&self) -> Result<SearchScope<'_>> {
        let Some(text) = &self.text else {
            return Err(Error::new(ErrorKind::Invalid, "a search needs a text"));
        };
        let sort = self.search_order()?;
        let (until, after) = match &self.after {
            None => (None, None),
            Some(PageCursor { sort: of, place: Place::Hit { until, after } }) if *of == sort => {
                (Some(until.as_str()), after.as_ref())
            }
            Some(_) => return Err(other_order()),
        };
        let by_relevance = sort.by == SortKey::Relevance;
        let needed = if by_relevance { MAX_RANKED } else { self.at_most() };
        Ok(SearchScope { text, until, at_most: needed.saturating_add(1), after, sort, limit: self.at_most() })
    }

    fn search_order(&self) -> Result<Sort> {
        let sort = self.sort.clone().unwrap_or_else(|| Sort::descending(SortKey::Relevance));
        match sort {
            Sort { by: SortKey::Relevance | SortKey::Created, direction: SortDirection::Descending } => {
                Ok(sort)
            }
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

/// How many of the newest hits are compared by relevance. The result says whether there were more.
///
/// The [`SearchScope`] of a search by relevance needs one more.
pub const MAX_RANKED: usize = 500;

/// What a store must find for one page of a search.
///
/// The store finds at most `at_most` matching nodes in matching conversations, the newest first, beginning at `until`.
/// [`SearchScope::page`](crate::query::SearchScope::page) turns them into the result.
///
/// ```
/// use alloquy_core::query::MAX_RANKED;
/// use alloquy_core::search::{Ranking, SearchCandidate};
/// use alloquy_core::{ConversationId, Message, Node, Query};
///
/// let query = Query::default().text("green tea*")?;
/// let scope = query.search_scope()?;
/// assert_eq!(scope.at_most, MAX_RANKED + 1);
///
/// // A store without an index searches every node.
/// let conversation: ConversationId = "drinks".parse()?;
/// let mut found = Vec::new();
/// for text in ["Green tea, please", "Coffee"] {
///     let node = Node::new(None, Message::user(text));
///     found.push(scope.candidate(&conversation, &node, node.id.to_string()));
/// }
/// found.retain(SearchCandidate::is_hit);
/// found.sort_by(SearchCandidate::newest_first);
/// found.truncate(scope.at_most);
///
/// let page = scope.page(found);
/// assert_eq!((page.hits.len(), page.ranked), (1, Ranking::All));
/// assert_eq!(page.hits[0].snippet.text, "Green tea, please");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SearchScope<'a> {
    /// What the text of a node must match.
    pub text: &'a SearchText,
    /// The mark of the first node, as the store returned it; `None` begins at the newest one.
    pub until: Option<&'a str>,
    /// How many nodes are needed.
    pub at_most: usize,
    pub(crate) after: Option<&'a Rank>,
    pub(crate) sort: Sort,
    pub(crate) limit: usize,
}

impl SearchScope<'_> {
    pub(crate) fn is_by_relevance(&self) -> bool {
        self.sort.by == SortKey::Relevance
    }

    pub(crate) fn cursor(&self, until: String, after: Option<Rank>) -> PageCursor {
        PageCursor { sort: self.sort.clone(), place: Place::Hit { until, after } }
    }
}

/// Returns the first whole millisecond after a time.
fn next_whole(time: SystemTime) -> SystemTime {
    milliseconds::whole(time) + Duration::from_millis(1)
}

/// Returns a time itself if it is a whole millisecond, else the next one.
fn ceiling(time: SystemTime) -> SystemTime {
    let whole = milliseconds::whole(time);
    if whole < time { next_whole(time) } else { whole }
}

fn time_key(time: SystemTime) -> Vec<u8> {
    milliseconds::since_epoch(time).to_be_bytes().to_vec()
}

fn in_direction(sort: &Sort, order: std::cmp::Ordering) -> std::cmp::Ordering {
    match sort.direction {
        SortDirection::Ascending => order,
        SortDirection::Descending => order.reverse(),
    }
}

fn other_order() -> Error {
    Error::new(ErrorKind::Invalid, "the cursor is of a query in another order")
}
