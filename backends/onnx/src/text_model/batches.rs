//! Divides texts into batches: those of similar lengths together, because shorter ones are filled up to the longest.

/// How many tokens are computed at once, with those that fill shorter texts. More are not faster on a processor, whose caches then
/// no longer hold what a layer passes to the next.
const TOKENS: usize = 1_024;

/// The texts of one run: their indices, and the length of the longest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) texts: Vec<usize>,
    pub(super) width: usize,
}

/// Divides texts with these lengths; those without tokens are in no batch. Each is alone where rows change each other's results.
pub(super) fn batches(lengths: &[usize], are_alone: bool) -> Vec<Batch> {
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
    use super::*;

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
