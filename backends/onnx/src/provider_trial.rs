//! Measures what execution providers can do with a model, and chooses the fastest.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use alloquy_core::prompt::PromptUnit;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::{CancelToken, Session};

use crate::cache_memory::CacheLocation;

/// How many tokens the prompt of a trial has, how many tokens are computed after it without being measured, since a device may
/// compile its kernels then, and how many are measured.
const PROMPT: usize = 32;
const WARM_UP: usize = 3;
const STEPS: usize = 9;

/// What an execution provider can do with a model.
///
/// [`OnnxEngineBuilder::try_providers`](crate::OnnxEngineBuilder::try_providers) has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProviderTrial {
    /// Its name, such as `cuda`.
    pub provider: String,
    /// How fast it is, or why it cannot compute the model.
    pub outcome: Result<ProviderSpeed, String>,
}

/// How fast a provider computes a model.
///
/// [`OnnxEngineBuilder::try_providers`](crate::OnnxEngineBuilder::try_providers) has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProviderSpeed {
    /// How long it took to load the decoder.
    pub load: Duration,
    /// How long one token of a reply takes: the median of nine.
    pub step: Duration,
    /// What it leaves to the processor, where that was counted.
    pub on_cpu: Option<CpuShare>,
    /// In which memory the caches are.
    pub caches: CacheLocation,
}

impl ProviderSpeed {
    /// Returns how many tokens of a reply are computed in a second.
    pub fn rate(&self) -> f64 {
        1.0 / self.step.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// The nodes of a graph that the processor computes.
///
/// [`OnnxEngineBuilder::try_providers`](crate::OnnxEngineBuilder::try_providers) has an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CpuShare {
    /// How many nodes were computed in all.
    pub nodes: usize,
    /// How many of them the processor computed, by operator.
    pub operators: BTreeMap<String, usize>,
}

impl CpuShare {
    /// Returns how many nodes the processor computed.
    pub fn on_cpu(&self) -> usize {
        self.operators.values().sum()
    }
}

/// The provider that was chosen as the fastest, and why.
///
/// ```no_run
/// use alloquy_onnx::OnnxEngine;
///
/// let engine = OnnxEngine::builder("models/qwen3-0.6b").providers(["auto"]).load()?;
/// if let Some(choice) = engine.provider_choice() {
///     println!("{choice}");
/// }
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProviderChoice {
    /// The name of the provider that computes.
    pub provider: String,
    /// What was measured, in the order of the trials. A single provider is not measured.
    pub trials: Vec<ProviderTrial>,
}

impl ProviderTrial {
    pub(crate) fn new(provider: &str, outcome: Result<ProviderSpeed>) -> Self {
        Self { provider: provider.to_owned(), outcome: outcome.map_err(|error| format!("{error:#}")) }
    }
}

impl fmt::Display for ProviderTrial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Ok(speed) => write!(formatter, "{}: {speed}", self.provider),
            Err(reason) => write!(formatter, "{}: not usable, {reason}", self.provider),
        }
    }
}

impl fmt::Display for ProviderSpeed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.1} tokens a second, loaded in {:.1} s", self.rate(), self.load.as_secs_f64())?;
        if let Some(share) = &self.on_cpu {
            write!(formatter, ", {share}")?;
        }
        match &self.caches {
            CacheLocation::Host { reason: None } => Ok(()),
            caches => write!(formatter, ", {caches}"),
        }
    }
}

impl fmt::Display for CpuShare {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of {} nodes on the processor", self.on_cpu(), self.nodes)?;
        if self.on_cpu() == 0 || self.on_cpu() == self.nodes {
            return Ok(());
        }
        let operators: Vec<_> =
            self.operators.iter().map(|(name, count)| format!("{name} {count}")).collect();
        write!(formatter, " ({})", operators.join(", "))
    }
}

impl fmt::Display for ProviderChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_measured = self.trials.iter().any(|trial| trial.outcome.is_ok());
        write!(formatter, "{} computes, ", self.provider)?;
        formatter.write_str(if is_measured {
            "as the fastest provider"
        } else {
            "as the only provider here"
        })?;
        for trial in &self.trials {
            write!(formatter, "; {trial}")?;
        }
        Ok(())
    }
}

/// Chooses the fastest of the providers `names`, of which the library has those in `available`. `speed` measures one.
///
/// # Errors
/// The error of the last provider, if none can compute the model.
pub(crate) fn choose(
    names: &[&str],
    available: &[&str],
    speed: impl Fn(&str) -> Result<ProviderSpeed>,
) -> Result<ProviderChoice> {
    let mut trials = Vec::new();
    let mut fastest: Option<(Duration, &str)> = None;
    let mut last = None;
    for name in names {
        let outcome = if !available.contains(name) {
            Err(Error::new(ErrorKind::Backend, "this ONNX Runtime does not have it"))
        } else if let [only] = available {
            fastest = Some((Duration::ZERO, only));
            continue;
        } else {
            speed(name)
        };
        match &outcome {
            Ok(speed) if fastest.is_none_or(|(step, _)| speed.step < step) => {
                fastest = Some((speed.step, name));
            }
            Ok(_) => {}
            Err(error) => last = Some(error.clone()),
        }
        trials.push(ProviderTrial::new(name, outcome));
    }
    match (fastest, last) {
        (Some((_, name)), _) => Ok(ProviderChoice { provider: name.to_owned(), trials }),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::new(ErrorKind::Backend, "no execution provider is available")),
    }
}

/// Computes a short prompt and some tokens after it, of a vocabulary of so many tokens.
pub(crate) fn measure(
    session: &mut dyn Session,
    load: Duration,
    vocabulary: usize,
    caches: CacheLocation,
) -> Result<ProviderSpeed> {
    let cancel = CancelToken::default();
    let prompt: Vec<_> = (0..PROMPT).map(|index| unit(index, vocabulary)).collect();
    // A context may be shorter than the prompt of a trial.
    if let Err(error) = session.forward(&prompt, &cancel) {
        if error.kind() != ErrorKind::ContextOverflow {
            return Err(error);
        }
        session.forward(&[unit(0, vocabulary)], &cancel)?;
    }
    let mut steps = Vec::new();
    for index in 0..WARM_UP + STEPS {
        let started = Instant::now();
        session.forward(&[unit(PROMPT + index, vocabulary)], &cancel)?;
        if index >= WARM_UP {
            steps.push(started.elapsed());
        }
    }
    steps.sort();
    let step = steps.get(STEPS / 2).copied().unwrap_or_default();
    Ok(ProviderSpeed { load, step, on_cpu: None, caches })
}

/// Returns a token of a vocabulary, another one for each index.
fn unit(index: usize, vocabulary: usize) -> PromptUnit {
    let id = index.wrapping_mul(7919) % vocabulary.max(1);
    PromptUnit::Token(id as u32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn speed(milliseconds: u64) -> Result<ProviderSpeed> {
        let step = Duration::from_millis(milliseconds);
        let caches = CacheLocation::Host { reason: None };
        Ok(ProviderSpeed { load: Duration::from_secs(1), step, on_cpu: None, caches })
    }

    #[test]
    fn the_fastest_provider_that_loads_is_chosen() {
        let names = ["cuda", "webgpu", "coreml", "cpu"];
        let choice = choose(&names, &["cpu", "cuda", "webgpu"], |name| match name {
            "cuda" => Err(Error::new(ErrorKind::Backend, "no CUDA device")),
            "webgpu" => speed(20),
            _ => speed(50),
        });
        assert_eq!(
            choice.unwrap().to_string(),
            "webgpu computes, as the fastest provider; cuda: not usable, no CUDA device; webgpu: 50.0 tokens a second, loaded in \
             1.0 s; coreml: not usable, this ONNX Runtime does not have it; cpu: 20.0 tokens a second, loaded in 1.0 s"
        );
        let choice =
            choose(&["cuda", "cpu"], &["cpu", "cuda"], |name| speed(if name == "cpu" { 5 } else { 6 }));
        assert_eq!(choice.unwrap().provider, "cpu");
    }

    #[test]
    fn a_single_provider_is_not_measured() {
        let choice = choose(&["cuda", "cpu"], &["cpu"], |_| panic!("nothing is to be measured")).unwrap();
        assert_eq!(
            choice.to_string(),
            "cpu computes, as the only provider here; cuda: not usable, this ONNX Runtime does not have it"
        );
    }

    #[test]
    fn without_a_provider_that_works_the_last_error_is_returned() {
        let error =
            choose(&["cuda", "cpu"], &["cpu", "cuda"], |name| Err(Error::new(ErrorKind::Model, name)));
        assert_eq!(error.unwrap_err().to_string(), "cpu");
    }

    #[test]
    fn caches_on_a_device_are_reported() {
        let on_device = CacheLocation::Provider { name: "Cuda".to_owned() };
        let speed = ProviderSpeed { caches: on_device, ..speed(20).unwrap() };
        assert_eq!(
            speed.to_string(),
            "50.0 tokens a second, loaded in 1.0 s, caches in the provider's memory (Cuda)"
        );
    }

    #[test]
    fn what_is_left_to_the_processor_is_listed() {
        let operators = BTreeMap::from([("Gather".to_owned(), 2), ("Shape".to_owned(), 6)]);
        let share = CpuShare { nodes: 120, operators };
        assert_eq!(share.to_string(), "8 of 120 nodes on the processor (Gather 2, Shape 6)");
        let all = CpuShare { nodes: 2, operators: BTreeMap::from([("Gather".to_owned(), 2)]) };
        assert_eq!(all.to_string(), "2 of 2 nodes on the processor");
    }
}
