//! The models of embeddings and the rerankers of the server.

use std::path::PathBuf;
use std::sync::Arc;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::onnx::OnnxReranker;
use alloquy_server::{ServedReranker, ServerBuilder};
use clap::Args;

use crate::embedders::Embedding;
use crate::found;
use crate::served::{WrittenModel, written};

/// The models of embeddings and the rerankers.
#[derive(Args, Debug)]
pub(crate) struct ServedRetrieval {
    /// Serve this model of embeddings, the folder of one or ngrams, under a name of its own or as NAME=MODEL; may be repeated
    #[arg(long, value_name = "NAME", env = "ALLOQUY_EMBEDDING")]
    embedding: Vec<String>,
    /// Serve this reranker, the folder of a cross-encoder, under a name of its own or as NAME=MODEL; may be repeated
    #[arg(long, value_name = "NAME", env = "ALLOQUY_RERANKER")]
    reranker: Vec<String>,
}

impl ServedRetrieval {
    /// Checks that the models are there, and loads nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for one that is not.
    pub(crate) fn check(&self) -> Result<()> {
        for argument in &self.embedding {
            let (_, model) = of_this_machine(argument)?;
            Embedding::check(&model.to_string_lossy())?;
        }
        for argument in &self.reranker {
            let (name, model) = of_this_machine(argument)?;
            if !found::resolved(&model).exists() {
                let message = format!("reranker {name:?}: there is no folder {model:?}");
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        }
        Ok(())
    }

    /// Adds the models to a server. They are loaded at once.
    ///
    /// # Errors
    /// Those of the models.
    pub(crate) fn add_to(&self, mut builder: ServerBuilder) -> Result<ServerBuilder> {
        for argument in &self.embedding {
            let (name, model) = of_this_machine(argument)?;
            let embedding = Embedding::named(&model.to_string_lossy())?;
            builder = builder.embedder(embedding.served(name)?);
        }
        for argument in &self.reranker {
            let (name, model) = of_this_machine(argument)?;
            let reranker = Arc::new(OnnxReranker::load(found::resolved(&model))?);
            let counter = Arc::clone(&reranker);
            let served = ServedReranker::new(name, reranker);
            builder =
                builder.reranker(served.tokens(move |text| counter.count_tokens(text).unwrap_or_default()));
        }
        Ok(builder)
    }
}

/// Reads `NAME=MODEL`.
///
/// # Errors
/// [`ErrorKind::Invalid`] for an empty name or model, and for a model of a server.
fn of_this_machine(argument: &str) -> Result<(String, PathBuf)> {
    let WrittenModel { name, model, server } = written(argument)?;
    match server {
        Some(server) if server != "none" => {
            let message =
                format!("{argument:?} is on {server:?}: name a model of this machine, as NAME=MODEL");
            Err(Error::new(ErrorKind::Invalid, message))
        }
        _ => Ok((name, model)),
    }
}
