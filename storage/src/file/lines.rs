//! Lines of lists, kept in memory also for logs that are not.

use std::collections::BTreeSet;

use alloquy_core::media::Digest;
use alloquy_core::store::ConversationSummary;

use super::line::Position;
use super::log::Log;

/// The line of a conversation in lists, and where its log ended when the line was made.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) end: Position,
    pub(super) summary: ConversationSummary,
    pub(super) media: BTreeSet<Digest>,
}

impl Line {
    pub(super) fn of(name: &str, log: &Log) -> Self {
        Self {
            name: name.to_owned(),
            end: log.position.clone(),
            summary: log.summary(),
            media: log.media.clone(),
        }
    }
}
