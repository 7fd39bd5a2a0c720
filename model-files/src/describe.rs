//! Describes a model by its description files, without reading its tokenizer or its graph.

use std::path::Path;

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;

use crate::description::Description;
use crate::files::ModelFiles;
use crate::folder::ModelFolder;
use crate::model_info::described;

/// Reads the description files of a model, in milliseconds for a model of any size.
///
/// Fields that only the tokenizer or the graph can fill stay empty: `bos`, `stop_tokens`, `specials` and `vocabulary`.
///
/// # Errors
/// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) when the folder does not exist, when a file is not valid JSON, or
/// when no file contains the length of the context.
///
/// ```no_run
/// let model = alloquy_model_files::describe("models/qwen3-0.6b")?;
/// println!("{} fits {} tokens", model.name, model.context_length);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
pub fn describe(path: impl AsRef<Path>) -> Result<ModelInfo> {
    let folder = ModelFolder::open(path.as_ref())?;
    let description = Description::read(&folder.files)?;
    described(folder.name, folder.files, &description)
}

/// Reads the description files of a model in memory, as [`describe`] does for a folder.
///
/// # Errors
/// As [`describe`].
pub fn describe_files(files: &ModelFiles) -> Result<ModelInfo> {
    let descriptions = files.descriptions()?;
    let description = Description::read(&descriptions)?;
    described(files.name().to_owned(), descriptions, &description)
}
