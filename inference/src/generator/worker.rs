//! The thread: takes work in, and lets generations take turns. Knows no sampling.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc as queue;

use alloquy_core::prompt::Unit;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::{Cancel, Engine, Step};

use super::active::{Active, Going};
use super::job::{Job, Work};
use super::lookup::PromptLookup;
use super::options::GeneratorOptions;
use super::scorer::Scorer;
use super::slots::{Slot, Slots};

/// Serves an inbox until nobody can write to it any more.
pub(super) fn serve_all(engine: &dyn Engine, options: GeneratorOptions, inbox: &queue::Receiver<Work>) {
    let slots = Slots::new(options.cache);
    let generations = options.max_concurrent.clamp(1, slots.capacity());
    let mut worker = Worker {
        engine,
        slots,
        generations,
        lookup: options.lookup,
        waiting: VecDeque::new(),
        active: VecDeque::new(),
        scorers: VecDeque::new(),
    };
    while worker.receive(inbox) {
        worker.drop_cancelled();
        worker.admit();
        worker.prefill();
        worker.decode();
        worker.score();
    }
}

struct Worker<'a> {
    engine: &'a dyn Engine,
    slots: Slots,
    /// How many advance together at most.
    generations: usize,
    lookup: Option<PromptLookup>,
    /// In the order in which they came.
    waiting: VecDeque<Box<Job>>,
    /// The one whose turn is next stands first.
    active: VecDeque<Active>,
    /// In the order in which they came. The first one alone has a session, beside those that are counted.
    scorers: VecDeque<Scorer>,
}

impl Worker<'_> {
    /// Takes in what has come, and waits for it when there is nothing else to do; false when nothing can come.
    fn receive(&mut self, inbox: &queue::Receiver<Work>) -> bool {
        if self.waiting.is_empty() && self.active.is_empty() && self.scorers.is_empty() {
            match inbox.recv() {
                Ok(work) => self.take(work),
                Err(queue::RecvError) => return false,
            }
        }
        while let Ok(work) = inbox.try_recv() {
            self.take(work);
        }
        true
    }

    fn take(&mut self, work: Work) {
        match work {
            Work::Generate(job) => self.waiting.push_back(job),
            Work::Score(scoring) => self.scorers.push_back(Scorer::new(scoring)),
            Work::Statistics(answer) => {
                let held = held(&self.active);
                let _ = answer.send(self.slots.statistics(&held));
            }
            Work::Snapshot(prompt, origin, answer) => {
                let held = held(&self.active);
                let _ = answer.send(guarded(|| self.slots.snapshot(origin, &prompt.units, &held)));
            }
            Work::Restore(snapshot, answer) => {
                let held = held(&self.active);
                let _ = answer.send(guarded(|| self.slots.restore(self.engine, *snapshot, &held)));
            }
        }
    }

    fn drop_cancelled(&mut self) {
        self.waiting.retain(|job| match job.cancel.check() {
            Ok(()) => true,
            Err(error) => {
                job.emit(Err(error));
                false
            }
        });
        for active in std::mem::take(&mut self.active) {
            match active.job.cancel.check() {
                Ok(()) => self.active.push_back(active),
                Err(error) => self.leave(active, Err(error)),
            }
        }
    }

    /// Begins what there are sessions for. What begins like a prompt that is being computed waits for it, and lets
    /// others pass.
    fn admit(&mut self) {
        let mut index = 0;
        while self.active.len() < self.generations {
            let Some(job) = self.waiting.get(index) else { return };
            if self.is_worth_waiting(&job.prompt.units) {
                index += 1;
            } else if let Some(job) = self.waiting.remove(index) {
                self.begin(job);
            }
        }
    }

    fn is_worth_waiting(&self, prompt: &[Unit]) -> bool {
        let held = held(&self.active);
        let prefilling = self.active.iter().filter(|active| active.is_prefilling());
        self.slots.is_worth_waiting(prompt, &held, prefilling.map(Active::prompt))
    }

    fn begin(&mut self, job: Box<Job>) {
        let held = held(&self.active);
        match guarded(|| self.slots.take(self.engine, &job.prompt.units, &held)) {
            Ok((slot, report)) => {
                self.active.push_back(Active::new(self.engine, job, slot, report));
            }
            Err(error) => job.emit(Err(error)),
        }
    }

    /// Computes a chunk of one prompt; the next time it is another one's turn.
    fn prefill(&mut self) {
        let turn = self.active.iter().position(Active::is_prefilling);
        if let Some(mut active) = turn.and_then(|index| self.active.remove(index)) {
            let outcome = guarded(|| active.prefill(self.engine));
            self.went(active, outcome);
        }
    }

    /// Gives a token to every reply that is being written.
    fn decode(&mut self) {
        let (writing, prefilling) = std::mem::take(&mut self.active)
            .into_iter()
            .partition::<Vec<_>, _>(|active| !active.is_prefilling());
        self.active = prefilling.into();
        let lookup = self.lookup.filter(|_| writing.len() == 1 && self.active.is_empty());
        match lookup {
            Some(lookup) => writing.into_iter().for_each(|alone| self.speculate(alone, lookup)),
            None => self.step(writing),
        }
    }

    /// Computes a piece of what is scored first.
    fn score(&mut self) {
        let Some(mut scorer) = self.scorers.pop_front() else { return };
        let held = held(&self.active);
        match guarded(|| scorer.step(self.engine, &self.slots, &held)) {
            Ok(Going::On) => self.scorers.push_front(scorer),
            Ok(Going::Done) => scorer.answer(Ok(())),
            Err(error) => scorer.answer(Err(error)),
        }
    }

    fn speculate(&mut self, mut alone: Active, lookup: PromptLookup) {
        let outcome = guarded(|| alone.speculate(self.engine, lookup));
        self.went(alone, outcome);
    }

    fn step(&mut self, mut writing: Vec<Active>) {
        match guarded(|| forward(self.engine, &mut writing)) {
            Ok(()) => {
                for mut active in writing {
                    let outcome = guarded(|| active.draw(self.engine));
                    self.went(active, outcome);
                }
            }
            Err(error) => {
                let (kind, sentence) = (error.kind(), format!("{error:#}"));
                writing.into_iter().for_each(|active| {
                    self.leave(active, Err(Error::new(kind, sentence.clone())));
                });
            }
        }
    }

    fn went(&mut self, active: Active, outcome: Result<Going>) {
        match outcome {
            Ok(Going::On) => self.active.push_back(active),
            Ok(Going::Done) => self.leave(active, Ok(())),
            Err(error) => self.leave(active, Err(error)),
        }
    }

    fn leave(&mut self, active: Active, outcome: Result<()>) {
        if let Some(slot) = active.leave(outcome) {
            let held = held(&self.active);
            // A tokenizer that panics loses the session.
            let _: Result<()> = guarded(|| {
                self.slots.put(self.engine, slot, &held);
                Ok(())
            });
        }
    }
}

/// The slots that are taken out.
fn held(active: &VecDeque<Active>) -> Vec<&Slot> {
    active.iter().map(|active| &active.slot).collect()
}

/// Computes the token that each reply said last.
fn forward(engine: &dyn Engine, writing: &mut [Active]) -> Result<()> {
    let units: Vec<_> = writing.iter_mut().map(Active::take_next).collect();
    let steps = writing.iter_mut().zip(&units);
    let steps = steps.filter_map(|(active, unit)| {
        Some(Step { session: active.slot.session.as_mut(), unit: unit.as_ref()? })
    });
    let mut steps: Vec<_> = steps.collect();
    match steps.as_mut_slice() {
        [] => Ok(()),
        [alone] => alone.session.forward(std::slice::from_ref(alone.unit), &Cancel::default()).map(drop),
        several => engine.forward_many(several),
    }
}

/// A panicking engine loses the sessions that it was computing in, and nothing else.
fn guarded<T, E: From<Error>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let panicked = || Error::new(ErrorKind::Backend, "the engine panicked; its session was dropped");
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked().into()))
}
