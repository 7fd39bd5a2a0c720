//! How fast memory is read: each token of a reply reads all weights once, so nothing writes faster than that.

use std::time::Instant;

/// Far more than any cache holds.
const BYTES: usize = 1 << 30;
/// The best of so many: whatever else runs only makes it slower.
const ROUNDS: usize = 5;

/// Returns the bytes that so many threads read in a second.
pub(super) fn measured(threads: usize) -> f64 {
    let words = vec![1_u64; BYTES / size_of::<u64>()];
    (0..ROUNDS).map(|_| once(&words, threads.max(1))).fold(0.0, f64::max)
}

fn once(words: &[u64], threads: usize) -> f64 {
    let start = Instant::now();
    let sum: u64 = std::thread::scope(|scope| {
        let parts = words.chunks(words.len().div_ceil(threads));
        let readers: Vec<_> = parts.map(|part| scope.spawn(|| sum(part))).collect();
        readers.into_iter().filter_map(|reader| reader.join().ok()).fold(0, u64::wrapping_add)
    });
    // Used, so that it is computed.
    std::hint::black_box(sum);
    size_of_val(words) as f64 / start.elapsed().as_secs_f64()
}

/// Several sums at once, or the additions would take longer than the reading.
fn sum(words: &[u64]) -> u64 {
    let mut sums = [0_u64; 32];
    for chunk in words.chunks_exact(sums.len()) {
        for (sum, word) in sums.iter_mut().zip(chunk) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}
