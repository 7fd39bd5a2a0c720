//! The steps that drop unlikely candidates, with the weights that each drops in any case. Knows no candidates.

/// One step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Filter {
    /// Keeps the likeliest candidates that together reach a probability (`TopPLogitsWarper`).
    TopP(f32),
    /// Keeps candidates at least this often as likely as the likeliest (`MinPLogitsWarper`).
    MinP(f32),
    /// Keeps candidates whose information is nearest to the expected one (`TypicalLogitsWarper`).
    Typical(f32),
}

impl Filter {
    /// Returns the least weight that this filter may keep among `count` candidates that weigh `total` together.
    ///
    /// The candidates below it are so unlikely for [`Filter::TopP`] that all of them together would be dropped.
    pub(super) fn least(self, total: f64, count: usize) -> f32 {
        match self {
            Self::TopP(mass) => (total * f64::from(1.0 - mass) / count as f64) as f32,
            Self::MinP(share) => share,
            Self::Typical(_) => 0.0,
        }
    }
}
