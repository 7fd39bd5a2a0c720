//! A low-rank adapter: tensors that are inputs of the graph at each run.
//!
//! ONNX Runtime has an interface for adapters too, and does the same: a parameter is an input. But a run on bound
//! buffers ignores the adapters of its options, and ONNX Runtime only logs a warning. So parameters are fed as inputs
//! everywhere here, and a parameter that the graph does not take is an error.

use std::collections::BTreeSet;
use std::path::Path;

use alloquy_core::{Error, Result};
use ort::memory::Allocator;
use ort::session::Session;
use ort::value::{DynTensor, DynValue, Shape, ValueType};

use crate::adapter_file::{Parameter, parameters};
use crate::error::{model, runtime};
use crate::layout::Layout;

/// The extension of adapter files.
pub(crate) const ENDING: &str = "onnx_adapter";

/// How long an adapter may be, in bytes: the offsets of its format end there.
pub(crate) const ADAPTER: u64 = 2 << 30;

/// The tensors of an adapter, by name. The default has none.
#[derive(Debug, Default)]
pub(crate) struct Adapter {
    name: String,
    tensors: Vec<(String, DynValue)>,
}

impl Adapter {
    /// Reads an adapter's file.
    pub(crate) fn read(name: &Path, bytes: &[u8]) -> Result<Self> {
        let name = name.display().to_string();
        let parameters = match parameters(bytes) {
            Ok(parameters) => parameters,
            Err(reason) => return Err(model(format!("{name:?} is not a whole adapter: {reason}"))),
        };
        let mut names = BTreeSet::new();
        if let Some(twice) = parameters.iter().find(|parameter| !names.insert(parameter.name)) {
            return Err(model(format!("adapter {name:?} has {:?} twice", twice.name)));
        }
        let mut tensors = Vec::with_capacity(parameters.len());
        for parameter in &parameters {
            tensors.push((parameter.name.to_owned(), tensor(parameter)?.into_dyn()));
        }
        Ok(Self { name, tensors })
    }

    /// Returns the tensors by the names of the inputs that they are for.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = (&str, &DynValue)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Returns the names of the inputs that the tensors are for.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.tensors.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Checks that the graph has an input for every tensor, of the same type and shape.
    pub(crate) fn check(&self, session: &Session, layout: &Layout) -> Result<()> {
        let places = places(session, layout);
        for (name, tensor) in &self.tensors {
            let Some((_, place)) = places.iter().find(|(place, _)| place == name) else {
                return Err(self.misplaced(name, &places));
            };
            if !fits(tensor.dtype(), place) {
                return Err(model(format!(
                    "adapter {:?} has {name} as {}, and the graph takes {place}",
                    self.name,
                    tensor.dtype()
                )));
            }
        }
        Ok(())
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

/// Returns the inputs that an adapter may feed: those with a default value, and those that have no other source.
fn places(session: &Session, layout: &Layout) -> Vec<(String, ValueType)> {
    let optional = session.overridable_initializers();
    let optional = optional.iter().map(|place| (place.name().to_owned(), place.dtype().clone()));
    let inputs = session.inputs().iter().filter(|input| !layout.knows(input.name()));
    optional.chain(inputs.map(|input| (input.name().to_owned(), input.dtype().clone()))).collect()
}

/// Returns whether a tensor has the type and the shape of a place. A size of -1 there matches any size.
fn fits(tensor: &ValueType, place: &ValueType) -> bool {
    let (Some(shape), Some(wanted)) = (tensor.tensor_shape(), place.tensor_shape()) else { return false };
    let mut sizes = shape.iter().zip(wanted.iter());
    tensor.tensor_type() == place.tensor_type()
        && shape.len() == wanted.len()
        && sizes.all(|(size, wanted)| *wanted < 0 || size == wanted)
}

#[allow(unsafe_code)] // the elements of a tensor whose type is known only at run time are reached through a pointer
fn tensor(parameter: &Parameter<'_>) -> Result<DynTensor> {
    let shape = Shape::new(parameter.shape.iter().copied());
    let tensor = DynTensor::new(&Allocator::default(), parameter.element, shape);
    let mut tensor = tensor.map_err(runtime("make room for an adapter"))?;
    let bytes = parameter.bytes;
    if !bytes.is_empty() {
        // SAFETY: the tensor was made in main memory with this type and this shape. They take exactly `bytes.len()` bytes:
        // `adapter_file::parameters` has checked that.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(tensor.data_ptr_mut().cast(), bytes.len()) };
    }
    Ok(tensor)
}
