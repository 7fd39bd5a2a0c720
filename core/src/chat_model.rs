//! Anything that answers: a model in this process, or a server. One request, one stream, one reply.

use std::fmt::Debug;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::arguments::{ProcessorArguments, TextSource};
use crate::generator::Speculation;
use crate::guidance::Guidance;
use crate::media::Digest;
use crate::message::{Message, Role};
use crate::middleware::CutHistory;
use crate::path::MessagePath;
use crate::preface::Preface;
use crate::processor::Delta;
use crate::round::PreparedPrompt;
use crate::sampling::{SampledLogprobs, SamplingOptions};
use crate::scoring::Score;
use crate::stop::StopSignal;
use crate::stream::Run;
use crate::template::Ending;
use crate::timing::ReplyTiming;
use crate::tokenizer::TokenId;
use crate::turn_data::TurnData;
use crate::{Error, ErrorKind, Result};

/// What a model is asked.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Request {
    /// Instructions, tools and template variables.
    pub preface: Preface,
    /// The messages from the first to the one to answer, and the ids that replies among them were sampled as.
    pub path: MessagePath,
    /// How to sample; what is absent the model decides.
    pub sampling: SamplingOptions,
    /// How the prompt ends.
    pub ending: Ending,
    /// Ends the reply early and keeps it.
    pub stop: StopSignal,
    /// The form that this one reply must have.
    pub guidance: Guidance,
    /// What the processor is told by the call and the conversation; what is absent the preface decides.
    pub arguments: ProcessorArguments,
    /// What the host hands to middleware and tools; models leave it aside.
    pub turn_data: TurnData,
    /// The ids that replies on the path were sampled as, in their order, where the path itself has none. A model that finds
    /// a reply's text in its prompt takes these in its place, so that it computes none of it again; others change nothing.
    pub replies: Vec<Vec<TokenId>>,
}

impl Request {
    /// Asks for an answer to `path`.
    pub fn new(preface: Preface, path: Vec<Message>) -> Self {
        Self::of(preface, path.into())
    }

    /// Asks for an answer to a path that others may hold too: no message of it is copied.
    pub fn of(preface: Preface, path: MessagePath) -> Self {
        Self { preface, path, ..Self::default() }
    }

    /// Sets how to sample.
    #[must_use]
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets how the prompt ends.
    #[must_use]
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// Sets the form that the reply must have.
    #[must_use]
    pub fn guidance(mut self, guidance: Guidance) -> Self {
        self.guidance = guidance;
        self
    }

    /// Sets what the processor is told.
    #[must_use]
    pub fn arguments(mut self, arguments: ProcessorArguments) -> Self {
        self.arguments = arguments;
        self
    }

    /// Returns what the processor is told in the end: by the call and the conversation, then by the preface.
    pub fn joined_arguments(&self) -> ProcessorArguments {
        self.arguments.clone().or(&self.preface.arguments)
    }

    /// Puts `text` in the place of the first system message, or before all messages where there is none.
    pub fn replace_system_prompt(&mut self, text: &str) {
        let is_system = |message: &&mut Message| message.role == Role::System;
        let is_alone = self.preface.messages.is_empty();
        let is_first = self.path.first().is_some_and(|first| first.role == Role::System);
        if let Some(message) = self.preface.messages.iter_mut().find(is_system) {
            *message = Message::system(text);
        } else if is_alone && is_first {
            self.path.replace(0, Message::system(text));
        } else {
            self.preface.messages.insert(0, Message::system(text));
        }
    }

    /// Sets the ids that replies on the path were sampled as.
    #[must_use]
    pub fn replies(mut self, replies: Vec<Vec<TokenId>>) -> Self {
        self.replies = replies;
        self
    }

    /// Listens to a signal that ends the reply early.
    #[must_use]
    pub fn stop(mut self, stop: StopSignal) -> Self {
        self.stop = stop;
        self
    }
}

/// Why a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended it with a stop token, or with a sequence of them.
    Stop,
    /// A stop text ended it; [`Reply::stop_string`] says which.
    StopString,
    /// `max_tokens` were sampled.
    #[serde(alias = "max_tokens")]
    Length,
    /// The model asks for tools.
    ToolCalls,
    /// The context is full.
    ContextFull,
    /// The caller stopped it.
    #[serde(alias = "stopped")]
    Cancelled,
    /// The model failed midway, and what it said until then is kept; [`Reply::error`] says how.
    Error,
}

impl FinishReason {
    /// Says whether the reply was cut off before the model was done: by the caller, or by a failure.
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::Cancelled | Self::Error)
    }
}

/// How many tokens a reply took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Positions of the prompt: its tokens, and what its media take.
    pub prompt: usize,
    /// Positions of the prompt that a session held already.
    #[serde(default)]
    pub reused: usize,
    /// Tokens of the reply, the one that ended it included.
    #[serde(alias = "reply")]
    pub generated: usize,
    /// Tokens of the reply that settled nothing but thinking; the marks around it count with what follows them.
    #[serde(default)]
    pub thinking: usize,
    /// Positions that are left of the context behind prompt and reply; `None` where a server does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<usize>,
}

/// What the KV cache was good for in one reply, in units: a picture is one, however many positions it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheReport {
    /// Units of the prompt.
    pub prompt: usize,
    /// Units that a session held already.
    pub reused: usize,
    /// Units that had to be computed: `prompt - reused`.
    pub forwarded: usize,
    /// Where the prompt first differs from what the session held, or what was computed there and is held no more; `None` when
    /// that was nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<usize>,
    /// Why something was computed again that had been computed before, for earlier replies or for anything else that the
    /// engine's thread remembers; `None` when nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss: Option<MissReason>,
}

/// Why a prompt's beginning was not all reused: up to the last earlier reply, or as far as it was ever computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissReason {
    /// No session holds it any more, or none did: another process computed it, other branches or conversations needed the
    /// room since, or a call that failed took the session with it.
    NotHeld,
    /// What a session holds differs before the end of the earlier replies: instructions, tools or a date changed, or it is
    /// of another conversation that begins alike.
    Differs,
    /// The prompt has an earlier reply differently than it was said, or not at all: the template leaves its thoughts out,
    /// trims it or writes its calls anew, or the oldest messages were dropped.
    Rewritten,
    /// The next words of the prompt were computed in other tokens, and no reply explains it: one was dropped while it was
    /// written, and its ids with it, or words of a message were edited around which tokens join otherwise.
    Respelled,
    /// The model cannot go back to where the prompt leaves what the session holds.
    Rewound,
}

impl std::fmt::Display for MissReason {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::NotHeld => "no session holds the earlier replies",
            Self::Differs => "what a session holds differs",
            Self::Rewritten => "the prompt has an earlier reply otherwise, or not at all",
            Self::Respelled => "the same words were computed in other tokens",
            Self::Rewound => "the model cannot go back so far",
        })
    }
}

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
    /// tool can be called. With [`ToolChoice::Auto`](crate::ToolChoice::Auto) both would be possible.
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
    /// token: the model may read what follows as a message of its own. [`RoleMarkers`](crate::RoleMarkers) finds them.
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

/// A whole reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// What the model said.
    pub message: Message,
    /// The ids it was sampled as, the ending one left out; empty where a server does not say.
    pub tokens: Vec<TokenId>,
    /// Why it ended.
    pub finish: FinishReason,
    /// The stop text that ended it.
    pub stop_string: Option<String>,
    /// What went wrong midway, where something did.
    pub error: Option<String>,
    /// The log-probabilities of [`Reply::tokens`], one for each, where [`SamplingOptions::logprobs`] asks for them.
    pub logprobs: Vec<SampledLogprobs>,
    /// How many tokens it took; zero throughout where the model does not say.
    pub usage: Usage,
    /// What the KV cache was good for, where known.
    pub cache: Option<CacheReport>,
    /// How well its tokens were guessed ahead; `None` where they were not.
    pub speculation: Option<Speculation>,
    /// How long it took, where known. No node remembers it: the same reply takes another time elsewhere.
    pub timing: Option<ReplyTiming>,
    /// The seed of the draw; `None` when greedy or unknown.
    pub seed: Option<u64>,
    /// The digest of the template that rendered its prompt; `None` for models that keep theirs to themselves.
    pub template: Option<Digest>,
    /// What was not done as asked.
    pub degradations: Vec<Degradation>,
    /// Where the history of its prompt began, where a policy for a full context left some of it out.
    pub cut: Option<CutHistory>,
}

impl Reply {
    /// Returns the text of the message.
    pub fn text(&self) -> String {
        self.message.text()
    }

    /// Returns the reply unless it failed midway.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`](crate::ErrorKind) with what went wrong; what was said until then is lost.
    pub fn complete(self) -> Result<Self> {
        match self.error {
            Some(error) => Err(Error::new(ErrorKind::Backend, error)),
            None => Ok(self),
        }
    }

    /// Creates a reply that ended by itself, with nothing known of its cost.
    pub fn new(message: Message) -> Self {
        Self {
            message,
            tokens: Vec::new(),
            finish: FinishReason::Stop,
            stop_string: None,
            error: None,
            logprobs: Vec::new(),
            usage: Usage::default(),
            cache: None,
            speculation: None,
            timing: None,
            seed: None,
            template: None,
            degradations: Vec::new(),
            cut: None,
        }
    }
}

/// A reply that is being written: deltas, then the whole.
pub type ReplyStream = Run<Delta, Reply>;

/// Answers requests.
///
/// # Contract
/// The deltas of a reply join to its message. A request that cannot be answered at all fails in `reply`, before
/// the first delta. Dropping the stream ends the work and leaves the model usable; the stop signal ends the
/// reply and keeps it. `laws::chat_model` checks it.
#[async_trait]
pub trait ChatModel: Send + Sync + Debug {
    /// Returns the model's name.
    fn name(&self) -> &str;

    /// Starts a reply.
    ///
    /// # Errors
    /// Template, tokenizer and backend errors, and [`ErrorKind::ContextOverflow`](crate::ErrorKind).
    async fn reply(&self, request: Request) -> Result<ReplyStream>;

    /// Returns the prompt that this request would give, without running the model; `None` for models that keep theirs to
    /// themselves.
    ///
    /// # Errors
    /// Those of the template, the processor and the tokenizer.
    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        let _ = request;
        Ok(None)
    }

    /// Computes the prompt ahead of its reply, where that saves time later; returns what it found cached.
    ///
    /// # Errors
    /// As [`ChatModel::reply`].
    async fn warm(&self, request: Request) -> Result<Option<CacheReport>>;

    /// Says how likely each of `targets` is as the reply to a request, token by token.
    ///
    /// Nothing is said, and what the model holds of conversations stays as it is: the next reply reuses as much as it
    /// would have without.
    ///
    /// # Errors
    /// As [`ChatModel::reply`]; [`ErrorKind::Unsupported`](crate::ErrorKind) unless the model can score.
    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<Score>> {
        let _ = (request, targets);
        let message = format!("model {:?} does not say how likely texts are", self.name());
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}
