//! What a database does with passages.

use std::collections::HashSet;
use std::fmt::Debug;

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};
use alloquy_retrieval::{Lookup, Passage};
use async_trait::async_trait;

use super::change::{Change, Changed};
use super::scores::Question;

/// What was found, and the version of the passages among which it was.
#[derive(Clone, Debug)]
pub(crate) struct Hits {
    pub(crate) passages: Vec<Passage>,
    pub(crate) version: Digest,
}

/// How many passages an owner has, and their version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) passages: u64,
    pub(crate) version: Digest,
}

/// The tables of a database. Each call is one transaction.
#[async_trait]
pub(crate) trait Tables: Debug + Send + Sync + 'static {
    async fn state(&self, owner: &Owner) -> Result<State>;

    /// Returns the ids of those passages that are stored as they are here.
    async fn known(&self, owner: &Owner, passages: Vec<(String, Digest)>) -> Result<HashSet<String>>;

    async fn change(&self, owner: &Owner, change: Change) -> Result<Changed>;

    async fn by_words(&self, owner: &Owner, question: Question, lookup: Lookup) -> Result<Hits>;

    async fn by_vector(&self, owner: &Owner, vector: Vec<f32>, lookup: Lookup) -> Result<Hits>;

    /// Returns what of the search by vectors may change what it finds.
    fn vector_search(&self) -> String;

    async fn close(&self);
}
