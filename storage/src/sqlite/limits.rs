//! Counts limits in a SQLite database.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_guards::limits::{LimitStore, Period, Rate, Spent, Taken};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::database::{Contents, open, transact};
use super::schema::PAGE;
use crate::durability::Durability;
use crate::failure::Failure;
use crate::limits::{Asked, DAY, cost, row_key};
use crate::worker::Worker;

const CONTENTS: Contents = Contents {
    what: "limits",
    // The bytes `Alll`.
    application: 0x416c_6c6c,
    format: 1,
    tables: include_str!("limits.sql"),
    page: PAGE,
};

/// Counts limits in a SQLite database, which any number of processes of one machine may use at once.
///
/// The database holds nothing else. Each call is one transaction by the clock of the machine, and is on the disk when it returns. Where
/// the clock is set back, the limits continue from the latest time that they have seen.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use alloquy_core::{ErrorKind, Manager, Preface};
/// use alloquy_guards::limits::{Rate, RateLimit, Scope};
/// use alloquy_storage::SqliteLimits;
/// use alloquy_testing::EchoModel;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("limits.db");
/// # pollster::block_on(async {
/// for is_allowed in [true, false] {
///     // Another process, or this one after it was started again.
///     let limits = Arc::new(SqliteLimits::open(&path).await?);
///     let rate = Rate::new(1, Duration::from_secs(60))?;
///     let limit = RateLimit::new(rate, Scope::Owner, limits.clone());
///     let manager = Manager::builder(EchoModel).middleware(limit).build()?;
///     let conversation = manager.create(Preface::default()).await?;
///     let outcome = conversation.send("Hello").await;
///     assert_eq!(outcome.is_ok(), is_allowed);
///     limits.close().await;
/// }
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqliteLimits {
    worker: Worker<Connection>,
    name: String,
}

impl SqliteLimits {
    /// Opens the database at a path, and creates it where there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] for a path that cannot be opened, [`ErrorKind::Corrupt`] for a file that is not a SQLite database,
    /// [`ErrorKind::Unsupported`] for a database of a newer version or with other contents.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Durability::default()).await
    }

    /// Opens a database as [`open`](Self::open) does; `durability` sets what is counted after a power failure.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with(path: impl AsRef<Path>, durability: Durability) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let name = format!("limits in SQLite database {path:?}");
        match Worker::start(&name, move || open(&path, CONTENTS, durability)).await {
            Ok(worker) => Ok(Self { worker, name }),
            Err(error) => Err(error.context(name)),
        }
    }

    /// Waits until the accepted calls are done, and closes the file. Later calls fail, so that nothing is allowed.
    pub async fn close(&self) {
        self.worker.close().await;
    }

    async fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let done =
            self.worker.run(|connection| transact(connection, TransactionBehavior::Immediate, change)).await;
        done.map_err(|error| self.placed(error))
    }

    /// Makes a change also where its caller stops waiting before its turn.
    async fn complete(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<(), Failure> + Send + 'static,
    ) -> Result<()> {
        let done = self
            .worker
            .complete(|connection| transact(connection, TransactionBehavior::Immediate, change))
            .await;
        done.map_err(|error| self.placed(error))
    }

    fn placed(&self, error: Error) -> Error {
        let words =
            "calls cannot be counted there: check that the file can be written and that its disk has space";
        match error.kind() {
            ErrorKind::Store => error.context(words).context(&self.name),
            _ => error.context(&self.name),
        }
    }

    /// Reserves units of a budget for a period.
    async fn reserve_for(&self, key: &str, period: Period, most: u64, units: u64) -> Result<Spent> {
        let key = row_key(key);
        self.write(move |unit| reserve(unit, &key, period, most, units)).await
    }
}

#[async_trait]
impl LimitStore for SqliteLimits {
    async fn take(&self, key: &str, rate: Rate, units: u32) -> Result<Taken> {
        let Some(asked) = Asked::of(rate, units) else { return Ok(Taken::Never) };
        let key = row_key(key);
        self.write(move |unit| take(unit, &key, asked)).await
    }

    async fn give_back(&self, key: &str, rate: Rate, units: u32) -> Result<()> {
        let key = row_key(key);
        let cost = cost(rate, units);
        self.complete(move |unit| {
            let sql = "UPDATE rates SET debt = max(debt - ?2, 0) WHERE key = ?1";
            unit.prepare_cached(sql)?.execute(params![key, cost])?;
            Ok(())
        })
        .await
    }

    async fn reserve(&self, key: &str, daily: bool, most: u64, units: u64) -> Result<Spent> {
        let period = if daily { Period::Day } else { Period::Always };
        self.reserve_for(key, period, most, units).await
    }

    async fn reserve_for_turn(&self, key: &str, most: u64, units: u64) -> Result<Spent> {
        self.reserve_for(key, Period::Turn, most, units).await
    }

    async fn settle(&self, key: &str, period: u64, reserved: u64, used: u64) -> Result<()> {
        let key = row_key(key);
        self.complete(move |unit| {
            // The budget of another day has no such reservation.
            let known = Budget::find(unit, &key)?;
            let Some(budget) = known.filter(|budget| budget.day.unsigned_abs() == period) else {
                return Ok(());
            };
            let units = budget.units.saturating_sub(reserved).saturating_add(used);
            Budget { units, ..budget }.keep(unit, &key)
        })
        .await
    }

    async fn forget(&self, key: &str) -> Result<()> {
        let key = row_key(key);
        self.complete(move |unit| {
            unit.prepare_cached("DELETE FROM budgets WHERE key = ?1")?.execute([key])?;
            Ok(())
        })
        .await
    }
}

/// Takes calls from a rate.
fn take(unit: &Transaction<'_>, key: &[u8], asked: Asked) -> Result<Taken, Failure> {
    let now = i64::try_from(since_1970().as_nanos()).unwrap_or(i64::MAX);
    let sql = "SELECT debt, seen FROM rates WHERE key = ?1";
    let known: Option<(i64, i64)> =
        unit.prepare_cached(sql)?.query_row([key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (debt, seen) = known.unwrap_or((0, now));
    // A clock that was set back removes nothing of the debt: 5 s at 12:00:10 are 5 s at 12:00:08 too.
    let elapsed = now.saturating_sub(seen).max(0);
    let debt = debt.saturating_sub(elapsed).max(0);
    let fits = debt <= asked.most.saturating_sub(asked.cost);
    let after = if fits { debt.saturating_add(asked.cost) } else { debt };
    let sql = "INSERT INTO rates (key, debt, seen) VALUES (?1, ?2, ?3)
        ON CONFLICT (key) DO UPDATE SET debt = excluded.debt, seen = excluded.seen";
    unit.prepare_cached(sql)?.execute(params![key, after, now.max(seen)])?;
    if known.is_none() {
        sweep_rates(unit, key, now)?;
    }
    Ok(if fits { Taken::Yes } else { asked.wait(debt) })
}

/// Removes rates without a debt among the eight that follow a new one.
///
/// Where one of eight rows has no effect any more, as many are removed as are added, so the table does not grow.
fn sweep_rates(unit: &Transaction<'_>, key: &[u8], now: i64) -> Result<(), Failure> {
    let sql = "DELETE FROM rates
        WHERE key IN (SELECT key FROM rates WHERE key > ?1 ORDER BY key LIMIT 8) AND debt <= ?2 - seen";
    unit.prepare_cached(sql)?.execute(params![key, now])?;
    Ok(())
}

/// A row of a budget.
#[derive(Clone, Copy, Debug)]
struct Budget {
    /// The day of a daily budget, and 0 for others.
    day: i64,
    /// The day from which it has no effect.
    until: Option<i64>,
    units: u64,
}

impl Budget {
    fn find(unit: &Transaction<'_>, key: &[u8]) -> Result<Option<Self>, Failure> {
        let sql = "SELECT day, until, units FROM budgets WHERE key = ?1";
        let mut statement = unit.prepare_cached(sql)?;
        let mut rows = statement.query([key])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let units: String = row.get(2)?;
        let Ok(units) = units.parse() else {
            let reason = format!("{units:?} is not a number of units");
            return Err(Failure::Damaged { what: "a budget".to_owned(), reason });
        };
        Ok(Some(Self { day: row.get(0)?, until: row.get(1)?, units }))
    }

    fn keep(self, unit: &Transaction<'_>, key: &[u8]) -> Result<(), Failure> {
        let sql = "INSERT INTO budgets (key, day, until, units) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (key) DO UPDATE SET day = excluded.day, until = excluded.until, units = excluded.units";
        // SQLite has no unsigned numbers of 64 bits.
        unit.prepare_cached(sql)?.execute(params![key, self.day, self.until, self.units.to_string()])?;
        Ok(())
    }
}

/// Reserves units of a budget.
fn reserve(
    unit: &Transaction<'_>,
    key: &[u8],
    period: Period,
    most: u64,
    units: u64,
) -> Result<Spent, Failure> {
    let second = i64::try_from(since_1970().as_secs()).unwrap_or(i64::MAX);
    // The budgets of days before this one were removed, so the day cannot be an earlier one.
    let removed: i64 = unit.prepare_cached("SELECT day FROM removed")?.query_row([], |row| row.get(0))?;
    let today = removed.max(second / DAY);
    let known = Budget::find(unit, key)?;
    let (day, until) = match period {
        Period::Day => {
            let day = known.map_or(today, |budget| budget.day.max(today));
            (day, Some(day + 1))
        }
        // A whole day passes before it is forgotten.
        Period::Turn => (0, Some(today + 2)),
        _ => (0, None),
    };
    let before = known.filter(|budget| budget.day == day).map_or(0, |budget| budget.units);
    let after = before.checked_add(units).filter(|after| *after <= most);
    if let Some(units) = after {
        Budget { day, until, units }.keep(unit, key)?;
        if known.is_none() {
            sweep_budgets(unit, key, today)?;
        }
    }
    let rest = (day + 1).saturating_mul(DAY).saturating_sub(second).max(0);
    let resets = (period == Period::Day).then(|| Duration::from_secs(rest.unsigned_abs()));
    Ok(Spent { reserved: after.is_some(), before, period: day.unsigned_abs(), resets })
}

/// Removes budgets without effect among the eight that follow a new one, and remembers the day.
fn sweep_budgets(unit: &Transaction<'_>, key: &[u8], today: i64) -> Result<(), Failure> {
    let sql = "DELETE FROM budgets
        WHERE key IN (SELECT key FROM budgets WHERE key > ?1 ORDER BY key LIMIT 8) AND until <= ?2";
    if unit.prepare_cached(sql)?.execute(params![key, today])? > 0 {
        // Otherwise a clock that is set back would let the budget of a day begin again.
        unit.prepare_cached("UPDATE removed SET day = max(day, ?1)")?.execute([today])?;
    }
    Ok(())
}

/// Returns the time since 1970 by the clock of the machine.
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
