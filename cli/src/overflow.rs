//! Which setting decides what becomes of a conversation that outgrows the context.

use alloquy::ModelBuilder;

use crate::arguments::ContextArguments;

impl ContextArguments {
    /// Adds the policy to a model, where one was asked for.
    pub(crate) fn added_to(&self, builder: ModelBuilder) -> ModelBuilder {
        match self.context_policy {
            Some(policy) => builder.context_policy(policy.into()),
            None => builder,
        }
    }
}
