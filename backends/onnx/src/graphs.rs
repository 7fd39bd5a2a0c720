//! Loads the graphs of a model: the decoder, the embeddings where it needs them, and the encoders.

use alloquy_core::Result;
use alloquy_model_files::context_length;
use ort::environment::Environment;
use ort::ep::ExecutionProviderDispatch;
use ort::session::Session;

use crate::adapter::Adapter;
use crate::decoder::{self, Decoder, Loading, Threads};
use crate::embedder::Embedder;
use crate::error::unsupported;
use crate::graph_optimization::GraphOptimization;
use crate::identity::{OtherGraph, graph_digests};
use crate::layout::{CacheKind, Layout};
use crate::providers::{CPU, Loaded, Providers};
use crate::source::{Part, Parts};

/// The settings with which all graphs of a model are loaded.
#[derive(Clone, Copy)]
pub(crate) struct Graphs<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) threads: Threads,
    pub(crate) optimization: GraphOptimization,
}

/// A loaded graph other than the decoder's.
#[derive(Debug)]
pub(crate) struct LoadedGraph<'a> {
    /// What it is for.
    pub(crate) name: &'static str,
    pub(crate) part: &'a Part,
    pub(crate) provider: String,
}

impl LoadedGraph<'_> {
    /// Returns its part of the model's identity.
    pub(crate) fn identified(self) -> Result<OtherGraph> {
        Ok(OtherGraph { name: self.name, digests: graph_digests(self.part)?, provider: self.provider })
    }
}

impl<'a> Graphs<'a> {
    /// Returns the settings for some providers.
    pub(crate) fn with(&'a self, providers: &'a [ExecutionProviderDispatch]) -> Loading<'a> {
        let Self { environment, threads, optimization } = *self;
        Loading { environment, providers, threads, optimization, written: None, profile: None }
    }

    /// Loads a graph for the first of the providers that can.
    pub(crate) fn load(&self, part: &Part, providers: &Providers) -> Result<Loaded<Session>> {
        providers.load(|_, registered| decoder::load(&part.graph, &self.with(registered)))
    }

    /// Makes a decoder of its loaded graph, with the graph of embeddings where it takes embeddings.
    pub(crate) fn decoder<'p>(
        &self,
        session: Session,
        provider: &str,
        parts: &'p Parts,
    ) -> Result<(Decoder, Option<LoadedGraph<'p>>)> {
        let adapter = parts.adapter.as_ref().map(|file| Adapter::read(&file.name, &file.bytes));
        let adapter = adapter.transpose()?.unwrap_or_default();
        let mut layout = Layout::read(session.inputs(), session.outputs(), &parts.description)?;
        let mut embedder = None;
        let mut beside = None;
        if let Some(embeddings) = layout.embeddings() {
            let part = parts.embedding.as_ref().ok_or_else(without_embeddings)?;
            // Looking up a few rows is too little work for another device.
            let loaded = self.load(part, &Providers::first(CPU))?;
            let made = Embedder::read(loaded.loaded, &parts.description)?;
            made.check(embeddings)?;
            layout.take_beside_embeddings(session.inputs(), made.outputs());
            beside = Some(LoadedGraph { name: "embeddings", part, provider: loaded.provider });
            embedder = Some(made);
        }
        layout.check(session.inputs(), &adapter.names())?;
        adapter.check(&session, &layout)?;
        if provider != CPU {
            layout.cache = CacheKind::Concat;
        }
        let context = context_length(&parts.description)?;
        Ok((Decoder::new(session, layout, context, adapter, embedder), beside))
    }
}

fn without_embeddings() -> alloquy_core::Error {
    unsupported(
        "the decoder takes inputs_embeds instead of input_ids, and the model has no graph that makes them: neither \
         embed_tokens.onnx nor a file that genai_config.json names at /model/embedding/filename",
    )
}
