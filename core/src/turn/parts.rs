//! What the turns of one manager share: the model, the middleware, the tools, the store.

use std::sync::Arc;

use super::{PartialReplyPolicy, Trails, TurnRequest, Unfinished};
use crate::chat_model::{ChatModel, Request};
use crate::message::MessagePath;
use crate::middleware::{Middleware, Next};
use crate::prompt_library::{Prompt, PromptLibrary, PromptName, ValueSource};
use crate::sampling::SamplingOptions;
use crate::store::{ConversationId, ConversationRecord, ConversationStore, Guarded, MemoryStore, Owner};
use crate::tool::{ToolContext, Toolbox, Tools};
use crate::tree::{Address, NodeId};
use crate::{Error, ErrorKind, Result};

/// How often a model may call tools in one turn by default.
pub(crate) const TOOL_ROUNDS: usize = 8;

/// What the turns of one manager share.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) toolbox: Toolbox,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) owner: Owner,
    pub(crate) sampling: SamplingOptions,
    pub(crate) tool_rounds: usize,
    pub(crate) partial_replies: PartialReplyPolicy,
    pub(crate) prompts: Option<Arc<dyn PromptLibrary>>,
    pub(crate) value_sources: Vec<Arc<dyn ValueSource>>,
    pub(crate) unfinished: Arc<Unfinished>,
    pub(crate) trails: Arc<Trails>,
}

impl Parts {
    /// Creates the parts of a conversation in memory.
    pub(crate) fn in_memory(model: Arc<dyn ChatModel>, record: ConversationRecord) -> Self {
        let owner = Owner::local();
        let store = MemoryStore::holding(owner.clone(), record);
        Self {
            model,
            middleware: Vec::new(),
            toolbox: Toolbox::default(),
            store: Arc::new(Guarded(Arc::new(store))),
            owner,
            sampling: SamplingOptions::default(),
            tool_rounds: TOOL_ROUNDS,
            partial_replies: PartialReplyPolicy::default(),
            prompts: None,
            value_sources: Vec::new(),
            unfinished: Arc::default(),
            trails: Arc::default(),
        }
    }

    /// Returns the request for a reply to `path`, with `tools` in addition to those of the preface.
    pub(crate) fn request(
        &self,
        tools: &Tools,
        record: &ConversationRecord,
        path: MessagePath,
        ask: &TurnRequest,
    ) -> Request {
        let mut preface = record.preface.clone();
        let offered = preface.tools.len();
        for spec in tools.specs() {
            if preface.tools.iter().take(offered).all(|known| known.name != spec.name) {
                preface.tools.push(spec.clone());
            }
        }
        let sampling = ask.sampling.clone().or(&record.sampling).or(&self.sampling);
        let mut request = Request::of(preface, path).sampling(sampling).output(ask.output.clone());
        request.arguments = ask.arguments.clone();
        request.turn_data = ask.turn_data.clone();
        request.model.clone_from(&ask.model);
        request.beginning.clone_from(&ask.beginning);
        if let Some(text) = &ask.system_prompt {
            request.replace_system_prompt(text);
        }
        request
    }

    /// Returns the store after the replies of dropped turns are stored.
    pub(crate) async fn settled(&self) -> &dyn ConversationStore {
        self.unfinished.settle().await;
        &*self.store
    }

    /// Looks up an address; only a position needs the tree.
    pub(crate) async fn node_at(
        &self,
        conversation: &ConversationId,
        address: &Address,
    ) -> Result<Option<NodeId>> {
        match address {
            Address::Node(id) => Ok(Some(*id)),
            Address::Path(position) if position.places().is_empty() => Ok(None),
            Address::Path(_) => self.settled().await.load(&self.owner, conversation).await?.1.at(address),
        }
    }

    /// Finds a prompt in the library.
    pub(crate) fn prompt(&self, name: &PromptName) -> Result<Arc<dyn Prompt>> {
        match &self.prompts {
            Some(library) => library.prompt(name),
            None => {
                let message = format!(
                    "prompt {name} cannot be found because the manager has no library of prompts; set one with ManagerBuilder::prompts"
                );
                Err(Error::new(ErrorKind::Invalid, message))
            }
        }
    }

    /// Returns the tools of a turn: its own, or else those of the manager.
    pub(crate) fn tools(&self, ask: &TurnRequest) -> Result<Tools> {
        let toolbox = ask.tools.as_ref().unwrap_or(&self.toolbox);
        Ok(toolbox.now()?.with_context(ToolContext::new(ask.turn_data.clone())))
    }

    /// Returns the stack of this middleware over the model.
    pub(crate) fn next<'a>(&'a self, middleware: &'a [Arc<dyn Middleware>]) -> Next<'a> {
        Next::new(middleware, &*self.model)
    }

    /// Returns the middleware of a turn: that of the manager, then its own.
    pub(crate) fn middleware(&self, ask: &TurnRequest) -> Vec<Arc<dyn Middleware>> {
        let mut middleware = self.middleware.clone();
        middleware.extend(ask.middleware.iter().cloned());
        middleware
    }
}
