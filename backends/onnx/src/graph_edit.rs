//! Edits a graph before ONNX Runtime loads it, and makes small graphs that copy tensors.
//!
//! | edit | what changes |
//! |---|---|
//! | [`last_logits`] | only the logits of the last tokens are computed |
//! | [`int8_cache`] | keys and values are kept as numbers of 8 bits |
//! | [`int8_products`] | products with weights of few bits are computed in 8 bits |
//!
//! The file is a protocol buffer (`onnx.proto`, field numbers as of ONNX 1.23). Only the changed messages are written again, and all other bytes,
//! weights among them, are copied as they are. An edit that does not understand a graph says why, and changes nothing.

mod copies;
mod int8_cache;
mod int8_products;
mod last_logits;
mod message;

pub(crate) use copies::{COPY, ENDS, FROM, PLACES, STARTS, TO, part_copy, whole_copy, write_into};
pub(crate) use int8_cache::{attention_caches, with_int8_cache};
pub(crate) use int8_products::with_int8_products;
pub(crate) use last_logits::{KEEP, with_last_logits};

use message::{Message, field, write_bytes};

/// Returns the file of a model whose graph is changed.
fn with_graph(
    file: &[u8],
    change: impl FnOnce(&Message<'_>) -> Result<Vec<u8>, &'static str>,
) -> Result<Vec<u8>, &'static str> {
    let model = Message::read(file)?;
    let graph = model.only(field::MODEL_GRAPH).ok_or("it has no graph")?;
    let edited = change(&Message::read(graph)?)?;
    let mut into = Vec::with_capacity(file.len() + 1024);
    for part in &model.fields {
        match part.number {
            field::MODEL_GRAPH => write_bytes(field::MODEL_GRAPH, &edited, &mut into),
            _ => into.extend_from_slice(part.whole),
        }
    }
    Ok(into)
}
