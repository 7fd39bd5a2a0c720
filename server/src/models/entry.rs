//! A model by its names, and what of it is in memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::{Manager, Result};
use futures::future::BoxFuture;
use tokio::sync::watch;

use super::source::{OpenedModel, ServedModel};

/// Saves what a model holds, before it is unloaded. It receives the name under which the model is served.
pub(crate) type BeforeUnload = Arc<dyn Fn(String, OpenedModel) -> BoxFuture<'static, ()> + Send + Sync>;

/// A model in memory.
pub(super) struct LoadedModel {
    pub(super) opened: OpenedModel,
    pub(super) manager: Manager,
}

/// What a load has become: nothing until it has ended.
pub(super) type Outcome = Option<Result<Arc<LoadedModel>>>;

/// Where a model is.
enum Place {
    Absent,
    /// A task loads it, for everybody who waits.
    Loading(watch::Receiver<Outcome>),
    Loaded(Arc<LoadedModel>),
    /// It is served no more, and nothing loads it again.
    Retired,
}

/// A model, and what is loaded of it.
pub(super) struct Entry {
    pub(super) model: ServedModel,
    place: Mutex<Place>,
    used: AtomicU64,
}

/// What a request for a model finds.
pub(super) enum Found {
    Loaded(Arc<LoadedModel>),
    /// Another request has begun to load it.
    Loading(watch::Receiver<Outcome>),
    /// This request is the first one, and has to begin.
    Begun(watch::Sender<Outcome>, watch::Receiver<Outcome>),
    /// It is served no more.
    Retired,
}

/// What was in a place.
enum Taken {
    Loaded(Arc<LoadedModel>),
    Nothing,
    /// It is used or being loaded, and stays.
    Used,
}

impl Entry {
    pub(super) fn new(model: ServedModel) -> Self {
        Self { model, place: Mutex::new(Place::Absent), used: AtomicU64::new(0) }
    }

    /// Notes the time of a use.
    pub(super) fn set_used(&self, time: u64) {
        self.used.store(time, Ordering::Relaxed);
    }

    /// Returns the time of the last use.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the loaded model, or what is to be waited for.
    pub(super) fn find(&self) -> Found {
        let mut place = self.place();
        match &*place {
            Place::Loaded(loaded) => Found::Loaded(Arc::clone(loaded)),
            Place::Loading(waiting) => Found::Loading(waiting.clone()),
            Place::Retired => Found::Retired,
            Place::Absent => {
                let (done, waiting) = watch::channel(None);
                *place = Place::Loading(waiting.clone());
                Found::Begun(done, waiting)
            }
        }
    }

    /// Ends a load, successful or not.
    pub(super) fn set_outcome(&self, outcome: &Result<Arc<LoadedModel>>) {
        *self.place() = match outcome {
            Ok(loaded) => Place::Loaded(Arc::clone(loaded)),
            Err(_) => Place::Absent,
        };
    }

    /// Returns the model if it is in memory. One that is being loaded is not waited for.
    pub(super) fn loaded(&self) -> Option<Arc<LoadedModel>> {
        match &*self.place() {
            Place::Loaded(loaded) => Some(Arc::clone(loaded)),
            Place::Absent | Place::Loading(_) | Place::Retired => None,
        }
    }

    /// Returns whether the model is in memory.
    pub(super) fn is_loaded(&self) -> bool {
        matches!(&*self.place(), Place::Loaded(_))
    }

    /// Returns the positions of the model's context, if it is in memory and they are known.
    pub(super) fn context_length(&self) -> Option<usize> {
        match &*self.place() {
            Place::Loaded(loaded) => loaded.opened.context_length,
            Place::Absent | Place::Loading(_) | Place::Retired => None,
        }
    }

    /// Unloads the model unless it is used or being loaded, and returns whether it is out of memory. The store gets its partial replies
    /// before, and what it holds is saved; where that fails, the log says so, since the request that needs the memory has no part in it.
    pub(super) async fn unload(&self, saving: Option<&BeforeUnload>) -> bool {
        self.empty(Place::Absent, saving).await
    }

    /// Unloads the model as [`Entry::unload`] does, and lets nothing load it again.
    pub(super) async fn retire(&self, saving: Option<&BeforeUnload>) -> bool {
        self.empty(Place::Retired, saving).await
    }

    async fn empty(&self, after: Place, saving: Option<&BeforeUnload>) -> bool {
        let loaded = match self.taken(after) {
            Taken::Loaded(loaded) => loaded,
            Taken::Nothing => return true,
            Taken::Used => return false,
        };
        let name = self.model.name();
        if let Err(error) = loaded.manager.flush().await {
            tracing::error!(name, error = format!("{error:#}"), "a reply of an unloaded model is not stored");
        }
        if let Some(saving) = saving {
            saving(name.to_owned(), loaded.opened.clone()).await;
        }
        // Freeing gigabytes takes a while.
        if let Err(error) = tokio::task::spawn_blocking(move || drop(loaded)).await {
            tracing::error!(name, %error, "unloading a model failed");
        }
        true
    }

    /// Takes the model out of its place if no request uses it, and leaves `after` there.
    fn taken(&self, after: Place) -> Taken {
        let mut place = self.place();
        match &*place {
            Place::Loading(_) => return Taken::Used,
            // A lease is created under this lock, so none can begin between this check and the removal.
            Place::Loaded(loaded) if Arc::strong_count(loaded) > 1 => return Taken::Used,
            Place::Absent | Place::Loaded(_) | Place::Retired => {}
        }
        match std::mem::replace(&mut *place, after) {
            Place::Loaded(loaded) => Taken::Loaded(loaded),
            Place::Absent | Place::Loading(_) | Place::Retired => Taken::Nothing,
        }
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        // The place is valid even if a thread panicked while it held the lock.
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
