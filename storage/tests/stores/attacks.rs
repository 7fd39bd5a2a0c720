//! Servers that are killed, connections that are cut, too many users at once: nothing acknowledged is lost, nothing is there
//! twice, nobody waits for ever.
//!
//! `ALLOQUY_ATTACK_ROUNDS` asks for more than a plain test run does.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ConversationId, ErrorKind, Node, NodeId, Preface, Query};
use alloquy_storage::{PostgresStore, open};
use pollster::block_on;
use tempfile::TempDir;

use crate::proxies::{Proxy, Trouble};
use crate::servers::postgres;
use crate::{me, say};

/// Writers at once, each in a conversation of its own.
const WRITERS: usize = 4;

/// The longest time of a call, with all that it tries again.
const LONGEST: Duration = Duration::from_secs(90);

pub(crate) fn rounds(usual: usize) -> usize {
    std::env::var("ALLOQUY_ATTACK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(usual)
}

/// A PostgreSQL server of a test's own, which may be killed.
struct Server {
    folder: TempDir,
    programs: PathBuf,
    port: u16,
    process: Child,
}

/// The newest programs of PostgreSQL on this machine.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let bins = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    bins.filter(|bin| bin.join("initdb").exists()).max()
}

/// Runs a program as somebody whom PostgreSQL takes: it refuses root.
fn as_nobody(program: &Path) -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    command
}

impl Server {
    /// Starts one, or says aloud why not.
    fn start() -> Option<Self> {
        // Where a server is named, one may be started.
        let _ = postgres()?;
        let Some(programs) = programs() else {
            eprintln!("skipped: the programs of PostgreSQL are not below /usr/lib/postgresql");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let made = as_nobody(&programs.join("initdb"))
            .args(["-U", "alloquy", "--auth=trust", "--no-locale", "-E", "UTF8", "--no-sync", "-D"])
            .arg(folder.path().join("data"))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .status();
        assert!(made.unwrap().success());
        let process = launch(&programs, folder.path(), port);
        let server = Self { folder, programs, port, process };
        server.wait();
        Some(server)
    }

    fn url(&self, port: u16) -> String {
        format!("postgres://alloquy@127.0.0.1:{port}/postgres?sslmode=disable&connect_timeout=5")
    }

    fn wait(&self) {
        let began = Instant::now();
        while block_on(PostgresStore::open(&self.url(self.port))).is_err() {
            assert!(began.elapsed() < LONGEST, "the server does not start");
            sleep(Duration::from_millis(50));
        }
    }

    /// Kills it by its number, and starts it again.
    fn kill_and_start(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < LONGEST, "the server does not start again");
            self.process = launch(&self.programs, self.folder.path(), self.port);
            if self.answers_before_it_ends(began) {
                return;
            }
        }
    }

    /// Whether it takes connections. It ends before that where a process of the one before it still runs.
    fn answers_before_it_ends(&mut self, began: Instant) -> bool {
        while self.process.try_wait().unwrap().is_none() {
            if block_on(PostgresStore::open(&self.url(self.port))).is_ok() {
                return true;
            }
            assert!(began.elapsed() < LONGEST, "the server does not answer again");
            sleep(Duration::from_millis(50));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn launch(programs: &Path, folder: &Path, port: u16) -> Child {
    as_nobody(&programs.join("postgres"))
        .arg("-D")
        .arg(folder.join("data"))
        .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=20", "-k"])
        .arg(folder)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The acknowledgements that writers got.
#[derive(Default)]
pub(crate) struct Told {
    nodes: Mutex<Vec<(usize, NodeId)>>,
    pub(crate) errors: AtomicUsize,
    /// Of all calls the longest, in milliseconds.
    longest: AtomicUsize,
}

fn conversation(writer: usize) -> ConversationId {
    format!("chat-{writer}").parse().unwrap()
}

impl Told {
    /// Appends nodes one below the other until it is over, each again until it is acknowledged.
    pub(crate) fn write(&self, store: &dyn ConversationStore, writer: usize, is_over: &AtomicBool) {
        let id = conversation(writer);
        let mut last = None;
        let record = ConversationRecord::new(id.clone(), Preface::default());
        while !is_over.load(Ordering::Acquire) {
            match block_on(store.create(&me(), &record)) {
                Ok(()) => break,
                Err(error) if error.is_conflict() => break,
                Err(_) => self.errors.fetch_add(1, Ordering::AcqRel),
            };
        }
        while !is_over.load(Ordering::Acquire) {
            let node = say(last, "green tea");
            last = self.append(store, &id, &node, is_over).then_some(node.id).or(last);
            self.nodes.lock().unwrap().extend(last.filter(|&last| last == node.id).map(|id| (writer, id)));
        }
    }

    fn append(
        &self,
        store: &dyn ConversationStore,
        id: &ConversationId,
        node: &Node,
        is_over: &AtomicBool,
    ) -> bool {
        loop {
            let began = Instant::now();
            let outcome = block_on(store.append(&me(), id, std::slice::from_ref(node)));
            let took = usize::try_from(began.elapsed().as_millis()).unwrap();
            self.longest.fetch_max(took, Ordering::AcqRel);
            match outcome {
                Ok(()) => return true,
                Err(error) => {
                    let kind = error.kind();
                    assert!(
                        matches!(kind, ErrorKind::Store | ErrorKind::Busy | ErrorKind::Conflict),
                        "{error:#}"
                    );
                    self.errors.fetch_add(1, Ordering::AcqRel);
                }
            }
            if is_over.load(Ordering::Acquire) {
                return false;
            }
        }
    }

    /// Waits until one more node is acknowledged than are now.
    pub(crate) fn wait_for_more(&self) {
        let before = self.nodes.lock().unwrap().len();
        let began = Instant::now();
        while self.nodes.lock().unwrap().len() == before {
            assert!(began.elapsed() < LONGEST, "nothing is acknowledged any more");
            sleep(Duration::from_millis(5));
        }
    }

    /// Looks for what was acknowledged, and returns how many nodes that are.
    pub(crate) fn check(&self, store: &dyn ConversationStore, what: &str) -> usize {
        let reported = self.nodes.lock().unwrap();
        let mut found = 0;
        let mut lost = 0;
        for writer in 0..WRITERS {
            let Ok((_, tree)) = block_on(store.load(&me(), &conversation(writer))) else { continue };
            found += tree.len();
            let of_this = reported.iter().filter(|(of, _)| *of == writer);
            lost += of_this.filter(|(_, id)| tree.node(*id).is_err()).count();
        }
        let errors = self.errors.load(Ordering::Acquire);
        let longest = self.longest.load(Ordering::Acquire);
        println!(
            "{what}: {} nodes acknowledged, {found} found, {lost} lost, {errors} errors, longest call {longest} ms",
            reported.len()
        );
        assert_eq!(lost, 0, "{what}");
        assert!(!reported.is_empty() && found >= reported.len(), "{what}");
        assert!(Duration::from_millis(longest as u64) < LONGEST, "{what}");
        let hits = block_on(store.count(&me(), &Query::default().text("green tea").unwrap())).unwrap();
        assert!((1..=WRITERS).contains(&hits), "{what}");
        reported.len()
    }
}

/// Ends the writers, also when what happens beside them panics.
struct EndsWriters<'a>(&'a AtomicBool);

impl Drop for EndsWriters<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Writes with several writers while something happens.
pub(crate) fn while_writing(store: &dyn ConversationStore, happens: impl FnOnce(&Told)) -> Told {
    let reported = Told::default();
    let is_over = AtomicBool::new(false);
    scope(|scope| {
        for writer in 0..WRITERS {
            let reported = &reported;
            let is_over = &is_over;
            scope.spawn(move || reported.write(store, writer, is_over));
        }
        let _ends_them = EndsWriters(&is_over);
        happens(&reported);
    });
    reported
}

#[test]
fn a_server_that_is_killed_loses_nothing_acknowledged() {
    let Some(mut server) = Server::start() else { return };
    let store = block_on(open(&server.url(server.port))).unwrap();
    let kills = rounds(3);
    let reported = while_writing(store.as_ref(), |reported| {
        for kill in 0..kills {
            sleep(Duration::from_millis(150 + 97 * (kill as u64 % 7)));
            server.kill_and_start();
            reported.wait_for_more();
        }
    });
    let fresh = block_on(open(&server.url(server.port))).unwrap();
    reported.check(fresh.as_ref(), &format!("PostgreSQL killed {kills} times"));
}

#[test]
fn connections_that_are_cut_anywhere_lose_and_repeat_nothing() {
    let Some(server) = Server::start() else { return };
    let address = SocketAddr::from(([127, 0, 0, 1], server.port));
    for (trouble, schema, name) in [
        (Trouble::Cut(20_000), "cut", "connections to PostgreSQL cut"),
        (Trouble::Slow(Duration::from_millis(20)), "slow", "PostgreSQL slow"),
    ] {
        let proxy = Proxy::before(address, trouble);
        let url = format!("{}&schema={schema}", server.url(proxy.address.port()));
        // To open takes more than one try, too.
        let mut opened = None;
        for _ in 0..50 {
            opened = opened.or_else(|| block_on(open(&url)).ok());
        }
        let store = opened.expect("the store opens in the end");
        let reported = while_writing(store.as_ref(), |reported| {
            sleep(Duration::from_secs(rounds(4) as u64));
            reported.wait_for_more();
        });
        let direct = url.replace(&format!(":{}/", proxy.address.port()), &format!(":{}/", server.port));
        let cut = proxy.cut.load(Ordering::Acquire);
        let direct = block_on(open(&direct)).unwrap();
        reported.check(direct.as_ref(), &format!("{name} ({cut} cut)"));
        assert_eq!(cut > 0, matches!(trouble, Trouble::Cut(_)), "{name}");
    }
}

#[test]
fn more_users_than_connections_wait_or_are_told() {
    let Some(server) = Server::start() else { return };
    let url = server.url(server.port);
    let store = block_on(open(&url)).unwrap();
    let record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
    block_on(store.create(&me(), &record)).unwrap();
    let began = Instant::now();
    // Eight connections, 64 users of one store: each waits for its turn.
    let done = AtomicUsize::new(0);
    scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                for _ in 0..5 {
                    block_on(store.append(&me(), &record.id, &[say(None, "green tea")])).unwrap();
                    done.fetch_add(1, Ordering::AcqRel);
                }
            });
        }
    });
    let found = block_on(store.load(&me(), &record.id)).unwrap().1.len();
    println!("64 users of 8 connections: {found} nodes in {:.1?}", began.elapsed());
    assert_eq!((found, done.load(Ordering::Acquire)), (320, 320));
    // Four stores of eight connections each, and a server that accepts 17: a store that gets none returns an error.
    let stores: Vec<_> = (0..4).filter_map(|_| block_on(open(&url)).ok()).collect();
    let refused = AtomicUsize::new(0);
    let kept = AtomicUsize::new(0);
    scope(|scope| {
        for number in 0..32 {
            let Some(store) = stores.get(number % stores.len()) else { continue };
            let refused = &refused;
            let kept = &kept;
            let id = &record.id;
            scope.spawn(move || match block_on(store.append(&me(), id, &[say(None, "green tea")])) {
                Ok(()) => kept.fetch_add(1, Ordering::AcqRel),
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Store | ErrorKind::Busy), "{error:#}");
                    refused.fetch_add(1, Ordering::AcqRel)
                }
            });
        }
    });
    let found = block_on(store.load(&me(), &record.id)).unwrap().1.len();
    println!("32 users of a full server: {kept:?} kept, {refused:?} refused, in {:.1?}", began.elapsed());
    assert_eq!(found, 320 + kept.load(Ordering::Acquire));
    assert!(began.elapsed() < LONGEST);
}
