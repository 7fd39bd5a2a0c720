//! Sounds as tensors.

use alloquy_core::formats::MediaKind;
use alloquy_core::{Error, ErrorKind, Media, MediaOutline, MediaProcessor, MediaTensor, ModelInfo, Result};

/// Makes of sounds what the audio encoder of one model is fed.
#[derive(Debug)]
pub struct AudioProcessor;

impl AudioProcessor {
    /// Reads how a model hears from its description files; `None` for every model so far.
    pub fn of(_: &ModelInfo) -> Result<Option<Self>> {
        Ok(None)
    }
}

impl MediaProcessor for AudioProcessor {
    fn kinds(&self) -> &[MediaKind] {
        &[MediaKind::Audio]
    }

    fn outline(&self, _: &Media) -> Result<MediaOutline> {
        Err(Error::new(ErrorKind::Unsupported, "sounds are not read yet"))
    }

    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
        self.outline(media).map(|_| Vec::new())
    }
}
