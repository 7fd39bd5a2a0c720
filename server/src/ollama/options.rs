//! The options of a request: how the reply is sampled.

use alloquy_core::SamplingOptions;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{ApiError, ApiResult};
use crate::turn_options::Stops;

/// The options of a request. Those that say how a model is run are absent, so that they are refused by name: the server's
/// configuration has them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Options {
    temperature: Option<f32>,
    top_k: Option<usize>,
    top_p: Option<f32>,
    min_p: Option<f32>,
    typical_p: Option<f32>,
    repeat_penalty: Option<f32>,
    repeat_last_n: Option<i64>,
    presence_penalty: Option<f32>,
    frequency_penalty: Option<f32>,
    seed: Option<i64>,
    num_predict: Option<i64>,
    stop: Option<Stops>,
    /// What the context has to hold at least.
    num_ctx: Option<usize>,
}

impl Options {
    /// Returns the length that the context must have.
    pub(super) fn context_length(&self) -> Option<usize> {
        self.num_ctx
    }

    /// Reads the options in our words.
    ///
    /// # Errors
    /// 400 with the option for a value that is not valid.
    pub(super) fn sampling(&self) -> ApiResult<SamplingOptions> {
        let mut sampling = SamplingOptions {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            typical_p: self.typical_p,
            repetition_penalty: self.repeat_penalty,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            // A negative seed is as good as any other, and has the same bits each time.
            seed: self.seed.map(i64::cast_unsigned),
            max_tokens: self.max_tokens()?,
            stop: self.stop.as_ref().map(Stops::texts).unwrap_or_default(),
            ..SamplingOptions::default()
        };
        match self.repeat_last_n {
            // No token counts, so nothing is penalized.
            Some(0) => sampling.repetition_penalty = None,
            // All tokens of the context count.
            Some(-1) | None => {}
            Some(last) => {
                let Ok(last) = usize::try_from(last) else {
                    let message =
                        format!("options.repeat_last_n is {last}, expected -1 for all tokens, 0 or more");
                    return Err(ApiError::invalid("options.repeat_last_n", message));
                };
                sampling.penalty_window = Some(last);
            }
        }
        sampling.validate().map_err(|error| ApiError::from(error).param("options"))?;
        Ok(sampling)
    }

    fn max_tokens(&self) -> ApiResult<Option<usize>> {
        match self.num_predict {
            // Until the model ends, or until the context is full.
            None | Some(-1 | -2) => Ok(None),
            Some(number) => match usize::try_from(number) {
                Ok(number) if number > 0 => Ok(Some(number)),
                _ => {
                    let message =
                        format!("options.num_predict is {number}, expected -1 for no limit, or at least 1");
                    Err(ApiError::invalid("options.num_predict", message))
                }
            },
        }
    }
}
