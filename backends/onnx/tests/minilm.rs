//! A real model of embeddings: its vectors are those of ONNX Runtime with numpy, and so is what it finds.
//!
//! The model is downloaded if `ALLOQUY_TEST_FETCH` is set. `ALLOQUY_TEST_PYTHON` names a Python with numpy, onnxruntime and tokenizers,
//! which then measures what is found too.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr, missing_docs)] // a test may panic

mod common;
#[path = "../../../retrieval/tests/eval/mod.rs"]
mod eval;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};
use alloquy_onnx::OnnxEmbedder;
use alloquy_retrieval::{
    Embedder, Embeddings, Hybrid, Passage, Retriever, StemLanguage, TextKind, VectorFormat, VectorIndex,
    WordIndex, WordOptions, laws,
};
use async_trait::async_trait;
use half::f16;
use pollster::block_on;
use serde_json::json;

use self::common::minilm::minilm;
use self::eval::{measured, passages, questions};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/minilm")
}

#[test]
fn vectors_of_64_texts_are_those_of_numpy() {
    let Some(folder) = minilm() else { return };
    let texts = std::fs::read_to_string(fixtures().join("golden.json")).unwrap();
    let texts: Vec<String> = serde_json::from_str(&texts).unwrap();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(texts.len(), 64);
    let bytes = std::fs::read(fixtures().join("golden.f16")).unwrap();
    let numbers: Vec<f32> =
        bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f32()).collect();
    let embedder = OnnxEmbedder::load(folder).unwrap();
    assert_eq!((embedder.dimensions(), embedder.info().max_tokens), (384, 256));
    assert!(embedder.info().notes.is_empty(), "{:?}", embedder.info().notes);
    let embeddings = block_on(embedder.embed(&texts, TextKind::Passage)).unwrap();
    let mut least = 1.0_f64;
    for (text, (vector, expected)) in
        texts.iter().zip(embeddings.vectors.iter().zip(numbers.chunks_exact(384)))
    {
        let cosine = cosine(vector, expected);
        assert!(cosine >= 0.9999, "{text:?} has the cosine {cosine}");
        least = least.min(cosine);
    }
    eprintln!("the least cosine is {least:.6}");
    let long: Vec<usize> =
        (0..64).filter(|&index| embedder.count_tokens(texts[index]).unwrap() > 256).collect();
    assert_eq!(embeddings.cut, long);
}

fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let product: f64 = left.iter().zip(right).map(|(left, right)| f64::from(left * right)).sum();
    let length = |vector: &[f32]| vector.iter().map(|&number| f64::from(number * number)).sum::<f64>().sqrt();
    product / length(left) / length(right)
}

#[test]
fn the_laws_hold() {
    let Some(folder) = minilm() else { return };
    block_on(laws::embedder::all(&OnnxEmbedder::load(folder).unwrap())).unwrap();
}

/// An embedder that remembers the texts of passages.
#[derive(Debug)]
struct Recorded {
    embedder: OnnxEmbedder,
    texts: Mutex<Vec<String>>,
}

#[async_trait]
impl Embedder for Recorded {
    fn digest(&self) -> Digest {
        self.embedder.digest()
    }

    fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Embeddings> {
        if kind == TextKind::Passage {
            self.texts.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        }
        self.embedder.embed(texts, kind).await
    }
}

#[test]
fn as_many_answers_are_found_as_with_numpy_and_more_with_words() {
    let Some(folder) = minilm() else { return };
    let passages = passages();
    let embedder = OnnxEmbedder::load(&folder).unwrap();
    let recorded = Arc::new(Recorded { embedder, texts: Mutex::new(Vec::new()) });
    let vectors =
        Arc::new(VectorIndex::new(Arc::clone(&recorded) as Arc<dyn Embedder>, VectorFormat::F32).unwrap());
    block_on(vectors.add(&Owner::local(), passages.clone())).unwrap();
    let by_vectors = measured("MiniLM", &vectors);
    for (name, stems) in [("words", None), ("stems", Some(StemLanguage::English))] {
        let mut options = WordOptions::default();
        options.stems = stems;
        let words = WordIndex::new(options).unwrap();
        words.add(&Owner::local(), passages.iter().cloned());
        let words = Arc::new(words);
        let by_words = measured(name, &words);
        let hybrid = Hybrid::default()
            .retriever(Hybrid::WORDS, words)
            .retriever(Hybrid::VECTORS, Arc::clone(&vectors) as Arc<dyn Retriever>);
        let by_both = measured(&format!("{name} and MiniLM"), &hybrid);
        let best = by_words.ndcg.max(by_vectors.ndcg);
        assert!(by_both.ndcg >= best - 0.005, "{name} and MiniLM find less than the better one of them");
    }
    let texts = std::mem::take(&mut *recorded.texts.lock().unwrap());
    assert_eq!(texts.len(), passages.len());
    if let Some(expected) = by_numpy(&folder, &passages, &texts) {
        eprintln!("with numpy: {expected:.4}");
        assert!((by_vectors.ndcg - expected).abs() <= 0.002, "{} and {expected}", by_vectors.ndcg);
    }
}

/// Measures by the program of Python what is found.
fn by_numpy(folder: &Path, passages: &[Passage], texts: &[String]) -> Option<f64> {
    let Some(python) = std::env::var_os("ALLOQUY_TEST_PYTHON") else {
        eprintln!("skipping the comparison with numpy: set ALLOQUY_TEST_PYTHON");
        return None;
    };
    let mut judged = Vec::new();
    for question in questions() {
        let mut answers: Vec<Vec<usize>> = Vec::new();
        for answer in &question.answers {
            answers.push((0..passages.len()).filter(|&index| answer.is_in(&passages[index])).collect());
        }
        judged.push(json!({"text": question.question, "answers": answers}));
    }
    let cases = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(cases.path(), json!({"passages": texts, "questions": judged}).to_string()).unwrap();
    let mut command = Command::new(python);
    command.arg(fixtures().join("ndcg.py")).arg(folder.join("onnx/model.onnx"));
    let output = command.arg(folder.join("tokenizer.json")).arg(cases.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap())
}
