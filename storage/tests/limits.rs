//! Limits and cached replies in databases: the laws, several processes, servers that are away, and clocks that jump back.
#![cfg(all(feature = "guards", feature = "sqlite", feature = "postgres"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use alloquy_core::chat_model::Origin;
use alloquy_core::media::Digest;
use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::{ErrorKind, Message, Owner, Preface, Reply, Request};
use alloquy_guards::laws::{limit_store, reply_cache};
use alloquy_guards::limits::{
    Budget, BudgetLimit, LimitStore, Period, Rate, RateLimit, RetryAfter, Scope, Taken,
};
use alloquy_guards::reply_cache::{CachedReply, ReplyCache};
use alloquy_storage::{PostgresLimits, PostgresStore, SqliteLimits, SqliteReplies, SqliteStore};
use alloquy_testing::EchoModel;
use pollster::block_on;
use rusqlite::Connection;
use tempfile::TempDir;

/// Where a PostgreSQL server is: a URL whose user may create schemas.
const POSTGRES: &str = "ALLOQUY_TEST_POSTGRES";

/// Returns the URL of an empty schema, where there is a server.
fn postgres() -> Option<String> {
    static USED: AtomicUsize = AtomicUsize::new(0);
    let Some(url) = std::env::var(POSTGRES).ok().filter(|url| !url.is_empty()) else {
        eprintln!("skipped: {POSTGRES} does not say where a server is");
        return None;
    };
    let sign = if url.contains('?') { '&' } else { '?' };
    let id = alloquy_core::NodeId::new().to_string().replace('-', "");
    Some(format!("{url}{sign}schema=test_{id}_{}", USED.fetch_add(1, Ordering::Relaxed)))
}

/// Runs SQL on the tables of limits of a URL and returns the first column of the first row, if there is one.
fn sql(url: &str, words: &str) -> Option<i64> {
    let (server, schema) = url.split_once("schema=").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let config: tokio_postgres::Config = server.parse().unwrap();
        let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(&format!("SET search_path TO {schema}_limits")).await.unwrap();
        let row = client.query_opt(words, &[]).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        row.map(|row| row.get(0))
    })
}

fn rate(calls: u32, seconds: u64) -> Rate {
    Rate::new(calls, Duration::from_secs(seconds)).unwrap()
}

fn taken(store: &dyn LimitStore, key: &str, rate: Rate) -> Taken {
    block_on(store.take(key, rate, 1)).unwrap()
}

fn is_wait(taken: Taken) -> bool {
    matches!(taken, Taken::Wait(_))
}

/// A folder with a place for each database.
struct Places(TempDir, AtomicUsize);

impl Places {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap(), AtomicUsize::new(0))
    }

    fn next(&self) -> std::path::PathBuf {
        self.0.path().join(format!("{}.db", self.1.fetch_add(1, Ordering::Relaxed)))
    }
}

#[test]
fn sqlite_keeps_the_laws() {
    let places = Places::new();
    block_on(limit_store::all(async || SqliteLimits::open(places.next()).await.unwrap()));
    let place = places.next();
    block_on(limit_store::persistent(async || SqliteLimits::open(&place).await.unwrap()));
    limit_store::threads_share_a_limit(&block_on(SqliteLimits::open(places.next())).unwrap());
}

#[test]
fn postgres_keeps_the_laws() {
    let Some(place) = postgres() else { return };
    block_on(limit_store::all(async || PostgresLimits::open(&postgres().unwrap()).await.unwrap()));
    block_on(limit_store::persistent(async || PostgresLimits::open(&place).await.unwrap()));
    limit_store::threads_share_a_limit(&block_on(PostgresLimits::open(&postgres().unwrap())).unwrap());
}

#[test]
fn cached_replies_keep_the_laws() {
    let places = Places::new();
    block_on(reply_cache::all(async || SqliteReplies::open(places.next(), 1 << 20).await.unwrap()));
    block_on(reply_cache::bounded(async |bytes| SqliteReplies::open(places.next(), bytes).await.unwrap()));
    let place = places.next();
    block_on(reply_cache::persistent(async || SqliteReplies::open(&place, 1 << 20).await.unwrap()));
}

/// The arguments of a child: the store, and how often it takes.
const CHILD: &str = "ALLOQUY_LIMITS_TEST_URL";
const TIMES: &str = "ALLOQUY_LIMITS_TEST_TIMES";

/// What the limits of two processes allow.
const CALLS: u32 = 777;
const UNITS: u64 = 3 * 444;

/// Takes calls and reserves units, and prints how many it got.
#[test]
#[ignore = "another test starts it as a process of its own"]
fn child() {
    let Ok(url) = std::env::var(CHILD) else {
        return println!("skipped: {CHILD} is not set, another test sets it");
    };
    let times: u32 = std::env::var(TIMES).unwrap().parse().unwrap();
    block_on(async {
        let store: Arc<dyn LimitStore> = if url.starts_with("postgres") {
            Arc::new(PostgresLimits::open(&url).await.unwrap())
        } else {
            Arc::new(SqliteLimits::open(&url).await.unwrap())
        };
        let mut calls = 0;
        let mut units = 0;
        // Some calls at once, so that a server has several connections.
        for _ in 0..times / 10 {
            let rate = rate(CALLS, 1_000_000_000);
            let outcomes = futures::future::join_all((0..10).map(|_| store.take("shared", rate, 1))).await;
            for outcome in outcomes {
                calls += u32::from(outcome.unwrap() == Taken::Yes);
            }
            let spent = store.reserve("shared", false, UNITS, 3).await.unwrap();
            units += 3 * u64::from(spent.reserved);
        }
        println!("\ngot {calls} {units}");
    });
}

fn start(url: &str, times: u32) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]).env(CHILD, url);
    command.env(TIMES, times.to_string()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Two processes take 5,000 times each, and get the limit exactly. They reserve 500 times each meanwhile.
fn two_processes(url: &str) {
    let children: Vec<Child> = (0..2).map(|_| start(url, 5000)).collect();
    let mut calls = 0;
    let mut units = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("got ")).unwrap();
        let (some, others) = line.split_once(' ').unwrap();
        calls += some.parse::<u32>().unwrap();
        units += others.parse::<u64>().unwrap();
    }
    assert_eq!((calls, units), (CALLS, UNITS));
}

#[test]
fn two_processes_share_a_server_exactly() {
    let Some(url) = postgres() else { return };
    drop(block_on(PostgresLimits::open(&url)).unwrap());
    two_processes(&url);
}

#[test]
fn two_processes_share_a_database_exactly() {
    let places = Places::new();
    two_processes(places.next().to_str().unwrap());
}

#[test]
fn a_new_database_may_be_opened_by_several_at_once() {
    let places = Places::new();
    for _ in 0..50 {
        let place = places.next();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| block_on(SqliteLimits::open(&place)).unwrap());
            }
        });
    }
}

#[test]
fn handles_of_one_process_share_a_database() {
    let places = Places::new();
    let place = places.next();
    let handles: Vec<_> = (0..3).map(|_| block_on(SqliteLimits::open(&place)).unwrap()).collect();
    let mut allowed = 0;
    std::thread::scope(|scope| {
        let threads: Vec<_> = handles
            .iter()
            .map(|store| {
                scope.spawn(move || {
                    (0..100).filter(|_| taken(store, "shared", rate(150, 3600)) == Taken::Yes).count()
                })
            })
            .collect();
        allowed = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    });
    assert_eq!(allowed, 150);
}

fn request() -> Request {
    let origin = Origin::new(Owner::local(), "tea".parse().unwrap());
    Request::new(Preface::default(), vec![Message::user("Hello")]).origin(origin)
}

/// Asks a model through both guards of a store, which must refuse.
fn refused(store: Arc<dyn LimitStore>) -> Vec<alloquy_core::Error> {
    let length = |_: &Request| Ok(10);
    let guards: [Arc<dyn Middleware>; 2] = [
        Arc::new(RateLimit::new(rate(1000, 1), Scope::Owner, store.clone())),
        Arc::new(BudgetLimit::new(Budget::tokens(1 << 40), Period::Day, Scope::Owner, store, length)),
    ];
    let mut errors = Vec::new();
    for guard in &guards {
        let outcome =
            block_on(async { guard.handle(request(), Next::new(&[], &EchoModel)).await?.finish().await });
        errors.push(outcome.unwrap_err());
    }
    errors
}

#[test]
fn a_closed_store_allows_nothing() {
    let places = Places::new();
    let sqlite = Arc::new(block_on(SqliteLimits::open(places.next())).unwrap());
    block_on(sqlite.close());
    let mut stores: Vec<Arc<dyn LimitStore>> = vec![sqlite];
    if let Some(url) = postgres() {
        let server = Arc::new(block_on(PostgresLimits::open(&url)).unwrap());
        block_on(server.close());
        stores.push(server);
    }
    for store in stores {
        for error in refused(store) {
            assert_eq!(error.kind(), ErrorKind::Store);
            let words = format!("{error:#}");
            assert!(words.starts_with("the limit could not be checked, so the call is refused: "), "{words}");
            assert!(words.ends_with("the store is closed: open it again"), "{words}");
        }
    }
}

#[test]
fn a_database_that_cannot_be_written_allows_nothing() {
    let places = Places::new();
    let place = places.next();
    let store = Arc::new(block_on(SqliteLimits::open(&place)).unwrap());
    Connection::open(&place).unwrap().execute_batch("DROP TABLE rates; DROP TABLE budgets").unwrap();
    for error in refused(store) {
        let words = format!("{error:#}");
        assert!(words.contains("check that the file can be written"), "{words}");
    }
}

#[test]
fn a_server_that_is_away_allows_nothing() {
    // Nothing listens at a port that was just released.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://alloquy:secret@127.0.0.1:{port}/none?sslmode=disable");
    let error = block_on(PostgresLimits::open(&url)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    let words = format!("{error:#}");
    assert!(words.contains("check that the server runs and that the URL is right"), "{words}");
    assert!(!words.contains("secret"), "{words}");
}

#[test]
fn a_server_that_stops_within_a_session_allows_nothing() {
    let Some(url) = postgres() else { return };
    // A server that passes everything on, until it is stopped.
    let proxy = Proxy::start(&url);
    let store = Arc::new(block_on(PostgresLimits::open(&proxy.url)).unwrap());
    assert_eq!(taken(store.as_ref(), "key", rate(5, 3600)), Taken::Yes);
    proxy.stop();
    let before = Instant::now();
    for error in refused(store.clone()) {
        assert_eq!(error.kind(), ErrorKind::Store, "{error:#}");
        assert!(format!("{error:#}").contains("check that the server runs"), "{error:#}");
    }
    assert!(before.elapsed() < Duration::from_secs(9), "a lost connection is noticed at once");
    // It continues by itself once the server is back.
    proxy.resume();
    assert_eq!(taken(store.as_ref(), "key", rate(5, 3600)), Taken::Yes);
    let error = block_on(PostgresLimits::open("mysql://host/database")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn a_server_that_does_not_answer_allows_nothing() {
    let Some(url) = postgres() else { return };
    let store = Arc::new(block_on(PostgresLimits::open(&url)).unwrap());
    assert_eq!(taken(store.as_ref(), "key", rate(5, 3600)), Taken::Yes);
    let (server, schema) = url.split_once("schema=").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let config: tokio_postgres::Config = server.parse().unwrap();
        let (mut client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let lock = client.transaction().await.unwrap();
        lock.batch_execute(&format!("LOCK TABLE {schema}_limits.rates")).await.unwrap();
        let error = store.take("key", rate(5, 3600), 1).await.unwrap_err();
        assert!(format!("{error:#}").ends_with("the server did not answer for 10 seconds"), "{error:#}");
        lock.rollback().await.unwrap();
        assert_ne!(store.take("key", rate(5, 3600), 1).await.unwrap(), Taken::Never);
    });
}

#[test]
fn a_clock_of_a_server_that_jumps_back_gives_nothing_away() {
    let Some(url) = postgres() else { return };
    let store = block_on(PostgresLimits::open(&url)).unwrap();
    let limit = rate(1, 3600);
    assert_eq!(taken(&store, "key", limit), Taken::Yes);
    assert!(block_on(store.reserve("key", true, 10, 8)).unwrap().reserved);
    let spent = block_on(store.reserve("key", true, 10, 8)).unwrap();
    // The rows were last seen an hour, and a day, later than the clock is now.
    sql(&url, "UPDATE rates SET seen = seen + 7200000000000");
    sql(&url, "UPDATE budgets SET day = day + 1, until = until + 1");
    for _ in 0..3 {
        match taken(&store, "key", limit) {
            Taken::Wait(wait) => assert_eq!(wait, limit.interval(), "time continues from the latest one"),
            other => panic!("{other:?}"),
        }
        let again = block_on(store.reserve("key", true, 10, 3)).unwrap();
        assert_eq!((again.reserved, again.before, again.period), (false, 8, spent.period + 1));
        assert!(again.resets.unwrap() > Duration::from_secs(86_400));
    }
    // Where the clock is right again, the debt becomes less.
    sql(&url, "UPDATE rates SET seen = seen - 10900000000000");
    assert_eq!(taken(&store, "key", limit), Taken::Yes);
    sql(&url, "UPDATE budgets SET day = day - 2");
    assert_eq!(block_on(store.reserve("key", true, 10, 3)).unwrap().before, 0);
}

#[test]
fn a_clock_of_a_machine_that_jumps_back_gives_nothing_away() {
    let places = Places::new();
    let place = places.next();
    let store = block_on(SqliteLimits::open(&place)).unwrap();
    let other = Connection::open(&place).unwrap();
    let limit = rate(1, 3600);
    assert_eq!(taken(&store, "key", limit), Taken::Yes);
    assert!(block_on(store.reserve("key", true, 10, 8)).unwrap().reserved);
    other.execute("UPDATE rates SET seen = seen + 7200000000000", []).unwrap();
    other.execute("UPDATE budgets SET day = day + 1, until = until + 1", []).unwrap();
    for _ in 0..3 {
        assert_eq!(taken(&store, "key", limit), Taken::Wait(limit.interval()));
        let again = block_on(store.reserve("key", true, 10, 3)).unwrap();
        assert_eq!((again.reserved, again.before), (false, 8));
    }
    other.execute("UPDATE rates SET seen = seen - 10900000000000", []).unwrap();
    assert_eq!(taken(&store, "key", limit), Taken::Yes);
}

#[test]
fn rows_without_effect_are_removed_and_their_day_is_remembered() {
    let places = Places::new();
    let place = places.next();
    let sqlite = block_on(SqliteLimits::open(&place)).unwrap();
    let count = |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        Connection::open(&place).unwrap().query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    fill(&sqlite);
    let past = "UPDATE rates SET seen = seen - 7200000000000; UPDATE budgets SET until = until - 9; UPDATE budgets SET day = day - 9 WHERE day > 0";
    Connection::open(&place).unwrap().execute_batch(past).unwrap();
    refill(&sqlite);
    assert!((100..400).contains(&count("rates")), "{} of 500 rates", count("rates"));
    // All of 100, and the 200 that always count.
    assert!((300..600).contains(&count("budgets")), "{} of 900 budgets", count("budgets"));
    // A clock that is set back to a day before the removal finds no budget of that day.
    let today = block_on(sqlite.reserve("fresh", true, 10, 1)).unwrap().period;
    Connection::open(&place).unwrap().execute("UPDATE removed SET day = day + 3", []).unwrap();
    assert_eq!(block_on(sqlite.reserve("later", true, 10, 1)).unwrap().period, today + 3);

    let Some(url) = postgres() else { return };
    let server = block_on(PostgresLimits::open(&url)).unwrap();
    let count = |table: &str| sql(&url, &format!("SELECT count(*) FROM {table}")).unwrap();
    fill(&server);
    sql(&url, "UPDATE rates SET seen = seen - 7200000000000");
    sql(&url, "UPDATE budgets SET until = until - 9");
    sql(&url, "UPDATE budgets SET day = day - 9 WHERE day > 0");
    refill(&server);
    assert!((100..400).contains(&count("rates")), "{} of 500 rates", count("rates"));
    assert!((300..600).contains(&count("budgets")), "{} of 900 budgets", count("budgets"));
    let today = block_on(server.reserve("fresh", true, 10, 1)).unwrap().period;
    assert_eq!(sql(&url, "SELECT day FROM limits"), Some(i64::try_from(today).unwrap()));
    sql(&url, "UPDATE limits SET day = day + 3");
    assert_eq!(block_on(server.reserve("new", true, 10, 1)).unwrap().period, today + 3);
}

/// Counts 400 rates, and 200 budgets of each period.
fn fill(store: &dyn LimitStore) {
    for number in 0..200 {
        taken(store, &format!("a{number}"), rate(1, 3600));
        taken(store, &format!("b{number}"), rate(1, 3600));
        assert!(block_on(store.reserve_for_turn(&format!("turn {number}"), 10, 10)).unwrap().reserved);
        assert!(block_on(store.reserve(&format!("day {number}"), true, 10, 10)).unwrap().reserved);
        assert!(block_on(store.reserve(&format!("always {number}"), false, 10, 10)).unwrap().reserved);
    }
}

/// Counts 100 new rates and budgets, which makes room, and checks that nothing with an effect was removed.
fn refill(store: &dyn LimitStore) {
    for number in 0..100 {
        taken(store, &format!("c{number}"), rate(1, 3600));
        assert!(block_on(store.reserve_for_turn(&format!("new {number}"), 10, 10)).unwrap().reserved);
    }
    for number in 0..200 {
        let key = format!("always {number}");
        assert!(!block_on(store.reserve(&key, false, 10, 1)).unwrap().reserved);
    }
    for number in 0..100 {
        assert!(is_wait(taken(store, &format!("c{number}"), rate(1, 3600))));
        assert!(!block_on(store.reserve_for_turn(&format!("new {number}"), 10, 1)).unwrap().reserved);
    }
}

#[test]
fn a_refusal_says_how_long_to_wait() {
    let places = Places::new();
    let store = Arc::new(block_on(SqliteLimits::open(places.next())).unwrap());
    let guard = RateLimit::new(rate(1, 60), Scope::Owner, store);
    let mut outcomes = Vec::new();
    for _ in 0..2 {
        outcomes.push(block_on(async {
            guard.handle(request(), Next::new(&[], &EchoModel)).await?.finish().await
        }));
    }
    assert!(outcomes[0].is_ok());
    let error = outcomes.pop().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(RetryAfter::of(&error).unwrap() > Duration::from_secs(50));
}

#[test]
fn databases_with_other_contents_are_refused() {
    let places = Places::new();
    let conversations = places.next();
    drop(block_on(SqliteStore::open(&conversations)).unwrap());
    let limits = places.next();
    drop(block_on(SqliteLimits::open(&limits)).unwrap());
    let newer = places.next();
    drop(block_on(SqliteReplies::open(&newer, 10)).unwrap());
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 2).unwrap();
    for (place, words) in [
        (&conversations, "it has other contents than cached replies: name another file"),
        (&limits, "it has other contents than cached replies: name another file"),
        (&newer, "it has format 2, but this version reads formats up to 1"),
    ] {
        let before = std::fs::read(place).unwrap();
        let error = block_on(SqliteReplies::open(place, 10)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().ends_with(words), "{error}");
        assert_eq!(std::fs::read(place).unwrap(), before, "a refused database is not changed");
    }
    let error = block_on(SqliteStore::open(&limits)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    std::fs::write(&newer, "not a database, and long enough to be none").unwrap();
    assert_eq!(block_on(SqliteLimits::open(&newer)).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(block_on(SqliteLimits::open(places.0.path())).unwrap_err().kind(), ErrorKind::Store);
}

#[test]
fn conversations_and_limits_share_a_url() {
    let Some(url) = postgres() else { return };
    let limits = block_on(PostgresLimits::open(&url)).unwrap();
    let conversations = block_on(PostgresStore::open(&url)).unwrap();
    assert_eq!(taken(&limits, "key", rate(1, 60)), Taken::Yes);
    drop((limits, conversations));
    let limits = block_on(PostgresLimits::open(&url)).unwrap();
    assert!(is_wait(taken(&limits, "key", rate(1, 60))));
    sql(&url, "UPDATE limits SET version = 2");
    let error = block_on(PostgresLimits::open(&url)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    // The schema of the limits has tables of another program.
    sql(&url, "DROP TABLE rates");
    let error = block_on(PostgresLimits::open(&url)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("has tables of another program: name another schema"), "{error}");
    let long =
        format!("{}{}", url.split_once("schema=").unwrap().0, format_args!("schema={}", "x".repeat(60)));
    assert_eq!(block_on(PostgresLimits::open(&long)).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_damaged_reply_is_an_error_until_it_is_replaced() {
    let places = Places::new();
    let place = places.next();
    let cache = block_on(SqliteReplies::open(&place, 1 << 20)).unwrap();
    let key = Digest::of(b"key");
    let reply = CachedReply::of(&Reply::new(Message::assistant("Green."))).unwrap();
    block_on(cache.put(key, reply.clone())).unwrap();
    let changed = "UPDATE replies SET reply = replace(reply, 'Green', 'Black')";
    Connection::open(&place).unwrap().execute(changed, []).unwrap();
    assert_eq!(block_on(cache.get(key)).unwrap_err().kind(), ErrorKind::Corrupt);
    block_on(cache.put(key, reply.clone())).unwrap();
    assert_eq!(block_on(cache.get(key)).unwrap(), Some(reply.clone()));
    block_on(cache.clear()).unwrap();
    assert_eq!(block_on(cache.get(key)).unwrap(), None);
    block_on(cache.put(key, reply)).unwrap();
    block_on(cache.close());
    assert_eq!(block_on(cache.get(key)).unwrap_err().kind(), ErrorKind::Store);
}

#[cfg(unix)]
#[test]
fn only_its_user_reads_a_new_database() {
    use std::os::unix::fs::PermissionsExt as _;
    let places = Places::new();
    let limits = places.next();
    let replies = places.next();
    let _limits = block_on(SqliteLimits::open(&limits)).unwrap();
    let _replies = block_on(SqliteReplies::open(&replies, 10)).unwrap();
    for place in [limits, replies] {
        for ending in ["", "-wal", "-shm"] {
            let path = format!("{}{ending}", place.display());
            let mode = std::fs::metadata(Path::new(&path)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{path}");
        }
    }
}

/// A server before another one, which can be stopped.
struct Proxy {
    url: String,
    is_stopped: Arc<std::sync::atomic::AtomicBool>,
}

impl Proxy {
    fn start(url: &str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (head, rest) = url.split_once('@').unwrap();
        let (server, place) = rest.split_once('/').unwrap();
        let server = server.to_owned();
        let is_stopped = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stopped = is_stopped.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                // A dropped connection is closed.
                if stopped.load(Ordering::SeqCst) {
                    continue;
                }
                let client = client.unwrap();
                let server = std::net::TcpStream::connect(&server).unwrap();
                pass(client.try_clone().unwrap(), server.try_clone().unwrap(), stopped.clone());
                pass(server, client, stopped.clone());
            }
        });
        Self { url: format!("{head}@{address}/{place}"), is_stopped }
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        // Longer than a connection waits for bytes.
        std::thread::sleep(Duration::from_millis(300));
    }

    fn resume(&self) {
        self.is_stopped.store(false, Ordering::SeqCst);
    }
}

/// Passes bytes on in a thread, until the proxy is stopped.
fn pass(
    mut from: std::net::TcpStream,
    mut to: std::net::TcpStream,
    stopped: Arc<std::sync::atomic::AtomicBool>,
) {
    use std::io::{Read, Write};
    std::thread::spawn(move || {
        from.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut bytes = [0; 4096];
        while !stopped.load(Ordering::SeqCst) {
            match from.read(&mut bytes) {
                Ok(0) => break,
                Ok(read) => {
                    if to.write_all(&bytes[..read]).is_err() {
                        break;
                    }
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ) => {}
                Err(_) => break,
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
        let _ = from.shutdown(std::net::Shutdown::Both);
    });
}
