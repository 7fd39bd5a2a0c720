//! The models of a server by name: loaded when a request needs one, unloaded where another needs the memory.

mod entry;
mod source;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Manager, Result};
use alloquy_engine::decoder::SnapshotIdentity;
use tokio::sync::{Mutex, watch};

pub(crate) use entry::BeforeUnload;
use entry::{Entry, Found, LoadedModel, Outcome};

pub use source::{ModelSource, OpenedModel, ServedModel};

/// How often a model that is served no more, but writes a reply, is looked at.
const RETIRING: Duration = Duration::from_secs(1);

/// Builds the manager of a model that was loaded.
pub(crate) type ManagerOf = Arc<dyn Fn(&OpenedModel) -> Result<Manager> + Send + Sync>;

/// The models of a server. Copies share them.
#[derive(Clone)]
pub(crate) struct ServedModels(Arc<Shared>);

struct Shared {
    lists: RwLock<Lists>,
    /// The names of models of other kinds.
    others: Vec<String>,
    /// How many bytes the loaded models may take together.
    budget: Option<u64>,
    manager: ManagerOf,
    saving: Option<BeforeUnload>,
    /// Held while a model is loaded or retired, so that two at once do not exceed the budget.
    loading: Mutex<()>,
    /// Counts uses, so that the model that was not used for the longest time is known.
    clock: AtomicU64,
}

#[derive(Clone, Default)]
struct Lists {
    served: Vec<Arc<Entry>>,
    /// Those that are served no more, and still write replies.
    retired: Vec<Arc<Entry>>,
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
pub(crate) struct ModelStatus {
    pub(crate) model: ServedModel,
    pub(crate) is_loaded: bool,
    pub(crate) context_length: Option<usize>,
}

impl ServedModels {
    /// # Errors
    /// [`ErrorKind::Invalid`] for two models of one name, where `others` are the names of models of other kinds, and for a model that is
    /// larger than the budget.
    pub(crate) fn new(
        models: Vec<ServedModel>,
        others: Vec<String>,
        budget: Option<u64>,
        manager: ManagerOf,
        saving: Option<BeforeUnload>,
    ) -> Result<Self> {
        check(&models, &others, budget)?;
        let served = models.into_iter().map(|model| Arc::new(Entry::new(model))).collect();
        let lists = RwLock::new(Lists { served, retired: Vec::new() });
        let clock = AtomicU64::new(0);
        Ok(Self(Arc::new(Shared { lists, others, budget, manager, saving, loading: Mutex::new(()), clock })))
    }

    /// Replaces the models. One that is the same as before stays in memory; the others are unloaded once they have no reply to write.
    ///
    /// # Errors
    /// As [`ServedModels::new`]; the models stay as they were.
    pub(crate) fn replace(&self, models: Vec<ServedModel>) -> Result<()> {
        check(&models, &self.0.others, self.0.budget)?;
        let mut lists = self.0.lists.write().unwrap_or_else(PoisonError::into_inner);
        let mut left = lists.served.clone();
        let mut served = Vec::with_capacity(models.len());
        for model in models {
            let same = left.iter().position(|entry| entry.model.is_same(&model));
            served.push(match same {
                Some(place) => left.swap_remove(place),
                None => Arc::new(Entry::new(model)),
            });
        }
        lists.served = served;
        lists.retired.extend(left.iter().cloned());
        drop(lists);
        for entry in left {
            tokio::spawn(Arc::clone(&self.0).retire(entry));
        }
        Ok(())
    }

    /// Returns a model by its name or alias, or the first one, and loads it where necessary. The load is a task of its own: all requests
    /// wait for the same one, and it continues when they give up.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for another name, [`ErrorKind::Busy`] where the memory is used by models that write replies, and
    /// those of loading.
    pub(crate) async fn lease(&self, name: Option<&str>) -> Result<ModelLease> {
        loop {
            let entry = self.entry(name)?;
            entry.set_used(self.0.clock.fetch_add(1, Ordering::Relaxed));
            let name = entry.model.name().to_owned();
            let loaded = match entry.find() {
                Found::Loaded(loaded) => loaded,
                Found::Loading(waiting) => ended(waiting, &name).await?,
                Found::Begun(done, waiting) => {
                    tokio::spawn(Arc::clone(&self.0).load(entry, done));
                    ended(waiting, &name).await?
                }
                // The models were replaced meanwhile: the list has another one of this name, or none.
                Found::Retired => continue,
            };
            return Ok(ModelLease { name, loaded });
        }
    }

    /// Returns a model by its name or alias, if it is in memory. It stays there only as long as others use it.
    pub(crate) fn loaded(&self, name: &str) -> Option<OpenedModel> {
        self.entry(Some(name)).ok()?.loaded().map(|loaded| loaded.opened.clone())
    }

    /// Returns the name of the model in memory that snapshots of this identity are of.
    pub(crate) fn with_snapshots_of(&self, identity: &SnapshotIdentity) -> Option<String> {
        let served = self.0.lists().served;
        let is_it = |entry: &&Arc<Entry>| {
            let snapshots = entry.loaded().and_then(|loaded| loaded.opened.snapshots.clone());
            snapshots.and_then(|model| model.origin()).as_ref() == Some(identity)
        };
        served.iter().find(is_it).map(|entry| entry.model.name().to_owned())
    }

    /// Lists the models in their order.
    pub(crate) fn list(&self) -> Vec<ModelStatus> {
        self.0.lists().served.iter().map(|entry| status(entry)).collect()
    }

    /// Returns the name under which the model is served that replies name so: its name here, or, of a model in memory, its own.
    pub(crate) fn served_as(&self, name: &str) -> Option<String> {
        let served = self.0.lists().served;
        let known = served.iter().find(|entry| entry.model.names().any(|known| known == name));
        let own = |entry: &&Arc<Entry>| {
            entry.loaded().is_some_and(|loaded| loaded.opened.chat.names().contains(&name))
        };
        known.or_else(|| served.iter().find(own)).map(|entry| entry.model.name().to_owned())
    }

    /// Returns what is known of a model by its name or alias.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for another name.
    pub(crate) fn status(&self, name: &str) -> Result<ModelStatus> {
        Ok(status(&*self.entry(Some(name))?))
    }

    /// Waits until the partial replies of all models are stored. A model that is being loaded has none.
    ///
    /// # Errors
    /// The first error of the store.
    pub(crate) async fn flush(&self) -> Result<()> {
        let Lists { served, retired } = self.0.lists();
        for entry in served.iter().chain(&retired) {
            if let Some(loaded) = entry.loaded() {
                loaded.manager.flush().await?;
            }
        }
        Ok(())
    }

    fn entry(&self, name: Option<&str>) -> Result<Arc<Entry>> {
        let served = self.0.lists().served;
        let entry = match name {
            Some(name) => served.iter().find(|entry| entry.model.names().any(|known| known == name)),
            None => served.first(),
        };
        entry.cloned().ok_or_else(|| {
            let names: Vec<_> = served.iter().map(|entry| entry.model.name()).collect();
            let message =
                format!("there is no model {:?}, one of: {}", name.unwrap_or_default(), names.join(", "));
            Error::new(ErrorKind::NotFound, message)
        })
    }
}

/// Waits for the end of a load.
async fn ended(mut waiting: watch::Receiver<Outcome>, name: &str) -> Result<Arc<LoadedModel>> {
    let outcome = waiting.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
    outcome.unwrap_or_else(|| {
        Err(Error::new(ErrorKind::Model, format!("loading the model {name:?} ended with the server")))
    })
}

fn status(entry: &Entry) -> ModelStatus {
    ModelStatus {
        model: entry.model.clone(),
        is_loaded: entry.is_loaded(),
        context_length: entry.context_length(),
    }
}

impl Shared {
    fn lists(&self) -> Lists {
        self.lists.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads a model for everybody who waits for it.
    async fn load(self: Arc<Self>, entry: Arc<Entry>, done: watch::Sender<Outcome>) {
        // A task within this one, because a panic in it is an error of the load as well.
        let opened = tokio::spawn(Arc::clone(&self).open(Arc::clone(&entry))).await;
        let loaded = opened.unwrap_or_else(|source| Err(failed("loading", &entry, source)));
        entry.set_outcome(&loaded);
        done.send_replace(Some(loaded));
    }

    /// Opens a model, after others were unloaded to make room. Requests for a loaded model do not wait for it.
    async fn open(self: Arc<Self>, entry: Arc<Entry>) -> Result<Arc<LoadedModel>> {
        let _loading = self.loading.lock().await;
        self.make_room(&entry).await?;
        let source = Arc::clone(entry.model.source());
        let opened = tokio::task::spawn_blocking(move || source.open()).await;
        let opened = opened.map_err(|source| failed("loading", &entry, source))?;
        // Clients learn that it fails. Why, which may name files and servers, is a cause, for the log.
        let opened = opened.map_err(|source| {
            let message = format!("the model {:?} cannot be loaded", entry.model.name());
            Error::new(ErrorKind::Model, message).with_source(source)
        })?;
        let manager = (self.manager)(&opened)?;
        Ok(Arc::new(LoadedModel { opened, manager }))
    }

    /// Unloads a model that is served no more, as soon as it has no reply to write.
    async fn retire(self: Arc<Self>, entry: Arc<Entry>) {
        while !self.retired(&entry).await {
            tokio::time::sleep(RETIRING).await;
        }
        let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
        lists.retired.retain(|other| !Arc::ptr_eq(other, &entry));
    }

    async fn retired(&self, entry: &Entry) -> bool {
        // Where there is a budget, no model is loaded while the memory of this one is not free yet.
        let _loading = match self.budget {
            Some(_) => Some(self.loading.lock().await),
            None => None,
        };
        entry.retire(self.saving.as_ref()).await
    }

    /// Unloads the models that were not used for the longest time, until there is room for one more.
    async fn make_room(&self, wanted: &Arc<Entry>) -> Result<()> {
        let Some(budget) = self.budget else { return Ok(()) };
        let Lists { served, retired } = self.lists();
        let others = retired.iter().chain(&served).filter(|entry| !Arc::ptr_eq(entry, wanted));
        // A model elsewhere takes no memory here.
        let mut others: Vec<_> = others.filter(|entry| entry.model.memory() > 0).collect();
        others.sort_by_key(|entry| entry.used());
        let mut used = wanted.model.memory();
        for entry in &others {
            if entry.is_loaded() {
                used = used.saturating_add(entry.model.memory());
            }
        }
        for entry in others {
            if used <= budget {
                return Ok(());
            }
            if entry.is_loaded() && entry.unload(self.saving.as_ref()).await {
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

fn failed(what: &str, entry: &Entry, source: tokio::task::JoinError) -> Error {
    let message = format!("{what} the model {:?} failed", entry.model.name());
    Error::new(ErrorKind::Model, message).with_source(source)
}

/// Checks that names differ, and that each model fits into the budget.
fn check(models: &[ServedModel], others: &[String], budget: Option<u64>) -> Result<()> {
    if models.is_empty() {
        let message = "a server needs at least one model: name it with --model NAME";
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let mut names = HashSet::new();
    for name in models.iter().flat_map(ServedModel::names).chain(others.iter().map(String::as_str)) {
        if !names.insert(name) {
            let message = format!("two models have the name {name:?}: give one of them another");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
    }
    for model in models {
        must_fit(model, budget)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use alloquy_testing::EchoModel;

    use super::*;

    #[tokio::test]
    async fn a_model_that_is_served_no_more_is_not_loaded_again() {
        let manager: ManagerOf = Arc::new(|opened| Manager::builder(Arc::clone(&opened.chat)).build());
        let tea = || ServedModel::loaded("tea", EchoModel);
        let models = ServedModels::new(vec![tea()], Vec::new(), None, manager, None).unwrap();
        // A request has found the model in the list, and has not used it yet.
        let entry = models.entry(Some("tea")).unwrap();
        models.replace(vec![tea()]).unwrap();
        while !models.0.lists().retired.is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(matches!(entry.find(), Found::Retired));
        assert_eq!(models.lease(Some("tea")).await.unwrap().name(), "tea");
    }
}
