//! Metadata of a conversation and notes on its nodes. Each change is a compare-and-set, so concurrent writers keep each
//! other's changes.

use serde_json::{Map, Value};

use super::Conversation;
use crate::annotations::{self, ANNOTATIONS_KEY, Annotations};
use crate::store::{must_be_a_name, try_change_metadata};
use crate::tree::{Address, NodeId};
use crate::{Error, ErrorKind, Result};

impl Conversation {
    /// Reads the metadata of the conversation, without its [`Annotations`].
    ///
    /// # Errors
    /// Those of the store.
    pub async fn metadata(&self) -> Result<Map<String, Value>> {
        let mut metadata = self.record().await?.metadata;
        metadata.shift_remove(ANNOTATIONS_KEY);
        Ok(metadata)
    }

    /// Stores a value with the conversation, such as a title. `null` is a value like any other.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for the name [`ANNOTATIONS_KEY`], and those of the store.
    pub async fn set_metadata(&self, name: &str, value: impl Into<Value>) -> Result<()> {
        must_be_free(name)?;
        let value = value.into();
        self.change(|metadata| {
            metadata.insert(name.to_owned(), value.clone());
            Ok(())
        })
        .await
    }

    /// Removes a value of the conversation, if there is one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for the name [`ANNOTATIONS_KEY`], and those of the store.
    pub async fn remove_metadata(&self, name: &str) -> Result<()> {
        must_be_free(name)?;
        self.change(|metadata| {
            metadata.shift_remove(name);
            Ok(())
        })
        .await
    }

    /// Reads the notes on nodes.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::Corrupt`] for notes that cannot be read.
    pub async fn annotations(&self) -> Result<Annotations> {
        Annotations::of(&self.record().await?)
    }

    /// Labels a node, and with it the branch below it. `None` removes the label, and another label replaces it. Two
    /// nodes may have the same label.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here, [`ErrorKind::Invalid`] for an empty label.
    pub async fn label(&self, node: impl Into<Address>, label: Option<&str>) -> Result<()> {
        if label == Some("") {
            return Err(Error::new(ErrorKind::Invalid, "a label must not be empty: `None` removes it"));
        }
        let node = self.node(node.into()).await?;
        self.note(|notes| notes.set_label(node, label)).await
    }

    /// Sets a bookmark at a node; a bookmark of the same name moves there. [`Conversation::resolve`] finds it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that does not exist; [`ErrorKind::Invalid`] for a name that is an address, or
    /// that is not valid for a conversation either.
    pub async fn bookmark(&self, name: &str, node: impl Into<Address>) -> Result<()> {
        if name.parse::<Address>().is_ok() {
            let message = format!("bookmark {name:?} would be an address: choose another name");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        must_be_a_name("bookmark", name)?;
        let node = self.node(node.into()).await?;
        self.note(|notes| notes.set_bookmark(name, Some(node))).await
    }

    /// Removes a bookmark, if there is one.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn remove_bookmark(&self, name: &str) -> Result<()> {
        self.note(|notes| notes.set_bookmark(name, None)).await
    }

    /// Stores a value with a node. It replaces a value that the node was created with, and `null` removes it.
    /// [`Annotations::metadata`] reads the values.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here.
    pub async fn set_node_metadata(
        &self,
        node: impl Into<Address>,
        name: &str,
        value: impl Into<Value>,
    ) -> Result<()> {
        let node = self.node(node.into()).await?;
        let value = value.into();
        self.note(|notes| notes.set_metadata(node, name, value.clone())).await
    }

    /// Finds an existing node.
    pub(super) async fn node(&self, address: Address) -> Result<NodeId> {
        match self.path(address).await?.last() {
            Some(node) => Ok(node.id),
            None => Err(Error::new(ErrorKind::NotFound, "there is no node before the first message")),
        }
    }

    pub(super) async fn note(&self, edit: impl Fn(&mut Annotations)) -> Result<()> {
        annotations::note(&*self.parts.store, &self.parts.owner, &self.id, edit).await
    }

    /// Changes the metadata by compare-and-set, and tries again after another writer's change.
    async fn change(&self, change: impl Fn(&mut Map<String, Value>) -> Result<()>) -> Result<()> {
        try_change_metadata(&*self.parts.store, &self.parts.owner, &self.id, change).await.map(drop)
    }
}

pub(crate) fn must_be_free(name: &str) -> Result<()> {
    if name == ANNOTATIONS_KEY {
        let message = format!("metadata {ANNOTATIONS_KEY:?} holds the notes on nodes: choose another name");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    Ok(())
}
