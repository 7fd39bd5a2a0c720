//! What continues a prompt: ids of tokens in, a stream of generated ids out. Knows no text and no template.

pub mod snapshot;
mod statistics;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::media_processor::MediaProcessor;
use alloquy_core::grammar::{Constraint, Grammar};
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::{Prompt, Unit};
use alloquy_core::report::{CacheReport, Speculation};
use alloquy_core::sampling::{Logprob, SampledLogprobs, SamplingOptions};
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::{Error, ErrorKind, Result};

pub use snapshot::{Snapshot, SnapshotOrigin, SnapshotRefusal, SnapshotSource, StateReader};

pub use statistics::CacheStatistics;

/// Continues prompts: the seam between a language model and whatever computes it.
///
/// The local member is `Generator` of alloquy-inference, over an [`Engine`](crate::Engine); a server that takes ids of tokens can
/// be another. `LanguageModel` of that crate makes a [`ChatModel`](alloquy_core::ChatModel) of one.
///
/// # Contract
/// Events come in the order of [`DecodeEventKind`]. Equal requests with a temperature of 0 give equal ids. An option that has no
/// effect is refused or named by [`Decoder::ignored`]. A dropped stream ends its work and leaves the decoder usable. The laws in
/// `laws::decoder` check it.
///
/// ```
/// use alloquy_engine::decoder::{DecodeEnd, DecodeEvent, DecodeEventKind, DecodeRequest, Decoder, TokenStream};
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_core::prompt::Unit;
/// use alloquy_core::report::CacheReport;
/// use alloquy_core::tokenizer::Tokenizer;
/// use alloquy_testing::ByteTokenizer;
/// use futures::{StreamExt, stream};
///
/// /// Generates the tokens of the prompt again.
/// #[derive(Debug)]
/// struct Repeat {
///     model: ModelInfo,
///     tokenizer: ByteTokenizer,
/// }
///
/// #[async_trait::async_trait]
/// impl Decoder for Repeat {
///     fn model(&self) -> &ModelInfo {
///         &self.model
///     }
///
///     fn tokenizer(&self) -> &dyn Tokenizer {
///         &self.tokenizer
///     }
///
///     fn decode(&self, request: DecodeRequest) -> TokenStream {
///         let units = request.prompt.units.len();
///         let report = CacheReport::new(units, 0);
///         let mut events = vec![DecodeEventKind::Started { seed: None }, DecodeEventKind::Prefilled(report)];
///         for id in request.prompt.tokens().flatten().take(request.max_tokens) {
///             events.push(DecodeEventKind::Token { id, logprobs: None });
///         }
///         events.push(DecodeEventKind::Finished(DecodeEnd::MaxTokens));
///         stream::iter(events).map(|event| Ok(DecodeEvent::now(event))).boxed()
///     }
/// }
///
/// # pollster::block_on(async {
/// let decoder = Repeat { model: ModelInfo::default(), tokenizer: ByteTokenizer::new(["<end>"]) };
/// let prompt = alloquy_core::prompt::Prompt { units: vec![Unit::Token(72), Unit::Token(105)] };
/// let events: Vec<_> = decoder.decode(DecodeRequest::new(prompt, 1)).collect().await;
/// assert_eq!(events.len(), 4);
/// # });
/// ```
#[async_trait]
pub trait Decoder: Send + Sync + Debug {
    /// Returns what the model's files say of it.
    fn model(&self) -> &ModelInfo;

    /// Returns the tokenizer of the model.
    fn tokenizer(&self) -> &dyn Tokenizer;

    /// Returns what turns media into tensors; `None` where only tokens are taken.
    fn media(&self) -> Option<&dyn MediaProcessor> {
        None
    }

    /// Returns how many positions of the context a unit of a prompt takes.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for media that the model does not take.
    fn positions(&self, unit: &Unit) -> Result<usize> {
        match unit {
            Unit::Token(_) => Ok(1),
            Unit::Media(media) => {
                let message = format!("model {:?} takes no media such as {media:?}", self.model().name);
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    /// Returns who holds a reply to its grammar.
    fn grammar_support(&self) -> GrammarSupport {
        GrammarSupport::None
    }

    /// Names the sampling options of a request that have no effect here; each is reported with the reply.
    fn ignored(&self, sampling: &SamplingOptions) -> Vec<&'static str> {
        let _ = sampling;
        Vec::new()
    }

    /// Continues a prompt. What is wrong with the request is the stream's first item.
    fn decode(&self, request: DecodeRequest) -> TokenStream;

    /// Returns how likely the tokens of each target are after the prompt, in natural logarithms.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] where nobody computes that; [`ErrorKind::ContextOverflow`] when a target does not fit.
    async fn score(&self, prompt: Prompt, targets: Vec<Vec<TokenId>>) -> Result<Vec<Vec<Logprob>>> {
        let _ = (prompt, targets);
        let message = format!("model {:?} does not score texts", self.model().name);
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Returns what is kept for prompts to come; `None` where nobody knows.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when what computes has ended.
    async fn cache_statistics(&self) -> Result<Option<CacheStatistics>> {
        Ok(None)
    }

    /// Returns what tells this model, run in this way, from every other; `None` where its state cannot be saved.
    fn identity(&self) -> Option<Digest> {
        None
    }

    /// Saves what is computed of `prompt`: its longest prefix that is kept.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when nothing of it is kept, [`ErrorKind::Unsupported`] where the state cannot be saved.
    async fn snapshot(&self, prompt: Prompt, origin: SnapshotOrigin) -> Result<Snapshot> {
        let _ = (prompt, origin);
        let message = format!("model {:?} does not save what it has computed", self.model().name);
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Loads what [`Decoder::snapshot`] saved with the same origin, and returns how many units that are.
    ///
    /// # Errors
    /// Why it was refused; nothing has changed then.
    async fn restore(&self, from: SnapshotSource, origin: SnapshotOrigin) -> Result<usize, SnapshotRefusal> {
        let _ = (from, origin);
        Err(SnapshotRefusal::Unsupported)
    }
}

/// A decoder that is shared.
// A method that is provided later is passed on too.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<D: Decoder + ?Sized> Decoder for Arc<D> {
    fn model(&self) -> &ModelInfo {
        (**self).model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        (**self).tokenizer()
    }

    fn media(&self) -> Option<&dyn MediaProcessor> {
        (**self).media()
    }

    fn positions(&self, unit: &Unit) -> Result<usize> {
        (**self).positions(unit)
    }

    fn grammar_support(&self) -> GrammarSupport {
        (**self).grammar_support()
    }

    fn ignored(&self, sampling: &SamplingOptions) -> Vec<&'static str> {
        (**self).ignored(sampling)
    }

    fn decode(&self, request: DecodeRequest) -> TokenStream {
        (**self).decode(request)
    }

    async fn score(&self, prompt: Prompt, targets: Vec<Vec<TokenId>>) -> Result<Vec<Vec<Logprob>>> {
        (**self).score(prompt, targets).await
    }

    async fn cache_statistics(&self) -> Result<Option<CacheStatistics>> {
        (**self).cache_statistics().await
    }

    fn identity(&self) -> Option<Digest> {
        (**self).identity()
    }

    async fn snapshot(&self, prompt: Prompt, origin: SnapshotOrigin) -> Result<Snapshot> {
        (**self).snapshot(prompt, origin).await
    }

    async fn restore(&self, from: SnapshotSource, origin: SnapshotOrigin) -> Result<usize, SnapshotRefusal> {
        (**self).restore(from, origin).await
    }
}

/// What a [`Decoder`] is asked.
#[derive(Debug)]
#[non_exhaustive]
pub struct DecodeRequest {
    /// What is continued.
    pub prompt: Prompt,
    /// How tokens are drawn. Its stop texts and its limit of tokens are those of the caller: a decoder looks at
    /// [`DecodeRequest::max_tokens`] alone.
    pub sampling: SamplingOptions,
    /// How many tokens are generated at most; 0 computes the prompt and stops.
    pub max_tokens: usize,
    /// What the reply must match.
    pub guided: GuidedDecoding,
}

impl DecodeRequest {
    /// Asks for at most `max_tokens` tokens, with the sampling that the decoder has by default.
    #[must_use]
    pub fn new(prompt: Prompt, max_tokens: usize) -> Self {
        Self { prompt, sampling: SamplingOptions::default(), max_tokens, guided: GuidedDecoding::default() }
    }

    /// Sets how tokens are drawn.
    #[must_use]
    pub fn sampling(mut self, sampling: SamplingOptions) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets what the reply must match.
    #[must_use]
    pub fn guided(mut self, guided: GuidedDecoding) -> Self {
        self.guided = guided;
        self
    }
}

/// What one reply must match, and how long it may think.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct GuidedDecoding {
    /// The grammar in both forms: its text for a server, and what follows one reply for whoever has the logits.
    pub grammar: Option<(Grammar, Box<dyn Constraint>)>,
    /// Where the model may think before it answers.
    pub thinking: Option<ThinkingRule>,
}

/// How thinking begins and ends in a reply, and how long it may be; a grammar begins after it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThinkingRule {
    /// The text that begins it, with the white space that the model writes around it.
    pub start: String,
    /// The text that ends it, likewise.
    pub end: String,
    /// The prompt has begun it already; otherwise the model may.
    pub is_open: bool,
    /// After so many tokens it is ended.
    pub budget: Option<usize>,
}

impl ThinkingRule {
    /// A reply may begin with thinking between these texts, as long as it likes.
    pub fn new(start: impl Into<String>, end: impl Into<String>) -> Self {
        Self { start: start.into(), end: end.into(), is_open: false, budget: None }
    }
}

/// Who holds a reply to its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrammarSupport {
    /// The decoder, token by token.
    Exact,
    /// A server that is sent the text of the grammar: its ids are checked as they come.
    Unverified,
    /// Nobody: a request with a grammar is refused.
    None,
}

/// What happens while tokens are generated.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodeEvent {
    /// When it happened, by the clock of whoever computed or received it.
    pub at: Instant,
    /// What it is.
    pub kind: DecodeEventKind,
}

impl DecodeEvent {
    /// Makes an event that happens now.
    #[must_use]
    pub fn now(kind: DecodeEventKind) -> Self {
        Self { at: Instant::now(), kind }
    }
}

/// What happened, in this order: `Started`, `Prefilled`, tokens, `Finished`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DecodeEventKind {
    /// The request was taken from the queue.
    Started {
        /// What the draws begin with, where they are not greedy.
        seed: Option<u64>,
    },
    /// The prompt is computed.
    Prefilled(CacheReport),
    /// A token was generated.
    Token {
        /// Its id.
        id: TokenId,
        /// How likely it was, where the sampling asks for it.
        logprobs: Option<SampledLogprobs>,
    },
    /// So many of the tokens that came last were guessed.
    Speculated(Speculation),
    /// Thinking was ended after so many tokens; the tokens that end it follow.
    ThinkingCut {
        /// How many tokens were thought.
        tokens: usize,
    },
    /// No token follows.
    Finished(DecodeEnd),
}

/// Why no token follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeEnd {
    /// The model generated a stop token: this one, where it is known.
    StopToken(Option<TokenId>),
    /// [`DecodeRequest::max_tokens`] were generated.
    MaxTokens,
    /// The grammar is complete, and no token was spent on its end.
    GrammarComplete,
}

/// The events of one request. Dropping it ends the work; what was computed is kept.
pub type TokenStream = BoxStream<'static, Result<DecodeEvent>>;
