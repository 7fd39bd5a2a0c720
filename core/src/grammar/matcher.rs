//! What keeps a reply in a form: the traits of what enforces grammars. Knows no grammar's rules.

use std::fmt::Debug;
use std::sync::Arc;

use crate::Result;
use crate::grammar::Grammar;
use crate::tokenizer::{TokenId, Vocabulary};

/// Whether a reply may end where a [`Constraint`] stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It must go on.
    Open,
    /// It may end, and may go on.
    MayEnd,
    /// It must end: nothing can follow.
    Complete,
}

/// Keeps one reply in the form of a grammar, token by token.
///
/// # Contract
/// For each token: `mask`, then a draw among what is left, then `accept` of what was drawn. A mask allows the tokens
/// that end a reply where the grammar is complete, and nowhere else; those are not given to `accept`. It never allows
/// another control token unless the grammar names it. It depends on the accepted tokens alone.
pub trait Constraint: Send + Debug {
    /// Sets to minus infinity the logit of every token that must not come next.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) when a limit is reached, or no token of the
    /// vocabulary can go on.
    fn mask(&mut self, logits: &mut [f32]) -> Result<()>;

    /// Takes the token that was drawn.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a token that the mask forbids.
    fn accept(&mut self, token: TokenId) -> Result<()>;

    /// Says whether the reply may end here.
    ///
    /// # Errors
    /// As [`Constraint::mask`].
    fn progress(&mut self) -> Result<Progress>;

    /// Returns a constraint that stands where this one does, and goes on by itself.
    fn fork(&self) -> Box<dyn Constraint>;
}

/// Makes constraints for one vocabulary.
pub trait ConstraintCompiler: Send + Sync + Debug {
    /// Compiles a grammar; the constraint is for one reply.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for what cannot be enforced, by name, and for what
    /// is too large; [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for what is no grammar.
    fn compile(&self, grammar: &Grammar) -> Result<Box<dyn Constraint>>;
}

/// A way to enforce grammars.
pub trait Constraints: Send + Sync + Debug {
    /// Gets ready for a vocabulary: once for each model, however many replies follow.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a vocabulary that it cannot work with.
    fn prepare(&self, vocabulary: &Vocabulary) -> Result<Arc<dyn ConstraintCompiler>>;
}
