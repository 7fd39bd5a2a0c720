//! Only the last tokens' logits are computed.
//!
//! Most exporters multiply the hidden states of all tokens of a prompt by the vocabulary's matrix, of which only the last row is read.
//! With 150,000 tokens in the vocabulary that is a quarter of the work for a prompt, and 600 KB for each of its tokens. So the hidden states
//! are cut before that product, at a number of tokens that is a new input, `num_logits_to_keep`, as some exporters write it themselves.

use std::collections::{HashMap, HashSet};

use super::message::{Message, field, name, names, replaced, write_bytes, write_number};
use super::with_graph;

/// The input that says of how many last tokens the logits are wanted.
pub(crate) const KEEP: &str = "num_logits_to_keep";

/// Names of the new values.
const FIRST: &str = "alloquy/first_kept";
const FIRST_IN_LIST: &str = "alloquy/first_kept_list";
const ONE: &str = "alloquy/one";
const END: &str = "alloquy/end";
const KEPT: &str = "alloquy/kept_states";
const LENGTH: &str = "logits_length";

/// Operators between the vocabulary's product and the logits, such as those that limit them: each computes every number by itself.
const ELEMENTWISE: [&str; 6] = ["Add", "Cast", "Identity", "Mul", "Div", "Tanh"];

/// Operators that multiply the states of each token, their first input, by a matrix.
const PRODUCTS: [&str; 2] = ["MatMul", "MatMulNBits"];

/// How many operators may lie between weights and the matrix: one transposes it, one makes floats of its numbers.
const DEEPEST: usize = 4;

/// The version of the operators from which on `Slice` takes its places as inputs.
const SLICE: u64 = 10;

/// `onnx.TensorProto.DataType` of 64-bit integers.
const INT64: u64 = 7;

/// Returns the file of a graph that computes the logits of the last tokens only, or why it is left as it is.
pub(crate) fn with_last_logits(file: &[u8], logits: &str) -> Result<Vec<u8>, &'static str> {
    let model = Message::read(file)?;
    if version(&model)? < SLICE {
        return Err("its operators are too old");
    }
    with_graph(file, |graph| edited_graph(graph, logits))
}

/// Returns the version of the standard operators.
fn version(model: &Message<'_>) -> Result<u64, &'static str> {
    for opset in model.all(field::MODEL_OPSET) {
        let opset = Message::read(opset)?;
        let domain = opset.only(field::OPSET_DOMAIN).unwrap_or_default();
        if domain.is_empty() || domain == b"ai.onnx" {
            return Ok(opset.number(field::OPSET_VERSION).unwrap_or_default());
        }
    }
    Err("it does not say the version of its operators")
}

fn edited_graph(graph: &Message<'_>, logits: &str) -> Result<Vec<u8>, &'static str> {
    if names(graph, field::GRAPH_INPUT)?.contains(KEEP.as_bytes()) {
        return Err("it computes the last logits only already");
    }
    let found = Product::find(graph, logits.as_bytes())?;
    let mut into = Vec::new();
    for part in &graph.fields {
        let is_product = part.place == found.place;
        match part.number {
            field::GRAPH_NODE if is_product => {
                write_cut(found.states, &mut into);
                write_bytes(field::GRAPH_NODE, &with_first_input(part.value, KEPT.as_bytes())?, &mut into);
            }
            field::GRAPH_OUTPUT if name(part.value)? == logits.as_bytes() => {
                write_bytes(field::GRAPH_OUTPUT, &with_other_length(part.value)?, &mut into);
            }
            // The declared shapes of these values are no longer true; ONNX Runtime finds them itself.
            field::GRAPH_VALUE if found.changed.contains(name(part.value)?) => {}
            _ => into.extend_from_slice(part.whole),
        }
    }
    write_bytes(field::GRAPH_INPUT, &keep_input(), &mut into);
    write_bytes(field::GRAPH_INITIALIZER, &constant(ONE, 1), &mut into);
    write_bytes(field::GRAPH_INITIALIZER, &constant(END, i64::MAX), &mut into);
    Ok(into)
}

/// The product of the states of all tokens and the vocabulary's matrix.
struct Product<'a> {
    /// Where its node begins in the graph's bytes.
    place: usize,
    /// The name of the states.
    states: &'a [u8],
    /// The names of the values from the product to the logits.
    changed: HashSet<&'a [u8]>,
}

impl<'a> Product<'a> {
    /// Goes back from the logits to the product.
    fn find(graph: &Message<'a>, logits: &'a [u8]) -> Result<Self, &'static str> {
        check_rank(graph, logits)?;
        let values = Values::read(graph)?;
        let outputs = names(graph, field::GRAPH_OUTPUT)?;
        let mut changed = HashSet::new();
        let mut value = logits;
        // Each step goes to an earlier node; more steps than nodes would be a circle.
        for _ in 0..=values.sources.len() {
            let (place, node) = values.sources.get(value).ok_or("nothing makes its logits")?;
            let operator = node.only(field::NODE_OPERATOR).unwrap_or_default();
            let mut inputs = node.all(field::NODE_INPUT);
            let states = inputs.next().ok_or("an operator before its logits takes nothing")?;
            if values.is_constant(states, DEEPEST) || !inputs.all(|input| values.is_constant(input, DEEPEST))
            {
                return Err("its logits are not made of states and weights alone");
            }
            changed.insert(value);
            if PRODUCTS.iter().any(|product| product.as_bytes() == operator) {
                return Ok(Self { place: *place, states, changed });
            }
            if !ELEMENTWISE.iter().any(|elementwise| elementwise.as_bytes() == operator) {
                return Err("its logits are not made by a product with a matrix");
            }
            if outputs.contains(states) {
                return Err("what makes its logits is an output itself");
            }
            value = states;
        }
        Err("its logits are made of themselves")
    }
}

/// What makes the values of a graph.
struct Values<'a> {
    /// The node that makes a value, and where it begins.
    sources: HashMap<&'a [u8], (usize, Message<'a>)>,
    weights: HashSet<&'a [u8]>,
}

impl<'a> Values<'a> {
    fn read(graph: &Message<'a>) -> Result<Self, &'static str> {
        let mut sources = HashMap::new();
        let mut weights = HashSet::new();
        for part in &graph.fields {
            match part.number {
                field::GRAPH_NODE => {
                    for output in Message::read(part.value)?.all(field::NODE_OUTPUT) {
                        sources.insert(output, (part.place, Message::read(part.value)?));
                    }
                }
                field::GRAPH_INITIALIZER => {
                    weights.extend(Message::read(part.value)?.only(field::CONSTANT_NAME));
                }
                _ => {}
            }
        }
        Ok(Self { sources, weights })
    }

    /// Returns whether a value is a weight, or is made of weights alone by at most `depth` operators. An absent input has no name.
    fn is_constant(&self, value: &[u8], depth: usize) -> bool {
        if value.is_empty() || self.weights.contains(value) {
            return true;
        }
        match self.sources.get(value) {
            Some((_, node)) if depth > 0 => {
                node.all(field::NODE_INPUT).all(|input| self.is_constant(input, depth - 1))
            }
            _ => false,
        }
    }
}

/// Refuses logits that are not of the shape `[rows, tokens, vocabulary]`.
fn check_rank(graph: &Message<'_>, logits: &[u8]) -> Result<(), &'static str> {
    for output in graph.all(field::GRAPH_OUTPUT) {
        if name(output)? == logits {
            let shape = shape(output)?.ok_or("its logits have no shape")?;
            let dimensions = Message::read(shape)?.all(field::SHAPE_DIMENSION).count();
            return if dimensions == 3 { Ok(()) } else { Err("its logits are not those of several tokens") };
        }
    }
    Err("it has no logits")
}

fn shape(value: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    let Some(kind) = Message::read(value)?.only(field::VALUE_TYPE) else { return Ok(None) };
    let Some(tensor) = Message::read(kind)?.only(field::TYPE_TENSOR) else { return Ok(None) };
    Ok(Message::read(tensor)?.only(field::TENSOR_SHAPE))
}

/// Writes the nodes that cut the states: from `-num_logits_to_keep` to the end, on the axis of the tokens, which is 1.
fn write_cut(states: &[u8], into: &mut Vec<u8>) {
    let keep = KEEP.as_bytes();
    let (first, list) = (FIRST.as_bytes(), FIRST_IN_LIST.as_bytes());
    let (one, end) = (ONE.as_bytes(), END.as_bytes());
    for node in [
        node("Neg", &[keep], first),
        node("Reshape", &[first, one], list),
        node("Slice", &[states, list, end, one], KEPT.as_bytes()),
    ] {
        write_bytes(field::GRAPH_NODE, &node, into);
    }
}

fn node(operator: &str, inputs: &[&[u8]], output: &[u8]) -> Vec<u8> {
    let mut node = Vec::new();
    for input in inputs {
        write_bytes(field::NODE_INPUT, input, &mut node);
    }
    write_bytes(field::NODE_OUTPUT, output, &mut node);
    write_bytes(field::NODE_NAME, output, &mut node);
    write_bytes(field::NODE_OPERATOR, operator.as_bytes(), &mut node);
    node
}

/// Returns a node with another first input.
fn with_first_input(node: &[u8], input: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut into = Vec::new();
    let mut is_first = true;
    for part in Message::read(node)?.fields {
        if part.number == field::NODE_INPUT && is_first {
            write_bytes(field::NODE_INPUT, input, &mut into);
            is_first = false;
        } else {
            into.extend_from_slice(part.whole);
        }
    }
    Ok(into)
}

/// Returns the declaration of the logits with another symbol as their number of tokens.
fn with_other_length(value: &[u8]) -> Result<Vec<u8>, &'static str> {
    replaced(value, &[field::VALUE_TYPE, field::TYPE_TENSOR, field::TENSOR_SHAPE], &|shape| {
        let mut into = Vec::new();
        for (axis, dimension) in Message::read(shape)?.all(field::SHAPE_DIMENSION).enumerate() {
            let mut symbol = Vec::new();
            write_bytes(field::DIMENSION_SYMBOL, LENGTH.as_bytes(), &mut symbol);
            let dimension = if axis == 1 { &symbol } else { dimension };
            write_bytes(field::SHAPE_DIMENSION, dimension, &mut into);
        }
        Ok(into)
    })
}

/// Returns the declaration of the new input: one 64-bit integer.
fn keep_input() -> Vec<u8> {
    let mut tensor = Vec::new();
    write_number(field::TENSOR_ELEMENT, INT64, &mut tensor);
    write_bytes(field::TENSOR_SHAPE, &[], &mut tensor);
    let mut kind = Vec::new();
    write_bytes(field::TYPE_TENSOR, &tensor, &mut kind);
    let mut value = Vec::new();
    write_bytes(field::VALUE_NAME, KEEP.as_bytes(), &mut value);
    write_bytes(field::VALUE_TYPE, &kind, &mut value);
    value
}

/// Returns a constant: a list of one 64-bit integer.
fn constant(name: &str, number: i64) -> Vec<u8> {
    let mut constant = Vec::new();
    write_number(field::CONSTANT_DIMENSIONS, 1, &mut constant);
    write_number(field::CONSTANT_ELEMENT, INT64, &mut constant);
    write_bytes(field::CONSTANT_NAME, name.as_bytes(), &mut constant);
    write_bytes(field::CONSTANT_BYTES, &number.to_le_bytes(), &mut constant);
    constant
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::message::DAMAGED;
    use super::*;

    /// A graph of a product and a limit of its results, as far as the edit reads it.
    fn graph() -> Vec<u8> {
        let dimension = |symbol: &str| {
            let mut dimension = Vec::new();
            write_bytes(field::DIMENSION_SYMBOL, symbol.as_bytes(), &mut dimension);
            dimension
        };
        let mut shape = Vec::new();
        for symbol in ["batch", "length", "words"] {
            write_bytes(field::SHAPE_DIMENSION, &dimension(symbol), &mut shape);
        }
        let mut tensor = Vec::new();
        write_number(field::TENSOR_ELEMENT, 1, &mut tensor);
        write_bytes(field::TENSOR_SHAPE, &shape, &mut tensor);
        let mut kind = Vec::new();
        write_bytes(field::TYPE_TENSOR, &tensor, &mut kind);
        let value = |name: &str| {
            let mut value = Vec::new();
            write_bytes(field::VALUE_NAME, name.as_bytes(), &mut value);
            write_bytes(field::VALUE_TYPE, &kind, &mut value);
            value
        };
        let mut graph = Vec::new();
        write_bytes(field::GRAPH_NODE, &node("MatMul", &[b"states", b"matrix"], b"scores"), &mut graph);
        write_bytes(field::GRAPH_NODE, &node("Tanh", &[b"scores"], b"logits"), &mut graph);
        write_bytes(field::GRAPH_INITIALIZER, &constant("matrix", 1), &mut graph);
        write_bytes(field::GRAPH_INPUT, &value("states"), &mut graph);
        write_bytes(field::GRAPH_OUTPUT, &value("logits"), &mut graph);
        write_bytes(field::GRAPH_VALUE, &value("scores"), &mut graph);
        let mut opset = Vec::new();
        write_number(field::OPSET_VERSION, 18, &mut opset);
        let mut model = Vec::new();
        write_bytes(field::MODEL_OPSET, &opset, &mut model);
        write_bytes(field::MODEL_GRAPH, &graph, &mut model);
        model
    }

    #[test]
    fn the_product_takes_the_last_states() -> Result<(), &'static str> {
        let edited = with_last_logits(&graph(), "logits")?;
        let model = Message::read(&edited)?;
        let graph = Message::read(model.only(field::MODEL_GRAPH).unwrap_or_default())?;
        let mut nodes = Vec::new();
        for node in graph.all(field::GRAPH_NODE) {
            let node = Message::read(node)?;
            nodes
                .push(node.all(field::NODE_INPUT).map(String::from_utf8_lossy).collect::<Vec<_>>().join(" "));
        }
        let cut = ["num_logits_to_keep", "alloquy/first_kept alloquy/one"];
        let rest = [
            "states alloquy/first_kept_list alloquy/end alloquy/one",
            "alloquy/kept_states matrix",
            "scores",
        ];
        assert_eq!(nodes, [&cut[..], &rest[..]].concat());
        assert_eq!(graph.all(field::GRAPH_VALUE).count(), 0);
        assert_eq!(with_last_logits(&edited, "logits"), Err("it computes the last logits only already"));
        assert_eq!(with_last_logits(&self::graph(), "scores"), Err("it has no logits"));
        Ok(())
    }

    #[test]
    fn a_product_of_two_states_is_left_as_it_is() -> Result<(), &'static str> {
        let mut file = graph();
        // The name of the weights is no longer that of the product's second input.
        let place = file.windows(6).rposition(|name| name == b"matrix").ok_or(DAMAGED)?;
        file.splice(place..place + 6, *b"others");
        assert_eq!(
            with_last_logits(&file, "logits"),
            Err("its logits are not made of states and weights alone")
        );
        Ok(())
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_refused_or_edited(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut file = graph();
            for (place, byte) in changes {
                let place = place.index(file.len());
                if let Some(old) = file.get_mut(place) {
                    *old = byte;
                }
            }
            file.truncate(cut.index(file.len() + 1));
            if let Ok(edited) = with_last_logits(&file, "logits") {
                prop_assert!(Message::read(&edited).is_ok());
            }
        }
    }
}
