//! An engine that continues the conversation, and what its cache is expected to have.

use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::report::MissReason;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::tree::NodeId;
use alloquy_core::{
    Content, Conversation, ConversationId, ConversationManager as _, Manager, Message, Role, SamplingOptions,
    TurnReply, TurnRequest,
};
use alloquy_engine::decoder::Decoder;
use alloquy_inference::LanguageModel;
use alloquy_templates::JinjaTemplate;
use serde_json::json;

use crate::script::Step;

/// Tokens of a reply.
pub(crate) const LIMIT: usize = 6;

/// One engine, with a store that it has opened by itself.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) decoder: Arc<dyn Decoder>,
    pub(crate) manager: Manager,
    is_remote: bool,
    /// Tokens of a block of its cache.
    block: usize,
    /// All that it has computed.
    computed: Vec<Vec<TokenId>>,
    pub(crate) tally: Tally,
}

/// How much of the prompts was expected in the cache, and was there.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) turns: usize,
    pub(crate) prompts: usize,
    pub(crate) expected: usize,
    pub(crate) cached: usize,
    pub(crate) misses: Vec<MissReason>,
}

pub(crate) fn language_model(decoder: &Arc<dyn Decoder>) -> LanguageModel {
    let variables = json!({"bos_token": "<s>", "eos_token": "</s>"}).as_object().unwrap().clone();
    let template = JinjaTemplate::builder(include_str!("template.jinja")).variables(variables);
    let processor = alloquy_processors::named("generic", decoder.model()).unwrap();
    LanguageModel::builder(Arc::clone(decoder))
        .template(template.build().unwrap())
        .processor(processor)
        .grammars(LlguidanceEngine::default())
        .build()
        .unwrap()
}

impl Place {
    pub(crate) async fn new(
        name: &'static str,
        decoder: Arc<dyn Decoder>,
        block: usize,
        store: &str,
    ) -> Self {
        let sampling =
            SamplingOptions { temperature: Some(0.0), max_tokens: Some(LIMIT), ..SamplingOptions::default() };
        let store = alloquy_storage::open(store).await.unwrap();
        let manager = Manager::builder(language_model(&decoder)).store(store).sampling(sampling);
        let manager = manager.build().unwrap();
        let is_remote = name != "onnx";
        Self { name, decoder, manager, is_remote, block, computed: Vec::new(), tally: Tally::default() }
    }

    /// Opens the conversation and runs a turn of it.
    pub(crate) async fn run(&mut self, id: &ConversationId, step: Step) -> TurnReply {
        let conversation = self.manager.open(id).await.unwrap();
        let before = self.cached().await;
        let reply = turn(&conversation, step).await;
        let prompt = prompt(&conversation, reply.answers().unwrap()).await;
        let report = reply.reply.cache.unwrap();
        assert_eq!(report.prompt, prompt.len(), "{} {step:?}: another prompt was computed", self.name);
        // Of some servers the number comes after the reply, so it is not in the report.
        let cached = self.cached().await.map_or(report.cached, |now| now - before.unwrap_or(0));
        let expected = self.expected(&prompt);
        // vLLM has room for all of it, and its report is written before its count is known.
        let is_explained = self.name != "vllm" && report.miss.is_some();
        assert!(
            cached >= expected || is_explained,
            "{} {step:?}: {cached} of {} tokens are cached, {expected} were computed, without a reason",
            self.name,
            prompt.len()
        );
        self.tally.turns += 1;
        self.tally.prompts += prompt.len();
        self.tally.expected += expected;
        self.tally.cached += cached;
        self.tally.misses.extend(report.miss);
        let mut computed = prompt;
        computed.extend(&reply.reply.tokens);
        // The last token of a reply is sampled and not computed.
        computed.pop();
        self.computed.push(computed);
        reply
    }

    /// Returns how many tokens of a prompt the engine has computed already, in whole blocks. The last token of a prompt is computed
    /// in any case.
    fn expected(&self, prompt: &[TokenId]) -> usize {
        let shared = self.computed.iter().map(|known| common(known, prompt)).max().unwrap_or(0);
        shared.min(prompt.len() - 1) / self.block * self.block
    }

    /// Returns the server's count of all prompts; `None` for the local engine, whose reports have it.
    async fn cached(&self) -> Option<usize> {
        if !self.is_remote {
            return None;
        }
        Some(self.decoder.cache_statistics().await.unwrap()?.cached)
    }
}

fn common(left: &[TokenId], right: &[TokenId]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// Returns the prompt of the reply to a node.
pub(crate) async fn prompt(conversation: &Conversation, question: NodeId) -> Vec<TokenId> {
    let prepared = conversation.prompt(TurnRequest::default().at(question)).await.unwrap().unwrap();
    prepared.prompt.tokens().map(Option::unwrap).collect()
}

async fn turn(conversation: &Conversation, step: Step) -> TurnReply {
    let history = conversation.history().await.unwrap();
    let last = |role: Role, place: usize| {
        let mut nodes = history.iter().rev().filter(|node| node.message.role == role);
        nodes.nth(place).unwrap().id
    };
    match step {
        Step::Send(text) => conversation.send(text).await.unwrap(),
        Step::Edit(text) => conversation.edit(last(Role::User, 1), text).await.unwrap(),
        Step::Branch(text) => {
            let request = TurnRequest::from(text).at(last(Role::Assistant, 2));
            conversation.send(request).await.unwrap()
        }
        Step::Regenerate => conversation.regenerate(TurnRequest::default()).await.unwrap(),
        Step::Tool(text) => {
            let call = ToolCall::new(format!("call_{}", history.len()), "look", json!({"at": "sky"}));
            let result = Message::tool(vec![ToolResult::ok(&call, "blue")]);
            let call = Message::new(Role::Assistant, vec![Content::ToolCall(call)]);
            conversation.add(vec![Message::user(text), call, result]).await.unwrap();
            conversation.complete(TurnRequest::default()).await.unwrap()
        }
    }
}
