//! How long adding passages to an index takes with a model of embeddings.
//!
//! `ALLOQUY_BENCH_EMBEDDER=FOLDER cargo bench -p alloquy-onnx --bench embedder` prints the seconds. Passages are chunks of the pages in
//! `docs/`, repeated with a number before each. `against_fastembed.py` compares them with another program's.
//!
//! | variable | meaning |
//! |---|---|
//! | `ALLOQUY_BENCH_EMBEDDER` | the folder of the model |
//! | `ALLOQUY_BENCH_PASSAGES` | how many passages; 10,000 otherwise |
//! | `ALLOQUY_BENCH_THREADS` | how many threads compute; 2 otherwise |
//! | `ALLOQUY_BENCH_TEXTS` | a file to write the texts to, as JSON |
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs)] // a benchmark may panic

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use alloquy_core::Owner;
use alloquy_onnx::{EmbedderOptions, OnnxEmbedder};
use alloquy_retrieval::{Chunker, Document, Passage, VectorFormat, VectorIndex};
use pollster::block_on;

fn number(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

fn chunks() -> Vec<String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut pages: Vec<PathBuf> = std::fs::read_dir(docs).unwrap().map(|page| page.unwrap().path()).collect();
    pages.sort();
    let mut chunks = Vec::new();
    for page in pages.iter().filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
        let document = Document::markdown("page", std::fs::read_to_string(page).unwrap());
        chunks.extend(Chunker::default().passages(&document).into_iter().map(|passage| passage.text));
    }
    chunks
}

fn main() {
    let Some(folder) = std::env::var_os("ALLOQUY_BENCH_EMBEDDER") else {
        eprintln!("skipping: set ALLOQUY_BENCH_EMBEDDER to the folder of a model of embeddings");
        return;
    };
    let threads = number("ALLOQUY_BENCH_THREADS", 2);
    let mut passages = Vec::new();
    for (index, chunk) in chunks().iter().cycle().take(number("ALLOQUY_BENCH_PASSAGES", 10_000)).enumerate() {
        passages.push(Passage::new(index.to_string(), format!("{index}. {chunk}")));
    }
    if let Some(file) = std::env::var_os("ALLOQUY_BENCH_TEXTS") {
        let texts: Vec<&str> = passages.iter().map(|passage| passage.text.as_str()).collect();
        std::fs::write(file, serde_json::to_string(&texts).unwrap()).unwrap();
    }
    let mut options = EmbedderOptions::default();
    options.model.threads = Some(threads);
    let embedder = OnnxEmbedder::open(folder, &options, &mut |_| {}).unwrap();
    let name = embedder.info().name.clone();
    let index = VectorIndex::new(Arc::new(embedder), VectorFormat::F32).unwrap();
    let count = passages.len();
    let start = Instant::now();
    block_on(index.add(&Owner::local(), passages)).unwrap();
    println!("{count} passages, {name}, {threads} threads: {:.2} seconds", start.elapsed().as_secs_f64());
}
