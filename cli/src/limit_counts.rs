//! Where a server counts the limits of its keys.

use std::sync::Arc;

use alloquy::core::Result;
use alloquy::guards::limits::LimitStore;

use crate::arguments::StoreArguments;
use crate::limit_database::LimitDatabase;
use crate::settings::state_folder;

/// Returns where limits are counted: in the PostgreSQL database of the conversations, so that all servers over it count together, or in a
/// database of this machine, so that budgets of a day outlive a restart.
///
/// # Errors
/// Those of the database of the conversations.
pub(crate) async fn of(store: &StoreArguments) -> Result<Option<Arc<dyn LimitStore>>> {
    if let Some(shared) = shared(store).await? {
        return Ok(Some(shared));
    }
    match state_folder() {
        Some(folder) => Ok(Some(Arc::new(LimitDatabase::new(folder)))),
        None => Ok(None),
    }
}

#[cfg(feature = "postgres")]
async fn shared(store: &StoreArguments) -> Result<Option<Arc<dyn LimitStore>>> {
    let Some(url) = &store.store else { return Ok(None) };
    match alloquy::storage::open_limits(url).await? {
        Some(limits) => Ok(Some(Arc::new(limits))),
        None => Ok(None),
    }
}

/// Without the feature, opening such a store has failed already.
#[cfg(not(feature = "postgres"))]
async fn shared(_: &StoreArguments) -> Result<Option<Arc<dyn LimitStore>>> {
    Ok(None)
}
