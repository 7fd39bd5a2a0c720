//! Computes the energies of the mel bands of a frame of samples.

use std::fmt;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

use super::mel::{MelFilters, MelScale};

/// The value of a bin that the filters weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bins {
    /// Its magnitude.
    Magnitude,
    /// The square of its magnitude.
    Power,
}

/// The analysis of frames of one length, in double precision: the logarithm of nearly silent bands magnifies rounding errors a
/// thousandfold.
#[derive(Clone)]
pub(super) struct Spectrum {
    transform: Arc<dyn RealToComplex<f64>>,
    window: Vec<f64>,
    bins: Bins,
    filters: MelFilters,
}

/// Which filters a [`Spectrum`] has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bands {
    pub(super) scale: MelScale,
    /// From where to where, in hertz.
    pub(super) range: (f64, f64),
    pub(super) count: usize,
}

/// A [`Spectrum`] with its buffers.
#[derive(Debug)]
pub(super) struct Analysis<'a> {
    spectrum: &'a Spectrum,
    samples: Vec<f64>,
    bins: Vec<Complex<f64>>,
    strengths: Vec<f64>,
    scratch: Vec<Complex<f64>>,
}

impl Spectrum {
    /// Analyses frames as long as `window`, which are padded with zeros to the `length` of the transform.
    pub(super) fn new(window: Vec<f64>, length: usize, rate: u32, bins: Bins, bands: Bands) -> Self {
        let transform = RealFftPlanner::new().plan_fft_forward(length.max(window.len()));
        let filters = MelFilters::new(bands.scale, bands.range, bands.count, (transform.complex_len(), rate));
        Self { transform, window, bins, filters }
    }

    /// Returns the length of a frame.
    pub(super) fn frame(&self) -> usize {
        self.window.len()
    }

    /// Returns the number of bands.
    pub(super) fn bands(&self) -> usize {
        self.filters.len()
    }

    /// Returns the window.
    pub(super) fn window(&self) -> &[f64] {
        &self.window
    }

    /// Returns the filters as a matrix, and how many rows it has.
    pub(super) fn filters(&self) -> (usize, Vec<f32>) {
        let bins = self.transform.complex_len();
        (bins, self.filters.matrix(bins))
    }

    /// Returns the buffers for an analysis.
    pub(super) fn analysis(&self) -> Analysis<'_> {
        Analysis {
            spectrum: self,
            samples: self.transform.make_input_vec(),
            bins: self.transform.make_output_vec(),
            strengths: vec![0.0; self.transform.complex_len()],
            scratch: self.transform.make_scratch_vec(),
        }
    }
}

impl fmt::Debug for Spectrum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transform, window, bins, filters } = self;
        let length = transform.len();
        let frame = window.len();
        let bands = filters.len();
        write!(formatter, "Spectrum({frame} samples in {length}, {bins:?}, {bands} bands)")
    }
}

impl Analysis<'_> {
    /// Returns the energy of each band of a frame, which is given in two parts that follow each other.
    pub(super) fn energies(&mut self, [head, tail]: [&[f64]; 2]) -> impl Iterator<Item = f64> + '_ {
        let border = head.len().min(self.spectrum.window.len()).min(self.samples.len());
        let (first, rest) = self.samples.split_at_mut(border);
        let (early, late) = self.spectrum.window.split_at(border);
        fade(first, head, early);
        fade(rest, tail, late);
        self.transform();
        self.spectrum.filters.weigh(&self.strengths)
    }

    /// Computes the strengths of the samples' bins.
    fn transform(&mut self) {
        let Self { spectrum, samples, bins, strengths, scratch } = self;
        // It fails only for buffers of another length, and these are the transform's own.
        if spectrum.transform.process_with_scratch(samples, bins, scratch).is_err() {
            bins.fill(Complex::default());
        }
        for (strength, bin) in strengths.iter_mut().zip(bins.iter()) {
            *strength = match spectrum.bins {
                Bins::Magnitude => bin.norm_sqr().sqrt(),
                Bins::Power => bin.norm_sqr(),
            };
        }
    }
}

/// Writes windowed samples to `places`, and zeros after them, over what the last transform left there.
fn fade(places: &mut [f64], samples: &[f64], window: &[f64]) {
    let length = samples.len().min(window.len()).min(places.len());
    let (faded, silent) = places.split_at_mut(length);
    for (place, (sample, weight)) in faded.iter_mut().zip(samples.iter().zip(window)) {
        *place = sample * weight;
    }
    silent.fill(0.0);
}
