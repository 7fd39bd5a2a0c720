//! Random choices that are the same on every machine and in every run.

/// A generator with a seed: SplitMix64, <https://doi.org/10.1145/2714064.2660195>.
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    /// Starts a row of choices that `seeds` determine.
    pub(crate) fn new(seeds: &[u64]) -> Self {
        let mut draws = Self(0);
        for seed in seeds {
            draws.0 ^= *seed;
            draws.0 = draws.next();
        }
        draws
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Says yes `percent` times of a hundred.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Picks one of `choices`.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// Puts `values` into a random order.
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }
}
