//! The arguments of a filter, by position or by name as in Python.

use minijinja::value::{Kwargs, Rest, Value, ValueOrKwargs};
use minijinja::{Error, ErrorKind};

pub(super) struct Arguments {
    positional: Vec<Value>,
    named: Option<Kwargs>,
}

impl Arguments {
    pub(super) fn new(arguments: Rest<ValueOrKwargs>) -> Self {
        Self::of(arguments.into_values())
    }

    /// Reads all arguments of a call. Those by name are the last value.
    pub(super) fn of(mut positional: Vec<Value>) -> Self {
        let named = positional.pop_if(|last| last.is_kwargs());
        Self { positional, named: named.and_then(|named| Kwargs::try_from(named).ok()) }
    }

    /// Returns the argument at `position`, called `name`.
    pub(super) fn get(&self, position: usize, name: &str) -> Result<Option<Value>, Error> {
        match (self.positional.get(position), &self.named) {
            (Some(value), _) => Ok(Some(value.clone())),
            (None, Some(named)) => named.get(name),
            (None, None) => Ok(None),
        }
    }

    /// Returns whether the argument is given and true.
    pub(super) fn is_true(&self, position: usize, name: &str) -> Result<bool, Error> {
        Ok(self.get(position, name)?.is_some_and(|value| value.is_true()))
    }

    /// Refuses arguments after the first `known`, and names that were not read with [`get`](Self::get).
    pub(super) fn finish(self, known: usize) -> Result<(), Error> {
        if self.positional.len() > known {
            return Err(Error::from(ErrorKind::TooManyArguments));
        }
        match self.named {
            Some(named) => named.assert_all_used(),
            None => Ok(()),
        }
    }
}
