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
/// ```
/// use alloquy_core::grammar::{GrammarMatcher, MatcherState};
/// use alloquy_core::tokenizer::TokenId;
/// use alloquy_core::{Error, ErrorKind, Result};
///
/// /// Allows these tokens in their order, and then the end token.
/// #[derive(Clone, Debug)]
/// struct Exactly {
///     tokens: Vec<TokenId>,
///     end: TokenId,
/// }
///
/// impl GrammarMatcher for Exactly {
///     fn mask(&mut self, logits: &mut [f32]) -> Result<()> {
///         let next = self.tokens.first().copied().unwrap_or(self.end);
///         for (token, logit) in (0..).zip(logits) {
///             if token != next {
///                 *logit = f32::NEG_INFINITY;
///             }
///         }
///         Ok(())
///     }
///
///     fn accept(&mut self, token: TokenId) -> Result<()> {
///         if self.tokens.first() != Some(&token) {
///             return Err(Error::new(ErrorKind::Invalid, format!("token {token} is not allowed here")));
///         }
///         self.tokens.remove(0);
///         Ok(())
///     }
///
///     fn progress(&mut self) -> Result<MatcherState> {
///         Ok(if self.tokens.is_empty() { MatcherState::Complete } else { MatcherState::Open })
///     }
///
///     fn fork(&self) -> Box<dyn GrammarMatcher> {
///         Box::new(self.clone())
///     }
/// }
///
/// let mut matcher = Exactly { tokens: vec![1], end: 2 };
/// let mut logits = [0.5_f32; 3];
/// matcher.mask(&mut logits)?;
/// assert_eq!(logits, [f32::NEG_INFINITY, 0.5, f32::NEG_INFINITY]);
/// matcher.accept(1)?;
/// assert_eq!(matcher.progress()?, MatcherState::Complete);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
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
///
/// A [`GrammarEngine`] creates it.
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
///
/// ```
/// use alloquy_core::grammar::{Grammar, GrammarCompiler, GrammarEngine, GrammarMatcher};
/// use alloquy_core::tokenizer::Vocabulary;
/// use alloquy_core::{Error, ErrorKind, Result};
/// use std::sync::Arc;
///
/// /// Enforces JSON schemas with another engine, and refuses every other grammar.
/// #[derive(Debug)]
/// struct SchemasOnly<T>(T);
///
/// impl<E: GrammarEngine> GrammarEngine for SchemasOnly<E> {
///     fn prepare(&self, vocabulary: &Vocabulary) -> Result<Arc<dyn GrammarCompiler>> {
///         Ok(Arc::new(SchemasOnly(self.0.prepare(vocabulary)?)))
///     }
/// }
///
/// impl GrammarCompiler for SchemasOnly<Arc<dyn GrammarCompiler>> {
///     fn compile(&self, grammar: &Grammar) -> Result<Box<dyn GrammarMatcher>> {
///         match grammar {
///             Grammar::JsonSchema(_) => self.0.compile(grammar),
///             other => Err(Error::new(ErrorKind::Unsupported, format!("{other:?} is not a JSON schema"))),
///         }
///     }
/// }
/// ```
pub trait GrammarEngine: Send + Sync + Debug {
    /// Prepares for a vocabulary: once per model, for any number of replies.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a vocabulary that it cannot work with.
    fn prepare(&self, vocabulary: &Vocabulary) -> Result<Arc<dyn GrammarCompiler>>;
}
