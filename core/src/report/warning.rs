//! Reports of what was not done as requested.

use serde::{Deserialize, Serialize};

use crate::arguments::TextSource;
use crate::media::Digest;

use super::{DraftSource, DraftStop, Usage};

/// Something that was not done as requested, was done in another way, or was requested and is dangerous.
///
/// The reply to a [`Request`](crate::Request) lists its warnings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// `max_tokens` is larger than the space in the context.
    MaxTokensCapped {
        /// The requested number.
        asked: usize,
        /// The space in the context.
        room: usize,
    },
    /// The model was still thinking at its budget, and was made to answer.
    ThinkingCut {
        /// How many tokens it had thought.
        tokens: usize,
    },
    /// A grammar was requested and tools were offered without a tool choice. The reply matches the grammar and cannot
    /// call tools. [`ToolChoice::Auto`](crate::output::ToolChoice::Auto) allows both.
    #[serde(alias = "tools_shut_out")]
    ToolsExcluded {
        /// How many tools were offered.
        tools: usize,
    },
    /// The reply ended before its grammar was complete: at a limit, at a stop text, or because the caller cancelled it.
    #[serde(alias = "constraint_cut")]
    GrammarCut,
    /// The reply does not match its grammar, because the server that generated it did not enforce it.
    GrammarViolated {
        /// How many of its tokens match.
        tokens: usize,
    },
    /// The reply ended with the same tokens again and again, and was ended there.
    /// [`SamplingOptions::repetition_detection`](crate::SamplingOptions::repetition_detection) decides how often they may occur.
    RepetitionStopped {
        /// How many tokens were repeated.
        period: usize,
        /// How often they occurred in a row.
        times: usize,
    },
    /// The reply contains a text that only tool calls have, although no tool was offered or calls were forbidden, because the
    /// server that generated it did not exclude it. It is text of the reply.
    UnwantedCall {
        /// The first such text, such as `<tool_call>`.
        marker: String,
    },
    /// The model called a tool that does not exist, and read an error that lists those that do. A model that calls
    /// nothing else three times in a row is not asked again.
    UnknownToolCalled {
        /// The name that the model wrote.
        name: String,
        /// How often it was called in this turn.
        times: usize,
    },
    /// A sampling option has no effect on this model.
    OptionIgnored {
        /// The name of the option.
        name: String,
    },
    /// Bytes at the end of the reply were not a whole character and became U+FFFD.
    BrokenText,
    /// A text of the conversation contains a control token, and the injection policy allowed it.
    ControlTokenLetThrough {
        /// The control token.
        token: String,
        /// The source of the texts that contain it.
        source: TextSource,
        /// How often it occurs in the texts that the template was given.
        times: usize,
    },
    /// A text of the conversation contains a role marker of the template, such as `USER:`, that is not a control token.
    /// The model may read the text after it as another message. `RoleMarkers` of `alloquy-inference` finds them.
    RoleMarkerInText {
        /// The marker, as the template prints it.
        marker: String,
        /// The source of the texts that contain it.
        source: TextSource,
        /// The index of the first message with it, among those that the template was given; `None` for tools and
        /// variables.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<usize>,
        /// How often it occurs in the texts of that source.
        times: usize,
    },
    /// The template does not support system messages, and their text was put into the first user message.
    InstructionsMerged {
        /// How many system messages.
        messages: usize,
    },
    /// The template does not support something that the conversation has, and the prompt omits it.
    LeftOut {
        /// What it is, such as `tools`.
        what: String,
    },
    /// A retriever failed, and the reply was generated without its passages.
    RetrievalFailed {
        /// The retriever's name.
        retriever: String,
        /// What failed.
        error: String,
    },
    /// An image has more pixels than the limit, and was made smaller than the model would accept.
    PixelsCapped {
        /// The image.
        media: Digest,
        /// The pixels that the model would accept.
        wanted: usize,
        /// The pixels that it was given.
        taken: usize,
    },
    /// An audio clip is shorter than the model's minimum, and silence was added after it.
    #[serde(alias = "sound_padded")]
    AudioPadded {
        /// The audio.
        media: Digest,
        /// How long it is, in milliseconds.
        milliseconds: u64,
        /// How long it is with the silence.
        padded: u64,
    },
    /// An audio clip is longer than the model accepts at once, and was split into chunks.
    #[serde(alias = "sound_chunked")]
    AudioChunked {
        /// The audio.
        media: Digest,
        /// Into how many chunks.
        chunks: usize,
    },
    /// A WAV file ends before its header says, or within a frame. The model receives the samples that exist.
    #[serde(alias = "sound_cut")]
    AudioCut {
        /// The audio.
        media: Digest,
        /// How many bytes of samples are missing.
        missing: u64,
        /// How many bytes of an incomplete last frame were left out.
        partial: u64,
    },
    /// A video has more images than the limit, and the model was given some of them.
    FramesSampled {
        /// The video.
        media: Digest,
        /// How many images it has.
        frames: usize,
        /// How many the model was given.
        taken: usize,
    },
    /// Thinking was switched on or off, but the template has no such switch.
    ThinkingSwitchIgnored,
    /// Thinking and other channels of earlier replies were to be kept, but the template does not print all of them.
    ThinkingLeftOut {
        /// How many messages have thinking that are not in the prompt.
        messages: usize,
    },
    /// The prompt of the last reply on this path was rendered with another template, so the model sees the conversation
    /// in another form.
    TemplateChanged {
        /// The digest of the former template.
        before: Digest,
        /// The digest of the template of this reply.
        now: Digest,
    },
    /// The prompt omits the oldest messages of the path, because it would not have fit.
    HistoryShifted {
        /// How many messages.
        dropped: usize,
        /// The units by which that shortened the prompt.
        #[serde(default)]
        tokens: usize,
    },
    /// A summary replaces the oldest messages of the path in the prompt, because they would not have fit.
    #[serde(alias = "history_summarised")]
    HistorySummarized {
        /// How many messages it replaces.
        dropped: usize,
        /// How many units of the prompt they would have taken.
        tokens: usize,
        /// How many units the summary takes; 0 if it was empty or did not fit.
        summary: usize,
        /// How many of the messages the summary does not cover, because the model that summarises had no space for them
        /// or returned nothing.
        left_out: usize,
        /// The usage of summarising in this call; `None` if an earlier summary was used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Usage>,
    },
    /// The summary in the prompt ended at its token limit, before it was complete.
    SummaryCut,
    /// Another execution provider computes the model than the first one in the list.
    ProviderReplaced {
        /// The requested provider, such as `cuda`.
        asked: String,
        /// The provider that is used instead.
        used: String,
        /// Why the requested provider is unavailable.
        reason: String,
    },
    /// The model has heads that predict several tokens at once (MTP), which are not used. The replies are those of the model
    /// without them.
    DraftHeadsIgnored {
        /// Their outputs of the model's graph, such as `mtp_logits`, and the files of their own graphs.
        heads: Vec<String>,
    },
    /// A guard rejected the reply each time that the model was asked, and the last one was let through.
    ReplyRejected {
        /// How often the model was asked.
        attempts: u32,
        /// Why the last reply was rejected.
        reason: String,
    },
    /// Another model answered than the first one, which failed.
    ModelReplaced {
        /// The name of the model that failed.
        asked: String,
        /// The name of the model that answered.
        used: String,
        /// Why the first one failed.
        reason: String,
    },
    /// Notes from memory were found that the prompt omits, because they were more than its limits allow.
    NotesLeftOut {
        /// How many notes.
        notes: usize,
    },
    /// The prompt has no notes from memory, because recalling them failed.
    MemoryUnavailable {
        /// The name of what recalls them.
        from: String,
        /// Why it failed.
        reason: String,
    },
    /// The rest of the reply was generated without drafts from this source.
    DraftsStopped {
        /// What guessed them.
        source: DraftSource,
        /// Why there were no more.
        reason: DraftStop,
    },
}
