//! A store in memory with a journal that the host keeps.

// Helpers of tests are tests to clippy only where they are compiled for tests alone.
#![cfg(test)]

use std::sync::{Arc, Mutex};

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{Error, ErrorKind, Message, Node, Owner, Preface, Query, Result};
use alloquy_storage::{Journal, JournaledStore};
use alloquy_testing::laws::store::{all, dropped_turns_are_kept, threads_lose_nothing};
use pollster::block_on;

#[derive(Clone, Debug, Default)]
struct Lines {
    kept: Arc<Mutex<Vec<String>>>,
    is_full: bool,
}

impl Journal for Lines {
    fn write(&mut self, line: &str) -> Result<()> {
        if self.is_full {
            return Err(Error::new(ErrorKind::Store, "the disk is full"));
        }
        assert!(!line.contains('\n'), "{line}");
        self.kept.lock().unwrap().push(line.to_owned());
        Ok(())
    }
}

fn open(lines: &Lines) -> JournaledStore<Lines> {
    let kept = lines.kept.lock().unwrap().clone();
    JournaledStore::open(kept.into_iter().map(Ok), lines.clone()).unwrap()
}

#[test]
fn it_obeys_the_laws() {
    block_on(all(async || open(&Lines::default())));
    block_on(dropped_turns_are_kept(async || open(&Lines::default())));
    threads_lose_nothing(&open(&Lines::default()));
}

#[test]
fn what_was_said_is_there_again() {
    let lines = Lines::default();
    let owner = Owner::local();
    let store = open(&lines);
    let record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
    let other = ConversationRecord::new("coffee".parse().unwrap(), Preface::default());
    let node = Node::new(None, Message::user("Hello"));
    block_on(async {
        store.create(&owner, &record).await.unwrap();
        store.create(&owner, &other).await.unwrap();
        // What is refused is refused again when it is read, and changes nothing.
        store.create(&owner, &record).await.unwrap_err();
        store
            .append_and_move(&owner, &record.id, std::slice::from_ref(&node), None, Some(node.id))
            .await
            .unwrap();
        let metadata = serde_json::from_str(r#"{"title": "Tea\n"}"#).unwrap();
        assert_eq!(store.update_metadata(&owner, &record.id, 0, &metadata).await.unwrap(), 1);
        store.delete(&owner, &other.id).await.unwrap();
        let digest = store.put_blob(&owner, &Arc::from([0, 255, 10])).await.unwrap();

        let again = open(&lines);
        let (found, tree) = again.load(&owner, &record.id).await.unwrap();
        assert_eq!((found.head, found.revision, found.metadata), (Some(node.id), 1, metadata));
        assert_eq!(tree.nodes().collect::<Vec<_>>(), [&node]);
        assert_eq!(again.count(&owner, &Query::default()).await.unwrap(), 1);
        assert_eq!(again.get_blob(&owner, digest).await.unwrap().as_deref(), Some(&[0, 255, 10][..]));
    });
}

#[test]
fn what_the_journal_does_not_keep_is_not_made() {
    let lines = Lines { is_full: true, ..Lines::default() };
    let store = open(&lines);
    let owner = Owner::local();
    let record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
    assert_eq!(block_on(store.create(&owner, &record)).unwrap_err().kind(), ErrorKind::Store);
    assert!(block_on(store.record(&owner, &record.id)).unwrap_err().is_not_found());
}

#[test]
fn a_line_that_no_store_wrote_is_damage() {
    let lines = ["{}"].map(|line| Ok(line.to_owned()));
    let error = JournaledStore::open(lines, Lines::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("line 1 of the journal"), "{error}");
}
