//! The managers of models: with the store, the prompts, and what the host adds.

use std::sync::Arc;

use alloquy_core::Manager;
use alloquy_core::store::ConversationStore;
use futures::future::BoxFuture;
use tokio::runtime::Handle;

use crate::app::ManagerSetup;
use crate::current_prompts::CurrentPrompts;
use crate::models::ManagerOf;

/// Adds the library to each manager, before what the host adds.
pub(crate) fn with_prompts(setup: ManagerSetup, prompts: Option<CurrentPrompts>) -> ManagerSetup {
    match prompts {
        Some(prompts) => Arc::new(move |builder| setup(builder.prompts(Arc::new(prompts.clone())))),
        None => setup,
    }
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
