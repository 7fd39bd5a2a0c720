//! The tokenizer and the description of a model without weights.

use std::path::PathBuf;

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_model_files::{Description, HuggingFaceTokenizer, ModelFiles, ModelFolder, model_info};

/// Where the description files of a model are. Its weights are on the server.
///
/// [`RemoteDecoder::builder`](crate::RemoteDecoder::builder) takes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RemoteFiles {
    /// A folder with the tokenizer, the template and the configuration.
    Folder(PathBuf),
    /// The same files in memory.
    Files(ModelFiles),
}

impl<P: Into<PathBuf>> From<P> for RemoteFiles {
    fn from(folder: P) -> Self {
        Self::Folder(folder.into())
    }
}

impl RemoteFiles {
    /// Reads the tokenizer and the description.
    pub(crate) fn read(&self) -> Result<(HuggingFaceTokenizer, ModelInfo)> {
        let (name, files, file) = match self {
            Self::Folder(path) => {
                let folder = ModelFolder::open(path)?;
                let file = folder.tokenizer()?;
                (folder.name, folder.files, file)
            }
            Self::Files(files) => (files.name().to_owned(), files.descriptions()?, files.tokenizer()?),
        };
        let description = Description::read(&files)?;
        let tokenizer = HuggingFaceTokenizer::of_file(&file, &description)?;
        let listed =
            description.size(&[("config.json", "/vocab_size"), ("config.json", "/text_config/vocab_size")]);
        // Models have more logits than tokens, to make their number round.
        let vocabulary = listed.unwrap_or(0).max(tokenizer.vocabulary());
        let info = model_info(name, files, &description, &tokenizer, vocabulary)?;
        Ok((tokenizer, info))
    }
}
