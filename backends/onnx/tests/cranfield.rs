//! How well words, vectors and both find the documents of the Cranfield collection: 1,400 abstracts, and 225 questions with judged
//! documents.
//!
//! The collection is not part of the repository: `ALLOQUY_TEST_CRANFIELD` names a folder with its files `cran.all.1400`, `cran.qry` and
//! `cranqrel`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr, missing_docs)] // a test may panic

mod common;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::Owner;
use alloquy_onnx::OnnxEmbedder;
use alloquy_retrieval::{
    HEADING, Hybrid, Lookup, Passage, Retriever, StemLanguage, VectorFormat, VectorIndex, WordIndex,
    WordOptions,
};
use pollster::block_on;

use self::common::minilm::minilm;

/// How many of the first documents count.
const FIRST: usize = 10;

struct Question {
    text: String,
    /// What each document is worth, from 1 for minimum interest on.
    worth: HashMap<String, f64>,
}

fn collection() -> Option<PathBuf> {
    let folder = std::env::var_os("ALLOQUY_TEST_CRANFIELD").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipping: set ALLOQUY_TEST_CRANFIELD to the folder of the Cranfield collection");
    }
    folder
}

/// The records of a file: what follows each line `.I`, by the marks of its sections.
fn records(path: &Path) -> Vec<HashMap<char, String>> {
    let mut records: Vec<HashMap<char, String>> = Vec::new();
    let mut section = 'I';
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let mark = line.strip_prefix('.').and_then(|rest| rest.chars().next());
        match mark {
            Some('I') => records.push(HashMap::new()),
            Some(mark) if mark.is_ascii_uppercase() && line.len() == 2 => section = mark,
            _ => {
                let text = records.last_mut().unwrap().entry(section).or_default();
                text.push_str(line);
                text.push(' ');
            }
        }
    }
    records
}

fn documents(folder: &Path) -> Vec<Passage> {
    let mut documents = Vec::new();
    for (index, record) in records(&folder.join("cran.all.1400")).iter().enumerate() {
        let text = record.get(&'W').map(String::as_str).unwrap_or_default();
        let title = record.get(&'T').map(String::as_str).unwrap_or_default();
        documents.push(Passage::new((index + 1).to_string(), text).metadata(HEADING, title.trim()));
    }
    documents
}

/// Judgements have the places of questions in their file, and codes from 1, a complete answer, to 4, of minimum interest. The code -1 is
/// not explained; each question has one such document, and BM25 finds it first for 95 of them, so it is worth the most.
fn questions(folder: &Path) -> Vec<Question> {
    let mut questions = Vec::new();
    for record in records(&folder.join("cran.qry")) {
        questions.push(Question { text: record[&'W'].trim().to_owned(), worth: HashMap::new() });
    }
    for line in std::fs::read_to_string(folder.join("cranqrel")).unwrap().lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let code: f64 = fields[2].parse().unwrap();
        let number: usize = fields[0].parse().unwrap();
        questions[number - 1].worth.insert(fields[1].to_owned(), 5.0 - code);
    }
    questions
}

/// The discounted gain of documents with these worths, in their order.
fn gain(worths: impl Iterator<Item = f64>) -> f64 {
    worths.take(FIRST).enumerate().map(|(index, worth)| worth / (index as f64 + 2.0).log2()).sum()
}

fn ndcg(name: &str, retriever: &dyn Retriever, questions: &[Question]) -> f64 {
    let mut sum = 0.0;
    for question in questions {
        let found =
            block_on(retriever.find(&Owner::local(), &Lookup::new(&question.text).limit(FIRST))).unwrap();
        let mut best: Vec<f64> = question.worth.values().copied().collect();
        best.sort_by(|left, right| right.total_cmp(left));
        let worths =
            found.passages.iter().map(|passage| question.worth.get(&passage.id).copied().unwrap_or(0.0));
        sum += gain(worths) / gain(best.into_iter());
    }
    let mean = sum / questions.len() as f64;
    eprintln!("{name:<20} {mean:.4}");
    mean
}

#[test]
fn words_find_more_than_a_floor_and_both_no_less_than_the_better_one() {
    let Some(folder) = collection() else { return };
    let documents = documents(&folder);
    let questions = questions(&folder);
    assert_eq!((documents.len(), questions.len()), (1_400, 225));
    let mut by_words = Vec::new();
    // A textbook's BM25 finds 0.509 on the same files.
    for (name, stems, floor) in [("words", None, 0.50), ("stems", Some(StemLanguage::English), 0.52)] {
        let mut options = WordOptions::default();
        options.stems = stems;
        let words = WordIndex::new(options).unwrap();
        words.add(&Owner::local(), documents.iter().cloned());
        let found = ndcg(name, &words, &questions);
        assert!(found >= floor, "{name} find {found}, expected {floor}");
        by_words.push((name, Arc::new(words) as Arc<dyn Retriever>, found));
    }
    let Some(model) = minilm() else { return };
    let embedder = Arc::new(OnnxEmbedder::load(model).unwrap());
    let vectors = Arc::new(VectorIndex::new(embedder, VectorFormat::F32).unwrap());
    block_on(vectors.add(&Owner::local(), documents)).unwrap();
    let by_vectors = ndcg("MiniLM", &vectors, &questions);
    for (name, words, found) in by_words {
        let both = Hybrid::default()
            .retriever(Hybrid::WORDS, words)
            .retriever(Hybrid::VECTORS, Arc::clone(&vectors) as Arc<dyn Retriever>);
        let by_both = ndcg(&format!("{name} and MiniLM"), &both, &questions);
        assert!(by_both >= found.max(by_vectors) - 0.005, "{name} and MiniLM find {by_both}");
    }
}
