//! Every sequence that was ever seen, by its beginnings. Knows nothing of sessions.

use std::collections::HashMap;
use std::hash::Hash;

/// The place of a beginning; the empty one's is 0.
pub(crate) type Place = u32;

#[derive(Debug)]
pub(crate) struct Trie<T> {
    next: HashMap<(Place, T), Place>,
}

impl<T> Default for Trie<T> {
    fn default() -> Self {
        Self { next: HashMap::new() }
    }
}

impl<T: Copy + Eq + Hash> Trie<T> {
    /// The place one item behind another, which is made when it is new.
    pub(crate) fn step(&mut self, from: Place, item: T) -> Place {
        let fresh = self.next.len() as Place + 1;
        *self.next.entry((from, item)).or_insert(fresh)
    }

    /// How many items of a sequence were ever seen in this order from the start.
    pub(crate) fn common(&self, items: impl IntoIterator<Item = T>) -> usize {
        let mut place = 0;
        let known = |item| {
            place = *self.next.get(&(place, item))?;
            Some(())
        };
        items.into_iter().map_while(known).count()
    }
}
