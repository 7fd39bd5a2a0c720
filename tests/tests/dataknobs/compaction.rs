//! What dataknobs calls compacting: older rounds of tools leave the path. Here the rounds that stay are copied below the
//! question, and where they stood before is pruned.

use alloquy_core::{Node, Role};

use crate::session::{Result, Session};

/// Leaves the last `keep` rounds behind the last question, and returns how many went.
pub(crate) fn compact(session: &mut Session, keep: usize) -> Result<usize> {
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
    let before = session.tree()?.len();
    session.goto_node(history[question].id)?;
    for node in &history[first..] {
        session.copy(node)?;
    }
    let pruned = match history.get(first) {
        Some(moved) => session.prune(moved.id)?,
        None => 0,
    };
    session.save()?;
    let copies = history.len() - first;
    if session.tree()?.len() != before + copies - pruned || !stands(session, &history[..=question])? {
        session.broken.push("compacting lost more than what it left out".to_owned());
    }
    Ok(gone)
}

/// Whether what was said up to the question is as it was.
fn stands(session: &Session, before: &[Node]) -> Result<bool> {
    Ok(session.history()?.starts_with(before))
}
