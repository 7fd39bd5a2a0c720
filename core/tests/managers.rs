//! A manager that somebody puts in the place of ours.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::{Arc, Mutex};

use alloquy_core::manager::NewConversation;
use alloquy_core::store::ConversationPage;
use alloquy_core::{
    Conversation, ConversationId, ConversationManager, Error, ErrorKind, Manager, Preface, Query, Result,
};
use alloquy_testing::EchoModel;
use pollster::block_on;

/// Notes what is opened, and deletes nothing.
#[derive(Debug)]
struct Careful {
    manager: Manager,
    opened: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl ConversationManager for Careful {
    async fn create(&self, new: NewConversation) -> Result<Conversation> {
        self.manager.create(new.metadata("by", "careful")).await
    }
    async fn open(&self, id: &ConversationId) -> Result<Conversation> {
        self.opened.lock().unwrap().push(id.to_string());
        self.manager.open(id).await
    }
    async fn open_or_create(&self, id: &ConversationId, preface: Preface) -> Result<Conversation> {
        self.manager.open_or_create(id, preface).await
    }
    async fn list(&self, query: &Query) -> Result<ConversationPage> {
        self.manager.list(query).await
    }
    async fn delete(&self, _: &ConversationId) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "nothing is deleted here"))
    }
}

/// A host that knows no more than the trait.
async fn host(manager: Arc<dyn ConversationManager>) -> Result<String> {
    let conversation = manager.create(NewConversation::default()).await?;
    conversation.send("Hello").finish().await?;
    let again = manager.open(conversation.id()).await?;
    assert_eq!(manager.list(&Query::default()).await?.conversations.len(), 1);
    assert_eq!(manager.delete(conversation.id()).await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(again.metadata().await?["by"], "careful");
    Ok(again.history().await?.last().unwrap().message.text())
}

#[test]
fn a_host_that_knows_the_trait_alone_takes_another_manager() {
    let manager = Manager::new(EchoModel);
    let careful = Arc::new(Careful { manager, opened: Mutex::default() });
    assert_eq!(block_on(host(careful.clone())).unwrap(), "Hello");
    assert_eq!(careful.opened.lock().unwrap().len(), 1);
}
