//! Fills independent rows of a tensor on several threads.
//!
//! Half of the time for a large tensor is spent on its memory, which the system allocates page by page as it is written. Several
//! threads wait for their pages in parallel.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope, available_parallelism, scope};

/// The most threads that fill rows; memory is not faster with more.
const THREADS: usize = 4;

/// How many values justify a thread.
const WORTH: usize = 1 << 18;

/// Calls `fill` for each row, with its number. Values after the last whole row stay as they are.
pub(crate) fn rows<T: Send>(values: &mut [T], length: usize, fill: impl Fn(usize, &mut [T]) + Sync) {
    if length == 0 {
        return;
    }
    let threads = available_parallelism().map_or(1, NonZero::get).min(THREADS).min(values.len() / WORTH + 1);
    let rows = Mutex::new(values.chunks_exact_mut(length).enumerate());
    if threads == 1 {
        return work(&rows, &fill);
    }
    scope(|scope| {
        for _ in 1..threads {
            helped(scope, || work(&rows, &fill));
        }
        work(&rows, &fill);
    });
}

/// Starts a thread. If the system refuses one, the other threads fill its rows.
fn helped<'scope>(scope: &'scope Scope<'scope, '_>, work: impl FnOnce() + Send + 'scope) {
    if Builder::new().name("media".to_owned()).spawn_scoped(scope, work).is_err() {
        // All rows are taken from one list, so none of them waits for this thread.
    }
}

fn work<'a, T: 'a>(
    rows: &Mutex<impl Iterator<Item = (usize, &'a mut [T])>>,
    fill: &(impl Fn(usize, &mut [T]) + Sync),
) {
    loop {
        // The iterator is intact after a panic in `fill`, which runs without the lock.
        let next = rows.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((index, row)) = next else { return };
        fill(index, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_filled_once() {
        for (length, count) in [(1, 3 << 19), (7, 200_000), (1 << 19, 5), (3, 0), (5, 1)] {
            let mut values = vec![0_u32; length * count + length / 2];
            rows(&mut values, length, |index, row| {
                row.iter_mut().for_each(|value| *value += index as u32 + 1);
            });
            let (whole, rest) = values.split_at(length * count);
            assert!(
                whole
                    .chunks(length)
                    .enumerate()
                    .all(|(index, row)| row.iter().all(|value| *value == index as u32 + 1))
            );
            assert!(rest.iter().all(|value| *value == 0));
        }
        rows(&mut [1], 0, |_, _| unreachable!());
    }
}
