//! Adapters written by hand: the FlatBuffers of `adapter_schema.fbs` of ONNX Runtime.

/// Element types, by the numbers of ONNX.
pub const FLOAT: u32 = 1;

/// A tensor of an adapter.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub shape: Vec<i64>,
    pub element: u32,
    pub bytes: Vec<u8>,
}

impl Parameter {
    pub fn floats(name: &'static str, shape: &[usize], values: &[f32]) -> Self {
        let shape = shape.iter().map(|&size| size as i64).collect();
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { name, shape, element: FLOAT, bytes }
    }
}

/// The place of the only vtable: all tables have four fields of four bytes.
const PLACES: usize = 8;

/// The bytes of an adapter.
pub fn adapter(parameters: &[Parameter]) -> Vec<u8> {
    let mut bytes = vec![20, 0, 0, 0];
    bytes.extend_from_slice(b"TORT");
    for short in [12_u16, 20, 4, 8, 12, 16] {
        bytes.extend_from_slice(&short.to_le_bytes());
    }
    let adapter = table(&mut bytes, [1, 1, 1, 0]);
    let list = bytes.len();
    point(&mut bytes, adapter + 16, list);
    number(&mut bytes, parameters.len() as u32);
    bytes.resize(bytes.len() + 4 * parameters.len(), 0);
    for (index, parameter) in parameters.iter().enumerate() {
        let place = table(&mut bytes, [0, 0, parameter.element, 0]);
        point(&mut bytes, list + 4 + 4 * index, place);
        let sizes: Vec<u8> = parameter.shape.iter().flat_map(|size| size.to_le_bytes()).collect();
        let text = [parameter.name.as_bytes(), b"\0"].concat();
        vector(&mut bytes, place + 4, parameter.name.len(), &text);
        vector(&mut bytes, place + 8, parameter.shape.len(), &sizes);
        vector(&mut bytes, place + 16, parameter.bytes.len(), &parameter.bytes);
    }
    bytes
}

fn table(bytes: &mut Vec<u8>, fields: [u32; 4]) -> usize {
    let place = bytes.len();
    number(bytes, (place - PLACES) as u32);
    fields.into_iter().for_each(|field| number(bytes, field));
    place
}

/// Appends a vector whose elements begin at a multiple of 8, and points the field at `field` to it.
fn vector(bytes: &mut Vec<u8>, field: usize, count: usize, elements: &[u8]) {
    while bytes.len() % 8 != 4 {
        bytes.push(0);
    }
    let place = bytes.len();
    point(bytes, field, place);
    number(bytes, count as u32);
    bytes.extend_from_slice(elements);
    while !bytes.len().is_multiple_of(4) {
        bytes.push(0);
    }
}

fn number(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

/// Points the four bytes at `field` to `place`.
fn point(bytes: &mut [u8], field: usize, place: usize) {
    bytes[field..field + 4].copy_from_slice(&((place - field) as u32).to_le_bytes());
}
