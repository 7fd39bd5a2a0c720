//! What was decided about conversations before, so that finding it again costs nothing. Forgets the oldest.

use std::collections::{HashMap, VecDeque};

use crate::media::Digest;

/// How many places are remembered; one is some 100 bytes, and its summary where it has one.
const PLACES: usize = 1024;

/// What was decided, by what was said up to there.
#[derive(Debug)]
pub(super) struct Memory<V> {
    decided: HashMap<Digest, V>,
    /// The oldest first.
    places: VecDeque<Digest>,
}

impl<V> Default for Memory<V> {
    fn default() -> Self {
        Self { decided: HashMap::new(), places: VecDeque::new() }
    }
}

impl<V: Clone> Memory<V> {
    /// Returns the last of the places that is remembered: its index, and what was decided there.
    pub(super) fn last_of(&self, places: &[Digest]) -> Option<(usize, V)> {
        let known = places.iter().map(|place| self.decided.get(place)).enumerate();
        known.rev().find_map(|(index, decided)| Some((index, decided?.clone())))
    }

    /// Remembers what was decided at a place.
    pub(super) fn remember(&mut self, place: Digest, decided: V) {
        if self.decided.insert(place, decided).is_some() {
            return;
        }
        self.places.push_back(place);
        if self.places.len() > PLACES
            && let Some(oldest) = self.places.pop_front()
        {
            self.decided.remove(&oldest);
        }
    }
}
