//! Where conversations were taken up last, so that finding it again costs nothing. Forgets the oldest.

use std::collections::VecDeque;

use crate::media::Digest;

/// How many places are remembered; one is 40 bytes.
const PLACES: usize = 1024;

/// Places by what was said up to there.
#[derive(Debug, Default)]
pub(super) struct Memory(VecDeque<(Digest, usize)>);

impl Memory {
    /// Returns the last of the places that is remembered: its index, and where the path went on there.
    pub(super) fn last_of(&self, places: &[Digest]) -> Option<(usize, usize)> {
        let known = |place: &Digest| self.0.iter().find(|(digest, _)| digest == place);
        places.iter().enumerate().rev().find_map(|(index, place)| Some((index, known(place)?.1)))
    }

    /// Remembers where the path went on at a place.
    pub(super) fn remember(&mut self, place: Digest, start: usize) {
        self.0.retain(|(digest, _)| *digest != place);
        if self.0.len() == PLACES {
            self.0.pop_front();
        }
        self.0.push_back((place, start));
    }
}
