//! How well the retrievers find the answers of questions over `docs/`, which were judged by reading the pages.
#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::Owner;
use alloquy_retrieval::{
    Chunker, Document, Evaluation, Hybrid, JudgedQuestion, NgramEmbedder, Passage, Retriever, StemLanguage,
    VectorFormat, VectorIndex, WordIndex, WordOptions, evaluate,
};
use pollster::block_on;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn questions() -> Vec<JudgedQuestion> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/eval/questions.jsonl");
    JudgedQuestion::read(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The passages of the pages of `docs/`, without the generated lists of the public API.
fn passages() -> Vec<Passage> {
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(root().join("docs")).unwrap().map(|page| page.unwrap().path()).collect();
    pages.sort();
    let mut passages = Vec::new();
    for page in pages.iter().filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
        let name = page.file_name().unwrap().to_str().unwrap();
        let document = Document::from_bytes(name, &std::fs::read(page).unwrap()).unwrap();
        passages.extend(Chunker::default().passages(&document));
    }
    passages
}

fn words(passages: &[Passage], stems: Option<StemLanguage>) -> Arc<dyn Retriever> {
    let mut options = WordOptions::default();
    options.stems = stems;
    let index = WordIndex::new(options).unwrap();
    index.add(&Owner::local(), passages.iter().cloned());
    Arc::new(index)
}

fn vectors(passages: &[Passage], format: VectorFormat, dimensions: usize) -> Arc<dyn Retriever> {
    let index = VectorIndex::new(Arc::new(NgramEmbedder::new(dimensions)), format).unwrap();
    block_on(index.add(&Owner::local(), passages.to_vec())).unwrap();
    Arc::new(index)
}

fn measured(name: &str, retriever: &dyn Retriever) -> Evaluation {
    let evaluation = block_on(evaluate(retriever, &Owner::local(), &questions())).unwrap();
    eprintln!("{name:<28} {:.4} {:.4} {:.4}", evaluation.ndcg, evaluation.recall, evaluation.mrr);
    evaluation
}

#[test]
fn each_judged_place_is_there() {
    let passages = passages();
    let questions = questions();
    assert!(
        passages.len() >= 200 && questions.len() >= 80,
        "{} passages, {} questions",
        passages.len(),
        questions.len()
    );
    for question in &questions {
        for answer in &question.answers {
            let places = passages.iter().filter(|passage| answer.is_in(passage)).count();
            assert!(
                (1..=3).contains(&places),
                "{places} passages of docs/ have the answer {answer:?} of {:?}. If the page has changed, read it, and correct the line in \
                 retrieval/tests/eval/questions.jsonl",
                question.question
            );
        }
    }
}

#[test]
fn answers_are_found() {
    let passages = passages();
    let plain = measured("words", &*words(&passages, None));
    let stems = measured("words with stems", &*words(&passages, Some(StemLanguage::English)));
    for dimensions in [256, 1024] {
        measured(&format!("vectors {dimensions}"), &*vectors(&passages, VectorFormat::F32, dimensions));
        measured(&format!("int8 {dimensions}"), &*vectors(&passages, VectorFormat::Int8, dimensions));
    }
    for dimensions in [64, 256, 1024] {
        for weight in [0.1, 0.2, 0.3, 0.5, 0.7, 1.0] {
            for stems in [None, Some(StemLanguage::English)] {
                let hybrid = Hybrid::default()
                    .retriever(1.0, words(&passages, stems))
                    .retriever(weight, vectors(&passages, VectorFormat::F32, dimensions));
                measured(&format!("hybrid {dimensions} {weight} {}", stems.is_some()), &hybrid);
            }
        }
    }
    let _ = (plain, stems);
}
