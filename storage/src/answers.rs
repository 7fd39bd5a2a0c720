//! Pages of conversations and of hits, out of the rows of a database. Knows rows, not which database.

use alloquy_core::query::SearchScope;
use alloquy_core::search::{Candidate, SearchPage};
use alloquy_core::store::{ConversationPage, DamagedConversation};
use alloquy_core::{ConversationId, Error, ErrorKind, Query};

use crate::failure::Failure;
use crate::stored::{StoredConversation, StoredNode};

/// No database holds more rows than the largest number.
pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Makes a page of conversations with their sort keys; a row more than the page has says that another one follows.
pub(crate) fn page(
    query: &Query,
    mut rows: Vec<(StoredConversation, Vec<u8>)>,
) -> Result<ConversationPage, Failure> {
    let mut page = ConversationPage::default();
    if rows.len() > query.at_most() {
        rows.truncate(query.at_most());
        // A name that is damaged is no place to go on from; the one before it is.
        let named = |(row, key): &(StoredConversation, Vec<u8>)| {
            Some((key.clone(), row.id.parse::<ConversationId>().ok()?))
        };
        let last = rows.iter().rev().find_map(named);
        page.next = last.map(|(key, id)| query.cursor_behind(key, id)).transpose()?;
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

/// Where the first node stands that counts.
pub(crate) fn first_mark(scope: &SearchScope<'_>) -> Result<i64, Failure> {
    let other = || Error::new(ErrorKind::Invalid, "the cursor is of another store");
    scope.until.map_or(Ok(i64::MAX), |mark| Ok(mark.parse().map_err(|_| other())?))
}

/// What a search found, newest first.
#[derive(Default)]
pub(crate) struct Hits {
    found: Vec<Candidate>,
    damaged: Vec<DamagedConversation>,
}

impl Hits {
    /// Looks into a node and takes it if it holds what is searched for; a damaged one is named and leaves the others be.
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

    /// Takes a node that an index found.
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

fn candidate(scope: &SearchScope<'_>, row: StoredNode, conversation: &str) -> Result<Candidate, Failure> {
    let mark = row.position.to_string();
    Ok(scope.candidate(&conversation.parse()?, &row.node()?, mark))
}
