//! Several processes on one place, and processes that are killed while they write.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, ErrorKind, NodeId, Preface};
use alloquy_storage::open;
use pollster::block_on;

use crate::raw::duplicates;
use crate::servers::{buckets, postgres};
use crate::{Places, me, say};

/// The arguments of a child: the store, and how many times it moves the head before it ends.
const URL: &str = "ALLOQUY_STORAGE_TEST_URL";
const MOVES: &str = "ALLOQUY_STORAGE_TEST_MOVES";

#[test]
fn four_processes_on_one_folder() {
    let places = Places::new();
    four_processes(&local("file", &places.next()), 100);
}

#[test]
fn four_processes_on_one_folder_that_does_not_wait_for_the_disk() {
    let places = Places::new();
    four_processes(&format!("{}?durability=crash", local("file", &places.next())), 100);
}

#[test]
fn four_processes_on_one_database() {
    let places = Places::new();
    four_processes(&local("sqlite", &places.next()), 100);
}

#[test]
fn a_new_database_may_be_opened_by_several_at_once() {
    let places = Places::new();
    for _ in 0..50 {
        let url = local("sqlite", &places.next());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| block_on(open(&url)).unwrap());
            }
        });
    }
}

#[test]
fn four_processes_on_one_server() {
    let Some(fresh) = postgres() else { return };
    four_processes(&fresh(), 50);
}

#[test]
fn four_processes_on_one_bucket() {
    let Some(fresh) = buckets() else { return };
    four_processes(&fresh(), 50);
}

#[test]
fn killed_writers_of_files_lose_nothing_acknowledged() {
    killed_writers("file");
}

#[test]
fn killed_writers_of_a_database_lose_nothing_acknowledged() {
    killed_writers("sqlite");
}

/// Appends below the head and moves the head there, and says on its output what was acknowledged.
#[test]
#[ignore = "the other tests start it as a process of its own"]
fn child() {
    let Ok(url) = std::env::var(URL) else {
        return println!("skipped: {URL} is not set, the other tests set it");
    };
    let moves: usize = std::env::var(MOVES).unwrap().parse().unwrap();
    block_on(async {
        let store = open(&url).await.unwrap();
        let mut moved = 0;
        while moved < moves {
            moved += usize::from(turn(store.as_ref()).await);
        }
    });
}

async fn turn(store: &dyn ConversationStore) -> bool {
    let head = store.record(&me(), &id()).await.unwrap().head;
    let node = say(head, "from a child");
    store.append(&me(), &id(), std::slice::from_ref(&node)).await.unwrap();
    acknowledge("node", node.id);
    match store.set_head(&me(), &id(), head, Some(node.id)).await {
        Ok(()) => {
            acknowledge("head", node.id);
            true
        }
        Err(error) if error.is_conflict() => false,
        Err(error) => panic!("{error:#}"),
    }
}

fn acknowledge(what: &str, id: NodeId) {
    let mut output = std::io::stdout();
    writeln!(output, "{what} {id}").unwrap();
    output.flush().unwrap();
}

fn four_processes(url: &str, moves: usize) {
    create(url);
    let children: Vec<Child> = (0..4).map(|_| start(url, moves)).collect();
    let mut said = Said::default();
    for mut child in children {
        said.read(BufReader::new(child.stdout.take().unwrap()));
        assert!(child.wait().unwrap().success());
    }
    let (record, tree) = load(url);
    // Each move of the head went below the one before it, so a lost one would shorten the path.
    assert_eq!(tree.path(record.head).unwrap().len(), 4 * moves);
    assert_eq!(said.heads.len(), 4 * moves);
    assert_eq!(said.nodes.len(), tree.len());
    said.check(&tree);
    let parents = tree.nodes().filter_map(|node| node.parent);
    assert!(parents.into_iter().all(|parent| tree.node(parent).is_ok()), "every parent is there");
    assert_eq!(duplicates(url), 0, "each node is written once");
}

fn killed_writers(scheme: &str) {
    let places = Places::new();
    let url = local(scheme, &places.next());
    create(&url);
    let mut said = Said::default();
    for kill in 0..20 {
        let mut child = start(&url, usize::MAX);
        let mut output = BufReader::new(child.stdout.take().unwrap());
        // From before the first write to a hundred turns: the times only need to differ.
        if kill >= 4 {
            said.read_to_head(&mut output);
        }
        std::thread::sleep(Duration::from_micros(5_000 + kill * kill * 137));
        child.kill().unwrap();
        said.read(output);
        assert!(!child.wait().unwrap().success());
        let (record, tree) = load(&url);
        said.check(&tree);
        let path: Vec<NodeId> = tree.path(record.head).unwrap().iter().map(|node| node.id).collect();
        assert!(said.heads.iter().all(|head| path.contains(head)), "a move of the head is lost");
    }
    assert!(said.heads.len() >= 16, "only {} turns were acknowledged", said.heads.len());
    let store = block_on(open(&url)).unwrap();
    assert!(block_on(turn(store.as_ref())), "the store stays writable");
}

/// A file may not grow beyond a limit here, which is what a full disk looks like; it needs a Unix shell.
#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing_acknowledged() {
    for scheme in ["file", "sqlite"] {
        let places = Places::new();
        let url = local(scheme, &places.next());
        create(&url);
        let script = r#"trap "" XFSZ; ulimit -f 4096; exec "$0" "$@""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(std::env::current_exe().unwrap());
        let mut child = run(&mut shell, "processes::child_on_a_full_disk", &url, usize::MAX);
        let mut said = Said::default();
        said.read(BufReader::new(child.stdout.take().unwrap()));
        assert!(child.wait().unwrap().success(), "{scheme}");
        let (record, tree) = load(&url);
        said.check(&tree);
        // Not one node more: the failed call changed nothing.
        assert_eq!((said.nodes.len(), said.heads.len()), (tree.len(), tree.len()), "{scheme}");
        assert_eq!(tree.path(record.head).unwrap().len(), tree.len(), "{scheme}");
        assert!(tree.len() > 10, "{scheme}");
    }
}

/// Writes until the disk is full, and checks that the store answers as before then.
#[test]
#[ignore = "another test starts it as a process of its own"]
fn child_on_a_full_disk() {
    let Ok(url) = std::env::var(URL) else {
        return println!("skipped: {URL} is not set, another test sets it");
    };
    block_on(async {
        let store = open(&url).await.unwrap();
        let error = loop {
            let before = store.load(&me(), &id()).await.unwrap();
            let node = say(before.0.head, "x".repeat(16_384));
            if let Err(error) = store.append(&me(), &id(), std::slice::from_ref(&node)).await {
                assert_eq!(store.load(&me(), &id()).await.unwrap(), before);
                break error;
            }
            acknowledge("node", node.id);
            store.set_head(&me(), &id(), before.0.head, Some(node.id)).await.unwrap();
            acknowledge("head", node.id);
        };
        assert_eq!(error.kind(), ErrorKind::Store, "{error:#}");
    });
}

/// What children acknowledged.
#[derive(Default)]
struct Said {
    nodes: HashSet<NodeId>,
    heads: HashSet<NodeId>,
}

impl Said {
    fn read(&mut self, output: impl BufRead) {
        output.lines().for_each(|line| self.hear(&line.unwrap()));
    }

    /// Reads until a move of the head is acknowledged.
    fn read_to_head(&mut self, output: &mut impl BufRead) {
        let known = self.heads.len();
        let mut line = String::new();
        while self.heads.len() == known && output.read_line(&mut line).unwrap() > 0 {
            self.hear(line.trim_end());
            line.clear();
        }
    }

    /// The test harness says things of its own, and a killed child may end within a line.
    fn hear(&mut self, line: &str) {
        match line.split_once(' ').map(|(what, id)| (what, id.parse())) {
            Some(("node", Ok(id))) => drop(self.nodes.insert(id)),
            Some(("head", Ok(id))) => drop(self.heads.insert(id)),
            _ => {}
        }
    }

    fn check(&self, tree: &Tree) {
        let lost = self.nodes.iter().filter(|&&id| tree.node(id).is_err()).count();
        assert_eq!(lost, 0, "of {} acknowledged nodes", self.nodes.len());
    }
}

fn start(url: &str, moves: usize) -> Child {
    run(&mut Command::new(std::env::current_exe().unwrap()), "processes::child", url, moves)
}

fn run(command: &mut Command, test: &str, url: &str, moves: usize) -> Child {
    let command = command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.env(URL, url).env(MOVES, moves.to_string()).stdout(Stdio::piped()).spawn().unwrap()
}

fn id() -> ConversationId {
    "shared".parse().unwrap()
}

fn local(scheme: &str, path: &Path) -> String {
    format!("{scheme}:{}", path.display())
}

fn create(url: &str) {
    let store: Arc<dyn ConversationStore> = block_on(open(url)).unwrap();
    block_on(store.create(&me(), &ConversationRecord::new(id(), Preface::default()))).unwrap();
}

fn load(url: &str) -> (ConversationRecord, Tree) {
    block_on(async { open(url).await.unwrap().load(&me(), &id()).await.unwrap() })
}
