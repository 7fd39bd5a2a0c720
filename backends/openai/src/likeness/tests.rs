//! The overlap of distributions, of which only the likeliest tokens are known.
#![allow(clippy::unwrap_used)] // a test may panic

use alloquy_core::sampling::TokenLogprob;
use proptest::prelude::*;

use super::{Likeness, Place, overlap};

fn list(probabilities: &[(u32, f64)]) -> Vec<TokenLogprob> {
    let mut list = Vec::new();
    for (token, probability) in probabilities {
        #[allow(clippy::cast_possible_truncation)] // a logarithm needs no more digits
        list.push(TokenLogprob::new(*token, probability.ln() as f32));
    }
    list
}

#[test]
fn lists_that_end_overlap_as_far_as_they_may() {
    let one = list(&[(1, 0.9), (2, 0.05)]);
    assert!((overlap(&one, &one) - 1.0).abs() < 1e-6);
    // Of token 3 the first list says that it is at most 0.05 likely, and the rest of both is 0.05 and 0.1.
    let other = list(&[(3, 0.8), (2, 0.1)]);
    let expected = (0.1 + 0.05) + 0.05 + 0.05;
    assert!((overlap(&one, &other) - expected).abs() < 1e-6, "{}", overlap(&one, &other));
    assert!(overlap(&list(&[(1, 1.0)]), &list(&[(2, 1.0)])) <= 1.0);
    // Nothing is known of flat distributions.
    let flat = |first: u32| list(&[(first, 0.01), (first + 1, 0.01)]);
    assert!(overlap(&flat(1), &flat(3)) > 0.95);
}

#[test]
fn a_likeness_without_probabilities_is_that_of_the_tokens() {
    let of = |tokens: &[u32]| Likeness {
        places: tokens.iter().map(|token| Place { token: *token, top: Vec::new() }).collect(),
    };
    assert_eq!(of(&[1, 2, 3, 4]).difference(&of(&[1, 7, 8, 9])), None);
    let message = of(&[1, 2, 3, 4]).difference(&of(&[6, 7, 8, 9])).unwrap();
    assert_eq!(message, "none of 4 likeliest tokens is the same");
    let mut known = of(&[1]);
    known.places.iter_mut().for_each(|place| place.top = list(&[(1, 0.9)]));
    assert_eq!(known.difference(&of(&[1])), None);
    assert!(known.difference(&of(&[2])).is_some());
}

proptest! {
    /// The overlap of whole distributions is never more than what is computed of their likeliest tokens.
    #[test]
    fn an_overlap_is_never_underestimated(weights in prop::collection::vec((0.001..1.0_f64, 0.001..1.0_f64), 6..40)) {
        let sums = weights.iter().fold((0.0, 0.0), |sums, (one, other)| (sums.0 + one, sums.1 + other));
        let mut exact = 0.0;
        let mut one = Vec::new();
        let mut other = Vec::new();
        for (token, (left, right)) in (0..).zip(&weights) {
            let (left, right) = (left / sums.0, right / sums.1);
            exact += left.min(right);
            one.push((token, left));
            other.push((token, right));
        }
        one.sort_by(|left, right| right.1.total_cmp(&left.1));
        other.sort_by(|left, right| right.1.total_cmp(&left.1));
        one.truncate(5);
        other.truncate(5);
        let found = overlap(&list(&one), &list(&other));
        prop_assert!(found >= exact - 1e-4, "{found} and not {exact}");
        prop_assert!((found - overlap(&list(&other), &list(&one))).abs() < 1e-9);
    }
}
