//! What the server costs, over the loopback: what HTTP adds to one stream, what many streams at once wait, and how soon a second turn begins beside
//! llama.cpp's server.
//!
//! ```sh
//! cargo bench -p alloquy-cli --bench load                    # all of it, a few minutes
//! ALLOQUY_LOAD=crowd cargo bench -p alloquy-cli --bench load   # one part: overhead, crowd or peers
//! ```
//!
//! `peers` needs `ALLOQUY_SHARED` (a folder with `models/stories260k` and `models/stories260k.gguf`) and `ALLOQUY_LLAMA_PYTHON` (a Python with the
//! package `xllamacpp`), and prints that it is skipped otherwise. `crowd` needs 2,300 open files: `ulimit -n 4096`. Figures of two runs are comparable
//! only on a machine that does nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

mod client;
mod crowd;
mod figures;
mod overhead;
mod peers;
mod serving;

fn main() {
    // Cargo also calls benchmarks to see whether they run at all.
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    if is_wanted("overhead") {
        overhead::run(if is_measured { 200 } else { 2 });
    }
    if is_wanted("crowd") {
        if is_measured {
            crowd::run(1000, 64, std::time::Duration::from_secs(20));
        } else {
            crowd::run(10, 4, std::time::Duration::from_secs(1));
        }
    }
    if is_wanted("peers") {
        peers::run(if is_measured { 40 } else { 1 });
    }
}

/// Returns whether a part is named, or none.
fn is_wanted(part: &str) -> bool {
    std::env::var("ALLOQUY_LOAD").map_or(true, |named| named == part)
}
