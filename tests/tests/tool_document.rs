//! Takes the turn with tools that `docs/tools.md` shows, and compares every block of data in it with what really happened.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod document;
mod shared;

use std::sync::Arc;

use alloquy_core::message::ToolCall;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput, decode};
use alloquy_core::tool::{ApprovalDecision, ToolApproval, ToolContext, Toolbox, TypedTool};
use alloquy_core::turn::TurnEnd;
use alloquy_core::{Error, ErrorKind, Manager, Message, Node, Preface, Result, SamplingOptions, ToolSpec};
use alloquy_engine::{CancelToken, Engine, Session};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_onnx::OnnxEngine;
use pollster::block_on;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use document::{Keep, Qwen3, pretty};

/// What the model is made to say behind each cue. The model is random weights and would not ask for tools by itself.
const SCRIPT: [(&str, &str); 2] = [
    (
        "Is it colder in Oslo than in Atlantis?<|im_end|>\n<|im_start|>assistant\n",
        "<think>\nTwo cities, and a note.\n</think>\n\n\
         <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>\n\
         <tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Atlantis\"}}\n</tool_call>\n\
         <tool_call>\n{\"name\": \"note\", \"arguments\": {\"text\": \"asked for the weather\"}}\n</tool_call>",
    ),
    (
        "</tool_response><|im_end|>\n<|im_start|>assistant\n",
        "<think>\n\n</think>\n\nIt is -3 degrees in Oslo. There is no weather in Atlantis.",
    ),
];

/// A real engine whose every next token is that of a script: sessions, caches and tokens are its own.
#[derive(Clone, Debug)]
struct Guided {
    engine: Arc<OnnxEngine>,
    script: Vec<(String, Vec<TokenId>)>,
}

impl Guided {
    fn new(engine: Arc<OnnxEngine>) -> Self {
        let end = engine.model().stop_tokens[0];
        let encoded = |text: &str| {
            let mut tokens = engine.tokenizer().encode(&[TokenizerInput::Text(text)]).unwrap();
            tokens.push(end);
            tokens
        };
        let script = SCRIPT.map(|(cue, reply)| (cue.to_owned(), encoded(reply)));
        Self { script: script.to_vec(), engine }
    }

    /// The token that follows `tokens`: of a reply whose first tokens stand at their end, behind its cue.
    fn next(&self, tokens: &[TokenId]) -> Option<TokenId> {
        self.script.iter().find_map(|(cue, reply)| {
            (0..reply.len()).find_map(|said| {
                let before = tokens.strip_suffix(&reply[..said])?;
                let prompt = decode(self.engine.tokenizer(), before).unwrap();
                prompt.ends_with(cue).then_some(reply[said])
            })
        })
    }
}

impl Engine for Guided {
    fn model(&self) -> &ModelInfo {
        self.engine.model()
    }
    fn tokenizer(&self) -> &dyn Tokenizer {
        self.engine.tokenizer()
    }
    fn open(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(GuidedSession { guide: self.clone(), session: self.engine.open()?, tokens: Vec::new() }))
    }
}

struct GuidedSession {
    guide: Guided,
    session: Box<dyn Session>,
    tokens: Vec<TokenId>,
}

impl Session for GuidedSession {
    fn length(&self) -> usize {
        self.session.length()
    }
    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        let logits = self.session.forward(units, cancel)?;
        self.tokens.extend(units.iter().map(|unit| match unit {
            PromptUnit::Token(token) => *token,
            PromptUnit::Media(_) => panic!("this model knows no media"),
        }));
        if let Some(next) = self.guide.next(&self.tokens) {
            logits[next as usize] = 1e4;
        }
        Ok(logits)
    }
    fn logits(&mut self) -> &mut [f32] {
        self.session.logits()
    }
    fn truncate(&mut self, length: usize) -> Result<usize> {
        let kept = self.session.truncate(length)?;
        self.tokens.truncate(kept);
        Ok(kept)
    }
    fn fork(&self) -> Result<Box<dyn Session>> {
        let session = self.session.fork()?;
        Ok(Box::new(Self { guide: self.guide.clone(), session, tokens: self.tokens.clone() }))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Weather {
    /// Its name in English.
    city: String,
}

#[derive(Deserialize, JsonSchema)]
struct Note {
    #[allow(dead_code)] // a note is never taken here
    text: String,
}

#[derive(Debug)]
struct NoNotes;

#[async_trait::async_trait]
impl ToolApproval for NoNotes {
    async fn approve(&self, call: &ToolCall, _tool: &ToolSpec, _: &ToolContext) -> ApprovalDecision {
        match call.name.as_str() {
            "note" => ApprovalDecision::Refuse("the user does not want it".to_owned()),
            _ => ApprovalDecision::Allow,
        }
    }
}

fn toolbox() -> Toolbox {
    let weather = TypedTool::new("weather", "Tells the weather", |Weather { city }| async move {
        match city.as_str() {
            "Oslo" => Ok(json!({"celsius": -3})),
            _ => Err(Error::new(ErrorKind::Tool, format!("unknown city {city:?}, one of: \"Oslo\""))),
        }
    });
    let note = TypedTool::new("note", "Takes a note", |_: Note| async { Ok("noted") });
    Toolbox::default().tool(weather).tool(note).approval(NoNotes)
}

fn round() -> Option<LanguageModel> {
    let Qwen3 { engine, template, processor } = Qwen3::load()?;
    let engine = Arc::new(Guided::new(engine));
    Some(
        LanguageModel::builder(Generator::new(engine, GeneratorOptions::default()).unwrap())
            .template(template)
            .processor(processor)
            .build()
            .unwrap(),
    )
}

#[test]
fn the_document_shows_what_happens() {
    let Some(round) = round() else { return };
    let keep = Keep::default();
    let greedy = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
    let manager = Manager::builder(round.clone()).sampling(greedy).middleware(keep.clone());
    let manager = manager.toolbox(toolbox()).build().unwrap();
    let (history, reply) = block_on(async {
        let chat = manager.create(Preface::default()).await.unwrap();
        let reply = chat.send("Is it colder in Oslo than in Atlantis?").finish().await.unwrap();
        (chat.history().await.unwrap(), reply)
    });
    assert_eq!((reply.end, reply.model_calls, history.len()), (TurnEnd::Answered, 2, 4));
    let cache = reply.reply.cache.unwrap();
    assert!(cache.cached > cache.prompt / 2, "what the model said and computed is reused: {cache:?}");
    let request = keep.request();
    let rendered = round.prepare(&request).unwrap().rendered;
    let answers = &rendered[rendered.find("<|im_start|>assistant").unwrap()..];
    document::compare(
        "tools.md",
        &[
            ("schema", pretty(&toolbox().now().unwrap().specs().next())),
            ("calls", message(&history[1])),
            ("results", message(&history[2])),
            ("second prompt", answers.to_owned()),
            ("answer", message(&history[3])),
        ],
    );
}

/// A node's message, without ids, times and counts.
fn message(node: &Node) -> String {
    let Message { role, parts, .. } = &node.message;
    let value: Value = json!({"role": role, "parts": parts});
    pretty(&value)
}
