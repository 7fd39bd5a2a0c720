//! An answer of a model that is reminded of notes: `cargo run -p alloquy --example memory`.

use alloquy::core::Owner;
use alloquy::memory::{Cue, Note, Notes, Remember as _, Reminder};
use alloquy::prelude::*;

fn main() -> Result<()> {
    let model = Model::pocket()?;
    let store = pollster::block_on(alloquy::open_store("memory:"))?;
    let notes = Notes::new(store.clone());
    pollster::block_on(notes.remember(&Owner::local(), Note::new("I am 36 years old.")))?;
    let reminder = Reminder::new(Cue::new(notes), model.language_model().clone());
    let manager = model.manager().store(store).middleware(reminder).build()?;
    let conversation = pollster::block_on(manager.create(Preface::default()))?;
    println!("{}", conversation.ask("How old am I?")?.text());
    Ok(())
}
