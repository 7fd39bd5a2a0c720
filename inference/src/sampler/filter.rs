//! The steps that drop unlikely candidates, and what they drop in any case. Knows no candidates.

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
    /// Whatever is below it for [`Filter::TopP`] is so unlikely that all of it together would be dropped.
    pub(super) fn least(self, total: f64, count: usize) -> f32 {
        match self {
            Self::TopP(mass) => (total * f64::from(1.0 - mass) / count as f64) as f32,
            Self::MinP(share) => share,
            Self::Typical(_) => 0.0,
        }
    }
}
