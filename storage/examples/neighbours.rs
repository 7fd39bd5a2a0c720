//! Finds the nearest of many vectors by the index HNSW of pgvector, and compares that with reading all of them.
//!
//! `cargo run --example neighbours -- postgres://USER@HOST/DATABASE 100000` fills a schema of its own, `neighbours_passages`.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::Owner;
use alloquy_retrieval::{Lookup, NgramEmbedder, Passage};
use alloquy_storage::{PassageDatabase, PostgresPassageOptions, VectorSearch};

const DIMENSIONS: usize = 384;
/// Vectors are near one of these, as those of texts on one subject are.
const SUBJECTS: usize = 1_000;
const QUESTIONS: usize = 100;
const LIMIT: usize = 10;

/// Random numbers that are the same each time.
struct Random(u64);

impl Random {
    /// Returns a number from -1 to 1.
    #[allow(clippy::cast_precision_loss)]
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    }

    /// Returns a vector of length 1 near another one.
    fn near(&mut self, center: &[f32], distance: f32) -> Vec<f32> {
        let numbers: Vec<f32> = center.iter().map(|number| number + distance * self.next()).collect();
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        numbers.into_iter().map(|number| number / length).collect()
    }
}

/// Asks all questions, and returns what each found and the median of the times.
async fn ask(
    passages: &PassageDatabase,
    questions: &[Vec<f32>],
) -> alloquy_core::Result<(Vec<Vec<String>>, Duration)> {
    let lookup = Lookup::new("").limit(LIMIT);
    let mut found = Vec::new();
    let mut times = Vec::new();
    for question in questions {
        let start = Instant::now();
        let nearest = passages.nearest(&Owner::local(), question, &lookup).await?;
        times.push(start.elapsed());
        found.push(nearest.passages.into_iter().map(|passage| passage.id).collect());
    }
    times.sort();
    Ok((found, times.get(times.len() / 2).copied().unwrap_or_default()))
}

/// Returns which part of the nearest passages was found.
#[allow(clippy::cast_precision_loss)]
fn recall(found: &[Vec<String>], nearest: &[Vec<String>]) -> f64 {
    let mut both = 0;
    for (found, nearest) in found.iter().zip(nearest) {
        both += found.iter().filter(|id| nearest.contains(id)).count();
    }
    both as f64 / (nearest.len() * LIMIT) as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(server) = arguments.next() else {
        println!("usage: neighbours postgres://USER@HOST/DATABASE [NUMBER OF VECTORS]");
        return Ok(());
    };
    let count: usize = arguments.next().map_or(Ok(10_000), |count| count.parse())?;
    let sign = if server.contains('?') { '&' } else { '?' };
    let url = format!("{server}{sign}schema=neighbours");
    let mut random = Random(7);
    let centers: Vec<Vec<f32>> = (0..SUBJECTS).map(|_| random.near(&[0.0; DIMENSIONS], 1.0)).collect();
    let mut vectors = Vec::new();
    for (number, center) in centers.iter().cycle().take(count).enumerate() {
        vectors.push((Passage::new(format!("{number}"), "a text"), random.near(center, 0.06)));
    }
    let questions: Vec<Vec<f32>> =
        centers.iter().take(QUESTIONS).map(|center| random.near(center, 0.06)).collect();

    // Vectors that are known need an embedder only for its number of dimensions.
    let embedder = Arc::new(NgramEmbedder::new(DIMENSIONS));
    pollster::block_on(async {
        let mut options = PostgresPassageOptions::default();
        let exact = PassageDatabase::postgres(&url, options, Some(embedder.clone())).await?;
        let start = Instant::now();
        exact.add_vectors(&Owner::local(), vectors).await?;
        println!("{count} vectors were added in {:.1?}", start.elapsed());
        let (nearest, time) = ask(&exact, &questions).await?;
        println!("exact: {time:.2?} a question");

        for candidates in [40, 100, 200, 400] {
            options.search = VectorSearch::Hnsw { candidates };
            let start = Instant::now();
            // The first time, this makes the index.
            let indexed = PassageDatabase::postgres(&url, options, Some(embedder.clone())).await?;
            let opened = start.elapsed();
            let (found, time) = ask(&indexed, &questions).await?;
            let recall = recall(&found, &nearest);
            println!(
                "HNSW, {candidates} candidates: {time:.2?} a question, recall@{LIMIT} {recall:.3} (opened in {opened:.1?})"
            );
        }
        Ok(())
    })
}
