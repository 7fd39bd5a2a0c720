//! What was not done as asked.

use serde::{Deserialize, Serialize};

use crate::arguments::TextSource;
use crate::media::Digest;

use super::Usage;

/// Something that was not done as asked, or had to be done another way, or that was asked for and is dangerous.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Degradation {
    /// `max_tokens` asks for more than the context has room for.
    MaxTokensCapped {
        /// What was asked for.
        asked: usize,
        /// What there is room for.
        room: usize,
    },
    /// The model was thinking still and was made to answer.
    ThinkingCut {
        /// How many tokens it had thought.
        tokens: usize,
    },
    /// A form was demanded, tools were offered, and no choice between the two was made: the reply has the form, and no
    /// tool can be called. With [`ToolChoice::Auto`](crate::output::ToolChoice::Auto) both would be possible.
    ToolsShutOut {
        /// How many tools were offered.
        tools: usize,
    },
    /// The reply ended before its form was complete: at a limit, at a stop text, or because the caller stopped it.
    ConstraintCut,
    /// The reply does not match its grammar: whoever generated it did not hold it to that.
    GrammarViolated {
        /// How many of its tokens match.
        tokens: usize,
    },
    /// A sampling option has no effect on this model.
    OptionIgnored {
        /// What it is called.
        name: String,
    },
    /// Bytes at the end of the reply were no whole character and became U+FFFD.
    BrokenText,
    /// A text of the conversation spells a control token, and the injection policy let it be one.
    ControlTokenLetThrough {
        /// The control token.
        token: String,
        /// Whose texts spell it.
        source: TextSource,
        /// How often it stands in the texts that the template was given.
        times: usize,
    },
    /// A text of the conversation has a text by which the template says who speaks, such as `USER:`, and which is no control
    /// token: the model may read what follows as a message of its own. `RoleMarkers` of `alloquy-inference` finds them.
    RoleMarkerInText {
        /// The marker, as the template prints it.
        marker: String,
        /// Whose texts have it.
        source: TextSource,
        /// Which of the messages that the template was given is the first that has it, counted from 0; `None` of tools and
        /// variables.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<usize>,
        /// How often it is in the texts of that source.
        times: usize,
    },
    /// The template has no place for system messages, and their text stands in the first message of the user.
    InstructionsMerged {
        /// How many of them.
        messages: usize,
    },
    /// The template has no place for something that the conversation has, and the prompt goes without it.
    LeftOut {
        /// What it is, such as `tools`.
        what: String,
    },
    /// A picture has more pixels than are taken, and was made smaller than the model would have it.
    PixelsCapped {
        /// The picture.
        media: Digest,
        /// The pixels that the model would be fed.
        wanted: usize,
        /// The pixels that it was fed.
        taken: usize,
    },
    /// A sound is shorter than the model takes, and silence was put behind it.
    SoundPadded {
        /// The sound.
        media: Digest,
        /// How long it is, in milliseconds.
        milliseconds: u64,
        /// How long it was made.
        padded: u64,
    },
    /// A sound is longer than the model takes at once, and was cut into several.
    SoundChunked {
        /// The sound.
        media: Digest,
        /// Into how many pieces.
        chunks: usize,
    },
    /// A WAV file ends before its header says, or within a frame: the model hears what is there.
    SoundCut {
        /// The sound.
        media: Digest,
        /// How many bytes of samples the header has that are not there.
        missing: u64,
        /// How many bytes of a last frame are there that is not whole, and are left out.
        partial: u64,
    },
    /// A film has more pictures than are taken, and the model was fed some of them.
    FramesSampled {
        /// The film.
        media: Digest,
        /// How many pictures it has.
        frames: usize,
        /// How many were taken.
        taken: usize,
    },
    /// Thinking was switched on or off, and the template has no such switch.
    ThinkingSwitchIgnored,
    /// Thoughts of earlier replies and what they said in other channels were to be kept; the template does not print it all.
    ThinkingLeftOut {
        /// How many messages have thoughts that the prompt has not.
        messages: usize,
    },
    /// The last reply on this path was rendered with another template: the model sees the conversation in another form.
    TemplateChanged {
        /// The digest of the template before.
        before: Digest,
        /// The digest of the template of this reply.
        now: Digest,
    },
    /// The prompt went without the oldest messages of the path, because it would not have fit.
    HistoryShifted {
        /// How many.
        dropped: usize,
        /// How many units the prompt is shorter for that.
        #[serde(default)]
        tokens: usize,
    },
    /// In the prompt a summary stood for the oldest messages of the path, because they would not have fit.
    HistorySummarised {
        /// How many messages it stands for.
        dropped: usize,
        /// How many units of the prompt they would have taken.
        tokens: usize,
        /// How many units the summary takes in their place; 0 where there was no room for it, or nothing in it.
        summary: usize,
        /// How many of the messages the summary does not cover: the model that summarises had no room for them, or said
        /// nothing of them.
        left_out: usize,
        /// What summarising took in this call; `None` where a summary that was made before served.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Usage>,
    },
    /// The summary in the prompt ended at its limit of tokens, before it was complete.
    SummaryCut,
    /// The model is computed by something else than was asked for first, as was allowed.
    ProviderReplaced {
        /// What was asked for, such as `cuda`.
        asked: String,
        /// What computes instead.
        used: String,
        /// Why.
        reason: String,
    },
}
