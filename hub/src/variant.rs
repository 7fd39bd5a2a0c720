//! The variants of a model inside a repository: the same weights in other number types, or for other hardware.

use std::collections::BTreeSet;
use std::fmt;

use crate::listing::{HubFile, Listing};

/// The names of a decoder's graph, as optimum and transformers.js write it, without number type and extension.
const DECODERS: [&str; 2] = ["decoder_model_merged", "model"];

/// Other graphs that run beside a decoder.
const BESIDE: [&str; 3] = ["embed_tokens", "vision_encoder", "audio_encoder"];

/// The file that an export of ONNX Runtime GenAI has in each folder.
const GENAI: &str = "genai_config.json";

const TOKENIZER: &str = "tokenizer.json";

/// The files of SentencePiece and tiktoken. The first one is needed if there is no `tokenizer.json`.
const OTHER_TOKENIZERS: [&str; 5] =
    ["tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model", "tiktoken.model"];

/// How other files of tiktoken end.
const TIKTOKEN: &str = ".tiktoken";

/// The files that describe a model, beside its graphs.
const DESCRIPTIONS: [&str; 15] = [
    "added_tokens.json",
    "audio_processor_config.json",
    "chat_template.jinja",
    "chat_template.json",
    "config.json",
    "generation_config.json",
    "mlc-chat-config.json",
    "preprocessor_config.json",
    "processor_config.json",
    "quantize_config.json",
    "special_tokens_map.json",
    TOKENIZER,
    "tokenizer_config.json",
    "video_preprocessor_config.json",
    "vision_processor.json",
];

/// The folder of further templates.
const TEMPLATES: &str = "additional_chat_templates/";

/// A variant of a model.
///
/// ```no_run
/// # fn main() -> alloquy_hub::Result<()> {
/// use alloquy_hub::{Hub, human, variants};
///
/// let hub = Hub::from_env()?;
/// let listing = hub.list(&"onnx-community/Qwen3-0.6B-ONNX".parse()?, "main")?;
/// for variant in variants(&listing) {
///     println!("{:10} {}", variant.name, human(variant.bytes(&listing)));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variant {
    /// Its name: the number type of its weights, such as `q4`, or its folder, such as `cpu-int4-rtn-block-32-acc-level-4`.
    pub name: String,
    /// The number type of its weights.
    pub weights: Weights,
    /// The hardware that it was exported for.
    pub target: Target,
    /// The folder of its description files in the repository; empty for the root.
    pub folder: String,
    /// The path of the decoder's graph; `None` where `genai_config.json` names it.
    pub graph: Option<String>,
    /// The paths of all files that it needs.
    pub files: Vec<String>,
}

impl Variant {
    /// Returns the size of its files in bytes.
    pub fn bytes(&self, listing: &Listing) -> u64 {
        self.listed(listing).map(|file| file.bytes).sum()
    }

    /// Returns its files.
    pub fn listed<'a>(&'a self, listing: &'a Listing) -> impl Iterator<Item = &'a HubFile> {
        self.files.iter().filter_map(|path| listing.file(path))
    }

    /// Returns the path that opens the variant, relative to the repository: its graph, or its folder.
    pub fn path(&self) -> &str {
        self.graph.as_deref().unwrap_or(&self.folder)
    }
}

/// The number type of most weights. [`choose`](crate::choose) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Weights {
    /// Floats of 32 bits.
    F32,
    /// Floats of 16 bits, of either kind.
    F16,
    /// Integers of 8 bits.
    Int8,
    /// Integers of 4 bits, computed with floats of 32 bits or integers of 8.
    Int4,
    /// Integers of 4 bits, computed with floats of 16 bits.
    Int4F16,
    /// Another type, or one that the name does not tell.
    Other,
}

impl fmt::Display for Weights {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::F32 => "fp32",
            Self::F16 => "fp16",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Int4F16 => "q4f16",
            Self::Other => "unknown",
        })
    }
}

/// The hardware that a variant was exported for. [`choose`](crate::choose) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// Any hardware.
    Any,
    /// Processors, and no GPU.
    Cpu,
    /// GPUs and other accelerators.
    Accelerator,
}

/// Returns the variants of a repository in the order of its files; none if it has no model in ONNX.
pub fn variants(listing: &Listing) -> Vec<Variant> {
    let mut found = genai_variants(listing);
    found.extend(graph_variants(listing));
    found
}

/// Returns the files that describe the model of a repository: its tokenizer, its configuration and its templates, as a variant without
/// weights. `None` if the repository has no tokenizer, or no configuration.
pub(crate) fn description(listing: &Listing) -> Option<Variant> {
    let tokenizer = tokenizer(listing, "")?;
    listing.file("config.json")?;
    let mut files = Vec::new();
    for file in &listing.files {
        if is_description(&file.path, Some(&tokenizer)) {
            files.push(file.path.clone());
        }
    }
    Some(Variant {
        name: "description".to_owned(),
        weights: Weights::Other,
        target: Target::Any,
        folder: String::new(),
        graph: None,
        files,
    })
}

/// Returns whether a file describes the model whose tokenizer has this path.
fn is_description(path: &str, tokenizer: Option<&str>) -> bool {
    DESCRIPTIONS.contains(&path) || path.starts_with(TEMPLATES) || tokenizer == Some(path)
}

/// Finds the folders of ONNX Runtime GenAI.
fn genai_variants(listing: &Listing) -> Vec<Variant> {
    let mut found = Vec::new();
    for file in &listing.files {
        let Some(folder) = file.path.strip_suffix(GENAI).map(|folder| folder.trim_end_matches('/')) else {
            continue;
        };
        let mut files = files_of_folder(listing, folder);
        let has_graph = files.iter().any(|path| path.ends_with(".onnx"));
        let Some(tokenizer) = tokenizer(listing, folder) else { continue };
        if !has_graph {
            continue;
        }
        if !files.contains(&tokenizer) {
            files.push(tokenizer);
        }
        let name = folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("genai");
        found.push(Variant {
            name: name.to_owned(),
            weights: weights_in(folder),
            target: target_in(folder),
            folder: folder.to_owned(),
            graph: None,
            files,
        });
    }
    found
}

/// Returns the path of the tokenizer in a folder: `tokenizer.json`, or else a file of SentencePiece or tiktoken.
fn tokenizer(listing: &Listing, folder: &str) -> Option<String> {
    for name in std::iter::once(TOKENIZER).chain(OTHER_TOKENIZERS) {
        let path = join(folder, name);
        if listing.file(&path).is_some() {
            return Some(path);
        }
    }
    let mut paths = listing.files.iter().map(|file| &file.path);
    paths.find(|path| split(path).0 == folder && path.ends_with(TIKTOKEN)).cloned()
}

/// Returns the graphs, weights and descriptions right in a folder.
fn files_of_folder(listing: &Listing, folder: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for file in &listing.files {
        let (above, name) = split(&file.path);
        let is_needed = name.contains(".onnx")
            || name.ends_with(".onnx_adapter")
            || name.ends_with(".json")
            || name.ends_with(".jinja");
        if above == folder && is_needed {
            paths.push(file.path.clone());
        }
    }
    paths
}

/// Finds the graphs of optimum and transformers.js: in the root or in `onnx`, one for each number type.
fn graph_variants(listing: &Listing) -> Vec<Variant> {
    let mut found = Vec::new();
    if tokenizer(listing, "").is_none() || listing.file(GENAI).is_some() {
        return found;
    }
    let mut names = BTreeSet::new();
    for decoder in DECODERS {
        for file in &listing.files {
            let (folder, name) = split(&file.path);
            let Some(type_name) = type_of(decoder, name) else { continue };
            // A repository with merged decoders may have the halves of them under the other name.
            if !matches!(folder, "" | "onnx") || !names.insert(type_name.to_owned()) {
                continue;
            }
            found.push(graph_variant(listing, &file.path, folder, type_name));
        }
    }
    found
}

fn graph_variant(listing: &Listing, graph: &str, folder: &str, type_name: &str) -> Variant {
    let mut graphs = vec![graph.to_owned()];
    for name in BESIDE {
        graphs.extend(beside(listing, folder, name, type_name));
    }
    let tokenizer = tokenizer(listing, "");
    let mut files = Vec::new();
    for file in &listing.files {
        let is_weights = graphs.iter().any(|graph| is_part_of(graph, &file.path));
        if is_weights || is_description(&file.path, tokenizer.as_deref()) {
            files.push(file.path.clone());
        }
    }
    let name = if type_name.is_empty() { "fp32" } else { type_name };
    Variant {
        name: name.to_owned(),
        weights: weights_of_type(name),
        target: Target::Any,
        folder: String::new(),
        graph: Some(graph.to_owned()),
        files,
    }
}

/// Chooses the graph beside a decoder, by the rule that opening a folder has: that of the same number type, else that of 32-bit
/// floats, else the first by name.
fn beside(listing: &Listing, folder: &str, name: &str, type_name: &str) -> Option<String> {
    let mut others = Vec::new();
    for file in &listing.files {
        let (above, file_name) = split(&file.path);
        if above == folder
            && let Some(other) = type_of(name, file_name)
        {
            others.push((other, file.path.clone()));
        }
    }
    let wanted =
        [type_name, "", "fp32"].into_iter().find(|wanted| others.iter().any(|(other, _)| other == wanted));
    let position = others.iter().position(|(other, _)| Some(*other) == wanted).unwrap_or(0);
    others.into_iter().nth(position).map(|(_, path)| path)
}

/// Returns the number type in the file name of a graph; it is empty for 32-bit floats.
fn type_of<'a>(graph: &str, file: &'a str) -> Option<&'a str> {
    let rest = file.strip_prefix(graph)?.strip_suffix(".onnx")?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('_') }
}

/// Returns whether a file is a graph or a file of its weights: `model.onnx`, `model.onnx_data`, `model.onnx_data_1`,
/// `model.onnx.data`.
fn is_part_of(graph: &str, path: &str) -> bool {
    let Some(rest) = path.strip_prefix(graph) else { return false };
    rest.is_empty() || rest.starts_with("_data") || rest.starts_with(".data")
}

/// Returns the number type with a name of transformers.js.
///
/// Reference: `DATA_TYPES` and `DEFAULT_DTYPE_SUFFIX_MAPPING` of transformers.js.
fn weights_of_type(name: &str) -> Weights {
    match name {
        "fp32" => Weights::F32,
        "fp16" | "bf16" => Weights::F16,
        "int8" | "uint8" | "q8" | "quantized" => Weights::Int8,
        "q4" | "int4" => Weights::Int4,
        "q4f16" => Weights::Int4F16,
        // "bnb4" has 4 bits too, in an operator that processors compute slowly.
        _ => Weights::Other,
    }
}

/// Returns the number type that the path of a GenAI export names.
fn weights_in(folder: &str) -> Weights {
    let words: Vec<_> = words(folder).collect();
    let has = |word: &str| words.contains(&word);
    if has("int4") || has("q4") {
        Weights::Int4
    } else if has("int8") || has("q8") {
        Weights::Int8
    } else if has("fp16") || has("bf16") {
        Weights::F16
    } else if has("fp32") {
        Weights::F32
    } else {
        Weights::Other
    }
}

/// Returns the hardware that the path of a GenAI export names.
fn target_in(folder: &str) -> Target {
    let mut target = Target::Any;
    for word in words(folder) {
        match word {
            "cuda" | "gpu" | "directml" | "dml" | "webgpu" | "qnn" | "npu" | "openvino" | "vitis"
            | "trtrtx" | "rocm" => {
                return Target::Accelerator;
            }
            "cpu" => target = Target::Cpu,
            _ => {}
        }
    }
    target
}

fn words(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '-', '_'])
}

/// Splits a path into its folder and its name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
