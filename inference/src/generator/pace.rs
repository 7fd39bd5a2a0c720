//! Decides how long the drafts of one source are, and when they end. Knows times and counts, no models.

use super::costs::Costs;

/// The share of a reply's time that drafts may cost more than they save, all sources together.
pub(super) const SHARE: f64 = 0.03;

/// The share of draft tokens that is assumed to be accepted, and the number of tokens which that assumption counts as.
const ASSUMED: (f64, f64) = (0.7, 2.0);

/// What a token of the past counts as for each later one: some twenty tokens decide.
const FADING: f64 = 0.95;

/// What the tokens of earlier replies count as, at most.
const EARLIER: f64 = 8.0;

/// After how many steps a source that was not worth its time is tried again.
const AGAIN: usize = 16;

/// How many runs for one token earlier gains may pay for in one reply.
const CREDIT: f64 = 4.0;

/// How much longer than expected a draft may take. A longer one was disturbed, and counts as this.
const DISTURBED: f64 = 4.0;

/// The account of one source of drafts: what it cost and what it saved. It begins with what earlier replies measured.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The longest draft.
    most: usize,
    /// The share of the time that this source may lose.
    share: f64,
    /// How many tokens were guessed and accepted; those of the past count less.
    recent: (f64, f64),
    /// How long it takes to guess a token, in seconds.
    guess: Option<f64>,
    /// Seconds of the reply's own runs.
    reply: f64,
    /// Seconds that drafts of this reply took longer than its tokens would have taken without; negative for a gain.
    lost: f64,
    /// Seconds that were gained in earlier replies and may be lost again, a half of them each time.
    credit: f64,
    /// Seconds that preparing for drafts took.
    prepared: f64,
    /// How many tokens were guessed in this reply, and how many of them were accepted.
    pub(super) counted: (usize, usize),
    /// Steps without a draft of this source.
    since: usize,
}

/// A step with a draft.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// How many tokens were guessed, at least one.
    pub(super) guessed: usize,
    /// How many of them were accepted.
    pub(super) kept: usize,
    /// Seconds that guessing took.
    pub(super) drafting: f64,
    /// Seconds that the run with the draft took.
    pub(super) run: f64,
}

impl Pace {
    /// Begins without a record. `sources` share the time that may be lost.
    pub(super) fn new(most: usize, sources: usize) -> Self {
        Self {
            most,
            share: SHARE / sources.max(1) as f64,
            recent: (0.0, 0.0),
            guess: None,
            reply: 0.0,
            lost: 0.0,
            credit: 0.0,
            prepared: 0.0,
            counted: (0, 0),
            since: 0,
        }
    }

    /// Begins the account of the next reply.
    pub(super) fn next_reply(&self) -> Self {
        let (guessed, kept) = self.recent;
        let fading = (EARLIER / guessed.max(EARLIER)).min(1.0);
        Self {
            recent: (guessed * fading, kept * fading),
            credit: ((self.credit - self.lost - self.prepared) / 2.0).max(0.0),
            reply: 0.0,
            lost: 0.0,
            prepared: 0.0,
            counted: (0, 0),
            since: 0,
            ..self.clone()
        }
    }

    /// Returns the longest draft that there may be.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Returns how long the next draft should be; 0 for none.
    pub(super) fn length(&self, costs: &Costs, room: usize) -> usize {
        let Some(plain) = costs.plain() else { return 0 };
        let mut length = self.fastest(costs, plain, room);
        if length == 0 && self.since >= AGAIN {
            length = room.min(1);
        }
        // Should all of it be rejected, the time that may be lost must suffice.
        while length > 0 && self.time(costs, plain, length) - plain > self.allowed(plain) {
            length -= 1;
        }
        length
    }

    /// Returns whether a reply should have no more drafts of this source: they are not worth their time, and another attempt
    /// would cost more than may be lost.
    pub(super) fn is_spent(&self, costs: &Costs) -> bool {
        let Some(plain) = costs.plain() else { return false };
        let attempt = (self.time(costs, plain, 1) - plain).max(0.0);
        let is_slow = self.lost > 0.0 && self.fastest(costs, plain, self.most) == 0;
        self.lost > self.budget(plain) || is_slow && attempt > self.allowed(plain)
    }

    /// Returns the length with the most tokens a second; 0 if none is faster than no draft.
    fn fastest(&self, costs: &Costs, plain: f64, room: usize) -> usize {
        let accepted = self.accepted();
        let mut best = (1.0, 0);
        let mut tokens = 1.0;
        let mut reached = 1.0;
        for length in 1..=self.most.min(room) {
            // The token after the draft is always gained; the last one of the draft if all before it are.
            reached *= accepted;
            tokens += reached;
            let gain = tokens * plain / self.time(costs, plain, length).max(f64::MIN_POSITIVE);
            if gain > best.0 {
                best = (gain, length);
            }
        }
        best.1
    }

    /// Returns how long a step with a draft of this length takes.
    fn time(&self, costs: &Costs, plain: f64, length: usize) -> f64 {
        costs.drafted(length, plain) + self.guess.unwrap_or(0.0) * length as f64
    }

    /// Returns the share of draft tokens that is accepted, as far as it is known.
    fn accepted(&self) -> f64 {
        let (guessed, kept) = self.recent;
        let (share, weight) = ASSUMED;
        (kept + share * weight) / (guessed + weight)
    }

    fn budget(&self, plain: f64) -> f64 {
        self.share * self.reply + self.credit.min(CREDIT * plain)
    }

    fn allowed(&self, plain: f64) -> f64 {
        self.budget(plain) - self.lost
    }

    /// Returns how many seconds may be spent on preparing for drafts. `prompt` is how long the reply's own prompt took.
    pub(super) fn preparation(&self, prompt: f64) -> f64 {
        (self.share * (prompt + self.reply) + self.credit - self.lost - self.prepared).max(0.0)
    }

    /// Notes time that was spent on preparing.
    pub(super) fn note_preparation(&mut self, took: f64) {
        self.prepared += took;
    }

    /// Notes a step of the reply without a draft of this source.
    pub(super) fn note_none(&mut self, run: f64) {
        self.reply += run;
        self.since += 1;
    }

    /// Notes seconds in which no draft was found.
    pub(super) fn note_search(&mut self, took: f64) {
        self.lost += took;
    }

    /// Returns whether a step of this reply was noted.
    pub(super) fn has_begun(&self) -> bool {
        self.reply > 0.0
    }

    /// Notes a step with a draft of this source.
    pub(super) fn note(&mut self, costs: &Costs, step: Step) {
        let Step { guessed, kept, drafting, run } = step;
        let each = drafting / guessed.max(1) as f64;
        let each = self.guess.map_or(each, |known| each.min(known * DISTURBED));
        self.guess = Some(self.guess.map_or(each, |known| known + 0.3 * (each - known)));
        let plain = costs.plain().unwrap_or(run);
        self.lost += each * guessed as f64 + run - (kept + 1) as f64 * plain;
        self.reply += run;
        self.since = 0;
        self.counted.0 += guessed;
        self.counted.1 += kept;
        // Nothing is known of the tokens after a rejected one.
        let judged = guessed.min(kept + 1);
        for place in 0..judged {
            let accepted = if place < kept { 1.0 } else { 0.0 };
            self.recent = (self.recent.0 * FADING + 1.0, self.recent.1 * FADING + accepted);
        }
    }

    /// Returns the milliseconds that were lost.
    pub(super) fn lost_milliseconds(&self) -> u64 {
        (self.lost.max(0.0) * 1000.0).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A model whose runs take 10 ms, and `row` more for each token of a draft; the source guesses a token in `guess`. Returns
    /// the reply's time as a share of that without drafts, the account, and whether it was ended.
    fn reply(
        mut pace: Pace,
        costs: &mut Costs,
        tokens: usize,
        (row, guess): (f64, f64),
        kept: fn(usize, usize) -> usize,
    ) -> (f64, Pace, bool) {
        let mut said = 0;
        let mut time = 0.0;
        let mut is_ended = false;
        while said < tokens {
            is_ended |= pace.is_spent(costs);
            let length = if is_ended { 0 } else { pace.length(costs, tokens - said - 1) };
            let run = 10.0 + row * length as f64;
            let took = Duration::from_secs_f64(run / 1000.0);
            if length == 0 {
                costs.note_plain(took);
                pace.note_none(took.as_secs_f64());
            } else {
                let run = costs.note_drafted(length, took);
                let kept = kept(said, length).min(length);
                let drafting = guess * length as f64 / 1000.0;
                pace.note(costs, Step { guessed: length, kept, drafting, run });
                time += drafting * 1000.0;
                said += kept;
            }
            time += run;
            said += 1;
        }
        (time / (tokens as f64 * 10.0), pace, is_ended)
    }

    #[test]
    fn a_source_that_is_always_wrong_costs_no_more_than_its_share_and_is_ended_or_tried_seldom() {
        for cost in [(1.0, 0.5), (2.5, 1.0), (9.0, 0.0), (10.0, 9.0), (0.1, 4.0)] {
            let mut costs = Costs::default();
            let mut pace = Pace::new(8, 1);
            for tokens in [200, 40, 1000, 200] {
                let (share, after, is_ended) = reply(pace, &mut costs, tokens, cost, |_, _| 0);
                assert!(share <= 1.0 + SHARE + 1e-9, "{cost:?}: {share} of the time for {tokens} tokens");
                // One whose attempts the share pays for is tried again, as the text may change.
                let (attempts, _) = after.counted;
                let is_seldom = attempts <= 2 + tokens / AGAIN;
                assert!(is_ended || is_seldom, "{cost:?}: {attempts} attempts in {tokens} tokens");
                pace = after.next_reply();
            }
        }
    }

    #[test]
    fn a_source_that_is_always_right_is_used_at_its_full_length() {
        let mut costs = Costs::default();
        let (first, pace, _) = reply(Pace::new(8, 1), &mut costs, 200, (0.5, 0.5), |_, length| length);
        let (second, pace, is_ended) =
            reply(pace.next_reply(), &mut costs, 200, (0.5, 0.5), |_, length| length);
        assert!(first < 0.45 && second < 0.25 && !is_ended, "{first} and {second} of the time");
        assert!(pace.length(&costs, 100) == 8 && pace.length(&costs, 3) == 3);
    }

    #[test]
    fn drafts_are_shorter_where_less_is_accepted() {
        let mut lengths = Vec::new();
        let rules: [fn(usize, usize) -> usize; 3] = [|_, _| 8, |at, _| 1 + at % 3, |at, _| at % 2];
        for kept in rules {
            let mut costs = Costs::default();
            let (_, pace, _) = reply(Pace::new(8, 1), &mut costs, 400, (1.0, 1.0), kept);
            lengths.push(pace.fastest(&costs, 0.01, 8));
        }
        assert!(lengths.is_sorted_by(|left, right| left > right), "{lengths:?}");
    }

    #[test]
    fn a_source_that_turns_wrong_loses_no_more_than_was_gained_before() {
        let mut costs = Costs::default();
        let (_, pace, _) = reply(Pace::new(8, 1), &mut costs, 300, (1.0, 0.5), |_, length| length);
        let (share, ..) = reply(pace.next_reply(), &mut costs, 300, (1.0, 0.5), |_, _| 0);
        assert!(share < 1.0 + SHARE + CREDIT / 300.0 + 1e-9, "{share}");
    }
}
