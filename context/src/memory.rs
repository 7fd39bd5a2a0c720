//! Remembers the decisions about earlier prompts, and forgets the oldest ones.

use std::collections::{HashMap, VecDeque};

use alloquy_core::media::Digest;
use alloquy_core::{Preface, Request};

/// How many places are remembered. Each takes about 200 bytes, and those of its summary.
const PLACES: usize = 1024;

/// Decisions by the place in a conversation.
#[derive(Debug)]
pub(crate) struct Memory<V> {
    decided: HashMap<Place, V>,
    /// The oldest first.
    places: VecDeque<Place>,
}

/// A place in a conversation: the digests of what precedes its messages, and of the messages up to the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    front: Digest,
    said: Digest,
}

/// Returns the digest of what precedes the messages. Policies whose decisions do not depend on the preface pass `None`.
pub(crate) fn front(preface: Option<&Preface>) -> Digest {
    // A preface can always be written as JSON.
    let written = preface.map(|preface| serde_json::to_vec(preface).unwrap_or_default());
    Digest::of(&written.unwrap_or_default())
}

impl Place {
    /// The place after the first `length` messages.
    pub(crate) fn after(front: Digest, request: &mut Request, length: usize) -> Self {
        Self { front, said: request.path.digest(length) }
    }
}

impl<V> Default for Memory<V> {
    fn default() -> Self {
        Self { decided: HashMap::new(), places: VecDeque::new() }
    }
}

impl<V: Clone> Memory<V> {
    /// Returns the last of `places` that is remembered: its index, and the decision. Places are lengths of the request's path.
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
        let mut known = known.map(|(index, length)| (index, Place::after(front, request, *length)));
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
