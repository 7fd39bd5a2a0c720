//! What every session must do.
//!
//! ```
//! use alloquy_engine::Engine;
//! use alloquy_core::tokenizer::TokenizerInput;
//! use alloquy_testing::{ScriptedEngine, laws};
//!
//! let engine = ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]);
//! let prompt = engine.tokenizer().encode(&[TokenizerInput::Text("<user>Hi<end><assistant>Hello")])?;
//! laws::session::all(&engine, &prompt, 0.0);
//! # Ok::<(), alloquy_core::Error>(())
//! ```

use std::time::Duration;

use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ErrorKind, Result};
use alloquy_engine::{BatchStep, CancelToken, Engine, Session};

mod snapshots;

/// Runs every law on sessions of `engine`, feeding `prompt`.
///
/// Logits that should agree may differ by `tolerance`, because of rounding. The likeliest token may not differ, so take a
/// prompt whose two best candidates are further apart than that. The prompt needs at least 9 tokens, and twice its length
/// must fit into the context.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
pub fn all(engine: &dyn Engine, prompt: &[TokenId], tolerance: f32) {
    let units: Vec<_> = prompt.iter().copied().map(PromptUnit::Token).collect();
    all_units(engine, &units, tolerance);
}

/// Runs every law as [`all`] does, feeding a prompt that may contain media.
///
/// The prompt needs at least 9 units, and twice its positions must fit into the context.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
pub fn all_units(engine: &dyn Engine, prompt: &[PromptUnit], tolerance: f32) {
    let context = engine.model().context_length;
    assert!(prompt.len() >= 9, "the laws need a prompt of at least 9 units, not {}", prompt.len());
    let positions: usize = prompt.iter().map(|unit| checked(engine.positions(unit))).sum();
    assert!(positions * 2 <= context, "twice the prompt must fit into the context of {context}");
    let laws = Laws { engine, units: prompt.to_vec(), tolerance };
    laws.a_session_starts_empty();
    laws.forward_gives_a_logit_for_every_token();
    laws.chunks_change_nothing();
    laws.the_logits_of_each_unit_are_those_after_it();
    laws.truncating_and_feeding_again_changes_nothing();
    laws.truncating_keeps_what_it_says();
    laws.a_session_says_where_it_goes_back_to();
    laws.a_fork_is_independent();
    laws.a_fork_and_its_trunk_see_nothing_of_each_other();
    laws.forks_that_step_together_see_nothing_of_each_other();
    laws.sessions_are_independent();
    laws.sessions_that_step_together_are_as_alone();
    laws.a_cancelled_forward_leaves_a_usable_session();
    laws.a_forward_cancelled_while_it_runs_leaves_a_usable_session();
    laws.an_overflow_appends_nothing();
    laws.nothing_to_forward_is_invalid();
    laws.a_restored_session_continues_like_the_original();
    laws.a_session_that_stepped_with_another_is_restored();
    laws.a_snapshot_is_of_the_units_alone();
    laws.a_state_of_other_units_is_refused();
}

struct Laws<'a> {
    engine: &'a dyn Engine,
    units: Vec<PromptUnit>,
    tolerance: f32,
}

impl Laws<'_> {
    fn a_session_starts_empty(&self) {
        assert_eq!(self.open().length(), 0, "a new session holds nothing");
    }

    fn forward_gives_a_logit_for_every_token(&self) {
        let logits = self.whole();
        assert_eq!(logits.len(), self.engine.model().vocabulary, "there is one logit for every token");
        assert!(logits.iter().all(|logit| !logit.is_nan()), "no logit is NaN");
    }

    fn chunks_change_nothing(&self) {
        for size in [1, 7, self.units.len() - 1] {
            let mut session = self.open();
            let logits = self.feed(session.as_mut(), 0, size);
            self.agree(&logits, &self.whole(), &format!("fed in chunks of {size} and fed whole"));
        }
    }

    fn the_logits_of_each_unit_are_those_after_it(&self) {
        let mut session = self.open();
        let mut rows = Vec::new();
        let (first, rest) = self.units.split_at(2);
        checked(session.forward(first, &CancelToken::default()));
        let keep = &mut |logits: &[f32]| rows.push(logits.to_vec());
        checked(session.forward_each(rest, &CancelToken::default(), keep));
        assert_eq!(rows.len(), rest.len(), "there are logits for each unit");
        assert_eq!(session.length(), self.units.len(), "every unit that was fed is cached");
        for (index, row) in rows.iter().enumerate() {
            let mut other = self.open();
            let units = self.units.get(..first.len() + index + 1).unwrap_or_default();
            let logits = checked(other.forward(units, &CancelToken::default())).to_vec();
            self.near(
                row,
                &logits,
                &format!("the logits of unit {index} of several and of the last of as many"),
            );
        }
        let logits = self.feed_one_more(session.as_mut());
        self.agree(
            &logits,
            &self.after_one_more(),
            "a session that gave all logits and one that gave the last ones",
        );
    }

    fn truncating_and_feeding_again_changes_nothing(&self) {
        let half = self.units.len() / 2;
        let all = self.units.len();
        for cut in [0, 1, half, all - 1] {
            let mut session = self.open();
            self.feed(session.as_mut(), 0, all);
            // Units that were cached and truncated must leave no trace: feed others, then truncate these too.
            let wrong: Vec<_> = self.units.iter().rev().cloned().collect();
            checked(session.forward(&wrong, &CancelToken::default()));
            let kept = checked(session.truncate(cut));
            let logits = self.feed(session.as_mut(), kept, 5);
            self.agree(&logits, &self.whole(), &format!("truncated to {cut} and fed again, and fed whole"));
        }
    }

    fn truncating_keeps_what_it_says(&self) {
        let mut session = self.open();
        self.feed(session.as_mut(), 0, self.units.len());
        let beyond = checked(session.truncate(self.units.len() + 10));
        assert_eq!(beyond, self.units.len(), "truncating beyond the end keeps everything");
        let kept = checked(session.truncate(3));
        assert!(kept <= 3, "truncating to 3 keeps at most 3, not {kept}");
        assert_eq!(session.length(), kept, "`length` is what `truncate` returned");
    }

    fn a_session_says_where_it_goes_back_to(&self) {
        let all = self.units.len();
        for cut in [0, 1, all / 2, all - 1, all, all + 5] {
            let mut session = self.open();
            self.feed(session.as_mut(), 0, 5);
            session.mark();
            let said = session.reaches(cut);
            assert_eq!(session.length(), all, "asking and marking change nothing");
            let mut fork = checked(session.fork());
            assert_eq!(checked(session.truncate(cut)), said, "`truncate` keeps what `reaches` says");
            assert_eq!(checked(fork.truncate(cut)), said, "a fork goes back to where its trunk does");
            if session.rewinds() {
                assert_eq!(said, cut.min(all), "a session that rewinds goes back to any length");
            }
        }
    }

    fn a_fork_is_independent(&self) {
        let mut trunk = self.open();
        let (first, rest) = self.units.split_at(self.units.len() / 2);
        checked(trunk.forward(first, &CancelToken::default()));
        let mut fork = checked(trunk.fork());
        assert_eq!(fork.length(), first.len(), "a fork holds what its trunk holds");
        let reversed: Vec<_> = rest.iter().rev().cloned().collect();
        checked(fork.forward(&reversed, &CancelToken::default()));
        let logits = checked(trunk.forward(rest, &CancelToken::default())).to_vec();
        self.agree(
            &logits,
            &self.whole(),
            "a trunk whose fork continued with other units and a session without a fork",
        );
        let kept = checked(fork.truncate(first.len()));
        drop(trunk);
        let logits = self.feed(fork.as_mut(), kept, rest.len());
        self.agree(
            &logits,
            &self.whole(),
            "a fork that was truncated and fed like its trunk and a session without one",
        );
    }

    /// Holds in either order of writing, and whichever of the two was truncated before.
    fn a_fork_and_its_trunk_see_nothing_of_each_other(&self) {
        let half = self.units.len() / 2;
        for back in [[0, 0], [half - 1, 0], [0, half - 1], [2, half - 1]] {
            for swapped in [false, true] {
                let mut trunk = self.open();
                self.feed_some(trunk.as_mut(), half);
                let fork = checked(trunk.fork());
                let mut pair = [trunk, fork];
                for (session, back) in pair.iter_mut().zip(back) {
                    checked(session.truncate(half - back));
                }
                pair.rotate_left(usize::from(swapped));
                self.feed_apart(pair);
            }
        }
    }

    /// Feeds the first session wrong units and the second the right ones, in turns, and truncates the first.
    ///
    /// A third session is a fork of the second and outlives both.
    fn feed_apart(&self, [mut first, mut second]: [Box<dyn Session>; 2]) {
        let third = checked(second.fork());
        let start = first.length();
        drop(checked(first.fork()));
        let wrong: Vec<_> = self.units.iter().rev().cloned().collect();
        let held = second.length();
        let end = self.units.len() - 2;
        let (early, late) = wrong.split_at(2);
        checked(first.forward(early, &CancelToken::default()));
        checked(second.forward(self.units.get(held..end).unwrap_or_default(), &CancelToken::default()));
        checked(first.forward(late, &CancelToken::default()));
        let logits = self.feed(second.as_mut(), end, 5);
        self.agree(&logits, &self.whole(), "a session whose trunk or fork was fed wrong units and one alone");
        let kept = checked(first.truncate(start));
        let logits = self.feed(first.as_mut(), kept, 5);
        self.agree(
            &logits,
            &self.whole(),
            "a session that was truncated while its fork continued and one alone",
        );
        drop(first);
        let logits = self.feed_one_more(second.as_mut());
        self.agree(
            &logits,
            &self.after_one_more(),
            "a session whose trunk or fork was dropped and one alone",
        );
        drop(second);
        let mut last = checked(third.fork());
        drop(third);
        let held = last.length();
        let logits = self.feed(last.as_mut(), held, 5);
        self.agree(&logits, &self.whole(), "a fork that outlived all others and a session alone");
    }

    /// One of several sessions that step together is forked, and the fork is fed wrong units in the same steps.
    fn forks_that_step_together_see_nothing_of_each_other(&self) {
        let half = self.units.len() / 2;
        let mut trunk = self.open();
        let mut other = self.open();
        self.feed_some(trunk.as_mut(), half);
        self.feed_some(other.as_mut(), half);
        let (stepped, rest) = self.units.split_at(half + 2);
        self.step(&mut [&mut *trunk, &mut *other], stepped.get(half..).unwrap_or_default());
        let mut fork = checked(trunk.fork());
        let mut last = checked(fork.fork());
        for (unit, wrong) in rest.iter().zip(self.units.iter().rev()) {
            let mut steps = [
                BatchStep { session: &mut *trunk, unit },
                BatchStep { session: &mut *fork, unit: wrong },
                BatchStep { session: &mut *other, unit: wrong },
            ];
            checked(self.engine.forward_many(&mut steps));
        }
        self.agree(trunk.logits(), &self.whole(), "a trunk that stepped with its fork and a session alone");
        let held = checked(fork.truncate(half));
        let logits = self.feed(fork.as_mut(), held, 5);
        self.agree(
            &logits,
            &self.whole(),
            "a fork that stepped with wrong units and was truncated and a session alone",
        );
        self.step(&mut [&mut *last, &mut *other], rest);
        self.agree(
            last.logits(),
            &self.whole(),
            "a fork that stepped later than its trunk and a session alone",
        );
        drop(last);
        let logits = self.feed_one_more(trunk.as_mut());
        self.agree(&logits, &self.after_one_more(), "a trunk whose forks were dropped and a session alone");
    }

    /// Feeds the first `count` units of the prompt.
    fn feed_some(&self, session: &mut dyn Session, count: usize) {
        checked(session.forward(self.units.get(..count).unwrap_or_default(), &CancelToken::default()));
    }

    fn sessions_are_independent(&self) {
        let mut left = self.open();
        let mut right = self.open();
        let (first, rest) = self.units.split_at(self.units.len() / 2);
        checked(left.forward(first, &CancelToken::default()));
        checked(right.forward(rest, &CancelToken::default()));
        let logits = checked(left.forward(rest, &CancelToken::default())).to_vec();
        self.agree(&logits, &self.whole(), "two sessions that take turns and one alone");
    }

    /// Three sessions of different lengths, two of them of one trunk; one pauses, is truncated and steps again.
    fn sessions_that_step_together_are_as_alone(&self) {
        checked(self.engine.forward_many(&mut []));
        let (first, rest) = self.units.split_at(self.units.len() / 2);
        let mut trunk = self.open();
        checked(trunk.forward(first, &CancelToken::default()));
        let mut fork = checked(trunk.fork());
        let mut short = self.open();
        checked(short.forward(rest, &CancelToken::default()));
        self.step(&mut [&mut *trunk, &mut *fork, &mut *short], rest);
        self.agree(trunk.logits(), &self.whole(), "a session that stepped with others and one alone");
        self.agree(fork.logits(), &self.whole(), "a fork that stepped with others and a session alone");
        let twice = self.fed(&[rest, rest].concat());
        self.near(short.logits(), &twice, "a shorter session that stepped with others and one alone");
        let kept = checked(fork.truncate(first.len()));
        let again = self.units.get(kept..first.len()).unwrap_or_default();
        if !again.is_empty() {
            checked(fork.forward(again, &CancelToken::default()));
        }
        self.step(&mut [&mut *short, &mut *fork], rest);
        self.agree(fork.logits(), &self.whole(), "one that was truncated and stepped again, and one alone");
        let logits = self.feed_one_more(trunk.as_mut());
        self.agree(&logits, &self.after_one_more(), "one that continued alone and one that always was alone");
    }

    /// Appends `units` to each of `sessions`, one unit of all sessions in each step.
    fn step(&self, sessions: &mut [&mut dyn Session], units: &[PromptUnit]) {
        for unit in units {
            let steps = sessions.iter_mut().map(|session| BatchStep { session: &mut **session, unit });
            checked(self.engine.forward_many(&mut steps.collect::<Vec<_>>()));
        }
    }

    fn fed(&self, units: &[PromptUnit]) -> Vec<f32> {
        checked(self.open().forward(units, &CancelToken::default())).to_vec()
    }

    /// Holds whenever the forward is cancelled: before it begins, in the middle, or too late.
    fn a_forward_cancelled_while_it_runs_leaves_a_usable_session(&self) {
        for delay in [0, 20, 100, 300, 1000, 3000] {
            let mut session = self.open();
            let cancel = CancelToken::default();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_micros(delay));
                    cancel.cancel();
                });
                let kind = session.forward(&self.units, &cancel).err().map(|error| error.kind());
                assert!(
                    matches!(kind, None | Some(ErrorKind::Cancelled)),
                    "a forward that was cancelled ends with {kind:?}"
                );
            });
            // Truncates a complete session by one unit, so that there is one to compute.
            let held = checked(session.truncate(session.length().min(self.units.len() - 1)));
            let logits = self.feed(session.as_mut(), held, self.units.len());
            self.agree(
                &logits,
                &self.whole(),
                "a session whose forward was cancelled and one that was fed whole",
            );
        }
    }

    fn a_cancelled_forward_leaves_a_usable_session(&self) {
        let mut session = self.open();
        let cancel = CancelToken::default();
        cancel.cancel();
        let kind = session.forward(&self.units, &cancel).err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Cancelled), "a cancelled forward reports that it was cancelled");
        let held = session.length();
        assert!(held < self.units.len(), "a forward that was cancelled before it began is not complete");
        let logits = self.feed(session.as_mut(), held, self.units.len());
        self.agree(
            &logits,
            &self.whole(),
            "a session that continues after a cancelled forward and one that was fed whole",
        );
    }

    fn an_overflow_appends_nothing(&self) {
        let mut session = self.open();
        let (first, rest) = self.units.split_at(self.units.len() / 2);
        checked(session.forward(first, &CancelToken::default()));
        let room = self.engine.model().context_length - first.len();
        let too_many: Vec<_> = self.units.iter().cycle().take(room + 1).cloned().collect();
        let kind = session.forward(&too_many, &CancelToken::default()).err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::ContextOverflow), "more units than fit are refused as an overflow");
        assert_eq!(session.length(), first.len(), "an overflow appends nothing");
        let logits = checked(session.forward(rest, &CancelToken::default())).to_vec();
        self.agree(
            &logits,
            &self.whole(),
            "a session that continues after an overflow and one that was fed whole",
        );
    }

    fn nothing_to_forward_is_invalid(&self) {
        let mut session = self.open();
        let kind = session.forward(&[], &CancelToken::default()).err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Invalid), "no units to forward is invalid");
        assert_eq!(session.length(), 0, "an invalid forward appends nothing");
    }

    fn open(&self) -> Box<dyn Session> {
        checked(self.engine.open())
    }

    /// Returns the logits after the prompt, fed whole into a new session.
    fn whole(&self) -> Vec<f32> {
        self.feed(self.open().as_mut(), 0, self.units.len())
    }

    /// Feeds the prompt from unit `start` in chunks of `size`, and returns the last logits.
    fn feed(&self, session: &mut dyn Session, start: usize, size: usize) -> Vec<f32> {
        assert_eq!(session.length(), start, "`length` is the number of cached units");
        let mut logits = Vec::new();
        for chunk in self.units.get(start..).unwrap_or_default().chunks(size) {
            logits = checked(session.forward(chunk, &CancelToken::default())).to_vec();
        }
        assert_eq!(session.length(), self.units.len(), "every unit that was fed is cached");
        logits
    }

    /// Returns the logits after the prompt and its first unit again, in a new session.
    fn after_one_more(&self) -> Vec<f32> {
        let mut session = self.open();
        self.feed(session.as_mut(), 0, self.units.len());
        self.feed_one_more(session.as_mut())
    }

    fn feed_one_more(&self, session: &mut dyn Session) -> Vec<f32> {
        let first = self.units.get(..1).unwrap_or_default();
        checked(session.forward(first, &CancelToken::default())).to_vec()
    }

    fn agree(&self, left: &[f32], right: &[f32], what: &str) {
        self.near(left, right, what);
        assert_eq!(likeliest(left), likeliest(right), "{what}: the likeliest token");
    }

    fn near(&self, left: &[f32], right: &[f32], what: &str) {
        assert_eq!(left.len(), right.len(), "{what}: as many logits");
        let mut largest: f32 = 0.0;
        for (left, right) in left.iter().zip(right) {
            largest = largest.max((left - right).abs());
        }
        assert!(
            largest <= self.tolerance,
            "{what}: logits differ by {largest}, more than {}",
            self.tolerance
        );
    }
}

fn checked<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("a lawful call failed: {error:#}"))
}

fn likeliest(logits: &[f32]) -> Option<usize> {
    let best = logits.iter().enumerate().max_by(|left, right| left.1.total_cmp(right.1));
    best.map(|(index, _)| index)
}
