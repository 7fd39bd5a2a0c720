//! Where a conversation stands, where else it could, and what lies between two of its branches.

use super::Conversation;
use crate::annotations::Annotations;
use crate::conversation::{Branch, BranchDiff, Drawing};
use crate::message::Role;
use crate::tree::{Address, Node, NodeId, Tree};
use crate::{Error, ErrorKind, Result};

impl Conversation {
    /// Goes to a node, or with `None` before the first message: what is said next follows it. Others call this to
    /// switch to a node.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here.
    pub async fn goto(&self, node: impl Into<Address>) -> Result<()> {
        let to = self.parts.node_at(&self.id, &node.into()).await?;
        loop {
            let from = self.head().await?;
            match self.parts.store.set_head(&self.parts.owner, &self.id, from, to).await {
                // Somebody else moved it between the two calls, which is progress of theirs: try again.
                Err(error) if error.is_conflict() => {}
                moved => return moved,
            }
        }
    }

    /// Goes to the node above, so that what is said next stands beside this one; returns where the head is then.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for the place before the first message, [`ErrorKind::NotFound`] for a node that is not
    /// here.
    pub async fn branch_from(&self, node: impl Into<Address>) -> Result<Option<NodeId>> {
        let nothing =
            || Error::new(ErrorKind::Invalid, "nothing stands beside the place before the first message");
        let parent = self.path(node).await?.pop().ok_or_else(nothing)?.parent;
        self.goto(parent).await?;
        Ok(parent)
    }

    /// Takes back the last question with its answer: the head goes before it, and nothing is deleted.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when nothing was asked yet.
    pub async fn undo(&self) -> Result<Option<NodeId>> {
        let history = self.history().await?;
        let asked = history.iter().rfind(|node| node.message.role == Role::User);
        let nothing = || Error::new(ErrorKind::Invalid, "there is no question to take back");
        let before = asked.ok_or_else(nothing)?.parent;
        self.goto(before).await?;
        Ok(before)
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
    /// [`ErrorKind::NotFound`] for a node that is not here.
    pub async fn path(&self, to: impl Into<Address>) -> Result<Vec<Node>> {
        match self.parts.node_at(&self.id, &to.into()).await? {
            Some(node) => self.parts.settled().await.load_path(&self.parts.owner, &self.id, node).await,
            None => Ok(Vec::new()),
        }
    }

    /// Reads the whole tree, which knows who follows whom.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn tree(&self) -> Result<Tree> {
        Ok(self.parts.settled().await.load(&self.parts.owner, &self.id).await?.1)
    }

    /// Reads all nodes, on every branch, in the order they were made: with their number a flat document of the conversation.
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

    /// Reads what was said after a node, in the order it was said; with `None`, the first messages.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here.
    pub async fn children(&self, node: impl Into<Address>) -> Result<Vec<Node>> {
        let tree = self.tree().await?;
        let node = tree.at(&node.into())?;
        tree.children(node).iter().map(|&child| tree.node(child).cloned()).collect()
    }

    /// Reads the node above a node; `None` above a first message, and above the place before it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here.
    pub async fn parent(&self, node: impl Into<Address>) -> Result<Option<Node>> {
        let mut path = self.path(node).await?;
        path.pop();
        Ok(path.pop())
    }

    /// Reads the nodes that nothing follows, the oldest first.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn leaves(&self) -> Result<Vec<Node>> {
        let tree = self.tree().await?;
        tree.leaves().into_iter().map(|leaf| tree.node(leaf).cloned()).collect()
    }

    /// Lists the branches: a line from the first message to each leaf, the oldest leaf first.
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
    /// [`ErrorKind::NotFound`] for a node that is not here.
    pub async fn diff(&self, left: impl Into<Address>, right: impl Into<Address>) -> Result<BranchDiff> {
        Ok(BranchDiff::new(self.path(left).await?, self.path(right).await?))
    }

    /// Draws the tree with labels and bookmarks and the place of the head.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn draw(&self) -> Result<String> {
        let (record, tree) = self.parts.settled().await.load(&self.parts.owner, &self.id).await?;
        let annotations = Annotations::of(&record)?;
        Ok(Drawing::new(&tree).head(record.head).annotations(&annotations).to_string())
    }

    /// Finds a node by its id, by its position such as `0.1`, or by its bookmark; the empty position is `None`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], or [`ErrorKind::Invalid`] for what is none of them.
    pub async fn resolve(&self, name: &str) -> Result<Option<NodeId>> {
        let (record, tree) = self.parts.settled().await.load(&self.parts.owner, &self.id).await?;
        match Annotations::of(&record)?.bookmark(name) {
            Some(node) => tree.at(&node.into()),
            None => tree.at(&name.parse()?),
        }
    }
}
