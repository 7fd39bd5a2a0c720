//! Makes pages of conversations and of hits from the rows of any database.

use alloquy_core::query::SearchScope;
use alloquy_core::search::{SearchCandidate, SearchPage};
use alloquy_core::store::{ConversationPage, DamagedConversation};
use alloquy_core::{ConversationId, Error, ErrorKind, Query};

use crate::failure::Failure;
use crate::stored::{StoredConversation, StoredNode};

/// Returns a limit for SQL. No database holds more rows than the largest number.
pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Makes a page from conversations and their sort keys. One row more than fits means that another page follows.
pub(crate) fn page(
    query: &Query,
    mut rows: Vec<(StoredConversation, Vec<u8>)>,
) -> Result<ConversationPage, Failure> {
    let mut page = ConversationPage::default();
    if rows.len() > query.at_most() {
        rows.truncate(query.at_most());
        // The next page continues after the last row. No cursor can name a damaged id, so it names the row before that.
        for (row, key) in rows.iter().rev() {
            if let Ok(id) = row.id.parse::<ConversationId>() {
                page.next = Some(query.cursor_after(key.clone(), id)?);
                break;
            }
        }
    }
    for (row, _) in rows {
        let name = row.id.clone();
        match row.summary() {
            Ok(summary) => page.conversations.push(summary),
            Err(failure) => page.damaged.push(DamagedConversation::new(name, failure.to_string())),
        }
    }
    Ok(page)
}

/// Returns the position of the newest node that a search may find.
pub(crate) fn first_mark(scope: &SearchScope<'_>) -> Result<i64, Failure> {
    let Some(mark) = scope.until else { return Ok(i64::MAX) };
    let Ok(position) = mark.parse() else {
        return Err(Error::new(ErrorKind::Invalid, "the cursor is of another store").into());
    };
    Ok(position)
}

/// Returns the time in the key of a cursor, in milliseconds since 1970.
pub(crate) fn cursor_time(key: &[u8]) -> Result<i64, Failure> {
    if let Ok(bytes) = <[u8; 8]>::try_from(key)
        && let Ok(time) = i64::try_from(u64::from_be_bytes(bytes))
    {
        return Ok(time);
    }
    Err(Error::new(ErrorKind::Invalid, "the cursor holds no time").into())
}

/// What a search found, newest first.
#[derive(Default)]
pub(crate) struct Hits {
    found: Vec<SearchCandidate>,
    damaged: Vec<DamagedConversation>,
}

impl Hits {
    /// Adds a node if its text matches. A damaged one is reported.
    #[cfg(feature = "sqlite")]
    pub(crate) fn take_if_hit(
        &mut self,
        scope: &SearchScope<'_>,
        row: Result<StoredNode, Failure>,
        conversation: String,
    ) {
        self.take(scope, row, conversation);
        if self.found.last().is_some_and(|last| !last.is_hit()) {
            self.found.pop();
        }
    }

    /// Adds a node that an index found. A damaged one is reported.
    pub(crate) fn take(
        &mut self,
        scope: &SearchScope<'_>,
        row: Result<StoredNode, Failure>,
        conversation: String,
    ) {
        match row.and_then(|row| candidate(scope, row, &conversation)) {
            Ok(candidate) => self.found.push(candidate),
            Err(failure) => {
                let reason = failure.to_string();
                self.damaged.push(DamagedConversation::new(conversation, reason));
            }
        }
    }

    pub(crate) fn page(self, scope: &SearchScope<'_>) -> SearchPage {
        let mut page = scope.page(self.found);
        page.damaged = self.damaged;
        page
    }
}

fn candidate(
    scope: &SearchScope<'_>,
    row: StoredNode,
    conversation: &str,
) -> Result<SearchCandidate, Failure> {
    let mark = row.position.to_string();
    Ok(scope.candidate(&conversation.parse()?, &row.node()?, mark))
}
