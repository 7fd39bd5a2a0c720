//! The graph that makes features of pictures or of sounds. Knows no position.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use alloquy_core::Result;
use alloquy_engine::media_processor::MediaTensor;
use alloquy_model_files::Description;
use ort::session::{RunOptions, Session, SessionOutputs};
use ort::value::{DynValue, Outlet, TensorElementType};

use super::mask::{TrueIs, is_masked, questions};
use super::tensor::{are_alike, kind_of, value};
use crate::compute_time::ComputeTime;
use crate::element::Element;
use crate::error::{self, model, unsupported};
use crate::layout::EMBEDDINGS;

/// What an encoder encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EncoderKind {
    Vision,
    Audio,
}

impl EncoderKind {
    /// Its place in `genai_config.json`.
    fn section(self) -> &'static str {
        match self {
            Self::Vision => "vision",
            Self::Audio => "speech",
        }
    }

    /// What it is called where graphs are told apart.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Vision => "vision encoder",
            Self::Audio => "audio encoder",
        }
    }

    /// What exporters call its features.
    fn features(self) -> &'static str {
        match self {
            Self::Vision => "image_features",
            Self::Audio => "audio_features",
        }
    }
}

/// An encoder.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub(crate) kind: EncoderKind,
    /// The file's, for messages.
    name: String,
    session: Mutex<Session>,
    inputs: Vec<Input>,
    /// What is read of the outputs: under which name it is fed to the decoder, and under which it is given.
    outputs: Vec<(String, String)>,
    /// What true means in its mask, once it was asked.
    true_is: OnceLock<TrueIs>,
}

#[derive(Debug)]
struct Input {
    name: String,
    /// What else it is called in `genai_config.json`.
    called: Vec<String>,
    kind: TensorElementType,
    shape: Vec<i64>,
}

/// What an encoder gave, by the names of the decoder's inputs: rows of numbers, a row for each position.
#[derive(Debug)]
pub(crate) struct Encoded(Vec<(String, Vec<f32>)>);

impl Encoded {
    pub(crate) fn values(&self, of: &str) -> Option<&[f32]> {
        self.0.iter().find(|(name, _)| name == of).map(|(_, values)| values.as_slice())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(_, values)| size_of_val(values.as_slice())).sum()
    }
}

impl Encoder {
    /// Reads what a graph takes and gives; `deepstack` names the decoder's inputs for what is added behind its first layers.
    pub(crate) fn read(
        kind: EncoderKind,
        name: String,
        session: Session,
        description: &Description,
        deepstack: &[String],
    ) -> Result<Self> {
        let inputs = session.inputs().iter().map(|input| Input::read(input, kind, description));
        let inputs = inputs.collect::<Result<_>>()?;
        let names: Vec<_> = session.outputs().iter().map(|output| output.name().to_owned()).collect();
        let mut outputs = vec![(EMBEDDINGS.to_owned(), features(kind, &name, &names, description)?)];
        for wanted in deepstack.iter().filter(|_| kind == EncoderKind::Vision) {
            let given = names.iter().find(|given| *given == wanted || is_same_layer(given, wanted));
            let missing = || {
                let given = names.join(", ");
                model(format!("the decoder takes {wanted}, and {name} gives no such thing, only {given}"))
            };
            outputs.push((wanted.clone(), given.ok_or_else(missing)?.clone()));
        }
        Ok(Self { kind, name, session: Mutex::new(session), inputs, outputs, true_is: OnceLock::new() })
    }

    /// Returns the outputs that nobody reads.
    pub(crate) fn unread(&self) -> Vec<String> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let names = session.outputs().iter().map(|output| output.name().to_owned());
        names.filter(|name| !self.outputs.iter().any(|(_, given)| given == name)).collect()
    }

    /// Says whether each of the tensors has an input, and each input a tensor.
    pub(super) fn takes(&self, tensors: &[MediaTensor]) -> bool {
        tensors.len() == self.inputs.len()
            && tensors.iter().all(|tensor| self.inputs.iter().any(|input| input.takes(tensor)))
            && self.inputs.iter().all(|input| tensors.iter().any(|tensor| input.takes(tensor)))
    }

    /// Makes features of tensors that it takes, of so many numbers each.
    pub(super) fn encode(
        &self,
        tensors: Vec<MediaTensor>,
        width: usize,
        time: &ComputeTime,
        options: &RunOptions,
    ) -> Result<Encoded> {
        let run = |tensors| self.run(tensors, width, time, options);
        match self.kind == EncoderKind::Audio && is_masked(&tensors) {
            true => {
                let true_is = self.true_is(&tensors, &run)?;
                run(tensors.into_iter().map(|tensor| true_is.masked(tensor)).collect())
            }
            false => run(tensors),
        }
    }

    /// Returns what true means in the mask. Two that ask at once are told the same.
    fn true_is(
        &self,
        tensors: &[MediaTensor],
        run: &impl Fn(Vec<MediaTensor>) -> Result<Encoded>,
    ) -> Result<TrueIs> {
        if let Some(known) = self.true_is.get() {
            return Ok(*known);
        }
        let is_fixed = |tensor: &MediaTensor| {
            let input = self.inputs.iter().find(|input| input.takes(tensor));
            input.is_none_or(|input| input.shape.iter().take(2).any(|size| *size >= 0))
        };
        let [one, other] = questions(tensors, is_fixed);
        let (one, other) = (run(one)?, run(other)?);
        let heard = |encoded: &Encoded| encoded.values(EMBEDDINGS).unwrap_or_default().to_vec();
        Ok(*self.true_is.get_or_init(|| TrueIs::told_by(&heard(&one), &heard(&other))))
    }

    fn run(
        &self,
        tensors: Vec<MediaTensor>,
        width: usize,
        time: &ComputeTime,
        options: &RunOptions,
    ) -> Result<Encoded> {
        let fed = tensors.into_iter().map(|tensor| self.fed(tensor)).collect::<Result<Vec<_>>>()?;
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let action = format!("run {}", self.name);
        let outputs = time.counted(|| session.run_with_options(fed, options));
        let outputs = outputs.map_err(error::runtime(&action))?;
        let read = |(name, given): &(String, String)| Ok((name.clone(), self.rows(&outputs, given, width)?));
        self.outputs.iter().map(read).collect::<Result<_>>().map(Encoded)
    }

    fn fed(&self, tensor: MediaTensor) -> Result<(String, DynValue)> {
        let input = self.inputs.iter().find(|input| input.takes(&tensor));
        let input = input.ok_or_else(|| unsupported(format!("{self} takes no {}", tensor.name)))?;
        let fits = tensor.shape.len() == input.shape.len()
            && tensor.shape.iter().zip(&input.shape).all(|(&size, &taken)| taken < 0 || taken == size as i64);
        let (name, kind, shape) = (tensor.name.clone(), kind_of(&tensor.values), tensor.shape.clone());
        let refused = || {
            model(format!(
                "the processor gives {name} as {kind} {shape:?}, and {} takes {} as {} {:?}",
                self.name, input.name, input.kind, input.shape
            ))
        };
        match fits {
            true => {
                let value = value(tensor, input.kind).map_err(error::runtime("make a tensor of media"))?;
                Ok((input.name.clone(), value.ok_or_else(refused)?))
            }
            false => Err(refused()),
        }
    }

    fn rows(&self, outputs: &SessionOutputs<'_>, name: &str, width: usize) -> Result<Vec<f32>> {
        let wrong = |given: &str| {
            model(format!("{} gives {name} as {given}, and the decoder takes rows of {width}", self.name))
        };
        let value = outputs.get(name).ok_or_else(|| wrong("nothing"))?;
        let given = value.dtype();
        let shape = given.tensor_shape().filter(|shape| shape.last() == Some(&(width as i64)));
        let element = given.tensor_type().and_then(Element::of);
        let (Some(shape), Some(element)) = (shape, element) else { return Err(wrong(&given.to_string())) };
        let mut rows = Vec::new();
        let read = element.widen(value, 0..shape.num_elements(), &mut rows);
        read.map_err(error::runtime("read features"))?;
        Ok(rows)
    }
}

impl fmt::Display for Encoder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs: Vec<_> = self.inputs.iter().map(|input| input.name.as_str()).collect();
        write!(formatter, "{} takes {}", self.name, inputs.join(", "))
    }
}

impl Input {
    fn read(input: &Outlet, kind: EncoderKind, description: &Description) -> Result<Self> {
        let (name, given) = (input.name().to_owned(), input.dtype());
        let (Some(element), Some(shape)) = (given.tensor_type(), given.tensor_shape()) else {
            return Err(unsupported(format!("an encoder takes {name} as {given}, not a tensor")));
        };
        let names = description.pointer("genai_config.json", &format!("/model/{}/inputs", kind.section()));
        let names = names.and_then(serde_json::Value::as_object).into_iter().flatten();
        let called = names.filter(|(_, of)| of.as_str() == Some(&name)).map(|(called, _)| called.clone());
        Ok(Self { called: called.collect(), kind: element, shape: shape.to_vec(), name })
    }

    fn takes(&self, tensor: &MediaTensor) -> bool {
        let mut names = self.called.iter().chain([&self.name]);
        names.any(|name| are_alike(name, &tensor.name))
    }
}

/// Returns which of the outputs are the features.
fn features(kind: EncoderKind, file: &str, outputs: &[String], description: &Description) -> Result<String> {
    let place = format!("/model/{}/outputs/{}", kind.section(), kind.features());
    let named = description.pointer("genai_config.json", &place).and_then(serde_json::Value::as_str);
    let wanted = named.unwrap_or(kind.features());
    match outputs {
        [only] => Ok(only.clone()),
        outputs if outputs.iter().any(|name| name == wanted) => Ok(wanted.to_owned()),
        outputs => Err(model(format!("{file} gives no {wanted}, only {}", outputs.join(", ")))),
    }
}

/// Says whether an encoder's output and a decoder's input, by their names, are of the same layer: of both, exporters
/// differ in the name and agree in the number.
fn is_same_layer(given: &str, wanted: &str) -> bool {
    let number = |name: &str| {
        let digits = name.rsplit(|character: char| !character.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse::<usize>().ok())
    };
    given.starts_with("deepstack") && number(given).is_some() && number(given) == number(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_told_by_their_number() {
        assert!(is_same_layer("deepstack_feature_1", "deepstack_visual_embeds.1"));
        assert!(!is_same_layer("deepstack_feature_1", "deepstack_visual_embeds.2"));
        assert!(!is_same_layer("image_features_1", "deepstack_visual_embeds.1"));
        assert!(!is_same_layer("deepstack", "deepstack"));
    }
}
