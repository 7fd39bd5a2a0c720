//! What the logs of conversations are called.

use std::collections::BTreeSet;

use alloquy_core::Preface;
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_storage::FileStore;
use pollster::block_on;

use crate::{Places, me};

/// Returns the names of the logs of these conversations, without their ending.
fn names(ids: &[&str]) -> BTreeSet<String> {
    let places = Places::new();
    let store = block_on(FileStore::open(places.next())).unwrap();
    for id in ids {
        let record = ConversationRecord::new(id.parse().unwrap(), Preface::default());
        block_on(store.create(&me(), &record)).unwrap();
    }
    let logs = std::fs::read_dir(store.path().join("conversations")).unwrap();
    let names = logs.map(|log| log.unwrap().file_name().into_string().unwrap());
    names.map(|name| name.strip_suffix(".jsonl").unwrap().to_owned()).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn plain_ids_are_their_own_names() {
    assert_eq!(names(&["tea-4_2"]), set(&["tea-4_2"]));
}

#[test]
fn every_other_byte_is_escaped() {
    let escaped = ["%54ea", "tea%2fgreen", "%2e%2e", "%c3%a9", "%2bcon", "%25", "%7e"];
    assert_eq!(names(&["Tea", "tea/green", "..", "\u{e9}", "+con", "%", "~"]), set(&escaped));
}

#[test]
fn devices_are_no_names() {
    let devices = ["con", "prn", "aux", "nul", "com0", "com9", "lpt1"];
    let escaped = devices.map(|name| format!("+{name}"));
    assert_eq!(names(&devices), escaped.into_iter().collect());
    assert_eq!(names(&["CON", "com", "com10", "conx"]), set(&["%43%4f%4e", "com", "com10", "conx"]));
}

#[test]
fn long_names_are_cut_and_stay_apart() {
    let [one, two] = ["a", "b"].map(|end| "\u{1f980}".repeat(60) + end);
    let names = names(&[&one, &two, &"x".repeat(120), &"x".repeat(121)]);
    assert_eq!(names.len(), 4);
    assert!(names.iter().all(|name| name.len() <= 120), "{names:?}");
    assert!(names.iter().filter(|name| name.contains('~')).count() == 3, "{names:?}");
}
