//! Checks on what a template holds, which the engine's own limits do not see.
//!
//! A few steps suffice to double a text until memory ends, or to nest lists until dropping them exhausts the
//! stack. Whatever feeds itself must pass through a variable, so [`super::source`] puts a call of [`NAME`] behind
//! every place that gives one a value. The same call counts the fixed text of a loop's or a macro's body, as
//! printing a value counts that value, because text that is captured (`{% set %}…{% endset %}`, a macro's result)
//! reaches no output whose size could be limited.
//!
//! What is left is a single expression: `[0] * 100000000` passes, at the engine's own limit of so many items.

use minijinja::value::{DynObject, Rest, Value, ValueIter, ValueKind};
use minijinja::{Error, ErrorKind, State};

use super::limits::{Limits, NESTING};

/// What templates call it; a name that no template of good will uses.
pub(super) const NAME: &str = "__alloquy_holds";

/// What a list or a map takes for each of its items, roughly.
const ITEM_BYTES: usize = 32;

/// How many times the largest output a template may write in all, what it captures and drops included.
const PASSES: usize = 8;

/// What a render has written so far, captured or not, in bytes.
struct Passed(usize);

/// Counts `body` bytes of fixed text and weighs `values`; false, so that it can stand in an empty `if`.
pub(super) fn holds(
    state: &mut State<'_, '_>,
    limits: Limits,
    body: usize,
    values: &Rest<Value>,
) -> Result<bool, Error> {
    pass(state, limits, body)?;
    for value in values.iter() {
        let mut left = limits.output_bytes;
        weigh(value, 0, &mut left).map_err(|excess| excess.into_error(limits))?;
    }
    Ok(false)
}

/// Counts text on its way to the output or to where output is captured.
pub(super) fn pass(state: &mut State<'_, '_>, limits: Limits, bytes: usize) -> Result<(), Error> {
    let most = limits.output_bytes.saturating_mul(PASSES);
    let passed = state.get_or_insert_extension(Passed(0));
    passed.0 = passed.0.saturating_add(bytes);
    match passed.0 > most {
        true => Err(refusal(format!("more than {most} bytes of text were captured or printed"))),
        false => Ok(()),
    }
}

enum Excess {
    Bytes,
    Depth,
}

impl Excess {
    fn into_error(self, limits: Limits) -> Error {
        refusal(match self {
            Self::Bytes => format!("a variable holds more than {} bytes", limits.output_bytes),
            Self::Depth => format!("a variable nests deeper than {NESTING} levels"),
        })
    }
}

fn weigh(value: &Value, depth: usize, left: &mut usize) -> Result<(), Excess> {
    if depth > NESTING {
        return Err(Excess::Depth);
    }
    match value.kind() {
        ValueKind::String => take(left, value.as_str().map_or(0, str::len)),
        ValueKind::Seq | ValueKind::Iterable => weigh_items(value, depth, left),
        ValueKind::Map => weigh_fields(value, depth, left),
        _ => Ok(()),
    }
}

/// An item that cannot be computed ends the list: whoever comes to use it gets the error.
fn weigh_items(list: &Value, depth: usize, left: &mut usize) -> Result<(), Excess> {
    for item in list.try_iter().into_iter().flat_map(ValueIter::checked).map_while(Result::ok) {
        take(left, ITEM_BYTES)?;
        weigh(&item, depth + 1, left)?;
    }
    Ok(())
}

fn weigh_fields(map: &Value, depth: usize, left: &mut usize) -> Result<(), Excess> {
    let pairs = map.as_object().and_then(DynObject::try_iter_pairs);
    for (key, value) in pairs.into_iter().flatten() {
        take(left, ITEM_BYTES)?;
        weigh(&key, depth + 1, left)?;
        weigh(&value, depth + 1, left)?;
    }
    Ok(())
}

fn take(left: &mut usize, bytes: usize) -> Result<(), Excess> {
    *left = left.checked_sub(bytes).ok_or(Excess::Bytes)?;
    Ok(())
}

fn refusal(words: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, words)
}
