//! The columns of conversations and nodes, in their order.

use rusqlite::Row;

use crate::stored::{ParentColumn, StoredConversation, StoredNode};

/// The columns of a conversation, in the order of [`conversation`].
pub(super) const CONVERSATION: &str = "c.id, c.record, c.checksum, c.head, c.nodes, c.updated";

/// The columns of a node, in the order of [`node`].
pub(super) const NODE: &str = "n.position, n.id, n.parent, n.body, n.checksum";

pub(super) fn node(row: &Row<'_>) -> rusqlite::Result<StoredNode> {
    Ok(StoredNode {
        position: row.get(0)?,
        id: row.get(1)?,
        parent: ParentColumn::Position(row.get(2)?),
        body: row.get(3)?,
        checksum: row.get(4)?,
    })
}

pub(super) fn conversation(row: &Row<'_>) -> rusqlite::Result<StoredConversation> {
    Ok(StoredConversation {
        id: row.get(0)?,
        record: row.get(1)?,
        checksum: row.get(2)?,
        head: row.get(3)?,
        nodes: row.get(4)?,
        updated: row.get(5)?,
    })
}
