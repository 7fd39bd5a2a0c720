//! Context shift: what a conversation goes on with when it outgrows its window.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used)]

use alloquy_core::ErrorKind;
use alloquy_templates::mlc::{ContextShift, Part, PartKind, PartLength, Restart};
use proptest::prelude::*;

const KINDS: [PartKind; 4] = [PartKind::Front, PartKind::System, PartKind::User, PartKind::Assistant];

/// Front, system text, turns, a question and a header, with so many tokens each.
fn conversation(lengths: &[usize]) -> Vec<PartLength> {
    let turns = [PartKind::User, PartKind::Assistant].into_iter().cycle();
    let kinds = [PartKind::Front, PartKind::System].into_iter().chain(turns);
    let mut parts: Vec<_> =
        kinds.zip(lengths).map(|(kind, tokens)| PartLength { kind, tokens: *tokens }).collect();
    if let Some(last) = parts.last_mut() {
        last.kind = PartKind::Header;
    }
    parts
}

fn policy(restart: Restart) -> ContextShift {
    ContextShift::new(100).with_mean_gen_len(20).with_fill_factor(0.3).with_restart(restart)
}

#[test]
fn a_shift_may_go_on_with_a_message_of_the_user() {
    let parts = conversation(&[1, 10, 10, 10, 10, 10, 10, 2]);
    assert_eq!(policy(Restart::AnyMessage).plan(&parts).unwrap().dropped(), 2..5);
    let shift = policy(Restart::UserMessage).plan(&parts).unwrap();
    assert_eq!((shift.kept, shift.restart, shift.tokens, shift.room), (2, 6, 23, 77));
}

#[test]
fn a_long_question_is_cut_behind_the_system_text() {
    let parts = conversation(&[1, 10, 200, 2]);
    let shift = policy(Restart::AnyMessage).plan(&parts).unwrap();
    assert_eq!((shift.restart, shift.cut, shift.tokens, shift.room), (2, 11..144, 80, 20));
    let shift = policy(Restart::AsMlc).plan(&parts).unwrap();
    assert_eq!((shift.restart, shift.cut, shift.tokens, shift.room), (1, 0..143, 80, 20));
}

#[test]
fn a_system_text_that_fills_the_window_is_an_error() {
    let error = policy(Restart::AnyMessage).plan(&conversation(&[1, 100, 10, 2])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow);
    insta::assert_snapshot!(error, @"the system text has 101 tokens, of a window of 100 tokens 20 are for the reply");
}

#[test]
fn nothing_comes_of_nothing() {
    let shift = policy(Restart::AnyMessage).plan(&[]).unwrap();
    assert_eq!((shift.kept, shift.restart, shift.tokens, shift.room), (0, 0, 0, 100));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_is_in_order_and_fits(
        lengths in prop::collection::vec(0_usize..60, 2..12),
        by_user in any::<bool>(),
    ) {
        let parts = conversation(&lengths);
        let restart = if by_user { Restart::UserMessage } else { Restart::AnyMessage };
        let Ok(shift) = policy(restart).plan(&parts) else {
            return Ok(());
        };
        prop_assert!(shift.kept <= shift.restart);
        prop_assert!(shift.restart + 2 <= parts.len().max(shift.kept + 2));
        prop_assert!(shift.tokens < 100);
        let lead: usize = lengths.iter().take(shift.kept).sum();
        prop_assert!(shift.cut.is_empty() || shift.cut.start == lead);
        let texts: Vec<_> = parts
            .iter()
            .enumerate()
            .map(|(number, part)| Part { kind: part.kind, text: format!("<{number}>") })
            .collect();
        let kept = (0..parts.len()).filter(|number| !shift.dropped().contains(number));
        let kept: String = kept.map(|number| format!("<{number}>")).collect();
        prop_assert_eq!(shift.text(&texts), kept);
    }

    #[test]
    fn any_list_of_parts_has_a_plan_or_an_error(
        parts in prop::collection::vec((prop::sample::select(&KINDS[..]), prop_oneof![0_usize..60, Just(usize::MAX)]), 0..8),
    ) {
        let parts: Vec<_> = parts.into_iter().map(|(kind, tokens)| PartLength { kind, tokens }).collect();
        for restart in [Restart::AnyMessage, Restart::UserMessage, Restart::AsMlc] {
            if let Err(error) = policy(restart).plan(&parts) {
                prop_assert_eq!(error.kind(), ErrorKind::ContextOverflow);
            }
        }
    }
}
