//! Opens the store of conversations that the settings name.

use std::path::Path;
use std::sync::Arc;

use alloquy::core::store::{ConversationStore, MemoryStore};
use alloquy::core::{Error, ErrorKind, Owner, Query, Result};
use alloquy::memory::without_notes;

use crate::arguments::StoreArguments;
use crate::settings::data_folder;

/// The conversations of one owner.
pub(crate) struct Kept {
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) owner: Owner,
}

/// Opens the store that the arguments name, or the one in the user's data folder.
pub(crate) async fn kept(arguments: &StoreArguments) -> Result<Kept> {
    let store = match &arguments.store {
        Some(url) => alloquy::open_store(url).await?,
        None => alloquy::open_store(&usual_store()?).await?,
    };
    Ok(Kept { store, owner: arguments.owner() })
}

/// Opens the store that the arguments name, or the one in the user's data folder, for reading only: nothing is created. A
/// default store that does not exist yet is an empty one.
pub(crate) async fn kept_for_reading(arguments: &StoreArguments) -> Result<Kept> {
    let store: Arc<dyn ConversationStore> = match &arguments.store {
        Some(url) => alloquy::open_store_for_reading(url).await?,
        None => match alloquy::open_store_for_reading(&default_store(&data_folder()?)).await {
            Err(error) if error.is_not_found() => Arc::new(MemoryStore::default()),
            opened => opened?,
        },
    };
    Ok(Kept { store, owner: arguments.owner() })
}

/// Opens a store for reading and says what is in it.
pub(crate) async fn inspect_store(arguments: &StoreArguments) -> Result<String> {
    let url = match &arguments.store {
        Some(url) => url.clone(),
        None => default_store(&data_folder()?),
    };
    let Kept { store, owner } = match kept_for_reading(arguments).await {
        Err(error) if error.is_not_found() => {
            return Ok(format!("{url} does not exist yet; the first conversation creates it"));
        }
        opened => opened?,
    };
    let count = store.count(&owner, &Query::default().filter(without_notes())).await?;
    let noun = if count == 1 { "conversation" } else { "conversations" };
    Ok(format!("{url}, {count} {noun}"))
}

/// Returns the URL of the default store, and creates its folder.
fn usual_store() -> Result<String> {
    let folder = data_folder()?;
    crate::file::make_private_folder(&folder).map_err(|source| {
        Error::new(ErrorKind::Store, format!("data folder {folder:?} cannot be made")).with_source(source)
    })?;
    Ok(default_store(&folder))
}

/// Returns the URL of the store in a data folder.
pub(crate) fn default_store(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("conversations.db").display())
}
