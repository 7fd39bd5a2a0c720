//! Execution providers by name. A requested provider is used or refused; only a provider that the caller named may replace it.

use std::path::PathBuf;

use alloquy_core::report::Warning;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_onnx_runtime::{DownloadEvent, DownloadPolicy, Gpu, Locator};
use ort::environment::Environment;
use ort::ep::ExecutionProviderDispatch;

use crate::environment::{environment, is_plugged_in, plug_in};

/// The provider that computes in main memory.
pub(crate) const CPU: &str = "cpu";

/// The name for the fastest provider.
pub(crate) const AUTO: &str = "auto";

/// An execution provider that this crate knows, in this build or in a library of its own.
struct Known {
    name: &'static str,
    /// The name that ONNX Runtime has for it.
    full_name: &'static str,
    /// The names of its memory in versions of ONNX Runtime, the newest first; none for a provider that computes in main memory.
    memories: &'static [&'static str],
}

const KNOWN: [Known; 5] = [
    Known { name: CPU, full_name: "CPUExecutionProvider", memories: &[] },
    Known { name: "cuda", full_name: "CUDAExecutionProvider", memories: &["Cuda"] },
    Known { name: "coreml", full_name: "CoreMLExecutionProvider", memories: &[] },
    Known { name: "directml", full_name: "DmlExecutionProvider", memories: &["DML"] },
    Known {
        name: "webgpu",
        full_name: "WebGpuExecutionProvider",
        memories: &["WebGPU_Buf", "WebGPU_Buffer"],
    },
];

/// One execution provider of this build.
struct Provider {
    name: &'static str,
    /// Returns whether the loaded library has it.
    is_available: fn() -> ort::Result<bool>,
    /// Makes what is registered; `None` for a provider that needs no registration.
    build: Option<fn() -> ExecutionProviderDispatch>,
}

/// What a session is given so that a provider computes its graph.
pub(crate) enum Registration {
    /// A provider of this build.
    Built(Vec<ExecutionProviderDispatch>),
    /// A provider of a library of its own, by the name that ONNX Runtime has for it.
    Plugged(&'static str),
}

impl Registration {
    /// Returns the names of what computes.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Built(providers) => providers.iter().map(ExecutionProviderDispatch::name).collect(),
            Self::Plugged(name) => vec![name],
        }
    }
}

#[cfg(any(feature = "cuda", feature = "coreml", feature = "directml", feature = "webgpu"))]
macro_rules! provider {
    ($name:literal, $type:ty) => {
        Provider {
            name: $name,
            is_available: <$type as ort::ep::ExecutionProvider>::is_available,
            build: Some(|| <$type>::default().build()),
        }
    };
}

const PROVIDERS: &[Provider] = &[
    Provider { name: "cpu", is_available: || Ok(true), build: None },
    #[cfg(feature = "cuda")]
    provider!("cuda", ort::ep::CUDA),
    #[cfg(feature = "coreml")]
    provider!("coreml", ort::ep::CoreML),
    #[cfg(feature = "directml")]
    provider!("directml", ort::ep::DirectML),
    #[cfg(feature = "webgpu")]
    provider!("webgpu", ort::ep::WebGPU),
];

/// The provider that computes, and those that may replace it, in order.
#[derive(Clone, Debug)]
pub(crate) struct Providers {
    first: String,
    fallbacks: Vec<String>,
    /// Libraries of providers, which are not in the library of ONNX Runtime.
    libraries: Vec<PathBuf>,
}

/// A graph that was loaded, and its provider.
pub(crate) struct Loaded<T> {
    pub(crate) loaded: T,
    pub(crate) provider: String,
    /// The providers that it replaces, with the reasons.
    pub(crate) warnings: Vec<Warning>,
}

impl Providers {
    pub(crate) fn first(name: impl Into<String>) -> Self {
        Self { first: name.into(), fallbacks: Vec::new(), libraries: Vec::new() }
    }

    /// Makes the first of some names the provider, and the others its replacements; `None` for no name.
    pub(crate) fn of<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Option<Self> {
        let mut names = names.into_iter().map(Into::into);
        Some(Self { first: names.next()?, fallbacks: names.collect(), libraries: Vec::new() })
    }

    /// Returns the same providers, some of which are in libraries of their own.
    pub(crate) fn with_libraries(self, libraries: &[PathBuf]) -> Self {
        Self { libraries: libraries.to_vec(), ..self }
    }

    /// Returns whether the fastest provider is to compute.
    pub(crate) fn is_auto(&self) -> bool {
        self.first == AUTO
    }

    /// Returns whether a provider computes unless it is unavailable.
    pub(crate) fn compute_first_on(&self, name: &str) -> bool {
        self.first == name
    }

    /// Loads the library: the one that the caller named, else one for the first provider, else one for the others.
    pub(crate) fn environment(
        &self,
        named: Option<&Locator>,
        on_event: &mut dyn FnMut(DownloadEvent),
    ) -> Result<Environment> {
        let environment = self.environment_of_runtime(named, on_event)?;
        for library in &self.libraries {
            plug_in(library)?;
        }
        Ok(environment)
    }

    fn environment_of_runtime(
        &self,
        named: Option<&Locator>,
        on_event: &mut dyn FnMut(DownloadEvent),
    ) -> Result<Environment> {
        if self.is_auto() {
            return Self::of(fastest_first())
                .unwrap_or_else(|| Self::first(CPU))
                .environment_of_runtime(named, on_event);
        }
        // First, so that no library is searched for or fetched in vain. What other libraries have is known only when they are loaded.
        if self.libraries.is_empty() {
            require_providers([&self.first].into_iter().chain(&self.fallbacks))?;
        }
        let first = match self.first.as_str() {
            "cuda" if is_built("cuda") => Locator::new().gpu(Gpu::Cuda).policy(DownloadPolicy::Never),
            _ => Locator::new(),
        };
        let loaded = environment(named.unwrap_or(&first), on_event);
        match loaded {
            Err(_) if named.is_none() && !self.fallbacks.is_empty() => environment(&Locator::new(), on_event),
            loaded => loaded,
        }
    }

    /// Loads a graph for the first provider that can; `load` gets its name, and what to register for it.
    pub(crate) fn load<T>(&self, load: impl Fn(&str, &Registration) -> Result<T>) -> Result<Loaded<T>> {
        let mut name = &self.first;
        let mut rest = self.fallbacks.iter();
        let mut replaced = Vec::new();
        loop {
            let error = match provider(name).and_then(|provider| load(name, &provider)) {
                Ok(loaded) => return Ok(Loaded::new(loaded, name, replaced)),
                Err(error) => error,
            };
            match rest.next() {
                Some(next) if error.kind() == ErrorKind::Backend => {
                    replaced.push((name.clone(), error.to_string()));
                    name = next;
                }
                _ => return Err(error),
            }
        }
    }
}

impl<T> Loaded<T> {
    fn new(loaded: T, provider: &str, replaced: Vec<(String, String)>) -> Self {
        let mut warnings = Vec::new();
        for (asked, reason) in replaced {
            warnings.push(Warning::ProviderReplaced { asked, used: provider.to_owned(), reason });
        }
        Self { loaded, provider: provider.to_owned(), warnings }
    }
}

/// Returns the names of the execution providers that this build has; the library may have fewer.
///
/// ```
/// assert!(alloquy_onnx::providers().any(|name| name == "cpu"));
/// ```
pub fn providers() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|provider| provider.name)
}

/// Checks that this build has one of these execution providers, without loading the library.
///
/// # Errors
/// [`ErrorKind::Backend`] if it has none of them. The message lists those that it has.
///
/// ```
/// assert!(alloquy_onnx::require_providers(["abacus", "cpu"]).is_ok());
/// assert!(alloquy_onnx::require_providers(["abacus"]).is_err());
/// ```
pub fn require_providers(names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<()> {
    let mut missing = Vec::new();
    for name in names {
        if is_built(name.as_ref()) {
            return Ok(());
        }
        missing.push(name.as_ref().to_owned());
    }
    let built: Vec<_> = providers().collect();
    let mut message = format!(
        "execution provider {:?} is not available in this build, one of: {}",
        missing.join(","),
        built.join(", ")
    );
    for name in FEATURES.into_iter().filter(|feature| missing.iter().any(|name| name == feature)) {
        message += &format!("; build it with the feature {name:?}");
    }
    Err(Error::new(ErrorKind::Backend, message))
}

/// The providers that are features of this crate.
const FEATURES: [&str; 4] = ["cuda", "coreml", "directml", "webgpu"];

fn is_built(name: &str) -> bool {
    providers().any(|built| built == name)
}

/// Returns what to register for the provider called `name`: one of a library of its own, if there is one, else that of this build.
///
/// The library of ONNX Runtime must be loaded.
fn provider(name: &str) -> Result<Registration> {
    let known = KNOWN.iter().find(|known| known.name == name);
    if let Some(known) = known.filter(|known| known.name != CPU && is_plugged_in(known.full_name)) {
        return Ok(Registration::Plugged(known.full_name));
    }
    let built = PROVIDERS.iter().find(|provider| provider.name == name);
    let available = built.filter(|provider| (provider.is_available)().unwrap_or(false));
    match available {
        // Without `error_on_failure`, a provider that cannot be registered would be skipped silently.
        Some(provider) => {
            let built = provider.build.iter().map(|build| build().error_on_failure());
            Ok(Registration::Built(built.collect()))
        }
        None => Err(unknown(name)),
    }
}

/// Returns the names that ONNX Runtime has had for the memory of a provider, the newest first.
pub(crate) fn memories(provider: &str) -> &'static [&'static str] {
    let known = KNOWN.iter().find(|known| known.name == provider);
    known.map(|known| known.memories).unwrap_or_default()
}

/// Returns the names of the providers that this build and the registered libraries have, those of accelerators first.
pub(crate) fn fastest_first() -> Vec<&'static str> {
    let mut names = Vec::new();
    for known in KNOWN.iter().filter(|known| known.name != CPU) {
        if is_built(known.name) || is_plugged_in(known.full_name) {
            names.push(known.name);
        }
    }
    names.push(CPU);
    names
}

/// Returns the names of the providers that this build has and the loaded library supports, or that registered libraries have.
pub(crate) fn available() -> Vec<&'static str> {
    let mut names = Vec::new();
    for known in &KNOWN {
        let built = PROVIDERS.iter().find(|provider| provider.name == known.name);
        let is_available = built.is_some_and(|provider| (provider.is_available)().unwrap_or(false));
        if is_available || is_plugged_in(known.full_name) {
            names.push(known.name);
        }
    }
    names
}

fn unknown(name: &str) -> Error {
    let available = available();
    let message = format!(
        "execution provider {name:?} is not available in this build with this ONNX Runtime, one of: {}",
        available.join(", ")
    );
    Error::new(ErrorKind::Backend, message)
}
