//! Which setting decides what becomes of a conversation that outgrows the context.

use alloquy::ModelBuilder;

use crate::arguments::{ContextArguments, ContextPolicy};
use crate::settings::{Origin, Settings};

impl ContextArguments {
    /// Returns the policy that was asked for by either of the two, and by which: the one that was said more strongly, or else
    /// the policy.
    pub(crate) fn asked(&self, settings: &Settings) -> Option<(ContextPolicy, Origin)> {
        let policy = self.context_policy.map(|policy| (policy, settings.origin("context-policy")));
        let shift = self.context_shift.map(|shift| (shift.into(), settings.origin("context-shift")));
        policy.into_iter().chain(shift).min_by_key(|(_, origin)| *origin)
    }

    /// Adds the policy to a model, where one was asked for.
    pub(crate) fn added_to(&self, builder: ModelBuilder, settings: &Settings) -> ModelBuilder {
        match self.asked(settings) {
            Some((policy, _)) => builder.context_policy(policy.into()),
            None => builder,
        }
    }
}
