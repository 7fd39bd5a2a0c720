//! Loads the graphs of a model: the decoder, the embeddings where it needs them, and the encoders.

use std::borrow::Cow;
use std::sync::Arc;

use alloquy_core::Result;
use alloquy_model_files::context_length;
use ort::environment::Environment;
use ort::session::Session;

use crate::adapter::Adapter;
use crate::cache_memory::{CacheLocation, CacheMemory};
use crate::decoder::{self, Decoder, Loading, Threads};
use crate::device_memory::DeviceMemory;
use crate::embedder::Embedder;
use crate::error::unsupported;
use crate::graph_optimization::GraphOptimization;
use crate::identity::{OtherGraph, graph_digests};
use crate::layout::{CacheKind, Layout};
use crate::providers::{CPU, Loaded, Providers, Registration, memories};
use crate::source::{Graph, Part, Parts};
use crate::waiting::ThreadWaiting;

/// The settings with which all graphs of a model are loaded.
#[derive(Clone, Copy)]
pub(crate) struct Graphs<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) threads: Threads,
    pub(crate) optimization: GraphOptimization,
    pub(crate) cache_memory: CacheMemory,
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
    /// Returns the settings for a provider.
    pub(crate) fn with(&'a self, provider: &'a Registration) -> Loading<'a> {
        let Self { environment, threads, optimization, .. } = *self;
        Loading { environment, provider, threads, optimization, written: None, profile: None }
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
        let (memory, location) = self.device_memory(&session, &layout, provider)?;
        if provider != CPU && memory.is_none() {
            // What is bound to a device is copied once, when it is bound, so the graph would never see what it has written to a buffer
            // in main memory. Such a cache is fed again at each run.
            layout.cache = CacheKind::Concat;
        }
        let context = context_length(&parts.description)?;
        let mut decoder = Decoder::new(session, layout, context, adapter, embedder);
        decoder.memory = memory.map(Arc::new);
        decoder.cache_location = location;
        Ok((decoder, beside))
    }

    /// Returns the memory of a provider in which caches are to be, and where they are.
    fn device_memory(
        &self,
        session: &Session,
        layout: &Layout,
        provider: &str,
    ) -> Result<(Option<DeviceMemory>, CacheLocation)> {
        let mut names = memories(provider);
        match self.cache_memory {
            CacheMemory::Host => return Ok((None, CacheLocation::Host { reason: None })),
            CacheMemory::Auto if names.is_empty() => {
                return Ok((None, CacheLocation::Host { reason: None }));
            }
            CacheMemory::Provider if provider == CPU => names = &["Cpu"],
            CacheMemory::Auto | CacheMemory::Provider => {}
        }
        let mut elements = Vec::new();
        let slots = layout.slots.iter().map(|slot| slot.element);
        for element in slots.chain(layout.states.iter().map(|state| state.element)) {
            if !elements.contains(&element) {
                elements.push(element);
            }
        }
        match DeviceMemory::new(session, names, &elements, |name, bytes| self.copier(provider, name, bytes)) {
            Ok(memory) => {
                let location = CacheLocation::Provider { name: memory.name().to_owned() };
                Ok((Some(memory), location))
            }
            Err(error) if self.cache_memory == CacheMemory::Provider => Err(error),
            Err(error) => Ok((None, CacheLocation::Host { reason: Some(format!("{error:#}")) })),
        }
    }

    /// Loads a graph that copies tensors on a provider.
    fn copier(&self, provider: &str, name: &str, bytes: Vec<u8>) -> Result<Session> {
        let graph = Graph::Bytes { name: name.to_owned(), bytes: Cow::Owned(bytes) };
        // A copy is no work for threads.
        let threads = Threads { count: Some(1), waiting: ThreadWaiting::Sleep };
        let alone = Self { threads, ..*self };
        let loaded = Providers::first(provider)
            .load(|_, registered| decoder::load(&graph, &alone.with(registered)))?;
        Ok(loaded.loaded)
    }
}

fn without_embeddings() -> alloquy_core::Error {
    unsupported(
        "the decoder takes inputs_embeds instead of input_ids, and the model has no graph that makes them: neither \
         embed_tokens.onnx nor a file that genai_config.json names at /model/embedding/filename",
    )
}
