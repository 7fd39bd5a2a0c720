//! The place where the server keeps snapshots of conversations.

use std::sync::Arc;

use alloquy::core::Result;
use alloquy::engine::decoder::SnapshotStore;
use alloquy::storage::open_snapshots;

use crate::arguments::ServingArguments;

/// How many megabytes the snapshots of a folder may take together by default.
const OF_FOLDER: u64 = 4000;

/// How many megabytes each snapshot in a bucket may take by default: it is in memory while it is read or written.
const OF_BUCKET: u64 = 1000;

/// A million bytes, the unit of the quota.
const MEGABYTE: u64 = 1_000_000;

/// Opens the place of the snapshots, where one is set. Nothing is created or asked yet.
///
/// # Errors
/// Those of a text that names no place.
pub(crate) fn opened(serving: &ServingArguments) -> Result<Option<Arc<dyn SnapshotStore>>> {
    let Some(place) = &serving.snapshots else { return Ok(None) };
    let usual = if place.starts_with("s3://") { OF_BUCKET } else { OF_FOLDER };
    let quota = serving.snapshots_quota.unwrap_or(usual).saturating_mul(MEGABYTE);
    let opened = pollster::block_on(open_snapshots(place, Some(quota)));
    opened.map(Some).map_err(|error| error.context("--snapshots"))
}
