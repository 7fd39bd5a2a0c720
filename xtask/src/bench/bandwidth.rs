//! How fast memory is read: each token of a reply reads all weights once, so nothing writes faster than that.

use std::time::Instant;

/// Far more than any cache holds.
const BYTES: usize = 1 << 30;
/// The best of so many: whatever else runs only makes it slower.
const ROUNDS: usize = 5;

/// Returns the bytes that so many threads read in a second.
pub(super) fn measured(threads: usize) -> f64 {
    let bytes = vec![1_u8; BYTES];
    (0..ROUNDS).map(|_| once(&bytes, threads.max(1))).fold(0.0, f64::max)
}

/// Compares the two halves of each thread's part, which reads all of it: the C library does that as fast as memory gives
/// it, however this program was built.
fn once(bytes: &[u8], threads: usize) -> f64 {
    let start = Instant::now();
    let equal = std::thread::scope(|scope| {
        let parts = bytes.chunks(bytes.len().div_ceil(threads));
        let readers: Vec<_> = parts.map(|part| scope.spawn(|| halves_are_equal(part))).collect();
        readers.into_iter().all(|reader| reader.join().unwrap_or(false))
    });
    // Used, so that it is compared.
    std::hint::black_box(equal);
    bytes.len() as f64 / start.elapsed().as_secs_f64()
}

fn halves_are_equal(part: &[u8]) -> bool {
    let (left, right) = part.split_at(part.len() / 2);
    left == right
}
