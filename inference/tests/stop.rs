//! Stop texts: whatever the chunking, the reply ends where the text first occurs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::tokenizer::TokenId;
use alloquy_inference::{StopStrings, StopTokens};
use proptest::prelude::*;

fn streamed(stops: &[String], chunks: &[String]) -> (String, Option<String>) {
    let mut watch = StopStrings::new(stops.to_vec());
    let mut text = String::new();
    for chunk in chunks {
        let (settled, stopped) = watch.push(chunk);
        text += &settled;
        if stopped.is_some() {
            return (text, stopped);
        }
    }
    (text + &watch.finish(), None)
}

fn whole(stops: &[String], text: &str) -> (String, Option<String>) {
    // The first one to be complete counts, and of those that end together the one that begins first.
    let ends = stops.iter().filter_map(|stop| text.find(stop).map(|start| (start + stop.len(), start)));
    match ends.min() {
        Some((end, start)) => (text[..start].to_owned(), Some(text[start..end].to_owned())),
        None => (text.to_owned(), None),
    }
}

#[test]
fn nothing_is_held_back_longer_than_it_may_become_a_stop_text() {
    let mut watch = StopStrings::new(["</s>".to_owned(), "USER:".to_owned()]);
    assert_eq!(watch.push("a </"), ("a ".to_owned(), None));
    assert_eq!(watch.push("b>"), ("</b>".to_owned(), None));
    assert_eq!(watch.push("U"), (String::new(), None));
    assert_eq!(watch.held(), 1);
    assert_eq!(watch.finish(), "U");
}

#[test]
fn without_stop_texts_everything_passes() {
    assert_eq!(StopStrings::default().push("anything"), ("anything".to_owned(), None));
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_reply(
        stops in prop::collection::vec("[abé🦀]{1,4}", 1..5),
        chunks in prop::collection::vec("[abé🦀]{0,3}", 0..12),
    ) {
        prop_assert_eq!(streamed(&stops, &chunks), whole(&stops, &chunks.concat()));
    }

    #[test]
    fn several_stop_texts_never_leak_and_never_lose_text(
        stops in prop::collection::vec("[ab]{1,3}", 1..4),
        chunks in prop::collection::vec("[abc]{0,3}", 0..12),
    ) {
        let (text, stopped) = streamed(&stops, &chunks);
        let said = chunks.concat();
        prop_assert!(said.starts_with(&text));
        prop_assert_eq!(stopped.is_some(), stops.iter().any(|stop| said.contains(stop)));
        for stop in &stops {
            prop_assert!(!text.contains(stop));
        }
        if stopped.is_none() {
            prop_assert_eq!(text, said);
        }
    }

    #[test]
    fn sequences_of_tokens_end_where_one_of_them_first_does(
        stops in prop::collection::vec(prop::collection::vec(0_u32..3, 1..4), 0..4),
        tokens in prop::collection::vec(0_u32..4, 0..20),
    ) {
        let longest = |said: &[TokenId]| stops.iter().filter(|stop| said.ends_with(stop)).map(Vec::len).max();
        let expected = (1..=tokens.len()).find_map(|end| longest(&tokens[..end]).map(|length| end - length));
        let (kept, stopped) = kept(&stops, &tokens);
        prop_assert_eq!(stopped, expected.is_some());
        prop_assert_eq!(kept, &tokens[..expected.unwrap_or(tokens.len())]);
    }
}

fn kept(stops: &[Vec<TokenId>], tokens: &[TokenId]) -> (Vec<TokenId>, bool) {
    let mut watch = StopTokens::new(stops.to_vec());
    let mut kept = Vec::new();
    for &token in tokens {
        let (settled, stopped) = watch.push(token);
        kept.extend(settled);
        if stopped {
            return (kept, true);
        }
    }
    kept.extend(watch.finish());
    (kept, false)
}

#[test]
fn a_failed_partial_match_may_contain_the_beginning_of_another() {
    assert_eq!(kept(&[vec![1, 1, 2]], &[0, 1, 1, 1, 2, 9]), (vec![0, 1], true));
    assert_eq!(kept(&[vec![5], vec![7, 8, 9]], &[3, 6, 7, 8, 9, 10]), (vec![3, 6], true));
    assert_eq!(kept(&[vec![5], vec![7, 8, 9]], &[6, 7, 8]), (vec![6, 7, 8], false));
}
