//! The engine's thread: it receives work, and lets generations take turns.
//!
//! Each turn computes one chunk of one prompt, then one token of every running reply, then one piece of a scoring. So a long
//! prompt delays each token of the running replies by one chunk.

use std::collections::VecDeque;
use std::sync::mpsc as queue;

use alloquy_core::{Error, Result};
use alloquy_engine::{BatchStep, CancelToken, Engine};

use super::active::{Active, Status};
use super::draft_model::DraftModel;
use super::drafter::Drafter;
use super::guard::guarded;
use super::job::{Job, Work};
use super::options::GeneratorOptions;
use super::scorer::Scorer;
use super::slots::{OwnedPrompt, Slot, Slots};

/// Serves an inbox until all its senders are dropped.
pub(super) fn serve_all(
    engine: &dyn Engine,
    draft: Option<DraftModel>,
    options: GeneratorOptions,
    inbox: &queue::Receiver<Work>,
) {
    let slots = Slots::new(options.cache);
    let generations = options.max_concurrent.clamp(1, slots.capacity());
    let mut worker = Worker {
        engine,
        slots,
        generations,
        drafter: Drafter::new(engine, options, draft),
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
    /// The greatest number of concurrent generations.
    generations: usize,
    drafter: Drafter,
    /// In the order of their arrival.
    waiting: VecDeque<Box<Job>>,
    /// The next one to compute is first.
    active: VecDeque<Active>,
    /// In the order of their arrival. Only the first one has a session, which the budget does not count.
    scorers: VecDeque<Scorer>,
}

impl Worker<'_> {
    /// Receives all work that has arrived. Waits for work if there is nothing to compute. Returns false if none can arrive.
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
                let in_use = in_use(&self.active);
                let _ = answer.send(self.slots.statistics(&in_use));
            }
            Work::Held(prompt, owner, answer) => {
                let in_use = in_use(&self.active);
                let prompt = OwnedPrompt { units: &prompt.units, owner };
                let _ = answer.send(self.slots.held(prompt, &in_use));
            }
            Work::Snapshot(prompt, origin, answer) => {
                let in_use = in_use(&self.active);
                let prompt = OwnedPrompt { units: &prompt.units, owner: origin.owner };
                let _ = answer.send(guarded(|| self.slots.snapshot(origin, prompt, &in_use)));
            }
            Work::Restore(snapshot, owner, answer) => {
                let in_use = in_use(&self.active);
                let _ = answer.send(guarded(|| self.slots.restore(self.engine, *snapshot, owner, &in_use)));
            }
        }
    }

    fn drop_cancelled(&mut self) {
        self.waiting.retain(|job| {
            let cancelled = job.cancel.check().err();
            let is_kept = cancelled.is_none();
            if let Some(error) = cancelled {
                job.emit(Err(error));
            }
            is_kept
        });
        for active in std::mem::take(&mut self.active) {
            match active.job.cancel.check() {
                Ok(()) => self.active.push_back(active),
                Err(error) => self.leave(active, Err(error)),
            }
        }
    }

    /// Begins the jobs for which there are sessions. A job whose prompt shares a longer prefix with one that is being computed
    /// waits for that, and later jobs pass it.
    fn admit(&mut self) {
        let mut index = 0;
        while self.active.len() < self.generations {
            let Some(job) = self.waiting.get(index) else { return };
            if self.is_worth_waiting(job.owned_prompt()) {
                index += 1;
            } else if let Some(job) = self.waiting.remove(index) {
                self.begin(job);
            }
        }
    }

    fn is_worth_waiting(&self, prompt: OwnedPrompt<'_>) -> bool {
        let in_use = in_use(&self.active);
        let prefilling = self.active.iter().filter(|active| active.is_prefilling());
        self.slots.is_worth_waiting(prompt, &in_use, prefilling.map(Active::prompt))
    }

    fn begin(&mut self, job: Box<Job>) {
        let in_use = in_use(&self.active);
        match guarded(|| self.slots.take(self.engine, job.owned_prompt(), &in_use)) {
            Ok((slot, report)) => {
                let drafts = self.drafter.begin();
                self.active.push_back(Active::new(self.engine, job, slot, report, drafts));
            }
            Err(error) => job.emit(Err(error)),
        }
    }

    /// Computes a chunk of one prompt. The next call computes a chunk of the next prompt.
    fn prefill(&mut self) {
        let turn = self.active.iter().position(Active::is_prefilling);
        if let Some(mut active) = turn.and_then(|index| self.active.remove(index)) {
            let outcome = guarded(|| active.prefill(self.engine));
            self.advance(active, outcome);
        }
    }

    /// Computes a token of every running reply.
    fn decode(&mut self) {
        let mut writing = Vec::new();
        for active in std::mem::take(&mut self.active) {
            if active.is_prefilling() {
                self.active.push_back(active);
            } else {
                writing.push(active);
            }
        }
        // Only a reply that runs alone has drafts. Several replies share a batch.
        if self.drafter.is_some() && self.active.is_empty() && writing.len() == 1 {
            for alone in writing {
                self.speculate(alone);
            }
            return;
        }
        self.step(writing);
    }

    /// Computes a piece of the first scoring.
    fn score(&mut self) {
        let Some(mut scorer) = self.scorers.pop_front() else { return };
        let in_use = in_use(&self.active);
        match guarded(|| scorer.step(self.engine, &self.slots, &in_use)) {
            Ok(Status::Running) => self.scorers.push_front(scorer),
            Ok(Status::Done) => scorer.answer(Ok(())),
            Err(error) => scorer.answer(Err(error)),
        }
    }

    fn speculate(&mut self, mut alone: Active) {
        let outcome = guarded(|| alone.speculate(self.engine, &mut self.drafter));
        self.advance(alone, outcome);
    }

    /// Computes the last tokens of all replies as one batch, then samples the next token of each.
    fn step(&mut self, mut writing: Vec<Active>) {
        if let Err(error) = guarded(|| forward(self.engine, &mut writing)) {
            // The batch failed as a whole: every reply gets the error, and no session is known to be usable.
            for active in writing {
                self.leave(active, Err(Error::new(error.kind(), format!("{error:#}"))));
            }
            return;
        }
        for mut active in writing {
            let outcome = guarded(|| active.draw(self.engine));
            self.advance(active, outcome);
        }
    }

    /// Queues a generation for its next turn, or ends it.
    fn advance(&mut self, active: Active, outcome: Result<Status>) {
        match outcome {
            Ok(Status::Running) => self.active.push_back(active),
            Ok(Status::Done) => self.leave(active, Ok(())),
            Err(error) => self.leave(active, Err(error)),
        }
    }

    fn leave(&mut self, mut active: Active, outcome: Result<()>) {
        self.drafter.end(std::mem::take(&mut active.drafts));
        if let Some(slot) = active.leave(outcome) {
            let in_use = in_use(&self.active);
            // The units of the slot are decoded to text. If the tokenizer panics, the session is lost, and no caller waits for it.
            let _: Result<()> = guarded(|| {
                self.slots.put(self.engine, slot, &in_use);
                Ok(())
            });
        }
    }
}

/// Returns the slots of the generations that run.
fn in_use(active: &VecDeque<Active>) -> Vec<&Slot> {
    active.iter().map(|active| &active.slot).collect()
}

/// Computes the token that each reply sampled last.
fn forward(engine: &dyn Engine, writing: &mut [Active]) -> Result<()> {
    let units: Vec<_> = writing.iter_mut().map(Active::take_next).collect();
    let mut steps = Vec::with_capacity(units.len());
    for (active, unit) in writing.iter_mut().zip(&units) {
        if let Some(unit) = unit {
            steps.push(BatchStep { session: active.slot.session.as_mut(), unit });
        }
    }
    match steps.as_mut_slice() {
        [] => {}
        [alone] => {
            alone.session.forward(std::slice::from_ref(alone.unit), &CancelToken::default())?;
        }
        several => engine.forward_many(several)?,
    }
    Ok(())
}
