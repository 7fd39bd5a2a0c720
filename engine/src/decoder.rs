//! Decoders continue prompts: token ids in, a stream of generated ids out. Knows no text and no template.

pub mod snapshot;
mod snapshot_model;
mod snapshot_store;
mod statistics;
mod thinking;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::media_processor::MediaProcessor;
use alloquy_core::grammar::{Grammar, GrammarMatcher};
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::report::{CacheReport, DraftSource, DraftStop, Speculation};
use alloquy_core::sampling::{SamplingOptions, TokenLogprob, TokenLogprobs};
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::{Error, ErrorKind, Result};

pub use snapshot::{Snapshot, SnapshotError, SnapshotIdentity, SnapshotSource, StateReader};
pub use snapshot_model::{HeldPrompt, SnapshotModel};
pub use snapshot_store::{SavedSnapshot, SnapshotContents, SnapshotStore, SnapshotSummary};
pub use statistics::CacheStatistics;
pub use thinking::{
    ThinkingCorrection, ThinkingEnd, ThinkingRule, ThinkingScanner, ThinkingStage, encode_after_text,
};

/// Continues prompts, token by token.
///
/// `Generator` of alloquy-inference is the local decoder, which runs an [`Engine`](crate::Engine). A client of a server that
/// accepts token ids can be another. `LanguageModel` of that crate makes a [`ChatModel`](alloquy_core::ChatModel) of any.
///
/// # Contract
/// Events come in the order of [`DecodeEventKind`]. Equal requests with a temperature of 0 give equal ids. An option that has no
/// effect is refused or named by [`Decoder::ignored`]. A dropped stream ends its work and leaves the decoder usable. The laws in
/// `laws::decoder` check it.
///
/// ```
/// use alloquy_engine::decoder::{
///     DecodeEnd, DecodeEvent, DecodeEventKind, DecodeRequest, Decoder, GrammarSupport, TokenStream,
/// };
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_core::prompt::PromptUnit;
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
/// let prompt = alloquy_core::prompt::Prompt { units: vec![PromptUnit::Token(72), PromptUnit::Token(105)] };
/// let events: Vec<_> = decoder.decode(DecodeRequest::new(prompt, 1)).collect().await;
/// assert_eq!(events.len(), 4);
/// assert_eq!(decoder.grammar_support(), GrammarSupport::None);
/// # });
/// ```
#[async_trait]
pub trait Decoder: Send + Sync + Debug {
    /// Returns the description of the model.
    fn model(&self) -> &ModelInfo;

    /// Returns the tokenizer of the model.
    fn tokenizer(&self) -> &dyn Tokenizer;

    /// Returns the processor of media; `None` where only tokens are accepted.
    fn media(&self) -> Option<&dyn MediaProcessor> {
        None
    }

    /// Returns how many positions of the context a unit of a prompt takes.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for media that the model does not accept.
    fn positions(&self, unit: &PromptUnit) -> Result<usize> {
        match unit {
            PromptUnit::Token(_) => Ok(1),
            PromptUnit::Media(media) => {
                let message = format!("model {:?} takes no media such as {media:?}", self.model().name);
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    /// Returns whether grammars are enforced, and by what.
    fn grammar_support(&self) -> GrammarSupport {
        GrammarSupport::None
    }

    /// Names the sampling options of a request that have no effect here; each is reported with the reply.
    fn ignored(&self, sampling: &SamplingOptions) -> Vec<&'static str> {
        let _ = sampling;
        Vec::new()
    }

    /// Returns whether [`DecodeRequest::excluded`] is enforced. Where it is not, `LanguageModel` looks for the excluded texts in
    /// the reply, and reports the first one as [`Warning::UnwantedCall`](alloquy_core::report::Warning::UnwantedCall).
    fn enforces_exclusions(&self) -> bool {
        false
    }

    /// Continues a prompt. An error in the request is the stream's first item.
    fn decode(&self, request: DecodeRequest) -> TokenStream;

    /// Returns how likely the tokens of each target are after the prompt, in natural logarithms.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] where the decoder has no scores; [`ErrorKind::ContextOverflow`] when a target does not fit.
    async fn score(&self, prompt: Prompt, targets: Vec<Vec<TokenId>>) -> Result<Vec<Vec<TokenLogprob>>> {
        let _ = (prompt, targets);
        let message = format!("model {:?} does not score texts", self.model().name);
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Returns what is kept for later prompts; `None` where that is not known.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when the decoder has ended.
    async fn cache_statistics(&self) -> Result<Option<CacheStatistics>> {
        Ok(None)
    }

    /// Returns the identity of this model as it is run here; `None` where its state cannot be saved.
    fn identity(&self) -> Option<Digest> {
        None
    }

    /// Returns how many of the first units of `prompt` are computed for its owner; `None` where that is not known. Nothing changes.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`] when the decoder has ended.
    async fn held(&self, prompt: Prompt, origin: SnapshotIdentity) -> Result<Option<usize>> {
        let _ = (prompt, origin);
        Ok(None)
    }

    /// Saves what is computed of `prompt`: its longest prefix that is kept.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when nothing of it is kept, [`ErrorKind::Unsupported`] where the state cannot be saved.
    async fn snapshot(&self, prompt: Prompt, origin: SnapshotIdentity) -> Result<Snapshot> {
        let _ = (prompt, origin);
        let message = format!("model {:?} does not save what it has computed", self.model().name);
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Loads what [`Decoder::snapshot`] saved with the same origin, and returns how many units that are.
    ///
    /// # Errors
    /// Why it was refused. Then nothing has changed.
    async fn restore(&self, from: SnapshotSource, origin: SnapshotIdentity) -> Result<usize, SnapshotError> {
        let _ = (from, origin);
        Err(SnapshotError::Unsupported)
    }
}

/// A decoder that is shared.
// A default method that is added later must be computed too.
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

    fn positions(&self, unit: &PromptUnit) -> Result<usize> {
        (**self).positions(unit)
    }

    fn grammar_support(&self) -> GrammarSupport {
        (**self).grammar_support()
    }

    fn ignored(&self, sampling: &SamplingOptions) -> Vec<&'static str> {
        (**self).ignored(sampling)
    }

    fn enforces_exclusions(&self) -> bool {
        (**self).enforces_exclusions()
    }

    fn decode(&self, request: DecodeRequest) -> TokenStream {
        (**self).decode(request)
    }

    async fn score(&self, prompt: Prompt, targets: Vec<Vec<TokenId>>) -> Result<Vec<Vec<TokenLogprob>>> {
        (**self).score(prompt, targets).await
    }

    async fn cache_statistics(&self) -> Result<Option<CacheStatistics>> {
        (**self).cache_statistics().await
    }

    fn identity(&self) -> Option<Digest> {
        (**self).identity()
    }

    async fn held(&self, prompt: Prompt, origin: SnapshotIdentity) -> Result<Option<usize>> {
        (**self).held(prompt, origin).await
    }

    async fn snapshot(&self, prompt: Prompt, origin: SnapshotIdentity) -> Result<Snapshot> {
        (**self).snapshot(prompt, origin).await
    }

    async fn restore(&self, from: SnapshotSource, origin: SnapshotIdentity) -> Result<usize, SnapshotError> {
        (**self).restore(from, origin).await
    }
}

/// A prompt for a [`Decoder`], and how to continue it.
#[derive(Debug)]
#[non_exhaustive]
pub struct DecodeRequest {
    /// The prompt that is continued.
    pub prompt: Prompt,
    /// How tokens are drawn. The caller applies its stop strings. Its limit of tokens is ignored:
    /// [`DecodeRequest::max_tokens`] counts.
    pub sampling: SamplingOptions,
    /// The most tokens that are generated; 0 computes the prompt and stops.
    pub max_tokens: usize,
    /// What the reply must match.
    pub guided: GuidedDecoding,
    /// What the reply must not contain.
    pub excluded: ExcludedTexts,
    /// Whose prompt it is. A decoder reuses for it only what it has computed for the same owner, since the time and the report of a
    /// prompt say whether somebody has sent its beginning before. Prompts without an owner share what they have among themselves.
    pub owner: Option<String>,
}

impl DecodeRequest {
    /// Creates a request for at most `max_tokens` tokens, with the default sampling of the decoder.
    #[must_use]
    pub fn new(prompt: Prompt, max_tokens: usize) -> Self {
        Self {
            prompt,
            sampling: SamplingOptions::default(),
            max_tokens,
            guided: GuidedDecoding::default(),
            excluded: ExcludedTexts::default(),
            owner: None,
        }
    }

    /// Sets whose prompt it is.
    ///
    /// ```
    /// use alloquy_core::prompt::Prompt;
    /// use alloquy_engine::decoder::DecodeRequest;
    ///
    /// let request = DecodeRequest::new(Prompt::default(), 500).owner("ada".to_owned());
    /// assert_eq!(request.owner.as_deref(), Some("ada"));
    /// ```
    #[must_use]
    pub fn owner(mut self, owner: impl Into<Option<String>>) -> Self {
        self.owner = owner.into();
        self
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

    /// Sets what the reply must not contain.
    #[must_use]
    pub fn excluding(mut self, excluded: ExcludedTexts) -> Self {
        self.excluded = excluded;
        self
    }
}

/// What one reply must not contain, such as the texts that begin tool calls where no tool is offered.
///
/// It applies wherever a reply is free: to thinking, and to an answer without a grammar. A grammar decides alone what it allows.
///
/// ```
/// use alloquy_core::prompt::Prompt;
/// use alloquy_engine::decoder::{DecodeRequest, ExcludedTexts};
///
/// let mut excluded = ExcludedTexts::default();
/// excluded.tokens.push(12);
/// excluded.texts.push("functools[".to_owned());
/// let request = DecodeRequest::new(Prompt::default(), 500).excluding(excluded);
/// assert_eq!(request.excluded.tokens, [12]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExcludedTexts {
    /// Control tokens that are never sampled.
    pub tokens: Vec<TokenId>,
    /// Texts that are never completed, whichever tokens they consist of.
    pub texts: Vec<String>,
}

impl ExcludedTexts {
    /// Returns whether nothing is excluded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.texts.is_empty()
    }
}

/// What one reply must match, and how long it may think.
///
/// [`ThinkingRule`] has an example.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct GuidedDecoding {
    /// The grammar as text, for a server, and as a matcher for one reply, for a decoder that has the logits.
    pub grammar: Option<(Grammar, Box<dyn GrammarMatcher>)>,
    /// Where the model may think before it answers.
    pub thinking: Option<ThinkingRule>,
}

/// What enforces a grammar.
///
/// [`Decoder`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrammarSupport {
    /// The decoder enforces it, token by token.
    Exact,
    /// A server receives the text of the grammar, and its ids are checked as they come.
    Unverified,
    /// Nothing: a request with a grammar is refused.
    None,
}

/// What happens while tokens are generated.
///
/// [`Decoder`] has an example.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodeEvent {
    /// When it happened, by the clock of the process that computed or received it.
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

/// What happened, in this order: `Started`, `Prefilled`, tokens, `Cached` if it comes at all, `Finished`.
///
/// [`Decoder`] has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DecodeEventKind {
    /// The request was taken from the queue.
    Started {
        /// The seed of the draws, unless they are greedy.
        seed: Option<u64>,
    },
    /// The prompt is computed.
    Prefilled(CacheReport),
    /// A token was generated.
    Token {
        /// Its id.
        id: TokenId,
        /// How likely it was, if the sampling options request it.
        logprobs: Option<TokenLogprobs>,
    },
    /// How many of the last tokens were draft tokens.
    Speculated(Speculation),
    /// The rest of the tokens come without drafts from this source.
    DraftsStopped {
        /// What guessed them.
        source: DraftSource,
        /// Why there are no more.
        reason: DraftStop,
    },
    /// Thinking was ended at its budget. The tokens that end it follow.
    ThinkingCut {
        /// How many tokens the thinking has.
        tokens: usize,
    },
    /// How much of the prompt was cached, where that is known only after the last token. It replaces the report of `Prefilled`.
    Cached(CacheReport),
    /// No token follows.
    Finished(DecodeEnd),
}

/// Why no token follows.
///
/// [`Decoder`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeEnd {
    /// The model generated a stop token: this one, where it is known.
    StopToken(Option<TokenId>),
    /// [`DecodeRequest::max_tokens`] were generated.
    MaxTokens,
    /// The grammar is complete, without a stop token.
    GrammarComplete,
}

/// The events of one request. Dropping it ends the work; what was computed is kept.
///
/// [`Decoder`] has an example.
pub type TokenStream = BoxStream<'static, Result<DecodeEvent>>;
