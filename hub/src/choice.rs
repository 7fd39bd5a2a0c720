//! Chooses the variant that fits a machine.

use std::fmt;

use crate::error::{HubError, Result};
use crate::listing::Listing;
use crate::repository::Repository;
use crate::size::human;
use crate::variant::{Target, Variant, Weights, description, variants};

/// How much memory a model takes beside its weights, in per cent of them: caches and buffers of a moderate context.
const BESIDE_WEIGHTS: u64 = 25;

/// The facts about a machine that decide which variant fits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// Its memory in bytes; `None` if it is not known.
    pub memory: Option<u64>,
    /// Whether the model will be computed on a GPU or another accelerator.
    pub has_accelerator: bool,
}

impl Machine {
    /// Returns the facts about this machine, computing on its processors.
    pub fn this() -> Self {
        Self { memory: memory(), has_accelerator: false }
    }

    /// Returns a machine with so many bytes of memory, and no accelerator.
    ///
    /// ```
    /// let machine = alloquy_hub::Machine::with_memory(16_000_000_000);
    /// assert!(!machine.has_accelerator);
    /// ```
    pub fn with_memory(bytes: u64) -> Self {
        Self { memory: Some(bytes), has_accelerator: false }
    }
}

/// Returns the memory of this machine, or of the container that it is.
fn memory() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    let total = system.total_memory();
    let bytes = match system.cgroup_limits() {
        Some(limits) if limits.total_memory > 0 => limits.total_memory.min(total),
        _ => total,
    };
    Some(bytes).filter(|&bytes| bytes > 0)
}

/// A variant that was chosen, and why. [`choose`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The variant.
    pub variant: Variant,
    /// The size of its files in bytes.
    pub bytes: u64,
    /// Why it was chosen.
    pub reason: Reason,
}

/// Why a variant was chosen. [`choose`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The caller named it.
    Named,
    /// There is no other one.
    Only,
    /// The weights are elsewhere.
    WithoutWeights,
    /// Of those that fit into memory it is computed best on this hardware.
    Best {
        /// The number type of its weights.
        weights: Weights,
    },
    /// None fits into memory; it is the smallest.
    Smallest {
        /// The memory of the machine in bytes.
        memory: u64,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named => formatter.write_str("as you asked"),
            Self::Only => formatter.write_str("the only one"),
            Self::WithoutWeights => {
                formatter.write_str("tokenizer, configuration and template, for a model on a server")
            }
            Self::Best { weights: Weights::Int4 } => {
                formatter.write_str("weights of 4 bits: small, and fast on processors")
            }
            Self::Best { weights: Weights::Int4F16 } => {
                formatter.write_str("weights of 4 bits: the smallest")
            }
            Self::Best { weights: Weights::Int8 } => {
                formatter.write_str("weights of 8 bits: fast on processors")
            }
            Self::Best { weights: Weights::F16 } => formatter.write_str("weights of 16 bits"),
            Self::Best { weights: Weights::F32 } => {
                formatter.write_str("weights of 32 bits: exact, and they fit into memory")
            }
            Self::Best { weights: Weights::Other } => formatter.write_str("it fits into memory"),
            Self::Smallest { memory } => {
                write!(
                    formatter,
                    "the smallest, though this machine's {} of memory may not be enough",
                    human(*memory)
                )
            }
        }
    }
}

/// Chooses the variant of a repository that is named, or else the one that fits a machine best.
///
/// On processors, weights of 4 bits come before those of 8, 32 and 16 bits; on accelerators those of 16 bits come first. A variant
/// for other hardware, or one that does not fit into memory, is chosen only if it is named or nothing else is there.
///
/// ```
/// use alloquy_hub::{HubFile, Listing, Machine, Reason, Target, Weights, choose};
///
/// let sizes = [("tokenizer.json", 7), ("onnx/model.onnx", 2400), ("onnx/model_q4.onnx", 920)];
/// let files = sizes.map(|(path, megabytes)| HubFile::new(path, megabytes * 1_000_000)).to_vec();
/// let listing = Listing::new("tiny/model".parse()?, files);
/// let choice = choose(&listing, None, Machine::with_memory(8_000_000_000))?;
/// assert_eq!((choice.variant.name.as_str(), choice.bytes), ("q4", 927_000_000));
/// assert_eq!((choice.variant.weights, choice.variant.target), (Weights::Int4, Target::Any));
/// assert_eq!(choice.reason, Reason::Best { weights: Weights::Int4 });
/// assert_eq!(choice.reason.to_string(), "weights of 4 bits: small, and fast on processors");
/// # Ok::<(), alloquy_hub::HubError>(())
/// ```
///
/// # Errors
/// [`HubError::NoVariant`] for a repository without a model in ONNX, [`HubError::UnknownVariant`] for a name that it does not have.
pub fn choose(listing: &Listing, named: Option<&str>, machine: Machine) -> Result<Choice> {
    let variants = variants(listing);
    if let Some(name) = named.filter(|_| !variants.is_empty()) {
        let variant = find(&listing.repository, variants, name)?;
        let bytes = variant.bytes(listing);
        return Ok(Choice { variant, bytes, reason: Reason::Named });
    }
    best(listing, variants, machine).ok_or_else(|| HubError::NoVariant {
        repository: listing.repository.to_string(),
        found: summary(listing),
    })
}

/// Chooses the files that describe a model, without weights: its tokenizer, its configuration and its templates.
///
/// They are what a model on a server needs here. Any repository with a tokenizer has them, whatever its weights are.
///
/// ```
/// use alloquy_hub::{HubFile, Listing, choose_description};
///
/// let sizes = [("config.json", 1), ("model.safetensors", 8_000_000), ("tokenizer.json", 7)];
/// let files = sizes.map(|(path, bytes)| HubFile::new(path, bytes)).to_vec();
/// let choice = choose_description(&Listing::new("tiny/model".parse()?, files))?;
/// assert_eq!((choice.variant.files.as_slice(), choice.bytes), (&["config.json".to_owned(), "tokenizer.json".to_owned()][..], 8));
/// # Ok::<(), alloquy_hub::HubError>(())
/// ```
///
/// # Errors
/// [`HubError::NoTokenizer`] for a repository without a tokenizer or without a configuration.
pub fn choose_description(listing: &Listing) -> Result<Choice> {
    let Some(variant) = description(listing) else {
        return Err(HubError::NoTokenizer { repository: listing.repository.to_string() });
    };
    let bytes = variant.bytes(listing);
    Ok(Choice { variant, bytes, reason: Reason::WithoutWeights })
}

fn find(repository: &Repository, variants: Vec<Variant>, name: &str) -> Result<Variant> {
    let position = variants.iter().position(|variant| variant.name == name || variant.folder == name);
    let known = variants.iter().map(|variant| variant.name.clone()).collect();
    let found = position.and_then(|position| variants.into_iter().nth(position));
    found.ok_or_else(|| HubError::UnknownVariant {
        repository: repository.to_string(),
        variant: name.to_owned(),
        known,
    })
}

/// Chooses by rank; `None` where there is no variant.
fn best(listing: &Listing, variants: Vec<Variant>, machine: Machine) -> Option<Choice> {
    let is_only = variants.len() == 1;
    let variant = variants.into_iter().min_by_key(|variant| rank(listing, variant, machine))?;
    let rank = rank(listing, &variant, machine);
    let reason = match machine.memory {
        Some(memory) if rank.is_too_large => Reason::Smallest { memory },
        _ if is_only => Reason::Only,
        _ => Reason::Best { weights: variant.weights },
    };
    let bytes = variant.bytes(listing);
    Some(Choice { variant, bytes, reason })
}

/// How well a variant fits: the least is the best. The fields are compared in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_for_other_hardware: bool,
    is_too_large: bool,
    /// The bytes of a variant that is too large; 0 for others.
    excess: u64,
    speed: u8,
    is_less_quantized: bool,
    bytes: u64,
}

fn rank(listing: &Listing, variant: &Variant, machine: Machine) -> Rank {
    let bytes = variant.bytes(listing);
    let needed = bytes.saturating_add(bytes / 100 * BESIDE_WEIGHTS);
    let is_too_large = machine.memory.is_some_and(|memory| needed > memory);
    let is_for_other_hardware = match variant.target {
        Target::Any => false,
        Target::Cpu => machine.has_accelerator,
        Target::Accelerator => !machine.has_accelerator,
    };
    Rank {
        is_for_other_hardware,
        is_too_large,
        excess: if is_too_large { bytes } else { 0 },
        // With this level activations have 8 bits too, which processors multiply several times as fast.
        is_less_quantized: !variant.name.contains("acc-level-4"),
        speed: if machine.has_accelerator {
            on_accelerators(variant.weights)
        } else {
            on_processors(variant.weights)
        },
        bytes,
    }
}

/// Decoding reads all weights for each token, so small types are fast; processors compute no 16-bit floats and convert them.
fn on_processors(weights: Weights) -> u8 {
    match weights {
        Weights::Int4 => 0,
        Weights::Int8 => 1,
        Weights::F32 => 2,
        Weights::Other => 3,
        Weights::Int4F16 => 4,
        Weights::F16 => 5,
    }
}

fn on_accelerators(weights: Weights) -> u8 {
    match weights {
        Weights::Int4F16 => 0,
        Weights::F16 => 1,
        Weights::Int4 => 2,
        Weights::F32 => 3,
        Weights::Int8 => 4,
        Weights::Other => 5,
    }
}

/// Returns what a repository has that might be meant, for a message.
fn summary(listing: &Listing) -> String {
    let endings = [".onnx", ".safetensors", ".gguf", ".bin", ".pt", ".tflite", ".litertlm"];
    let mut parts = Vec::new();
    for ending in endings {
        let count = listing.files.iter().filter(|file| file.path.ends_with(ending)).count();
        if count > 0 {
            parts.push(format!("{count} {ending}"));
        }
    }
    if parts.is_empty() { "it has no weights".to_owned() } else { format!("it has {}", parts.join(", ")) }
}
