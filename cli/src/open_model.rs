//! A model that is open: one whose prompts are encoded here, or that of a chat endpoint, whose prompts its server encodes.

use std::sync::Arc;

use alloquy::Model;
use alloquy::core::manager::ManagerBuilder;
use alloquy::core::media::Digest;
use alloquy::core::model_info::ModelInfo;
use alloquy::core::prompt::{PreparedPrompt, PromptCounter};
use alloquy::core::report::{CacheReport, TextScore};
use alloquy::core::{ChatModel, Manager, ReplyStream, Request, Result, SamplingOptions};
use alloquy::inference::LanguageModel;
use alloquy::remote::RemoteChat;
use async_trait::async_trait;

/// How many tokens a template puts around a message, as an estimate from above.
const AROUND_MESSAGE: usize = 16;

/// A model that answers. Clones share it.
#[derive(Clone, Debug)]
pub(crate) enum OpenModel {
    /// Its prompts are rendered and encoded here, wherever its tokens are computed.
    Tokens(Model),
    /// A server renders and encodes its prompts.
    Endpoint(Arc<Endpoint>),
}

/// The model of a chat endpoint.
#[derive(Debug)]
pub(crate) struct Endpoint {
    model: RemoteChat,
    /// The address of the server.
    url: String,
    /// The name alone; a server says nothing else.
    info: ModelInfo,
}

impl Endpoint {
    pub(crate) fn new(model: RemoteChat, url: &str) -> Self {
        let mut info = ModelInfo::default();
        model.name().clone_into(&mut info.name);
        Self { model, url: url.to_owned(), info }
    }

    /// Says which model answers, and what is lost because the server makes its prompts.
    pub(crate) fn notice(&self) -> String {
        format!(
            "{} at {} makes its prompts itself: control tokens in texts are not kept out of them, earlier answers are encoded \
             again, and cache misses have no reasons",
            self.info.name, self.url
        )
    }
}

impl From<Endpoint> for OpenModel {
    fn from(endpoint: Endpoint) -> Self {
        Self::Endpoint(Arc::new(endpoint))
    }
}

impl From<Model> for OpenModel {
    fn from(model: Model) -> Self {
        Self::Tokens(model)
    }
}

impl OpenModel {
    /// Returns the model whose prompts are encoded here.
    pub(crate) fn tokens(&self) -> Option<&Model> {
        match self {
            Self::Tokens(model) => Some(model),
            Self::Endpoint(_) => None,
        }
    }

    /// Returns what encodes its prompts here.
    pub(crate) fn language_model(&self) -> Option<&LanguageModel> {
        self.tokens().map(Model::language_model)
    }

    /// Starts building a manager of its conversations.
    pub(crate) fn manager(&self) -> ManagerBuilder {
        Manager::builder(self.clone())
    }

    pub(crate) fn info(&self) -> &ModelInfo {
        match self {
            Self::Tokens(model) => model.info(),
            Self::Endpoint(endpoint) => &endpoint.info,
        }
    }

    /// Returns how many positions its context has, if that is known.
    pub(crate) fn context_length(&self) -> Option<usize> {
        self.tokens().map(|model| model.info().context_length)
    }

    /// Returns the default sampling options, as far as they are known.
    pub(crate) fn sampling(&self) -> SamplingOptions {
        self.tokens().map(Model::sampling).unwrap_or_default()
    }

    /// Describes it in one line.
    pub(crate) fn summary(&self) -> String {
        match self {
            Self::Tokens(model) => model.summary(),
            Self::Endpoint(endpoint) => {
                let Endpoint { model, url, info } = &**endpoint;
                format!("{}: {} of {url}", info.name, model.protocol().path())
            }
        }
    }

    fn chat_model(&self) -> &dyn ChatModel {
        match self {
            Self::Tokens(model) => model,
            Self::Endpoint(endpoint) => &endpoint.model,
        }
    }
}

#[async_trait]
impl ChatModel for OpenModel {
    fn name(&self) -> &str {
        self.chat_model().name()
    }

    fn takes_beginnings(&self) -> bool {
        self.chat_model().takes_beginnings()
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        self.chat_model().reply(request).await
    }

    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        self.chat_model().prompt(request)
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        self.chat_model().warm(request).await
    }

    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        self.chat_model().score(request, targets).await
    }
}

/// Counts the tokens of prompts. Of a model whose server encodes them, it estimates from above: each byte may be a token.
#[derive(Clone, Debug)]
pub(crate) enum PromptLength {
    Counted(LanguageModel),
    Estimated,
}

impl From<Option<&LanguageModel>> for PromptLength {
    fn from(model: Option<&LanguageModel>) -> Self {
        model.map_or(Self::Estimated, |model| Self::Counted(model.clone()))
    }
}

impl PromptCounter for PromptLength {
    fn units(&self, request: &Request) -> Result<usize> {
        match self {
            Self::Counted(model) => model.units(request),
            Self::Estimated => Ok(estimated(request)),
        }
    }

    fn identity(&self) -> Option<Digest> {
        match self {
            Self::Counted(model) => model.identity(),
            Self::Estimated => None,
        }
    }
}

fn estimated(request: &Request) -> usize {
    let mut units = 0;
    for message in request.preface.messages.iter().chain(request.path.iter()) {
        units += message.text().len() + AROUND_MESSAGE;
    }
    for tool in &request.preface.tools {
        units += tool.parameters.to_string().len() + tool.description.len() + AROUND_MESSAGE;
    }
    units
}

#[cfg(test)]
mod tests {
    use alloquy::core::{Message, Preface};

    use super::*;

    #[test]
    fn a_prompt_is_estimated_from_above() {
        let request = Request::new(Preface::system("Be brief."), vec![Message::user("Tea?")]);
        assert_eq!(PromptLength::Estimated.units(&request).unwrap(), 9 + 4 + 2 * AROUND_MESSAGE);
    }
}
