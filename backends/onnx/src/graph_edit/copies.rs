//! Small graphs that copy tensors, or parts of them. A device can run them, so that its tensors need not leave its memory.

use super::message::{field, write_bytes, write_number};

/// The names of the inputs and outputs of all these graphs.
pub(crate) const FROM: &str = "from";
pub(crate) const TO: &str = "to";
pub(crate) const STARTS: &str = "starts";
pub(crate) const ENDS: &str = "ends";
pub(crate) const PLACES: &str = "places";
pub(crate) const COPY: &str = "copy";

/// The first version of the format and of the operators that these graphs need, which every supported library reads.
const FORMAT: u64 = 8;
const OPERATORS: u64 = 16;
/// `onnx.TensorProto.DataType.INT64`.
const INT64: u64 = 7;
/// The dimensions of rows and of positions in a cache.
const CUT: [i64; 2] = [0, 2];

/// Returns a graph that copies `from` to `copy`, both of one element type, as `onnx.TensorProto.DataType` numbers it.
pub(crate) fn whole_copy(element: u64) -> Vec<u8> {
    let node = node("Identity", &[FROM], COPY);
    model(&node, &[value(FROM, element, None)], &value(COPY, element, None), &[])
}

/// Returns a graph that copies the rows and the positions from `starts` to `ends` of a cache.
pub(crate) fn part_copy(element: u64) -> Vec<u8> {
    let inputs = [value(FROM, element, Some(4)), value(STARTS, INT64, Some(1)), value(ENDS, INT64, Some(1))];
    let node = node("Slice", &[FROM, STARTS, ENDS, "axes"], COPY);
    model(&node, &inputs, &value(COPY, element, Some(4)), &[constant("axes", &CUT)])
}

/// Returns a graph that puts `from` into `to`, at `places` of three numbers: row, head and position.
///
/// `copy` may be bound to the same tensor as `to`. Then only the places are written.
pub(crate) fn write_into(element: u64) -> Vec<u8> {
    let inputs = [value(TO, element, Some(4)), value(PLACES, INT64, Some(4)), value(FROM, element, Some(4))];
    let node = node("ScatterND", &[TO, PLACES, FROM], COPY);
    model(&node, &inputs, &value(COPY, element, Some(4)), &[])
}

fn model(node: &[u8], inputs: &[Vec<u8>], output: &[u8], constants: &[Vec<u8>]) -> Vec<u8> {
    let mut graph = Vec::new();
    write_bytes(field::GRAPH_NODE, node, &mut graph);
    write_bytes(field::GRAPH_NAME, b"copies", &mut graph);
    for constant in constants {
        write_bytes(field::GRAPH_INITIALIZER, constant, &mut graph);
    }
    for input in inputs {
        write_bytes(field::GRAPH_INPUT, input, &mut graph);
    }
    write_bytes(field::GRAPH_OUTPUT, output, &mut graph);
    let mut operators = Vec::new();
    write_bytes(field::OPSET_DOMAIN, b"", &mut operators);
    write_number(field::OPSET_VERSION, OPERATORS, &mut operators);
    let mut model = Vec::new();
    write_number(field::MODEL_FORMAT, FORMAT, &mut model);
    write_bytes(field::MODEL_GRAPH, &graph, &mut model);
    write_bytes(field::MODEL_OPSET, &operators, &mut model);
    model
}

fn node(operator: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let mut node = Vec::new();
    for input in inputs {
        write_bytes(field::NODE_INPUT, input.as_bytes(), &mut node);
    }
    write_bytes(field::NODE_OUTPUT, output.as_bytes(), &mut node);
    write_bytes(field::NODE_OPERATOR, operator.as_bytes(), &mut node);
    node
}

/// Returns the declaration of an input or an output with a number of dimensions of any size; `None` is any number of dimensions.
fn value(name: &str, element: u64, dimensions: Option<usize>) -> Vec<u8> {
    let mut tensor = Vec::new();
    write_number(field::TENSOR_ELEMENT, element, &mut tensor);
    if let Some(dimensions) = dimensions {
        let mut shape = Vec::new();
        for number in 0..dimensions {
            let mut dimension = Vec::new();
            write_bytes(field::DIMENSION_SYMBOL, format!("{name}{number}").as_bytes(), &mut dimension);
            write_bytes(field::SHAPE_DIMENSION, &dimension, &mut shape);
        }
        write_bytes(field::TENSOR_SHAPE, &shape, &mut tensor);
    }
    let mut kind = Vec::new();
    write_bytes(field::TYPE_TENSOR, &tensor, &mut kind);
    let mut value = Vec::new();
    write_bytes(field::VALUE_NAME, name.as_bytes(), &mut value);
    write_bytes(field::VALUE_TYPE, &kind, &mut value);
    value
}

fn constant(name: &str, numbers: &[i64]) -> Vec<u8> {
    let mut constant = Vec::new();
    write_number(field::CONSTANT_DIMENSIONS, numbers.len() as u64, &mut constant);
    write_number(field::CONSTANT_ELEMENT, INT64, &mut constant);
    write_bytes(field::CONSTANT_NAME, name.as_bytes(), &mut constant);
    let bytes: Vec<_> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    write_bytes(field::CONSTANT_BYTES, &bytes, &mut constant);
    constant
}
