//! The check of what a template's variables hold.
//!
//! Whatever feeds itself must pass through a variable, so [`super::source`] puts a call of [`NAME`] behind every place
//! that gives one a value. The same call counts the fixed text of a loop's or a macro's body, as printing a value
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
        ledger::weigh(state, limits, value)?;
        // Captured text becomes a value here.
        if value.kind() == ValueKind::String {
            ledger::made(state, limits, value.clone())?;
        }
    }
    Ok(false)
}
