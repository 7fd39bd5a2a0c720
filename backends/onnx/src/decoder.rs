//! A loaded graph: ONNX Runtime's session, and what its inputs and outputs mean. Holds no cache.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloquy_core::{Error, ErrorKind, Result};
use ort::environment::Environment;
use ort::ep::ExecutionProviderDispatch;
use ort::session::builder::SessionBuilder;
use ort::session::{Session, SessionOutputs};
use ort::value::{DynValue, Shape};

use crate::adapter::Adapter;
use crate::compute_time::ComputeTime;
use crate::embedder::Embedder;
use crate::error::{self, Cause};
use crate::graph_file::WEIGHTS;
use crate::graph_optimization::GraphOptimization;
use crate::layout::Layout;
use crate::source::Graph;
use crate::waiting::{BRIEF_MICROSECONDS, Waiting};

/// A loaded graph.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// Running a session needs it for itself; the sessions of an engine take turns.
    session: Mutex<Session>,
    pub(crate) layout: Layout,
    pub(crate) context_length: usize,
    pub(crate) adapter: Adapter,
    /// What makes embeddings, where the graph takes those.
    pub(crate) embedder: Option<Embedder>,
    /// What runs have taken.
    pub(crate) time: ComputeTime,
}

/// How a graph is run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Threads {
    /// `None` leaves the number to ONNX Runtime: one for each physical core.
    pub(crate) count: Option<usize>,
    pub(crate) waiting: Waiting,
}

/// How a graph is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Loading<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) providers: &'a [ExecutionProviderDispatch],
    pub(crate) threads: Threads,
    pub(crate) optimization: GraphOptimization,
    /// Where it is written to, once it is optimised.
    pub(crate) written: Option<&'a Path>,
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
        Self { session, layout, context_length, adapter, embedder, time: ComputeTime::default() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Session> {
        // A panic while it was locked leaves nothing behind that the next run would see.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Loads a graph.
pub(crate) fn load(graph: &Graph, loading: &Loading<'_>) -> Result<Session> {
    let builder = Session::builder(loading.environment).map_err(error::runtime("start a session"))?;
    let builder = with_threads(builder, loading.threads)?;
    let builder = with_optimization(builder, loading)?;
    let named: Vec<_> = loading.providers.iter().map(ExecutionProviderDispatch::name).collect();
    let action = format!("use the execution provider {}", named.join(", "));
    let mut builder = builder.with_execution_providers(loading.providers).map_err(error::runtime(&action))?;
    let session = match graph {
        Graph::File(path) => builder.commit_from_file(path),
        Graph::Bytes { bytes, .. } => builder.commit_from_memory(bytes),
    };
    session.map_err(|source| {
        let cause = Cause(source.message().to_owned());
        Error::new(blame(source.code()), format!("onnx runtime could not load {graph}")).with_source(cause)
    })
}

fn with_threads(mut builder: SessionBuilder, threads: Threads) -> Result<SessionBuilder> {
    if let Some(count) = threads.count {
        builder =
            builder.with_intra_threads(count).map_err(error::runtime("set how many threads compute"))?;
    }
    let waiting = threads.waiting.in_force()?;
    let builder = builder.with_intra_op_spinning(waiting != Waiting::Sleep);
    let builder = builder.map_err(error::runtime("set how threads wait"))?;
    if waiting != Waiting::Brief {
        return Ok(builder);
    }
    let builder = builder.with_config_entry("session.intra_op.spin_duration_us", BRIEF_MICROSECONDS);
    builder.map_err(error::runtime("set how long threads spin"))
}

/// How long a tensor has to be to be written beside the graph, in bytes.
const LONG: &str = "1024";

fn with_optimization(builder: SessionBuilder, loading: &Loading<'_>) -> Result<SessionBuilder> {
    let builder = builder.with_optimization_level(loading.optimization.level());
    let builder = builder.map_err(error::runtime("set how far it optimises graphs"))?;
    let Some(path) = loading.written else { return Ok(builder) };
    let failed = || error::runtime("set where it writes the optimised graph");
    // Without the name of a file of its own, the graph would go on naming the model's weights, from another folder.
    let builder = builder
        .with_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS)
        .map_err(failed())?;
    let builder = builder
        .with_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", LONG)
        .map_err(failed())?;
    builder.with_optimized_model_path(path).map_err(failed())
}

/// Says whose fault it is that a graph could not be loaded.
fn blame(code: ort::ErrorCode) -> ErrorKind {
    match code {
        ort::ErrorCode::ExecutionProviderFailure
        | ort::ErrorCode::EngineError
        | ort::ErrorCode::DeviceReset => ErrorKind::Backend,
        _ => ErrorKind::Model,
    }
}

/// Copies the logits of the last `rows` tokens out of a run's outputs; a graph may compute fewer.
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

/// Copies the logits of the last token of one row out of the outputs of a run of several.
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

/// The logits of a run and their number, of which there must be at least so many rows.
fn logits<'a>(
    outputs: &'a SessionOutputs<'_>,
    layout: &Layout,
    rows: usize,
) -> ort::Result<(&'a DynValue, usize)> {
    let missing = || ort::Error::new(format!("{} was not given", layout.logits));
    let values = outputs.get(&layout.logits).ok_or_else(missing)?;
    match values.dtype().tensor_shape().map(Shape::num_elements) {
        Some(count) if count >= rows * layout.vocabulary => Ok((values, count)),
        _ => Err(ort::Error::new(format!("{} is {}", layout.logits, values.dtype()))),
    }
}
