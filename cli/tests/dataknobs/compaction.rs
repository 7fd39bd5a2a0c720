//! What dataknobs calls compacting: older rounds of tools leave the path. Here the rounds that stay are copied below the
//! question, and where they stood before is pruned.

use alloquy_core::{ConversationStore, Node, Owner, Role};
use pollster::block_on;

use crate::session::{Result, Session, said};

/// Leaves the last `keep` rounds behind the last question, and returns how many went.
pub(crate) fn compact(session: &Session, keep: usize) -> Result<usize> {
    let Ok(history) = session.history() else { return Ok(0) };
    let Some(question) = history.iter().rposition(|node| node.message.role == Role::User) else {
        return Ok(0);
    };
    let rounds: Vec<_> = (question + 1..history.len())
        .filter(|&place| history[place].message.role == Role::Assistant)
        .filter(|&place| history.get(place + 1).is_some_and(|next| next.message.role == Role::Tool))
        .collect();
    let gone = rounds.len().saturating_sub(keep);
    if gone == 0 {
        return Ok(0);
    }
    let first = rounds.get(gone).copied().unwrap_or(history.len());
    let mut copies: Vec<Node> = Vec::new();
    for node in &history[first..] {
        let parent = copies.last().map_or(history[question].id, |copy| copy.id);
        copies
            .push(Node { metadata: node.metadata.clone(), ..Node::new(Some(parent), node.message.clone()) });
    }
    let (owner, id, head) = (Owner::local(), session.chat()?.id(), session.head()?);
    let to = copies.last().map_or(history[question].id, |copy| copy.id);
    block_on(async {
        session.store.append(&owner, id, &copies).await?;
        session.store.set_head(&owner, id, head, Some(to)).await?;
        match history.get(first) {
            Some(moved) => session.store.prune(&owner, id, moved.id).await,
            None => Ok(()),
        }
    })
    .map_err(said)?;
    session.save()?;
    Ok(gone)
}
