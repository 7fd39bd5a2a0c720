//! Approvals that wait in this process: those of responses that were not stored. Each is taken once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use alloquy_core::Owner;
use alloquy_core::message::ToolCall;

/// How many approvals wait in all.
const MOST: usize = 4 << 10;
/// How long an approval waits.
const KEPT: Duration = Duration::from_secs(60 * 60);

/// A call that waits for the approval of its owner.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenApproval {
    pub(crate) label: String,
    pub(crate) call: ToolCall,
}

/// An approval by its owner and the id of its item.
type Key = (Owner, String);

/// The approvals that wait.
#[derive(Debug, Default)]
pub(crate) struct OpenApprovals(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    open: HashMap<Key, (OpenApproval, Instant)>,
    order: VecDeque<Key>,
}

impl OpenApprovals {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // The map is valid even if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one. The oldest is forgotten where there are too many.
    pub(crate) fn add(&self, owner: &Owner, id: &str, approval: OpenApproval) {
        let mut waiting = self.waiting();
        let key = (owner.clone(), id.to_owned());
        if waiting.open.insert(key.clone(), (approval, Instant::now())).is_none() {
            waiting.order.push_back(key);
        }
        while waiting.order.len() > MOST {
            if let Some(oldest) = waiting.order.pop_front() {
                waiting.open.remove(&oldest);
            }
        }
    }

    /// Returns the one of an id, which still waits.
    pub(crate) fn find(&self, owner: &Owner, id: &str) -> Option<OpenApproval> {
        let waiting = self.waiting();
        let (approval, since) = waiting.open.get(&(owner.clone(), id.to_owned()))?;
        (since.elapsed() < KEPT).then(|| approval.clone())
    }

    /// Takes all of these, or none if one of them does not wait. Returns whether they were taken.
    pub(crate) fn take(&self, owner: &Owner, ids: &[String]) -> bool {
        let mut waiting = self.waiting();
        let keys: Vec<Key> = ids.iter().map(|id| (owner.clone(), id.clone())).collect();
        if !keys.iter().all(|key| waiting.open.contains_key(key)) {
            return false;
        }
        for key in &keys {
            waiting.open.remove(key);
        }
        waiting.order.retain(|key| !keys.contains(key));
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn approval() -> OpenApproval {
        OpenApproval { label: "files".to_owned(), call: ToolCall::new("call_0", "delete", json!({})) }
    }

    #[test]
    fn each_is_taken_once_by_its_owner_and_all_or_none() {
        let open = OpenApprovals::default();
        let (ann, bob): (Owner, Owner) = ("ann".parse().unwrap(), "bob".parse().unwrap());
        open.add(&ann, "one", approval());
        open.add(&ann, "two", approval());
        let ids = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(open.find(&ann, "one"), Some(approval()));
        assert_eq!(open.find(&bob, "one"), None);
        assert!(!open.take(&bob, &ids(&["one"])));
        assert!(!open.take(&ann, &ids(&["one", "other"])));
        assert!(open.take(&ann, &ids(&["one", "two"])));
        assert!(!open.take(&ann, &ids(&["one"])));
        assert_eq!(open.find(&ann, "one"), None);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let open = OpenApprovals::default();
        let ann: Owner = "ann".parse().unwrap();
        for number in 0..=MOST {
            open.add(&ann, &number.to_string(), approval());
        }
        assert_eq!(open.find(&ann, "0"), None);
        assert!(open.find(&ann, &MOST.to_string()).is_some());
        assert_eq!(open.waiting().open.len(), MOST);
    }
}
