//! Counts limits in a PostgreSQL database.

mod tables;

use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_guards::limits::{LimitStore, Period, Rate, Spent, Taken};
use async_trait::async_trait;
use deadpool_postgres::{Object, Pool};
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::place::Place;
use super::transaction::connection;
use crate::failure::Failure;
use crate::limits::{Asked, cost, row_key};
use crate::tasks::Tasks;

/// How long a call waits for the server. Then it fails, and nothing is allowed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Counts limits in a PostgreSQL database, of version 13 or newer. Any number of processes, on any number of machines, share them
/// exactly.
///
/// Each call is one statement by the clock of the server. Where that clock is set back, a limit continues from the latest time that it
/// has seen. While the server is unavailable, nothing is allowed: the error says how to continue.
///
/// ```no_run
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use alloquy_guards::limits::{Rate, RateLimit, Scope};
/// use alloquy_storage::PostgresLimits;
///
/// # pollster::block_on(async {
/// let limits = PostgresLimits::open("postgres://alloquy:secret@db.example/chats").await?;
/// let rate = Rate::new(60, Duration::from_secs(60))?;
/// let limit = RateLimit::new(rate, Scope::Owner, Arc::new(limits));
/// # let _ = limit;
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct PostgresLimits {
    tasks: Tasks<Pool>,
    name: String,
}

impl PostgresLimits {
    /// Connects to the database that a URL names, and creates the tables where there are none.
    ///
    /// The URL is that of [`PostgresStore::open`](crate::PostgresStore::open), and may be the same. The tables are in a schema of their
    /// own: that of the URL, with `_limits` at its end.
    ///
    /// # Errors
    /// * [`ErrorKind::Invalid`] for a URL of another form.
    /// * [`ErrorKind::Store`] when the server cannot be reached or refuses.
    /// * [`ErrorKind::Unsupported`] for tables of a newer version or of another program, and for a server that is too old.
    pub async fn open(url: &str) -> Result<Self> {
        let place = Place::of(url)?.beside("_limits")?;
        let name = format!("limits in {}", place.name());
        match Tasks::start(&name, move || connect(place)).await {
            Ok(tasks) => Ok(Self { tasks, name }),
            Err(error) => Err(placed(error, &name)),
        }
    }

    /// Waits until the accepted calls are done, and closes the connections. Later calls fail, so that nothing is allowed.
    pub async fn close(&self) {
        self.tasks.close().await;
    }

    /// Runs a statement that returns a row. One that is dropped before it begins is not run.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&Object) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let done = self.tasks.run(async move |pool| in_time(&pool, work).await).await;
        done.map_err(|error| placed(error, &self.name))
    }

    /// Runs a statement also where its caller stops waiting before it begins.
    async fn complete(
        &self,
        work: impl AsyncFnOnce(&Object) -> Result<(), Failure> + Send + 'static,
    ) -> Result<()> {
        let done = self.tasks.complete(async move |pool| in_time(&pool, work).await).await;
        done.map_err(|error| placed(error, &self.name))
    }

    /// Reserves units of a budget for a period.
    async fn reserve_for(&self, key: &str, period: Period, most: u64, units: u64) -> Result<Spent> {
        let key = row_key(key);
        self.ask(async move |client: &Object| reserve(client, &key, period, most, units).await).await
    }
}

async fn connect(place: Place) -> Result<Pool, Failure> {
    let pool = place.pool()?;
    tables::prepare(&pool, &place.schema).await?;
    Ok(pool)
}

/// Adds to an error where it happened, and what helps while the server is unavailable.
fn placed(error: Error, name: &str) -> Error {
    let words = "calls cannot be counted there: check that the server runs and that the URL is right";
    match error.kind() {
        ErrorKind::Store => error.context(words).context(name),
        _ => error.context(name),
    }
}

/// Runs work on a connection, for as long as the server may take.
///
/// Nothing is tried again: if a connection is lost, no caller knows whether the server took the calls, and giving them back twice would
/// allow too many.
async fn in_time<T>(
    pool: &Pool,
    work: impl AsyncFnOnce(&Object) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Ok(client) = timeout(PATIENCE, connection(pool)).await else { return Err(silent()) };
    let client = client?;
    if let Ok(outcome) = timeout(PATIENCE, work(&client)).await {
        return outcome;
    }
    // The next call would wait for the answer to this one.
    drop(Object::take(client));
    Err(silent())
}

fn silent() -> Failure {
    let words = format!("the server did not answer for {} seconds", PATIENCE.as_secs());
    Error::new(ErrorKind::Store, words).into()
}

type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

async fn row(client: &Object, sql: &str, parameters: Parameters<'_>) -> Result<Row, Failure> {
    let statement = client.prepare_cached(sql).await?;
    Ok(client.query_one(&statement, parameters).await?)
}

async fn execute(client: &Object, sql: &str, parameters: Parameters<'_>) -> Result<(), Failure> {
    let statement = client.prepare_cached(sql).await?;
    client.execute(&statement, parameters).await?;
    Ok(())
}

#[async_trait]
impl LimitStore for PostgresLimits {
    async fn take(&self, key: &str, rate: Rate, units: u32) -> Result<Taken> {
        let Some(asked) = Asked::of(rate, units) else { return Ok(Taken::Never) };
        let key = row_key(key);
        self.ask(async move |client: &Object| take(client, &key, asked).await).await
    }

    async fn give_back(&self, key: &str, rate: Rate, units: u32) -> Result<()> {
        let key = row_key(key);
        let cost = cost(rate, units);
        let sql = "UPDATE rates SET debt = GREATEST(debt - $2, 0) WHERE key = $1";
        self.complete(async move |client: &Object| execute(client, sql, &[&key, &cost]).await).await
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
        let Ok(day) = i64::try_from(period) else { return Ok(()) };
        // PostgreSQL has no unsigned numbers of 64 bits.
        let reserved = reserved.to_string();
        let used = used.to_string();
        let sql = include_str!("limits/settle.sql");
        self.complete(async move |client: &Object| {
            execute(client, sql, &[&key, &day, &reserved, &used]).await
        })
        .await
    }

    async fn forget(&self, key: &str) -> Result<()> {
        let key = row_key(key);
        let sql = "DELETE FROM budgets WHERE key = $1";
        self.complete(async move |client: &Object| execute(client, sql, &[&key]).await).await
    }
}

/// Takes calls from a rate.
async fn take(client: &Object, key: &[u8], asked: Asked) -> Result<Taken, Failure> {
    let answer = row(client, include_str!("limits/take.sql"), &[&key, &asked.cost, &asked.most]).await?;
    let debt: i64 = answer.try_get(0)?;
    let is_granted: bool = answer.try_get(1)?;
    let is_new: bool = answer.try_get(2)?;
    if is_new {
        execute(client, include_str!("limits/sweep_rates.sql"), &[&key]).await?;
    }
    Ok(if is_granted { Taken::Yes } else { asked.wait(debt) })
}

/// Reserves units of a budget.
async fn reserve(
    client: &Object,
    key: &[u8],
    period: Period,
    most: u64,
    units: u64,
) -> Result<Spent, Failure> {
    let name = match period {
        Period::Turn => "turn",
        Period::Day => "day",
        _ => "always",
    };
    let sql = include_str!("limits/reserve.sql");
    let answer = row(client, sql, &[&key, &name, &most.to_string(), &units.to_string()]).await?;
    let day: i64 = answer.try_get(0)?;
    let after: String = answer.try_get(1)?;
    let reserved: bool = answer.try_get(2)?;
    let is_new: bool = answer.try_get(3)?;
    let rest: i64 = answer.try_get(4)?;
    if is_new {
        execute(client, include_str!("limits/sweep_budgets.sql"), &[&key]).await?;
    }
    let Ok(after) = after.parse::<u64>() else {
        return Err(Failure::damaged("a budget", format!("{after:?} is not a number of units")));
    };
    let before = if reserved { after.saturating_sub(units) } else { after };
    let resets = (period == Period::Day).then(|| Duration::from_secs(rest.max(0).unsigned_abs()));
    Ok(Spent { reserved, before, period: day.unsigned_abs(), resets })
}
