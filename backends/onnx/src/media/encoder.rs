//! An encoder: the graph that makes features of images or of audio.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use alloquy_core::{Error, Result};
use alloquy_engine::media_processor::MediaTensor;
use alloquy_model_files::Description;
use ort::session::{RunOptions, Session, SessionOutputs};
use ort::value::{DynValue, Outlet, TensorElementType};

use super::mask::{TrueIs, is_masked, probe_clips};
use super::tensor::{are_alike, kind_of, value};
use crate::compute_time::ComputeTime;
use crate::element::Element;
use crate::error::{self, model, unsupported};
use crate::layout::EMBEDDINGS;

/// The media that an encoder encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EncoderKind {
    Vision,
    Audio,
}

impl EncoderKind {
    /// Returns its section in `genai_config.json`.
    fn section(self) -> &'static str {
        match self {
            Self::Vision => "vision",
            Self::Audio => "speech",
        }
    }

    /// Returns its name in the model's identity.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Vision => "vision encoder",
            Self::Audio => "audio encoder",
        }
    }

    /// Returns the name that exporters give its features.
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
    /// The file's name, for messages.
    name: String,
    session: Mutex<Session>,
    inputs: Vec<Input>,
    /// The outputs that are read: the name of the decoder's input, and the name of the output.
    outputs: Vec<(String, String)>,
    /// The meaning of true in its mask, known after the first audio clip.
    true_is: OnceLock<TrueIs>,
}

#[derive(Debug)]
struct Input {
    name: String,
    /// Its other names in `genai_config.json`.
    aliases: Vec<String>,
    kind: TensorElementType,
    shape: Vec<i64>,
}

/// The outputs of an encoder by the names of the decoder's inputs: rows of numbers, one for each position.
#[derive(Debug)]
pub(crate) struct Encoded(Vec<(String, Vec<f32>)>);

impl Encoded {
    pub(crate) fn values(&self, of: &str) -> Option<&[f32]> {
        self.0.iter().find(|(name, _)| name == of).map(|(_, values)| values.as_slice())
    }

    /// Returns the features that replace embeddings.
    pub(super) fn features(&self) -> &[f32] {
        self.values(EMBEDDINGS).unwrap_or_default()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(_, values)| size_of_val(values.as_slice())).sum()
    }
}

/// How an encoder is run.
#[derive(Clone, Copy)]
pub(super) struct EncoderRun<'a> {
    /// The size of a feature.
    pub(super) width: usize,
    pub(super) time: &'a ComputeTime,
    pub(super) options: &'a RunOptions,
}

impl Encoder {
    /// Finds the inputs and outputs of a graph. `deepstack` are the decoder's inputs for features that are added after its first
    /// layers.
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
            let Some(given) = names.iter().find(|given| *given == wanted || is_same_layer(given, wanted))
            else {
                return Err(model(format!(
                    "the decoder takes {wanted}, which {name} does not give; its outputs are {}",
                    names.join(", ")
                )));
            };
            outputs.push((wanted.clone(), given.clone()));
        }
        Ok(Self { kind, name, session: Mutex::new(session), inputs, outputs, true_is: OnceLock::new() })
    }

    /// Returns the outputs that are not read.
    pub(crate) fn unread(&self) -> Vec<String> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let names = session.outputs().iter().map(|output| output.name().to_owned());
        names.filter(|name| !self.outputs.iter().any(|(_, given)| given == name)).collect()
    }

    /// Returns whether there is an input for each of the tensors, and a tensor for each input.
    pub(super) fn takes(&self, tensors: &[MediaTensor]) -> bool {
        tensors.len() == self.inputs.len()
            && tensors.iter().all(|tensor| self.inputs.iter().any(|input| input.takes(tensor)))
            && self.inputs.iter().all(|input| tensors.iter().any(|tensor| input.takes(tensor)))
    }

    /// Makes features of tensors that it takes.
    pub(super) fn encode(&self, tensors: Vec<MediaTensor>, run: EncoderRun<'_>) -> Result<Encoded> {
        if self.kind != EncoderKind::Audio || !is_masked(&tensors) {
            return self.run(tensors, run);
        }
        let true_is = self.true_is(&tensors, run)?;
        self.run(tensors.into_iter().map(|tensor| true_is.masked(tensor)).collect(), run)
    }

    /// Returns the meaning of true in the mask. Two threads that find it out at once get the same result.
    fn true_is(&self, tensors: &[MediaTensor], run: EncoderRun<'_>) -> Result<TrueIs> {
        if let Some(known) = self.true_is.get() {
            return Ok(*known);
        }
        let [one, other] = probe_clips(tensors, |tensor| self.is_fixed(tensor));
        let one = self.run(one, run)?;
        let other = self.run(other, run)?;
        Ok(*self.true_is.get_or_init(|| TrueIs::of_features(one.features(), other.features())))
    }

    /// Returns whether the input for a tensor has a fixed number of segments or frames.
    fn is_fixed(&self, tensor: &MediaTensor) -> bool {
        let input = self.inputs.iter().find(|input| input.takes(tensor));
        input.is_none_or(|input| input.shape.iter().take(2).any(|size| *size >= 0))
    }

    fn run(&self, tensors: Vec<MediaTensor>, run: EncoderRun<'_>) -> Result<Encoded> {
        let fed = tensors.into_iter().map(|tensor| self.fed(tensor)).collect::<Result<Vec<_>>>()?;
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let action = format!("run {}", self.name);
        let outputs = run.time.counted(|| session.run_with_options(fed, run.options));
        let outputs = outputs.map_err(error::runtime(&action))?;
        let mut encoded = Vec::with_capacity(self.outputs.len());
        for (name, given) in &self.outputs {
            encoded.push((name.clone(), self.rows(&outputs, given, run.width)?));
        }
        Ok(Encoded(encoded))
    }

    fn fed(&self, tensor: MediaTensor) -> Result<(String, DynValue)> {
        let input = self.inputs.iter().find(|input| input.takes(&tensor));
        let input = input.ok_or_else(|| unsupported(format!("{self} takes no {}", tensor.name)))?;
        let fits = tensor.shape.len() == input.shape.len()
            && tensor.shape.iter().zip(&input.shape).all(|(&size, &taken)| taken < 0 || taken == size as i64);
        let given = format!("{} as {} {:?}", tensor.name, kind_of(&tensor.values), tensor.shape);
        if fits
            && let Some(value) =
                value(tensor, input.kind).map_err(error::runtime("make a tensor of media"))?
        {
            return Ok((input.name.clone(), value));
        }
        Err(model(format!(
            "the processor gives {given}, and {} takes {} as {} {:?}",
            self.name, input.name, input.kind, input.shape
        )))
    }

    fn rows(&self, outputs: &SessionOutputs<'_>, name: &str, width: usize) -> Result<Vec<f32>> {
        let Some(value) = outputs.get(name) else {
            return Err(self.mismatch(name, "nothing", width));
        };
        let given = value.dtype();
        let shape = given.tensor_shape().filter(|shape| shape.last() == Some(&(width as i64)));
        let element = given.tensor_type().and_then(Element::of);
        let (Some(shape), Some(element)) = (shape, element) else {
            return Err(self.mismatch(name, &given.to_string(), width));
        };
        let mut rows = Vec::new();
        let read = element.widen(value, 0..shape.num_elements(), &mut rows);
        read.map_err(error::runtime("read features"))?;
        Ok(rows)
    }

    fn mismatch(&self, output: &str, given: &str, width: usize) -> Error {
        model(format!("{} gives {output} as {given}, and the decoder takes rows of {width}", self.name))
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
        let name = input.name().to_owned();
        let given = input.dtype();
        let (Some(element), Some(shape)) = (given.tensor_type(), given.tensor_shape()) else {
            return Err(unsupported(format!("an encoder takes {name} as {given}, not a tensor")));
        };
        let names = description.pointer("genai_config.json", &format!("/model/{}/inputs", kind.section()));
        let names = names.and_then(serde_json::Value::as_object).into_iter().flatten();
        let aliases = names.filter(|(_, of)| of.as_str() == Some(&name)).map(|(alias, _)| alias.clone());
        Ok(Self { aliases: aliases.collect(), kind: element, shape: shape.to_vec(), name })
    }

    fn takes(&self, tensor: &MediaTensor) -> bool {
        let mut names = self.aliases.iter().chain([&self.name]);
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
        outputs => {
            Err(model(format!("{file} has no output {wanted}; its outputs are {}", outputs.join(", "))))
        }
    }
}

/// Returns whether an encoder's output and a decoder's input belong to the same layer. Exporters name them differently, but with
/// the same number at the end.
fn is_same_layer(given: &str, wanted: &str) -> bool {
    let number = last_number(given);
    given.starts_with("deepstack") && number.is_some() && number == last_number(wanted)
}

fn last_number(name: &str) -> Option<usize> {
    let digits = name.rsplit(|character: char| !character.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_matched_by_their_number() {
        assert!(is_same_layer("deepstack_feature_1", "deepstack_visual_embeds.1"));
        assert!(!is_same_layer("deepstack_feature_1", "deepstack_visual_embeds.2"));
        assert!(!is_same_layer("image_features_1", "deepstack_visual_embeds.1"));
        assert!(!is_same_layer("deepstack", "deepstack"));
    }
}
