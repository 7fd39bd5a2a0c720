//! The setting for conversations that exceed the context.

use alloquy::ModelBuilder;
use alloquy::core::{Error, ErrorKind, Result};

use crate::arguments::{ContextArguments, ContextPolicy};

impl ContextArguments {
    /// Adds the policy to a model, where one is set.
    pub(crate) fn added_to(&self, builder: ModelBuilder) -> ModelBuilder {
        match self.context_policy {
            Some(policy) => builder.context_policy(policy.into()),
            None => builder,
        }
    }

    /// Checks that a chat endpoint has the policy: it counts no tokens before it is asked.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a policy that shortens conversations.
    pub(crate) fn check_endpoint(&self) -> Result<()> {
        if matches!(self.context_policy, None | Some(ContextPolicy::Error)) {
            return Ok(());
        }
        let message = "--context-policy shortens conversations by their tokens, which a chat endpoint does not show: leave it \
                       out, or leave --remote-chat out and name the folder of the server's model with --model";
        Err(Error::new(ErrorKind::Invalid, message))
    }
}
