//! What dataknobs calls a manager, over a chat: one conversation, a cursor, metadata that is saved later.
//!
//! Everything goes through `Manager` and `Conversation`, but for two things that they do not do on purpose: results that answer no
//! call, and messages past calls that nobody answered. Those are appended as an import would bring them in.

use std::sync::Arc;

use alloquy_core::manager::NewConversation;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::middleware::Middleware;
use alloquy_core::prompt_library::{PromptFacts, PromptLibrary as _, PromptName};
use alloquy_core::report::ReplyFacts;
use alloquy_core::store::{Archive, ConversationStoreExt, MemoryStore};
use alloquy_core::tree::{Address, NodePath, NodeStatus, Tree};
use alloquy_core::turn::{PartialReplyPolicy, TurnData};
use alloquy_core::{
    ChatModel, Content, Conversation, ConversationId, ConversationManager, Manager, Message, Node, NodeId,
    Preface, Request, Role, SamplingOptions, ToolSpec, TurnEvent, TurnRequest,
};
use alloquy_cost::Cost;
use alloquy_guards::facts::TurnFacts;
use alloquy_templates::{NoReferences, PromptSyntax, PromptText};
use futures::StreamExt as _;
use pollster::block_on;
use serde_json::{Map, Value, json};

use crate::model::{Events, Provider, Renamed};
use crate::stack;
use crate::{costs, library, rag, state};

/// An error as a sentence: the cases compare no more than that there is one.
pub(crate) type Result<T> = std::result::Result<T, String>;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) provider: Arc<Provider>,
    pub(crate) setup: Value,
    pub(crate) events: Events,
    stack: Vec<Arc<dyn Middleware>>,
    store: Arc<MemoryStore>,
    manager: Manager,
    id: ConversationId,
    chat: Option<Conversation>,
    /// The metadata as the manager sees it; the store has what was saved.
    pub(crate) metadata: Map<String, Value>,
    pub(crate) seed: Map<String, Value>,
    /// What dataknobs calls the metadata of the last response.
    response: Map<String, Value>,
    /// How often each adapter was asked.
    pub(crate) searches: rag::Counts,
    /// What is promised instead of a quirk, and was not kept.
    pub(crate) broken: Vec<String>,
}

impl Session {
    pub(crate) fn new(setup: &Value) -> Self {
        let events = Events::default();
        let provider = Arc::new(Provider::noting(&setup["llm"], &events));
        let store = Arc::new(MemoryStore::default());
        let stack = stack::of(setup, &events);
        let searches = rag::Counts::default();
        let manager = managed(Arc::clone(&provider), setup, &stack, &store, &searches);
        let id = setup["conversation_id"].as_str().and_then(|id| id.parse().ok());
        let seed = setup["metadata"].as_object().cloned().unwrap_or_default();
        let id = id.unwrap_or_else(ConversationId::new);
        Self {
            provider,
            setup: setup.clone(),
            events,
            stack,
            store,
            manager,
            id,
            chat: None,
            metadata: Map::new(),
            seed,
            response: Map::new(),
            searches,
            broken: Vec::new(),
        }
    }

    pub(crate) fn chat(&self) -> Result<&Conversation> {
        self.chat.as_ref().ok_or_else(|| "no conversation state".to_owned())
    }

    fn begin(&mut self) -> Result<&Conversation> {
        if self.chat.is_none() {
            self.metadata = self.seed.clone();
            let tools = self.provider.tools().into_iter();
            let preface = tools.fold(Preface::default(), |preface, name| {
                preface.tool(ToolSpec::new(name, "answered by the case", json!({})))
            });
            let seed = self.seed.iter();
            let new = seed.fold(NewConversation::from(preface).id(self.id.clone()), |new, (name, value)| {
                new.metadata(name, value.clone())
            });
            self.chat = Some(block_on(self.manager.create(new)).map_err(said)?);
        }
        self.chat()
    }

    fn stored_archive(&self, id: &ConversationId) -> Result<Archive> {
        block_on(self.manager.store().export(self.manager.owner(), id)).map_err(said)
    }

    pub(crate) fn archive(&self) -> Result<Archive> {
        self.stored_archive(self.chat()?.id())
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

    /// Where the cursor stands.
    pub(crate) fn current(&self) -> Value {
        let Ok(tree) = self.tree() else { return Value::Null };
        name(&tree, self.head().unwrap().unwrap()).into()
    }

    /// What a node is called in the order of making.
    pub(crate) fn chronological(&self) -> Result<Vec<String>> {
        let tree = self.tree()?;
        let nodes = block_on(self.chat()?.nodes()).map_err(said)?;
        Ok(nodes.into_iter().map(|node| name(&tree, node.id)).collect())
    }

    /// The state as the store has it.
    pub(crate) fn stored(&self, id: &str) -> Value {
        let archive = self.stored_archive(&id.parse().unwrap());
        archive.map_or(Value::Null, |archive| self.reported(archive))
    }

    /// An archive as dataknobs prints it.
    fn reported(&self, mut archive: Archive) -> Value {
        let tree = archive.tree().unwrap();
        costs::add(&mut archive.nodes, &tree);
        state::add_facts(&mut archive.nodes);
        self.plain(&archive)
    }

    /// A state without what Alloquy notes for itself, and without documents if the setup notes none.
    fn plain(&self, archive: &Archive) -> Value {
        let mut state = state::plain(state::of(archive));
        for node in state["nodes"].as_array_mut().into_iter().flatten() {
            if let Some(metadata) = node["metadata"].as_object_mut().filter(|_| !rag::is_noted(&self.setup)) {
                metadata.shift_remove("rag_metadata");
            }
        }
        rag::wordless(state)
    }

    /// The state as the manager sees it.
    pub(crate) fn seen(&self) -> Result<Value> {
        let mut seen = self.reported(self.archive()?);
        seen["metadata"] = self.metadata.clone().into();
        Ok(seen)
    }

    /// The messages to the cursor as dataknobs prints them, with metadata.
    pub(crate) fn messages(&self) -> Result<Vec<Value>> {
        let mut history = self.history()?;
        let tree = self.tree()?;
        costs::add(&mut history, &tree);
        state::add_facts(&mut history);
        let mut record = block_on(self.chat()?.record()).map_err(said)?;
        record.head = history.last().map(|node| node.id);
        let path = self.plain(&Archive::new(record, history).map_err(said)?);
        Ok(state::path(&path).into_iter().cloned().collect())
    }

    /// What the replies among some nodes cost; where none is priced, what was noted of them.
    pub(crate) fn cost(&self, nodes: &[Node]) -> Value {
        costs::number(&Cost::of(nodes, &costs::prices()))
    }

    pub(crate) fn save(&self) -> Result<()> {
        let Ok(chat) = self.chat() else { return Ok(()) };
        block_on(async {
            let stored = chat.metadata().await?;
            for gone in stored.keys().filter(|name| !self.metadata.contains_key(*name)) {
                chat.remove_metadata(gone).await?;
            }
            for (name, value) in self.metadata.iter().filter(|(name, value)| stored.get(*name) != Some(value))
            {
                chat.set_metadata(name, value.clone()).await?;
            }
            Ok(())
        })
        .map_err(said)
    }

    pub(crate) fn goto(&self, address: &str) -> Result<()> {
        block_on(self.chat()?.goto(here(address)?)).map_err(said)?;
        self.save()
    }

    pub(crate) fn goto_node(&self, node: NodeId) -> Result<()> {
        block_on(self.chat()?.goto(node)).map_err(said)
    }

    /// Goes to the node above; the root has none there, though here it may have siblings.
    pub(crate) fn branch_from(&self, address: &str) -> Result<()> {
        let chat = self.chat()?;
        let place = here(address)?;
        if place.places().len() == 1 {
            return Err("the root has no parent".to_owned());
        }
        block_on(chat.branch_from(place)).map_err(said)?;
        self.save()
    }

    /// Appends a node as an import would, and moves the cursor there.
    fn append(
        &self,
        message: Message,
        metadata: Map<String, Value>,
        below: Option<NodeId>,
    ) -> Result<NodeId> {
        let mut node = Node::new(below, message);
        node.metadata = metadata;
        node.label = take_text(&mut node.metadata, "label");
        node.prompt_name = take_text(&mut node.metadata, "prompt_name");
        if node.message.role == Role::Assistant {
            node.reply = ReplyFacts::take_from(&mut node.metadata).map(Box::new);
        }
        self.append_node(&node)
    }

    /// Appends a copy of a node at the cursor, with all that it holds.
    pub(crate) fn copy(&self, node: &Node) -> Result<NodeId> {
        let mut copy = node.clone().with_id(NodeId::new());
        copy.parent = self.head()?;
        self.append_node(&copy)
    }

    fn append_node(&self, node: &Node) -> Result<NodeId> {
        let store = self.manager.store();
        let owner = self.manager.owner();
        let id = self.chat()?.id();
        block_on(async {
            store.append(owner, id, std::slice::from_ref(node)).await?;
            store.set_head(owner, id, self.chat.as_ref().unwrap().head().await?, Some(node.id)).await
        })
        .map_err(said)?;
        Ok(node.id)
    }

    /// Says something below a node.
    pub(crate) fn say(
        &self,
        message: Message,
        mut metadata: Map<String, Value>,
        below: Option<NodeId>,
    ) -> Result<()> {
        let path = block_on(self.chat()?.path(below)).map_err(said)?;
        let open = open_calls(&path);
        let results: Vec<_> = message.tool_results().map(|result| result.id.clone()).collect();
        let fits = results.iter().all(|id| open.iter().any(|call| call.id == *id));
        if !fits || results.is_empty() && !open.is_empty() {
            return self.append(message, metadata, below).map(drop);
        }
        let mut ask = TurnRequest::from(message).at(below);
        if let Some(name) = take_text(&mut metadata, "prompt_name") {
            ask = ask.prompt(name);
        }
        for (name, value) in metadata {
            ask = ask.metadata(name, value);
        }
        block_on(self.chat()?.add(ask)).map(drop).map_err(said)
    }

    /// Adds a message: of a prompt of the library, of a template if there are values for it, or of a text.
    pub(crate) fn add(&mut self, args: &Value) -> Result<Value> {
        if let Some(name) = args["prompt_name"].as_str() {
            return self.add_prompt(args, name);
        }
        let mut content = args["content"].as_str().unwrap_or_default().to_owned();
        if content.is_empty() {
            return Err("neither content nor a prompt".to_owned());
        }
        if args["params"].is_object() && args["rag_configs"].is_array() {
            let prompt = rag::inline(args)?;
            self.begin()?;
            let ask = TurnRequest::default().fill_prompt(prompt, library::values(&args["params"]));
            block_on(self.chat()?.add(ask.at(self.head()?))).map_err(said)?;
            self.save()?;
            return self.node_at_head();
        }
        let mut rendered = None;
        if args["params"].is_object() {
            let template = PromptText::new(&content, PromptSyntax::Mixed).map_err(said)?;
            let filled = template.render(&library::values(&args["params"]), &NoReferences).map_err(said)?;
            content = filled.text();
            rendered = Some(filled);
        }
        self.begin()?;
        let (mut message, origin) = self.message(args, &content)?;
        if let Some(rendered) = rendered.filter(|_| message.role != Role::Tool) {
            message.parts = rendered.message(message.role).parts;
        }
        let metadata = args["metadata"].as_object().cloned().unwrap_or_default();
        let origin = (!origin.is_empty()).then(|| ("message".to_owned(), origin.into()));
        self.say(message, with_notes(metadata, origin.into_iter().collect()), self.head()?)?;
        let stored = self.history()?.pop().unwrap().message;
        if crate::model::text(&stored) != content {
            self.broken.push(format!("{content:?} was stored as {stored:?}"));
        }
        self.save()?;
        self.node_at_head()
    }

    /// Adds a prompt of the library, which the manager fills in.
    fn add_prompt(&mut self, args: &Value, name: &str) -> Result<Value> {
        let name = match args["role"].as_str() {
            Some("system") => PromptName::system(name),
            Some("user") => PromptName::user(name),
            _ => return Err(format!("there are no prompts of the role {}", args["role"])),
        };
        let values = library::values(&args["params"]);
        if self.chat.is_none() {
            // In dataknobs, a conversation begins with its first message, and a prompt that fails is none.
            let prompt = library::of(&self.setup).prompt(&name).map_err(said)?;
            prompt.fill(&values).map_err(said)?;
        }
        self.begin()?;
        let ask = if args["include_rag"] == false {
            let prompt = library::of(&self.setup).prompt(&name).map_err(said)?;
            TurnRequest::from(prompt.fill(&values).map_err(said)?)
        } else {
            TurnRequest::default().prompt_name(name.clone(), values)
        };
        let mut ask = ask.at(self.head()?);
        for (name, value) in args["metadata"].as_object().into_iter().flatten() {
            ask = ask.metadata(name, value.clone());
        }
        block_on(self.chat()?.add(ask)).map_err(said)?;
        let facts = PromptFacts::of(&self.history()?.pop().unwrap().metadata);
        if facts.as_ref().map(|facts| (facts.kind, &facts.name)) != Some((name.kind, &name.name)) {
            self.broken.push(format!("a message of the prompt {name} says that it is of {facts:?}"));
        }
        self.save()?;
        self.node_at_head()
    }

    /// The message, and what an import notes of one that is written otherwise here.
    fn message(&self, args: &Value, content: &str) -> Result<(Message, Map<String, Value>)> {
        let mut origin = Map::new();
        let role = args["role"].as_str().unwrap();
        let text = |name: &str| args[name].as_str().map(str::to_owned);
        let message = match role.parse::<Role>() {
            Ok(Role::Tool) => {
                if text("tool_call_id").is_none() {
                    origin.insert("tool_call_id".to_owned(), Value::Null);
                }
                let open = open_calls(&self.history()?);
                let named = open.iter().find(|call| text("name").is_none_or(|name| call.name == name));
                let id = text("tool_call_id").or(named.map(|call| call.id.clone()));
                let id = id.unwrap_or_else(|| "none".to_owned());
                let call = ToolCall::new(id, text("name").unwrap_or_default(), Value::Null);
                Message::tool(vec![ToolResult::ok(&call, content)])
            }
            role => {
                if role.is_err() {
                    origin.insert("role".to_owned(), args["role"].clone());
                }
                let said = vec![Content::Text(content.to_owned())];
                Message { name: text("name"), ..Message::new(role.unwrap_or(Role::User), said) }
            }
        };
        Ok((message, origin))
    }

    /// The node at the cursor as dataknobs prints it.
    /// The nodes on the path to the head after the first ones, as dataknobs prints them.
    pub(crate) fn messages_after(&self, before: usize) -> Result<Vec<Value>> {
        Ok(state::path(&self.seen()?).into_iter().skip(before).cloned().collect())
    }

    pub(crate) fn node_at_head(&self) -> Result<Value> {
        Ok(state::path(&self.seen()?).last().map(|node| (*node).clone()).unwrap_or_default())
    }

    /// Gets an answer, and how many pieces it came in.
    pub(crate) fn complete(&mut self, args: &Value, stop_after: Option<usize>) -> Result<(Value, usize)> {
        self.response.clear();
        let history = self.history().map_err(|_| "no messages in conversation".to_owned())?;
        let metadata = self.metadata_of_answer(args)?;
        let chunks = if open_calls(&history).is_empty() {
            self.complete_by_chat(args, metadata, stop_after)?
        } else {
            self.complete_by_model(args, metadata, history)?
        };
        self.save()?;
        Ok((self.answer()?, chunks.max(1)))
    }

    /// What the case and dataknobs note with an answer, and what an import would of one that is written otherwise here.
    fn metadata_of_answer(&self, args: &Value) -> Result<Map<String, Value>> {
        let mut metadata = args["metadata"].as_object().cloned().unwrap_or_default();
        metadata.insert("provider".to_owned(), "echo".into());
        if self.provider.next_is_uncounted() {
            metadata.insert("usage".to_owned(), Value::Null);
        }
        let mut notes = Map::new();
        notes.extend((args["branch_name"] == "").then(|| ("branch_name".to_owned(), "".into())));
        let calls = self.provider.next_calls().map(canonical);
        let nameless = |calls: &Value| calls.as_array().unwrap().iter().any(|call| call.get("id").is_none());
        let calls = calls.filter(nameless).map(|calls| ("message".to_owned(), json!({"tool_calls": calls})));
        notes.extend(calls);
        if let Some(overrides) = overrides(args) {
            if let Some(unknown) = overrides.keys().find(|name| !OVERRIDES.contains(&name.as_str())) {
                return Err(format!("nothing is called {unknown}"));
            }
            metadata.insert("config_overrides_applied".to_owned(), overrides.clone().into());
        }
        Ok(with_notes(metadata, notes))
    }

    /// The chat as a manager over another model has it, where a call asks for one.
    fn chat_over(&self, args: &Value) -> Result<Conversation> {
        let Some(model) = overrides(args).and_then(|overrides| overrides.get("model")?.as_str()) else {
            return self.chat().cloned();
        };
        let model = Renamed { name: model.to_owned(), model: Arc::clone(&self.provider) };
        let manager = managed(model, &self.setup, &self.stack, &self.store, &self.searches);
        block_on(manager.open(self.chat()?.id())).map_err(said)
    }

    fn complete_by_chat(
        &mut self,
        args: &Value,
        metadata: Map<String, Value>,
        stop_after: Option<usize>,
    ) -> Result<usize> {
        let mut ask =
            metadata.into_iter().fold(TurnRequest::default(), |ask, (name, value)| ask.metadata(name, value));
        if let Some(label) = args["branch_name"].as_str().filter(|label| !label.is_empty()) {
            ask = ask.label(label);
        }
        if let Some(text) = args["system_prompt_override"].as_str() {
            ask = ask.system_prompt(text);
        }
        for layer in stack::of(args, &self.events) {
            ask = ask.middleware(layer);
        }
        let flat = TurnFacts::default();
        ask = ask.sampling(sampling(args)).turn_data(TurnData::default().with(flat.clone()));
        let before = self.head()?;
        let mut turn = self.chat_over(args)?.complete(ask);
        let mut chunks = 0;
        let mut heard = String::new();
        while let Some(event) = block_on(turn.next()) {
            if let Ok(TurnEvent::Delta(alloquy_core::Delta::Text(text))) = event {
                chunks += 1;
                heard += &text;
            }
            if Some(chunks) == stop_after {
                drop(turn);
                self.keeps(&heard, before)?;
                return Ok(chunks);
            }
        }
        let turn = block_on(turn.finish()).map_err(said)?;
        self.response = stack::response(&self.setup, &flat, &turn.reply);
        self.broken.extend(stack::unkept(&self.setup, &turn.reply));
        Ok(chunks)
    }

    /// Asks for several answers to one node at once: they are siblings.
    pub(crate) fn complete_at_once(&mut self, count: usize) -> Result<Value> {
        let at = self.head()?;
        let chat = self.chat()?;
        let turns = (0..count).map(|_| chat.complete(TurnRequest::default().at(at)).finish());
        let answers = block_on(futures::future::join_all(turns));
        let answers = answers.into_iter().collect::<alloquy_core::Result<Vec<_>>>().map_err(said)?;
        let children = block_on(chat.children(at)).map_err(said)?;
        if !answers.iter().all(|answer| children.iter().any(|child| child.id == answer.node)) {
            self.broken.push(format!("of {count} answers to one node some stand elsewhere"));
        }
        self.save()?;
        Ok(answers.len().into())
    }

    /// What is promised of an answer that is dropped: it is there, and marked.
    fn keeps(&mut self, heard: &str, before: Option<NodeId>) -> Result<()> {
        block_on(self.manager.flush()).map_err(said)?;
        let last = self.history()?.pop().unwrap();
        let kept = (last.message.text(), last.status, last.parent);
        if kept != (heard.to_owned(), NodeStatus::Interrupted, before) {
            self.broken.push(format!("of the answer {heard:?} is left {kept:?}"));
        }
        Ok(())
    }

    /// Past calls that nobody answered: what a turn does not do.
    fn complete_by_model(
        &self,
        args: &Value,
        mut metadata: Map<String, Value>,
        history: Vec<Node>,
    ) -> Result<usize> {
        let below = history.last().map(|node| node.id);
        let messages = history.into_iter().map(|node| node.message).collect();
        let mut request = Request::new(Preface::default(), messages);
        if let Some(text) = args["system_prompt_override"].as_str() {
            request.replace_system_prompt(text);
            metadata.insert("system_prompt".to_owned(), text.into());
        }
        let label = args["branch_name"].as_str().filter(|label| !label.is_empty());
        metadata.extend(label.map(|label| ("label".to_owned(), label.into())));
        let mut stream = block_on(self.manager.model().reply(request)).map_err(said)?;
        let mut chunks = 0;
        while block_on(stream.next()).is_some() {
            chunks += 1;
        }
        let reply = block_on(stream.finish()).map_err(said)?;
        metadata.entry("usage").or_insert_with(|| json!(reply.usage));
        metadata.insert("model".to_owned(), self.manager.model().name().into());
        metadata.insert("finish".to_owned(), json!(reply.finish));
        self.append(reply.message, metadata, below)?;
        Ok(chunks)
    }

    /// What dataknobs returns of the answer at the cursor.
    fn answer(&self) -> Result<Value> {
        let node = self.node_at_head()?;
        let metadata = &node["metadata"];
        Ok(json!({"content": node["message"]["content"], "model": metadata["model"],
            "finish_reason": metadata["finish_reason"], "usage": metadata["usage"], "cost_usd": metadata["cost_usd"],
            "cumulative_cost_usd": metadata["cumulative_cost_usd"], "metadata": self.response}))
    }

    /// The children of a node, as dataknobs lists branches; of an unknown node there are none.
    pub(crate) fn branches(&self, address: Option<&str>) -> Result<Value> {
        let Ok(chat) = self.chat() else { return Ok(json!([])) };
        let above: Address = match address.map(here) {
            Some(Ok(place)) => place.into(),
            Some(Err(_)) => return Ok(json!([])),
            None => self.head()?.into(),
        };
        let Ok(children) = block_on(chat.children(above)) else { return Ok(json!([])) };
        let notes = block_on(chat.annotations()).map_err(said)?;
        let tree = self.tree()?;
        let line = |node: &Node| {
            let preview: String = crate::model::text(&node.message).chars().take(100).collect();
            let noted = node.metadata.get("dataknobs");
            let role = noted
                .and_then(|noted| noted["message"]["role"].as_str())
                .unwrap_or(node.message.role.as_str());
            let empty = noted.and_then(|noted| noted["branch_name"].as_str());
            json!({"node_id": name(&tree, node.id), "branch_name": notes.label(node).or(empty), "role": role,
                "preview": preview, "timestamp": null})
        };
        Ok(children.iter().map(line).collect())
    }

    /// The nodes to a node, which is the cursor unless it is named.
    pub(crate) fn path(&self, address: Option<&str>) -> Result<Vec<Node>> {
        match address.filter(|address| !address.is_empty()) {
            Some(address) => block_on(self.chat()?.path(here(address)?)).map_err(said),
            None => self.history(),
        }
    }

    pub(crate) fn resume(&mut self, id: &str) -> Result<Value> {
        let id: ConversationId = id.parse().map_err(said)?;
        let chat = block_on(self.manager.open(&id)).map_err(said)?;
        self.metadata = block_on(chat.metadata()).map_err(said)?;
        self.seed = self.metadata.clone();
        self.chat = Some(chat);
        Ok(json!({"nodes": self.tree()?.len()}))
    }

    /// Begins again under the same name.
    pub(crate) fn reset(&mut self) -> Result<()> {
        if let Some(chat) = self.chat.take() {
            block_on(self.manager.delete(chat.id())).map_err(said)?;
        }
        self.metadata = Map::new();
        Ok(())
    }

    pub(crate) fn prune(&self, node: NodeId) -> Result<usize> {
        block_on(self.chat()?.prune(node)).map_err(said)
    }
}

/// A manager over a model, with the middleware of a case.
fn managed(
    model: impl ChatModel + 'static,
    setup: &Value,
    stack: &[Arc<dyn Middleware>],
    store: &Arc<MemoryStore>,
    searches: &rag::Counts,
) -> Manager {
    let mut builder = Manager::builder(model).store(Arc::clone(store) as _).owner(stack::owner(setup));
    builder = builder.prompts(library::of(setup)).value_source(rag::passages(setup, searches));
    for layer in stack {
        builder = builder.middleware(layer.clone());
    }
    // What fails in dataknobs leaves nothing.
    if stack::has(setup, "raise") {
        builder = builder.partial_replies(PartialReplyPolicy::Discard);
    }
    builder.build().unwrap()
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` passes it
pub(crate) fn said(error: alloquy_core::Error) -> String {
    format!("{error:#}")
}

/// An address of dataknobs as one of ours: the root is empty there and the first message here.
pub(crate) fn here(address: &str) -> Result<NodePath> {
    let places: NodePath = address.parse().map_err(said)?;
    Ok(std::iter::once(0).chain(places.places().iter().copied()).collect())
}

/// What dataknobs calls a node.
fn name(tree: &Tree, node: NodeId) -> String {
    let address = tree.position(Some(node)).unwrap().to_string();
    address.strip_prefix('0').unwrap().trim_start_matches('.').to_owned()
}

/// The calls at the end of a path that nothing has answered.
fn open_calls(path: &[Node]) -> Vec<ToolCall> {
    let spoken = path.iter().rposition(|node| node.message.role != Role::Tool);
    let Some((last, results)) = spoken.and_then(|last| path[last..].split_first()) else { return Vec::new() };
    let answered = |call: &ToolCall| {
        results.iter().flat_map(|node| node.message.tool_results()).any(|result| result.id == call.id)
    };
    last.message.tool_calls().filter(|call| !answered(call)).cloned().collect()
}

/// What a call may say of its model.
const OVERRIDES: [&str; 13] = [
    "model",
    "temperature",
    "max_tokens",
    "top_p",
    "stop_sequences",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "response_format",
    "functions",
    "function_call",
    "options",
];

fn overrides(args: &Value) -> Option<&Map<String, Value>> {
    args["llm_config_overrides"].as_object().filter(|overrides| !overrides.is_empty())
}

fn sampling(args: &Value) -> SamplingOptions {
    let given = &args["llm_config_overrides"];
    SamplingOptions {
        temperature: given["temperature"].as_f64().map(|number| number as f32),
        top_p: given["top_p"].as_f64().map(|number| number as f32),
        max_tokens: given["max_tokens"].as_u64().map(|count| count as usize),
        seed: given["seed"].as_u64(),
        ..SamplingOptions::default()
    }
}

/// Adds what an import would keep of a node.
fn take_text(metadata: &mut Map<String, Value>, name: &str) -> Option<String> {
    let text = metadata.get(name)?.as_str()?.to_owned();
    metadata.shift_remove(name);
    Some(text)
}

fn with_notes(mut metadata: Map<String, Value>, notes: Map<String, Value>) -> Map<String, Value> {
    if !notes.is_empty() {
        metadata.insert("dataknobs".to_owned(), notes.into());
    }
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
