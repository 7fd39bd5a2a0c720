//! What tells a model, run in one way, from every other. Loads nothing.
//!
//! A state that was computed once is worth something only where it would be computed again to the bit, so whatever can
//! change a bit counts: the graph, its weights, how tokens are fed to it, the numbers of its cache, and what runs it.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use alloquy_core::{Digest, Result};

use crate::error::unreadable;
use crate::layout::Slot;
use crate::source::{Graph, Parts};

/// The description files that say how a graph is fed.
const FED_BY: [&str; 2] = ["config.json", "genai_config.json"];

/// How long a file may be to be hashed whole.
const WHOLE: u64 = 16 << 20;

/// How many samples of a longer one are hashed, and how long each is: of weights that were trained on, every sample has
/// changed, and reading gigabytes at each start would cost seconds.
const SAMPLES: u64 = 256;
const SAMPLE: u64 = 64 << 10;

/// Returns what tells a model from every other, as `provider` of ONNX Runtime `version` runs it.
pub(crate) fn identity(parts: &Parts, slots: &[Slot], provider: &str, version: &str) -> Result<Digest> {
    let mut lines = vec![format!("onnx runtime {version} on {provider}")];
    lines.extend(slots.iter().map(|slot| format!("{} of {}", slot.past, slot.element.kind())));
    for (name, text) in FED_BY.iter().filter_map(|name| parts.files.get_key_value(*name)) {
        lines.push(format!("{name} {}", Digest::of(text.as_bytes())));
    }
    match &parts.graph {
        Graph::Bytes { bytes, .. } => lines.push(of_bytes(bytes)?.to_string()),
        Graph::File(graph) => {
            let folder = graph.parent().unwrap_or(graph);
            lines.push(of_file(graph)?.to_string());
            for weights in parts.graph_file.weights() {
                lines.push(of_file(&folder.join(weights))?.to_string());
            }
        }
    }
    Ok(Digest::of(lines.join("\n").as_bytes()))
}

fn of_bytes(bytes: &[u8]) -> Result<Digest> {
    sampled(Cursor::new(bytes), bytes.len() as u64).map_err(|source| unreadable(Path::new("memory"), source))
}

fn of_file(path: &Path) -> Result<Digest> {
    let read = || -> io::Result<Digest> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        sampled(file, length)
    };
    read().map_err(|source| unreadable(path, source))
}

/// Hashes the length and the bytes, or samples of them from the first to the last.
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
    fn every_byte_of_a_short_file_counts_and_the_length_of_a_long_one() {
        assert_ne!(digest(b"weights"), digest(b"weighty"));
        assert_ne!(digest(b""), digest(&[0]));
        let long = vec![0; WHOLE as usize + 1];
        let longer = vec![0; WHOLE as usize + 2];
        assert_ne!(digest(&long), digest(&longer));
        let mut changed = long.clone();
        changed.iter_mut().step_by(SAMPLE as usize).for_each(|byte| *byte = 1);
        assert_ne!(digest(&long), digest(&changed));
    }
}
