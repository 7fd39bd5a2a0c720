//! Products with weights of few bits are computed in 8 bits.
//!
//! ONNX Runtime has two ways to multiply by a matrix of 4-bit weights: make `f32` of the weights, or make 8-bit numbers of what they are multiplied
//! by, which most processors do several times faster. The attribute `accuracy_level` of the operator chooses; 4 is the second way. Exporters
//! often leave it out, which means the first.
//!
//! Reference: <https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulNBits>

use super::message::{Message, attribute_name, field, write_bytes, write_integer_attribute};
use super::with_graph;

const OPERATOR: &[u8] = b"MatMulNBits";
const LEVEL: &str = "accuracy_level";

/// The level of 8 bits.
const INT8: u64 = 4;

/// Returns the file of a graph whose products with weights of few bits are computed in 8 bits, or why it is left as it is.
pub(crate) fn with_int8_products(file: &[u8]) -> Result<Vec<u8>, &'static str> {
    with_graph(file, |graph| {
        let mut products = 0;
        let mut changed = 0;
        let mut into = Vec::new();
        for part in &graph.fields {
            let is_node = part.number == field::GRAPH_NODE;
            if is_node && Message::read(part.value)?.only(field::NODE_OPERATOR) == Some(OPERATOR) {
                products += 1;
                if let Some(node) = edited(part.value)? {
                    changed += 1;
                    write_bytes(field::GRAPH_NODE, &node, &mut into);
                    continue;
                }
            }
            into.extend_from_slice(part.whole);
        }
        match (products, changed) {
            (0, _) => Err("it has no products with weights of few bits (MatMulNBits)"),
            (_, 0) => Err("all its products with weights of few bits are exported with an accuracy level"),
            _ => Ok(into),
        }
    })
}

/// Returns a product that is computed in 8 bits; `None` for one whose level was exported.
fn edited(node: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    let mut into = Vec::new();
    for part in Message::read(node)?.fields {
        if attribute_name(&part)? == Some(LEVEL.as_bytes()) {
            let level = Message::read(part.value)?.number(field::ATTRIBUTE_INTEGER);
            if level.unwrap_or_default() != 0 {
                return Ok(None);
            }
            continue;
        }
        into.extend_from_slice(part.whole);
    }
    write_integer_attribute(LEVEL, INT8, &mut into);
    Ok(Some(into))
}
