//! How long loading a model took, part by part. Loads nothing.

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// A part of loading a model. A loader measures those that it has.
///
/// [`LoadTiming`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoadPhase {
    /// Reading the files that describe the model, and the head of its graph.
    Files,
    /// Making the tokenizer.
    Tokenizer,
    /// Finding the runtime library and loading it. A process that has loaded it already takes no time.
    Runtime,
    /// Hashing what identifies the model.
    Identity,
    /// Loading the graph: optimizing it, and reading its weights and laying them out.
    Graph,
    /// Choosing the chat template and compiling it.
    Template,
    /// Choosing the processor, and connecting it with the rest.
    Processor,
}

impl fmt::Display for LoadPhase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Files => "files",
            Self::Tokenizer => "tokenizer",
            Self::Runtime => "runtime",
            Self::Identity => "identity",
            Self::Graph => "graph",
            Self::Template => "template",
            Self::Processor => "processor",
        })
    }
}

/// How long loading a model took, phase by phase, in the order in which they ended.
///
/// ```
/// use alloquy_engine::{LoadPhase, LoadTiming};
///
/// let mut timing = LoadTiming::default();
/// let text = timing.measure(LoadPhase::Files, || "a description");
/// assert_eq!((text, timing.phases().len()), ("a description", 1));
/// assert_eq!(timing.took(LoadPhase::Files), Some(timing.total()));
/// assert_eq!(timing.took(LoadPhase::Graph), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadTiming {
    phases: Vec<(LoadPhase, Duration)>,
}

impl LoadTiming {
    /// Runs a part of the work and measures it. Several parts of one phase add up.
    pub fn measure<T>(&mut self, phase: LoadPhase, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        let took = start.elapsed();
        match self.phases.iter_mut().find(|(known, _)| *known == phase) {
            Some((_, sum)) => *sum += took,
            None => self.phases.push((phase, took)),
        }
        done
    }

    /// Returns the phases with the time of each.
    pub fn phases(&self) -> &[(LoadPhase, Duration)] {
        &self.phases
    }

    /// Returns how long a phase took; `None` where there was none.
    pub fn took(&self, phase: LoadPhase) -> Option<Duration> {
        self.phases.iter().find(|(known, _)| *known == phase).map(|(_, took)| *took)
    }

    /// Returns how long all phases took together.
    pub fn total(&self) -> Duration {
        self.phases.iter().map(|(_, took)| *took).sum()
    }
}
