//! Makes exports whose caches and logits have 16 bits from those with 32: casts are added between the graph and its inputs
//! and outputs. Reads and writes protocol buffers, and of ONNX (`onnx.proto`) only the changed messages.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Numbers of `onnx.TensorProto.DataType`.
const FLOAT: u64 = 1;
pub(crate) const FLOAT16: u64 = 10;
pub(crate) const BFLOAT16: u64 = 16;

/// The inputs of `GroupQueryAttention` that are of one type with its caches: query, key, value, cosines and sines. The caches
/// themselves are the inputs 3 and 4.
const ATTENTION: [usize; 5] = [0, 1, 2, 7, 8];

/// Fields of a message, in their order.
#[derive(Clone, Default)]
struct Message(Vec<(u64, Field)>);

#[derive(Clone)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Message {
    fn read(mut bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = number(&mut bytes);
            let field = match tag & 7 {
                0 => Field::Number(number(&mut bytes)),
                2 => {
                    let length = number(&mut bytes);
                    Field::Bytes(bytes.split_off(..length as usize).unwrap().to_vec())
                }
                // Of a fixed length; kept unchanged, with its tag.
                5 => Field::Bytes(bytes.split_off(..4).unwrap().to_vec()),
                kind => panic!("a field of the kind {kind}"),
            };
            fields.push((tag, field));
        }
        Self(fields)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (tag, field) in &self.0 {
            write_number(*tag, &mut bytes);
            match field {
                Field::Number(number) => write_number(*number, &mut bytes),
                Field::Bytes(field) => {
                    if tag & 7 == 2 {
                        write_number(field.len() as u64, &mut bytes);
                    }
                    bytes.extend(field);
                }
            }
        }
        bytes
    }

    fn push(&mut self, field: u64, bytes: impl AsRef<[u8]>) {
        self.0.push((field << 3 | 2, Field::Bytes(bytes.as_ref().to_vec())));
    }

    fn push_number(&mut self, field: u64, number: u64) {
        self.0.push((field << 3, Field::Number(number)));
    }

    /// Returns the contents of a field that holds bytes.
    fn all(&mut self, field: u64) -> impl Iterator<Item = &mut Vec<u8>> {
        self.0.iter_mut().filter_map(move |(tag, value)| match value {
            Field::Bytes(bytes) if *tag >> 3 == field => Some(bytes),
            _ => None,
        })
    }

    fn text(&mut self, field: u64) -> String {
        self.all(field).next().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).unwrap_or_default()
    }

    /// Changes the message in a field.
    fn within(&mut self, field: u64, change: impl Fn(&mut Message)) {
        for bytes in self.all(field) {
            let mut message = Message::read(bytes);
            change(&mut message);
            *bytes = message.bytes();
        }
    }
}

fn number(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first().unwrap();
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn write_number(mut number: u64, into: &mut Vec<u8>) {
    while number > 0x7F {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn cast(from: &str, name: &str, to: u64) -> Message {
    let mut attribute = Message::default();
    attribute.push(1, "to");
    attribute.push_number(3, to);
    attribute.push_number(20, 2); // a whole number
    let mut node = Message::default();
    node.push(1, from);
    node.push(2, name);
    node.push(4, "Cast");
    node.push(5, attribute.bytes());
    node
}

/// A graph while it is made narrow.
struct Narrowing {
    to: u64,
    nodes: Vec<Message>,
    narrowed: HashSet<String>,
}

fn is_cache(name: &str) -> bool {
    name.starts_with("past_key_values.") || name.starts_with("present.")
}

fn is_narrow(name: &str) -> bool {
    is_cache(name) || name == "logits"
}

fn wide(name: &str) -> String {
    format!("{name}/wide")
}

impl Narrowing {
    fn node(&mut self, mut node: Message) {
        let is_attention = node.text(4) == "GroupQueryAttention";
        if is_attention {
            self.attention(node);
        } else {
            let mut given = Vec::new();
            for name in node.all(1).filter(|name| is_narrow(str::from_utf8(name).unwrap())) {
                *name = wide(str::from_utf8(name).unwrap()).into_bytes();
            }
            for name in node.all(2).filter(|name| is_narrow(str::from_utf8(name).unwrap())) {
                given.push(String::from_utf8(name.clone()).unwrap());
                *name = wide(str::from_utf8(name).unwrap()).into_bytes();
            }
            self.nodes.push(node);
            let casts = given.iter().map(|name| cast(&wide(name), name, self.to));
            self.nodes.extend(casts);
        }
    }

    /// Adds casts around an attention, which computes in the number type of its caches.
    fn attention(&mut self, mut node: Message) {
        let inputs = node.all(1).enumerate().filter(|(at, name)| ATTENTION.contains(at) && !name.is_empty());
        for (_, input) in inputs {
            let name = String::from_utf8(input.clone()).unwrap();
            let narrow = format!("{name}/narrow");
            *input = narrow.clone().into_bytes();
            if self.narrowed.insert(name.clone()) {
                self.nodes.push(cast(&name, &narrow, self.to));
            }
        }
        let output = node.all(2).next().unwrap();
        let name = String::from_utf8(output.clone()).unwrap();
        let narrow = format!("{name}/narrow");
        *output = narrow.clone().into_bytes();
        self.nodes.push(node);
        self.nodes.push(cast(&narrow, &name, FLOAT));
    }
}

fn narrowed_graph(bytes: &[u8], to: u64) -> Vec<u8> {
    let graph = Message::read(bytes);
    let mut rest = Message::default();
    let mut narrowing = Narrowing { to, nodes: Vec::new(), narrowed: HashSet::new() };
    let mut nodes = Vec::new();
    for (tag, field) in graph.0 {
        match (tag >> 3, field) {
            (1, Field::Bytes(node)) => nodes.push(Message::read(&node)),
            // Inputs and outputs.
            (11 | 12, Field::Bytes(value)) => {
                let mut value = Message::read(&value);
                let name = value.text(1);
                if is_narrow(&name) {
                    value.within(2, |kind| kind.within(1, |tensor| set_number(tensor, 1, to)));
                }
                if name.starts_with("past_key_values.") {
                    narrowing.nodes.push(cast(&name, &wide(&name), FLOAT));
                }
                rest.push(tag >> 3, value.bytes());
            }
            // The types of values between nodes are optional.
            (13, _) => {}
            (_, field) => rest.0.push((tag, field)),
        }
    }
    nodes.into_iter().for_each(|node| narrowing.node(node));
    narrowing.nodes.iter().for_each(|node| rest.push(1, node.bytes()));
    rest.bytes()
}

fn set_number(message: &mut Message, field: u64, number: u64) {
    message.0.iter_mut().filter(|(tag, _)| tag >> 3 == field).for_each(|(_, value)| {
        *value = Field::Number(number);
    });
}

/// Copies an export's folder with caches and logits of another type of numbers.
pub(crate) fn narrow(from: &Path, to: &Path, kind: u64) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
    let mut model = Message::read(&fs::read(from.join("model.onnx")).unwrap());
    let graph = model.all(7).next().unwrap();
    *graph = narrowed_graph(graph, kind);
    fs::write(to.join("model.onnx"), model.bytes()).unwrap();
}

/// Numbers of `onnx.TensorProto.DataType`.
const UINT8: u64 = 2;
const INT8: u64 = 3;

/// Numbers of `onnx.AttributeProto.AttributeType`.
const INTEGER: u64 = 2;
const STRING: u64 = 3;

/// The inputs of `GroupQueryAttention` that are the scales of keys and of values; those before it may be absent.
const SCALES: [&str; 2] = ["key_scale", "value_scale"];
const BEFORE_SCALES: usize = 12;

/// Copies an export's folder with caches of `bits` bits, 8 or 4, whose numbers are multiples of `scale`.
pub(crate) fn quantize(from: &Path, to: &Path, bits: u64, scale: f32) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
    let mut model = Message::read(&fs::read(from.join("model.onnx")).unwrap());
    model.within(7, |graph| {
        graph.within(1, |node| quantize_attention(node, bits));
        for field in [11, 12] {
            graph.within(field, |value| quantize_value(value, bits));
        }
        for name in SCALES {
            graph.push(5, scale_tensor(name, scale).bytes());
        }
    });
    fs::write(to.join("model.onnx"), model.bytes()).unwrap();
}

fn quantize_attention(node: &mut Message, bits: u64) {
    if node.text(4) != "GroupQueryAttention" {
        return;
    }
    for _ in node.all(1).count()..BEFORE_SCALES {
        node.push(1, "");
    }
    for name in SCALES {
        node.push(1, name);
    }
    for name in ["k_quant_type", "v_quant_type"] {
        let mut attribute = Message::default();
        attribute.push(1, name);
        attribute.push(4, "PER_TENSOR");
        attribute.push_number(20, STRING);
        node.push(5, attribute.bytes());
    }
    let mut attribute = Message::default();
    attribute.push(1, "kv_cache_bit_width");
    attribute.push_number(3, bits);
    attribute.push_number(20, INTEGER);
    node.push(5, attribute.bytes());
}

/// Changes the type of a cache; a byte has two numbers of 4 bits.
fn quantize_value(value: &mut Message, bits: u64) {
    if !is_cache(&value.text(1)) {
        return;
    }
    let kind = if bits == 4 { UINT8 } else { INT8 };
    value.within(2, |of| of.within(1, |tensor| set_number(tensor, 1, kind)));
    if bits == 4 {
        value.within(2, |of| of.within(1, |tensor| tensor.within(2, halve_last_dimension)));
    }
}

fn halve_last_dimension(shape: &mut Message) {
    let last = shape.all(1).last().unwrap();
    let mut dimension = Message::read(last);
    for (_, field) in &mut dimension.0 {
        if let Field::Number(size) = field {
            *size /= 2;
        }
    }
    *last = dimension.bytes();
}

fn scale_tensor(name: &str, scale: f32) -> Message {
    let mut tensor = Message::default();
    tensor.push_number(1, 1); // one dimension, of size 1
    tensor.push_number(2, FLOAT);
    tensor.push(8, name);
    tensor.push(9, scale.to_le_bytes());
    tensor
}
