//! Where conversations are kept: stores from settings.

use std::path::Path;
use std::sync::Arc;

use alloquy::core::store::{ConversationStore, MemoryStore};
use alloquy::core::{Error, ErrorKind, Owner, Query, Result};

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

/// Opens the store that the arguments name, or the one in the user's data folder, for reading alone: nothing is made. Before
/// the first conversation was kept, the data folder is as good as an empty store.
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
    let usual = || data_folder().map(|folder| default_store(&folder));
    let named = arguments.store.clone().map_or_else(usual, Ok)?;
    let Kept { store, owner } = match kept_for_reading(arguments).await {
        Err(error) if error.is_not_found() => {
            return Ok(format!("{named} does not exist yet; the first conversation makes it"));
        }
        opened => opened?,
    };
    let count = store.count(&owner, &Query::default()).await?;
    let noun = if count == 1 { "conversation" } else { "conversations" };
    Ok(format!("{named}, {count} {noun}"))
}

/// Returns the URL of the store that is used unless another is named, and makes its folder.
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
