//! A file in which all runs of this program count calls, tokens and cost. It has digests, and no names of conversations.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloquy::core::media::Digest;
use alloquy::core::{Error, ErrorKind, Result};
use alloquy::guards::limits::{LimitStore, Rate, Spent, Taken};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::file::{make_private_folder, text};

/// The seconds of a day.
const DAY: u64 = 86_400;

/// Counts in a file. A second file is locked meanwhile, because the first one is replaced.
#[derive(Clone, Debug)]
pub(crate) struct LimitFile {
    folder: PathBuf,
}

/// What the file has.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Counts {
    /// The latest time that was seen, since 1970.
    now: Duration,
    /// When the debt of each key ends, since 1970.
    rates: BTreeMap<String, Duration>,
    /// The period and the units of each budget.
    budgets: BTreeMap<String, (u64, u64)>,
}

impl LimitFile {
    /// Counts in `limits.json` of a folder.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Changes the counts while no other run does.
    fn change<T>(&self, change: impl FnOnce(&mut Counts) -> T) -> Result<T> {
        let path = self.folder.join("limits.json");
        let changed = make_private_folder(&self.folder).and_then(|()| {
            let lock = private(&self.folder.join("limits.lock"))?;
            lock.lock()?;
            let mut counts = read(&path)?;
            counts.advance();
            let outcome = change(&mut counts);
            write(&path, &counts)?;
            Ok(outcome)
        });
        changed.map_err(|source| {
            let message = format!(
                "file {path:?} cannot count calls: check its permissions, or remove it and all limits begin at 0"
            );
            Error::new(ErrorKind::Invalid, message).with_source(source)
        })
    }
}

impl Counts {
    /// Moves to the present, and removes keys that have no effect any more.
    fn advance(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // The clock may have been set back.
        self.now = self.now.max(now);
        let now = self.now;
        let today = self.today();
        self.rates.retain(|_, end| *end > now);
        self.budgets.retain(|_, (period, _)| *period == 0 || *period == today);
    }

    /// Returns the day since 1970.
    fn today(&self) -> u64 {
        self.now.as_secs() / DAY
    }
}

fn read(path: &Path) -> io::Result<Counts> {
    match text(path) {
        Ok(text) => Ok(serde_json::from_str(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Counts::default()),
        Err(error) => Err(error),
    }
}

/// Replaces the file as a whole, so that a crash leaves the former one.
fn write(path: &Path, counts: &Counts) -> io::Result<()> {
    let part = path.with_extension("json.part");
    let mut file = private(&part)?;
    file.set_len(0)?;
    file.write_all(serde_json::to_string(counts)?.as_bytes())?;
    fs::rename(&part, path)
}

/// Opens a file that only its owner may read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns the name of a key in the file.
fn name(key: &str) -> String {
    Digest::of(key.as_bytes()).to_string()
}

#[async_trait]
impl LimitStore for LimitFile {
    async fn take(&self, key: &str, rate: Rate, units: u32) -> Result<Taken> {
        self.change(|counts| {
            let end = counts.rates.get(&name(key)).copied().unwrap_or_default();
            let (taken, end) = rate.take(counts.now, end, units);
            if taken == Taken::Yes {
                counts.rates.insert(name(key), end);
            }
            taken
        })
    }

    async fn give_back(&self, key: &str, rate: Rate, units: u32) -> Result<()> {
        self.change(|counts| {
            if let Some(end) = counts.rates.get_mut(&name(key)) {
                *end = rate.give_back(*end, units);
            }
        })
    }

    async fn reserve(&self, key: &str, daily: bool, most: u64, units: u64) -> Result<Spent> {
        self.change(|counts| {
            let period = if daily { counts.today() } else { 0 };
            let resets = daily.then(|| Duration::from_secs(DAY - counts.now.as_secs() % DAY));
            let known = counts.budgets.get(&name(key)).filter(|(of, _)| *of == period);
            let before = known.map_or(0, |(_, units)| *units);
            let after = before.saturating_add(units);
            let reserved = after <= most;
            if reserved {
                counts.budgets.insert(name(key), (period, after));
            }
            Spent { reserved, before, period, resets }
        })
    }

    async fn settle(&self, key: &str, period: u64, reserved: u64, used: u64) -> Result<()> {
        self.change(|counts| {
            // The budget of another day has no such reservation.
            if let Some((of, units)) = counts.budgets.get_mut(&name(key))
                && *of == period
            {
                *units = units.saturating_sub(reserved).saturating_add(used);
            }
        })
    }

    async fn forget(&self, key: &str) -> Result<()> {
        self.change(|counts| {
            counts.budgets.remove(&name(key));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_count_together() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| LimitFile::new(folder.path().join("state")));
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
        let file = fs::read_to_string(folder.path().join("state/limits.json")).unwrap();
        assert!(!file.contains("ann"), "{file}");
    }

    #[test]
    fn threads_take_no_more_than_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut threads = Vec::new();
        for _ in 0..8 {
            let file = LimitFile::new(folder.path().to_owned());
            threads.push(std::thread::spawn(move || {
                let mut reserved = 0;
                for _ in 0..10 {
                    reserved +=
                        u32::from(pollster::block_on(file.reserve("a", true, 25, 1)).unwrap().reserved);
                }
                reserved
            }));
        }
        let reserved: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(reserved, 25);
    }

    #[test]
    fn a_damaged_file_refuses_every_call() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("limits.json"), "{").unwrap();
        let refused = pollster::block_on(LimitFile::new(folder.path().to_owned()).reserve("a", true, 9, 1));
        assert!(refused.unwrap_err().to_string().contains("all limits begin at 0"));
    }

    #[test]
    fn a_clock_that_was_set_back_gives_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = LimitFile::new(folder.path().to_owned());
        let tomorrow = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(DAY);
        let counts = Counts { now: tomorrow, ..Counts::default() };
        write(&folder.path().join("limits.json"), &counts).unwrap();
        let spent = pollster::block_on(file.reserve("a", true, 9, 1)).unwrap();
        assert_eq!(spent.period, tomorrow.as_secs() / DAY);
    }
}
