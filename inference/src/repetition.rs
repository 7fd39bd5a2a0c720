//! Finds replies that loop: the same tokens again and again, until a limit ends them.

use std::collections::VecDeque;

/// The greatest number of tokens that are repeated. A loop of small models is a word, a line or a paragraph.
const LONGEST: usize = 128;

/// A cycle of fewer tokens counts as one of this many: `=` must be repeated 8 times as often as a line of 8 tokens.
const SHORTEST: usize = 8;

/// Cycles of twice as many tokens need be repeated only half as often: a paragraph is meant less often than a line.
const LINE: usize = 32;

/// Numbers must be repeated this many times as often, because tables of zeros are longer than loops of words.
const NUMBERS: usize = 4;

/// A loop at the end of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repetition {
    /// How many tokens are repeated.
    pub(crate) period: usize,
    /// How often they occur.
    pub(crate) times: usize,
}

/// Watches the tokens of one reply for a loop.
///
/// A reply loops if it ends with the same 1 to 128 tokens so often in a row that nothing else explains it. Lists, tables and code
/// repeat lines that differ in a word or a number, and few people ask for one line sixteen times.
///
/// ```text
/// I am I am I am ...          a cycle of 2, 64 times with the default of 16
/// 0, 0, 0, 0, 0, ...          a cycle of numbers, 256 times
/// 1. a  2. a  3. a ...        no cycle
/// ```
#[derive(Debug)]
pub(crate) struct RepetitionDetector {
    /// How often a line may occur in a row before the reply has ended.
    times: usize,
    /// The last tokens, the latest first.
    last: VecDeque<Seen>,
    /// For each period, how many of the last tokens equal the token that many before them.
    equal: [usize; LONGEST],
}

/// A token that was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    token: u32,
    has_letters: bool,
    has_digits: bool,
}

impl RepetitionDetector {
    /// How often a cycle must occur unless an option says otherwise.
    pub(crate) const DEFAULT_TIMES: usize = 16;

    /// Creates a detector of cycles that occur `times` times; `None` if that is 0.
    pub(crate) fn new(times: usize) -> Option<Self> {
        (times > 0).then(|| Self { times, last: VecDeque::with_capacity(LONGEST), equal: [0; LONGEST] })
    }

    /// Takes a token and its text. Returns the shortest cycle that the reply ends with often enough.
    pub(crate) fn push(&mut self, token: u32, text: &str) -> Option<Repetition> {
        for (equal, before) in self.equal.iter_mut().zip(&self.last) {
            *equal = if before.token == token { *equal + 1 } else { 0 };
        }
        if self.last.len() == LONGEST {
            self.last.pop_back();
        }
        self.last.push_front(Seen {
            token,
            has_letters: text.contains(char::is_alphabetic),
            has_digits: text.contains(char::is_numeric),
        });
        for (period, equal) in (1..).zip(&self.equal) {
            // The first tokens of a cycle equal nothing before them: `a b a b` has two that do.
            let tokens = equal + period;
            let needed = needed(self.times, period);
            if tokens >= needed && (!self.is_of_numbers(period) || tokens >= needed.saturating_mul(NUMBERS)) {
                return Some(Repetition { period, times: tokens / period });
            }
        }
        None
    }

    /// Returns whether the last tokens are numbers, for a cycle of `period` tokens.
    fn is_of_numbers(&self, period: usize) -> bool {
        let mut has_digits = false;
        for seen in self.last.iter().take(period) {
            if seen.has_letters {
                return false;
            }
            has_digits |= seen.has_digits;
        }
        has_digits
    }
}

/// Returns how many tokens a cycle takes in all before the reply has ended.
fn needed(times: usize, period: usize) -> usize {
    if period <= LINE {
        return times.saturating_mul(period.max(SHORTEST));
    }
    let half = times.saturating_mul(period) / 2;
    half.max(times.saturating_mul(LINE)).max(2 * period)
}
