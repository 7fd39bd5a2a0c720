//! Questions about the pages of `docs/` that a person judged, and what a retriever finds for them. Tests of other crates use them too.

use std::path::{Path, PathBuf};

use alloquy_core::Owner;
use alloquy_retrieval::{Chunker, Document, Evaluation, JudgedQuestion, Passage, Retriever, evaluate};
use pollster::block_on;

pub(crate) fn questions() -> Vec<JudgedQuestion> {
    JudgedQuestion::read(include_str!("questions.jsonl")).unwrap()
}

/// Pages that are newer than the judgements: they have answers, too, and none of them is in `questions.jsonl`. A question about one of
/// them takes it out of this list.
const NOT_JUDGED: [&str; 3] = ["deploy.md", "page.md", "server.md"];

/// The passages of the pages of `docs/` that were judged, without the generated lists of the public API.
pub(crate) fn passages() -> Vec<Passage> {
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(root().join("docs")).unwrap().map(|page| page.unwrap().path()).collect();
    pages.sort();
    let mut passages = Vec::new();
    for page in pages.iter().filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
        let name = page.file_name().unwrap().to_str().unwrap();
        if NOT_JUDGED.contains(&name) {
            continue;
        }
        let document = Document::from_bytes(name, &std::fs::read(page).unwrap()).unwrap();
        passages.extend(Chunker::default().passages(&document));
    }
    passages
}

/// Asks all questions, and prints the figures.
pub(crate) fn measured(name: &str, retriever: &dyn Retriever) -> Evaluation {
    let evaluation = block_on(evaluate(retriever, &Owner::local(), &questions())).unwrap();
    eprintln!("{name:<40} {:.4} {:.4} {:.4}", evaluation.ndcg, evaluation.recall, evaluation.mrr);
    evaluation
}

/// The folder of the repository, which is above each crate.
fn root() -> &'static Path {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().find(|folder| folder.join("docs/retrieval.md").is_file()).unwrap()
}
