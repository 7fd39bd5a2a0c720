//! Stop texts: whatever the chunking, the reply ends where the text first occurs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use alloquy_core::StopStrings;
use proptest::prelude::*;

fn streamed(stops: &[String], chunks: &[String]) -> (String, bool) {
    let mut watch = StopStrings::new(stops.to_vec());
    let mut text = String::new();
    for chunk in chunks {
        let (settled, stopped) = watch.push(chunk);
        text += &settled;
        if stopped {
            return (text, true);
        }
    }
    (text + &watch.finish(), false)
}

fn whole(stops: &[String], text: &str) -> (String, bool) {
    // The first one to be complete counts, and of those that end together the one that begins first.
    let ends = stops.iter().filter_map(|stop| text.find(stop).map(|start| (start + stop.len(), start)));
    match ends.min() {
        Some((_, start)) => (text[..start].to_owned(), true),
        None => (text.to_owned(), false),
    }
}

#[test]
fn nothing_is_held_back_longer_than_it_may_become_a_stop_text() {
    let mut watch = StopStrings::new(["</s>".to_owned(), "USER:".to_owned()]);
    assert_eq!(watch.push("a </"), ("a ".to_owned(), false));
    assert_eq!(watch.push("b>"), ("</b>".to_owned(), false));
    assert_eq!(watch.push("U"), (String::new(), false));
    assert_eq!(watch.held(), 1);
    assert_eq!(watch.finish(), "U");
}

#[test]
fn without_stop_texts_everything_passes() {
    assert_eq!(StopStrings::default().push("anything"), ("anything".to_owned(), false));
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_reply(
        stops in prop::collection::vec("[abé]{1,4}", 1..2),
        chunks in prop::collection::vec("[abé]{0,3}", 0..12),
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
        prop_assert_eq!(stopped, stops.iter().any(|stop| said.contains(stop)));
        for stop in &stops {
            prop_assert!(!text.contains(stop));
        }
        if !stopped {
            prop_assert_eq!(text, said);
        }
    }
}
