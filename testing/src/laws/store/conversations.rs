//! Conversations that the laws create in a store, and reading them back.

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, NodeId, Preface, Query};

use super::outcomes::{me, must, name};
use super::samples::chain;

pub(super) async fn contents(
    store: &dyn ConversationStore,
    id: &ConversationId,
) -> (ConversationRecord, Tree) {
    must("load", store.load(&me(), id).await)
}

pub(super) async fn created(store: &dyn ConversationStore, text: &str) -> ConversationId {
    let record = ConversationRecord::new(name(text), Preface::system("Be brief."));
    must("create", store.create(&me(), &record).await);
    record.id
}

/// Creates a conversation with two branches and its head on the first.
pub(super) async fn filled(store: &dyn ConversationStore, text: &str) -> ConversationId {
    let id = created(store, text).await;
    let trunk = chain(None, 3);
    let branch = chain(Some(trunk[0].id), 2);
    must("append", store.append(&me(), &id, &trunk).await);
    must("append", store.append(&me(), &id, &branch).await);
    must("set_head", store.set_head(&me(), &id, None, Some(trunk[2].id)).await);
    id
}

pub(super) async fn move_head(store: &dyn ConversationStore, id: &ConversationId, to: NodeId) {
    loop {
        let from = must("record", store.record(&me(), id).await).head;
        match store.set_head(&me(), id, from, Some(to)).await {
            Err(error) if error.is_conflict() => {}
            outcome => return must("set_head", outcome),
        }
    }
}

/// Returns the names of a list, in its order.
pub(super) async fn listed(store: &dyn ConversationStore, query: &Query) -> Vec<String> {
    let page = must("list", store.list(&me(), query).await);
    assert!(page.damaged.is_empty(), "nothing is damaged: {:?}", page.damaged);
    page.conversations.into_iter().map(|summary| summary.record.id.into()).collect()
}
