//! A manager that somebody puts in the place of ours.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::{Arc, Mutex};

use alloquy_core::manager::NewConversation;
use alloquy_core::search::SearchPage;
use alloquy_core::store::{Archive, ConversationPage};
use alloquy_core::tree::Address;
use alloquy_core::{
    Conversation, ConversationId, ConversationManager, Error, ErrorKind, Manager, Preface, Query, Result,
    TurnRequest,
};
use alloquy_testing::EchoModel;
use pollster::block_on;
use serde_json::json;

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
    async fn count(&self, query: &Query) -> Result<usize> {
        self.manager.count(query).await
    }
    async fn search(&self, query: &Query) -> Result<SearchPage> {
        self.manager.search(query).await
    }
    async fn export(&self, id: &ConversationId) -> Result<Archive> {
        self.manager.export(id).await
    }
    async fn import(&self, archive: &Archive) -> Result<Conversation> {
        self.manager.import(archive).await
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
fn a_host_that_uses_the_trait_accepts_another_manager() {
    let manager = Manager::new(EchoModel);
    let careful = Arc::new(Careful { manager, opened: Mutex::default() });
    assert_eq!(block_on(host(careful.clone())).unwrap(), "Hello");
    assert_eq!(careful.opened.lock().unwrap().len(), 1);
}

#[test]
fn a_manager_counts_searches_and_copies_the_conversations_of_its_owner_alone() {
    let manager = Manager::new(EchoModel);
    let [ann, bob] = ["ann", "bob"].map(|name| manager.for_owner(name.parse().unwrap()));
    block_on(async {
        let tea = ann.create(NewConversation::default().metadata("title", "Tea")).await.unwrap();
        tea.send("Green or black?").await.unwrap();
        tea.edit("0".parse::<Address>().unwrap(), "Green or white?").await.unwrap();
        let all = Query::default();
        assert_eq!((ann.count(&all).await.unwrap(), bob.count(&all).await.unwrap()), (1, 0));
        let white = Query::default().text("whit*").unwrap();
        assert_eq!(ann.search(&white).await.unwrap().hits.len(), 2);
        assert_eq!(bob.search(&white).await.unwrap().hits.len(), 0);
        assert!(bob.export(tea.id()).await.unwrap_err().is_not_found());

        let archive = ann.export(tea.id()).await.unwrap();
        assert!(ann.import(&archive).await.unwrap_err().is_conflict());
        let copy = bob.import(&archive).await.unwrap();
        assert_eq!((copy.id(), copy.nodes().await.unwrap()), (tea.id(), tea.nodes().await.unwrap()));
        assert_eq!(copy.send("Thank you").await.unwrap().text(), "Thank you");
        assert_eq!((copy.nodes().await.unwrap().len(), tea.nodes().await.unwrap().len()), (6, 4));
    });
}

#[test]
fn adding_messages_returns_their_nodes() {
    let conversation = Conversation::new(EchoModel);
    let ask = TurnRequest::from(vec!["One".into(), "Two".into()]);
    let ask = ask.message_metadata("from", "phone").metadata("read", true).label("start");
    block_on(async {
        let added = conversation.add(ask).await.unwrap();
        assert_eq!(added.nodes, conversation.history().await.unwrap());
        let last = added.nodes.last().unwrap();
        assert_eq!((added.node, last.label.as_deref()), (Some(last.id), Some("start")));
        assert_eq!(added.nodes[0].metadata, *json!({"from": "phone"}).as_object().unwrap());
        assert_eq!(last.metadata, *json!({"from": "phone", "read": true}).as_object().unwrap());
    });
}
