//! Lines of lists: what is kept of logs that are not in memory.

use std::collections::BTreeSet;

use alloquy_core::media::Digest;
use alloquy_core::store::ConversationSummary;

use super::line::Position;
use super::log::Log;

/// What is kept of a log that is not in memory.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) end: Position,
    pub(super) summary: ConversationSummary,
    pub(super) media: BTreeSet<Digest>,
}

impl Line {
    pub(super) fn of(name: &str, log: &Log) -> Self {
        let (name, end) = (name.to_owned(), log.position.clone());
        Self { name, end, summary: log.summary(), media: log.media.clone() }
    }
}
