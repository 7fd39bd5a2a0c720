//! Keys and values are kept as numbers of 8 bits, a quarter of the memory of `f32`.
//!
//! `GroupQueryAttention` of ONNX Runtime 1.31 and newer keeps multiples of a scale, from -127 to 127 times. The scale is an input: one number for
//! all keys of a layer, and one for all values. A number beyond becomes the greatest one, so scales must be measured.
//!
//! Reference: <https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GroupQueryAttention>

use std::collections::BTreeMap;

use super::message::{
    Message, attribute_name, field, name, replaced, write_bytes, write_integer_attribute, write_number,
    write_text_attribute,
};
use super::with_graph;

const OPERATOR: &[u8] = b"GroupQueryAttention";

/// The inputs of the operator that are the past keys and values, and the scales of both.
const PASTS: [usize; 2] = [3, 4];
const SCALES: [usize; 2] = [12, 13];

/// The outputs that are the present keys and values.
const PRESENTS: [usize; 2] = [1, 2];

/// The attributes that say how caches are kept. Keys and values must be kept alike on the processor.
const KINDS: [&str; 2] = ["k_quant_type", "v_quant_type"];
const WIDTH: &str = "kv_cache_bit_width";

/// How caches are kept with one scale, and without any.
const ONE_SCALE: &str = "PER_TENSOR";
const NO_SCALE: &[u8] = b"NONE";

/// `onnx.TensorProto.DataType`.
const FLOAT: u64 = 1;
const INT8: u64 = 3;

/// The names of keys and values that are kept: the inputs and the outputs of an attention.
struct Caches<'a> {
    pasts: [&'a [u8]; 2],
    presents: [&'a [u8]; 2],
}

impl<'a> Caches<'a> {
    /// Returns the caches of a node; `None` for a node other than an attention.
    fn of(node: &Message<'a>) -> Result<Option<Self>, &'static str> {
        if node.only(field::NODE_OPERATOR) != Some(OPERATOR) {
            return Ok(None);
        }
        for part in &node.fields {
            let is_kind =
                attribute_name(part)?.is_some_and(|name| KINDS.iter().any(|kind| kind.as_bytes() == name));
            if is_kind && Message::read(part.value)?.only(field::ATTRIBUTE_TEXT) != Some(NO_SCALE) {
                return Err("its caches have few bits already");
            }
        }
        let inputs: Vec<_> = node.all(field::NODE_INPUT).collect();
        let outputs: Vec<_> = node.all(field::NODE_OUTPUT).collect();
        let pasts = PASTS.map(|number| inputs.get(number).copied().unwrap_or_default());
        let presents = PRESENTS.map(|number| outputs.get(number).copied().unwrap_or_default());
        Ok(Some(Self { pasts, presents }))
    }
}

/// Returns the names of the inputs that are caches and could be kept in 8 bits, or why they could not.
pub(crate) fn attention_caches(file: &[u8]) -> Result<Vec<String>, &'static str> {
    let model = Message::read(file)?;
    let graph = Message::read(model.only(field::MODEL_GRAPH).ok_or("it has no graph")?)?;
    let mut found = Vec::new();
    for node in graph.all(field::GRAPH_NODE) {
        let Some(caches) = Caches::of(&Message::read(node)?)? else { continue };
        for past in caches.pasts {
            let past = std::str::from_utf8(past).map_err(|_| "a cache has no readable name")?;
            found.push(past.to_owned());
        }
    }
    if found.is_empty() {
        return Err("it has no attention that can keep its cache in 8 bits (GroupQueryAttention)");
    }
    Ok(found)
}

/// Returns the file of a graph whose caches are kept in 8 bits, or why it is left as it is. `scales` has one for each cache, by the name of its input.
pub(crate) fn with_int8_cache(file: &[u8], scales: &BTreeMap<String, f32>) -> Result<Vec<u8>, &'static str> {
    with_graph(file, |graph| {
        let kept = kept(graph, scales)?;
        let mut into = Vec::new();
        for part in &graph.fields {
            match part.number {
                field::GRAPH_NODE => match Caches::of(&Message::read(part.value)?)? {
                    Some(caches) => {
                        let node = edited_attention(part.value, &caches)?;
                        write_bytes(field::GRAPH_NODE, &node, &mut into);
                    }
                    None => into.extend_from_slice(part.whole),
                },
                field::GRAPH_INPUT | field::GRAPH_OUTPUT if kept.contains(&name(part.value)?) => {
                    write_bytes(part.number, &retyped(part.value)?, &mut into);
                }
                // The declared types of these values are no longer true; ONNX Runtime finds them itself.
                field::GRAPH_VALUE if kept.contains(&name(part.value)?) => {}
                _ => into.extend_from_slice(part.whole),
            }
        }
        for (past, scale) in scales {
            write_bytes(field::GRAPH_INITIALIZER, &constant(&scale_name(past.as_bytes()), *scale), &mut into);
        }
        Ok(into)
    })
}

/// Returns the names of all caches. Each must be an input with a scale, or the output that becomes one, and no other input has a scale.
fn kept<'a>(graph: &Message<'a>, scales: &BTreeMap<String, f32>) -> Result<Vec<&'a [u8]>, &'static str> {
    let mut pasts = Vec::new();
    let mut presents = Vec::new();
    for node in graph.all(field::GRAPH_NODE) {
        let Some(caches) = Caches::of(&Message::read(node)?)? else { continue };
        pasts.extend(caches.pasts);
        presents.extend(caches.presents);
    }
    for past in &pasts {
        let is_measured = std::str::from_utf8(past).is_ok_and(|past| scales.contains_key(past));
        if !is_measured {
            return Err("an attention takes its cache from another operator, not from an input");
        }
    }
    if scales.keys().any(|scaled| !pasts.contains(&scaled.as_bytes())) {
        return Err("not all its caches are those of an attention that can keep them in 8 bits");
    }
    let mut outputs = Vec::new();
    for output in graph.all(field::GRAPH_OUTPUT) {
        outputs.push(name(output)?);
    }
    if presents.iter().any(|present| !outputs.contains(present)) {
        return Err("an attention gives its cache to another operator, not to an output");
    }
    pasts.extend(presents);
    Ok(pasts)
}

/// Returns the name of the scale of a cache.
fn scale_name(past: &[u8]) -> Vec<u8> {
    [b"alloquy/scale/".as_slice(), past].concat()
}

fn edited_attention(node: &[u8], caches: &Caches<'_>) -> Result<Vec<u8>, &'static str> {
    let node = Message::read(node)?;
    let mut inputs: Vec<Vec<u8>> = node.all(field::NODE_INPUT).map(<[u8]>::to_vec).collect();
    // An absent input has no name.
    let [_, last] = SCALES;
    inputs.resize(inputs.len().max(last + 1), Vec::new());
    for (number, past) in SCALES.into_iter().zip(caches.pasts) {
        if let Some(input) = inputs.get_mut(number) {
            *input = scale_name(past);
        }
    }
    let mut into = Vec::new();
    for input in inputs {
        write_bytes(field::NODE_INPUT, &input, &mut into);
    }
    for part in &node.fields {
        let is_replaced = match attribute_name(part)? {
            Some(name) => KINDS.iter().any(|kind| kind.as_bytes() == name) || name == WIDTH.as_bytes(),
            None => part.number == field::NODE_INPUT,
        };
        if !is_replaced {
            into.extend_from_slice(part.whole);
        }
    }
    for kind in KINDS {
        write_text_attribute(kind, ONE_SCALE, &mut into);
    }
    write_integer_attribute(WIDTH, 8, &mut into);
    Ok(into)
}

/// Returns the declaration of a cache with numbers of 8 bits.
fn retyped(value: &[u8]) -> Result<Vec<u8>, &'static str> {
    replaced(value, &[field::VALUE_TYPE, field::TYPE_TENSOR], &|tensor| {
        let tensor = Message::read(tensor)?;
        if tensor.number(field::TENSOR_ELEMENT) != Some(FLOAT) {
            return Err("its caches are not of f32");
        }
        let mut into = Vec::new();
        write_number(field::TENSOR_ELEMENT, INT8, &mut into);
        for part in tensor.fields {
            if part.number != field::TENSOR_ELEMENT {
                into.extend_from_slice(part.whole);
            }
        }
        Ok(into)
    })
}

/// Returns a constant: a list of one `f32`.
fn constant(name: &[u8], number: f32) -> Vec<u8> {
    let mut constant = Vec::new();
    write_number(field::CONSTANT_DIMENSIONS, 1, &mut constant);
    write_number(field::CONSTANT_ELEMENT, FLOAT, &mut constant);
    write_bytes(field::CONSTANT_NAME, name, &mut constant);
    write_bytes(field::CONSTANT_BYTES, &number.to_le_bytes(), &mut constant);
    constant
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cache(name: &str) -> Vec<u8> {
        let mut tensor = Vec::new();
        write_number(field::TENSOR_ELEMENT, FLOAT, &mut tensor);
        write_bytes(field::TENSOR_SHAPE, b"", &mut tensor);
        let mut kind = Vec::new();
        write_bytes(field::TYPE_TENSOR, &tensor, &mut kind);
        let mut value = Vec::new();
        write_bytes(field::VALUE_NAME, name.as_bytes(), &mut value);
        write_bytes(field::VALUE_TYPE, &kind, &mut value);
        value
    }

    /// A graph of one attention, with a product before it.
    fn graph(attribute: Option<&str>) -> Vec<u8> {
        let mut attention = Vec::new();
        for input in ["query", "", "", "past.key", "past.value", "length", "total"] {
            write_bytes(field::NODE_INPUT, input.as_bytes(), &mut attention);
        }
        for output in ["attended", "present.key", "present.value"] {
            write_bytes(field::NODE_OUTPUT, output.as_bytes(), &mut attention);
        }
        write_bytes(field::NODE_OPERATOR, OPERATOR, &mut attention);
        if let Some(kind) = attribute {
            write_text_attribute("k_quant_type", kind, &mut attention);
        }
        let mut product = Vec::new();
        write_bytes(field::NODE_OUTPUT, b"query", &mut product);
        write_bytes(field::NODE_OPERATOR, b"MatMulNBits", &mut product);
        let mut graph = Vec::new();
        write_bytes(field::GRAPH_NODE, &product, &mut graph);
        write_bytes(field::GRAPH_NODE, &attention, &mut graph);
        for past in ["past.key", "past.value"] {
            write_bytes(field::GRAPH_INPUT, &cache(past), &mut graph);
        }
        for present in ["present.key", "present.value"] {
            write_bytes(field::GRAPH_OUTPUT, &cache(present), &mut graph);
        }
        let mut model = Vec::new();
        write_bytes(field::MODEL_GRAPH, &graph, &mut model);
        model
    }

    fn scales(names: &[&str]) -> BTreeMap<String, f32> {
        names.iter().map(|name| ((*name).to_owned(), 0.5)).collect()
    }

    #[test]
    fn an_attention_gets_its_scales_and_its_caches_another_type() -> Result<(), &'static str> {
        let file = graph(Some("NONE"));
        assert_eq!(attention_caches(&file)?, ["past.key", "past.value"]);
        let edited = with_int8_cache(&file, &scales(&["past.key", "past.value"]))?;
        let model = Message::read(&edited)?;
        let graph = Message::read(model.only(field::MODEL_GRAPH).unwrap_or_default())?;
        let attention = Message::read(graph.all(field::GRAPH_NODE).nth(1).unwrap_or_default())?;
        let inputs: Vec<_> = attention.all(field::NODE_INPUT).map(String::from_utf8_lossy).collect();
        assert_eq!(
            inputs.join(" "),
            "query   past.key past.value length total      alloquy/scale/past.key alloquy/scale/past.value"
        );
        assert_eq!(attention.all(field::NODE_ATTRIBUTE).count(), 3);
        assert_eq!(graph.all(field::GRAPH_INITIALIZER).count(), 2);
        assert_eq!(attention_caches(&edited), Err("its caches have few bits already"));
        Ok(())
    }

    #[test]
    fn caches_without_a_scale_are_refused_and_so_are_scales_without_a_cache() {
        let refused = |names: &[&str]| with_int8_cache(&graph(None), &scales(names)).unwrap_err();
        assert_eq!(
            refused(&["past.key"]),
            "an attention takes its cache from another operator, not from an input"
        );
        assert_eq!(
            refused(&["past.key", "past.value", "past.conv"]),
            "not all its caches are those of an attention that can keep them in 8 bits"
        );
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_refused_or_edited(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut file = graph(Some("NONE"));
            for (place, byte) in changes {
                let place = place.index(file.len());
                if let Some(old) = file.get_mut(place) {
                    *old = byte;
                }
            }
            file.truncate(cut.index(file.len() + 1));
            if let Ok(edited) = with_int8_cache(&file, &scales(&["past.key", "past.value"])) {
                prop_assert!(Message::read(&edited).is_ok());
            }
            if let Ok(edited) = super::super::with_int8_products(&file) {
                prop_assert!(Message::read(&edited).is_ok());
            }
        }
    }
}
