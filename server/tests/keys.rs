//! Files of keys: what is found in them, what they reveal, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::path::Path;

use alloquy_core::ErrorKind;
use alloquy_server::{KeyFile, KeyLimits};
use proptest::prelude::*;

fn keys(owners: &[&str]) -> (KeyFile, Vec<String>) {
    let mut keys = KeyFile::default();
    let mut secrets = Vec::new();
    for owner in owners {
        secrets.push(keys.add(owner.parse().unwrap(), KeyLimits::default()).unwrap());
    }
    (keys, secrets)
}

#[test]
fn each_secret_finds_its_own_key() {
    let owners = ["ann", "bob", "ann", "cem"];
    let (keys, secrets) = keys(&owners);
    for (index, secret) in secrets.iter().enumerate() {
        let key = keys.find(secret).unwrap();
        assert_eq!((&key.id, key.owner.as_str()), (&keys.keys()[index].id, owners[index]));
    }
}

#[test]
fn a_file_has_no_secret_and_is_read_by_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let (mut keys, secrets) = keys(&["ann"]);
    keys.write(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&secrets[0]) && !text.contains(secrets[0].trim_start_matches("alq_")));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let id = keys.keys()[0].id.clone();
    keys.revoke(&id).unwrap();
    keys.write(&path).unwrap();
    let read = KeyFile::read(&path).unwrap();
    assert_eq!(read, keys);
    assert!(read.find(&secrets[0]).is_none());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file stays: {left:?}");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let digest = "0".repeat(64);
    let cases = [
        ("{", "is not valid"),
        (r#"{"keys": [], "version": 2}"#, "is not valid"),
        (
            r#"{"keys": [{"id": "key_1", "owner": "ann", "sha256": "12", "created": 1}]}"#,
            "64 hexadecimal digits",
        ),
        (
            &format!(
                r#"{{"keys": [{{"id": "key_1", "owner": "ann", "sha256": "{digest}", "created": 1, "limits": {{"running": 0}}}}]}}"#
            ),
            "running is 0",
        ),
    ];
    for (text, words) in cases {
        std::fs::write(&path, text).unwrap();
        let error = KeyFile::read(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(format!("{error:#}").contains(words), "{error:#}");
    }
    assert_eq!(KeyFile::read(Path::new("no/keys.json")).unwrap_err().kind(), ErrorKind::NotFound);
    let (mut keys, _) = keys(&["ann"]);
    assert_eq!(keys.revoke("key_0").unwrap_err().kind(), ErrorKind::NotFound);
    let mut limits = KeyLimits::default();
    limits.tokens_per_day = Some(0);
    assert_eq!(keys.add("bob".parse().unwrap(), limits).unwrap_err().kind(), ErrorKind::Invalid);
}

/// Adds keys to a file in a process of its own: this test again, which sees that a path is set.
const WRITER: &str = "ALLOQUY_TEST_KEYS";

#[test]
fn two_processes_lose_no_key() {
    if let Ok(path) = std::env::var(WRITER) {
        for _ in 0..20 {
            KeyFile::change(Path::new(&path), |keys| keys.add("ann".parse()?, KeyLimits::default())).unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let mut writers = Vec::new();
    for _ in 0..3 {
        let mut writer = std::process::Command::new(std::env::current_exe().unwrap());
        writer.args(["--exact", "two_processes_lose_no_key"]).env(WRITER, &path);
        writers.push(writer.stdout(std::process::Stdio::null()).spawn().unwrap());
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let keys = KeyFile::read(&path).unwrap();
    assert_eq!(keys.keys().len(), 60);
}

#[test]
fn a_change_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    KeyFile::change(&path, |keys| keys.add("ann".parse()?, KeyLimits::default())).unwrap();
    let before = std::fs::read(&path).unwrap();
    assert!(KeyFile::change(&path, |keys| keys.revoke("key_0")).unwrap_err().is_not_found());
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

proptest! {
    #[test]
    fn nothing_else_is_a_key(guess in ".{0,80}", place in 0_usize..68, sign in "[0-9a-g]") {
        let (keys, secrets) = keys(&["ann", "bob"]);
        prop_assert!(keys.find(&guess).is_none());
        let mut near = secrets[0].clone();
        near.replace_range(place..=place, &sign);
        prop_assert_eq!(keys.find(&near).is_some(), near == secrets[0]);
    }
}
