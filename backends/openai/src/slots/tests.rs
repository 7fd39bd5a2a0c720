//! The order of requests, and what is believed of slots, against a server that is played here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use alloquy_core::tokenizer::TokenId;
use proptest::prelude::*;

use super::held::Held;
use super::line::{Line, Next, OVERTAKERS, Wish};

fn wish(prompt: &[TokenId], limit: usize) -> Wish {
    Wish::reply(None, prompt, limit)
}

/// A prompt of one conversation: its stem and its own end.
fn prompt(stem: TokenId, length: usize, end: TokenId) -> Vec<TokenId> {
    let mut ids = vec![1];
    ids.extend(std::iter::repeat_n(stem, length));
    ids.extend([end; 20]);
    ids
}

fn common(left: &[TokenId], right: &[TokenId]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// Runs a request to its end, and returns its slot and what was held of its prompt.
fn run(line: &mut Line, ids: &[TokenId]) -> (usize, usize) {
    line.arrive(wish(ids, 4));
    let next = line.next().unwrap();
    line.end(next.started.slot, ids.to_vec());
    (next.started.slot, next.started.shared)
}

#[test]
fn a_branch_goes_to_the_slot_with_its_stem() {
    let mut line = Line::new(2);
    let (stem, _) = run(&mut line, &prompt(7, 100, 8));
    let (other, _) = run(&mut line, &prompt(9, 100, 8));
    assert_ne!(stem, other, "an unused slot comes first");
    assert_eq!(run(&mut line, &prompt(7, 100, 10)), (stem, 101));
    // What was used again is replaced last, although it was used before the other one.
    for unrelated in 20..30 {
        assert_eq!(run(&mut line, &prompt(unrelated, 100, 8)), (other, 1));
    }
    assert_eq!(run(&mut line, &prompt(7, 100, 11)), (stem, 101));
}

#[test]
fn what_was_used_again_gives_way_once_all_was() {
    let mut line = Line::new(2);
    let (first, _) = run(&mut line, &prompt(7, 100, 8));
    run(&mut line, &prompt(7, 100, 9));
    let (second, _) = run(&mut line, &prompt(30, 100, 8));
    assert_eq!(run(&mut line, &prompt(30, 100, 9)), (second, 101));
    assert_eq!(run(&mut line, &prompt(40, 100, 8)).0, first, "the least recently used one");
}

#[test]
fn a_conversation_that_begins_like_another_does_not_replace_it() {
    let mut line = Line::new(3);
    // Instructions of 100 tokens, and conversations of 300.
    let instructions = prompt(7, 100, 8);
    let one = [&*instructions, &[20; 180]].concat();
    let other = [&*instructions, &[30; 180]].concat();
    let (first, _) = run(&mut line, &one);
    let (second, _) = run(&mut line, &other);
    assert_ne!(first, second);
    let (third, _) = run(&mut line, &[&*instructions, &[40; 180]].concat());
    assert!(third != first && third != second, "an unused slot");
    // Then the least recently used one, although the other begins with one token more.
    let mut next = [&*instructions, &[30], &[50; 179]].concat();
    assert_eq!(run(&mut line, &next), (first, 121));
    // A conversation continues where it is.
    next.extend([51; 40]);
    assert_eq!(run(&mut line, &next), (first, 301));
}

#[test]
fn prompts_with_another_adapter_share_nothing() {
    let mut line = Line::new(2);
    let ids = prompt(7, 100, 8);
    for (adapter, shared) in [(None, 0), (Some("poet"), 0), (Some("poet"), 122), (Some("judge"), 0)] {
        line.arrive(Wish::reply(adapter, &ids, 4));
        let next = line.next().unwrap();
        assert_eq!((next.started.shared, next.adapter.is_some()), (shared, adapter.is_some()), "{adapter:?}");
        line.end(next.started.slot, next.adapter.into_iter().chain(ids.clone()).collect());
    }
}

#[test]
fn a_small_share_decides_nothing() {
    let mut line = Line::new(2);
    let (first, _) = run(&mut line, &prompt(7, 300, 8));
    // The first token alone is the same.
    assert_ne!(run(&mut line, &prompt(9, 300, 8)).0, first);
}

#[test]
fn a_request_waits_for_its_stem_where_that_is_cheaper() {
    // A stem, the limit of the running reply, and whether a second request waits for it.
    let cases = [(400, 4, true), (400, 49, true), (400, 52, false), (20, 4, false), (4_000, 100, true)];
    for (stem, limit, waits) in cases {
        let mut line = Line::new(2);
        line.arrive(wish(&prompt(7, stem, 8), limit));
        let first = line.next().unwrap().started.slot;
        line.arrive(wish(&prompt(7, stem, 9), limit));
        let next = line.next().map(|next| next.started.slot);
        assert_eq!(next.is_none(), waits, "a stem of {stem}, and replies of {limit}");
        assert_ne!(next, Some(first));
    }
}

#[test]
fn a_request_does_not_wait_for_a_reply_that_is_longer_than_expected() {
    let mut line = Line::new(2);
    line.arrive(wish(&prompt(7, 2_000, 8), 5_000));
    let running = line.next().unwrap().started;
    line.arrive(wish(&prompt(7, 2_000, 9), 100));
    for said in [0, 100, 200] {
        running.said.store(said, Ordering::Relaxed);
        assert!(line.next().is_none(), "after {said} tokens");
    }
    running.said.store(300, Ordering::Relaxed);
    assert_ne!(line.next().unwrap().started.slot, running.slot);
}

#[test]
fn those_who_wait_for_one_slot_count_each_other() {
    let mut line = Line::new(2);
    run(&mut line, &prompt(7, 400, 8));
    for branch in 10..30 {
        line.arrive(wish(&prompt(7, 400, branch), 10));
    }
    let first = line.next().unwrap().started;
    // Some wait for the stem. To wait for all of them would take longer than to compute it again.
    let second = line.next().unwrap().started;
    assert_eq!((first.shared, second.shared), (401, 0));
    assert!(line.next().is_none());
}

#[test]
fn the_longest_held_prefix_goes_first() {
    let mut line = Line::new(1);
    run(&mut line, &prompt(7, 100, 8));
    let other = line.arrive(wish(&prompt(9, 100, 8), 4));
    let branch = line.arrive(wish(&prompt(7, 100, 9), 4));
    let next = line.next().unwrap();
    assert_eq!(next.ticket, branch);
    line.end(0, prompt(7, 100, 9));
    assert_eq!(line.next().unwrap().ticket, other);
}

#[test]
fn no_request_waits_for_ever() {
    let mut line = Line::new(1);
    run(&mut line, &prompt(7, 100, 8));
    let other = line.arrive(wish(&prompt(9, 100, 8), 4));
    let mut before = 0;
    loop {
        line.arrive(wish(&prompt(7, 100, 10 + before), 4));
        let next = line.next().unwrap();
        line.end(0, prompt(7, 100, 10 + before));
        if next.ticket == other {
            break;
        }
        before += 1;
    }
    assert_eq!(before as usize, OVERTAKERS);
}

#[test]
fn a_slot_that_is_saved_does_not_change() {
    let mut line = Line::new(1);
    run(&mut line, &prompt(7, 100, 8));
    line.arrive(wish(&prompt(7, 100, 9), 4));
    let about = line.arrive(Wish::Only(0));
    let next = line.next().unwrap();
    assert_eq!((next.ticket, next.kept), (about, None));
    assert!(line.next().is_none());
    line.unlock(0);
    assert_eq!(line.next().unwrap().started.shared, 101);
}

#[test]
fn a_slot_keeps_at_least_what_it_shared() {
    let mut held = Held::new(1);
    held.start(0, &[1, 2, 3, 4], 1);
    held.end(0, vec![1, 2, 3, 4]);
    assert_eq!(held.start(0, &[1, 2, 9, 9], 1).shared, 2);
    assert_eq!(held.longest(&[1, 2, 9, 9]), Some((0, 4)), "it will hold the prompt");
}

/// What happens to the line.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive {
        stem: TokenId,
        length: usize,
        end: TokenId,
        limit: usize,
    },
    Save(usize),
    /// A waiting request is cancelled.
    Leave(usize),
    /// A running reply has so many tokens.
    Say {
        which: usize,
        tokens: usize,
    },
    /// A running request ends: as a whole, or before the prompt is computed.
    End {
        which: usize,
        is_whole: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (2_u32..6, 0_usize..60, 10_u32..14, 1_usize..40)
            .prop_map(|(stem, length, end, limit)| Step::Arrive { stem, length, end, limit }),
        1 => (0_usize..4).prop_map(Step::Save),
        1 => (0_usize..8).prop_map(Step::Leave),
        1 => (0_usize..4, 0_usize..500).prop_map(|(which, tokens)| Step::Say { which, tokens }),
        4 => (0_usize..8, any::<bool>()).prop_map(|(which, is_whole)| Step::End { which, is_whole }),
    ]
}

/// A server with the line before it.
struct Play {
    line: Line,
    /// What the slots hold in truth.
    slots: Vec<Vec<TokenId>>,
    /// The requests that wait, with how many later ones have gone before them.
    waiting: BTreeMap<u64, (Wish, usize)>,
    running: Vec<(Next, Wish)>,
}

impl Play {
    fn new(slots: usize) -> Self {
        let line = Line::new(slots);
        Self { line, slots: vec![Vec::new(); slots], waiting: BTreeMap::new(), running: Vec::new() }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Arrive { stem, length, end, limit } => self.arrive(wish(&prompt(stem, length, end), limit)),
            Step::Save(slot) => self.arrive(Wish::Only(slot % self.slots.len())),
            Step::Leave(which) => {
                if let Some(ticket) = self.waiting.keys().nth(which).copied() {
                    self.waiting.remove(&ticket);
                    self.line.leave(ticket);
                }
            }
            Step::Say { which, tokens } => {
                if let Some((next, _)) = self.running.get(which) {
                    next.started.said.store(tokens, Ordering::Relaxed);
                }
            }
            Step::End { which, is_whole } => self.end(which, is_whole),
        }
        self.start();
    }

    fn arrive(&mut self, wish: Wish) {
        let ticket = self.line.arrive(wish.clone());
        self.waiting.insert(ticket, (wish, 0));
    }

    fn start(&mut self) {
        while let Some(next) = self.line.next() {
            let (wish, _) = self.waiting.remove(&next.ticket).expect("it waits");
            if let Wish::Reply { prompt, .. } = &wish {
                for (_, overtaken) in self.waiting.range_mut(..next.ticket).map(|(_, waiting)| waiting) {
                    *overtaken += 1;
                }
                let held = &self.slots[next.started.slot];
                assert!(next.started.shared <= common(held, prompt), "the belief is no more than the truth");
            }
            assert!(self.running.iter().all(|(other, _)| other.started.slot != next.started.slot));
            self.running.push((next, wish));
        }
        for (wish, overtaken) in self.waiting.values() {
            assert!(matches!(wish, Wish::Only(_)) || *overtaken <= OVERTAKERS, "{wish:?}");
        }
        assert!(self.waiting.is_empty() || !self.running.is_empty(), "somebody always runs");
    }

    fn end(&mut self, which: usize, is_whole: bool) {
        if which >= self.running.len() {
            return;
        }
        let (next, wish) = self.running.remove(which);
        let slot = next.started.slot;
        let Wish::Reply { prompt, .. } = wish else { return self.line.unlock(slot) };
        // Of a request that ended early, the server has at least the prefix that it did not compute.
        let held = if is_whole { prompt.to_vec() } else { next.kept.unwrap() };
        self.slots[slot] = if is_whole { [&*prompt, &[99]].concat() } else { held.clone() };
        self.line.end(slot, held);
    }
}

proptest! {
    #[test]
    fn requests_are_served_in_bounds(slots in 1_usize..4, steps in prop::collection::vec(step(), 1..200)) {
        let mut play = Play::new(slots);
        for step in steps {
            play.take(step);
        }
        // Whatever waits is served once the others end.
        for _ in 0..400 {
            play.take(Step::End { which: 0, is_whole: true });
        }
        prop_assert!(play.waiting.is_empty() && play.running.is_empty());
    }
}
