//! Pages of the documentation that show data: each block is what really happened.

use std::path::Path;
use std::sync::{Arc, Mutex};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::processor::DataProcessor;
use alloquy_core::{ReplyStream, Request, Result};
use alloquy_engine::Engine;
use alloquy_onnx::OnnxEngine;
use alloquy_templates::JinjaTemplate;

use crate::shared;

/// The model of the pages: two layers of random weights, with Qwen3's own template.
pub(crate) struct Qwen3 {
    pub(crate) engine: Arc<OnnxEngine>,
    pub(crate) template: JinjaTemplate,
    pub(crate) processor: Arc<dyn DataProcessor>,
}

impl Qwen3 {
    /// Loads it, where it is there.
    pub(crate) fn load() -> Option<Self> {
        let engine = Arc::new(OnnxEngine::load(shared::find("models/tiny/genai-qwen3-fp32")?).unwrap());
        let source = shared::find("cases/templates/jinja/llamacpp--Qwen-Qwen3-0.6B.jinja")?;
        let source = std::fs::read_to_string(source).unwrap();
        let template = JinjaTemplate::from_source(source, serde_json::Map::new()).unwrap();
        let processor = alloquy_processors::named("qwen3", engine.model()).unwrap();
        Some(Self { engine, template, processor })
    }
}

/// Keeps the last request that reaches the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keep(Arc<Mutex<Option<Request>>>);

impl Keep {
    pub(crate) fn request(&self) -> Request {
        self.0.lock().unwrap().take().unwrap()
    }
}

#[async_trait::async_trait]
impl Middleware for Keep {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        *self.0.lock().unwrap() = Some(request.clone());
        next.call(request).await
    }
}

/// JSON as people read it.
pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

/// Compares what stands in a page of the documentation behind each `<!-- data: NAME -->`, or writes it.
pub(crate) fn compare(page: &str, blocks: &[(&str, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let mut document = std::fs::read_to_string(&path).unwrap();
    for (name, data) in blocks {
        let marker = format!("<!-- data: {name} -->\n```");
        let start = document.find(&marker).unwrap_or_else(|| panic!("no block {name:?}")) + marker.len();
        let start = start + document[start..].find('\n').unwrap() + 1;
        let end = start + document[start..].find("```\n").unwrap();
        let data = if data.ends_with('\n') { data.clone() } else { format!("{data}\n") };
        if std::env::var_os("ALLOQUY_UPDATE_DOCS").is_some() {
            document.replace_range(start..end, &data);
        } else {
            assert_eq!(&document[start..end], data, "block {name:?}: write it with ALLOQUY_UPDATE_DOCS=1");
        }
    }
    if std::env::var_os("ALLOQUY_UPDATE_DOCS").is_some() {
        std::fs::write(path, document).unwrap();
    }
}
