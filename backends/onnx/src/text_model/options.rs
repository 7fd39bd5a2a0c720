//! The options that all models of texts have.

use alloquy_core::Result;
use alloquy_onnx_runtime::{DownloadEvent, Locator};
use ort::session::Session;

use crate::decoder::{self, Loading, Threads};
use crate::graph_optimization::GraphOptimization;
use crate::providers::{CPU, Loaded, Providers};
use crate::source::Graph;
use crate::waiting::ThreadWaiting;

/// How a model of embeddings or a reranker is opened.
///
/// ```no_run
/// use alloquy_onnx::{EmbedderOptions, OnnxEmbedder};
///
/// let mut options = EmbedderOptions::default();
/// options.model.threads = Some(2);
/// options.model.graph_type = Some("int8".to_owned());
/// let embedder = OnnxEmbedder::open("models/all-MiniLM-L6-v2", &options, &mut |event| println!("{event}"))?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TextModelOptions {
    /// How the library of ONNX Runtime is found, and whether it may be fetched; otherwise as for
    /// [`OnnxEngine`](crate::OnnxEngineBuilder::runtime).
    pub runtime: Option<Locator>,
    /// The provider that computes, and those that replace it where it cannot, by their [names](crate::providers()); the processor if there
    /// are none.
    pub providers: Vec<String>,
    /// How many threads compute: from 1 to [`most_threads`](crate::most_threads); otherwise one for each physical core.
    pub threads: Option<usize>,
    /// How threads wait for work.
    pub waiting: ThreadWaiting,
    /// How far the graph is rewritten when it is loaded.
    pub graph_optimization: GraphOptimization,
    /// Which graph is loaded where there are several: `int8` loads `model_int8.onnx`, and `fp32`, or none, `model.onnx`.
    pub graph_type: Option<String>,
    /// How many tokens of a text are read; otherwise as many as the model's files say.
    pub max_tokens: Option<usize>,
}

impl TextModelOptions {
    /// Loads a graph.
    pub(super) fn load(
        &self,
        graph: &Graph,
        on_event: &mut dyn FnMut(DownloadEvent),
    ) -> Result<Loaded<Session>> {
        let threads = Threads { count: self.threads, waiting: self.waiting };
        threads.check()?;
        let providers = Providers::of(self.providers.iter().map(String::as_str));
        let providers = providers.unwrap_or_else(|| Providers::first(CPU));
        let environment = providers.environment(self.runtime.as_ref(), on_event)?;
        let optimization = self.graph_optimization;
        providers.load(|_, provider| {
            let loading = Loading {
                environment: &environment,
                provider,
                threads,
                optimization,
                written: None,
                profile: None,
            };
            decoder::load(graph, &loading)
        })
    }
}
