//! A loaded graph: a session of ONNX Runtime, and what its inputs and outputs mean.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::{Error, ErrorKind, Result};
use ort::environment::Environment;
use ort::session::builder::SessionBuilder;
use ort::session::{IoBinding, Session, SessionOutputs};
use ort::value::{DynValue, Shape};

use crate::adapter::Adapter;
use crate::cache_memory::CacheLocation;
use crate::compute_time::ComputeTime;
use crate::device_memory::{DeviceMemory, host_info};
use crate::embedder::Embedder;
use crate::error::{self, Cause};
use crate::graph_file::WEIGHTS;
use crate::graph_optimization::GraphOptimization;
use crate::layout::Layout;
use crate::providers::Registration;
use crate::source::Graph;
use crate::waiting::{BRIEF_MICROSECONDS, ThreadWaiting};

/// How many bytes of states a session keeps by default: a dozen of the largest that are known, and thousands of small ones.
const STATE_BUDGET: usize = 512 << 20;

/// A loaded graph.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// The memory of the provider, where caches are kept there. Declared before the session, which must outlive it.
    pub(crate) memory: Option<Arc<DeviceMemory>>,
    /// A run needs exclusive access, so the sessions of an engine take turns.
    session: Mutex<Session>,
    pub(crate) cache_location: CacheLocation,
    pub(crate) layout: Layout,
    pub(crate) context_length: usize,
    pub(crate) adapter: Adapter,
    /// The graph of embeddings, where this graph takes embeddings.
    pub(crate) embedder: Option<Embedder>,
    /// How many bytes of states a session may keep to go back to.
    pub(crate) state_budget: usize,
    /// The time that all runs have taken.
    pub(crate) time: ComputeTime,
}

/// The threads that run a graph.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Threads {
    /// How many there are; `None` leaves the number to ONNX Runtime: one for each physical core.
    pub(crate) count: Option<usize>,
    pub(crate) waiting: ThreadWaiting,
}

/// How a graph is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Loading<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) provider: &'a Registration,
    pub(crate) threads: Threads,
    pub(crate) optimization: GraphOptimization,
    /// Where the optimised graph is written to.
    pub(crate) written: Option<&'a Path>,
    /// How the name of a profile begins, if one is written.
    pub(crate) profile: Option<&'a Path>,
}

impl Threads {
    /// Refuses a number of threads that is out of range.
    pub(crate) fn check(self) -> Result<()> {
        let Some(count) = self.count else { return Ok(()) };
        if count == 0 {
            return Err(error::invalid("threads must be at least 1, not 0"));
        }
        let most = most_threads();
        if count > most {
            return Err(error::invalid(format!(
                "{count} threads, expected at most {most}, four times the processors here"
            )));
        }
        Ok(())
    }
}

/// Returns the largest number of threads: four times the processors that this process may use.
///
/// More threads only wait for each other; a thousand times more take minutes to start.
///
/// ```
/// assert!(alloquy_onnx::most_threads() >= 4);
/// ```
pub fn most_threads() -> usize {
    4 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

impl Decoder {
    pub(crate) fn new(
        session: Session,
        layout: Layout,
        context_length: usize,
        adapter: Adapter,
        embedder: Option<Embedder>,
    ) -> Self {
        let session = Mutex::new(session);
        let time = ComputeTime::default();
        Self {
            memory: None,
            session,
            cache_location: CacheLocation::Host { reason: None },
            layout,
            context_length,
            adapter,
            embedder,
            state_budget: STATE_BUDGET,
            time,
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Session> {
        // A panic during a run leaves no state that the next run would see.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Binds an output that a later run reads, and nothing else.
    pub(crate) fn bind_kept(&self, binding: &mut IoBinding, name: &str) -> ort::Result<()> {
        match &self.memory {
            Some(memory) => binding.bind_output_to_device(name, memory.info()),
            None => binding.bind_output_to_device(name, &host_info()?),
        }
    }
}

/// Loads a graph.
pub(crate) fn load(graph: &Graph, loading: &Loading<'_>) -> Result<Session> {
    let builder = Session::builder(loading.environment).map_err(error::runtime("start a session"))?;
    let builder = with_threads(builder, loading.threads)?;
    let mut builder = with_optimization(builder, loading)?;
    if let Some(path) = loading.profile {
        builder = builder.with_profiling(path).map_err(error::runtime("write a profile"))?;
    }
    let mut builder = with_provider(builder, loading)?;
    let session = match graph {
        Graph::File(path) => builder.commit_from_file(path),
        Graph::Bytes { bytes, .. } => builder.commit_from_memory(bytes),
        Graph::Edited { path, bytes } => with_weights_of(builder, path)?.commit_from_memory(bytes),
    };
    session.map_err(|source| {
        let cause = Cause(source.message().to_owned());
        Error::new(blame(source.code()), format!("ONNX Runtime could not load {graph}")).with_source(cause)
    })
}

fn with_threads(mut builder: SessionBuilder, threads: Threads) -> Result<SessionBuilder> {
    if let Some(count) = threads.count {
        builder =
            builder.with_intra_threads(count).map_err(error::runtime("set how many threads compute"))?;
    }
    let waiting = threads.waiting.in_force()?;
    let builder = builder.with_intra_op_spinning(waiting != ThreadWaiting::Sleep);
    let builder = builder.map_err(error::runtime("set how threads wait"))?;
    if waiting != ThreadWaiting::Brief {
        return Ok(builder);
    }
    let builder = builder.with_config_entry("session.intra_op.spin_duration_us", BRIEF_MICROSECONDS);
    builder.map_err(error::runtime("set how long threads spin"))
}

/// The smallest tensor, in bytes, that is written to the file of weights rather than into the graph.
const LONG: &str = "1024";

fn with_optimization(builder: SessionBuilder, loading: &Loading<'_>) -> Result<SessionBuilder> {
    let builder = builder.with_optimization_level(loading.optimization.level());
    let builder = builder.map_err(error::runtime("set how far it optimises graphs"))?;
    let Some(path) = loading.written else { return Ok(builder) };
    let action = "set where it writes the optimised graph";
    // Without this entry the optimised graph would still name the model's own file of weights, which is in another folder.
    let builder = builder
        .with_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS)
        .map_err(error::runtime(action))?;
    let builder = builder
        .with_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", LONG)
        .map_err(error::runtime(action))?;
    builder.with_optimized_model_path(path).map_err(error::runtime(action))
}

fn with_provider(builder: SessionBuilder, loading: &Loading<'_>) -> Result<SessionBuilder> {
    let action = format!("use the execution provider {}", loading.provider.names().join(", "));
    let with = match loading.provider {
        Registration::Built(providers) => builder.with_execution_providers(providers),
        Registration::Plugged(name) => {
            // The first device: a graph is computed by one.
            let mut devices = loading.environment.devices();
            let device = devices.find(|device| device.ep().is_ok_and(|provider| provider == *name));
            builder.with_devices(device, None)
        }
    };
    with.map_err(error::runtime(&action))
}

/// Names the folder of a graph that is in memory, in which its weights are.
fn with_weights_of(builder: SessionBuilder, graph: &Path) -> Result<SessionBuilder> {
    let folder = graph.parent().unwrap_or(graph).to_string_lossy();
    let builder = builder.with_config_entry("session.model_external_initializers_file_folder_path", folder);
    builder.map_err(error::runtime("set where a graph's weights are"))
}

/// Returns whether the backend or the model is at fault when a graph could not be loaded.
fn blame(code: ort::ErrorCode) -> ErrorKind {
    match code {
        ort::ErrorCode::ExecutionProviderFailure
        | ort::ErrorCode::EngineError
        | ort::ErrorCode::DeviceReset => ErrorKind::Backend,
        _ => ErrorKind::Model,
    }
}

/// Copies the logits of the last `rows` tokens from the outputs of a run; a graph may compute fewer.
pub(crate) fn last_rows(
    outputs: &SessionOutputs<'_>,
    layout: &Layout,
    rows: usize,
    into: &mut Vec<f32>,
) -> ort::Result<()> {
    let (values, count) = logits(outputs, layout, 1)?;
    let start = count.saturating_sub(rows * layout.vocabulary);
    layout.logits_element.widen(values, start..count, into)
}

/// Copies the logits of one row from the outputs of a run with several rows of one token each.
pub(crate) fn row_logits(
    outputs: &SessionOutputs<'_>,
    layout: &Layout,
    row: usize,
    into: &mut Vec<f32>,
) -> ort::Result<()> {
    let (values, _) = logits(outputs, layout, row + 1)?;
    let start = row * layout.vocabulary;
    layout.logits_element.widen(values, start..start + layout.vocabulary, into)
}

/// Returns the logits of a run and how many numbers they are. Fewer than `rows` rows are an error.
fn logits<'a>(
    outputs: &'a SessionOutputs<'_>,
    layout: &Layout,
    rows: usize,
) -> ort::Result<(&'a DynValue, usize)> {
    let Some(values) = outputs.get(&layout.logits) else {
        return Err(ort::Error::new(format!("the graph did not return {}", layout.logits)));
    };
    match values.dtype().tensor_shape().map(Shape::num_elements) {
        Some(count) if count >= rows * layout.vocabulary => Ok((values, count)),
        _ => Err(ort::Error::new(format!("{} is {}", layout.logits, values.dtype()))),
    }
}
