//! Keeps cached replies in a SQLite database.

use std::path::Path;

use alloquy_core::media::Digest;
use alloquy_core::{Error, Result};
use alloquy_guards::reply_cache::{CachedReply, ReplyCache};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::database::{Contents, open, transact};
use super::schema::PAGE;
use crate::durability::Durability;
use crate::failure::Failure;
use crate::json::{decode, encode};
use crate::stored::{checksum, must_be_intact};
use crate::worker::Worker;

const CONTENTS: Contents = Contents {
    what: "cached replies",
    // The bytes `Allr`.
    application: 0x416c_6c72,
    format: 1,
    tables: include_str!("replies.sql"),
    page: PAGE,
};

/// Keeps cached replies in a SQLite database, up to a number of bytes. Any number of processes of one machine may use it at once.
///
/// The reply that was used least recently is forgotten first. The database holds nothing else, and only the user who created it can read
/// it. Replies survive the end of the process; a power failure may lose the last ones.
///
/// Deleting a conversation does not remove its cached replies: [`clear`](Self::clear) removes all of them.
///
/// ```
/// use alloquy_core::{Manager, Preface, SamplingOptions};
/// use alloquy_guards::reply_cache::CacheReplies;
/// use alloquy_storage::SqliteReplies;
/// use alloquy_testing::{ScriptedModel, ScriptedReply};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("replies.db");
/// # pollster::block_on(async {
/// // A model that has one reply.
/// let model = ScriptedModel::replying([ScriptedReply::text("Green.")]);
/// for is_hit in [false, true] {
///     // Another process, or this one after it was started again.
///     let cache = CacheReplies::new("tiny", SqliteReplies::open(&path, 100_000_000).await?);
///     let greedy = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
///     let manager = Manager::builder(model.clone()).sampling(greedy).middleware(cache).build()?;
///     let turn = manager.create(Preface::default()).await?.send("Which tea?").await?;
///     assert_eq!(turn.text(), "Green.");
///     assert_eq!(turn.reply.facts.contains_key("alloquy.reply_cache"), is_hit);
/// }
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqliteReplies {
    worker: Worker<Connection>,
    name: String,
    most: usize,
}

impl SqliteReplies {
    /// Opens the database at a path, and creates it where there is none. It keeps at most `bytes` of replies, counted as JSON, and a larger
    /// reply is not kept.
    ///
    /// # Errors
    /// [`ErrorKind::Store`](alloquy_core::ErrorKind::Store) for a path that cannot be opened,
    /// [`ErrorKind::Corrupt`](alloquy_core::ErrorKind::Corrupt) for a file that is not a SQLite database,
    /// [`ErrorKind::Unsupported`](alloquy_core::ErrorKind::Unsupported) for a database of a newer version or with other contents.
    pub async fn open(path: impl AsRef<Path>, bytes: usize) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let name = format!("cached replies in SQLite database {path:?}");
        match Worker::start(&name, move || open(&path, CONTENTS, Durability::Crash)).await {
            Ok(worker) => Ok(Self { worker, name, most: bytes }),
            Err(error) => Err(error.context(name)),
        }
    }

    /// Removes every reply.
    ///
    /// # Errors
    /// [`ErrorKind::Store`](alloquy_core::ErrorKind::Store) when the database cannot be written.
    ///
    /// ```
    /// use alloquy_core::media::Digest;
    /// use alloquy_core::{Message, Reply};
    /// use alloquy_guards::reply_cache::{CachedReply, ReplyCache};
    /// use alloquy_storage::SqliteReplies;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("replies.db");
    /// # pollster::block_on(async {
    /// let cache = SqliteReplies::open(&path, 1_000_000).await?;
    /// let reply = CachedReply::of(&Reply::new(Message::assistant("Green."))).unwrap();
    /// cache.put(Digest::of(b"key"), reply).await?;
    /// cache.clear().await?;
    /// assert_eq!(cache.get(Digest::of(b"key")).await?, None);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn clear(&self) -> Result<()> {
        self.write(|unit| Ok(unit.execute_batch("DELETE FROM replies; UPDATE kept SET bytes = 0")?)).await
    }

    /// Waits until the accepted calls are done, and closes the file. Later calls fail, and the model answers.
    pub async fn close(&self) {
        self.worker.close().await;
    }

    async fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let done =
            self.worker.run(|connection| transact(connection, TransactionBehavior::Immediate, change)).await;
        done.map_err(|error: Error| error.context(&self.name))
    }
}

#[async_trait]
impl ReplyCache for SqliteReplies {
    async fn get(&self, key: Digest) -> Result<Option<CachedReply>> {
        self.write(move |unit| get(unit, key)).await
    }

    async fn put(&self, key: Digest, reply: CachedReply) -> Result<()> {
        let most = self.most;
        self.write(move |unit| put(unit, key, &reply, most)).await
    }
}

/// Returns the reply of a key, which is then the one that was used last.
fn get(unit: &Transaction<'_>, key: Digest) -> Result<Option<CachedReply>, Failure> {
    let sql = "SELECT reply, checksum FROM replies WHERE key = ?1";
    let known: Option<(String, i64)> = unit
        .prepare_cached(sql)?
        .query_row([key.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((json, sum)) = known else { return Ok(None) };
    let what = format!("the cached reply {key}");
    must_be_intact(&json, sum, &what)?;
    let reply = decode(json.as_bytes(), &what)?;
    let used = next_use(unit)?;
    unit.prepare_cached("UPDATE replies SET used = ?2 WHERE key = ?1")?
        .execute(params![key.as_bytes(), used])?;
    Ok(Some(reply))
}

/// Keeps a reply of at most `most` bytes, in the place of those that were used least recently.
fn put(unit: &Transaction<'_>, key: Digest, reply: &CachedReply, most: usize) -> Result<(), Failure> {
    let json = encode(reply)?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let size = i64::try_from(json.len()).unwrap_or(i64::MAX);
    let mut bytes: i64 = unit.prepare_cached("SELECT bytes FROM kept")?.query_row([], |row| row.get(0))?;
    let replaced = "DELETE FROM replies WHERE key = ?1 RETURNING bytes";
    let freed: Option<i64> =
        unit.prepare_cached(replaced)?.query_row([key.as_bytes()], |row| row.get(0)).optional()?;
    bytes -= freed.unwrap_or(0);
    if size <= most {
        bytes = make_room(unit, bytes, most - size)?;
        let used = next_use(unit)?;
        let sql = "INSERT INTO replies (key, reply, checksum, bytes, used) VALUES (?1, ?2, ?3, ?4, ?5)";
        unit.prepare_cached(sql)?.execute(params![key.as_bytes(), json, checksum(&json), size, used])?;
        bytes += size;
    }
    unit.prepare_cached("UPDATE kept SET bytes = ?1")?.execute([bytes])?;
    Ok(())
}

/// Removes the replies that were used least recently until at most `most` bytes remain, and returns how many remain.
fn make_room(unit: &Transaction<'_>, mut bytes: i64, most: i64) -> Result<i64, Failure> {
    let sql =
        "DELETE FROM replies WHERE key = (SELECT key FROM replies ORDER BY used LIMIT 1) RETURNING bytes";
    while bytes > most {
        let freed: Option<i64> = unit.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
        match freed {
            Some(freed) => bytes -= freed,
            None => return Ok(0),
        }
    }
    Ok(bytes)
}

/// Returns the number of a use: later uses have higher ones.
fn next_use(unit: &Transaction<'_>) -> Result<i64, Failure> {
    let sql = "UPDATE kept SET uses = uses + 1 RETURNING uses";
    Ok(unit.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}
