//! Computes texts in batches: those of similar lengths together, because shorter ones are filled up to the longest.

use alloquy_core::Result;
use alloquy_model_files::TextTokens;

use super::background::Waiting;

/// How many tokens are computed at once, with those that fill shorter texts. More are not faster on a processor, whose caches then
/// no longer hold what a layer passes to the next.
const TOKENS: usize = 1_024;

/// The texts of one run: their indices, and the length of the longest.
#[derive(Debug, PartialEq, Eq)]
struct Batch {
    texts: Vec<usize>,
    width: usize,
}

/// What was computed of some texts, in their order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Computed<T> {
    /// `None` for a text without tokens.
    pub(super) results: Vec<Option<T>>,
    /// The indices of texts that are too long.
    pub(super) cut: Vec<usize>,
}

/// Encodes texts, and computes them in batches, or each alone. `compute` receives the texts of a batch and the length of the longest, and
/// returns a result for each.
pub(super) fn compute_batches<T: Clone>(
    texts: &[String],
    are_alone: bool,
    waiting: &Waiting,
    encode: impl Fn(&str) -> Result<TextTokens>,
    compute: impl Fn(&[&TextTokens], usize) -> Result<Vec<T>>,
) -> Result<Computed<T>> {
    let mut encoded = Vec::with_capacity(texts.len());
    let mut cut = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        waiting.check()?;
        let tokens = encode(text)?;
        if tokens.is_cut {
            cut.push(index);
        }
        encoded.push(tokens);
    }
    let mut results = vec![None; texts.len()];
    let lengths: Vec<usize> = encoded.iter().map(|tokens| tokens.ids.len()).collect();
    for batch in batches(&lengths, are_alone) {
        waiting.check()?;
        let rows: Vec<&TextTokens> = batch.texts.iter().filter_map(|&text| encoded.get(text)).collect();
        for (&text, result) in batch.texts.iter().zip(compute(&rows, batch.width)?) {
            if let Some(place) = results.get_mut(text) {
                *place = Some(result);
            }
        }
    }
    Ok(Computed { results, cut })
}

/// Divides texts with these lengths; those without tokens are in no batch. Each is alone where rows change each other's results.
fn batches(lengths: &[usize], are_alone: bool) -> Vec<Batch> {
    let mut order: Vec<(usize, usize)> = Vec::new();
    for (index, &length) in lengths.iter().enumerate() {
        if length > 0 {
            order.push((length, index));
        }
    }
    // The longest first: then the first text of a batch has its width.
    order.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)));
    let mut batches: Vec<Batch> = Vec::new();
    for (length, index) in order {
        match batches.last_mut() {
            Some(batch) if !are_alone && (batch.texts.len() + 1) * batch.width <= TOKENS => {
                batch.texts.push(index);
            }
            _ => batches.push(Batch { texts: vec![index], width: length }),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use alloquy_core::ErrorKind;

    use super::*;

    /// As many tokens as the text has letters, at most 3.
    fn encoded(text: &str) -> Result<TextTokens> {
        let mut tokens = TextTokens::default();
        tokens.ids.extend(text.bytes().take(3).map(u32::from));
        tokens.is_cut = text.len() > 3;
        Ok(tokens)
    }

    fn texts() -> Vec<String> {
        ["a", "", "bbbb", "cc"].map(str::to_owned).to_vec()
    }

    #[test]
    fn results_are_in_the_order_of_texts() {
        for are_alone in [false, true] {
            let computed =
                compute_batches(&texts(), are_alone, &Waiting::default(), encoded, |rows, width| {
                    assert!(rows.iter().all(|row| row.ids.len() <= width));
                    Ok(rows.iter().map(|row| row.ids.len()).collect())
                });
            let expected = Computed { results: vec![Some(1), None, Some(3), Some(2)], cut: vec![2] };
            assert_eq!(computed.unwrap(), expected);
        }
    }

    #[test]
    fn no_batch_is_computed_after_the_caller_stopped_waiting() {
        let waiting = Waiting::default();
        let runs = Cell::new(0);
        let computed = compute_batches(&texts(), true, &waiting, encoded, |rows, _| {
            runs.set(runs.get() + 1);
            waiting.end();
            Ok(vec![(); rows.len()])
        });
        assert_eq!((computed.unwrap_err().kind(), runs.get()), (ErrorKind::Cancelled, 1));
    }

    #[test]
    fn every_text_with_tokens_is_in_one_batch_that_is_wide_enough() {
        let lengths: Vec<usize> = (0..500).map(|index| index * 7 % 301).collect();
        for are_alone in [false, true] {
            let mut seen = Vec::new();
            for batch in batches(&lengths, are_alone) {
                assert!(batch.texts.len() == 1 || batch.texts.len() * batch.width <= TOKENS);
                assert!(!are_alone || batch.texts.len() == 1);
                assert_eq!(batch.texts.iter().map(|&text| lengths[text]).max(), Some(batch.width));
                seen.extend(batch.texts);
            }
            seen.sort_unstable();
            let expected: Vec<usize> = (0..500).filter(|&index| lengths[index] > 0).collect();
            assert_eq!(seen, expected);
        }
        assert_eq!(batches(&[], false), []);
    }
}
