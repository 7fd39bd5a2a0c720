//! A store of one's own: maps in memory, and a file with a line for each change, which is read again when it is opened.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy::prelude::*;
use alloquy::storage::{Journal, JournaledStore};
use alloquy_testing::laws;

#[derive(Debug)]
struct Lines(File);

impl Journal for Lines {
    fn write(&mut self, line: &str) -> Result<()> {
        let before = self.0.metadata().map_err(failed)?.len();
        let written = writeln!(self.0, "{line}").and_then(|()| self.0.sync_data());
        // What is not kept whole must not be read again.
        written.or_else(|error| self.0.set_len(before).and(Err(error))).map_err(failed)
    }
}

fn open(path: &Path) -> Result<JournaledStore<Lines>> {
    let file = OpenOptions::new().create(true).read(true).append(true).open(path).map_err(failed)?;
    let lines = BufReader::new(file.try_clone().map_err(failed)?).lines();
    JournaledStore::open(lines.map(|line| line.map_err(failed)), Lines(file))
}

fn failed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Store, "the journal cannot be read or written").with_source(error)
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("chats");
    let model = Model::pocket()?;
    let manager = model.manager().store(Arc::new(open(&path)?)).build()?;
    let chat = pollster::block_on(manager.create(Preface::default()))?;
    println!("{}", chat.ask("What is the capital of Portugal?")?.text());

    // Another process goes on where this one ended.
    let manager = model.manager().store(Arc::new(open(&path)?)).build()?;
    let again = pollster::block_on(manager.open(chat.id()))?;
    println!("{}", again.ask("And of France?")?.text());
    println!("{} messages", pollster::block_on(again.history())?.len());

    // What every store must do.
    let number = AtomicUsize::new(0);
    pollster::block_on(laws::store::all(async || {
        let path = folder.path().join(number.fetch_add(1, Ordering::Relaxed).to_string());
        open(&path).unwrap_or_else(|error| panic!("{error:#}"))
    }));
    println!("the store obeys the laws");
    Ok(())
}
