//! The arguments of a filter, each by position or by name as in Python.

use minijinja::value::{Kwargs, Rest, Value};
use minijinja::{Error, ErrorKind};

pub(super) struct Arguments {
    positional: Rest<Value>,
    named: Kwargs,
}

impl Arguments {
    pub(super) fn new(positional: Rest<Value>, named: Kwargs) -> Self {
        Self { positional, named }
    }

    /// Returns the argument at `position`, called `name`.
    pub(super) fn get(&self, position: usize, name: &str) -> Result<Option<Value>, Error> {
        match self.positional.get(position) {
            Some(value) => Ok(Some(value.clone())),
            None => self.named.get(name),
        }
    }

    /// Returns whether the argument is there and true.
    pub(super) fn is_true(&self, position: usize, name: &str) -> Result<bool, Error> {
        Ok(self.get(position, name)?.is_some_and(|value| value.is_true()))
    }

    /// Refuses arguments beyond the first `known` and by other names than those asked for.
    pub(super) fn finish(self, known: usize) -> Result<(), Error> {
        match self.positional.len() > known {
            true => Err(Error::from(ErrorKind::TooManyArguments)),
            false => self.named.assert_all_used(),
        }
    }
}
