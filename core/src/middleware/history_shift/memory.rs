//! Where conversations were taken up last, so that finding it again costs nothing. Forgets the oldest.

use std::collections::{HashMap, VecDeque};

use crate::media::Digest;

/// How many places are remembered; one is some 100 bytes.
const PLACES: usize = 1024;

/// Places by what was said up to there.
#[derive(Debug, Default)]
pub(super) struct Memory {
    starts: HashMap<Digest, usize>,
    /// The oldest first.
    places: VecDeque<Digest>,
}

impl Memory {
    /// Returns the last of the places that is remembered: its index, and where the path went on there.
    pub(super) fn last_of(&self, places: &[Digest]) -> Option<(usize, usize)> {
        let known = places.iter().map(|place| self.starts.get(place).copied()).enumerate();
        known.rev().find_map(|(index, start)| Some((index, start?)))
    }

    /// Remembers where the path went on at a place.
    pub(super) fn remember(&mut self, place: Digest, start: usize) {
        if self.starts.insert(place, start).is_some() {
            return;
        }
        self.places.push_back(place);
        if self.places.len() > PLACES
            && let Some(oldest) = self.places.pop_front()
        {
            self.starts.remove(&oldest);
        }
    }
}
