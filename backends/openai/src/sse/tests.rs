//! Events are the same however their bytes are cut, and no bytes panic.
#![allow(clippy::unwrap_used)] // a test may panic

use proptest::prelude::*;

use super::{EVENT, EventReader};

fn read(pieces: &[&[u8]]) -> Vec<String> {
    let mut reader = EventReader::default();
    let mut events = Vec::new();
    for piece in pieces {
        reader.push(piece, &mut events).unwrap();
    }
    events
}

#[test]
fn lines_end_in_three_ways() {
    for stream in ["data: a\n\ndata: b\n\n", "data: a\r\n\r\ndata: b\r\n\r\n", "data: a\r\rdata: b\r\r"] {
        assert_eq!(read(&[stream.as_bytes()]), ["a", "b"]);
    }
}

#[test]
fn comments_and_other_fields_are_not_data() {
    assert_eq!(read(&[b": ping\n\nid: 7\nevent: x\ndata:a\ndata: b\n\n"]), ["a\nb"]);
}

#[test]
fn an_endless_event_is_an_error() {
    let mut reader = EventReader::default();
    let error = (0..=EVENT).find_map(|_| reader.push(b"x", &mut Vec::new()).err()).unwrap();
    assert!(error.to_string().contains("more than 4194304 bytes"), "{error}");
}

#[test]
fn bytes_that_are_not_text_are_an_error() {
    assert!(EventReader::default().push(b"data: \xFF\n", &mut Vec::new()).is_err());
}

proptest! {
    #[test]
    fn cuts_change_nothing(events in prop::collection::vec("[^\r\n]{0,12}", 0..6), cuts in prop::collection::vec(0_usize..200, 0..8)) {
        let stream: String = events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect();
        let bytes = stream.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(bytes.get(from..cut).unwrap());
            from = cut;
        }
        pieces.push(bytes.get(from..).unwrap());
        prop_assert_eq!(read(&pieces), read(&[bytes]));
        prop_assert_eq!(read(&[bytes]), events);
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut reader = EventReader::default();
        for piece in bytes.chunks(7) {
            let _ = reader.push(piece, &mut Vec::new());
        }
    }
}
