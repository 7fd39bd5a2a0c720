//! The check of what a template's variables hold.
//!
//! Whatever feeds itself must pass through a variable, so [`super::source`] puts the filter [`NAME`] behind every place
//! that gives one a value. The same filter counts the fixed text of a loop's or a macro's body, as printing a value
//! counts that value, because text that is captured (`{% set %}…{% endset %}`, a macro's result) reaches no output
//! whose size could be limited.

use minijinja::value::{Rest, Value, ValueKind};
use minijinja::{Error, State};

use super::ledger;
use super::limits::Limits;

/// What templates call it; a name that no template of good will uses.
pub(super) const NAME: &str = "__alloquy_holds";

/// Counts `body` bytes of fixed text and weighs `values`; false, so that it can stand in an empty `if`.
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

/// Weighs what a variable holds or is to hold.
pub(super) fn check(state: &mut State<'_, '_>, limits: Limits, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None | ValueKind::Bool | ValueKind::Number => Ok(()),
        // Captured text becomes a value here.
        ValueKind::String => {
            ledger::weigh(state, limits, value)?;
            ledger::made(state, limits, value.clone()).map(drop)
        }
        _ => ledger::weigh(state, limits, value).map(drop),
    }
}
