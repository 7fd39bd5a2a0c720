//! What every store of limits and every cache of replies must do: one public suite each, for tests.
//!
//! | suite | for |
//! |---|---|
//! | [`limit_store`] | [`LimitStore`](crate::limits::LimitStore) |
//! | [`reply_cache`] | [`ReplyCache`](crate::reply_cache::ReplyCache) |
//!
//! A broken law panics with a sentence. The suites need no async runtime, no file and no database of their own.
//!
//! [`limit_store::all`] and [`reply_cache::all`] have examples.

// A law that panics is a law that is broken.
#![allow(clippy::indexing_slicing)]

pub mod limit_store;
mod outcomes;
pub mod reply_cache;
