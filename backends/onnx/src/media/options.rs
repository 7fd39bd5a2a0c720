//! The options for media, and the encoders that they lead to.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::media::MediaKind;
use alloquy_core::model_info::ModelInfo;
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_model_files::HuggingFaceTokenizer;

use super::encoder::{Encoder, EncoderKind};
use super::reader::{Fixed, MediaReader};
use crate::graphs::{Graphs, LoadedGraph};
use crate::layout::Layout;
use crate::providers::{Loaded, Providers};
use crate::source::{Part, Parts};

/// How many bytes of features are kept by default: those of ten images of 1920 by 1080 pixels in a model of three thousand
/// million weights.
const BUDGET: usize = 256 << 20;

type Choose = Box<dyn FnOnce(&ModelInfo) -> Result<Option<Arc<dyn MediaProcessor>>>>;

/// The options for media.
pub(crate) struct MediaOptions {
    pub(crate) choose: Option<Choose>,
    pub(crate) vision: Option<Providers>,
    pub(crate) audio: Option<Providers>,
    pub(crate) budget: usize,
}

impl Default for MediaOptions {
    fn default() -> Self {
        Self { choose: None, vision: None, audio: None, budget: BUDGET }
    }
}

/// A model whose decoder has been loaded.
pub(crate) struct Opened<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) layout: &'a Layout,
    pub(crate) tokenizer: &'a Arc<HuggingFaceTokenizer>,
    /// The decoder's.
    pub(crate) providers: &'a Providers,
}

impl<'a> Opened<'a> {
    /// Loads an encoder for the first provider that can run it. Adds to the model's facts which providers that replaces, and which
    /// outputs are not read.
    fn encoder(
        &self,
        kind: EncoderKind,
        part: &'a Part,
        graphs: &Graphs<'_>,
        providers: &Providers,
        model: &mut ModelInfo,
    ) -> Result<(Encoder, LoadedGraph<'a>)> {
        let Loaded { loaded, provider, warnings } = graphs.load(part, providers)?;
        let name = part.graph.name();
        let deepstack = &self.layout.deepstack;
        let encoder = Encoder::read(kind, name, loaded, &self.parts.description, deepstack)?;
        model.warnings.extend(warnings);
        note(model, &encoder, part);
        Ok((encoder, LoadedGraph { name: kind.as_str(), part, provider }))
    }
}

/// The reader of media, if there is one, and the graphs that were loaded for it.
type Reading<'a> = (Option<Arc<MediaReader>>, Vec<LoadedGraph<'a>>);

impl MediaOptions {
    /// Chooses a processor and loads the encoders that it feeds. Does nothing for a model without encoders, or with a decoder that
    /// takes no embeddings.
    pub(crate) fn open<'a>(
        self,
        opened: &Opened<'a>,
        graphs: &Graphs<'_>,
        model: &mut ModelInfo,
    ) -> Result<Reading<'a>> {
        let Opened { parts, layout, tokenizer, providers } = opened;
        let Some(embeddings) =
            layout.embeddings().filter(|_| parts.vision.is_some() || parts.audio.is_some())
        else {
            return Ok((None, Vec::new()));
        };
        let Some(choose) = self.choose else { return Ok((None, Vec::new())) };
        let Some(processor) = choose(model)? else { return Ok((None, Vec::new())) };
        let wanted = [
            (EncoderKind::Vision, &parts.vision, self.vision.as_ref()),
            (EncoderKind::Audio, &parts.audio, self.audio.as_ref()),
        ];
        let mut encoders = Vec::new();
        let mut beside = Vec::new();
        for (kind, part, own) in wanted {
            let Some(part) = part.as_ref().filter(|_| takes(&*processor, kind)) else { continue };
            let (encoder, loaded) = opened.encoder(kind, part, graphs, own.unwrap_or(providers), model)?;
            encoders.push(encoder);
            beside.push(loaded);
        }
        let axes = layout.position_ids.as_ref().map_or(1, |positions| positions.axes);
        let fixed = Fixed { vocabulary: layout.vocabulary, width: embeddings.width, axes };
        let reader = MediaReader::new(processor, Arc::clone(tokenizer), encoders, fixed, self.budget);
        Ok((Some(Arc::new(reader)), beside))
    }
}

fn takes(processor: &dyn MediaProcessor, kind: EncoderKind) -> bool {
    processor.kinds().iter().any(|taken| match taken {
        MediaKind::Image | MediaKind::Video => kind == EncoderKind::Vision,
        MediaKind::Audio => kind == EncoderKind::Audio,
    })
}

/// Lists the outputs that have no effect.
fn note(model: &mut ModelInfo, encoder: &Encoder, part: &Part) {
    for output in encoder.unread() {
        let place = format!("{} {output}", part.graph.name());
        model.ignored.insert(place, "the decoder has no input for it".into());
    }
}
