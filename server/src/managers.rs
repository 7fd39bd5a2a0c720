//! The managers of models, and what is saved before a model is unloaded. Managers have the store, the prompts, and what the host adds.

use std::sync::Arc;

use alloquy_core::Manager;
use alloquy_core::store::ConversationStore;
use futures::future::BoxFuture;
use tokio::runtime::Handle;

use crate::app::ManagerSetup;
use crate::current_prompts::CurrentPrompts;
use crate::models::{BeforeUnload, ManagerOf};
use crate::snapshots::Snapshots;

/// Adds the library to each manager, before what the host adds.
pub(crate) fn with_prompts(setup: ManagerSetup, prompts: Option<CurrentPrompts>) -> ManagerSetup {
    match prompts {
        Some(prompts) => Arc::new(move |builder| setup(builder.prompts(Arc::new(prompts.clone())))),
        None => setup,
    }
}

/// Returns what saves the snapshots of a model that is unloaded, where they have a place.
pub(crate) fn saving_of(
    snapshots: Option<Snapshots>,
    store: Arc<dyn ConversationStore>,
) -> Option<BeforeUnload> {
    let snapshots = snapshots?;
    Some(Arc::new(move |name, opened| {
        let (snapshots, store) = (snapshots.clone(), Arc::clone(&store));
        Box::pin(async move { snapshots.save_of(&name, opened, &*store).await })
    }))
}

/// Returns what builds the managers of loaded models. They store the replies of dropped turns in tasks of the server's runtime.
pub(crate) fn manager_of(store: Arc<dyn ConversationStore>, setup: ManagerSetup) -> ManagerOf {
    Arc::new(move |opened| {
        let builder = Manager::builder(Arc::clone(&opened.chat)).store(Arc::clone(&store));
        let builder = match Handle::try_current() {
            Ok(runtime) => builder.spawner(move |work: BoxFuture<'static, ()>| drop(runtime.spawn(work))),
            Err(_) => builder,
        };
        setup(builder).build()
    })
}
