//! How much the replies of a model change with other number types.

use std::fmt;

use alloquy_core::Result;
use serde::{Deserialize, Serialize};

use crate::error::unsupported;
use crate::quantization::Quantization;

/// The greatest accepted divergence, in nats. An int8 cache whose scales were measured has 0.0001 with models of usual size, and 0.02 with the
/// smallest that was tried, of 260,000 weights. Scales that cut off keys have 0.2 and more, as have caches of 4 bits.
const MOST_DIVERGENCE: f64 = 0.05;

/// How much the probabilities of the next token change with other number types, over three texts.
///
/// ```
/// use alloquy_onnx::QuantizationQuality;
///
/// fn report(quality: &QuantizationQuality) {
///     println!("{:.1} % of the likeliest tokens are the same", 100.0 * quality.same_likeliest);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QuantizationQuality {
    /// How many tokens were compared.
    pub tokens: usize,
    /// The share of the tokens whose likeliest successor is the same, from 0 to 1.
    pub same_likeliest: f64,
    /// The mean Kullback-Leibler divergence from the probabilities of the export, in nats.
    pub divergence: f64,
}

impl fmt::Display for QuantizationQuality {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tokens, same_likeliest, divergence } = self;
        let same = 100.0 * same_likeliest;
        write!(
            formatter,
            "over {tokens} tokens, {same:.1} % of the likeliest next tokens are those of the export, and the mean divergence is \
             {divergence:.5} nats"
        )
    }
}

impl QuantizationQuality {
    /// Refuses a model that has become another one.
    pub(crate) fn check(&self, quantization: Quantization) -> Result<()> {
        // A divergence that is no number is refused too.
        if self.divergence <= MOST_DIVERGENCE {
            return Ok(());
        }
        Err(unsupported(format!(
            "{quantization} would change this model too much: {self}, at most {MOST_DIVERGENCE} are accepted; load the model with its own \
             number types"
        )))
    }
}

/// Compares probabilities, token by token.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    tokens: usize,
    same: usize,
    divergence: f64,
}

impl Comparison {
    /// Adds the logits after one token: of the export, and of the quantized model.
    pub(crate) fn add(&mut self, exported: &[f32], quantized: &[f32]) {
        self.tokens += 1;
        self.same += usize::from(likeliest(exported) == likeliest(quantized));
        let norm = log_sum(exported);
        let other_norm = log_sum(quantized);
        for (&exported, &quantized) in exported.iter().zip(quantized) {
            let logarithm = f64::from(exported) - norm;
            let other = f64::from(quantized) - other_norm;
            // A token that the export excludes adds nothing: the limit of p log p is 0.
            if logarithm > f64::NEG_INFINITY {
                self.divergence += logarithm.exp() * (logarithm - other);
            }
        }
    }

    /// Returns the means.
    pub(crate) fn quality(&self) -> QuantizationQuality {
        let tokens = self.tokens.max(1) as f64;
        QuantizationQuality {
            tokens: self.tokens,
            same_likeliest: self.same as f64 / tokens,
            divergence: self.divergence / tokens,
        }
    }
}

fn likeliest(logits: &[f32]) -> Option<usize> {
    let indexed = logits.iter().enumerate();
    indexed.max_by(|left, right| left.1.total_cmp(right.1)).map(|(index, _)| index)
}

/// Returns the logarithm of the sum of the exponentials, which makes probabilities of logits.
fn log_sum(logits: &[f32]) -> f64 {
    let greatest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = logits.iter().map(|&logit| (f64::from(logit) - greatest).exp()).sum();
    greatest + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantization::KvCacheType;

    #[test]
    fn equal_logits_have_no_divergence_and_others_that_of_the_formula() {
        let mut comparison = Comparison::default();
        comparison.add(&[0.0, 1.0, f32::NEG_INFINITY], &[7.0, 8.0, f32::NEG_INFINITY]);
        let quality = comparison.quality();
        assert_eq!((quality.tokens, quality.same_likeliest), (1, 1.0));
        assert!(quality.divergence.abs() < 1e-9, "{quality:?}");

        // One half each, against a quarter and three quarters: ln 2 - ln 3 / 2.
        comparison.add(&[0.0, 0.0], &[0.0, 3.0_f32.ln()]);
        let expected = (2.0_f64.ln() - 3.0_f64.ln() / 2.0).abs() / 2.0;
        assert!((comparison.quality().divergence - expected).abs() < 1e-6);
    }

    #[test]
    fn a_model_that_became_another_one_is_refused() {
        let quantization = Quantization { cache: KvCacheType::Int8, ..Quantization::default() };
        let mut quality = Comparison::default().quality();
        assert!(quality.check(quantization).is_ok());
        quality.divergence = 0.3;
        let error = quality.check(quantization).unwrap_err();
        assert!(error.to_string().starts_with("a cache of int8 would change"), "{error}");
        quality.divergence = f64::NAN;
        assert!(quality.check(quantization).is_err());
    }
}
