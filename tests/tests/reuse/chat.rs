//! One long chat: questions, other questions, other answers, other branches, stops and drops.

use std::sync::Arc;

use alloquy_core::processor::DataProcessor;
use alloquy_core::{Conversation, Manager, NodeId, Preface, Role, Turn, TurnRequest};
use alloquy_engine::Engine;
use alloquy_inference::{CacheBudget, Generator, LanguageModel};
use alloquy_templates::SystemRole;
use futures::StreamExt;

use crate::draws::Draws;
use crate::engine::Replay;
use crate::figures::Figures;
use crate::model::Watched;
use crate::setting::Setting;
use crate::writer::{Plan, Weather, Writer, sentence};

pub(crate) async fn hold(setting: Setting, seed: u64, turns: usize) -> Figures {
    let preface = match setting.template.capabilities().system {
        SystemRole::Printed => Preface::system("You answer briefly, and in rhyme where you can."),
        _ => Preface::default(),
    };
    let preface = preface.extra("enable_thinking", true).extra("thinking", true);
    let engine = Replay::new(setting.model.clone(), setting.tokenizer.clone());
    let processor: Arc<dyn DataProcessor> = Arc::clone(&setting.processor);
    let round = LanguageModel::builder(
        Generator::new(Arc::new(engine.clone()) as Arc<dyn Engine>, budget()).unwrap(),
    )
    .template(Arc::clone(&setting.template))
    .processor(processor)
    .build()
    .unwrap();
    let writer = Writer::new(&setting, &preface);
    let model = Arc::new(Watched::new(round, engine, setting, writer, Draws::new(&[seed, 1])));
    let mut manager = Manager::builder(Arc::clone(&model));
    if model.calls() {
        manager = manager.tool(Weather);
    }
    let chat = manager.build().unwrap().create(preface).await.unwrap();
    let mut course = Course { chat, model, draws: Draws::new(&[seed, 2]) };
    for _ in 0..turns {
        course.turn().await;
    }
    course.model.figures.lock().unwrap().clone()
}

/// What is kept unless it is set.
fn budget() -> CacheBudget {
    let usual = CacheBudget::default();
    std::env::var("ALLOQUY_REUSE_SESSIONS")
        .map_or(usual, |sessions| sessions.parse::<usize>().unwrap().into())
}

struct Course {
    chat: Conversation,
    model: Arc<Watched>,
    draws: Draws,
}

impl Course {
    async fn turn(&mut self) {
        let plans = self.plans();
        self.model.plan(plans);
        let length = 3 + self.draws.below(10);
        let question = sentence(&mut self.draws, length);
        match self.draws.below(100) {
            0..58 => self.take(self.chat.send(question)).await,
            58..70 => self.take(self.chat.regenerate(TurnRequest::default())).await,
            70..80 => match self.earlier_question().await {
                Some(node) => self.take(self.chat.edit(node, question)).await,
                None => self.take(self.chat.send(question)).await,
            },
            80..88 => {
                let leaves = self.chat.leaves().await.unwrap();
                if !leaves.is_empty() {
                    let leaf = leaves[self.draws.below(leaves.len())].id;
                    self.chat.goto(leaf).await.unwrap();
                }
                self.take(self.chat.send(question)).await;
            }
            88..95 => self.stop(question).await,
            _ => self.drop(question).await,
        }
    }

    fn plans(&mut self) -> Vec<Plan> {
        match self.draws.below(10) {
            0..3 if self.model.calls() => vec![Plan::Call],
            3 if self.model.calls() => vec![Plan::Call, Plan::Call],
            4..7 => vec![Plan::Thought],
            _ => Vec::new(),
        }
    }

    async fn take(&self, turn: Turn) {
        if let Err(error) = turn.finish().await {
            self.model.figures.lock().unwrap().refused(&error);
        }
    }

    /// Some question on the path, often the last.
    async fn earlier_question(&mut self) -> Option<NodeId> {
        let history = self.chat.history().await.unwrap();
        let questions: Vec<_> = history.iter().filter(|node| node.message.role == Role::User).collect();
        let back = if self.draws.chance(50) { 0 } else { self.draws.below(questions.len().max(1)) };
        questions.iter().rev().nth(back).map(|node| node.id)
    }

    async fn stop(&mut self, question: String) {
        let mut turn = self.chat.send(question);
        for _ in 0..self.draws.below(12) {
            turn.next().await;
        }
        turn.cancel();
        match turn.finish().await {
            Err(error) if !error.is_cancelled() => self.model.figures.lock().unwrap().refused(&error),
            _ => {}
        }
    }

    async fn drop(&mut self, question: String) {
        let mut turn = self.chat.send(question);
        for _ in 0..self.draws.below(12) {
            turn.next().await;
        }
        drop(turn);
        self.model.figures.lock().unwrap().dropped += 1;
    }
}
