//! A graph that reads whole texts: its inputs, and which of its outputs has vectors or scores.

use std::sync::{Mutex, PoisonError};

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, Result};
use alloquy_model_files::TextTokens;
use ort::memory::Allocator;
use ort::session::{Session, SessionInputValue};
use ort::value::{DynTensor, DynValue, Outlet, Tensor, TensorElementType};

use crate::element::Element;
use crate::error::{self, model, unsupported};

/// The names of outputs with a vector for each token, and with one for each text.
const TOKEN_VECTORS: [&str; 3] = ["last_hidden_state", "token_embeddings", "hidden_states"];
const TEXT_VECTORS: [&str; 3] = ["sentence_embedding", "sentence_embeddings", "text_embeds"];
/// The name of an output with scores.
const SCORES: &str = "logits";

/// How the names of the inputs of a cache begin. A text is read at once, so a cache is always empty.
const CACHES: &str = "past_key_values";

/// A loaded graph.
#[derive(Debug)]
pub(super) struct TextGraph {
    /// A run needs exclusive access, so several callers take turns.
    session: Mutex<Session>,
    inputs: Vec<Input>,
    /// The token that fills shorter rows.
    padding: TokenId,
}

#[derive(Debug)]
struct Input {
    name: String,
    kind: InputKind,
    element: TensorElementType,
}

#[derive(Debug, PartialEq, Eq)]
enum InputKind {
    Tokens,
    Mask,
    Types,
    Positions,
    /// A cache, with the sizes of its tensor; unknown ones are negative.
    Cache(Vec<i64>),
}

/// An output of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) name: String,
    element: Element,
}

/// The numbers that a run computed.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) shape: Vec<usize>,
    pub(super) numbers: Vec<f32>,
}

impl TextGraph {
    /// Finds the inputs of a graph.
    pub(super) fn new(session: Session, padding: TokenId) -> Result<Self> {
        let inputs = session.inputs().iter().map(input).collect::<Result<Vec<_>>>()?;
        if !inputs.iter().any(|input| input.kind == InputKind::Tokens) {
            return Err(unsupported("the graph has no input input_ids, so it reads no texts"));
        }
        Ok(Self { session: Mutex::new(session), inputs, padding })
    }

    /// Returns the output with a vector for each token: by its name, else the first with three axes.
    pub(super) fn token_vectors(&self) -> Option<Output> {
        self.output(&TOKEN_VECTORS, 3)
    }

    /// Returns the output with a vector for each text: by its name, else the first with two axes.
    pub(super) fn text_vectors(&self) -> Option<Output> {
        self.output(&TEXT_VECTORS, 2)
    }

    /// Returns the output with scores.
    pub(super) fn scores(&self) -> Option<Output> {
        self.output(&[SCORES], 2)
    }

    /// Returns the names of all outputs, for an error.
    pub(super) fn outputs(&self) -> String {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let names: Vec<_> = session.outputs().iter().map(Outlet::name).collect();
        names.join(", ")
    }

    fn output(&self, names: &[&str], axes: usize) -> Option<Output> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<(usize, Output)> = Vec::new();
        for outlet in session.outputs() {
            let kind = outlet.dtype();
            let Some(element) = kind.tensor_type().and_then(Element::of) else { continue };
            if kind.tensor_shape().map(|shape| shape.len()) != Some(axes) {
                continue;
            }
            let rank = names.iter().position(|name| *name == outlet.name()).unwrap_or(names.len());
            found.push((rank, Output { name: outlet.name().to_owned(), element }));
        }
        found.into_iter().min_by_key(|(rank, _)| *rank).map(|(_, output)| output)
    }

    /// Computes an output for some texts, which are filled up to `width` tokens.
    pub(super) fn run(&self, texts: &[&TextTokens], width: usize, output: &Output) -> Result<Numbers> {
        let action = format!("compute {}", output.name);
        self.computed(texts, width, output).map_err(error::runtime(&action))
    }

    fn computed(&self, texts: &[&TextTokens], width: usize, output: &Output) -> ort::Result<Numbers> {
        let mut inputs: Vec<(&str, SessionInputValue<'_>)> = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            inputs.push((&input.name, self.value(input, texts, width)?.into()));
        }
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(inputs)?;
        let Some(value) = outputs.get(&output.name) else {
            return Err(ort::Error::new(format!("the graph did not return {}", output.name)));
        };
        let mut found = Numbers::default();
        let shape = value.dtype().tensor_shape();
        for &size in shape.map(|shape| &shape[..]).unwrap_or_default() {
            found.shape.push(usize::try_from(size).unwrap_or_default());
        }
        output.element.widen(value, 0..found.shape.iter().product(), &mut found.numbers)?;
        Ok(found)
    }

    fn value(&self, input: &Input, texts: &[&TextTokens], width: usize) -> ort::Result<DynValue> {
        if let InputKind::Cache(sizes) = &input.kind {
            return empty_cache(input.element, sizes, texts.len());
        }
        let mut numbers: Vec<i64> = Vec::with_capacity(texts.len() * width);
        for text in texts {
            for place in 0..width {
                let number = match &input.kind {
                    InputKind::Tokens => text.ids.get(place).copied().unwrap_or(self.padding).into(),
                    InputKind::Types => text.types.get(place).copied().unwrap_or_default().into(),
                    InputKind::Mask => i64::from(place < text.ids.len()),
                    InputKind::Positions => place as i64,
                    InputKind::Cache(_) => 0,
                };
                numbers.push(number);
            }
        }
        let shape = [texts.len(), width];
        if input.element == TensorElementType::Int32 {
            let numbers: Vec<i32> =
                numbers.into_iter().map(|number| i32::try_from(number).unwrap_or_default()).collect();
            return Ok(Tensor::from_array((shape, numbers))?.into_dyn());
        }
        Ok(Tensor::from_array((shape, numbers))?.into_dyn())
    }
}

impl Numbers {
    /// Returns the numbers of each row, after a check that there are `rows` rows, and that the other sizes are as `expected` says.
    pub(super) fn rows(
        &self,
        rows: usize,
        expected: &[Option<usize>],
    ) -> Result<std::slice::ChunksExact<'_, f32>> {
        let mut sizes = self.shape.iter();
        let is_right = sizes.next() == Some(&rows)
            && sizes.len() == expected.len()
            && sizes.zip(expected).all(|(size, expected)| expected.is_none_or(|expected| expected == *size));
        let size: usize = self.shape.iter().skip(1).product();
        if !is_right || size == 0 {
            return Err(wrong_shape(&self.shape, rows, expected));
        }
        Ok(self.numbers.chunks_exact(size))
    }
}

fn wrong_shape(shape: &[usize], rows: usize, expected: &[Option<usize>]) -> Error {
    let mut sizes = vec![rows.to_string()];
    for size in expected {
        sizes.push(size.map_or_else(|| "any".to_owned(), |size| size.to_string()));
    }
    model(format!("the graph returned a tensor of the sizes {shape:?}, expected [{}]", sizes.join(", ")))
}

/// Returns what an input is for, by its name.
fn input(outlet: &Outlet) -> Result<Input> {
    let name = outlet.name().to_owned();
    let kind = outlet.dtype();
    let (Some(element), Some(shape)) = (kind.tensor_type(), kind.tensor_shape()) else {
        return Err(unsupported(format!("the graph takes {name} as {kind}, which is not supported")));
    };
    let kind = match name.as_str() {
        "input_ids" => InputKind::Tokens,
        "attention_mask" => InputKind::Mask,
        "token_type_ids" => InputKind::Types,
        "position_ids" => InputKind::Positions,
        cache if cache.starts_with(CACHES) => InputKind::Cache(shape.to_vec()),
        _ => {
            return Err(unsupported(format!(
                "the graph takes {name:?}, expected input_ids, attention_mask, token_type_ids, position_ids or {CACHES}*: export the model \
                 without this input"
            )));
        }
    };
    let is_integer = matches!(element, TensorElementType::Int64 | TensorElementType::Int32);
    if !is_integer && !matches!(kind, InputKind::Cache(_)) {
        return Err(unsupported(format!("the graph takes {name} as {element}, expected int64 or int32")));
    }
    Ok(Input { name, kind, element })
}

/// Returns a cache of no positions. Of its unknown sizes the first is the number of rows.
fn empty_cache(element: TensorElementType, sizes: &[i64], rows: usize) -> ort::Result<DynValue> {
    let mut shape: Vec<i64> = sizes.iter().map(|&size| size.max(0)).collect();
    if let Some(first) = shape.first_mut() {
        *first = rows as i64;
    }
    Ok(DynTensor::new(&Allocator::default(), element, shape)?.into_dyn())
}
