//! Messages as people write them: few words often, many words seldom. The same ones in every run.

use alloquy_testing::Draws;

/// How many words there are.
pub(crate) const VOCABULARY: usize = 20_000;

const SYLLABLES: [&str; 32] = [
    "ka", "to", "mi", "ren", "su", "lo", "da", "ver", "ni", "shi", "po", "gal", "te", "ru", "bo", "lin",
    "fa", "we", "zor", "hu", "ye", "pan", "co", "di", "mur", "qua", "ste", "xi", "jo", "vel", "ag", "on",
];

/// Draws words by Zipf's law: the second is said half as often as the first, the third a third as often.
pub(crate) struct Speaker {
    draws: Draws,
    /// How often one of the words up to here is drawn.
    sums: Vec<usize>,
}

impl Default for Speaker {
    fn default() -> Self {
        let sum = |sum: &mut usize, rank: usize| {
            *sum += 100_000_000 / (rank + 1);
            Some(*sum)
        };
        Self { draws: Draws::default(), sums: (0..VOCABULARY).scan(0, sum).collect() }
    }
}

impl Speaker {
    /// Draws a number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.draws.below(limit)
    }

    /// Says so many words.
    pub(crate) fn say(&mut self, words: usize) -> String {
        (0..words).map(|_| word(self.rank())).collect::<Vec<_>>().join(" ")
    }

    fn rank(&mut self) -> usize {
        let drawn = self.draws.below(self.sums.last().copied().unwrap_or_default());
        self.sums.partition_point(|sum| *sum <= drawn)
    }
}

/// The word that is said the `rank`th most often, counted from zero: the oftener, the shorter.
pub(crate) fn word(rank: usize) -> String {
    let mut rest = rank + SYLLABLES.len();
    let mut word = String::new();
    while rest > 0 {
        word.push_str(SYLLABLES[rest % SYLLABLES.len()]);
        rest /= SYLLABLES.len();
    }
    word
}
