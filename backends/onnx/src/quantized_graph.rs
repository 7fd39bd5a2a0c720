//! Loads a decoder's graph, with other number types where the caller chose some, and measures what these change.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_model_files::{HuggingFaceTokenizer, context_length, model_info};
use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::decoder::Decoder;
use crate::error::unsupported;
use crate::graph_cache::{self, GraphCache, Made};
use crate::graph_edit::{attention_caches, with_int8_cache, with_int8_products};
use crate::graphs::Graphs;
use crate::identity::{GraphRuntime, optimized_identity};
use crate::prompt_logits::{DecoderGraph, LoadedDecoder};
use crate::providers::{CPU, Loaded, Providers};
use crate::quantization::{KvCacheType, MatMulType, Quantization};
use crate::quantization_quality::QuantizationQuality;
use crate::runtime::loaded_size;
use crate::source::Parts;

/// What the note of a measurement depends on, beside the graph, the library and the processor.
const FORMAT: &str = "quantization, format 1";

/// What was measured of a model. It is kept with the optimised graphs, so that it is measured once.
#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    /// The scale of each cache, by the name of its input; empty where the cache is as exported.
    scales: BTreeMap<String, f32>,
    quality: QuantizationQuality,
}

/// Loads a graph, quantized where that is wanted.
pub(crate) struct QuantizedGraph<'a> {
    pub(crate) wanted: Quantization,
    pub(crate) parts: &'a Parts,
    pub(crate) digests: &'a [Digest],
    pub(crate) tokenizer: &'a HuggingFaceTokenizer,
    pub(crate) loading: &'a Graphs<'a>,
    pub(crate) cache: Option<&'a GraphCache>,
    pub(crate) version: &'a str,
}

impl QuantizedGraph<'_> {
    /// Loads the graph with the number types that are wanted, and returns how much they change; `None` for those of the export.
    pub(crate) fn load(
        &self,
        providers: &Providers,
    ) -> Result<(Loaded<LoadedDecoder>, Option<QuantizationQuality>)> {
        let exported = DecoderGraph::new(self.parts, self.digests, self.loading.optimization)?;
        if self.wanted == Quantization::default() {
            let loaded = providers.load(|provider, registered| {
                exported.load(self.cache, self.ran(provider), &self.loading.with(registered))
            })?;
            return Ok((loaded, None));
        }
        let (loaded, quality) = self.quantized(&exported, providers)?;
        Ok((loaded, Some(quality)))
    }

    /// Loads the quantized graph on the processor. Unless the quality is kept from before, the export is loaded too, and compared.
    fn quantized(
        &self,
        exported: &DecoderGraph<'_>,
        providers: &Providers,
    ) -> Result<(Loaded<LoadedDecoder>, QuantizationQuality)> {
        if !providers.compute_first_on(CPU) {
            return Err(unsupported(format!(
                "{} is computed by the processor only; choose the provider \"cpu\"",
                self.wanted
            )));
        }
        let base = self.with_products(exported.bytes()?)?;
        if self.wanted.cache == KvCacheType::Int8 {
            attention_caches(&base).map_err(|reason| self.refused(reason))?;
        }
        let key = self.key()?;
        let kept = self.cache.and_then(|cache| cache.note(key));
        let kept: Option<Measured> = kept.and_then(|note| serde_json::from_slice(&note).ok());
        let measured = match kept {
            Some(measured) if measured.scales.values().all(|scale| scale.is_normal() && *scale > 0.0) => {
                measured
            }
            _ => {
                let measured = self.measured(exported, &base)?;
                self.keep(key, &measured);
                measured
            }
        };
        measured.quality.check(self.wanted)?;
        let (bytes, digests) = self.edited(&base, &measured.scales)?;
        let graph = self.parts.decoder.graph.with_bytes(bytes);
        let loaded = providers.load(|provider, registered| {
            let ran = self.ran(provider);
            let made = Made { graph: &graph, digests: &digests, ran };
            let (session, cache) = graph_cache::load(self.cache, &made, &self.loading.with(registered))?;
            Ok(LoadedDecoder { session, cache, digests: digests.clone(), unedited: exported.unedited() })
        })?;
        Ok((loaded, measured.quality))
    }

    /// Loads the export, measures its keys and values, and compares it with the quantized graph.
    fn measured(&self, exported: &DecoderGraph<'_>, base: &[u8]) -> Result<Measured> {
        let context = context_length(&self.parts.description)?;
        let reference = Providers::first(CPU).load(|provider, registered| {
            exported.load(None, self.ran(provider), &self.loading.with(registered))
        })?;
        let (reference, _) = self.loading.decoder(reference.loaded.session, CPU, self.parts)?;
        let vocabulary = reference.layout.vocabulary;
        let Parts { name, files, description, .. } = self.parts;
        let info = model_info(name.clone(), files.clone(), description, self.tokenizer, vocabulary)?;
        let calibration = Calibration::new(self.tokenizer, info.bos.map(|bos| bos.id), context)?;
        let reference = Arc::new(reference);
        let mut scales = BTreeMap::new();
        if self.wanted.cache == KvCacheType::Int8 {
            scales = calibration.scales(&reference)?;
        }
        let (bytes, _) = self.edited(base, &scales)?;
        let quantized = self.decoder(bytes)?;
        let quality = calibration.quality(&reference, &quantized)?;
        Ok(Measured { scales, quality })
    }

    /// Loads an edited graph, without keeping it.
    fn decoder(&self, bytes: Vec<u8>) -> Result<Arc<Decoder>> {
        let graph = self.parts.decoder.graph.with_bytes(bytes);
        let loaded = Providers::first(CPU).load(|provider, registered| {
            let made = Made { graph: &graph, digests: &[], ran: self.ran(provider) };
            graph_cache::load(None, &made, &self.loading.with(registered))
        })?;
        let (session, _) = loaded.loaded;
        let (decoder, _) = self.loading.decoder(session, CPU, self.parts)?;
        Ok(Arc::new(decoder))
    }

    fn with_products<'b>(&self, graph: Cow<'b, [u8]>) -> Result<Cow<'b, [u8]>> {
        if self.wanted.products == MatMulType::Exported {
            return Ok(graph);
        }
        let edited = with_int8_products(&graph).map_err(|reason| self.refused(reason))?;
        Ok(Cow::Owned(edited))
    }

    /// Returns the graph with the scales, and the digests of what it is made of.
    fn edited(&self, base: &[u8], scales: &BTreeMap<String, f32>) -> Result<(Vec<u8>, Vec<Digest>)> {
        let mut digests = self.digests.to_vec();
        digests.push(Digest::of(format!("{FORMAT}: {}", self.wanted).as_bytes()));
        if self.wanted.cache == KvCacheType::Exported {
            return Ok((base.to_vec(), digests));
        }
        let mut bytes = Vec::new();
        for scale in scales.values() {
            bytes.extend(scale.to_le_bytes());
        }
        digests.push(Digest::of(&bytes));
        let edited = with_int8_cache(base, scales).map_err(|reason| self.refused(reason))?;
        Ok((edited, digests))
    }

    fn refused(&self, reason: &str) -> Error {
        let graph = &self.parts.decoder.graph;
        unsupported(format!("the graph {graph} cannot have {}: {reason}", self.wanted))
    }

    fn ran<'b>(&'b self, provider: &'b str) -> GraphRuntime<'b> {
        GraphRuntime { provider, version: self.version, optimization: self.loading.optimization }
    }

    /// Returns what a measurement depends on.
    fn key(&self) -> Result<Digest> {
        let mut digests = self.digests.to_vec();
        digests.push(Digest::of(format!("{FORMAT}, measured: {}", self.wanted).as_bytes()));
        digests.push(Calibration::digest());
        Ok(optimized_identity(&digests, self.ran(CPU), loaded_size()?))
    }

    /// Keeps a measurement. Without it, the next load measures again.
    fn keep(&self, key: Digest, measured: &Measured) {
        let Some(cache) = self.cache else { return };
        let note = serde_json::to_vec(measured).map_err(|source| {
            Error::new(ErrorKind::Backend, "a measurement could not be written").with_source(source)
        });
        if let Err(error) = note.and_then(|note| cache.keep_note(key, &note)) {
            tracing::warn!(%error, "the number types of this model are measured again at the next load");
        }
    }
}
