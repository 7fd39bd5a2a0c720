//! Sequences of tokens that end a reply.

use alloquy_core::SamplingOptions;
use alloquy_core::tokenizer::TokenId;
use alloquy_inference::StopTokens;
use serde_json::{Map, Value, json};

use crate::outcome::Outcome;
use crate::row::Row;

fn sequence(ids: &Value) -> Vec<TokenId> {
    ids.as_array().into_iter().flatten().filter_map(|id| TokenId::try_from(id.as_u64()?).ok()).collect()
}

fn sequences(lists: &Value) -> Vec<Vec<TokenId>> {
    lists.as_array().into_iter().flatten().map(sequence).collect()
}

/// Sequences that are added one by one; one that is there already adds nothing.
pub(crate) fn add(row: &Row) -> Outcome {
    let mut all = SamplingOptions::default();
    let mut answers = Vec::new();
    for stop in sequences(&row.input["add"]) {
        let added = SamplingOptions { stop_tokens: vec![stop], ..SamplingOptions::default() };
        if added.validate().is_err() {
            answers.push("INVALID_ARGUMENT");
            continue;
        }
        let joined = added.or(&all);
        answers.push(if joined.stop_tokens.len() > all.stop_tokens.len() { "OK" } else { "OK (no-op)" });
        all = joined;
    }
    Outcome::compared(row.expected.clone(), answers)
}

/// One reply of the batch.
struct Watched {
    stops: StopTokens,
    settled: usize,
    /// Where the sequence that ended the reply begins, and how long it is.
    stopped: Option<(usize, usize)>,
}

impl Watched {
    fn new(stops: &[Vec<TokenId>]) -> Self {
        Self { stops: StopTokens::new(stops.to_vec()), settled: 0, stopped: None }
    }

    fn push(&mut self, step: usize, token: TokenId) {
        if self.stopped.is_none() {
            let (settled, stopped) = self.stops.push(token);
            self.settled += settled.len();
            self.stopped = stopped.then_some((self.settled, step + 1 - self.settled));
        }
    }

    fn partial(&self) -> usize {
        self.stopped.map_or(self.stops.held(), |(_, length)| length)
    }
}

pub(crate) fn stream(row: &Row) -> Outcome {
    let stops = sequences(&row.input["stops"]);
    let replies = sequences(&row.input["batch"]);
    let mut batch: Vec<Watched> = replies.iter().map(|_| Watched::new(&stops)).collect();
    let mut partial: Vec<Vec<usize>> = vec![Vec::new(); batch.len()];
    let mut done = None;
    for step in 0..replies.iter().map(Vec::len).max().unwrap_or(0) {
        for ((watched, reply), partial) in batch.iter_mut().zip(&replies).zip(&mut partial) {
            watched.push(step, reply[step]);
            partial.push(watched.partial());
        }
        if batch.iter().all(|watched| watched.stopped.is_some()) {
            done = Some(step);
            break;
        }
    }
    let before = |watched: &Watched| Some(done? + 1 - watched.stopped?.0);
    let mut found = Map::new();
    for name in row.expected.as_object().into_iter().flatten().map(|(name, _)| name) {
        // Rows list the steps before the last.
        let steps = |item: usize| &partial[item][..done.unwrap_or(0)];
        let value = match name.as_str() {
            "all_done_at_step_index" => json!(done),
            "steps_before_stop_tokens" => json!(batch.iter().map(before).collect::<Vec<_>>()),
            "max_partial_len_item0_by_step" => json!(steps(0)),
            "max_partial_len_item1" => json!(steps(1).iter().max()),
            "after_reset" => after_reset(&stops, batch.len()),
            _ => json!("is not known"),
        };
        found.insert(name.clone(), value);
    }
    Outcome::compared(row.expected.clone(), found)
}

/// A reset is a new watch for each reply.
fn after_reset(stops: &[Vec<TokenId>], replies: usize) -> Value {
    let fresh: Vec<Watched> = (0..replies).map(|_| Watched::new(stops)).collect();
    let settled: Vec<usize> = fresh.iter().map(|watched| watched.settled).collect();
    json!({"all_done": fresh.iter().all(|watched| watched.stopped.is_some()), "steps_before_stop_tokens": settled})
}
