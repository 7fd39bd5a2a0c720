//! What is noted on a conversation and on its nodes, by compare-and-set: of two writers, neither undoes the other.

use serde_json::{Map, Value};

use super::Conversation;
use crate::annotations::{ANNOTATIONS, Annotations};
use crate::store::must_be_a_name;
use crate::tree::{Address, NodeId};
use crate::{Error, ErrorKind, Result};

impl Conversation {
    /// Reads the metadata of the conversation, without its [`Annotations`].
    ///
    /// # Errors
    /// Those of the store.
    pub async fn metadata(&self) -> Result<Map<String, Value>> {
        let mut metadata = self.record().await?.metadata;
        metadata.shift_remove(ANNOTATIONS);
        Ok(metadata)
    }

    /// Remembers something with the conversation, such as a title; `null` is a value like others.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for the name [`ANNOTATIONS`], and those of the store.
    pub async fn set_metadata(&self, name: &str, value: impl Into<Value>) -> Result<()> {
        must_be_free(name)?;
        let value = value.into();
        self.change(|metadata| {
            metadata.insert(name.to_owned(), value.clone());
            Ok(())
        })
        .await
    }

    /// Forgets something of the conversation; it need not be there.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for the name [`ANNOTATIONS`], and those of the store.
    pub async fn remove_metadata(&self, name: &str) -> Result<()> {
        must_be_free(name)?;
        self.change(|metadata| {
            metadata.shift_remove(name);
            Ok(())
        })
        .await
    }

    /// Reads what is noted on nodes.
    ///
    /// # Errors
    /// Those of the store, and [`ErrorKind::Corrupt`] for notes that cannot be read.
    pub async fn annotations(&self) -> Result<Annotations> {
        Annotations::of(&self.record().await?)
    }

    /// Labels a node, and with it the branch below it, or with `None` takes the label off; labelling again renames it.
    /// Labels may repeat.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here, [`ErrorKind::Invalid`] for an empty label.
    pub async fn label(&self, node: impl Into<Address>, label: Option<&str>) -> Result<()> {
        if label == Some("") {
            return Err(Error::new(ErrorKind::Invalid, "a label is not empty: `None` takes one off"));
        }
        let node = self.node(node.into()).await?;
        self.note(|notes| notes.set_label(node, label)).await
    }

    /// Puts a bookmark at a node; one of the same name moves there. [`Conversation::resolve`] finds it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here, [`ErrorKind::Invalid`] for a name that is an address,
    /// or that a new conversation could not have.
    pub async fn bookmark(&self, name: &str, node: impl Into<Address>) -> Result<()> {
        if name.parse::<Address>().is_ok() {
            let message = format!("bookmark {name:?} would be an address: take another name");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        must_be_a_name("bookmark", name)?;
        let node = self.node(node.into()).await?;
        self.note(|notes| notes.set_bookmark(name, Some(node))).await
    }

    /// Removes a bookmark; it need not be there.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn remove_bookmark(&self, name: &str) -> Result<()> {
        self.note(|notes| notes.set_bookmark(name, None)).await
    }

    /// Remembers something with a node, over what it was made with; `null` takes it away.
    /// [`Annotations::metadata`] reads it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here.
    pub async fn set_node_metadata(
        &self,
        node: impl Into<Address>,
        name: &str,
        value: impl Into<Value>,
    ) -> Result<()> {
        let (node, value) = (self.node(node.into()).await?, value.into());
        self.note(|notes| notes.set_metadata(node, name, value.clone())).await
    }

    /// Finds a node that is there.
    pub(super) async fn node(&self, address: Address) -> Result<NodeId> {
        let missing = || Error::new(ErrorKind::NotFound, "there is no node before the first message");
        Ok(self.path(address).await?.last().ok_or_else(missing)?.id)
    }

    pub(super) async fn note(&self, change: impl Fn(&mut Annotations)) -> Result<()> {
        self.change(|metadata| {
            let mut notes = Annotations::read(metadata)?;
            change(&mut notes);
            notes.write(metadata)
        })
        .await
    }

    /// Changes the metadata, again each time that another writer was faster.
    async fn change(&self, change: impl Fn(&mut Map<String, Value>) -> Result<()>) -> Result<()> {
        loop {
            let mut record = self.record().await?;
            let before = record.metadata.clone();
            change(&mut record.metadata)?;
            if record.metadata == before {
                return Ok(());
            }
            let (store, owner) = (&self.parts.store, &self.parts.owner);
            match store.update_metadata(owner, &self.id, record.revision, &record.metadata).await {
                Err(error) if error.is_conflict() => {}
                outcome => return outcome.map(drop),
            }
        }
    }
}

pub(crate) fn must_be_free(name: &str) -> Result<()> {
    match name == ANNOTATIONS {
        false => Ok(()),
        true => {
            let message =
                format!("metadata {ANNOTATIONS:?} is where notes on nodes stand: take another name");
            Err(Error::new(ErrorKind::Invalid, message))
        }
    }
}
