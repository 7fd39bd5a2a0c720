//! Counts the work and the memory of a render that the engine does not count.
//!
//! The engine counts its own steps, but a single step may copy, compare or build any amount of data. Every filter, method and
//! operator that does so records it here. Work counts as steps. Large values are recorded while the template holds them.

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

/// Values of fewer bytes are not recorded: the limit for steps limits their number.
const RECORDED: usize = 4096;

/// A template may print and capture this many times the largest output in all.
const PASSES: usize = 4;

/// The recorded values may have this many times the largest output together.
const HELD: usize = 2;

#[derive(Default)]
struct Ledger {
    /// Bytes that were printed or captured so far.
    passed: usize,
    /// Work so far, in steps.
    worked: u64,
    held: Vec<Held>,
    /// The bytes of all values in `held`.
    bytes: usize,
}

/// A recorded value. The template has dropped it when the ledger is its only owner.
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
        if let Some(list) = value.downcast_object::<Vec<Value>>() {
            return Some(Self::List(list));
        }
        value.downcast_object::<Tuple>().map(Self::Tuple)
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

/// Returns the bytes of items, with their small texts and lists. Large ones are recorded themselves and do not count twice.
fn items_bytes<'a>(items: impl Iterator<Item = &'a Value>) -> usize {
    let mut bytes = 0;
    for item in items {
        let own = match item.as_str() {
            Some(text) => text.len(),
            None if item.kind() == ValueKind::Seq => (2 + item.len().unwrap_or(0)) * ITEM_BYTES,
            None => 0,
        };
        bytes += ITEM_BYTES;
        if own < RECORDED {
            bytes += own;
        }
    }
    bytes
}

fn ledger<'a>(state: &'a mut State<'_, '_>) -> &'a mut Ledger {
    state.get_or_insert_extension_with(Ledger::default)
}

/// Counts text that is printed or captured.
pub(super) fn pass(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    if bytes == 0 {
        return Ok(());
    }
    let limit = limits.output_bytes.saturating_mul(PASSES);
    let ledger = ledger(state);
    ledger.passed = ledger.passed.saturating_add(bytes);
    if ledger.passed > limit {
        Err(excess(format!("more than {limit} bytes of text were captured or printed")))
    } else {
        Ok(())
    }
}

/// Counts work on `bytes`.
pub(super) fn work(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    match bytes / BYTES_PER_STEP {
        0 => Ok(()),
        steps => spend(state, limits, steps as u64),
    }
}

/// Counts a search through `bytes`, which is slower than a copy.
pub(super) fn search(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    work(state, limits, bytes.saturating_mul(8))
}

/// Counts work on each character of `bytes`, which is slower than a search.
pub(super) fn characters(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    work(state, limits, bytes.saturating_mul(32))
}

/// Counts a search through a whole value.
pub(super) fn scan(state: &mut State<'_, '_>, limits: Limits, value: &Value) -> Result<(), Error> {
    let bytes = match value.as_str() {
        Some(text) => text.len(),
        None => weigh(state, limits, value)?,
    };
    search(state, limits, bytes)
}

/// Counts steps, which share their limit with those of the engine.
pub(super) fn spend(state: &mut State<'_, '_>, limits: Limits, steps: u64) -> Result<(), Error> {
    let left = state.fuel_levels().map_or(limits.steps, |(_, left)| left);
    let ledger = ledger(state);
    ledger.worked = ledger.worked.saturating_add(steps);
    if ledger.worked > left { Err(Error::from(ErrorKind::OutOfFuel)) } else { Ok(()) }
}

/// Checks that there is room for a value of `bytes`, before it is created.
pub(super) fn reserve(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    if bytes < RECORDED {
        return Ok(());
    }
    work(state, limits, bytes)?;
    let limit = limits.output_bytes.saturating_mul(HELD);
    let ledger = ledger(state);
    if ledger.bytes.saturating_add(bytes) > limit {
        // Forget the values that the template has dropped since.
        ledger.held.retain(|held| !held.value.is_alone());
        ledger.bytes = ledger.held.iter().map(|held| held.bytes).sum();
    }
    if ledger.bytes.saturating_add(bytes) > limit {
        Err(excess(format!("values take more than {limit} bytes")))
    } else {
        Ok(())
    }
}

/// Records a new value if it is large.
pub(super) fn record(state: &mut State<'_, '_>, limits: Limits, value: Value) -> Result<Value, Error> {
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
    reserve(state, limits, bytes)?;
    let ledger = ledger(state);
    ledger.held.push(Held { value: owner, bytes });
    ledger.bytes += bytes;
    Ok(value)
}

/// Returns the bytes of a value with all that it contains, and counts the steps to find out.
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

    /// Weighs a generator by its number of items. Reading them would use them up, and they were weighed before.
    fn generator(&mut self, value: &Value) -> Result<(), Excess> {
        let items = value.downcast_object_ref::<Generator>().map_or(0, Generator::left);
        self.take(items.saturating_mul(ITEM_BYTES))
    }

    /// Weighs the items of a list. An item that cannot be computed ends it; using that item reports the error.
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

/// Returns the error of a template that exceeds a limit for memory or output.
pub(super) fn excess(message: String) -> Error {
    refusal(message).with_source(Excessive)
}

pub(super) fn refusal(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
