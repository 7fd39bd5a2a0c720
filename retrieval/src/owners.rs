//! A value of each owner.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use alloquy_core::Owner;

/// The values of owners. An owner who has none has the default one.
#[derive(Debug, Default)]
pub(crate) struct Owners<T> {
    values: RwLock<HashMap<Owner, T>>,
    none: T,
}

impl<T: Default> Owners<T> {
    pub(crate) fn read<R>(&self, owner: &Owner, read: impl FnOnce(&T) -> R) -> R {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        read(values.get(owner).unwrap_or(&self.none))
    }

    pub(crate) fn change<R>(&self, owner: &Owner, change: impl FnOnce(&mut T) -> R) -> R {
        let mut values = self.values.write().unwrap_or_else(PoisonError::into_inner);
        change(values.entry(owner.clone()).or_default())
    }
}
