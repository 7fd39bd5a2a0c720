//! A cache of the least recently used kind, with a budget in bytes.

use std::collections::HashMap;
use std::sync::Arc;

use alloquy_core::media::Digest;

/// Values by digest. The least recently used are removed first.
#[derive(Debug)]
pub(super) struct Recent<T> {
    entries: HashMap<Digest, Entry<T>>,
    budget: usize,
    bytes: usize,
    /// The number of uses so far.
    clock: u64,
}

#[derive(Debug)]
struct Entry<T> {
    value: Arc<T>,
    bytes: usize,
    used: u64,
}

impl<T> Recent<T> {
    pub(super) fn new(budget: usize) -> Self {
        Self { entries: HashMap::new(), budget, bytes: 0, clock: 0 }
    }

    pub(super) fn get(&mut self, digest: Digest) -> Option<Arc<T>> {
        self.clock += 1;
        let entry = self.entries.get_mut(&digest)?;
        entry.used = self.clock;
        Some(Arc::clone(&entry.value))
    }

    /// Keeps a value, unless it alone exceeds the budget.
    pub(super) fn keep(&mut self, digest: Digest, value: Arc<T>, bytes: usize) {
        if bytes > self.budget {
            return;
        }
        self.clock += 1;
        let before = self.entries.insert(digest, Entry { value, bytes, used: self.clock });
        self.bytes += bytes;
        self.bytes -= before.map_or(0, |entry| entry.bytes);
        while self.bytes > self.budget {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(digest, _)| *digest);
            let Some(left) = oldest.and_then(|digest| self.entries.remove(&digest)) else { return };
            self.bytes -= left.bytes;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_is_removed_first() {
        let [first, second, third, large] = [1, 2, 3, 4].map(|byte| Digest::of(&[byte]));
        let mut recent = Recent::new(10);
        recent.keep(first, Arc::new(1), 4);
        recent.keep(second, Arc::new(2), 4);
        assert_eq!(recent.get(first).as_deref(), Some(&1));
        recent.keep(third, Arc::new(3), 4);
        assert_eq!([first, second, third].map(|digest| recent.get(digest).is_some()), [true, false, true]);
        recent.keep(large, Arc::new(4), 11);
        assert_eq!((recent.get(large), recent.bytes(), recent.count()), (None, 8, 2));
        recent.keep(first, Arc::new(5), 10);
        assert_eq!((recent.get(first).as_deref(), recent.bytes(), recent.count()), (Some(&5), 10, 1));
    }
}
