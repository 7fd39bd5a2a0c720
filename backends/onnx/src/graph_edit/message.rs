//! Messages of a protocol buffer, and the fields of those of ONNX.

use std::collections::HashSet;
use std::ops::Range;

/// Field numbers.
pub(super) mod field {
    pub(in crate::graph_edit) const MODEL_FORMAT: u64 = 1;
    pub(in crate::graph_edit) const MODEL_GRAPH: u64 = 7;
    pub(in crate::graph_edit) const MODEL_OPSET: u64 = 8;
    pub(in crate::graph_edit) const OPSET_DOMAIN: u64 = 1;
    pub(in crate::graph_edit) const OPSET_VERSION: u64 = 2;
    pub(in crate::graph_edit) const GRAPH_NODE: u64 = 1;
    pub(in crate::graph_edit) const GRAPH_NAME: u64 = 2;
    pub(in crate::graph_edit) const GRAPH_INITIALIZER: u64 = 5;
    pub(in crate::graph_edit) const GRAPH_INPUT: u64 = 11;
    pub(in crate::graph_edit) const GRAPH_OUTPUT: u64 = 12;
    pub(in crate::graph_edit) const GRAPH_VALUE: u64 = 13;
    pub(in crate::graph_edit) const NODE_INPUT: u64 = 1;
    pub(in crate::graph_edit) const NODE_OUTPUT: u64 = 2;
    pub(in crate::graph_edit) const NODE_NAME: u64 = 3;
    pub(in crate::graph_edit) const NODE_OPERATOR: u64 = 4;
    pub(in crate::graph_edit) const NODE_ATTRIBUTE: u64 = 5;
    pub(in crate::graph_edit) const ATTRIBUTE_NAME: u64 = 1;
    pub(in crate::graph_edit) const ATTRIBUTE_INTEGER: u64 = 3;
    pub(in crate::graph_edit) const ATTRIBUTE_TEXT: u64 = 4;
    pub(in crate::graph_edit) const ATTRIBUTE_TYPE: u64 = 20;
    pub(in crate::graph_edit) const VALUE_NAME: u64 = 1;
    pub(in crate::graph_edit) const VALUE_TYPE: u64 = 2;
    pub(in crate::graph_edit) const TYPE_TENSOR: u64 = 1;
    pub(in crate::graph_edit) const TENSOR_ELEMENT: u64 = 1;
    pub(in crate::graph_edit) const TENSOR_SHAPE: u64 = 2;
    pub(in crate::graph_edit) const SHAPE_DIMENSION: u64 = 1;
    pub(in crate::graph_edit) const DIMENSION_SYMBOL: u64 = 2;
    pub(in crate::graph_edit) const CONSTANT_DIMENSIONS: u64 = 1;
    pub(in crate::graph_edit) const CONSTANT_ELEMENT: u64 = 2;
    pub(in crate::graph_edit) const CONSTANT_NAME: u64 = 8;
    pub(in crate::graph_edit) const CONSTANT_BYTES: u64 = 9;
}

/// One field of a message.
pub(super) struct Part<'a> {
    pub(super) number: u64,
    /// Where it begins in the message.
    pub(super) place: usize,
    /// Its tag and value.
    pub(super) whole: &'a [u8],
    /// The bytes of a value with a length; nothing for others.
    pub(super) value: &'a [u8],
    /// The number of a value that is one.
    pub(super) integer: Option<u64>,
}

/// A message as its fields, in their order.
pub(super) struct Message<'a> {
    pub(super) fields: Vec<Part<'a>>,
}

/// Why a message cannot be read.
pub(super) const DAMAGED: &str = "it is not a whole ONNX file";

impl<'a> Message<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let mut fields = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let place = at;
            let tag = varint(bytes, &mut at)?;
            let mut integer = None;
            let mut range = at..at;
            match tag & 7 {
                0 => integer = Some(varint(bytes, &mut at)?),
                1 => at += 8,
                2 => range = length_prefixed(bytes, &mut at)?,
                5 => at += 4,
                _ => return Err(DAMAGED),
            }
            let whole = bytes.get(place..at).ok_or(DAMAGED)?;
            let value = bytes.get(range).ok_or(DAMAGED)?;
            fields.push(Part { number: tag >> 3, place, whole, value, integer });
        }
        Ok(Self { fields })
    }

    /// Returns the values of a field that may be repeated.
    pub(super) fn all(&self, number: u64) -> impl Iterator<Item = &'a [u8]> {
        self.fields.iter().filter(move |part| part.number == number).map(|part| part.value)
    }

    /// Returns the value of a field that may not be repeated.
    pub(super) fn only(&self, number: u64) -> Option<&'a [u8]> {
        self.all(number).last()
    }

    pub(super) fn number(&self, number: u64) -> Option<u64> {
        self.fields.iter().rfind(|part| part.number == number)?.integer
    }
}

fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, &'static str> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or(DAMAGED)?;
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(DAMAGED)
}

fn length_prefixed(bytes: &[u8], at: &mut usize) -> Result<Range<usize>, &'static str> {
    let length = usize::try_from(varint(bytes, at)?).map_err(|_| DAMAGED)?;
    let start = *at;
    *at = start.checked_add(length).filter(|&end| end <= bytes.len()).ok_or(DAMAGED)?;
    Ok(start..*at)
}

fn write_varint(mut number: u64, into: &mut Vec<u8>) {
    while number > 0x7F {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

pub(super) fn write_number(field: u64, number: u64, into: &mut Vec<u8>) {
    write_varint(field << 3, into);
    write_varint(number, into);
}

pub(super) fn write_bytes(field: u64, bytes: &[u8], into: &mut Vec<u8>) {
    write_varint(field << 3 | 2, into);
    write_varint(bytes.len() as u64, into);
    into.extend_from_slice(bytes);
}

/// What makes one message of another.
pub(super) type Change<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<u8>, &'static str>;

/// Returns a message in which the message at a path of fields is changed.
pub(super) fn replaced(message: &[u8], path: &[u64], change: Change<'_>) -> Result<Vec<u8>, &'static str> {
    let Some((&first, rest)) = path.split_first() else { return change(message) };
    let mut into = Vec::new();
    for part in Message::read(message)?.fields {
        if part.number == first {
            write_bytes(first, &replaced(part.value, rest, change)?, &mut into);
        } else {
            into.extend_from_slice(part.whole);
        }
    }
    Ok(into)
}

/// Returns the name of a declared value.
pub(super) fn name(value: &[u8]) -> Result<&[u8], &'static str> {
    Ok(Message::read(value)?.only(field::VALUE_NAME).unwrap_or_default())
}

/// Returns the names of the values that a field of a graph declares.
pub(super) fn names<'a>(graph: &Message<'a>, number: u64) -> Result<HashSet<&'a [u8]>, &'static str> {
    graph.all(number).map(name).collect()
}

/// `onnx.AttributeProto.AttributeType`.
const INTEGER: u64 = 2;
const TEXT: u64 = 3;

/// Writes an attribute of a node that is a whole number.
pub(super) fn write_integer_attribute(name: &str, value: u64, into: &mut Vec<u8>) {
    let mut attribute = Vec::new();
    write_bytes(field::ATTRIBUTE_NAME, name.as_bytes(), &mut attribute);
    write_number(field::ATTRIBUTE_INTEGER, value, &mut attribute);
    write_number(field::ATTRIBUTE_TYPE, INTEGER, &mut attribute);
    write_bytes(field::NODE_ATTRIBUTE, &attribute, into);
}

/// Writes an attribute of a node that is a text.
pub(super) fn write_text_attribute(name: &str, value: &str, into: &mut Vec<u8>) {
    let mut attribute = Vec::new();
    write_bytes(field::ATTRIBUTE_NAME, name.as_bytes(), &mut attribute);
    write_bytes(field::ATTRIBUTE_TEXT, value.as_bytes(), &mut attribute);
    write_number(field::ATTRIBUTE_TYPE, TEXT, &mut attribute);
    write_bytes(field::NODE_ATTRIBUTE, &attribute, into);
}

/// Returns the name of a field of a node, if it is an attribute.
pub(super) fn attribute_name<'a>(part: &Part<'a>) -> Result<Option<&'a [u8]>, &'static str> {
    if part.number != field::NODE_ATTRIBUTE {
        return Ok(None);
    }
    Ok(Message::read(part.value)?.only(field::ATTRIBUTE_NAME))
}
