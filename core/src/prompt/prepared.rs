//! A prompt at each of its stages, from what a template printed to units.

use crate::media::{Digest, Media, MediaKind};
use crate::processor::PromptPart;
use crate::report::Degradation;

use super::Prompt;

/// A piece of media in a prompt, as [`PreparedPrompt::media`](super::PreparedPrompt) has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlacedMedia {
    /// Which unit of the prompt it is.
    pub unit: usize,
    /// What it is.
    pub kind: MediaKind,
    /// Its identity.
    pub media: Media,
    /// How many positions of the context it takes.
    pub positions: usize,
}

impl PlacedMedia {
    /// Places media at a unit of a prompt.
    pub fn new(unit: usize, kind: MediaKind, media: Media, positions: usize) -> Self {
        Self { unit, kind, media, positions }
    }

    /// Returns how many positions the first `units` of a prompt with these media take: a token one, media what they have.
    pub fn positions_before(media: &[Self], units: usize) -> usize {
        let before = media.iter().take_while(|media| media.unit < units);
        before.fold(units, |all, media| (all + media.positions).saturating_sub(1))
    }
}

/// A prompt at each of its stages, as [`ChatModel::prompt`](crate::ChatModel::prompt) returns it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PreparedPrompt {
    /// What the template printed, as the processor marked it.
    pub rendered: String,
    /// The parts that the processor cut it into, with the texts that stand around media.
    pub parts: Vec<PromptPart>,
    /// The units that a session is fed: earlier replies as they were sampled.
    pub prompt: Prompt,
    /// The media among the units, in their order.
    pub media: Vec<PlacedMedia>,
    /// The digest of the template.
    pub template: Digest,
    /// Which of the template's several rendered, such as `tool_use`; `None` where there is one.
    pub template_name: Option<String>,
    /// What the arguments ask for and the prompt does not have, the control tokens that they let through, and the template's
    /// own role markers in texts.
    pub degradations: Vec<Degradation>,
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
        let (media, degradations) = (Vec::new(), Vec::new());
        Self { rendered, parts, prompt, media, template, template_name: None, degradations, context }
    }

    /// Returns how many positions of the context the prompt takes: a token one, media what they have.
    pub fn positions(&self) -> usize {
        self.positions_before(self.prompt.units.len())
    }

    /// Returns how many positions of the context are left for the reply.
    pub fn remaining(&self) -> usize {
        self.context.saturating_sub(self.positions())
    }

    /// Returns the rendered text from where it differs from that of `before`: what new messages add to it. A template that
    /// writes old messages differently because of them makes it begin there.
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
