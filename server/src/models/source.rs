//! A model that is served: its names, and how it is loaded.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use alloquy_core::media::MediaKind;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ChatModel, Result};
use alloquy_engine::decoder::SnapshotModel;

/// Returns the bytes of a token.
type TokenBytes = Arc<dyn Fn(TokenId) -> Option<Vec<u8>> + Send + Sync>;

/// A model in memory, and what the server needs to know of it.
///
/// ```
/// use alloquy_server::OpenedModel;
/// use alloquy_testing::EchoModel;
///
/// let mut model = OpenedModel::new(EchoModel).tokens(|token| u8::try_from(token).ok().map(|byte| vec![byte]));
/// model.context_length = Some(4096);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenedModel {
    /// Answers requests.
    pub chat: Arc<dyn ChatModel>,
    /// The positions of its context, where known.
    pub context_length: Option<usize>,
    /// The kinds of media that it takes; none unless they are set.
    pub media: Vec<MediaKind>,
    /// Whether it says how likely texts are; not unless it is set.
    pub scores: bool,
    tokens: Option<TokenBytes>,
    pub(crate) snapshots: Option<Arc<dyn SnapshotModel>>,
}

impl OpenedModel {
    /// A model of which only the replies are known. It has no texts of tokens, so requests for log-probabilities are refused.
    pub fn new(model: impl ChatModel + 'static) -> Self {
        Self {
            chat: Arc::new(model),
            context_length: None,
            media: Vec::new(),
            scores: false,
            tokens: None,
            snapshots: None,
        }
    }

    /// Sets what saves and restores what the model has computed of conversations, where
    /// [`ServerBuilder::snapshots`](crate::ServerBuilder::snapshots) has a place for it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use alloquy_inference::{Generator, LanguageModel};
    /// use alloquy_server::OpenedModel;
    /// use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
    ///
    /// let generator = Generator::new(Arc::new(ScriptedEngine::new([])), 1)?;
    /// let model = LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
    /// let opened = OpenedModel::new(model.clone()).snapshots(model);
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn snapshots(mut self, model: impl SnapshotModel + 'static) -> Self {
        self.snapshots = Some(Arc::new(model));
        self
    }

    /// Sets the function that returns the bytes of a token, as
    /// [`Tokenizer::bytes`](alloquy_core::tokenizer::Tokenizer::bytes) does.
    #[must_use]
    pub fn tokens(mut self, bytes: impl Fn(TokenId) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        self.tokens = Some(Arc::new(bytes));
        self
    }

    /// Returns whether the texts of tokens are known.
    pub(crate) fn has_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// Returns the bytes of a token; of an unknown one, none.
    pub(crate) fn token_bytes(&self, token: TokenId) -> Vec<u8> {
        self.tokens.as_ref().and_then(|bytes| bytes(token)).unwrap_or_default()
    }
}

impl fmt::Debug for OpenedModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("OpenedModel");
        debug.field("chat", &self.chat).field("context_length", &self.context_length).finish_non_exhaustive()
    }
}

/// Loads a model when a request needs it.
///
/// ```
/// use alloquy_core::Result;
/// use alloquy_server::{ModelSource, OpenedModel, ServedModel};
/// use alloquy_testing::EchoModel;
///
/// #[derive(Debug)]
/// struct Echo;
///
/// impl ModelSource for Echo {
///     fn memory(&self) -> u64 {
///         1 << 30
///     }
///
///     fn open(&self) -> Result<OpenedModel> {
///         Ok(OpenedModel::new(EchoModel))
///     }
/// }
///
/// let model = ServedModel::new("echo", Echo).alias("gpt-4o-mini");
/// assert_eq!(model.name(), "echo");
/// ```
pub trait ModelSource: Send + Sync + fmt::Debug {
    /// Returns how many bytes the model takes in memory, as far as is known before it is loaded; 0 for a model elsewhere.
    fn memory(&self) -> u64 {
        0
    }

    /// Returns a text that is equal for two sources that load the same model in the same way. When the list of models is read again,
    /// such a model stays in memory; one without a text is loaded again.
    fn identity(&self) -> Option<String> {
        None
    }

    /// Loads the model. It is called in a thread that may block, and again after the model was unloaded.
    ///
    /// # Errors
    /// Those of loading. The next request tries again.
    fn open(&self) -> Result<OpenedModel>;
}

/// A model that is in memory already.
#[derive(Debug)]
struct Present(OpenedModel);

impl ModelSource for Present {
    fn open(&self) -> Result<OpenedModel> {
        Ok(self.0.clone())
    }
}

/// A model under the names that requests use.
///
/// [`ModelSource`] has an example.
#[derive(Clone, Debug)]
pub struct ServedModel {
    name: String,
    aliases: Vec<String>,
    source: Arc<dyn ModelSource>,
    created: SystemTime,
}

impl ServedModel {
    /// Serves a model that is loaded when the first request needs it.
    pub fn new(name: impl Into<String>, source: impl ModelSource + 'static) -> Self {
        Self { name: name.into(), aliases: Vec::new(), source: Arc::new(source), created: SystemTime::now() }
    }

    /// Serves a model that is in memory already, and stays there.
    ///
    /// ```
    /// use alloquy_server::ServedModel;
    /// use alloquy_testing::EchoModel;
    ///
    /// assert_eq!(ServedModel::loaded("echo", EchoModel).name(), "echo");
    /// ```
    pub fn loaded(name: impl Into<String>, model: impl alloquy_core::ChatModel + 'static) -> Self {
        Self::opened(name, OpenedModel::new(model))
    }

    /// Serves an opened model, which stays in memory.
    ///
    /// ```
    /// use alloquy_server::{OpenedModel, ServedModel};
    /// use alloquy_testing::EchoModel;
    ///
    /// assert_eq!(ServedModel::opened("echo", OpenedModel::new(EchoModel)).name(), "echo");
    /// ```
    pub fn opened(name: impl Into<String>, model: OpenedModel) -> Self {
        Self::new(name, Present(model))
    }

    /// Adds a further name. Responses have the first one.
    #[must_use]
    pub fn alias(mut self, name: impl Into<String>) -> Self {
        self.aliases.push(name.into());
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name and the aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.aliases.iter().map(String::as_str))
    }

    pub(crate) fn aliases(&self) -> &[String] {
        &self.aliases
    }

    pub(crate) fn created(&self) -> SystemTime {
        self.created
    }

    pub(crate) fn memory(&self) -> u64 {
        self.source.memory()
    }

    /// Returns whether another model is the same under the same names.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_renamed = self.name != other.name || self.aliases != other.aliases;
        let is_shared = Arc::ptr_eq(&self.source, &other.source);
        let identity = self.source.identity();
        !is_renamed && (is_shared || (identity.is_some() && identity == other.source.identity()))
    }

    pub(crate) fn source(&self) -> &Arc<dyn ModelSource> {
        &self.source
    }
}
