//! Which store a URL opens.

use alloquy_core::{ErrorKind, Query};
use alloquy_storage::open;
use pollster::block_on;

use crate::{Places, me};

#[test]
fn urls_name_stores() {
    let places = Places::new();
    let folder = places.next();
    let database = places.next();
    let folder = folder.to_str().unwrap();
    let database = database.to_str().unwrap();
    let urls = [
        ("memory:".to_owned(), "MemoryStore"),
        (format!("file:{folder}"), "FileStore"),
        (format!("file://{folder}"), "FileStore"),
        (format!("sqlite:{database}"), "SqliteStore"),
        (format!("sqlite://{database}"), "SqliteStore"),
        (format!("file:{folder}?durability=crash"), "FileStore"),
        (format!("sqlite:{database}?durability=crash"), "SqliteStore"),
        (format!("sqlite:{database}?durability=power-loss"), "SqliteStore"),
        (format!("{database}.db"), "SqliteStore"),
        (format!("{database}.sqlite"), "SqliteStore"),
        (format!("{database}.SQLite3"), "SqliteStore"),
        ("sqlite::memory:".to_owned(), "SqliteStore"),
    ];
    for (url, name) in urls {
        let store = block_on(open(&url)).unwrap();
        let debug = format!("{store:?}");
        assert!(debug.starts_with(name), "{url} opens {debug}");
        assert_eq!(block_on(store.count(&me(), &Query::default())).unwrap(), 0);
    }
}

#[test]
fn other_urls_are_told_the_forms() {
    let urls =
        ["", "chats", "memory:x", "file:", "file://", "sqlite:", "mysql://host/x.db", "/tmp/chats.txt"];
    for url in urls {
        let error = block_on(open(url)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
        let message = error.to_string();
        assert!(message.contains(&format!("{url:?}")), "{message}");
        let forms = ["memory:", "file:PATH", "sqlite:PATH", "sqlite::memory:", "postgres://", ".sqlite3"];
        assert!(forms.iter().all(|form| message.contains(form)), "{message}");
    }
}

#[test]
fn unknown_parameters_are_told_the_known_ones() {
    for (scheme, parameter) in [("file", "durability=none"), ("sqlite", "mode=ro"), ("file", "durability")] {
        let error = block_on(open(&format!("{scheme}:chats?{parameter}"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:#}");
        let message = error.to_string();
        let named = [&format!("{parameter:?}"), "durability=crash", "durability=power-loss"];
        assert!(named.iter().all(|name| message.contains(name)), "{message}");
        assert!(!std::path::Path::new("chats").exists(), "nothing is made of it");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let places = Places::new();
    let file = places.next();
    std::fs::write(&file, "not a folder").unwrap();
    let inside = file.join("chats");
    for scheme in ["file", "sqlite"] {
        let error = block_on(open(&format!("{scheme}:{}", inside.display()))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store, "{error:#}");
        assert!(format!("{error:#}").contains(&format!("{inside:?}")), "{error:#}");
    }
}

#[test]
fn passwords_are_not_quoted() {
    let urls = [
        "mysql://ann:hunter2@host/x",
        "postgres://ann:hunter2@127.0.0.1:1/x",
        "postgres://ann:hun?ter2=hunter2@host/x",
        "postgres://ann:hunter2@host:none/x",
        "postgres:ann:hunter2@host",
    ];
    for url in urls {
        let error = block_on(open(url)).unwrap_err();
        let said = format!("{error:#} {error:?}");
        assert!(url.starts_with("postgres:ann") || !said.contains("hunter2"), "{said}");
    }
}

/// Whatever a long URL is refused with is a sentence to be read.
#[test]
fn a_long_url_is_refused_in_a_sentence() {
    let long = "x".repeat(100_000);
    let urls = [
        long.clone(),
        format!("sqlite:/{long}"),
        format!("sqlite:/{long}?durability={long}"),
        format!("file:/{long}"),
        format!("file:/nowhere?{long}"),
        format!("postgres://{long}"),
        format!("postgres://host/database?{long}"),
        format!("s3://bucket/{long}?{long}"),
        format!("mysql://{long}"),
    ];
    for url in urls {
        let errors = [block_on(open(&url)).err(), block_on(alloquy_storage::open_for_reading(&url)).err()];
        for error in errors.into_iter().flatten() {
            for sentence in [error.to_string(), format!("{error:#}")] {
                assert!(sentence.len() < 2000, "{url:.40}: {} bytes: {sentence:.300}", sentence.len());
            }
        }
    }
}
