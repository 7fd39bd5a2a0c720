//! The inputs and outputs of a decoder's graph, by name.
//!
//! The order of inputs differs between exporters and even between their versions, so only names count. GenAI exports list
//! their names in `genai_config.json`; optimum and transformers.js use the names that are the defaults here.

use alloquy_core::{Error, Result};
use alloquy_model_files::{Description, FactPlace, missing_fact};
use ort::value::{Outlet, TensorElementType, ValueType};

use crate::cache_element::CacheElement;
use crate::draft_heads::is_draft_head;
use crate::element::Element;
use crate::error::{model, unsupported};
use crate::graph_edit::KEEP;
use crate::slot::{MOST_NUMBERS, Slot, StateSlot};

/// The inputs and outputs of a graph.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) token_input: TokenInput,
    /// Inputs for further outputs of the graph of embeddings, which have the same names.
    pub(crate) beside_embeddings: Vec<String>,
    /// Inputs of the same shape as the embeddings, which are zero except at the positions of images.
    pub(crate) deepstack: Vec<String>,
    pub(crate) attention_mask: Option<String>,
    pub(crate) position_ids: Option<Positions>,
    /// The input that marks the positions of media.
    pub(crate) token_type_ids: Option<String>,
    /// The input for the number of logits to compute.
    pub(crate) num_logits_to_keep: Option<String>,
    /// The input that chooses the branch of a merged graph.
    pub(crate) use_cache_branch: Option<String>,
    pub(crate) logits: String,
    pub(crate) logits_element: Element,
    /// Whether the logits have the shape `[rows, tokens, vocabulary]`.
    pub(crate) logits_in_rows: bool,
    pub(crate) vocabulary: usize,
    /// Every cache tensor that grows with the positions.
    pub(crate) slots: Vec<Slot>,
    /// Every state: a tensor of fixed size that a run replaces, such as that of a convolution or a recurrent layer.
    pub(crate) states: Vec<StateSlot>,
    pub(crate) cache: CacheKind,
    /// Whether a run may have several rows.
    pub(crate) takes_rows: bool,
    /// The outputs of heads that predict several tokens at once. No run computes them.
    pub(crate) draft_heads: Vec<String>,
}

/// The input for tokens or their embeddings.
#[derive(Debug)]
pub(crate) enum TokenInput {
    /// Tokens.
    Ids(String),
    /// Embeddings of tokens, which another graph makes.
    Embeddings(Embeddings),
}

/// The input for embeddings.
#[derive(Debug)]
pub(crate) struct Embeddings {
    pub(crate) name: String,
    pub(crate) element: Element,
    /// How many numbers one position has.
    pub(crate) width: usize,
}

impl TokenInput {
    /// Returns the name of the input.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Ids(name) => name,
            Self::Embeddings(embeddings) => &embeddings.name,
        }
    }
}

/// The input for the numbers of positions.
#[derive(Debug)]
pub(crate) struct Positions {
    pub(crate) name: String,
    /// The number of the first position.
    pub(crate) first: usize,
    /// How many numbers a position has: one, or one for each axis of a multimodal rotary embedding.
    pub(crate) axes: usize,
}

/// How past becomes present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheKind {
    /// The graph writes into the buffer of its input, which must have room for at least so many positions.
    Shared { least: usize },
    /// The graph makes new, longer tensors.
    Concat,
}

const SHARED: FactPlace = ("genai_config.json", "/search/past_present_share_buffer");
const WINDOW: FactPlace = ("genai_config.json", "/model/decoder/sliding_window/window_size");

/// The beginnings of the names of caches: of an input, and of the output that becomes it.
const PRESENTS: [(&str, &str); 3] =
    [("past_key_values.", "present."), ("past_", "present_"), ("past.", "present.")];

const HEADS: &[FactPlace] = &[
    ("genai_config.json", "/model/decoder/num_key_value_heads"),
    ("config.json", "/num_key_value_heads"),
    ("config.json", "/text_config/num_key_value_heads"),
];

const WIDTH: &[FactPlace] = &[
    ("genai_config.json", "/model/decoder/head_size"),
    ("config.json", "/head_dim"),
    ("config.json", "/text_config/head_dim"),
];

/// The name that exporters give the input for embeddings.
pub(crate) const EMBEDDINGS: &str = "inputs_embeds";

/// The prefix of the inputs for features that are added after the first layers (Qwen3-VL).
const DEEPSTACK: &str = "deepstack";

const HIDDEN: &[FactPlace] = &[
    ("genai_config.json", "/model/decoder/hidden_size"),
    ("config.json", "/text_config/hidden_size"),
    ("config.json", "/hidden_size"),
];

/// The families that count positions from 1 in exports with an input for positions, as transformers.js does.
const COUNTED_FROM_ONE: [&str; 3] = ["gemma3", "gemma3_text", "paligemma"];

impl Layout {
    /// Reads the layout of a graph.
    pub(crate) fn read(inputs: &[Outlet], outputs: &[Outlet], description: &Description) -> Result<Self> {
        let graph = Graph { inputs, outputs, description };
        let (slots, states) = graph.caches()?;
        let logits = graph.output_name("logits");
        let token_input = graph.token_input()?;
        Ok(Self {
            takes_rows: graph.takes_rows(&token_input),
            draft_heads: graph.draft_heads(),
            token_input,
            beside_embeddings: Vec::new(),
            deepstack: graph.deepstack(),
            attention_mask: graph.optional("attention_mask"),
            position_ids: graph.positions()?,
            token_type_ids: graph.optional("token_type_ids"),
            num_logits_to_keep: graph.optional(KEEP),
            use_cache_branch: graph.optional("use_cache_branch"),
            vocabulary: graph.vocabulary(&logits)?,
            logits_element: graph.logits_element(&logits)?,
            logits_in_rows: tensor(graph.output(&logits)?)?.1.len() == 3,
            logits,
            cache: graph.cache_kind(),
            slots,
            states,
        })
    }

    /// Returns how many bytes one position takes in all cache tensors together.
    pub(crate) fn bytes_per_position(&self) -> usize {
        self.slots.iter().map(Slot::bytes).sum()
    }

    /// Returns how many bytes all states take together.
    pub(crate) fn state_bytes(&self) -> usize {
        self.states.iter().map(StateSlot::bytes).sum()
    }

    /// Refuses a graph with inputs that would not be fed: it would fail at its first run. `adapted` are the inputs that an adapter
    /// feeds.
    pub(crate) fn check(&self, inputs: &[Outlet], adapted: &[&str]) -> Result<()> {
        let mut unfed = Vec::new();
        for input in inputs {
            if !self.knows(input.name()) && !adapted.contains(&input.name()) {
                unfed.push(input.name());
            }
        }
        if !unfed.is_empty() {
            let unfed = unfed.join(", ");
            return Err(unsupported(format!("the graph takes inputs that are not supported: {unfed}")));
        }
        Ok(())
    }

    /// Connects further outputs of the graph of embeddings with the inputs of the same names.
    pub(crate) fn take_beside_embeddings(&mut self, inputs: &[Outlet], given: Vec<String>) {
        let mut names = given;
        names.retain(|name| find(inputs, name).is_some() && !self.knows(name));
        self.beside_embeddings = names;
    }

    /// Returns the input for embeddings, if the graph has one.
    pub(crate) fn embeddings(&self) -> Option<&Embeddings> {
        match &self.token_input {
            TokenInput::Ids(_) => None,
            TokenInput::Embeddings(embeddings) => Some(embeddings),
        }
    }

    /// Returns whether an input is fed at every run, with or without an adapter.
    pub(crate) fn knows(&self, input: &str) -> bool {
        let optional =
            [&self.attention_mask, &self.token_type_ids, &self.num_logits_to_keep, &self.use_cache_branch];
        let named = optional.into_iter().flatten().chain(&self.beside_embeddings).chain(&self.deepstack);
        let mut named = named.map(String::as_str).chain([self.token_input.name()]);
        let positions = self.position_ids.as_ref().is_some_and(|positions| positions.name == input);
        positions
            || named.any(|name| name == input)
            || self.slots.iter().any(|slot| slot.past == input)
            || self.states.iter().any(|state| state.past == input)
    }
}

struct Graph<'a> {
    inputs: &'a [Outlet],
    outputs: &'a [Outlet],
    description: &'a Description,
}

impl Graph<'_> {
    fn token_input(&self) -> Result<TokenInput> {
        let ids = self.input_name("input_ids");
        let embeddings = self.input_name(EMBEDDINGS);
        match (find(self.inputs, &ids), find(self.inputs, &embeddings)) {
            (Some(input), _) => match input.dtype().tensor_type() {
                Some(TensorElementType::Int64) => Ok(TokenInput::Ids(ids)),
                other => {
                    Err(unsupported(format!("the graph takes {ids} as {other:?}, only Int64 is supported")))
                }
            },
            (None, Some(input)) => Ok(TokenInput::Embeddings(self.embeddings(input)?)),
            (None, None) => {
                let names = names(self.inputs.iter());
                Err(unsupported(format!("the graph takes neither {ids} nor {embeddings}, only {names}")))
            }
        }
    }

    fn embeddings(&self, input: &Outlet) -> Result<Embeddings> {
        let name = input.name().to_owned();
        let (kind, shape) = tensor(input)?;
        let Some(element) = Element::of(kind) else {
            let message = format!("the graph takes {name} as {}, {}", input.dtype(), Element::SUPPORTED);
            return Err(unsupported(message));
        };
        let declared = shape.last().and_then(|&width| usize::try_from(width).ok());
        let width = declared.or_else(|| self.description.size(HIDDEN));
        let width = width.ok_or_else(|| missing_fact("hidden size", HIDDEN))?;
        Ok(Embeddings { name, element, width })
    }

    fn deepstack(&self) -> Vec<String> {
        let mut names = Vec::new();
        for input in self.inputs {
            let rank = input.dtype().tensor_shape().map(|shape| shape.len());
            if input.name().starts_with(DEEPSTACK) && rank == Some(3) {
                names.push(input.name().to_owned());
            }
        }
        names
    }

    /// Returns whether the number of rows is symbolic, which is a size of -1.
    fn takes_rows(&self, token_input: &TokenInput) -> bool {
        let input = find(self.inputs, token_input.name());
        let shape = input.and_then(|input| input.dtype().tensor_shape());
        shape.is_some_and(|shape| shape.first().is_some_and(|&rows| rows < 0))
    }

    fn optional(&self, field: &str) -> Option<String> {
        Some(self.input_name(field)).filter(|name| find(self.inputs, name).is_some())
    }

    fn positions(&self) -> Result<Option<Positions>> {
        let Some(name) = self.optional("position_ids") else { return Ok(None) };
        let Some(input) = find(self.inputs, &name) else { return Ok(None) };
        let axes = match *tensor(input)?.1 {
            [axes, _, _] if axes > 0 => usize::try_from(axes).unwrap_or(1),
            [_, _, last] if last > 0 => {
                let given = input.dtype();
                return Err(unsupported(format!(
                    "the graph takes {name} as {given}, only with its axes first"
                )));
            }
            // Time, height and width.
            [_, _, _] => 3,
            _ => 1,
        };
        let family = self.description.text(&[("config.json", "/model_type")]);
        let from_one = family.is_some_and(|family| COUNTED_FROM_ONE.contains(&family));
        Ok(Some(Positions { name, first: usize::from(from_one), axes }))
    }

    fn vocabulary(&self, logits: &str) -> Result<usize> {
        let (_, shape) = tensor(self.output(logits)?)?;
        let declared = shape.last().and_then(|&size| usize::try_from(size).ok());
        let places = [("genai_config.json", "/model/vocab_size"), ("config.json", "/vocab_size")];
        let size = declared.or_else(|| self.description.size(&places));
        size.ok_or_else(|| missing_fact("vocabulary", &places))
    }

    fn logits_element(&self, logits: &str) -> Result<Element> {
        let output = self.output(logits)?;
        Element::of(tensor(output)?.0).ok_or_else(|| {
            let supported = Element::SUPPORTED;
            unsupported(format!("the graph gives {logits} as {}, {supported}", output.dtype()))
        })
    }

    fn output(&self, name: &str) -> Result<&Outlet> {
        find(self.outputs, name)
            .ok_or_else(|| model(format!("the graph gives no {name}, only {}", names(self.outputs.iter()))))
    }

    /// Returns the tensors that grow with the positions, and the states. A tensor is a state if only its batch has a symbol as its size.
    fn draft_heads(&self) -> Vec<String> {
        let names = self.outputs.iter().map(|output| output.name().to_owned());
        names.filter(|name| is_draft_head(name)).collect()
    }

    fn caches(&self) -> Result<(Vec<Slot>, Vec<StateSlot>)> {
        let mut slots = Vec::new();
        let mut states = Vec::new();
        for input in self.inputs {
            if let Some(present) = self.key_or_value(input.name()) {
                slots.push(self.slot(input, present)?);
                continue;
            }
            let Some(present) = self.present(input.name()) else { continue };
            match fixed_shape(input)? {
                Some(shape) => states.push(self.state(input, present, shape)?),
                None => slots.push(self.slot(input, present)?),
            }
        }
        if slots.is_empty() && states.is_empty() {
            return Err(unsupported(format!(
                "the graph takes no cache, so every token would cost a whole prompt; it takes {}",
                names(self.inputs.iter())
            )));
        }
        Ok((slots, states))
    }

    /// Returns the output that becomes this input in the next run, if it has the keys or the values of a layer.
    fn key_or_value(&self, past: &str) -> Option<String> {
        for half in ["key", "value"] {
            let (from, to) = self.patterns(half);
            if let Some(present) = renamed(past, &from, &to) {
                return Some(present);
            }
        }
        None
    }

    /// Returns the output that becomes this input in the next run, for any other cache: an input whose name begins with `past` belongs to
    /// the output of the same name with `present`, as GenAI's builder (`past.3.conv`) and transformers.js (`past_conv.3`) write it.
    fn present(&self, past: &str) -> Option<String> {
        for (from, to) in PRESENTS {
            if let Some(rest) = past.strip_prefix(from) {
                let present = format!("{to}{rest}");
                if find(self.outputs, &present).is_some() {
                    return Some(present);
                }
            }
        }
        None
    }

    fn state(&self, input: &Outlet, present: String, shape: Vec<usize>) -> Result<StateSlot> {
        let past = input.name().to_owned();
        let element = self.cache_element(input, &present)?;
        let numbers = shape.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
        if numbers.is_none_or(|numbers| numbers > MOST_NUMBERS) {
            let message =
                format!("the state {past} is {}, of more than {MOST_NUMBERS} numbers", input.dtype());
            return Err(unsupported(message));
        }
        Ok(StateSlot { past, present, shape, element })
    }

    /// Returns the number type of a cache, which must be that of the output that it becomes.
    fn cache_element(&self, input: &Outlet, present: &str) -> Result<CacheElement> {
        let past = input.name();
        let Some(output) = find(self.outputs, present) else {
            return Err(model(format!("the graph takes {past} but does not give {present}")));
        };
        let (kind, _) = tensor(input)?;
        let Some(element) = CacheElement::of(kind) else {
            let message = format!("the cache {past} is {}, {}", input.dtype(), CacheElement::SUPPORTED);
            return Err(unsupported(message));
        };
        if tensor(output)?.0 != kind {
            let message = format!(
                "the graph takes {past} as {} and gives {present} as {}",
                input.dtype(),
                output.dtype()
            );
            return Err(model(message));
        }
        Ok(element)
    }

    fn slot(&self, input: &Outlet, present: String) -> Result<Slot> {
        let past = input.name().to_owned();
        let element = self.cache_element(input, &present)?;
        let (_, shape) = tensor(input)?;
        let &[_, heads, _, width] = shape else {
            return Err(unsupported(format!("the cache {past} is {}, not of 4 dimensions", input.dtype())));
        };
        let Some(heads) = self.size(heads, HEADS) else {
            return Err(missing_fact("number of key-value heads", HEADS));
        };
        // A description has the number of numbers, of which an element may have two.
        let described = || self.description.size(WIDTH).map(|size| size.div_ceil(element.numbers()));
        let Some(width) = usize::try_from(width).ok().or_else(described) else {
            return Err(missing_fact("head size", WIDTH));
        };
        // Sums and products of sizes up to this limit cannot overflow, so they are not checked elsewhere.
        let numbers = heads.checked_mul(width).filter(|&numbers| numbers <= MOST_NUMBERS);
        if numbers.is_none() {
            let message = format!(
                "the cache {past} has {heads} heads of {width} numbers for each position, more than {MOST_NUMBERS} numbers"
            );
            return Err(unsupported(message));
        }
        Ok(Slot { past, present, heads, width, element })
    }

    /// Returns a size: the one in the graph, or the one in the description files where the graph has a symbol (a negative size).
    fn size(&self, declared: i64, places: &[FactPlace]) -> Option<usize> {
        usize::try_from(declared).ok().or_else(|| self.description.size(places))
    }

    /// Returns the names of a cache input and its output, with `%d` for the layer.
    fn patterns(&self, half: &str) -> (String, String) {
        let past = self.configured("inputs", &format!("past_{half}_names"));
        let present = self.configured("outputs", &format!("present_{half}_names"));
        (
            past.map_or_else(|| format!("past_key_values.%d.{half}"), str::to_owned),
            present.map_or_else(|| format!("present.%d.{half}"), str::to_owned),
        )
    }

    fn input_name(&self, field: &str) -> String {
        self.name("inputs", field)
    }

    fn output_name(&self, field: &str) -> String {
        self.name("outputs", field)
    }

    fn name(&self, section: &str, field: &str) -> String {
        self.configured(section, field).unwrap_or(field).to_owned()
    }

    /// Returns the name that `genai_config.json` has for an input or output.
    fn configured(&self, section: &str, field: &str) -> Option<&str> {
        let pointer = format!("/model/decoder/{section}/{field}");
        self.description.pointer("genai_config.json", &pointer)?.as_str()
    }

    fn cache_kind(&self) -> CacheKind {
        match self.description.at(SHARED).and_then(serde_json::Value::as_bool) {
            Some(true) => CacheKind::Shared { least: self.description.size(&[WINDOW]).unwrap_or(0) },
            _ => CacheKind::Concat,
        }
    }
}

fn find<'a>(outlets: &'a [Outlet], name: &str) -> Option<&'a Outlet> {
    outlets.iter().find(|outlet| outlet.name() == name)
}

fn names<'a>(outlets: impl Iterator<Item = &'a Outlet>) -> String {
    let names: Vec<_> = outlets.map(Outlet::name).collect();
    names.join(", ")
}

fn tensor(outlet: &Outlet) -> Result<(TensorElementType, &[i64]), Error> {
    match outlet.dtype() {
        ValueType::Tensor { ty, shape, .. } => Ok((*ty, shape)),
        other => Err(unsupported(format!("{} is {other}, not a tensor", outlet.name()))),
    }
}

/// Returns the dimensions after the batch of a cache whose size does not depend on the number of positions; `None` for one that grows.
fn fixed_shape(outlet: &Outlet) -> Result<Option<Vec<usize>>> {
    let (_, shape) = tensor(outlet)?;
    let Some((_, rest)) = shape.split_first() else { return Ok(None) };
    let sizes: Vec<usize> = rest.iter().filter_map(|&size| usize::try_from(size).ok()).collect();
    Ok((sizes.len() == rest.len()).then_some(sizes))
}

/// Puts the layer's number from `name`, which has the pattern `from`, into the pattern `to`.
fn renamed(name: &str, from: &str, to: &str) -> Option<String> {
    let (before, after) = from.split_once("%d")?;
    let number = name.strip_prefix(before)?.strip_suffix(after)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| to.replace("%d", number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_keeps_its_number() {
        let from = "past_key_values.%d.key";
        let to = "present.%d.key";
        assert_eq!(renamed("past_key_values.12.key", from, to).as_deref(), Some("present.12.key"));
        assert_eq!(renamed("past_key_values.12.value", from, to), None);
        assert_eq!(renamed("past_key_values..key", from, to), None);
    }
}
