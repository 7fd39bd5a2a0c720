//! What is requested, whichever server gets it.

use std::sync::Arc;

use alloquy_core::grammar::Grammar;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Result, SamplingOptions};

use crate::description::RemoteDescription;
use crate::dialect::Dialect;
use crate::wire::Ask;

/// A request before a server is chosen for it.
#[derive(Clone, Debug)]
pub(crate) struct RemoteRequest {
    pub(crate) prompt: Vec<TokenId>,
    pub(crate) sampling: SamplingOptions,
    /// At least 1.
    pub(crate) max_tokens: usize,
    /// `None` is greedy.
    pub(crate) seed: Option<u64>,
    pub(crate) stop: Vec<TokenId>,
    pub(crate) banned: Vec<TokenId>,
    pub(crate) biases: Vec<(TokenId, f32)>,
    pub(crate) grammar: Option<Grammar>,
    pub(crate) salt: Option<Arc<str>>,
    pub(crate) priority: Option<i32>,
}

impl RemoteRequest {
    /// Writes the request for a server.
    ///
    /// # Errors
    /// [`alloquy_core::ErrorKind::Unsupported`] for a grammar that its dialect cannot express.
    pub(crate) fn body(&self, server: &RemoteDescription) -> Result<String> {
        Ok(server.dialect.body(&self.ask(&server.model, &self.prompt))?.to_string())
    }

    /// Checks that a dialect has what is requested.
    ///
    /// # Errors
    /// As [`RemoteRequest::body`].
    pub(crate) fn check(&self, dialect: Dialect) -> Result<()> {
        if self.grammar.is_some() {
            dialect.body(&self.ask("", &[]))?;
        }
        Ok(())
    }

    fn ask<'a>(&'a self, model: &'a str, prompt: &'a [TokenId]) -> Ask<'a> {
        Ask {
            model,
            prompt,
            sampling: &self.sampling,
            max_tokens: self.max_tokens,
            seed: self.seed,
            stop: &self.stop,
            banned: &self.banned,
            biases: &self.biases,
            grammar: self.grammar.as_ref(),
            salt: self.salt.as_deref(),
            priority: self.priority,
        }
    }
}
