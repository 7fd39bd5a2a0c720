//! The database in which all runs of this program count calls, tokens and cost. It has digests, and no names of conversations.

use std::path::PathBuf;
use std::sync::Arc;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::guards::limits::{LimitStore, Rate, Spent, Taken};
use alloquy::storage::SqliteLimits;
use async_trait::async_trait;
use futures::lock::Mutex;

use crate::file::make_private_folder;

/// Counts in `limits.db` of a folder. The file is created and opened by the first call.
#[derive(Debug)]
pub(crate) struct LimitDatabase {
    folder: PathBuf,
    opened: Mutex<Option<Arc<SqliteLimits>>>,
}

impl LimitDatabase {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, opened: Mutex::default() }
    }

    async fn store(&self) -> Result<Arc<SqliteLimits>> {
        let mut opened = self.opened.lock().await;
        if let Some(store) = &*opened {
            return Ok(Arc::clone(store));
        }
        let path = self.folder.join("limits.db");
        let words = format!(
            "file {path:?} cannot count calls: check its permissions, or remove it and all limits begin at 0"
        );
        make_private_folder(&self.folder)
            .map_err(|source| Error::new(ErrorKind::Store, words.clone()).with_source(source))?;
        let store = Arc::new(SqliteLimits::open(&path).await.map_err(|error| error.context(words))?);
        *opened = Some(Arc::clone(&store));
        Ok(store)
    }
}

#[async_trait]
impl LimitStore for LimitDatabase {
    async fn take(&self, key: &str, rate: Rate, units: u32) -> Result<Taken> {
        self.store().await?.take(key, rate, units).await
    }

    async fn give_back(&self, key: &str, rate: Rate, units: u32) -> Result<()> {
        self.store().await?.give_back(key, rate, units).await
    }

    async fn reserve(&self, key: &str, daily: bool, most: u64, units: u64) -> Result<Spent> {
        self.store().await?.reserve(key, daily, most, units).await
    }

    async fn reserve_for_turn(&self, key: &str, most: u64, units: u64) -> Result<Spent> {
        self.store().await?.reserve_for_turn(key, most, units).await
    }

    async fn settle(&self, key: &str, period: u64, reserved: u64, used: u64) -> Result<()> {
        self.store().await?.settle(key, period, reserved, used).await
    }

    async fn forget(&self, key: &str) -> Result<()> {
        self.store().await?.forget(key).await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    #[test]
    fn several_runs_count_together() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| LimitDatabase::new(folder.path().join("state")));
        let rate = Rate::new(2, Duration::from_secs(600)).unwrap();
        pollster::block_on(async {
            assert_eq!(one.take("ann", rate, 1).await.unwrap(), Taken::Yes);
            assert_eq!(other.take("ann", rate, 1).await.unwrap(), Taken::Yes);
            assert!(matches!(one.take("ann", rate, 1).await.unwrap(), Taken::Wait(_)));
            one.give_back("ann", rate, 1).await.unwrap();
            assert_eq!(other.take("ann", rate, 1).await.unwrap(), Taken::Yes);
            let first = one.reserve("ann", true, 100, 60).await.unwrap();
            let second = other.reserve("ann", true, 100, 60).await.unwrap();
            assert!(first.reserved && !second.reserved && second.before == 60);
            other.settle("ann", first.period, 60, 10).await.unwrap();
            assert!(one.reserve("ann", true, 100, 90).await.unwrap().reserved);
            one.forget("ann").await.unwrap();
            assert_eq!(one.reserve("ann", false, 100, 1).await.unwrap().before, 0);
        });
        drop((one, other));
        for file in fs::read_dir(folder.path().join("state")).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            assert!(!bytes.windows(3).any(|bytes| bytes == b"ann"));
        }
    }

    #[test]
    fn a_damaged_file_refuses_every_call() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("limits.db"), "this is no database").unwrap();
        let database = LimitDatabase::new(folder.path().to_owned());
        for _ in 0..2 {
            let refused = pollster::block_on(database.reserve("a", true, 9, 1));
            assert!(refused.unwrap_err().to_string().contains("all limits begin at 0"));
        }
    }
}
