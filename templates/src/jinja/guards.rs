//! Checks the size of a template's variables.
//!
//! A value can only grow without bound by way of a variable, as in `{% set x = x + x %}`. So [`super::source`] adds the filter
//! [`NAME`] after every assignment.
//!
//! The filter also counts the fixed text of the body of a loop or macro. Captured text (`{% set %}…{% endset %}`, the result of
//! a macro) does not reach the output, whose size is limited.

use minijinja::value::{Rest, Value, ValueKind};
use minijinja::{Error, State};

use super::ledger;
use super::limits::Limits;

/// The name of the filter, which no ordinary template uses.
pub(super) const NAME: &str = "__alloquy_holds";

/// Counts `body` bytes of fixed text and weighs `values`. Returns false, so that it can be the condition of an empty `if`.
pub(super) fn holds(
    state: &mut State<'_, '_>,
    limits: Limits,
    body: usize,
    values: &Rest<Value>,
) -> Result<bool, Error> {
    ledger::pass(state, limits, body)?;
    for value in values.iter() {
        check(state, limits, value)?;
    }
    Ok(false)
}

/// Weighs the value of a variable.
pub(super) fn check(state: &mut State<'_, '_>, limits: Limits, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None | ValueKind::Bool | ValueKind::Number => Ok(()),
        // Captured text becomes a value here.
        ValueKind::String => {
            ledger::weigh(state, limits, value)?;
            ledger::record(state, limits, value.clone()).map(drop)
        }
        _ => ledger::weigh(state, limits, value).map(drop),
    }
}
