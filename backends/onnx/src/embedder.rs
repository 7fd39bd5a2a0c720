//! The graph that turns tokens into embeddings, for decoders that take those. Holds no cache.
//!
//! Features of media are put in here, not by the graph, even where it could: a graph knows the token of pictures alone, and
//! a film stands at another.

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
    /// The output.
    embeddings: String,
    /// Inputs for features; they are fed none.
    features: Vec<(String, TensorElementType, Vec<i64>)>,
}

impl Embedder {
    /// Reads what a graph takes and gives.
    pub(crate) fn read(session: Session, description: &Description) -> Result<Self> {
        let name = |section: &str, field: &str| {
            let place = format!("/model/embedding/{section}/{field}");
            let name = description.pointer("genai_config.json", &place);
            name.and_then(serde_json::Value::as_str).unwrap_or(field).to_owned()
        };
        let (input_ids, embeddings) = (name("inputs", "input_ids"), name("outputs", EMBEDDINGS));
        let is_there = |outlets: &[Outlet], name: &str| outlets.iter().any(|outlet| outlet.name() == name);
        if !is_there(session.inputs(), &input_ids) || !is_there(session.outputs(), &embeddings) {
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

    /// Says of a decoder that takes other numbers than are given.
    pub(crate) fn check(&self, embeddings: &Embeddings) -> Result<()> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let output = session.outputs().iter().find(|output| output.name() == self.embeddings);
        let given = output.and_then(|output| output.dtype().tensor_type());
        match given == Some(embeddings.element.kind()) {
            true => Ok(()),
            false => Err(model(format!(
                "the decoder takes {} as {}, and the graph of embeddings gives {given:?}; choose graphs of one type",
                embeddings.name,
                embeddings.element.kind()
            ))),
        }
    }

    /// Returns what the decoder is fed in place of tokens, by name.
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
        put_in(&mut embedded, embeddings, rows, count, EMBEDDINGS)?;
        let mut feeds = vec![(embeddings.name.as_str(), embedded)];
        for name in &layout.beside_embeddings {
            feeds.push((name, take(&mut outputs, name)?));
        }
        for name in &layout.deepstack {
            let shape = [rows.len() as i64, count as i64, embeddings.width as i64];
            let mut added =
                DynTensor::new(&Allocator::default(), embeddings.element.kind(), shape)?.into_dyn();
            // A new tensor is not said to hold zeros, and a place without media has nothing added to it.
            embeddings.element.narrow(&mut added, 0, &vec![0.0; rows.len() * count * embeddings.width])?;
            put_in(&mut added, embeddings, rows, count, name)?;
            feeds.push((name, added));
        }
        Ok(feeds)
    }

    fn inputs(&self, rows: &[Row<'_>], count: usize) -> ort::Result<Vec<(&str, SessionInputValue<'static>)>> {
        let ids = rows.iter().flat_map(|row| self.ids(row)).collect::<Vec<i64>>();
        let ids = Tensor::from_array(([rows.len(), count], ids))?;
        let mut inputs = vec![(self.input_ids.as_str(), SessionInputValue::from(ids))];
        for (name, kind, shape) in &self.features {
            let none = DynTensor::new(&Allocator::default(), *kind, shape.as_slice())?;
            inputs.push((name, SessionInputValue::from(none)));
        }
        Ok(inputs)
    }

    /// The tokens of a row. A graph that puts features in itself looks for their token, and there would be no features.
    fn ids(&self, row: &Row<'_>) -> impl Iterator<Item = i64> {
        let media = row.media.filter(|_| !self.features.is_empty());
        let is_feature = move |index| media.is_some_and(|media| media.feature(index).is_some());
        let ids = row.tokens.iter().enumerate();
        ids.map(move |(index, &token)| if is_feature(index) { 0 } else { i64::from(token) })
    }
}

/// Returns an input for features, without any.
fn without_rows(input: &Outlet) -> Result<(String, TensorElementType, Vec<i64>)> {
    let (name, kind) = (input.name().to_owned(), input.dtype());
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
    outputs.remove(name).ok_or_else(|| ort::Error::new(format!("{name} was not given")))
}

/// Puts what encoders gave in at the positions of media.
fn put_in(
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
