//! The kinds of media that a language model takes.

use alloquy_core::media::MediaKind;

use super::LanguageModel;

impl LanguageModel {
    /// Returns the kinds of media that the model takes.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_inference::{Generator, LanguageModel};
    /// use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
    ///
    /// let generator = Generator::new(Arc::new(ScriptedEngine::new([])), 1)?;
    /// let model = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
    /// assert!(model.media_kinds().is_empty());
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub fn media_kinds(&self) -> Vec<MediaKind> {
        self.decoder.media().map(|media| media.kinds().to_vec()).unwrap_or_default()
    }
}
