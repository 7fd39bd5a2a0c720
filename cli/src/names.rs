//! Finds the conversation that a person names: by its name, or by the beginning or the end of a generated id.

use alloquy::core::query::{Sort, SortKey};
use alloquy::core::short_ids::ShortIds;
use alloquy::core::store::{ConversationStoreExt as _, ConversationSummary};
use alloquy::core::{ConversationId, Error, ErrorKind, Query, Result};
use alloquy::memory::{Notes, without_notes};

use crate::kept::Kept;
use crate::outline::title;

/// How many conversations an error lists.
const CANDIDATES: usize = 8;

/// The fewest characters of a short id where another name begins a new conversation.
const FEWEST: usize = 8;

/// Finds an existing conversation.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is none, [`ErrorKind::Invalid`] when several ids begin or end so.
pub(crate) async fn existing(kept: &Kept, name: &ConversationId) -> Result<ConversationSummary> {
    match one(kept, name).await? {
        Some(summary) => Ok(summary),
        None => Err(missing(kept, name).await?),
    }
}

/// Returns the name of the conversation that is meant, or the name itself, which begins a new one.
///
/// # Errors
/// [`ErrorKind::Invalid`] when several ids begin or end so, and for the conversation of notes, which has no replies.
pub(crate) async fn existing_or_new(kept: &Kept, name: &ConversationId) -> Result<ConversationId> {
    if name.as_str() == Notes::ID {
        return Err(of_notes());
    }
    if name.as_str().len() < FEWEST {
        return Ok(name.clone());
    }
    let found = one(kept, name).await?;
    Ok(found.map_or_else(|| name.clone(), |summary| summary.record.id))
}

fn of_notes() -> Error {
    let message = format!(
        "conversation {:?} has the notes, and cannot be continued: `alloquy note` lists, adds and forgets them",
        Notes::ID
    );
    Error::new(ErrorKind::Invalid, message)
}

async fn one(kept: &Kept, name: &ConversationId) -> Result<Option<ConversationSummary>> {
    let mut found = kept.store.named(&kept.owner, name.as_str(), CANDIDATES + 1).await?;
    if found.len() > 1 {
        return Err(ambiguous(name, &found));
    }
    Ok(found.pop())
}

fn ambiguous(name: &ConversationId, found: &[ConversationSummary]) -> Error {
    let short = ShortIds::of(found.iter().map(|summary| &summary.record.id));
    let mut candidates = Vec::new();
    for ConversationSummary { record, .. } in found.iter().take(CANDIDATES) {
        candidates.push(format!("{} {:?}", short.short(record.id.as_str()), title(record)));
    }
    if found.len() > CANDIDATES {
        candidates.push("and more".to_owned());
    }
    let message =
        format!("several conversations have an id with {:?}: {}", name.as_str(), candidates.join(", "));
    Error::new(ErrorKind::Invalid, message)
}

/// Creates the error of a name that no conversation has, with the names that begin like it.
async fn missing(kept: &Kept, name: &ConversationId) -> Result<Error> {
    let query = Query::default().filter(without_notes()).sort(Sort::ascending(SortKey::Id)).limit(1);
    let query = query.clone().after(query.cursor_after(Vec::new(), name.clone())?);
    let next = kept.store.list(&kept.owner, &query).await?.conversations.pop();
    let similar = next.map(|summary| summary.record.id).filter(|id| id.as_str().starts_with(name.as_str()));
    let help = similar.map_or_else(
        || "`alloquy conversations` lists those that do".to_owned(),
        |id| format!("did you mean {:?}?", id.as_str()),
    );
    let message = format!("conversation {:?} does not exist; {help}", name.as_str());
    Ok(Error::new(ErrorKind::NotFound, message))
}
