//! Several chat models, of which each request names one.

use std::sync::Arc;

use async_trait::async_trait;

use super::{ChatModel, ReplyStream, Request};
use crate::prompt::PreparedPrompt;
use crate::report::{CacheReport, TextScore};
use crate::{Error, ErrorKind, Result};

/// Several chat models, of which each request names one: [`Request::model`], which
/// [`TurnRequest::model`](crate::TurnRequest::model) sets for a turn. A request that names none goes to the first.
///
/// ```
/// use alloquy_core::{Conversation, TurnRequest};
/// use alloquy_core::chat_model::Models;
/// use alloquy_testing::ScriptedModel;
///
/// # pollster::block_on(async {
/// let small = ScriptedModel::new([("<user>", "Hi.")]);
/// let large = ScriptedModel::new([("<user>", "Good day.")]);
/// let models = Models::new("small", small)?.with("large", large)?;
/// let conversation = Conversation::new(models);
/// assert_eq!(conversation.send("Hello").await?.text(), "Hi.");
/// let again = conversation.send(TurnRequest::from("Hello").model("large")).await?;
/// assert_eq!(again.text(), "Good day.");
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Models {
    first: (String, Arc<dyn ChatModel>),
    further: Vec<(String, Arc<dyn ChatModel>)>,
}

impl Models {
    /// Names the model that answers requests without a model name.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an empty name.
    pub fn new(name: impl Into<String>, model: impl ChatModel + 'static) -> Result<Self> {
        Ok(Self { first: (must_be_a_name(name.into())?, Arc::new(model)), further: Vec::new() })
    }

    /// Adds a model under a name.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an empty name, [`ErrorKind::Conflict`] for the name of another model.
    pub fn with(mut self, name: impl Into<String>, model: impl ChatModel + 'static) -> Result<Self> {
        let name = must_be_a_name(name.into())?;
        if self.names().contains(&name.as_str()) {
            let message = format!("there is a model {name:?} already: give the second one another name");
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        self.further.push((name, Arc::new(model)));
        Ok(self)
    }

    /// Returns the model that a request names, and the request without the name.
    fn chosen(&self, mut request: Request) -> Result<(&dyn ChatModel, Request)> {
        let model = self.find(&request)?;
        request.model = None;
        Ok((model, request))
    }

    fn find(&self, request: &Request) -> Result<&dyn ChatModel> {
        request.must_name_one_of(self)?;
        for (name, model) in &self.further {
            if request.model.as_ref() == Some(name) {
                return Ok(&**model);
            }
        }
        Ok(&*self.first.1)
    }
}

fn must_be_a_name(name: String) -> Result<String> {
    if name.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "the name of a model is empty"));
    }
    Ok(name)
}

#[async_trait]
impl ChatModel for Models {
    /// Returns the name of the model that answers requests without a model name.
    fn name(&self) -> &str {
        &self.first.0
    }

    fn names(&self) -> Vec<&str> {
        let further = self.further.iter().map(|(name, _)| name.as_str());
        std::iter::once(self.first.0.as_str()).chain(further).collect()
    }

    /// Returns whether all of them do, since each may be the one that is named.
    fn takes_beginnings(&self) -> bool {
        self.first.1.takes_beginnings() && self.further.iter().all(|(_, model)| model.takes_beginnings())
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let (model, request) = self.chosen(request)?;
        model.reply(request).await
    }

    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        let (model, request) = self.chosen(request.clone())?;
        model.prompt(&request)
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        let (model, request) = self.chosen(request)?;
        model.warm(request).await
    }

    async fn score(&self, request: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        let (model, request) = self.chosen(request)?;
        model.score(request, targets).await
    }
}
