//! Models on servers that take token ids.

use std::path::Path;

use alloquy_core::Result;
use alloquy_openai::{RemoteDecoder, RemoteFiles, RemoteServer};

use super::Model;
use super::location::located_description;

impl Model {
    /// Connects to the model on a server that takes token ids. `files` has its description files and its tokenizer, such as a folder
    /// that needs no weights. Blocks until the server has answered. [`Model::over`] takes a decoder with other settings.
    ///
    /// With the feature `hub`, a path that does not exist may be the name of a model whose description was fetched: see
    /// [`remote_files`].
    ///
    /// ```no_run
    /// let model = alloquy::Model::remote("http://localhost:8000", "models/qwen3-4b")?;
    /// println!("{}", model.ask("Hello!")?.text());
    /// # Ok::<(), alloquy::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `RemoteBuilder::connect` in the module `remote`, and those of [`ModelBuilder::build`](crate::ModelBuilder::build).
    pub fn remote(server: impl Into<RemoteServer>, files: impl Into<RemoteFiles>) -> Result<Self> {
        let files = match files.into() {
            RemoteFiles::Folder(path) => remote_files(path)?,
            files => files,
        };
        let connecting = RemoteDecoder::connect(server, files);
        Self::over(pollster::block_on(connecting)?).build()
    }
}

/// Returns the files that a model on a server needs here: those of a folder without weights, or with the feature `hub` those of a
/// name such as `Qwen/Qwen3-4B`, which `Hub::pull_description` in the module `hub` fetches. Nothing is fetched here.
///
/// ```no_run
/// use alloquy::remote::RemoteDecoder;
///
/// # async fn example() -> alloquy::Result<()> {
/// let files = alloquy::remote_files("Qwen/Qwen3-4B")?;
/// let decoder = RemoteDecoder::builder("http://localhost:8000", files).priority(1).connect().await?;
/// let model = alloquy::Model::over(decoder).build()?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a name that is neither a folder nor in the cache of the Hub.
pub fn remote_files(name: impl AsRef<Path>) -> Result<RemoteFiles> {
    Ok(RemoteFiles::Folder(located_description(name.as_ref())?))
}
