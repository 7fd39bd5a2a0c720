//! An answer with passages of documents: `cargo run -p alloquy --example documents`.

use alloquy::core::Owner;
use alloquy::prelude::*;
use alloquy::retrieval::{Chunker, Document, RetrieveDocuments, WordIndex, WordOptions};

fn main() -> Result<()> {
    let index = WordIndex::new(WordOptions::default())?;
    let document = Document::markdown("portugal.md", "# Portugal\n\nIts capital is Lisbon.");
    index.add(&Owner::local(), Chunker::default().passages(&document));
    let manager = Model::pocket()?.manager().middleware(RetrieveDocuments::new(index)).build()?;
    let conversation = pollster::block_on(manager.create(Preface::default()))?;
    println!("{}", conversation.ask("What is the capital of Portugal?")?.text());
    Ok(())
}
