//! The laws, on each member; and what the indexes in memory do beyond them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a test may panic

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Owner, Result};
use alloquy_retrieval::laws::retriever::Sample;
use alloquy_retrieval::{
    Document, Embedder, Embeddings, Found, Hybrid, Index, IndexOptions, Lookup, MemoryRetriever,
    NgramEmbedder, Passage, Reranked, Reranker, Retriever, StemLanguage, TextKind, VectorFormat, VectorIndex,
    Vectors, WordIndex, WordOptions, fuse, laws,
};
use pollster::block_on;
use proptest::prelude::*;

fn memory(sample: Sample) -> MemoryRetriever {
    let retriever = MemoryRetriever::default();
    for (owner, passages) in sample.owners {
        retriever.add(&owner, passages);
    }
    retriever
}

fn words(sample: Sample, options: WordOptions) -> WordIndex {
    let index = WordIndex::new(options).unwrap();
    for (owner, passages) in sample.owners {
        index.add(&owner, passages);
    }
    index
}

async fn vectors(sample: Sample, format: VectorFormat) -> Result<VectorIndex> {
    let index = VectorIndex::new(Arc::new(NgramEmbedder::default()), format)?;
    for (owner, passages) in sample.owners {
        index.add(&owner, passages).await?;
    }
    Ok(index)
}

async fn index(sample: Sample, folder: &tempfile::TempDir) -> Result<Arc<Index>> {
    let index =
        Index::open(folder.path(), IndexOptions::default(), Some(Arc::new(NgramEmbedder::default())))?;
    for (owner, passages) in sample.owners {
        let mut documents = Vec::new();
        for passage in passages {
            let mut document = Document::text(passage.source.unwrap_or_default(), passage.text);
            for (name, value) in passage.metadata {
                document = document.metadata(name, value);
            }
            documents.push(document);
        }
        index.add(&owner, documents, &|_| {}).await?;
    }
    Ok(index)
}

/// Orders passages by how many words of the text they have.
#[derive(Debug)]
struct SharedWords;

#[async_trait::async_trait]
impl Reranker for SharedWords {
    fn digest(&self) -> Digest {
        Digest::of(b"shared words")
    }

    async fn rerank(&self, text: &str, mut passages: Vec<Passage>) -> Result<Vec<Passage>> {
        for passage in &mut passages {
            let shared = text.split(' ').filter(|word| passage.text.contains(*word)).count();
            passage.score = shared as f64;
        }
        passages
            .sort_by(|left, right| right.score.total_cmp(&left.score).then_with(|| left.id.cmp(&right.id)));
        Ok(passages)
    }
}

#[test]
fn members_obey_the_laws() {
    block_on(async {
        laws::retriever::all(async |sample| Ok(memory(sample))).await?;
        laws::retriever::all(async |sample| Ok(words(sample, WordOptions::default()))).await?;
        let mut stems = WordOptions::default();
        stems.stems = Some(StemLanguage::English);
        laws::retriever::all(async |sample| Ok(words(sample, stems))).await?;
        for format in [VectorFormat::F32, VectorFormat::Int8] {
            laws::retriever::all(async |sample| vectors(sample, format).await).await?;
        }
        for kind in ["words", "vectors", "hybrid"] {
            let folder = tempfile::tempdir().unwrap();
            let fill = async |sample| {
                let index = index(sample, &folder).await?;
                match kind {
                    "words" => Ok(index.words()),
                    "vectors" => index.vectors(),
                    _ => Ok(index.hybrid()),
                }
            };
            laws::retriever::all(fill).await?;
        }
        laws::retriever::all(async |sample: Sample| {
            let words = Arc::new(words(sample.clone(), WordOptions::default()));
            let vectors = Arc::new(vectors(sample, VectorFormat::F32).await?);
            Ok(Hybrid::default().retriever(1.0, words).retriever(Hybrid::VECTORS, vectors))
        })
        .await?;
        laws::retriever::all(async |sample| {
            Ok(Reranked::new(Arc::new(memory(sample)), Arc::new(SharedWords)))
        })
        .await?;
        laws::embedder::all(&NgramEmbedder::default()).await?;
        laws::reranker::all(&SharedWords).await
    })
    .unwrap();
}

fn passage(number: usize, text: &str) -> Passage {
    Passage::new(number.to_string(), text)
}

fn ids(found: &Found) -> Vec<&str> {
    found.passages.iter().map(|passage| passage.id.as_str()).collect()
}

#[test]
fn short_words_can_count_less() {
    let owner = Owner::local();
    for (short_words, first) in [(1.0, "2"), (0.25, "1")] {
        let mut options = WordOptions::default();
        options.short_words = short_words;
        let index = WordIndex::new(options).unwrap();
        index.add(&owner, [Passage::new("1", "Ann drinks tea"), Passage::new("2", "It is so")]);
        let found = block_on(index.find(&owner, &Lookup::new("is it tea?"))).unwrap();
        assert_eq!(found.passages[0].id, first, "{short_words}");
    }
    for short_words in [-0.5, f64::NAN] {
        let mut options = WordOptions::default();
        options.short_words = short_words;
        assert_eq!(WordIndex::new(options).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn words_of_any_language_are_found() {
    let table = [
        ("Une tasse de thé", "THE", true),
        ("東京都庁", "京都", true),
        ("緑茶と紅茶", "茶", true),
        ("สวัสดีชาวโลก", "โลก", true),
        ("Чай растёт в Ассаме", "чаи ассаме", true),
        ("한국의 차", "차", true),
        ("the tea", "coffee", false),
        ("ﬁne ｔｅａ", "fine tea", true),
    ];
    for (text, query, is_found) in table {
        let index = WordIndex::new(WordOptions::default()).unwrap();
        index.add(&Owner::local(), [passage(1, text)]);
        let found = block_on(index.find(&Owner::local(), &Lookup::new(query))).unwrap();
        assert_eq!(!found.passages.is_empty(), is_found, "{query:?} in {text:?}");
    }
}

#[test]
fn scores_are_those_of_the_formula() {
    let index = WordIndex::new(WordOptions::default()).unwrap();
    index.add(
        &Owner::local(),
        [passage(1, "tea tea cup"), passage(2, "tea"), passage(3, "milk in a cup of it")],
    );
    let found = block_on(index.find(&Owner::local(), &Lookup::new("tea"))).unwrap();
    // N = 3, n = 2, average length 10/3.
    let rarity = (1.0_f64 + 1.5 / 2.5).ln();
    let score = |count: f64, length: f64| {
        rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / (10.0 / 3.0)))
    };
    let expected = [("1", score(2.0, 3.0)), ("2", score(1.0, 1.0))];
    for (passage, (id, score)) in found.passages.iter().zip(expected) {
        assert_eq!(passage.id, id);
        assert!((passage.score - score).abs() < 1e-12, "{} is not {score}", passage.score);
    }
}

#[test]
fn stems_find_other_forms() {
    let mut options = WordOptions::default();
    let owner = Owner::local();
    let lookup = Lookup::new("brewed");
    let plain = WordIndex::new(options).unwrap();
    options.stems = Some(StemLanguage::English);
    let stems = WordIndex::new(options).unwrap();
    for index in [&plain, &stems] {
        index.add(&owner, [passage(1, "brewing tea")]);
    }
    assert!(ids(&block_on(plain.find(&owner, &lookup)).unwrap()).is_empty());
    assert_eq!(ids(&block_on(stems.find(&owner, &lookup)).unwrap()), ["1"]);
    assert_ne!(block_on(plain.version(&owner)).unwrap(), block_on(stems.version(&owner)).unwrap());
}

#[test]
fn settings_out_of_range_are_refused() {
    for (k1, b) in [(-1.0, 0.5), (f64::NAN, 0.5), (1.2, 1.1), (1.2, -0.1)] {
        let mut options = WordOptions::default();
        (options.k1, options.b) = (k1, b);
        assert_eq!(WordIndex::new(options).unwrap_err().kind(), ErrorKind::Invalid);
    }
    for dimensions in [0, 65_537] {
        assert_eq!(Vectors::new(dimensions, VectorFormat::F32).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    let index = VectorIndex::new(Arc::new(NgramEmbedder::new(3)), VectorFormat::Int8).unwrap();
    let owner = Owner::local();
    for vector in [vec![1.0, 0.0], vec![f32::NAN, 0.0, 0.0], vec![0.0, f32::INFINITY, 0.0]] {
        let error = index.add_vectors(&owner, vec![(passage(1, "tea"), vector.clone())]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(index.is_empty(&owner));
        index.add_vectors(&owner, vec![(passage(1, "tea"), vec![1.0, 0.0, 0.0])]).unwrap();
        assert_eq!(index.nearest(&owner, &vector, &Lookup::new("")).unwrap_err().kind(), ErrorKind::Invalid);
        index.remove(&owner, ["1"]);
    }
}

/// Has a version, and fails or takes too long.
#[derive(Debug)]
struct Broken {
    is_slow: bool,
}

#[async_trait::async_trait]
impl Retriever for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    async fn version(&self, _owner: &Owner) -> Result<Digest> {
        Ok(Digest::of(b""))
    }

    async fn find(&self, _owner: &Owner, _lookup: &Lookup) -> Result<Found> {
        if self.is_slow {
            return std::future::pending().await;
        }
        Err(Error::new(ErrorKind::Store, "the disk is gone"))
    }
}

/// Waits, without a runtime.
async fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

#[test]
fn a_retriever_that_fails_is_named() {
    let owner = Owner::local();
    let lookup = Lookup::new("tea");
    let good = MemoryRetriever::default();
    good.add(&owner, [passage(1, "tea")]);
    let good: Arc<dyn Retriever> = Arc::new(good);
    for (is_slow, reason) in [(false, "the disk is gone"), (true, "no result within 1ms")] {
        let broken = Arc::new(Broken { is_slow });
        let hybrid = Hybrid::default().time_limit(Duration::from_millis(1), Arc::new(sleep));
        let both = hybrid.clone().retriever(1.0, broken.clone()).retriever(1.0, good.clone());
        let found = block_on(both.find(&owner, &lookup)).unwrap();
        assert_eq!(ids(&found), ["1"]);
        assert_eq!(found.failed[0].name, "broken");
        assert!(found.failed[0].error.contains(reason), "{:?}", found.failed);
        assert_ne!(
            found.version,
            block_on(both.version(&owner)).unwrap(),
            "a cache would keep what is incomplete"
        );

        let error = block_on(hybrid.clone().retriever(1.0, broken).find(&owner, &lookup)).unwrap_err();
        assert!(
            error.whole().contains("all retrievers") && error.whole().contains(reason),
            "{}",
            error.whole()
        );
        assert_eq!(block_on(hybrid.find(&owner, &lookup)).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn every_change_changes_the_version() {
    let owner = Owner::local();
    let index = WordIndex::new(WordOptions::default()).unwrap();
    let version = || block_on(index.version(&owner)).unwrap();
    let mut versions = vec![version()];
    index.add(&owner, [passage(1, "tea")]);
    versions.push(version());
    index.add(&owner, [passage(1, "tea").metadata("a", 1)]);
    versions.push(version());
    index.add(&owner, [passage(2, "tea")]);
    versions.push(version());
    let different: std::collections::HashSet<_> = versions.iter().collect();
    assert_eq!(different.len(), versions.len());
    index.remove(&owner, ["2"]);
    assert_eq!(version(), versions[2]);
}

/// Gives each text a vector of random numbers.
#[derive(Debug)]
struct NoEmbedder(usize);

#[async_trait::async_trait]
impl Embedder for NoEmbedder {
    fn digest(&self) -> Digest {
        Digest::of(b"none")
    }

    fn dimensions(&self) -> usize {
        self.0
    }

    async fn embed(&self, _texts: &[&str], _kind: TextKind) -> Result<Embeddings> {
        Err(Error::new(ErrorKind::Model, "there is no model"))
    }
}

proptest! {
    /// The similarities are dot products, for any number of dimensions, in memory and in a file.
    #[test]
    fn similarities_are_dot_products(
        (query, rows) in (1..70_usize).prop_flat_map(|dimensions| {
            let vector = prop::collection::vec(-1.0..1.0_f32, dimensions);
            (vector.clone(), prop::collection::vec(vector, 0..20))
        }),
    ) {
        let folder = tempfile::tempdir().unwrap();
        for (format, tolerance) in [(VectorFormat::F32, 1e-4), (VectorFormat::Int8, 0.02)] {
            let mut vectors = Vectors::new(query.len(), format).unwrap();
            for row in &rows {
                vectors.push(row).unwrap();
            }
            let similarities = vectors.similarities(&query).unwrap();
            for (row, similarity) in rows.iter().zip(&similarities) {
                let dot: f32 = query.iter().zip(row).map(|(left, right)| left * right).sum();
                let size = query.len() as f32;
                prop_assert!((dot - similarity).abs() < tolerance * size.sqrt(), "{} is not {}", similarity, dot);
            }
            let path = folder.path().join("vectors");
            vectors.write(&mut std::fs::File::create(&path).unwrap()).unwrap();
            let mut opened = Vectors::open(&path).unwrap();
            prop_assert_eq!(opened.similarities(&query).unwrap(), similarities);
            opened.push(&query).unwrap();
            prop_assert_eq!((opened.len(), Vectors::open(&path).unwrap().len()), (rows.len() + 1, rows.len()));
        }
    }

    /// A damaged file is an error or other numbers, never a panic.
    #[test]
    fn any_file_of_vectors_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), is_headed in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors");
        let mut file = if is_headed { b"ALQVEC\x00\x01".to_vec() } else { Vec::new() };
        file.extend(bytes);
        std::fs::write(&path, file).unwrap();
        if let Ok(vectors) = Vectors::open(&path) {
            prop_assert!(vectors.similarities(&vec![1.0; vectors.dimensions()]).is_ok());
        }
    }

    /// What was added and removed leaves no trace: scores are those of an index with the rest alone.
    #[test]
    fn removed_passages_leave_no_trace(changes in prop::collection::vec((0..6_usize, prop::option::of("(tea|cup|milk)( (tea|cup|milk)){0,3}")), 0..20)) {
        let owner = Owner::local();
        let changed = WordIndex::new(WordOptions::default()).unwrap();
        let vectors = VectorIndex::new(Arc::new(NoEmbedder(2)), VectorFormat::F32).unwrap();
        let mut left = std::collections::BTreeMap::new();
        for (number, text) in changes {
            match text {
                Some(text) => {
                    let passage = passage(number, &text);
                    vectors.add_vectors(&owner, vec![(passage.clone(), vec![number as f32, 1.0])]).unwrap();
                    changed.add(&owner, [passage.clone()]);
                    left.insert(number, passage);
                }
                None => {
                    let is_known = usize::from(left.remove(&number).is_some());
                    prop_assert_eq!(changed.remove(&owner, [number.to_string().as_str()]), is_known);
                    prop_assert_eq!(vectors.remove(&owner, [number.to_string().as_str()]), is_known);
                }
            }
        }
        let fresh = WordIndex::new(WordOptions::default()).unwrap();
        fresh.add(&owner, left.values().cloned());
        let lookup = Lookup::new("tea cup cup").limit(10);
        let found = block_on(changed.find(&owner, &lookup)).unwrap();
        prop_assert_eq!(found, block_on(fresh.find(&owner, &lookup)).unwrap());
        let found = vectors.nearest(&owner, &[1.0, 0.0], &lookup).unwrap();
        let mut expected: Vec<_> = left.keys().map(usize::to_string).collect();
        expected.reverse();
        prop_assert_eq!(ids(&found), expected);
    }

    /// A joined list has each passage once, and each of its scores is the sum of what its lists give.
    #[test]
    fn fusion_adds_ranks(lists in prop::collection::vec((0.0..2.0_f64, prop::collection::vec(0..20_usize, 0..15)), 0..4)) {
        let mut expected = std::collections::BTreeMap::new();
        let mut given = Vec::new();
        for (weight, numbers) in lists {
            let mut list: Vec<Passage> = Vec::new();
            for number in numbers {
                if list.iter().all(|passage| passage.id != number.to_string()) {
                    list.push(passage(number, ""));
                    *expected.entry(number.to_string()).or_insert(0.0) += weight / (10.0 + list.len() as f64);
                }
            }
            given.push((weight, list));
        }
        let fused = fuse(given, 100);
        prop_assert_eq!(fused.len(), expected.len());
        for pair in fused.windows(2) {
            prop_assert!((pair[1].score, &pair[0].id) < (pair[0].score, &pair[1].id) || pair[0].score > pair[1].score);
        }
        for passage in fused {
            prop_assert!((passage.score - expected[&passage.id]).abs() < 1e-12);
        }
    }
}
