//! Stores the bytes of media before their nodes, and reads them after the nodes.

use super::{Parts, Trail};
use crate::Result;
use crate::store::{ConversationId, ConversationRecord, ConversationStoreExt};
use crate::tree::{Node, NodeId};

impl Parts {
    /// Stores the bytes of the media in nodes, and then the nodes.
    pub(crate) async fn store(&self, conversation: &ConversationId, nodes: &[Node]) -> Result<()> {
        self.store_media(nodes).await?;
        self.store.append(&self.owner, conversation, nodes).await
    }

    /// Stores the bytes of the media in nodes.
    pub(crate) async fn store_media(&self, nodes: &[Node]) -> Result<()> {
        let media = nodes.iter().flat_map(|node| node.message.media());
        for media in media.filter(|media| media.bytes().is_some()) {
            self.store.put_media(&self.owner, media).await?;
        }
        Ok(())
    }

    /// Reads the nodes from the first message to `to` with the bytes of their media, if the store has them. The model
    /// refuses media without bytes.
    pub(crate) async fn path(&self, conversation: &ConversationId, to: NodeId) -> Result<Vec<Node>> {
        self.with_media(self.store.load_path(&self.owner, conversation, to).await?).await
    }

    /// Returns the trail to a node: the kept one if it ends at the head, else one that is read from the store.
    pub(crate) async fn trail(&self, record: &ConversationRecord, to: NodeId) -> Result<Trail> {
        let known = if record.head == Some(to) { self.trails.take(record) } else { None };
        match known {
            Some(trail) => Ok(trail),
            None => Ok(self.path(&record.id, to).await?.into_iter().collect()),
        }
    }

    /// Returns nodes with the bytes of their media, if the store has them.
    pub(crate) async fn with_media(&self, mut nodes: Vec<Node>) -> Result<Vec<Node>> {
        let parts = nodes.iter_mut().flat_map(|node| &mut node.message.parts);
        for media in parts.flat_map(|part| part.content.media_mut()) {
            if media.bytes().is_some() {
                continue;
            }
            match self.store.get_media(&self.owner, media).await {
                Ok(whole) => *media = whole,
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(nodes)
    }
}
