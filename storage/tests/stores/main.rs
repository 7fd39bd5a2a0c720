//! What the stores of this crate do, through their public faces alone.
#![cfg(all(feature = "file", feature = "sqlite", feature = "postgres", feature = "s3"))]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

#[cfg(unix)]
mod attacks;
mod bucket;
mod calls;
mod corruptions;
mod damage;
mod disk;
mod dropped;
#[cfg(unix)]
mod faulty_objects;
mod fixtures;
mod folder;
mod formats;
mod laws;
mod model;
mod names;
mod open;
mod postgres;
mod power;
mod processes;
#[cfg(unix)]
mod proxies;
mod raw;
#[cfg(unix)]
mod reading;
mod releases;
mod requests;
mod servers;
mod sizes;
mod too_large;
mod torture;
mod words;

use std::cell::Cell;
use std::path::PathBuf;

use alloquy_core::{Message, Node, NodeId, Owner};
use tempfile::TempDir;

/// Names fresh places in a folder that ends with the test.
struct Places {
    folder: TempDir,
    used: Cell<usize>,
}

impl Places {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), used: Cell::new(0) }
    }

    fn next(&self) -> PathBuf {
        self.used.set(self.used.get() + 1);
        self.folder.path().join(self.used.get().to_string())
    }
}

/// The owner in whose name tests run that are not about owners.
fn me() -> Owner {
    Owner::local()
}

fn say(parent: Option<NodeId>, text: impl Into<String>) -> Node {
    Node::new(parent, Message::user(text))
}
