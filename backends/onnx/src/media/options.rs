//! What was asked for to be done with media, and how it is had. Reads no media.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::media::MediaKind;
use alloquy_core::model_info::ModelInfo;
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_model_files::HuggingFaceTokenizer;

use super::encoder::{Encoder, EncoderKind};
use super::reader::{Fixed, MediaReader};
use crate::graphs::{Graphs, LoadedBeside};
use crate::layout::Layout;
use crate::providers::{Loaded, Providers};
use crate::source::{Part, Parts};

/// How many bytes of features are kept unless told otherwise: those of ten pictures of 1920 by 1080 pixels in a model of three
/// thousand million weights.
const BUDGET: usize = 256 << 20;

type Choose = Box<dyn FnOnce(&ModelInfo) -> Result<Option<Arc<dyn MediaProcessor>>>>;

/// What was asked for.
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

/// What there is of a model when its decoder has been loaded.
pub(crate) struct Opened<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) layout: &'a Layout,
    pub(crate) tokenizer: &'a Arc<HuggingFaceTokenizer>,
    /// The decoder's.
    pub(crate) providers: &'a Providers,
}

impl<'a> Opened<'a> {
    /// Loads an encoder for the first of the providers that can; tells the model which that is and what nobody reads.
    fn encoder(
        &self,
        kind: EncoderKind,
        part: &'a Part,
        graphs: &Graphs<'_>,
        providers: &Providers,
        model: &mut ModelInfo,
    ) -> Result<(Encoder, LoadedBeside<'a>)> {
        let Loaded { loaded, provider, degradations } = graphs.load(part, providers)?;
        let (name, deepstack) = (part.graph.name(), &self.layout.deepstack);
        let encoder = Encoder::read(kind, name, loaded, &self.parts.description, deepstack)?;
        model.degradations.extend(degradations);
        note(model, &encoder, part);
        Ok((encoder, LoadedBeside { name: kind.as_str(), part, provider }))
    }
}

/// What reads media, if anything does, and the graphs that were loaded for it.
type Reading<'a> = (Option<Arc<MediaReader>>, Vec<LoadedBeside<'a>>);

impl MediaOptions {
    /// Chooses a processor and loads the encoders that it feeds, where the model has some and its decoder takes what they
    /// give; tells the model what became of that.
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
        let processor = self.choose.map(|choose| choose(model)).transpose()?.flatten();
        let Some(processor) = processor else { return Ok((None, Vec::new())) };
        let wanted = [
            (EncoderKind::Vision, &parts.vision, self.vision.as_ref()),
            (EncoderKind::Audio, &parts.audio, self.audio.as_ref()),
        ];
        let (mut encoders, mut beside) = (Vec::new(), Vec::new());
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

/// Says which outputs have no effect.
fn note(model: &mut ModelInfo, encoder: &Encoder, part: &Part) {
    for output in encoder.unread() {
        let place = format!("{} {output}", part.graph.name());
        model.ignored.insert(place, "the decoder has no input for it".into());
    }
}
