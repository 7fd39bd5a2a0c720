//! Stop sequences. They are texts here, so a row's ids are symbols of a text.

use alloquy_core::{SamplingOptions, StopStrings};
use serde_json::{Map, Value, json};

use crate::outcome::Outcome;
use crate::row::Row;

pub(crate) fn run(row: &Row) -> Outcome {
    match row.kind.as_str() {
        "stop_add" => add(row),
        _ => stream(row),
    }
}

fn text(ids: &Value) -> String {
    let symbol = |id: &Value| char::from_u32(0x4E00 + u32::try_from(id.as_u64()?).ok()?);
    ids.as_array().into_iter().flatten().filter_map(symbol).collect()
}

/// Bytes of one symbol.
const SYMBOL: usize = 3;

fn add(row: &Row) -> Outcome {
    let mut stop = Vec::new();
    let mut answers = Vec::new();
    for ids in row.input["add"].as_array().into_iter().flatten() {
        let added = SamplingOptions { stop: vec![text(ids)], ..SamplingOptions::default() };
        answers.push(Value::from(match added.validate() {
            Err(_) => "INVALID_ARGUMENT",
            Ok(()) if stop.contains(&text(ids)) => "OK (no-op)",
            Ok(()) => "OK",
        }));
        if added.validate().is_ok() {
            stop = added.or(&SamplingOptions { stop, ..SamplingOptions::default() }).stop;
        }
    }
    Outcome::compared(row.expected.clone(), answers)
}

/// One text of the batch, read symbol by symbol.
struct Watched {
    stops: StopStrings,
    settled: usize,
    /// Where the stop sequence begins and how long it is.
    stopped: Option<(usize, usize)>,
}

impl Watched {
    fn push(&mut self, step: usize, symbol: &str) {
        if self.stopped.is_none() {
            let (text, stopped) = self.stops.push(symbol);
            self.settled += text.len() / SYMBOL;
            self.stopped = stopped.then_some((self.settled, step + 1 - self.settled));
        }
    }

    fn partial(&self) -> usize {
        self.stopped.map_or(self.stops.held() / SYMBOL, |(_, length)| length)
    }
}

fn stream(row: &Row) -> Outcome {
    let stops: Vec<String> = row.input["stops"].as_array().into_iter().flatten().map(text).collect();
    let texts: Vec<String> = row.input["batch"].as_array().into_iter().flatten().map(text).collect();
    let new = || Watched { stops: StopStrings::new(stops.clone()), settled: 0, stopped: None };
    let mut batch: Vec<Watched> = texts.iter().map(|_| new()).collect();
    let mut partial: Vec<Vec<usize>> = vec![Vec::new(); batch.len()];
    let mut done = None;
    for step in 0..texts.iter().map(String::len).max().unwrap_or(0) / SYMBOL {
        for ((watched, text), partial) in batch.iter_mut().zip(&texts).zip(&mut partial) {
            watched.push(step, &text[step * SYMBOL..(step + 1) * SYMBOL]);
            partial.push(watched.partial());
        }
        if batch.iter().all(|watched| watched.stopped.is_some()) {
            done = Some(step);
            break;
        }
    }
    let before = |watched: &Watched| Some(done? + 1 - watched.stopped?.0);
    let found = json!({
        "all_done_at_step_index": done,
        "steps_before_stop_tokens": batch.iter().map(before).collect::<Vec<_>>(),
    });
    Outcome::compared(row.expected.clone(), with_asked(&row.expected, found, &partial, done, &new()))
}

/// Adds what this row asks for beyond the rest.
fn with_asked(
    expected: &Value,
    found: Value,
    partial: &[Vec<usize>],
    done: Option<usize>,
    fresh: &Watched,
) -> Value {
    let mut all: Map<String, Value> = found.as_object().unwrap().clone();
    for name in expected.as_object().into_iter().flatten().map(|(name, _)| name) {
        let value = match name.as_str() {
            "max_partial_len_item0_by_step" => {
                // Rows list the steps before the last.
                json!(partial[0][..done.unwrap_or(0)])
            }
            "max_partial_len_item1" => json!(partial[1][..done.unwrap_or(0)].iter().max()),
            "after_reset" => {
                json!({"all_done": fresh.stopped.is_some(), "steps_before_stop_tokens": [fresh.settled]})
            }
            _ => continue,
        };
        all.insert(name.clone(), value);
    }
    all.into()
}
