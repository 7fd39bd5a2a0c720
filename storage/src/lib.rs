//! Conversation stores: append-only files in a folder, and SQLite.
//!
//! ```
//! use alloquy_core::{ConversationRecord, ConversationStoreExt, Owner, Preface};
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
//! Every store keeps the contract of [`ConversationStore`](alloquy_core::ConversationStore), runs its blocking work
//! on a thread of its own, and needs no async runtime.

mod open;

#[cfg(feature = "file")]
mod file;
#[cfg(feature = "sqlite")]
mod import;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(any(feature = "file", feature = "sqlite"))]
mod failure;
#[cfg(any(feature = "file", feature = "sqlite"))]
mod json;
#[cfg(any(feature = "file", feature = "sqlite"))]
mod worker;

pub use alloquy_core::MemoryStore;
#[cfg(feature = "file")]
pub use file::{FileStore, Finding, Flaw, FolderReport};
#[cfg(feature = "sqlite")]
pub use import::{is_sqlite, read_dataknobs_database};
pub use open::open;
#[cfg(feature = "sqlite")]
pub use sqlite::{Durability, SqliteStore};
