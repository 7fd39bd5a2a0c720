//! Joins several recalls to one.

use std::collections::HashMap;
use std::sync::Arc;

use alloquy_core::{NodeId, Result};
use async_trait::async_trait;
use futures::future::join_all;

use crate::fusion::{Ranking, fused, must_be_a_weight};
use crate::note::StoredNote;
use crate::recall::{FailedRecall, Recall, RecallRequest, Recalled};

/// Recalls by several others at once, and joins what they recall by rank.
///
/// If some of them fail, the others answer, and [`Recalled::failed`] names those that failed. If all fail, the error is that of the
/// first.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::store::MemoryStore;
/// use alloquy_memory::{Composite, Cue, LookBack, Notes, Recall};
///
/// let store = Arc::new(MemoryStore::default());
/// let both = Composite::new().with(Cue::new(Notes::new(store.clone()))).with(LookBack::new(store));
/// assert_eq!(both.name(), "cue+look_back");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Composite {
    name: String,
    members: Vec<(Arc<dyn Recall>, f64)>,
}

impl Composite {
    /// Creates a recall without members, which recalls nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a member with the weight 1.
    #[must_use]
    pub fn with(mut self, member: impl Recall + 'static) -> Self {
        self.add(Arc::new(member), 1.0);
        self
    }

    /// Adds a member whose ranks count more or less than those of others.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::store::MemoryStore;
    /// use alloquy_memory::{Composite, LookBack};
    ///
    /// let past = LookBack::new(Arc::new(MemoryStore::default()));
    /// assert!(Composite::new().weighted(past.clone(), 0.5).is_ok());
    /// assert!(Composite::new().weighted(past, f64::NAN).is_err());
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a weight that is not a finite number above 0.
    pub fn weighted(mut self, member: impl Recall + 'static, weight: f64) -> Result<Self> {
        must_be_a_weight(member.name(), weight)?;
        self.add(Arc::new(member), weight);
        Ok(self)
    }

    fn add(&mut self, member: Arc<dyn Recall>, weight: f64) {
        if !self.name.is_empty() {
            self.name.push('+');
        }
        self.name.push_str(member.name());
        self.members.push((member, weight));
    }
}

#[async_trait]
impl Recall for Composite {
    fn name(&self) -> &str {
        &self.name
    }

    async fn recall(&self, request: RecallRequest<'_>) -> Result<Recalled> {
        // Each returns all that it has, so that a note of two members counts once, whatever the limit is.
        let all = request.limit(usize::MAX);
        let answers = join_all(self.members.iter().map(|(member, _)| member.recall(all))).await;
        let mut joined = Recalled::default();
        let mut error = None;
        let mut unseen = 0;
        let mut rankings = Vec::new();
        let mut by_id: HashMap<NodeId, StoredNote> = HashMap::new();
        for ((member, weight), answer) in self.members.iter().zip(answers) {
            match answer {
                Ok(recalled) => {
                    unseen += recalled.of.saturating_sub(recalled.notes.len());
                    let notes = recalled.notes.iter().map(|note| note.id).collect();
                    rankings.push(Ranking { notes, weight: *weight });
                    joined.failed.extend(recalled.failed);
                    by_id.extend(recalled.notes.into_iter().map(|note| (note.id, note)));
                }
                Err(failed) => {
                    let name = member.name().to_owned();
                    joined.failed.push(FailedRecall { name, reason: failed.to_string() });
                    error.get_or_insert(failed);
                }
            }
        }
        if let Some(error) = error.filter(|_| rankings.is_empty()) {
            return Err(error);
        }
        let ranked = fused(rankings);
        joined.of = ranked.len() + unseen;
        joined.notes = ranked.iter().take(request.limit).filter_map(|id| by_id.remove(id)).collect();
        Ok(joined)
    }
}
