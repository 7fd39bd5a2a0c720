//! The graph that turns tokens into embeddings, for decoders that take embeddings.
//!
//! The features of media are inserted here, even where the graph could do that: a graph only replaces the token of
//! images, and a video has another token.

use std::sync::{Mutex, PoisonError};

use alloquy_core::Result;
use alloquy_model_files::Description;
use ort::memory::Allocator;
use ort::session::{Session, SessionInputValue, SessionOutputs};
use ort::value::{DynTensor, DynValue, Outlet, Tensor, TensorElementType};

use crate::compute_time::ComputeTime;
use crate::error::{model, unsupported};
use crate::layout::{EMBEDDINGS, Embeddings, Layout};
use crate::row::Row;

/// A graph of embeddings.
#[derive(Debug)]
pub(crate) struct Embedder {
    session: Mutex<Session>,
    input_ids: String,
    /// The name of the output.
    embeddings: String,
    /// Inputs for features, which get empty tensors.
    features: Vec<(String, TensorElementType, Vec<i64>)>,
}

impl Embedder {
    /// Finds the inputs and outputs of a graph.
    pub(crate) fn read(session: Session, description: &Description) -> Result<Self> {
        let input_ids = name(description, "inputs", "input_ids");
        let embeddings = name(description, "outputs", EMBEDDINGS);
        if !has(session.inputs(), &input_ids) || !has(session.outputs(), &embeddings) {
            let message = format!("the graph of embeddings does not turn {input_ids} into {embeddings}");
            return Err(unsupported(message));
        }
        let others = session.inputs().iter().filter(|input| input.name() != input_ids);
        let features = others.map(without_rows).collect::<Result<_>>()?;
        Ok(Self { session: Mutex::new(session), input_ids, embeddings, features })
    }

    /// Returns the names of all outputs.
    pub(crate) fn outputs(&self) -> Vec<String> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.outputs().iter().map(|output| output.name().to_owned()).collect()
    }

    /// Checks that the decoder takes the number type that this graph gives.
    pub(crate) fn check(&self, embeddings: &Embeddings) -> Result<()> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let output = session.outputs().iter().find(|output| output.name() == self.embeddings);
        let given = output.and_then(|output| output.dtype().tensor_type());
        if given != Some(embeddings.element.kind()) {
            return Err(model(format!(
                "the decoder takes {} as {}, and the graph of embeddings gives {given:?}; choose graphs of one type",
                embeddings.name,
                embeddings.element.kind()
            )));
        }
        Ok(())
    }

    /// Returns the inputs that the decoder takes instead of tokens, by name.
    pub(crate) fn feeds<'a>(
        &self,
        layout: &'a Layout,
        time: &ComputeTime,
        rows: &[Row<'_>],
        count: usize,
    ) -> ort::Result<Vec<(&'a str, DynValue)>> {
        let Some(embeddings) = layout.embeddings() else { return Ok(Vec::new()) };
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let inputs = self.inputs(rows, count)?;
        let mut outputs = time.counted(|| session.run(inputs))?;
        let mut embedded = take(&mut outputs, &self.embeddings)?;
        insert_features(&mut embedded, embeddings, rows, count, EMBEDDINGS)?;
        let mut feeds = vec![(embeddings.name.as_str(), embedded)];
        for name in &layout.beside_embeddings {
            feeds.push((name, take(&mut outputs, name)?));
        }
        for name in &layout.deepstack {
            let shape = [rows.len() as i64, count as i64, embeddings.width as i64];
            let mut added =
                DynTensor::new(&Allocator::default(), embeddings.element.kind(), shape)?.into_dyn();
            // ONNX Runtime does not promise zeros in a new tensor, and positions without media need zeros.
            embeddings.element.narrow(&mut added, 0, &vec![0.0; rows.len() * count * embeddings.width])?;
            insert_features(&mut added, embeddings, rows, count, name)?;
            feeds.push((name, added));
        }
        Ok(feeds)
    }

    fn inputs(&self, rows: &[Row<'_>], count: usize) -> ort::Result<Vec<(&str, SessionInputValue<'static>)>> {
        let mut ids = Vec::with_capacity(rows.len() * count);
        for row in rows {
            // A graph with inputs for features looks for the token of images and would miss the features there, so the
            // positions of features get token 0. Their embeddings are replaced by the features afterwards.
            let media = row.media.filter(|_| !self.features.is_empty());
            for (index, &token) in row.tokens.iter().enumerate() {
                let is_feature = media.is_some_and(|media| media.feature(index).is_some());
                ids.push(if is_feature { 0 } else { i64::from(token) });
            }
        }
        let ids = Tensor::from_array(([rows.len(), count], ids))?;
        let mut inputs = vec![(self.input_ids.as_str(), SessionInputValue::from(ids))];
        for (name, kind, shape) in &self.features {
            let none = DynTensor::new(&Allocator::default(), *kind, shape.as_slice())?;
            inputs.push((name, SessionInputValue::from(none)));
        }
        Ok(inputs)
    }
}

/// Returns the name of an input or output: the one in `genai_config.json`, or else `field`.
fn name(description: &Description, section: &str, field: &str) -> String {
    let place = format!("/model/embedding/{section}/{field}");
    let name = description.pointer("genai_config.json", &place);
    name.and_then(serde_json::Value::as_str).unwrap_or(field).to_owned()
}

fn has(outlets: &[Outlet], name: &str) -> bool {
    outlets.iter().any(|outlet| outlet.name() == name)
}

/// Returns the name, type and shape of an empty tensor for an input of features.
fn without_rows(input: &Outlet) -> Result<(String, TensorElementType, Vec<i64>)> {
    let name = input.name().to_owned();
    let kind = input.dtype();
    match (kind.tensor_type(), kind.tensor_shape()) {
        (Some(element), Some(shape)) if shape.iter().any(|&size| size < 0) => {
            Ok((name, element, shape.iter().map(|&size| size.max(0)).collect()))
        }
        _ => Err(unsupported(format!(
            "the graph of embeddings takes {name} as {kind}, which is not supported"
        ))),
    }
}

fn take(outputs: &mut SessionOutputs<'_>, name: &str) -> ort::Result<DynValue> {
    outputs.remove(name).ok_or_else(|| ort::Error::new(format!("the graph did not return {name}")))
}

/// Replaces the numbers at the positions of media by what the encoders gave.
fn insert_features(
    value: &mut DynValue,
    embeddings: &Embeddings,
    rows: &[Row<'_>],
    count: usize,
    of: &str,
) -> ort::Result<()> {
    for (number, row) in rows.iter().enumerate() {
        let Some(media) = row.media else { continue };
        for index in 0..count {
            if let Some(values) = media.values(index, of, embeddings.width) {
                let start = (number * count + index) * embeddings.width;
                embeddings.element.narrow(value, start, values)?;
            }
        }
    }
    Ok(())
}
