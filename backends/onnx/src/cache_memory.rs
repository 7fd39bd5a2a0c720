//! Where caches of keys and values are kept between runs: in main memory, or in that of the execution provider.

use std::fmt;

/// In which memory the caches of an engine are to be.
///
/// ```no_run
/// use alloquy_onnx::{CacheMemory, OnnxEngine};
///
/// // Measures what moving the caches costs: with each token they go to the device and back.
/// let engine = OnnxEngine::builder("models/qwen3-0.6b")
///     .providers(["webgpu"])
///     .cache_memory(CacheMemory::Host)
///     .load()?;
/// println!("{}", engine.cache_location());
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheMemory {
    /// In the provider's memory where it is a device with memory of its own that ONNX Runtime can allocate, else in main memory.
    #[default]
    Auto,
    /// In main memory. A device copies the caches in and out with each run.
    Host,
    /// In memory that the provider allocates. An engine whose provider has none is not loaded. The provider `cpu` allocates main memory,
    /// which is slower than [`CacheMemory::Host`].
    Provider,
}

/// In which memory the caches of an engine are.
///
/// ```
/// use alloquy_onnx::CacheLocation;
///
/// assert_eq!(CacheLocation::Host { reason: None }.to_string(), "caches in main memory");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheLocation {
    /// In main memory.
    Host {
        /// Why they are not in the memory of the device; `None` where that was not wanted.
        reason: Option<String>,
    },
    /// In memory of the provider.
    Provider {
        /// The name that ONNX Runtime has for it, such as `Cuda`.
        name: String,
    },
}

impl fmt::Display for CacheLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { reason: None } => formatter.write_str("caches in main memory"),
            Self::Host { reason: Some(reason) } => write!(formatter, "caches in main memory: {reason}"),
            Self::Provider { name } => write!(formatter, "caches in the provider's memory ({name})"),
        }
    }
}
