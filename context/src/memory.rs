//! What was decided about conversations before, so that finding it again costs nothing. Forgets the oldest.

use std::collections::{HashMap, VecDeque};

use alloquy_core::media::Digest;
use alloquy_core::{Preface, Request};

/// How many places are remembered; one is some 200 bytes, and its summary where it has one.
const PLACES: usize = 1024;

/// What was decided, by what was said up to there.
#[derive(Debug)]
pub(crate) struct Memory<V> {
    decided: HashMap<Place, V>,
    /// The oldest first.
    places: VecDeque<Place>,
}

/// A place in a conversation: what stands before its messages, and these up to there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    front: Digest,
    said: Digest,
}

/// What stands before the messages, where that tells one place from another.
pub(crate) fn front(preface: Option<&Preface>) -> Digest {
    // A preface always has its JSON.
    let written = preface.map(|preface| serde_json::to_vec(preface).unwrap_or_default());
    Digest::of(&written.unwrap_or_default())
}

impl Place {
    /// Where the first `length` messages end.
    pub(crate) fn behind(front: Digest, request: &mut Request, length: usize) -> Self {
        Self { front, said: request.path.digest(length) }
    }
}

impl<V> Default for Memory<V> {
    fn default() -> Self {
        Self { decided: HashMap::new(), places: VecDeque::new() }
    }
}

impl<V: Clone> Memory<V> {
    /// Returns the last of the places, which are lengths of the request's path, that is remembered: its index, and what was
    /// decided there.
    pub(crate) fn last_of(
        &self,
        front: Digest,
        request: &mut Request,
        places: &[usize],
    ) -> Option<(usize, V)> {
        if self.decided.is_empty() {
            return None;
        }
        let known = places.iter().enumerate().rev();
        let mut known = known.map(|(index, length)| (index, Place::behind(front, request, *length)));
        known.find_map(|(index, place)| Some((index, self.decided.get(&place)?.clone())))
    }

    /// Remembers what was decided at a place.
    pub(crate) fn remember(&mut self, place: Place, decided: V) {
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
