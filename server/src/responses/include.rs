//! What a response contains beside the usual: the field `include`.

use serde_json::json;

use crate::error::{ApiError, ApiResult};

/// What is included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Included {
    /// The log-probabilities of the text.
    pub(crate) logprobs: bool,
    /// The bytes of the images that were given.
    pub(crate) images: bool,
}

impl Included {
    /// The log-probabilities of the text.
    pub(crate) const LOGPROBS: &'static str = "message.output_text.logprobs";
    const IMAGES: &'static str = "message.input_image.image_url";
    /// Items of reasoning have their text, so clients that keep their own history need no other form of it.
    const ENCRYPTED: &'static str = "reasoning.encrypted_content";

    /// Reads the names of what is included.
    ///
    /// # Errors
    /// 400 for the results of tools that this server does not have.
    pub(crate) fn read<'a>(names: impl Iterator<Item = &'a str>) -> ApiResult<Self> {
        let mut included = Self::default();
        for name in names {
            match name {
                Self::LOGPROBS => included.logprobs = true,
                Self::IMAGES => included.images = true,
                Self::ENCRYPTED => {}
                other => {
                    let known = json!([Self::LOGPROBS, Self::IMAGES, Self::ENCRYPTED]);
                    let message = format!("include has {other:?}, expected some of {known}");
                    return Err(ApiError::unsupported("include", message));
                }
            }
        }
        Ok(included)
    }
}
