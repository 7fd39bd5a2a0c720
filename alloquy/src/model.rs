//! A model that is ready to converse: what computes, its template, its family, its stops, how its makers want it sampled, and
//! what becomes of conversations that outgrow its context. The command line opens models by this and nothing else.

mod builder;
mod context;
mod description;
#[cfg(feature = "onnx")]
mod engine;
mod family;
#[cfg(all(feature = "media", feature = "onnx"))]
mod media;
mod opening;
#[cfg(feature = "pocket")]
mod pocket;
mod recommended;
mod template;
mod warning;

use std::sync::Arc;

use alloquy_core::manager::ManagerBuilder;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::ToolChoice;
use alloquy_core::prompt::PreparedPrompt;
use alloquy_core::report::{CacheReport, Degradation, Score};
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
pub use warning::ModelWarning;

use context::Fitting;

/// A model that is ready to converse. Cheap to clone: clones share what computes and what is cached.
///
/// It is a [`ChatModel`], so that everything takes it that takes one: a [`Manager`], a middleware, a host's own loop. Prompts
/// that outgrow the context are made to fit first, as [`ContextPolicy`] says, and replies say so.
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
    /// Where the template is from.
    template: String,
    family: String,
    /// What holds where a request does not say otherwise, beside what the engine recommends.
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

    /// Asks one question and returns the whole answer; nothing of it is kept. It blocks the thread.
    ///
    /// # Errors
    /// As [`Conversation::ask`].
    pub fn ask(&self, question: impl Into<TurnRequest>) -> Result<TurnReply> {
        self.conversation().ask(question)
    }

    /// Asks one question and reads the answer as a value of a type; nothing of it is kept. It blocks the thread.
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
    /// As [`Conversation::ask_as`].
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

    /// Returns what the model says of itself.
    pub fn info(&self) -> &ModelInfo {
        self.parts.language_model.model()
    }

    /// Returns the language model within, for what only that does: scores, snapshots, statistics of its cache. What is set of
    /// this model's sampling, its tool choice and its context policy it does not know: they are added to a request before.
    pub fn language_model(&self) -> &LanguageModel {
        &self.parts.language_model
    }

    /// Returns where the chat template is from: a file of the model, a path, or the name of a known template.
    pub fn template(&self) -> &str {
        &self.parts.template
    }

    /// Returns the name of the family, whose processor reads replies and writes calls.
    pub fn family(&self) -> &str {
        &self.parts.family
    }

    /// Returns how replies are sampled, and what ends them, where a request does not say otherwise: the stops of the family and
    /// of the template are among them.
    pub fn sampling(&self) -> SamplingOptions {
        self.parts.sampling.clone().or(&self.parts.language_model.sampling())
    }

    /// Returns whether replies call tools where a request does not say so.
    pub fn tool_choice(&self) -> Option<&ToolChoice> {
        self.parts.tool_choice.as_ref()
    }

    /// Returns what becomes of conversations that outgrow the context, with its numbers.
    pub fn full_context(&self) -> &FullContext {
        &self.parts.full_context
    }

    /// Returns what was not found, is ignored, or was replaced when the model was opened.
    pub fn warnings(&self) -> &[ModelWarning] {
        &self.parts.warnings
    }

    /// Returns how long opening took, phase by phase.
    pub fn load_timing(&self) -> &LoadTiming {
        &self.parts.load_timing
    }

    /// Returns the name, the family, where the template is from, and the context on one line.
    pub fn summary(&self) -> String {
        description::summary(self.info(), self.family(), self.template())
    }

    /// Returns a request as the model will see it, and what its prompt goes without because there is no room for it.
    ///
    /// # Errors
    /// Those of the template, the processor and the tokenizer, those of the model where it summarises, and
    /// [`ErrorKind::ContextOverflow`](crate::ErrorKind::ContextOverflow) for a last question that is too long by itself.
    pub async fn fitted(&self, request: Request) -> Result<(Request, Vec<Degradation>)> {
        self.parts.fitting.fitted(self.completed(request)).await
    }

    /// Adds what holds where the request does not say otherwise.
    fn completed(&self, mut request: Request) -> Request {
        request.sampling = request.sampling.or(&self.parts.sampling);
        request
    }

    /// The request as a reply to it will begin with it.
    async fn ahead(&self, request: Request) -> Result<Request> {
        self.parts.fitting.ahead(self.completed(request)).await
    }
}

#[async_trait]
impl ChatModel for Model {
    fn name(&self) -> &str {
        ChatModel::name(&self.parts.language_model)
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let mut request = self.completed(request);
        let guidance = &mut request.guidance;
        if guidance.tool_choice.is_none() && guidance.grammar.is_none() {
            guidance.tool_choice.clone_from(&self.parts.tool_choice);
        }
        self.parts.fitting.reply(request, &self.parts.language_model).await
    }

    /// Where a conversation outgrows the context and is summarised, a summary that is not known yet is made first, which blocks.
    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        let request = pollster::block_on(self.ahead(request.clone()))?;
        ChatModel::prompt(&self.parts.language_model, &request)
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        self.parts.language_model.warm(self.ahead(request).await?).await
    }

    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<Score>> {
        ChatModel::score(&self.parts.language_model, self.ahead(request).await?, targets).await
    }
}
