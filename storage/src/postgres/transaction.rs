//! Runs each call in one transaction, and tries it again where the server or the network failed.

use std::time::Duration;

use deadpool_postgres::{Object, Pool, PoolError, Transaction};
use tokio::time::sleep;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, IsolationLevel};

use crate::failure::Failure;

/// The tries of a call, and the first and the longest pause between two tries: about ten seconds in all, in which a
/// server restarts.
const TRIES: u32 = 9;
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// Takes a connection from the pool.
pub(super) async fn connection(pool: &Pool) -> Result<Object, Failure> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(source) if is_untrusted(&source) => Failure::Untrusted(source),
        PoolError::Backend(source) => Failure::Postgres(source),
        PoolError::PostCreateHook(deadpool_postgres::HookError::Backend(source)) => Failure::Postgres(source),
        PoolError::Timeout(_) => Failure::NoConnection,
        _ => Failure::Ended,
    })
}

/// Returns whether a connection failed because of the certificate of the server.
///
/// The cause may be wrapped in an I/O error, which does not report it as its source.
fn is_untrusted(error: &Error) -> bool {
    let mut causes = std::iter::successors(std::error::Error::source(error), |&cause| cause.source());
    causes.any(|cause| {
        let wrapped = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let found = cause.downcast_ref().or_else(|| wrapped.and_then(|inner| inner.downcast_ref()));
        matches!(found, Some(rustls::Error::InvalidCertificate(_)))
    })
}

/// Runs a change in a transaction that is committed once, however often it is tried.
///
/// `is_done` returns whether the result of a change is in the database. It is called where a commit got no answer but the
/// server reports the transaction as committed. The server knows transactions by their numbers, and after a crash it reuses
/// numbers that had not reached its log, so the committed one may be another. A change that is not done is tried again.
pub(super) async fn write<T>(
    pool: &Pool,
    change: &impl AsyncFn(&Transaction<'_>) -> Result<T, Failure>,
    is_done: &impl AsyncFn(&Transaction<'_>, &T) -> Result<bool, Failure>,
) -> Result<T, Failure> {
    retry(async || change_once(pool, change, is_done).await).await
}

/// Runs a query in a transaction that sees one state of the database.
pub(super) async fn read<T>(
    pool: &Pool,
    query: &impl AsyncFn(&Transaction<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    retry(async || read_once(pool, query).await).await
}

async fn read_once<T>(
    pool: &Pool,
    query: &impl AsyncFn(&Transaction<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut client = connection(pool).await?;
    query(&begin_read(&mut client).await?).await
}

async fn change_once<T>(
    pool: &Pool,
    change: &impl AsyncFn(&Transaction<'_>) -> Result<T, Failure>,
    is_done: &impl AsyncFn(&Transaction<'_>, &T) -> Result<bool, Failure>,
) -> Result<T, Failure> {
    let mut client = connection(pool).await?;
    let builder = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
    let transaction = builder.start().await?;
    let number = transaction.prepare_cached("SELECT pg_current_xact_id()::text").await?;
    let number: String = transaction.query_one(&number, &[]).await?.try_get(0)?;
    let outcome = change(&transaction).await?;
    match transaction.commit().await {
        Ok(()) => Ok(outcome),
        // The connection was lost before the answer came. Another connection finds out what became of the change.
        Err(error) if is_lost(&error) => {
            drop(client);
            let lost = commit_outcome(pool, &number, error).await?;
            if retry(async || is_done_now(pool, is_done, &outcome).await).await? {
                Ok(outcome)
            } else {
                Err(Failure::Postgres(lost))
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Runs `is_done` in a transaction.
async fn is_done_now<T>(
    pool: &Pool,
    is_done: &impl AsyncFn(&Transaction<'_>, &T) -> Result<bool, Failure>,
    outcome: &T,
) -> Result<bool, Failure> {
    let mut client = connection(pool).await?;
    is_done(&begin_read(&mut client).await?, outcome).await
}

/// Begins a transaction that sees one state of the database.
async fn begin_read(client: &mut Object) -> Result<Transaction<'_>, Failure> {
    let builder = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    Ok(builder.read_only(true).start().await?)
}

/// Asks the server about the transaction `number`, whose commit got no answer.
///
/// Returns `lost` if the transaction is committed, and an error after which the change may be tried again if it is not.
async fn commit_outcome(pool: &Pool, number: &str, lost: Error) -> Result<Error, Failure> {
    for wait in backoff() {
        sleep(wait).await;
        match status(pool, number).await {
            Ok(Some(status)) if status == "committed" => return Ok(lost),
            Ok(Some(status)) if status == "aborted" => return Err(Failure::Postgres(lost)),
            _ => {}
        }
    }
    Err(Failure::Unanswered(lost))
}

async fn status(pool: &Pool, number: &str) -> Result<Option<String>, Failure> {
    let client = connection(pool).await?;
    let row = client.query_one("SELECT pg_xact_status($1::text::xid8)", &[&number]).await?;
    Ok(row.try_get(0)?)
}

async fn retry<T>(attempt: impl AsyncFn() -> Result<T, Failure>) -> Result<T, Failure> {
    for wait in backoff() {
        match attempt().await {
            Err(Failure::Postgres(error)) if is_transient(&error) => sleep(wait).await,
            outcome => return outcome,
        }
    }
    attempt().await
}

/// Returns the pauses between tries.
fn backoff() -> impl Iterator<Item = Duration> {
    (1..TRIES).map(|number| (FIRST_WAIT * 3_u32.saturating_pow(number - 1)).min(LONGEST_WAIT))
}

/// Returns whether the transaction was rolled back and may succeed when it is tried again.
fn is_transient(error: &Error) -> bool {
    let codes = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
    is_lost(error) || error.code().is_some_and(|code| codes.contains(&code))
}

/// Returns whether the connection is lost, or the server is not ready for one.
fn is_lost(error: &Error) -> bool {
    let codes = [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::TOO_MANY_CONNECTIONS,
    ];
    match error.code() {
        Some(code) => codes.contains(&code) || code.code().starts_with("08"),
        None => error.is_closed() || is_of_network(error),
    }
}

fn is_of_network(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}
