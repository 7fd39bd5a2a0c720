//! The curves by which neighbouring pixels are weighed.

/// A curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// A triangle.
    Bilinear,
    /// Catmull-Rom's cubic: a = -0.5.
    Bicubic,
}

impl Kernel {
    /// How far it reaches, in pixels of the smaller image.
    pub(super) fn support(self) -> f64 {
        match self {
            Self::Bilinear => 1.0,
            Self::Bicubic => 2.0,
        }
    }

    /// The weight at a distance.
    pub(super) fn weight(self, distance: f64) -> f64 {
        let x = distance.abs();
        match self {
            Self::Bilinear if x < 1.0 => 1.0 - x,
            Self::Bicubic if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
            Self::Bicubic if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * -0.5,
            Self::Bilinear | Self::Bicubic => 0.0,
        }
    }
}
