//! What a session of a test holds: units, up to a context's length.

use crate::cancel::Cancel;
use crate::prompt::Unit;
use crate::{Error, ErrorKind, Result};

/// The units that a session holds, taken and cut back as every session must.
#[derive(Clone, Debug)]
pub(super) struct Resident {
    pub(super) units: Vec<Unit>,
    context: usize,
}

impl Resident {
    /// Holds nothing yet.
    pub(super) fn new(context: usize) -> Self {
        Self { units: Vec::new(), context }
    }

    /// Takes units, one by one until it is cancelled; `each` is called for each of them.
    pub(super) fn take(&mut self, units: &[Unit], cancel: &Cancel, mut each: impl FnMut()) -> Result<()> {
        if units.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "no units to forward"));
        }
        let length = self.units.len() + units.len();
        if length > self.context {
            let message = format!("{length} units do not fit into {}", self.context);
            return Err(Error::new(ErrorKind::ContextOverflow, message));
        }
        for unit in units {
            cancel.check()?;
            self.units.push(unit.clone());
            each();
        }
        Ok(())
    }

    /// Keeps the first `length` units, and returns how many those are.
    pub(super) fn truncate(&mut self, length: usize) -> usize {
        self.units.truncate(length);
        self.units.len()
    }
}
