//! Changes that continue after their future is dropped. The next reader of their conversation waits for them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::{ConversationId, Owner};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::Shared;

type Name = (Owner, ConversationId);

/// The changes of each conversation, by their numbers.
#[derive(Debug, Default)]
struct Running {
    begun: u64,
    changes: HashMap<Name, BTreeMap<u64, Shared<oneshot::Receiver<()>>>>,
}

/// The changes of one store that are under way.
///
/// Calls run concurrently, each on a connection of its own. Without this, a reader could see a conversation as it was before
/// a dropped reply was stored, and continue from there.
#[derive(Clone, Debug, Default)]
pub(super) struct Endings(Arc<Mutex<Running>>);

/// A change that is under way until this value is dropped.
#[derive(Debug)]
pub(super) struct Ending {
    endings: Endings,
    name: Name,
    number: u64,
    /// Wakes the waiting readers when it is dropped.
    _done: oneshot::Sender<()>,
}

impl Endings {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, owner: &Owner, id: &ConversationId) -> Ending {
        let (done, waiting) = oneshot::channel();
        let name = (owner.clone(), id.clone());
        let mut running = self.running();
        running.begun += 1;
        let number = running.begun;
        running.changes.entry(name.clone()).or_default().insert(number, waiting.shared());
        Ending { endings: self.clone(), name, number, _done: done }
    }

    /// Waits for the changes of a conversation that are under way now.
    pub(super) async fn wait(&self, owner: &Owner, id: &ConversationId) {
        let running = self.running().changes.get(&(owner.clone(), id.clone())).cloned().unwrap_or_default();
        for ending in running.into_values() {
            // The sender is dropped when the change ends, so the result is always an error.
            let _ = ending.await;
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let mut running = self.endings.running();
        if let Entry::Occupied(mut of_this) = running.changes.entry(self.name.clone()) {
            of_this.get_mut().remove(&self.number);
            if of_this.get().is_empty() {
                of_this.remove();
            }
        }
    }
}
