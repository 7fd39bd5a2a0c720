//! Models and stores from settings: the only place that knows which backends there are.
use crate::{arguments::*, notes::Notes};
use alloquy_core::*;
use std::sync::Arc;
pub(crate) struct Model {
    pub(crate) round: Round,
}
impl Model {
    pub(crate) fn manager(
        &self,
        store: Arc<dyn ConversationStore>,
        sampling: &SamplingArguments,
    ) -> Result<Manager> {
        Manager::over(Arc::new(self.round.clone())).store(store).sampling(sampling.options()).build()
    }
    pub(crate) fn introduce(&self, notes: Notes) {
        notes.explain("x")
    }
}
pub(crate) async fn store(_url: Option<&str>) -> Result<Arc<dyn ConversationStore>> {
    Ok(Arc::new(MemoryStore::default()))
}
pub(crate) fn model(_: &ModelArguments, _notes: Notes) -> Result<Model> {
    Err(Error::new(ErrorKind::Model, "no"))
}
pub(crate) fn completion_model(_: &ModelArguments, _notes: Notes) -> Result<Model> {
    Err(Error::new(ErrorKind::Model, "no"))
}
