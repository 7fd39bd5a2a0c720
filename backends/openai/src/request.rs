//! What is requested, whichever server gets it.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloquy_core::grammar::Grammar;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ErrorKind, Result, SamplingOptions};

use crate::description::RemoteDescription;
use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::health::blames_server;
use crate::memory::CacheSpace;
use crate::wire::{Adapter, Ask};

/// How requests name an adapter, by the address of the server.
pub(crate) type Adapters = BTreeMap<String, Adapter>;

/// A request before a server is chosen for it.
#[derive(Clone, Debug)]
pub(crate) struct RemoteRequest {
    pub(crate) prompt: Vec<TokenId>,
    /// How many tokens at the end of the prompt are of the reply already.
    pub(crate) replied: usize,
    pub(crate) sampling: SamplingOptions,
    /// At least 1.
    pub(crate) max_tokens: usize,
    /// `None` is greedy.
    pub(crate) seed: Option<u64>,
    pub(crate) stop: Vec<TokenId>,
    pub(crate) banned: Vec<TokenId>,
    pub(crate) biases: Vec<(TokenId, f32)>,
    pub(crate) grammar: Option<Grammar>,
    pub(crate) space: CacheSpace,
    pub(crate) adapters: Option<Arc<Adapters>>,
    pub(crate) priority: Option<i32>,
}

impl RemoteRequest {
    /// Writes the request for a server.
    ///
    /// # Errors
    /// [`alloquy_core::ErrorKind::Unsupported`] for a grammar that its dialect cannot express.
    pub(crate) fn body(&self, server: &RemoteDescription) -> Result<String> {
        let ask = self.ask(self.model(server), &self.prompt, self.adapter(server));
        Ok(server.dialect.body(&ask)?.to_string())
    }

    /// Returns the name of the model at a server. Most servers have a name for each adapter.
    pub(crate) fn model<'a>(&'a self, server: &'a RemoteDescription) -> &'a str {
        match self.adapter(server) {
            Some(Adapter::Model(name)) => name,
            _ => &server.model,
        }
    }

    /// Returns how a server names the adapter, if one is requested.
    fn adapter(&self, server: &RemoteDescription) -> Option<&Adapter> {
        self.adapters.as_ref()?.get(&server.url)
    }

    /// Returns whether a fault is the server's and not this request's, so that another server may do better. An adapter that is gone
    /// is no failure of the server, which serves others.
    pub(crate) fn blames_server(&self, fault: &Fault) -> bool {
        let is_adapter_gone = self.adapters.is_some() && fault.error.kind() == ErrorKind::NotFound;
        blames_server(fault) && !is_adapter_gone
    }

    /// Returns whether a server has the adapter, if one is requested.
    pub(crate) fn is_for(&self, address: &str) -> bool {
        self.adapters.as_ref().is_none_or(|adapters| adapters.contains_key(address))
    }

    /// Checks that a dialect has what is requested.
    ///
    /// # Errors
    /// As [`RemoteRequest::body`].
    pub(crate) fn check(&self, dialect: Dialect) -> Result<()> {
        if self.grammar.is_some() {
            dialect.body(&self.ask("", &[], None))?;
        }
        Ok(())
    }

    fn ask<'a>(&'a self, model: &'a str, prompt: &'a [TokenId], adapter: Option<&'a Adapter>) -> Ask<'a> {
        Ask {
            model,
            prompt,
            replied: self.replied.min(prompt.len()),
            adapter,
            sampling: &self.sampling,
            max_tokens: self.max_tokens,
            seed: self.seed,
            stop: &self.stop,
            banned: &self.banned,
            biases: &self.biases,
            grammar: self.grammar.as_ref(),
            salt: self.space.salt.as_deref(),
            priority: self.priority,
        }
    }
}
