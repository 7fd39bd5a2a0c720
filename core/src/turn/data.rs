//! The values that a host passes to the middleware and the tools of a turn. They are never stored.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Values of the host's own types for the middleware and the tools of one turn, one of each type: the user, a
/// connection, a counter. Neither the model nor the store sees them.
///
/// A value that changes during the turn needs its own lock.
///
/// ```
/// use alloquy_core::turn::TurnData;
///
/// struct User(&'static str);
///
/// let data = TurnData::default().with(User("ann"));
/// assert_eq!(data.get::<User>().map(|user| user.0), Some("ann"));
/// assert!(data.get::<u64>().is_none());
/// ```
#[derive(Clone, Default)]
pub struct TurnData(HashMap<TypeId, (&'static str, Arc<dyn Any + Send + Sync>)>);

impl TurnData {
    /// Adds a value; it replaces another one of its type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.0.insert(TypeId::of::<T>(), (std::any::type_name::<T>(), Arc::new(value)));
        self
    }

    /// Returns the value of a type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.1.downcast_ref()
    }
}

impl fmt::Debug for TurnData {
    /// Prints the types but no values, which may be secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.0.values().map(|(name, _)| name).collect();
        names.sort_unstable();
        formatter.debug_tuple("TurnData").field(&names).finish()
    }
}
