//! The traits that enforce a grammar while a reply is generated.

use std::fmt::Debug;
use std::sync::Arc;

use crate::Result;
use crate::grammar::Grammar;
use crate::tokenizer::{TokenId, Vocabulary};

/// Whether a reply may end in the present state of a [`GrammarMatcher`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatcherState {
    /// It must continue.
    Open,
    /// It may end or continue.
    MayEnd,
    /// It must end: no token can follow.
    Complete,
}

/// Matches one reply against a grammar, token by token.
///
/// # Contract
/// For each token, the sampler calls `mask`, draws one of the allowed tokens, and calls `accept` with it. A mask allows
/// the end tokens where the grammar is complete, and only there; they are not given to `accept`. It never allows
/// another control token unless the grammar names it. It depends only on the accepted tokens.
pub trait GrammarMatcher: Send + Debug {
    /// Sets the logit of every token that must not come next to minus infinity.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if a limit is reached, or if no token of the
    /// vocabulary can follow.
    fn mask(&mut self, logits: &mut [f32]) -> Result<()>;

    /// Advances by the token that was drawn.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a token that the mask forbids.
    fn accept(&mut self, token: TokenId) -> Result<()>;

    /// Returns whether the reply may end here.
    ///
    /// # Errors
    /// As [`GrammarMatcher::mask`].
    fn progress(&mut self) -> Result<MatcherState>;

    /// Returns an independent copy in the same state.
    fn fork(&self) -> Box<dyn GrammarMatcher>;
}

/// Compiles grammars for one vocabulary.
pub trait GrammarCompiler: Send + Sync + Debug {
    /// Compiles a grammar into the constraint of one reply.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a feature that cannot be enforced, which is named,
    /// and for a grammar that is too large; [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a text that is not a
    /// grammar.
    fn compile(&self, grammar: &Grammar) -> Result<Box<dyn GrammarMatcher>>;
}

/// A way to enforce grammars.
pub trait GrammarEngine: Send + Sync + Debug {
    /// Prepares for a vocabulary: once per model, for any number of replies.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a vocabulary that it cannot work with.
    fn prepare(&self, vocabulary: &Vocabulary) -> Result<Arc<dyn GrammarCompiler>>;
}
