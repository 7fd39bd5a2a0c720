//! Stores of conversations: files in a folder, SQLite, PostgreSQL, and objects in a bucket.
//!
//! [`open`](open()) opens the store that a URL names. Every store is a
//! [`ConversationStore`](alloquy_core::store::ConversationStore), and a [`Manager`](alloquy_core::Manager) keeps its conversations
//! in it. The crate also has the [snapshots](SnapshotFolder) of sessions and the [media](MediaFolder) of documents.
//!
//! # Example
//!
//! ```
//! use alloquy_core::query::Filter;
//! use alloquy_core::manager::NewConversation;
//! use alloquy_core::{ConversationManager, Manager, Preface, Query};
//! use alloquy_testing::EchoModel; // repeats the last message
//! use std::sync::Arc;
//!
//! # let folder = tempfile::tempdir()?;
//! # let url = format!("file:{}", folder.path().join("chats").display());
//! # pollster::block_on(async {
//! // let url = "file:chats"; or "sqlite:chats.db", "postgres://…", "s3://…", "memory:"
//! let store = alloquy_storage::open(&url).await?;
//! let manager = Manager::builder(EchoModel).store(Arc::clone(&store)).build()?;
//!
//! // When a turn returns, its messages are acknowledged: they are on the disk.
//! let new = NewConversation::from(Preface::system("Be brief.")).metadata("title", "Tea");
//! let conversation = manager.create(new).await?;
//! let first = conversation.send("Which tea is green?").await?;
//!
//! // A branch shares the nodes before it, and appends only its own.
//! let question = conversation.history().await?[0].id;
//! conversation.edit(question, "Which tea is black?").await?;
//! assert_eq!(conversation.branches().await?.len(), 2);
//!
//! // A list selects conversations by metadata and time. A search finds messages on every branch.
//! let about = Query::default().filter(Filter::equals("title", "Tea"));
//! assert_eq!(manager.list(&about).await?.conversations.len(), 1);
//! let found = manager.search(&about.text("green")?).await?;
//! assert!(found.hits.iter().any(|hit| hit.node == first.node));
//!
//! // Closing completes the calls whose futures were dropped.
//! let id = conversation.id().clone();
//! store.close().await?;
//!
//! // Another process opens the same conversation.
//! let reader = alloquy_storage::open_for_reading(&url).await?;
//! let reopened = Manager::builder(EchoModel).store(reader).build()?.open(&id).await?;
//! assert_eq!(reopened.tree().await?.len(), 4);
//! # Ok::<(), alloquy_core::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Backends
//!
//! | store | URL | feature | use |
//! |---|---|---|---|
//! | [`MemoryStore`] | `memory:` | | tests, and conversations that need not be kept |
//! | `FileStore` | `file:PATH` | `file` (default) | the processes of one machine; readable JSON lines |
//! | `SqliteStore` | `sqlite:PATH` | `sqlite` (default) | the processes of one machine; indexed search |
//! | `PostgresStore` | `postgres://…` | `postgres` | several machines |
//! | `BucketStore` | `s3://…` | `s3`, or `object-store` for others | several machines without a database |
//! | [`JournaledStore`] | | | a store on a log of your own |
//!
//! # Limits and cached replies
//!
//! With the feature `guards`, databases also keep what the guards of `alloquy-guards` share between processes:
//!
//! | type | features | use |
//! |---|---|---|
//! | `PostgresLimits` | `guards`, `postgres` | limits of calls, tokens and cost for several machines |
//! | `SqliteLimits` | `guards`, `sqlite` | limits for the processes of one machine |
//! | `SqliteReplies` | `guards`, `sqlite` | cached replies for the processes of one machine |
//!
//! While such a store is unavailable, a limit allows nothing, and a cache lets the model answer.
//!
//! # Passages
//!
//! With the feature `retrieval`, a `PassageDatabase` keeps the passages of documents, and finds them by words and vectors for
//! `alloquy-retrieval`:
//!
//! | opened by | features | use |
//! |---|---|---|
//! | `PassageDatabase::sqlite` | `retrieval`, `sqlite` | passages for the processes of one machine |
//! | `PassageDatabase::postgres` | `retrieval`, `postgres` | passages for several machines; beyond a million of them with `pgvector` |
//!
//! # What is acknowledged
//!
//! * **A call that returned `Ok` is durable.** A new process sees its change. Files and SQLite wait for the disk;
//!   [`Durability::Crash`] does not wait, and a power failure may then lose the last changes.
//! * **A call that returned an error changed nothing.** After a failure of the disk or the server in the middle of a call, the
//!   whole change may be there. The same call again completes it.
//! * **A dropped call changes everything or nothing.** A store with a thread of its own completes the call, so that the reply of
//!   a dropped turn is kept.
//! * **Writers do not overwrite each other.** The head and the metadata change by compare-and-set. The writer that is late gets
//!   [`ErrorKind::Conflict`](alloquy_core::ErrorKind::Conflict), and its nodes are a branch.
//!
//! # Closing
//!
//! [`close`](alloquy_core::store::ConversationStore::close) waits for accepted changes and releases files and connections. In an
//! async runtime, close a store before you drop it, because dropping does not wait there. No acknowledged change is lost in
//! either case. Later calls on a closed store fail with [`ErrorKind::Store`](alloquy_core::ErrorKind::Store).
//!
//! # Limits
//!
//! The stores need no async runtime of their caller. They encrypt nothing, do not replicate data, and do not authenticate
//! [owners](alloquy_core::Owner). A folder and a SQLite database need a local disk, because locks of network file systems are
//! not reliable.
//!
//! `docs/storage.md` in the repository describes the formats, and the tests of each promise are the laws of
//! `alloquy_testing::laws::store`.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod durability;
mod journal;
mod media_folder;
mod open;
mod snapshot_place;
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
#[cfg(all(feature = "guards", any(feature = "sqlite", feature = "postgres")))]
mod limits;
#[cfg(all(feature = "retrieval", any(feature = "sqlite", feature = "postgres")))]
mod passages;
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
pub use alloquy_engine::decoder::SavedSnapshot;
#[cfg(feature = "object-store")]
pub use bucket::{BucketStore, SnapshotBucket};
pub use durability::Durability;
#[cfg(feature = "file")]
pub use file::{Defect, FileStore, FsckFinding, FsckReport};
#[cfg(all(feature = "file", feature = "testing"))]
pub use file::{DiskCall, DiskFault, DiskFaults};
#[cfg(feature = "sqlite")]
pub use import::{DataknobsDatabase, is_sqlite};
pub use journal::{Journal, JournaledStore};
pub use media_folder::{MediaFolder, read_media};
#[cfg(all(feature = "postgres", feature = "guards"))]
pub use open::open_limits;
pub use open::{open, open_for_reading};
#[cfg(all(feature = "retrieval", any(feature = "sqlite", feature = "postgres")))]
pub use passages::{PassageDatabase, change::PassageReport};
#[cfg(all(feature = "postgres", feature = "guards"))]
pub use postgres::PostgresLimits;
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
#[cfg(all(feature = "postgres", feature = "retrieval"))]
pub use postgres::{PostgresPassageOptions, VectorSearch};
pub use snapshot_place::open_snapshots;
pub use snapshots::SnapshotFolder;
#[cfg(all(feature = "sqlite", feature = "retrieval"))]
pub use sqlite::SqlitePassageOptions;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
#[cfg(all(feature = "sqlite", feature = "guards"))]
pub use sqlite::{SqliteLimits, SqliteReplies};
