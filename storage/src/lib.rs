//! Conversation stores: append-only files in a folder, SQLite, PostgreSQL, and objects in a bucket. And what else
//! conversations have in files: snapshots, and the media that documents name.
//!
//! ```
//! use alloquy_core::{Owner, Preface};
//! use alloquy_core::store::{ConversationRecord, ConversationStoreExt};
//!
//! # pollster::block_on(async {
//! let store = alloquy_storage::open("memory:").await?;
//! let record = ConversationRecord::new("tea".parse()?, Preface::system("Be brief."));
//! store.create(&Owner::local(), &record).await?;
//! assert!(store.exists(&Owner::local(), &record.id).await?);
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), alloquy_core::Error>(())
//! ```
//!
//! Every store keeps the contract of [`ConversationStore`](alloquy_core::store::ConversationStore), runs its work on a
//! thread of its own, and needs no async runtime of its caller.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod durability;
mod journal;
mod media_folder;
mod open;
mod snapshots;

#[cfg(feature = "object-store")]
mod bucket;
#[cfg(feature = "file")]
mod file;
#[cfg(feature = "sqlite")]
mod import;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod answers;
#[cfg(any(feature = "file", feature = "sqlite", feature = "postgres", feature = "object-store"))]
mod failure;
#[cfg(any(feature = "file", feature = "sqlite", feature = "postgres", feature = "object-store"))]
mod json;
mod private;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod stored;
#[cfg(any(feature = "postgres", feature = "object-store"))]
mod tasks;
#[cfg(any(feature = "file", feature = "sqlite", feature = "postgres", feature = "object-store"))]
mod thread;
#[cfg(any(feature = "file", feature = "sqlite"))]
mod worker;

pub use alloquy_core::store::MemoryStore;
#[cfg(feature = "object-store")]
pub use bucket::BucketStore;
pub use durability::Durability;
#[cfg(all(feature = "file", feature = "testing"))]
pub use file::{DiskCall, DiskFault, DiskFaults};
#[cfg(feature = "file")]
pub use file::{FileStore, Finding, Flaw, FolderReport};
#[cfg(feature = "sqlite")]
pub use import::{DataknobsDatabase, is_sqlite};
pub use journal::{Journal, JournaledStore};
pub use media_folder::{MediaFolder, read_media};
pub use open::{open, open_for_reading};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
pub use snapshots::{SnapshotFolder, SnapshotWritten};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
