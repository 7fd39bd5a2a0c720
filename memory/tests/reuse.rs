//! What a cache keeps of prompts with notes that differ in each turn.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::report::CacheReport;
use alloquy_core::{Manager, Message, NodeId, Owner, Preface, ReplyStream, Request, Result};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_memory::{Note, Placement, Recall, RecallRequest, Recalled, Reminder, StoredNote};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
use async_trait::async_trait;
use pollster::block_on;

const TURNS: usize = 20;

/// Recalls other notes for each question.
#[derive(Debug, Default)]
struct Changing {
    turn: AtomicUsize,
    stays: bool,
}

#[async_trait]
impl Recall for Changing {
    fn name(&self) -> &str {
        "changing"
    }

    async fn recall(&self, request: RecallRequest<'_>) -> Result<Recalled> {
        let turn = if self.stays { 0 } else { self.turn.fetch_add(1, Ordering::Relaxed) };
        let mut notes = Vec::new();
        for number in 0..9 {
            let note = Note::new(format!("fact {turn}.{number} of some length"));
            notes.push(StoredNote::new(NodeId::new(), note));
        }
        Ok(Recalled::first(notes, request.limit))
    }
}

/// Shows the same notes as a system message before everything.
#[derive(Debug)]
struct InFront(Changing);

#[async_trait]
impl Middleware for InFront {
    async fn handle(&self, mut request: Request, next: Next<'_>) -> Result<ReplyStream> {
        let owner = Owner::local();
        let notes = self.0.recall(RecallRequest::new(&owner, &request.path).limit(5)).await?.notes;
        let lines: String = notes.iter().map(|note| format!("- {}\n", note.note.text)).collect();
        request.preface.messages.insert(0, Message::system(lines));
        next.call(request).await
    }
}

fn model() -> LanguageModel {
    let reply = "A reply of a usual length, which takes some room in the prompt.";
    let engine = ScriptedEngine::new([("<assistant>", reply)]).context_length(8000);
    LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

/// Returns the units of all prompts of a conversation, how many were cached, and the most that one turn computed.
fn measured(model: LanguageModel, middleware: impl Middleware + 'static) -> CacheReport {
    block_on(async {
        let manager = Manager::builder(model).middleware(middleware).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let mut all = CacheReport::default();
        for turn in 0..TURNS {
            let question = format!("Question number {turn}, which is a short one");
            let cache = conversation.send(question).await.unwrap().reply.cache.unwrap();
            all.prompt += cache.prompt;
            all.cached += cache.cached;
            all.computed = all.computed.max(cache.computed);
        }
        all
    })
}

#[test]
fn notes_before_the_question_keep_the_beginning_of_the_prompt() {
    let front = measured(model(), InFront(Changing::default()));
    let language_model = model();
    let reminder = Reminder::new(Changing::default(), language_model.clone())
        .heading("What you know from before:")
        .max_notes(5)
        .max_tokens(100);
    let before = measured(language_model, reminder);
    let share = |report: CacheReport| report.cached as f64 / report.prompt as f64;
    println!(
        "notes in front of everything: {} of {} units cached ({:.1} %), at most {} computed in a turn",
        front.cached,
        front.prompt,
        100.0 * share(front),
        front.computed
    );
    println!(
        "notes before the question:    {} of {} units cached ({:.1} %), at most {} computed in a turn",
        before.cached,
        before.prompt,
        100.0 * share(before),
        before.computed
    );
    assert!(share(before) >= 0.8, "{before:?}");
    assert!(share(front) < 0.1, "{front:?}");
    assert!(before.computed * 4 < front.computed, "{before:?} {front:?}");
}

#[test]
fn notes_after_the_instructions_are_reused_while_they_stay_the_same() {
    let language_model = model();
    let recall = Changing { stays: true, ..Changing::default() };
    let reminder = Reminder::new(recall, language_model.clone()).placement(Placement::AfterInstructions);
    let stable = measured(language_model, reminder);
    println!("stable notes after the instructions: {} of {} units cached", stable.cached, stable.prompt);
    assert!(stable.cached * 100 >= stable.prompt * 80, "{stable:?}");
}
