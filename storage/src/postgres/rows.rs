//! The columns of conversations and nodes, in their order.

use alloquy_core::media::Digest;
use tokio_postgres::Row;

use crate::failure::Failure;
use crate::stored::{ParentColumn, StoredConversation, StoredNode};

/// The columns of a conversation, in the order of [`conversation`].
pub(super) const CONVERSATION: &str = "c.id, c.record, c.checksum, c.head, c.nodes, c.updated";

/// The columns of a node, in the order of [`node`].
pub(super) const NODE: &str = "n.position, n.id, n.parent, n.body, n.checksum";

pub(super) fn node(row: &Row) -> Result<StoredNode, Failure> {
    Ok(StoredNode {
        position: row.try_get(0)?,
        id: row.try_get(1)?,
        parent: ParentColumn::Name(row.try_get(2)?),
        body: row.try_get(3)?,
        checksum: row.try_get(4)?,
    })
}

pub(super) fn conversation(row: &Row) -> Result<StoredConversation, Failure> {
    Ok(StoredConversation {
        id: row.try_get(0)?,
        record: row.try_get(1)?,
        checksum: row.try_get(2)?,
        head: row.try_get(3)?,
        nodes: row.try_get(4)?,
        updated: row.try_get(5)?,
    })
}

/// Returns the name of a JSON pointer in the index of metadata.
pub(super) fn place(pointer: &str) -> Vec<u8> {
    Digest::of(pointer.as_bytes()).as_bytes().to_vec()
}
