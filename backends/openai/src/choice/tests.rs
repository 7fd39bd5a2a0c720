//! Laws of the choice.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_precision_loss)] // a test may panic

use proptest::prelude::*;

use super::{Candidate, best, common_prefix, common_suffix, digest, stem};

const ADDRESSES: [&str; 4] = ["http://a:1", "http://b:1", "http://c:1", "http://d:1"];

fn idle(weights: &[u32]) -> Vec<Candidate<'static>> {
    let candidates = ADDRESSES.iter().zip(weights);
    candidates
        .map(|(address, weight)| Candidate { address, weight: *weight, in_flight: 0, held: 0 })
        .collect()
}

fn candidates() -> impl Strategy<Value = Vec<Candidate<'static>>> {
    let one = (1..5_u32, 0..6_usize, prop_oneof![Just(0_usize), 0..100_usize]);
    prop::collection::vec(one, 1..=4).prop_map(|drawn| {
        let candidates = ADDRESSES.iter().zip(drawn);
        candidates
            .map(|(address, (weight, in_flight, held))| Candidate { address, weight, in_flight, held })
            .collect()
    })
}

#[test]
fn stems_are_spread_by_weights() {
    for weights in [&[1, 1][..], &[3, 1], &[1, 2, 3, 4], &[1, 1, 1, 97]] {
        let candidates = idle(weights);
        let mut counts = vec![0_u32; weights.len()];
        for seed in 0..10_000 {
            counts[best(&candidates, &digest(&[seed])).unwrap()] += 1;
        }
        let all: u32 = weights.iter().sum();
        for (count, weight) in counts.iter().zip(weights) {
            let share = f64::from(*weight) / f64::from(all);
            let found = f64::from(*count) / 10_000.0;
            // Four standard deviations of a share of 10,000.
            let tolerance = 4.0 * (share * (1.0 - share) / 10_000.0).sqrt();
            assert!((found - share).abs() < tolerance, "{weights:?} gave {counts:?}");
        }
    }
}

#[test]
fn a_stem_ends_where_the_first_reply_begins() {
    // 9 8 7 begins a reply, and 1 2 is the system prompt.
    let first = [1, 2, 50, 9, 8, 7];
    let later = [1, 2, 50, 9, 8, 7, 30, 31, 5, 51, 9, 8, 7];
    assert_eq!((stem(&first, 0), stem(&later, 0)), (6, 6));
    assert_eq!((stem(&first, 2), stem(&later, 2)), (6, 6));
    // The beginning of a conversation has an example that all conversations have.
    let example = [1, 40, 9, 8, 7, 41, 5, 50, 9, 8, 7, 30, 5, 51, 9, 8, 7];
    assert_eq!((stem(&example, 0), stem(&example, 7)), (5, 11));
    assert_eq!((stem(&[], 0), stem(&[1, 2], 9), stem(&[9, 8, 7], 90)), (0, 2, 3));
}

proptest! {
    #[test]
    fn without_a_server_only_its_own_stems_move(
        weights in prop::collection::vec(1..9_u32, 2..=4),
        removed in 0..4_usize,
        seeds in prop::collection::vec(any::<u32>(), 50),
    ) {
        let all = idle(&weights);
        let removed = removed % all.len();
        let mut fewer = all.clone();
        let gone = fewer.remove(removed).address;
        for seed in seeds {
            let before = all[best(&all, &digest(&[seed])).unwrap()].address;
            let after = fewer[best(&fewer, &digest(&[seed])).unwrap()].address;
            prop_assert!(before == after || before == gone);
        }
    }

    #[test]
    fn the_order_of_servers_has_no_effect(candidates in candidates(), seed in any::<u32>()) {
        let chosen = candidates[best(&candidates, &digest(&[seed])).unwrap()].address;
        let mut reversed = candidates.clone();
        reversed.reverse();
        prop_assert_eq!(reversed[best(&reversed, &digest(&[seed])).unwrap()].address, chosen);
    }

    #[test]
    fn what_is_held_comes_before_load(candidates in candidates(), seed in any::<u32>()) {
        let chosen = candidates[best(&candidates, &digest(&[seed])).unwrap()];
        for other in &candidates {
            prop_assert!(other.held <= chosen.held);
            if other.held == chosen.held {
                let loads = (chosen.in_flight * other.weight as usize, other.in_flight * chosen.weight as usize);
                prop_assert!(loads.0 <= loads.1, "{:?} has less load than {:?}", other, chosen);
            }
        }
    }

    #[test]
    fn a_stem_stays_when_the_conversation_continues(
        beginning in prop::collection::vec(0..50_u32, 0..40),
        further in prop::collection::vec(0..50_u32, 0..80),
    ) {
        // Ids above 50 are control tokens, which no text has.
        let header = [51, 52, 53];
        let first = [&beginning[..], &header].concat();
        let later = [&first[..], &further, &header].concat();
        prop_assert_eq!(stem(&first, 0), first.len());
        prop_assert_eq!(stem(&later, 0), first.len());
        prop_assert_eq!(stem(&later, beginning.len()), first.len());
    }

    #[test]
    fn what_is_common_is_counted_exactly(
        common in prop::collection::vec(0..3_u32, 0..300),
        left in prop::collection::vec(0..3_u32, 0..300),
        right in prop::collection::vec(0..3_u32, 0..300),
    ) {
        let left = [&common[..], &left].concat();
        let right = [&common[..], &right].concat();
        let expected = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
        prop_assert_eq!(common_prefix(&left, &right), expected);
        let left: Vec<u32> = left.into_iter().rev().collect();
        let right: Vec<u32> = right.into_iter().rev().collect();
        prop_assert_eq!(common_suffix(&left, &right), expected);
    }
}
