//! The models of a server by name: loaded when a request needs one, unloaded where another needs the memory.

mod source;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alloquy_core::{Error, ErrorKind, Manager, Result};
use tokio::sync::Mutex;

pub use source::{ModelSource, OpenedModel, ServedModel};

/// Builds the manager of a model that was loaded.
pub(crate) type ManagerOf = Arc<dyn Fn(&OpenedModel) -> Result<Manager> + Send + Sync>;

/// The models of a server.
pub(crate) struct ServedModels {
    entries: Vec<Entry>,
    /// How many bytes the loaded models may take together.
    budget: Option<u64>,
    manager: ManagerOf,
    /// Held while a model is loaded, so that two at once do not exceed the budget.
    loading: Mutex<()>,
    /// Counts uses, so that the model that was not used for the longest time is known.
    clock: AtomicU64,
}

/// A model, and what is loaded of it.
struct Entry {
    model: ServedModel,
    loaded: Mutex<Option<Arc<LoadedModel>>>,
    used: AtomicU64,
}

/// A model in memory.
struct LoadedModel {
    opened: OpenedModel,
    manager: Manager,
}

/// The use of a loaded model. While there is one, the model is not unloaded.
#[derive(Clone)]
pub(crate) struct ModelLease {
    name: String,
    loaded: Arc<LoadedModel>,
}

impl ModelLease {
    /// Returns the name under which the model is served.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the model.
    pub(crate) fn opened(&self) -> &OpenedModel {
        &self.loaded.opened
    }

    /// Returns the manager of its stored conversations, for no owner in particular.
    pub(crate) fn manager(&self) -> &Manager {
        &self.loaded.manager
    }
}

/// What is known of a model without loading it.
pub(crate) struct ModelStatus<'a> {
    pub(crate) model: &'a ServedModel,
    pub(crate) is_loaded: bool,
    pub(crate) context_length: Option<usize>,
}

impl ServedModels {
    /// # Errors
    /// [`ErrorKind::Invalid`] for two models of one name, and for a model that is larger than the budget.
    pub(crate) fn new(models: Vec<ServedModel>, budget: Option<u64>, manager: ManagerOf) -> Result<Self> {
        let mut names = Vec::new();
        for model in &models {
            for name in model.names() {
                if names.contains(&name) {
                    let message = format!("two models have the name {name:?}: give one of them another");
                    return Err(Error::new(ErrorKind::Invalid, message));
                }
                names.push(name);
            }
            must_fit(model, budget)?;
        }
        let entries = models.into_iter().map(Entry::new).collect();
        Ok(Self { entries, budget, manager, loading: Mutex::new(()), clock: AtomicU64::new(0) })
    }

    /// Returns a model by its name or alias, or the first one, and loads it where necessary.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for another name, [`ErrorKind::Busy`] where the memory is used by models that write replies, and
    /// those of loading.
    pub(crate) async fn lease(&self, name: Option<&str>) -> Result<ModelLease> {
        let entry = self.entry(name)?;
        entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let loaded = entry.loaded.lock().await.clone();
        let loaded = match loaded {
            Some(loaded) => loaded,
            None => self.load(entry).await?,
        };
        Ok(ModelLease { name: entry.model.name().to_owned(), loaded })
    }

    /// Lists the models in their order.
    pub(crate) fn list(&self) -> Vec<ModelStatus<'_>> {
        self.entries.iter().map(Entry::status).collect()
    }

    /// Returns what is known of a model by its name or alias.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for another name.
    pub(crate) fn status(&self, name: &str) -> Result<ModelStatus<'_>> {
        Ok(self.entry(Some(name))?.status())
    }

    /// Waits until the partial replies of all models are stored.
    ///
    /// # Errors
    /// The first error of the store.
    pub(crate) async fn flush(&self) -> Result<()> {
        for entry in &self.entries {
            let loaded = entry.loaded.lock().await.clone();
            if let Some(loaded) = loaded {
                loaded.manager.flush().await?;
            }
        }
        Ok(())
    }

    fn entry(&self, name: Option<&str>) -> Result<&Entry> {
        let entry = match name {
            Some(name) => self.entries.iter().find(|entry| entry.model.names().any(|known| known == name)),
            None => self.entries.first(),
        };
        entry.ok_or_else(|| {
            let names: Vec<_> = self.entries.iter().map(|entry| entry.model.name()).collect();
            let message =
                format!("there is no model {:?}, one of: {}", name.unwrap_or_default(), names.join(", "));
            Error::new(ErrorKind::NotFound, message)
        })
    }

    /// Loads a model, after others were unloaded to make room. Requests for a loaded model do not wait for it.
    async fn load(&self, entry: &Entry) -> Result<Arc<LoadedModel>> {
        let _loading = self.loading.lock().await;
        let mut place = entry.loaded.lock().await;
        if let Some(loaded) = &*place {
            return Ok(Arc::clone(loaded));
        }
        self.make_room(entry).await?;
        let source = Arc::clone(entry.model.source());
        let opened = tokio::task::spawn_blocking(move || source.open()).await;
        let opened = opened.map_err(|source| {
            let message = format!("loading the model {:?} failed", entry.model.name());
            Error::new(ErrorKind::Model, message).with_source(source)
        })?;
        let opened = opened.map_err(|error| error.context(format_args!("model {:?}", entry.model.name())))?;
        let manager = (self.manager)(&opened)?;
        let loaded = Arc::new(LoadedModel { opened, manager });
        *place = Some(Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Unloads the models that were not used for the longest time, until there is room for one more.
    async fn make_room(&self, wanted: &Entry) -> Result<()> {
        let Some(budget) = self.budget else { return Ok(()) };
        let others = self.entries.iter().filter(|entry| !std::ptr::eq(*entry, wanted));
        // A model elsewhere takes no memory here.
        let mut others: Vec<_> = others.filter(|entry| entry.model.memory() > 0).collect();
        others.sort_by_key(|entry| entry.used.load(Ordering::Relaxed));
        let mut used = wanted.model.memory();
        for entry in &others {
            if entry.loaded.lock().await.is_some() {
                used = used.saturating_add(entry.model.memory());
            }
        }
        for entry in others {
            if used <= budget {
                return Ok(());
            }
            if entry.unload().await? {
                used = used.saturating_sub(entry.model.memory());
            }
        }
        if used <= budget {
            return Ok(());
        }
        let message = format!(
            "there is no memory for the model {:?} while others write replies: try again, or raise the budget of {budget} bytes",
            wanted.model.name()
        );
        Err(Error::new(ErrorKind::Busy, message))
    }
}

fn must_fit(model: &ServedModel, budget: Option<u64>) -> Result<()> {
    let memory = model.memory();
    match budget.filter(|budget| memory > *budget) {
        Some(budget) => {
            let name = model.name();
            let message =
                format!("the model {name:?} needs {memory} bytes, and the budget is {budget}: raise it");
            Err(Error::new(ErrorKind::Invalid, message))
        }
        None => Ok(()),
    }
}

impl Entry {
    fn new(model: ServedModel) -> Self {
        Self { model, loaded: Mutex::new(None), used: AtomicU64::new(0) }
    }

    fn status(&self) -> ModelStatus<'_> {
        // The place is locked while the model is being loaded, for which a list does not wait.
        let place = self.loaded.try_lock().ok();
        let loaded = place.as_ref().and_then(|place| place.as_ref());
        let context_length = loaded.and_then(|loaded| loaded.opened.context_length);
        ModelStatus { model: &self.model, is_loaded: loaded.is_some(), context_length }
    }

    /// Unloads the model unless a lease uses it, and returns whether it was unloaded.
    async fn unload(&self) -> Result<bool> {
        let mut place = self.loaded.lock().await;
        // A lease is created under this lock, so none can begin between this check and the removal.
        let Some(loaded) = place.take_if(|loaded| Arc::strong_count(loaded) == 1) else { return Ok(false) };
        loaded.manager.flush().await?;
        // Freeing gigabytes takes a while.
        let freed = tokio::task::spawn_blocking(move || drop(loaded)).await;
        freed.map_err(|source| {
            let message = format!("unloading the model {:?} failed", self.model.name());
            Error::new(ErrorKind::Model, message).with_source(source)
        })?;
        Ok(true)
    }
}
