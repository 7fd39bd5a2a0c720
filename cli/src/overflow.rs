//! The setting for conversations that exceed the context.

use alloquy::ModelBuilder;

use crate::arguments::ContextArguments;

impl ContextArguments {
    /// Adds the policy to a model, where one is set.
    pub(crate) fn added_to(&self, builder: ModelBuilder) -> ModelBuilder {
        match self.context_policy {
            Some(policy) => builder.context_policy(policy.into()),
            None => builder,
        }
    }
}
