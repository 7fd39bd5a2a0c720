//! A low-rank adapter: tensors that a graph is fed beside the rest, at each run. Knows no cache.
//!
//! ONNX Runtime has an interface for adapters too, and does what is done here: a parameter is an input. But a run on bound
//! buffers goes without the adapters of its options, which ONNX Runtime only warns of; so parameters are fed as inputs
//! everywhere, and a parameter that the graph does not take is an error rather than without effect.

use std::collections::BTreeSet;
use std::path::Path;

use alloquy_core::{Error, Result};
use ort::memory::Allocator;
use ort::session::Session;
use ort::value::{DynTensor, DynValue, Shape, ValueType};

use crate::adapter_file::{Parameter, parameters};
use crate::error::{model, runtime};
use crate::layout::Layout;

/// How the files of adapters end.
pub(crate) const ENDING: &str = "onnx_adapter";

/// How long an adapter may be: its format has no places beyond.
pub(crate) const ADAPTER: u64 = 2 << 30;

/// An adapter's tensors by name; none without an adapter.
#[derive(Debug, Default)]
pub(crate) struct Adapter {
    name: String,
    tensors: Vec<(String, DynValue)>,
}

impl Adapter {
    /// Reads an adapter's file.
    pub(crate) fn read(name: &Path, bytes: &[u8]) -> Result<Self> {
        let name = name.display().to_string();
        let damaged = |reason| model(format!("{name:?} is not a whole adapter: {reason}"));
        let parameters = parameters(bytes).map_err(damaged)?;
        let made = |parameter: &Parameter<'_>| Ok((parameter.name.to_owned(), tensor(parameter)?.into_dyn()));
        let mut names = BTreeSet::new();
        if let Some(twice) = parameters.iter().find(|parameter| !names.insert(parameter.name)) {
            return Err(model(format!("adapter {name:?} has {:?} twice", twice.name)));
        }
        let tensors = parameters.iter().map(made).collect::<Result<_>>()?;
        Ok(Self { name, tensors })
    }

    /// Returns what a graph is fed, by the names of its inputs.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (&str, &DynValue)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Returns the names of the inputs that it feeds.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.tensors.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Checks that every parameter has its place in the graph, and fits there.
    pub(crate) fn check(&self, session: &Session, layout: &Layout) -> Result<()> {
        let places = places(session, layout);
        self.tensors.iter().try_for_each(|(name, tensor)| {
            let place = places.iter().find(|(place, _)| place == name);
            let (_, place) = place.ok_or_else(|| self.misplaced(name, &places))?;
            match fits(tensor.dtype(), place) {
                true => Ok(()),
                false => Err(model(format!(
                    "adapter {:?} has {name} as {}, and the graph takes {place}",
                    self.name,
                    tensor.dtype()
                ))),
            }
        })
    }

    fn misplaced(&self, parameter: &str, places: &[(String, ValueType)]) -> Error {
        let names: Vec<_> = places.iter().map(|(name, _)| name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        model(format!(
            "adapter {:?} has {parameter:?}, for which the graph has no place; it has {names}",
            self.name
        ))
    }
}

/// The inputs that an adapter may feed: those with a value of their own, and those that nobody else feeds.
fn places(session: &Session, layout: &Layout) -> Vec<(String, ValueType)> {
    let optional = session.overridable_initializers();
    let optional = optional.iter().map(|place| (place.name().to_owned(), place.dtype().clone()));
    let inputs = session.inputs().iter().filter(|input| !layout.knows(input.name()));
    optional.chain(inputs.map(|input| (input.name().to_owned(), input.dtype().clone()))).collect()
}

/// Says whether a tensor has the type of a place, where a size of -1 is any.
fn fits(tensor: &ValueType, place: &ValueType) -> bool {
    let (Some(shape), Some(wanted)) = (tensor.tensor_shape(), place.tensor_shape()) else { return false };
    let mut sizes = shape.iter().zip(wanted.iter());
    tensor.tensor_type() == place.tensor_type()
        && shape.len() == wanted.len()
        && sizes.all(|(size, wanted)| *wanted < 0 || size == wanted)
}

#[allow(unsafe_code)] // the elements of a tensor whose type is known at run time alone are reached by a pointer
fn tensor(parameter: &Parameter<'_>) -> Result<DynTensor> {
    let shape = Shape::new(parameter.shape.iter().copied());
    let tensor = DynTensor::new(&Allocator::default(), parameter.element, shape);
    let mut tensor = tensor.map_err(runtime("make room for an adapter"))?;
    let bytes = parameter.bytes;
    if !bytes.is_empty() {
        // SAFETY: the tensor was made in main memory with this type and this shape, which take as many bytes as there are:
        // whoever read the parameter has checked it.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(tensor.data_ptr_mut().cast(), bytes.len()) };
    }
    Ok(tensor)
}
