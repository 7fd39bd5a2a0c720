//! A model that is ready to converse: its engine, template, family, stops, sampling and policy for a full context.
//!
//! The command line opens models only through this module.

mod builder;
mod computer;
mod context;
mod description;
#[cfg(feature = "onnx")]
mod engine;
mod family;
mod generating;
mod listener;
mod location;
#[cfg(all(feature = "media", feature = "onnx"))]
mod media;
mod opening;
#[cfg(feature = "pocket")]
mod pocket;
mod recommended;
#[cfg(feature = "remote")]
mod remote;
mod snapshots;
mod template;
mod warning;

use std::sync::Arc;

use alloquy_core::manager::ManagerBuilder;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::ToolChoice;
use alloquy_core::prompt::PreparedPrompt;
use alloquy_core::report::{CacheReport, TextScore, Warning};
use alloquy_core::{
    ChatModel, Conversation, Manager, Preface, ReplyStream, Request, Result, SamplingOptions, TurnReply,
    TurnRequest,
};
use alloquy_engine::LoadTiming;
use alloquy_inference::LanguageModel;
use async_trait::async_trait;

pub use builder::ModelBuilder;
pub use context::{ContextPolicy, FullContext};
pub use description::ModelDescription;
#[cfg(feature = "onnx")]
pub use engine::graph_cache_folder;
pub use family::FamilySource;
#[cfg(feature = "remote")]
pub use remote::remote_files;
pub use warning::ModelWarning;

use context::Fitting;

/// A model that is ready to converse. It is cheap to clone: clones share the engine and the cache.
///
/// A model is a [`ChatModel`], which a [`Manager`], middleware and a program's own loop accept. A prompt that is longer than the
/// context is shortened by the [`ContextPolicy`], which the reply reports.
///
/// ```
/// # #[cfg(feature = "pocket")] {
/// let model = alloquy::Model::pocket()?;
/// assert_eq!(model.info().name, "pocket");
/// let answer = model.conversation().ask("What is the capital of Portugal?")?;
/// assert!(answer.text().contains("Lisbon"));
/// # }
/// # Ok::<(), alloquy::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    language_model: LanguageModel,
    /// The origin of the template.
    template: String,
    family: String,
    /// The defaults of requests, before those that the engine recommends.
    sampling: SamplingOptions,
    tool_choice: Option<ToolChoice>,
    full_context: FullContext,
    fitting: Fitting,
    warnings: Vec<ModelWarning>,
    load_timing: LoadTiming,
}

impl Model {
    /// Begins a conversation in memory. It is a handle: clones are the same conversation.
    ///
    /// To keep conversations, offer tools or put middleware before the model, see [`Model::manager`].
    pub fn conversation(&self) -> Conversation {
        self.conversation_with(Preface::default())
    }

    /// Begins a conversation in memory with instructions, tools or earlier messages.
    ///
    /// ```
    /// # #[cfg(feature = "pocket")] {
    /// use alloquy::{Model, Preface};
    ///
    /// let conversation = Model::pocket()?.conversation_with(Preface::system("Be brief."));
    /// println!("{}", conversation.ask("What is 2 + 3?")?.text());
    /// # }
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    pub fn conversation_with(&self, preface: Preface) -> Conversation {
        Conversation::with_preface(self.clone(), preface)
    }

    /// Asks one question and returns the whole answer. Blocks the thread, and keeps nothing.
    ///
    /// # Errors
    /// The same as those of [`Conversation::ask`].
    pub fn ask(&self, question: impl Into<TurnRequest>) -> Result<TurnReply> {
        self.conversation().ask(question)
    }

    /// Asks one question and returns the answer as a value of a type. Blocks the thread, and keeps nothing.
    ///
    /// ```no_run
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Capital {
    ///     city: String,
    /// }
    ///
    /// let model = alloquy::Model::open("models/qwen3")?;
    /// let capital: Capital = model.ask_as("What is the capital of Portugal?")?;
    /// println!("{}", capital.city);
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as those of [`Conversation::ask_as`].
    #[cfg(feature = "schemars")]
    pub fn ask_as<T: schemars::JsonSchema + serde::de::DeserializeOwned>(
        &self,
        question: impl Into<TurnRequest>,
    ) -> Result<T> {
        self.conversation().ask_as(question)
    }

    /// Starts building a manager of this model: conversations in a store, with tools and middleware.
    pub fn manager(&self) -> ManagerBuilder {
        Manager::builder(self.clone())
    }

    /// Returns the information in the files of the model.
    pub fn info(&self) -> &ModelInfo {
        self.parts.language_model.model()
    }

    /// Returns the inner language model, for snapshots and statistics of its cache.
    ///
    /// It ignores the sampling, the tool choice and the context policy of this model, which are applied to requests before.
    pub fn language_model(&self) -> &LanguageModel {
        &self.parts.language_model
    }

    /// Returns the origin of the chat template: a file of the model, a path, or the name of a known template.
    pub fn template(&self) -> &str {
        &self.parts.template
    }

    /// Returns the name of the family, whose processor parses replies.
    pub fn family(&self) -> &str {
        &self.parts.family
    }

    /// Returns the default sampling options of requests, which include the stops of the family and of the template.
    pub fn sampling(&self) -> SamplingOptions {
        self.parts.sampling.clone().or(&self.parts.language_model.sampling())
    }

    /// Returns the default tool choice of requests.
    pub fn tool_choice(&self) -> Option<&ToolChoice> {
        self.parts.tool_choice.as_ref()
    }

    /// Returns the policy for conversations that are longer than the context, with its numbers.
    pub fn full_context(&self) -> &FullContext {
        &self.parts.full_context
    }

    /// Returns what was missing, ignored or replaced when the model was opened.
    pub fn warnings(&self) -> &[ModelWarning] {
        &self.parts.warnings
    }

    /// Returns how long each phase of opening took.
    pub fn load_timing(&self) -> &LoadTiming {
        &self.parts.load_timing
    }

    /// Returns the name, the family, the origin of the template and the context length in one line.
    pub fn summary(&self) -> String {
        description::summary(self.info(), self.family(), self.template())
    }

    /// Returns a request as the model receives it, with the messages that fit, and warnings of the messages left out.
    ///
    /// # Errors
    /// Those of the template, the processor and the tokenizer, those of the model if it summarizes, and
    /// [`ErrorKind::ContextOverflow`](crate::ErrorKind::ContextOverflow) for a last question that is too long by itself.
    pub async fn fitted(&self, request: Request) -> Result<(Request, Vec<Warning>)> {
        self.parts.fitting.fitted(self.completed(request)).await
    }

    /// Adds the defaults to a request.
    fn completed(&self, mut request: Request) -> Request {
        request.sampling = request.sampling.or(&self.parts.sampling);
        request
    }

    /// Returns the request whose prompt is the prefix of that of a later reply.
    async fn ahead(&self, request: Request) -> Result<Request> {
        self.parts.fitting.ahead(self.completed(request)).await
    }
}

#[async_trait]
impl ChatModel for Model {
    fn name(&self) -> &str {
        ChatModel::name(&self.parts.language_model)
    }

    fn takes_beginnings(&self) -> bool {
        self.parts.language_model.takes_beginnings()
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let mut request = self.completed(request);
        let constraints = &mut request.output;
        if constraints.tool_choice.is_none() && constraints.grammar.is_none() {
            constraints.tool_choice.clone_from(&self.parts.tool_choice);
        }
        self.parts.fitting.reply(request, &self.parts.language_model).await
    }

    /// Blocks while the model summarizes, if the conversation is longer than the context and has no summary yet.
    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        let request = pollster::block_on(self.ahead(request.clone()))?;
        ChatModel::prompt(&self.parts.language_model, &request)
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        self.parts.language_model.warm(self.ahead(request).await?).await
    }

    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        ChatModel::score(&self.parts.language_model, self.ahead(request).await?, targets).await
    }
}
