//! Moves the head of a conversation, and reads its nodes, paths and branches.

use super::Conversation;
use crate::annotations::Annotations;
use crate::conversation::{Branch, BranchDiff, TreeDrawing};
use crate::message::Role;
use crate::tree::{Address, Node, NodeId, Tree};
use crate::{Error, ErrorKind, Result};

impl Conversation {
    /// Moves the head to a node, or with `None` before the first message. The next message follows it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that does not exist.
    pub async fn goto(&self, node: impl Into<Address>) -> Result<()> {
        let to = self.parts.node_at(&self.id, &node.into()).await?;
        loop {
            let from = self.head().await?;
            match self.parts.store.set_head(&self.parts.owner, &self.id, from, to).await {
                // Another writer moved the head between the two calls: try again.
                Err(error) if error.is_conflict() => {}
                moved => return moved,
            }
        }
    }

    /// Moves the head to the parent of a node, so that the next message becomes its sibling. Returns the new head.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for the place before the first message, [`ErrorKind::NotFound`] for a node that does not
    /// exist.
    pub async fn branch_from(&self, node: impl Into<Address>) -> Result<Option<NodeId>> {
        let Some(node) = self.path(node).await?.pop() else {
            let message = "the place before the first message has no siblings";
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        self.goto(node.parent).await?;
        Ok(node.parent)
    }

    /// Undoes the last user message and its reply: the head moves before it, and nothing is deleted.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if there is no user message.
    pub async fn undo(&self) -> Result<Option<NodeId>> {
        let history = self.history().await?;
        let Some(asked) = history.iter().rfind(|node| node.message.role == Role::User) else {
            return Err(Error::new(ErrorKind::Invalid, "there is no user message to undo"));
        };
        self.goto(asked.parent).await?;
        Ok(asked.parent)
    }

    /// Reads the nodes from the first message to the head.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn history(&self) -> Result<Vec<Node>> {
        self.path(self.head().await?).await
    }

    /// Reads the nodes from the first message to a node.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that does not exist.
    pub async fn path(&self, to: impl Into<Address>) -> Result<Vec<Node>> {
        match self.parts.node_at(&self.id, &to.into()).await? {
            Some(node) => self.parts.settled().await.load_path(&self.parts.owner, &self.id, node).await,
            None => Ok(Vec::new()),
        }
    }

    /// Reads the whole tree.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn tree(&self) -> Result<Tree> {
        Ok(self.parts.settled().await.load(&self.parts.owner, &self.id).await?.1)
    }

    /// Reads the nodes of all branches in the order in which they were created.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// # use alloquy_testing::EchoModel;
    /// use serde_json::json;
    ///
    /// # pollster::block_on(async {
    /// let conversation = Conversation::new(EchoModel);
    /// conversation.send("Hi!").await?;
    /// let (metadata, nodes) = (conversation.metadata().await?, conversation.nodes().await?);
    /// let document = json!({"id": conversation.id(), "metadata": metadata, "count": nodes.len(), "nodes": nodes});
    /// assert_eq!(document["nodes"][1]["message"]["role"], "assistant");
    /// # Ok::<(), alloquy_core::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of the store.
    pub async fn nodes(&self) -> Result<Vec<Node>> {
        let mut nodes: Vec<Node> = self.tree().await?.nodes().cloned().collect();
        nodes.sort_unstable_by_key(|node| node.id);
        Ok(nodes)
    }

    /// Reads the children of a node in the order in which they were created; with `None`, the first messages.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that does not exist.
    pub async fn children(&self, node: impl Into<Address>) -> Result<Vec<Node>> {
        let tree = self.tree().await?;
        let node = tree.at(&node.into())?;
        tree.children(node).iter().map(|&child| tree.node(child).cloned()).collect()
    }

    /// Reads the parent of a node; `None` for a first message and for the place before it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that does not exist.
    pub async fn parent(&self, node: impl Into<Address>) -> Result<Option<Node>> {
        let mut path = self.path(node).await?;
        path.pop();
        Ok(path.pop())
    }

    /// Reads the nodes without children, the oldest first.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn leaves(&self) -> Result<Vec<Node>> {
        let tree = self.tree().await?;
        tree.leaves().into_iter().map(|leaf| tree.node(leaf).cloned()).collect()
    }

    /// Lists the branches: a path from the first message to each leaf, the oldest leaf first.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn branches(&self) -> Result<Vec<Branch>> {
        let (record, tree) = self.parts.settled().await.load(&self.parts.owner, &self.id).await?;
        Ok(Branch::all(&tree, &Annotations::of(&record)?, record.head))
    }

    /// Compares the paths to two nodes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that does not exist.
    pub async fn diff(&self, left: impl Into<Address>, right: impl Into<Address>) -> Result<BranchDiff> {
        Ok(BranchDiff::new(self.path(left).await?, self.path(right).await?))
    }

    /// Draws the tree with labels, bookmarks and a mark at the head.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn draw(&self) -> Result<String> {
        let (record, tree) = self.parts.settled().await.load(&self.parts.owner, &self.id).await?;
        let annotations = Annotations::of(&record)?;
        Ok(TreeDrawing::new(&tree).head(record.head).annotations(&annotations).to_string())
    }

    /// Finds a node by its bookmark, by its position such as `0.1`, by its id, or by the beginning or the end of its id; the
    /// empty position is `None`. [`Tree::find`] describes what is accepted of an id.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such node, [`ErrorKind::Invalid`] for a text that is none of these, and for a
    /// part of several ids.
    pub async fn resolve(&self, name: &str) -> Result<Option<NodeId>> {
        let (record, tree) = self.parts.settled().await.load(&self.parts.owner, &self.id).await?;
        match Annotations::of(&record)?.bookmark(name) {
            Some(node) => tree.at(&node.into()),
            None => tree.find(name),
        }
    }
}
