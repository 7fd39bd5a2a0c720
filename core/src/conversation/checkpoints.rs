//! Checkpoints: bookmarks at the head that a conversation can return to.

use super::Conversation;
use crate::tree::NodeId;
use crate::{Error, ErrorKind, Result};

impl Conversation {
    /// Marks the last message, so that [`Conversation::rewind`] can return to it. A label that exists already moves
    /// here.
    ///
    /// A checkpoint is a [bookmark](Conversation::bookmark), and is stored like one. Before the first message there is
    /// nothing to mark: [`goto`](Conversation::goto)`(None)` returns to that place.
    ///
    /// ```
    /// use alloquy_core::Conversation;
    /// use alloquy_testing::EchoModel;
    ///
    /// # pollster::block_on(async {
    /// let conversation = Conversation::new(EchoModel);
    /// conversation.send("one").await?;
    /// conversation.checkpoint("after one").await?;
    /// conversation.send("two").await?;
    /// conversation.checkpoint("after two").await?;
    /// conversation.rewind("after one").await?;
    /// assert_eq!(conversation.history().await?.len(), 2);
    /// conversation.rewind("after two").await?;
    /// assert_eq!(conversation.history().await?.len(), 4);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] before the first message, and as [`Conversation::bookmark`].
    pub async fn checkpoint(&self, label: &str) -> Result<()> {
        let Some(head) = self.head().await? else {
            let message = "there is no message to mark yet: `goto(None)` returns to before the first one";
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        self.bookmark(label, head).await
    }

    /// Moves the head to a checkpoint and returns its node. Later messages stay as a branch with their own checkpoints.
    /// What the model has cached up to there is used again.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a label that no checkpoint has; the head does not move.
    pub async fn rewind(&self, label: &str) -> Result<NodeId> {
        let notes = self.annotations().await?;
        let Some(node) = notes.bookmark(label) else {
            let known: Vec<_> = notes.bookmarks().map(|(label, _)| format!("{label:?}")).collect();
            let known = if known.is_empty() {
                "there is none".to_owned()
            } else {
                format!("one of: {}", known.join(", "))
            };
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("checkpoint {label:?} does not exist; {known}"),
            ));
        };
        self.goto(node).await?;
        Ok(node)
    }
}
