//! Computes the identity of a model: a digest that differs for every model and every way of running it.
//!
//! A stored state may be used only where it would be computed again with the same bits. So everything that can change a bit is
//! part of the identity: the graph, its weights, how tokens are fed, the number types of the cache, and what runs it.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_model_files::bounded;

use crate::cpu::processor;
use crate::error::unreadable;
use crate::graph_optimization::GraphOptimization;
use crate::layout::Layout;
use crate::source::{Graph, Part, Parts};

/// The description files that decide how a graph is fed.
const FED_BY: [&str; 2] = ["config.json", "genai_config.json"];

/// The largest file, in bytes, that is hashed completely.
const WHOLE: u64 = 16 << 20;

/// How many samples of a longer file are hashed, and how long each is. Reading gigabytes at each start would cost seconds, and
/// further training changes every sample of the weights.
const SAMPLES: u64 = 256;
const SAMPLE: u64 = 64 << 10;

/// The runtime of a graph and its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraphRuntime<'a> {
    pub(crate) provider: &'a str,
    /// The version of ONNX Runtime.
    pub(crate) version: &'a str,
    pub(crate) optimization: GraphOptimization,
}

impl GraphRuntime<'_> {
    /// Returns the lines that are hashed. The default level of optimization has no line.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("onnx runtime {} on {}", self.version, self.provider)];
        if self.optimization != GraphOptimization::default() {
            lines.push(format!("optimized {}", self.optimization));
        }
        lines
    }
}

/// Returns the digests of a graph and of the files of its weights.
pub(crate) fn graph_digests(part: &Part) -> Result<Vec<Digest>> {
    match &part.graph {
        Graph::Bytes { bytes, .. } => Ok(vec![of_bytes(bytes)?]),
        Graph::File(graph) | Graph::Edited { path: graph, .. } => {
            let folder = graph.parent().unwrap_or(graph);
            let weights = part.file.weights().map(|weights| folder.join(weights));
            [graph.clone()].into_iter().chain(weights).map(|path| file_digest(&path)).collect()
        }
    }
}

/// A graph other than the decoder's, and what runs it.
#[derive(Debug)]
pub(crate) struct OtherGraph {
    /// What it is for.
    pub(crate) name: &'static str,
    pub(crate) digests: Vec<Digest>,
    pub(crate) provider: String,
}

/// Returns the identity of a model whose graph has these digests; `media` is the identity of its media processor.
pub(crate) fn identity(
    parts: &Parts,
    graph: &[Digest],
    beside: &[OtherGraph],
    media: Option<Digest>,
    layout: &Layout,
    ran: GraphRuntime<'_>,
) -> Digest {
    let mut lines = ran.lines();
    // The media processor adds texts, and these are tokenized here, so the tokenizer is part of the identity then.
    lines.extend(media.map(|media| format!("media {media} {}", Digest::of(&parts.tokenizer.bytes))));
    lines.extend(layout.slots.iter().map(|slot| format!("{} of {}", slot.past, slot.element.kind())));
    lines.extend(layout.states.iter().map(|state| format!("{} of {}", state.past, state.element.kind())));
    for (name, text) in FED_BY.iter().filter_map(|name| parts.files.get_key_value(*name)) {
        lines.push(format!("{name} {}", Digest::of(text.as_bytes())));
    }
    lines.extend(graph.iter().map(Digest::to_string));
    for OtherGraph { name, digests, provider } in beside {
        lines.push(format!("{name} on {provider}"));
        lines.extend(digests.iter().map(Digest::to_string));
    }
    lines.extend(parts.adapter.iter().map(|adapter| format!("adapter {}", Digest::of(&adapter.bytes))));
    Digest::of(lines.join("\n").as_bytes())
}

/// Returns the identity of an optimised graph: it depends on the original graph, the library that optimised it, and the
/// processor.
pub(crate) fn optimized_identity(graph: &[Digest], ran: GraphRuntime<'_>, library: u64) -> Digest {
    let mut lines = vec![
        format!("optimized graph, format 1\n{}\nlibrary of {library} bytes", processor()),
        format!("optimized {}", ran.optimization),
    ];
    lines.extend(ran.lines());
    lines.extend(graph.iter().map(Digest::to_string));
    Digest::of(lines.join("\n").as_bytes())
}

fn of_bytes(bytes: &[u8]) -> Result<Digest> {
    sampled(Cursor::new(bytes), bytes.len() as u64).map_err(|source| unreadable(Path::new("memory"), source))
}

/// Hashes a file: a short one completely, of a long one the length and samples.
pub(crate) fn file_digest(path: &Path) -> Result<Digest> {
    let (file, length) = bounded::open(path)?;
    sampled(file, length).map_err(|source| unreadable(path, source))
}

/// Hashes the length, and all bytes or samples of them from the first to the last byte.
fn sampled(mut reader: impl Read + Seek, length: u64) -> io::Result<Digest> {
    let mut bytes = length.to_le_bytes().to_vec();
    if length <= WHOLE {
        reader.take(length).read_to_end(&mut bytes)?;
        return Ok(Digest::of(&bytes));
    }
    for sample in 0..SAMPLES {
        reader.seek(SeekFrom::Start((length - SAMPLE) * sample / (SAMPLES - 1)))?;
        reader.by_ref().take(SAMPLE).read_to_end(&mut bytes)?;
    }
    Ok(Digest::of(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(bytes: &[u8]) -> Digest {
        of_bytes(bytes).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_identity_of_an_optimised_graph_has_all_it_depends_on() {
        let ran = GraphRuntime { provider: "cpu", version: "1.31.1", optimization: GraphOptimization::All };
        let graph = [digest(b"graph"), digest(b"weights")];
        let others = [
            optimized_identity(&graph, GraphRuntime { provider: "cuda", ..ran }, 7),
            optimized_identity(&graph, GraphRuntime { version: "1.31.2", ..ran }, 7),
            optimized_identity(&graph, GraphRuntime { optimization: GraphOptimization::Basic, ..ran }, 7),
            optimized_identity(&graph, ran, 8),
            optimized_identity(&[digest(b"graph"), digest(b"weighty")], ran, 7),
        ];
        assert_eq!(optimized_identity(&graph, ran, 7), optimized_identity(&graph, ran, 7));
        assert!(!others.contains(&optimized_identity(&graph, ran, 7)));
    }

    #[test]
    fn every_byte_of_a_short_file_counts_and_the_length_of_a_long_one() {
        assert_ne!(digest(b"weights"), digest(b"weighty"));
        assert_ne!(digest(b""), digest(&[0]));
        let long = vec![0; WHOLE as usize + 1];
        let longer = vec![0; WHOLE as usize + 2];
        assert_ne!(digest(&long), digest(&longer));
        let mut changed = long.clone();
        for byte in changed.iter_mut().step_by(SAMPLE as usize) {
            *byte = 1;
        }
        assert_ne!(digest(&long), digest(&changed));
    }
}
