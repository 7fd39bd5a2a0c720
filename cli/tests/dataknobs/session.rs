//! What dataknobs calls a manager, over a chat and its store: one conversation, a cursor, metadata that is saved later.

use std::sync::Arc;

use alloquy_core::archive::Archive;
use alloquy_core::{
    Ask, Chat, ConversationId, ConversationManager, ConversationStore, ConversationStoreExt, Manager,
    MemoryStore, Message, NewConversation, Node, NodeId, Owner, Part, Position, Preface, Request, Role,
    ToolCall, ToolResult, Tree,
};
use futures::StreamExt as _;
use pollster::block_on;
use serde_json::{Map, Value, json};

use crate::model::Provider;
use crate::state;

/// An error as a sentence: the cases compare no more than that there is one.
pub(crate) type Result<T> = std::result::Result<T, String>;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) provider: Arc<Provider>,
    pub(crate) store: Arc<MemoryStore>,
    manager: Manager,
    id: ConversationId,
    chat: Option<Chat>,
    /// The metadata as the manager sees it; the store has what was saved.
    pub(crate) metadata: Map<String, Value>,
    pub(crate) seed: Map<String, Value>,
}

impl Session {
    pub(crate) fn new(setup: &Value) -> Self {
        let provider = Arc::new(Provider::new(&setup["llm"]));
        let store = Arc::new(MemoryStore::default());
        let manager =
            Manager::over(Arc::clone(&provider) as _).store(Arc::clone(&store) as _).build().unwrap();
        let id = setup["conversation_id"].as_str().and_then(|id| id.parse().ok());
        let seed = setup["metadata"].as_object().cloned().unwrap_or_default();
        let id = id.unwrap_or_else(ConversationId::new);
        Self { provider, store, manager, id, chat: None, metadata: Map::new(), seed }
    }

    pub(crate) fn chat(&self) -> Result<&Chat> {
        self.chat.as_ref().ok_or_else(|| "no conversation state".to_owned())
    }

    fn begin(&mut self) -> Result<&Chat> {
        if self.chat.is_none() {
            self.metadata = self.seed.clone();
            let new = NewConversation::from(Preface::default()).id(self.id.clone());
            self.chat = Some(block_on(self.manager.create(new)).map_err(said)?);
        }
        self.chat()
    }

    pub(crate) fn archive(&self) -> Result<Archive> {
        block_on(self.store.export(&Owner::local(), self.chat()?.id())).map_err(said)
    }

    pub(crate) fn tree(&self) -> Result<Tree> {
        block_on(self.chat()?.tree()).map_err(said)
    }

    pub(crate) fn history(&self) -> Result<Vec<Node>> {
        block_on(self.chat()?.history()).map_err(said)
    }

    pub(crate) fn head(&self) -> Result<Option<NodeId>> {
        block_on(self.chat()?.head()).map_err(said)
    }

    /// Where the cursor stands: the root is empty there and the first message here.
    pub(crate) fn current(&self) -> Value {
        let Ok(tree) = self.tree() else { return Value::Null };
        let address = tree.position(self.head().unwrap()).unwrap().to_string();
        address.strip_prefix('0').unwrap().trim_start_matches('.').into()
    }

    pub(crate) fn resolve(&self, address: &str) -> Result<NodeId> {
        let chat = self.chat()?;
        let address: Position = address.parse().map_err(said)?;
        let here = if address.places().is_empty() { "0".to_owned() } else { format!("0.{address}") };
        block_on(chat.resolve(&here)).map_err(said)?.ok_or_else(|| "nothing stands there".to_owned())
    }

    /// What the nodes are called, in the order they were made.
    pub(crate) fn chronological(&self) -> Result<Vec<String>> {
        let tree = self.tree()?;
        let mut ids: Vec<_> = tree.nodes().map(|node| node.id).collect();
        ids.sort_unstable();
        let name = |id| {
            let address = tree.position(Some(id)).unwrap().to_string();
            address.strip_prefix('0').unwrap().trim_start_matches('.').to_owned()
        };
        Ok(ids.into_iter().map(name).collect())
    }

    /// The state as the store has it.
    pub(crate) fn stored(&self, id: &str) -> Value {
        let id = id.parse().unwrap();
        let archive = block_on(self.store.export(&Owner::local(), &id));
        archive.map_or(Value::Null, |archive| state::plain(state::of(&archive)))
    }

    /// The state as the manager sees it.
    pub(crate) fn seen(&self) -> Result<Value> {
        let mut seen = state::plain(state::of(&self.archive()?));
        seen["metadata"] = self.metadata.clone().into();
        Ok(seen)
    }

    pub(crate) fn save(&self) -> Result<()> {
        let Ok(chat) = self.chat() else { return Ok(()) };
        let (owner, metadata) = (Owner::local(), &self.metadata);
        let change = self.store.change_metadata(&owner, chat.id(), |kept| kept.clone_from(metadata));
        block_on(change).map(drop).map_err(said)
    }

    pub(crate) fn goto(&self, node: NodeId) -> Result<()> {
        block_on(self.chat()?.goto(node)).map_err(said)?;
        self.save()
    }

    /// Appends a node below the cursor, which moves there.
    pub(crate) fn append(&self, message: Message, metadata: Map<String, Value>) -> Result<NodeId> {
        let (owner, id, head) = (Owner::local(), self.chat()?.id(), self.head()?);
        let node = Node { metadata, ..Node::new(head, message) };
        block_on(self.store.append(&owner, id, std::slice::from_ref(&node))).map_err(said)?;
        block_on(self.store.set_head(&owner, id, head, Some(node.id))).map_err(said)?;
        Ok(node.id)
    }

    /// Says something: by the chat, or where the message has what a chat does not say, by the store.
    pub(crate) fn add(&mut self, args: &Value, prompt: Option<(&str, String)>) -> Result<Value> {
        let role = args["role"].as_str().unwrap();
        let content = match &prompt {
            Some((_, content)) => content.clone(),
            None => args["content"].as_str().unwrap_or_default().to_owned(),
        };
        if content.is_empty() {
            return Err("neither content nor a prompt".to_owned());
        }
        self.begin()?;
        let plain = args.as_object().unwrap().keys().all(|name| matches!(name.as_str(), "role" | "content"));
        match role.parse::<Role>() {
            Ok(role) if plain && prompt.is_none() && role != Role::Tool && !self.has_tools()? => {
                let message = Message::new(role, vec![Part::Text(content)]);
                block_on(self.chat()?.add(message)).map_err(said)?;
            }
            role => {
                let (message, origin) = self.message(args, role.ok(), content)?;
                let metadata = args["metadata"].as_object().cloned().unwrap_or_default();
                let prompt = prompt.map(|(name, _)| name);
                self.append(
                    message,
                    with_origin(metadata, prompt.map(|name| ("prompt_name", name)), origin),
                )?;
            }
        }
        self.save()?;
        self.node_at_head()
    }

    fn message(
        &self,
        args: &Value,
        role: Option<Role>,
        content: String,
    ) -> Result<(Message, Map<String, Value>)> {
        let mut origin = Map::new();
        let text = |name: &str| args[name].as_str().map(str::to_owned);
        let message = match role {
            Some(Role::Tool) => {
                if text("tool_call_id").is_none() {
                    origin.insert("tool_call_id".to_owned(), Value::Null);
                }
                let open = self.history()?.last().and_then(|node| node.message.tool_calls().next().cloned());
                let id =
                    text("tool_call_id").or(open.map(|call| call.id)).unwrap_or_else(|| "none".to_owned());
                let call = ToolCall::new(id, text("name").unwrap_or_default(), Value::Null);
                Message::tool(vec![ToolResult::ok(&call, content)])
            }
            role => {
                if role.is_none() {
                    origin.insert("role".to_owned(), args["role"].clone());
                }
                let message = Message::new(role.unwrap_or(Role::User), vec![Part::Text(content)]);
                Message { name: text("name"), ..message }
            }
        };
        Ok((message, origin))
    }

    fn has_tools(&self) -> Result<bool> {
        let history = self.history()?;
        Ok(history
            .iter()
            .any(|node| node.message.role == Role::Tool || node.message.tool_calls().next().is_some()))
    }

    /// The node at the cursor as dataknobs prints it.
    pub(crate) fn node_at_head(&self) -> Result<Value> {
        Ok(state::path(&self.seen()?).last().map(|node| (*node).clone()).unwrap_or_default())
    }

    /// Gets an answer: by the chat, or where labels, calls or other instructions come with it, by model and store.
    pub(crate) fn complete(&self, args: &Value, stop_after: Option<usize>) -> Result<(Value, usize)> {
        let history = self.history().map_err(|_| "no messages in conversation".to_owned())?;
        let plain = args.as_object().is_none_or(|args| args.keys().all(|name| name == "break_after"));
        if plain && self.provider.next_calls().is_none() && !self.has_tools()? {
            return self.complete_by_chat(stop_after);
        }
        let mut messages: Vec<_> = history.into_iter().map(|node| node.message).collect();
        let overriding = args["system_prompt_override"].as_str();
        if let Some(text) = overriding {
            if messages.first().is_some_and(|message| message.role == Role::System) {
                messages.remove(0);
            }
            messages.insert(0, Message::system(text));
        }
        let raw_calls = self.provider.next_calls();
        let request = Request::new(Preface::default(), messages);
        let mut stream = block_on(self.manager.model().reply(request)).map_err(said)?;
        let mut chunks = 0;
        while block_on(stream.next()).is_some() {
            chunks += 1;
        }
        let reply = block_on(stream.finish()).map_err(said)?;
        let mut metadata = args["metadata"].as_object().cloned().unwrap_or_default();
        let facts = json!({"usage": self.provider.usage(&reply.usage), "model": self.manager.model().name(),
            "provider": "echo", "finish_reason": reply.finish});
        metadata.extend(facts.as_object().unwrap().clone());
        metadata.extend(overriding.map(|text| ("system_prompt_override".to_owned(), text.into())));
        let origin = raw_calls.map(|calls| Map::from_iter([("tool_calls".to_owned(), canonical(calls))]));
        let label = args["branch_name"].as_str().map(|name| ("branch_name", name));
        self.append(reply.message, with_origin(metadata, label, origin.unwrap_or_default()))?;
        self.save()?;
        Ok((self.answer()?, chunks.max(1)))
    }

    fn complete_by_chat(&self, stop_after: Option<usize>) -> Result<(Value, usize)> {
        let mut turn = self.chat()?.complete(Ask::default());
        let mut chunks = 0;
        while let Some(event) = block_on(turn.next()) {
            chunks += usize::from(matches!(event, alloquy_core::TurnEvent::Delta(_)));
            if Some(chunks) == stop_after {
                turn.stop();
            }
        }
        block_on(turn.finish()).map_err(said)?;
        self.save()?;
        Ok((self.answer()?, chunks.max(1)))
    }

    /// What dataknobs returns of the answer at the cursor.
    fn answer(&self) -> Result<Value> {
        let node = self.node_at_head()?;
        let metadata = &node["metadata"];
        Ok(json!({"content": node["message"]["content"], "model": metadata["model"],
            "finish_reason": metadata["finish_reason"], "usage": metadata["usage"], "cost_usd": null,
            "cumulative_cost_usd": null, "metadata": {}}))
    }

    pub(crate) fn resume(&mut self, id: &str) -> Result<Value> {
        let id: ConversationId = id.parse().map_err(said)?;
        let chat = block_on(ConversationManager::open(&self.manager, &id)).map_err(said)?;
        let record = block_on(chat.record()).map_err(said)?;
        self.metadata = record.metadata;
        self.seed = self.metadata.clone();
        self.chat = Some(chat);
        Ok(json!({"nodes": self.tree()?.len()}))
    }

    /// Begins again under the same name.
    pub(crate) fn reset(&mut self) -> Result<()> {
        if let Some(chat) = self.chat.take() {
            block_on(ConversationManager::delete(&self.manager, chat.id())).map_err(said)?;
        }
        self.metadata = Map::new();
        Ok(())
    }
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` passes it
pub(crate) fn said(error: alloquy_core::Error) -> String {
    format!("{error:#}")
}

/// Adds what an import would keep of a node.
fn with_origin(
    mut metadata: Map<String, Value>,
    label: Option<(&str, &str)>,
    message: Map<String, Value>,
) -> Map<String, Value> {
    let mut origin: Map<_, _> =
        label.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    origin.insert("message".to_owned(), message.into());
    metadata.insert("dataknobs".to_owned(), origin.into());
    metadata
}

/// Calls without an id have no field for it.
fn canonical(calls: Value) -> Value {
    let Value::Array(mut calls) = calls else { return calls };
    for call in &mut calls {
        if call["id"].is_null() {
            call.as_object_mut().unwrap().shift_remove("id");
        }
    }
    calls.into()
}
