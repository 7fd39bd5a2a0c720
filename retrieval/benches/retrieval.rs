//! How long an index of 10,000 passages and vectors of 100,000 take.
//!
//! `cargo bench -p alloquy-retrieval --bench retrieval` prints a Markdown table: medians, on one thread. Texts have words as frequent
//! as those of a language; vectors are random numbers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::Owner;
use alloquy_core::query::Filter;
use alloquy_retrieval::{
    Chunker, Document, Index, IndexOptions, Lookup, NgramEmbedder, Passage, Retriever, VectorFormat, Vectors,
    WordIndex, WordOptions,
};
use pollster::block_on;

const PASSAGES: usize = 10_000;
const VECTORS: usize = 100_000;
const DIMENSIONS: usize = 384;
/// How often a search is repeated.
const TIMES: usize = 101;

/// Random numbers that are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A number from 0 to 1.
    #[allow(clippy::cast_precision_loss)]
    fn part(&mut self) -> f64 {
        self.next() as f64 / f64::from(1_u32 << 31)
    }

    /// A word: the most frequent of 50,000 is one of ten words.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn word(&mut self) -> String {
        let rank = 50_000_f64.powf(self.part()) as u64;
        let mut word = String::new();
        let mut rest = rank * 7 + 11;
        while rest > 0 {
            word.push(char::from(b'a' + (rest % 26) as u8));
            rest /= 26;
        }
        word
    }

    fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

fn row(what: &str, time: Duration) {
    println!("| {what} | {time:.2?} |");
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let start = Instant::now();
        work();
        times.push(start.elapsed());
    }
    times.sort_unstable();
    times[TIMES / 2]
}

fn main() {
    println!("| what | median |\n|---|---|");
    let mut random = Random(1);
    words(&mut random);
    documents(&mut random);
    vectors(&mut random);
}

fn words(random: &mut Random) {
    let owner = Owner::local();
    let index = WordIndex::new(WordOptions::default()).unwrap();
    let mut passages = Vec::new();
    for number in 0..PASSAGES {
        passages.push(Passage::new(number.to_string(), random.text(150)).metadata("number", number));
    }
    let start = Instant::now();
    index.add(&owner, passages);
    row("adding 10,000 passages of 150 words to a `WordIndex`", start.elapsed());
    block_on(index.version(&owner)).unwrap();
    let questions: Vec<String> = (0..TIMES).map(|_| random.text(10)).collect();
    let mut next = questions.iter().cycle();
    let time = median(|| {
        let lookup = Lookup::new(next.next().unwrap()).limit(10);
        black_box(block_on(index.find(&owner, &lookup)).unwrap());
    });
    row("a question of 10 words, of 10,000 passages", time);
    let time = median(|| {
        let lookup = Lookup::new(next.next().unwrap()).filter(Filter::equals("number", 17));
        black_box(block_on(index.find(&owner, &lookup)).unwrap());
    });
    row("the same with a filter that one passage passes", time);
}

fn documents(random: &mut Random) {
    let owner = Owner::local();
    let folder = tempfile::tempdir().unwrap();
    let mut documents = Vec::new();
    for number in 0..PASSAGES / 10 {
        let mut text = String::new();
        for part in 0..10 {
            text += &format!("# Part {part}\n\n{}\n\n", random.text(150));
        }
        documents.push(Document::markdown(format!("{number}.md"), text));
    }
    let large = random.text(180_000);
    let start = Instant::now();
    black_box(Chunker::default().passages(&Document::text("large", large)));
    row("cutting a document of 1 MB", start.elapsed());

    let open = || {
        Index::open(folder.path(), IndexOptions::default(), Some(Arc::new(NgramEmbedder::new(DIMENSIONS))))
            .unwrap()
    };
    let index = open();
    let start = Instant::now();
    block_on(index.add(&owner, documents.clone(), &|_| {})).unwrap();
    row(
        "adding 1,000 documents, 10,000 passages, to an `Index`, with vectors of groups of characters",
        start.elapsed(),
    );
    let start = Instant::now();
    block_on(index.add(&owner, documents, &|_| {})).unwrap();
    row("adding the same again", start.elapsed());
    let index = open();
    let start = Instant::now();
    block_on(index.words().find(&owner, &Lookup::new("tea"))).unwrap();
    row("opening it", start.elapsed());
    for (name, retriever) in
        [("words", index.words()), ("vectors", index.vectors().unwrap()), ("both", index.hybrid())]
    {
        let lookup = Lookup::new(random.text(10)).limit(10);
        let time = median(|| {
            black_box(block_on(retriever.find(&owner, &lookup)).unwrap());
        });
        row(&format!("a question of 10 words by {name}"), time);
    }
}

#[allow(clippy::cast_possible_truncation)]
fn vectors(random: &mut Random) {
    let folder = tempfile::tempdir().unwrap();
    for format in [VectorFormat::F32, VectorFormat::Int8] {
        let mut vectors = Vectors::new(DIMENSIONS, format).unwrap();
        let mut vector = vec![0.0_f32; DIMENSIONS];
        for _ in 0..VECTORS {
            for number in &mut vector {
                *number = (random.part() - 0.5) as f32;
            }
            vectors.push(&vector).unwrap();
        }
        let path = folder.path().join(format!("{format:?}"));
        vectors.write(&mut std::io::BufWriter::new(std::fs::File::create(&path).unwrap())).unwrap();
        let vectors = Vectors::open(&path).unwrap();
        let time = median(|| {
            black_box(vectors.similarities(&vector).unwrap());
        });
        row(&format!("the similarities of 100,000 vectors of 384 numbers of a file, {format:?}"), time);
    }
}
