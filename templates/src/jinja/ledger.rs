//! What a render holds and has done, beyond what the engine counts.
//!
//! The engine counts its own steps; a single step of it may copy, compare or build as much as it likes. Every filter,
//! method and operator that does so tells the ledger: work counts as steps, and large values stay on record for as
//! long as the template holds them.

use std::sync::Arc;

use minijinja::value::{DynObject, Tuple, Value, ValueIter, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::dict::Dict;
use super::fault::Excessive;
use super::generator::{self, Generator};
use super::limits::{Limits, NESTING};
use super::weight::{ITEM_BYTES, Weight};

/// Bytes that are copied or compared in the time of one step.
const BYTES_PER_STEP: usize = 256;

/// Smaller values are not recorded: the steps it takes to make many of them bound them.
const RECORDED: usize = 4096;

/// How many times the largest output a template may write in all, what it captures and drops included.
const PASSES: usize = 4;

/// How many times the largest output the recorded values may hold together.
const HELD: usize = 2;

#[derive(Default)]
struct Ledger {
    /// Bytes that were printed so far, captured or not.
    passed: usize,
    /// Work so far, in steps.
    worked: u64,
    held: Vec<Held>,
    /// What `held` weighs.
    bytes: usize,
}

/// A value on record; the template has dropped it when nobody else holds it.
struct Held {
    value: Owner,
    bytes: usize,
}

enum Owner {
    Text(Arc<str>),
    List(Arc<Vec<Value>>),
    Tuple(Arc<Tuple>),
}

impl Owner {
    fn of(value: &Value) -> Option<Self> {
        if value.kind() == ValueKind::String {
            return value.to_str().map(Self::Text);
        }
        let list = || value.downcast_object::<Vec<Value>>().map(Self::List);
        let tuple = || value.downcast_object::<Tuple>().map(Self::Tuple);
        list().or_else(tuple)
    }

    fn is_alone(&self) -> bool {
        match self {
            Self::Text(text) => Arc::strong_count(text) == 1,
            Self::List(list) => Arc::strong_count(list) == 1,
            Self::Tuple(tuple) => Arc::strong_count(tuple) == 1,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::List(list) => items_bytes(list.iter()),
            Self::Tuple(tuple) => items_bytes(tuple.iter()),
        }
    }
}

/// What items take, with small texts and lists of their own; those that are recorded themselves do not count twice.
fn items_bytes<'a>(items: impl Iterator<Item = &'a Value>) -> usize {
    let own = |item: &Value| match item.as_str() {
        Some(text) => text.len(),
        None if item.kind() == ValueKind::Seq => (2 + item.len().unwrap_or(0)) * ITEM_BYTES,
        None => 0,
    };
    items.map(|item| ITEM_BYTES + Some(own(item)).filter(|bytes| *bytes < RECORDED).unwrap_or(0)).sum()
}

fn ledger<'a>(state: &'a mut State<'_, '_>) -> &'a mut Ledger {
    state.get_or_insert_extension_with(Ledger::default)
}

/// Counts text on its way to the output or to where output is captured.
pub(super) fn pass(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    if bytes == 0 {
        return Ok(());
    }
    let most = limits.output_bytes.saturating_mul(PASSES);
    let ledger = ledger(state);
    ledger.passed = ledger.passed.saturating_add(bytes);
    match ledger.passed > most {
        true => Err(excess(format!("more than {most} bytes of text were captured or printed"))),
        false => Ok(()),
    }
}

/// Counts work on so many bytes.
pub(super) fn work(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    match bytes / BYTES_PER_STEP {
        0 => Ok(()),
        steps => spend(state, limits, steps as u64),
    }
}

/// Counts a search through so many bytes, which is slower than a copy.
pub(super) fn search(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    work(state, limits, bytes.saturating_mul(8))
}

/// Counts what takes a text character by character, which is slower still.
pub(super) fn characters(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    work(state, limits, bytes.saturating_mul(32))
}

/// Counts a way through all that a value holds.
pub(super) fn go_through(state: &mut State<'_, '_>, limits: Limits, value: &Value) -> Result<(), Error> {
    let bytes = match value.as_str() {
        Some(text) => text.len(),
        None => weigh(state, limits, value)?,
    };
    search(state, limits, bytes)
}

/// Counts steps; those that the engine has counted take from the same.
pub(super) fn spend(state: &mut State<'_, '_>, limits: Limits, steps: u64) -> Result<(), Error> {
    let left = state.fuel_levels().map_or(limits.steps, |(_, left)| left);
    let ledger = ledger(state);
    ledger.worked = ledger.worked.saturating_add(steps);
    match ledger.worked > left {
        true => Err(Error::from(ErrorKind::OutOfFuel)),
        false => Ok(()),
    }
}

/// Makes room for a value of so many bytes, before it is made.
pub(super) fn room(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    if bytes < RECORDED {
        return Ok(());
    }
    work(state, limits, bytes)?;
    let most = limits.output_bytes.saturating_mul(HELD);
    let ledger = ledger(state);
    if ledger.bytes.saturating_add(bytes) > most {
        ledger.held.retain(|held| !held.value.is_alone());
        ledger.bytes = ledger.held.iter().map(|held| held.bytes).sum();
    }
    match ledger.bytes.saturating_add(bytes) > most {
        true => Err(excess(format!("values take more than {most} bytes"))),
        false => Ok(()),
    }
}

/// Puts a new value on record.
pub(super) fn made(state: &mut State<'_, '_>, limits: Limits, value: Value) -> Result<Value, Error> {
    let is_small = match (value.as_str(), value.len()) {
        (Some(text), _) => text.len() < RECORDED,
        (None, length) => length.unwrap_or(0) * ITEM_BYTES < RECORDED,
    };
    if is_small {
        return Ok(value);
    }
    let Some(owner) = Owner::of(&value) else {
        return Ok(value);
    };
    let bytes = owner.bytes();
    room(state, limits, bytes)?;
    let ledger = ledger(state);
    ledger.held.push(Held { value: owner, bytes });
    ledger.bytes += bytes;
    Ok(value)
}

/// Weighs a value with all that it holds, before somebody goes through it.
pub(super) fn weigh(state: &mut State<'_, '_>, limits: Limits, value: &Value) -> Result<usize, Error> {
    let mut scale = Scale { left: limits.output_bytes, visits: 0 };
    let weighed = scale.weigh(value, 0);
    if scale.visits > 0 {
        spend(state, limits, scale.visits)?;
    }
    match weighed {
        Ok(()) => Ok(limits.output_bytes - scale.left),
        Err(Excess::Bytes) => {
            Err(excess(format!("a variable holds more than {} bytes", limits.output_bytes)))
        }
        Err(Excess::Depth) => Err(excess(format!("a variable nests deeper than {NESTING} levels"))),
    }
}

enum Excess {
    Bytes,
    Depth,
}

struct Scale {
    left: usize,
    visits: u64,
}

impl Scale {
    fn weigh(&mut self, value: &Value, depth: usize) -> Result<(), Excess> {
        if depth > NESTING {
            return Err(Excess::Depth);
        }
        match value.kind() {
            ValueKind::String => self.take(value.as_str().map_or(0, str::len)),
            ValueKind::Iterable if generator::is_generator(value) => self.generator(value),
            ValueKind::Seq | ValueKind::Iterable => self.items(value, depth),
            ValueKind::Map => self.fields(value, depth),
            _ => Ok(()),
        }
    }

    /// To look at the items would use them up; they were weighed when they were put in.
    fn generator(&mut self, value: &Value) -> Result<(), Excess> {
        let items = value.downcast_object_ref::<Generator>().map_or(0, Generator::left);
        self.take(items.saturating_mul(ITEM_BYTES))
    }

    /// An item that cannot be computed ends the list: whoever comes to use it gets the error.
    fn items(&mut self, list: &Value, depth: usize) -> Result<(), Excess> {
        for item in list.try_iter().into_iter().flat_map(ValueIter::checked).map_while(Result::ok) {
            self.visits += 1;
            self.take(ITEM_BYTES)?;
            self.weigh(&item, depth + 1)?;
        }
        Ok(())
    }

    fn fields(&mut self, map: &Value, depth: usize) -> Result<(), Excess> {
        if let Some(dict) = map.downcast_object_ref::<Dict>() {
            return self.known(dict.weight(), depth);
        }
        let pairs = map.as_object().and_then(DynObject::try_iter_pairs);
        for (key, value) in pairs.into_iter().flatten() {
            self.visits += 1;
            self.take(ITEM_BYTES)?;
            self.weigh(&key, depth + 1)?;
            self.weigh(&value, depth + 1)?;
        }
        Ok(())
    }

    fn known(&mut self, weight: Weight, depth: usize) -> Result<(), Excess> {
        if depth + weight.levels > NESTING {
            return Err(Excess::Depth);
        }
        self.visits += weight.visits;
        self.take(weight.bytes)
    }

    fn take(&mut self, bytes: usize) -> Result<(), Excess> {
        self.left = self.left.checked_sub(bytes).ok_or(Excess::Bytes)?;
        Ok(())
    }
}

/// The error of a template that would hold or print more than it may.
pub(super) fn excess(words: String) -> Error {
    refusal(words).with_source(Excessive)
}

pub(super) fn refusal(words: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, words)
}
