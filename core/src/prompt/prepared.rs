//! A prompt at each of its stages, from the rendered text to units.

use std::ops::Range;

use crate::media::{Digest, Media, MediaKind};
use crate::processor::PromptPart;
use crate::report::Warning;

use super::Prompt;

/// A piece of media in a [`PreparedPrompt`].
///
/// A [`PreparedPrompt`] counts its positions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlacedMedia {
    /// The index of its unit in the prompt.
    pub unit: usize,
    /// Its kind.
    pub kind: MediaKind,
    /// The media.
    pub media: Media,
    /// How many positions of the context it takes.
    pub positions: usize,
}

impl PlacedMedia {
    /// Places media at a unit of a prompt.
    pub fn new(unit: usize, kind: MediaKind, media: Media, positions: usize) -> Self {
        Self { unit, kind, media, positions }
    }

    /// Returns how many positions the first `units` of a prompt with these media take. A token takes one.
    pub fn positions_before(media: &[Self], units: usize) -> usize {
        let before = media.iter().take_while(|media| media.unit < units);
        before.fold(units, |all, media| (all + media.positions).saturating_sub(1))
    }
}

/// An earlier reply in a [`PreparedPrompt`], in the ids that were sampled.
///
/// [`PreparedPrompt::replies`] has them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlacedReply {
    /// The indexes of its units in the prompt.
    pub units: Range<usize>,
    /// Whether its text had other ids until those that were sampled took their place.
    pub is_spliced: bool,
}

impl PlacedReply {
    /// Places a reply at units of a prompt.
    pub fn new(units: Range<usize>, is_spliced: bool) -> Self {
        Self { units, is_spliced }
    }
}

/// A prompt at each of its stages, as [`ChatModel::prompt`](crate::ChatModel::prompt) returns it.
///
/// ```
/// use alloquy_core::Media;
/// use alloquy_core::media::{Digest, MediaKind};
/// use alloquy_core::processor::PromptPart;
/// use alloquy_core::prompt::{PlacedMedia, PreparedPrompt, Prompt};
/// use alloquy_testing::ByteTokenizer;
///
/// let image = Media::new("image/png", vec![1, 2, 3]);
/// let parts = vec![PromptPart::Text("Look: ".to_owned()), PromptPart::Media(image.clone())];
/// let prompt = Prompt::lower(&parts, &ByteTokenizer::new(["<end>"]))?;
/// let template = Digest::of(b"the source of the template");
/// let mut prepared = PreparedPrompt::new("Look: <image>".to_owned(), parts, prompt, template, 1024);
/// // The image is the seventh unit, and takes 64 positions.
/// prepared.media.push(PlacedMedia::new(6, MediaKind::Image, image, 64));
/// assert_eq!((prepared.positions(), prepared.remaining()), (70, 954));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PreparedPrompt {
    /// What the template rendered, with the marks of the processor.
    pub rendered: String,
    /// The parts that the processor split it into, including the texts around media.
    pub parts: Vec<PromptPart>,
    /// The units that a session computes, with earlier replies as they were sampled.
    pub prompt: Prompt,
    /// The media among the units, in their order.
    pub media: Vec<PlacedMedia>,
    /// The earlier replies that are in it as they were sampled, in their order.
    pub replies: Vec<PlacedReply>,
    /// The digest of the template.
    pub template: Digest,
    /// The name of the template that rendered, such as `tool_use`; `None` if the model has only one.
    pub template_name: Option<String>,
    /// Arguments without effect on the prompt, control tokens that they allow, and the template's own role markers in
    /// texts.
    pub warnings: Vec<Warning>,
    /// How many positions the model's context has.
    pub context: usize,
}

impl PreparedPrompt {
    /// Creates a prompt without media, of a template without a name, for a context of `context` positions.
    pub fn new(
        rendered: String,
        parts: Vec<PromptPart>,
        prompt: Prompt,
        template: Digest,
        context: usize,
    ) -> Self {
        let media = Vec::new();
        let replies = Vec::new();
        let warnings = Vec::new();
        Self { rendered, parts, prompt, media, replies, template, template_name: None, warnings, context }
    }

    /// Returns how many positions of the context the prompt takes.
    pub fn positions(&self) -> usize {
        self.positions_before(self.prompt.units.len())
    }

    /// Returns how many positions of the context are left for the reply.
    pub fn remaining(&self) -> usize {
        self.context.saturating_sub(self.positions())
    }

    /// Returns the rendered text from where it differs from that of `before`: usually what the new messages add to it.
    /// It begins earlier if the template renders an old message differently because of the new ones.
    pub fn added_to(&self, before: &Self) -> &str {
        let pairs = before.rendered.bytes().zip(self.rendered.bytes());
        let same = pairs.take_while(|(left, right)| left == right).count();
        let start = self.rendered.floor_char_boundary(same);
        self.rendered.get(start..).unwrap_or_default()
    }

    /// Returns how many positions its first `units` take.
    pub fn positions_before(&self, units: usize) -> usize {
        PlacedMedia::positions_before(&self.media, units)
    }
}
