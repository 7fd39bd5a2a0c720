//! Python's ranges, which print as `range(0, 3)`.

use std::fmt;
use std::sync::Arc;

use minijinja::Error;
use minijinja::value::{Enumerator, Object, ObjectRepr, Value};

use super::ledger::refusal;

/// The longest range, as in Jinja2's sandbox.
const MAX_ITEMS: i64 = 100_000;

#[derive(Debug)]
struct Range {
    start: i64,
    stop: i64,
    step: i64,
    items: usize,
}

/// `range(stop)` or `range(start, stop, step=1)`.
pub(super) fn new(first: i64, stop: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let (start, stop) = stop.map_or((0, first), |stop| (first, stop));
    let step = step.unwrap_or(1);
    let (span, stride) = match step {
        0 => return Err(refusal("range() arg 3 must not be zero".to_owned())),
        1.. => (i128::from(stop) - i128::from(start), i128::from(step)),
        _ => (i128::from(start) - i128::from(stop), -i128::from(step)),
    };
    let items = if span > 0 { (span + stride - 1) / stride } else { 0 };
    match usize::try_from(items).ok().filter(|_| items <= i128::from(MAX_ITEMS)) {
        Some(items) => Ok(Value::from_object(Range { start, stop, step, items })),
        None => Err(refusal(format!("range has {items} items, more than the {MAX_ITEMS} allowed"))),
    }
}

/// Returns whether a value is a range.
pub(super) fn is_range(value: &Value) -> bool {
    value.downcast_object_ref::<Range>().is_some()
}

impl Object for Range {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let index = key.as_usize().filter(|index| *index < self.items)?;
        Some(Value::from(self.start + i64::try_from(index).ok()? * self.step))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.items)
    }

    fn render(self: &Arc<Self>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            1 => write!(formatter, "range({}, {})", self.start, self.stop),
            step => write!(formatter, "range({}, {}, {step})", self.start, self.stop),
        }
    }
}
