//! Python's generators, which `map`, `select` and similar filters return.
//!
//! They can be iterated once, are true even when they are empty, and have neither a length nor a JSON form.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Error;
use minijinja::value::{Enumerator, Object, ObjectRepr, Value};

#[derive(Debug)]
pub(super) struct Generator {
    /// Empty after the first iteration.
    items: Mutex<Arc<Vec<Value>>>,
}

impl Generator {
    /// Returns a generator of the items of `list`.
    pub(super) fn over(list: &Value) -> Result<Value, Error> {
        let items = match list.downcast_object() {
            Some(items) => items,
            None => Arc::new(list.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?),
        };
        Ok(Value::from_object(Self { items: Mutex::new(items) }))
    }

    /// Returns how many items are left.
    pub(super) fn left(&self) -> usize {
        self.items.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Object for Generator {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Iterable
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let items = std::mem::take(&mut *self.items.lock().unwrap_or_else(PoisonError::into_inner));
        Enumerator::Iter(Box::new(Unsized { items, next: 0 }))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        None
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    fn render(self: &Arc<Self>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("<generator object>")
    }
}

/// An iterator without a size hint, as a generator has no length.
struct Unsized {
    items: Arc<Vec<Value>>,
    next: usize,
}

impl Iterator for Unsized {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let item = self.items.get(self.next).cloned()?;
        self.next += 1;
        Some(item)
    }
}

/// Returns whether a value is a generator.
pub(super) fn is_generator(value: &Value) -> bool {
    value.downcast_object_ref::<Generator>().is_some()
}
