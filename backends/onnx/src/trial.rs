//! Tries an execution provider: loads the decoder for it, and computes some tokens.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::Result;
use alloquy_core::media::Digest;

use crate::decoder::Decoder;
use crate::graphs::Graphs;
use crate::identity::GraphRuntime;
use crate::profile::Profile;
use crate::prompt_logits::{DecoderGraph, LoadedDecoder};
use crate::provider_trial::{CpuShare, ProviderChoice, ProviderSpeed, choose, measure};
use crate::providers::{Providers, available, fastest_first};
use crate::runtime::loaded_version;
use crate::session::OnnxSession;
use crate::source::Parts;

/// What a trial of a provider needs.
pub(crate) struct Trial<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) digests: &'a [Digest],
    pub(crate) loading: &'a Graphs<'a>,
    /// How many tokens of a prompt are computed at once.
    pub(crate) chunk: usize,
}

impl Trial<'_> {
    /// Replaces `auto` by the fastest provider, and returns why; `None` where the caller named providers.
    pub(crate) fn choose(&self, providers: &mut Providers) -> Result<Option<ProviderChoice>> {
        if !providers.is_auto() {
            return Ok(None);
        }
        let choice = choose(&fastest_first(), &available(), |provider| self.speed(provider))?;
        *providers = Providers::first(&choice.provider);
        Ok(Some(choice))
    }

    /// Loads the decoder for a provider and computes some tokens. Nothing is kept.
    pub(crate) fn speed(&self, provider: &str) -> Result<ProviderSpeed> {
        let started = Instant::now();
        let (mut session, decoder) = self.session(provider, None)?;
        let load = started.elapsed();
        measure(&mut session, load, decoder.layout.vocabulary, decoder.cache_location.clone())
    }

    /// Counts the nodes of the graph that a provider leaves to the processor.
    pub(crate) fn share_of_cpu(&self, provider: &str) -> Result<CpuShare> {
        let profile = Profile::new()?;
        let (mut session, decoder) = self.session(provider, Some(&profile))?;
        measure(&mut session, Duration::ZERO, decoder.layout.vocabulary, decoder.cache_location.clone())?;
        // The profile is whole once the session of ONNX Runtime is closed.
        drop(session);
        drop(decoder);
        profile.share_of_cpu()
    }

    /// Opens a session of the decoder.
    fn session(&self, provider: &str, profile: Option<&Profile>) -> Result<(OnnxSession, Arc<Decoder>)> {
        let version = loaded_version()?;
        let graph = DecoderGraph::new(self.parts, self.digests, self.loading.optimization)?;
        let loaded = Providers::first(provider).load(|provider, registered| {
            let ran = GraphRuntime { provider, version: &version, optimization: self.loading.optimization };
            let mut loading = self.loading.with(registered);
            loading.profile = profile.map(Profile::path);
            graph.load(None, ran, &loading)
        })?;
        let LoadedDecoder { session, .. } = loaded.loaded;
        let (decoder, _) = self.loading.decoder(session, &loaded.provider, self.parts)?;
        let decoder = Arc::new(decoder);
        Ok((OnnxSession::new(Arc::clone(&decoder), None, self.chunk)?, decoder))
    }
}
