//! What a database of passages was made with: another embedder or other words need another one.

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_retrieval::{Embedder, VectorFormat, VectorSettings, Vectors, WordOptions};
use serde::{Deserialize, Serialize};

/// What a database was made with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) words: WordOptions,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) vectors: Option<VectorSettings>,
}

impl Settings {
    /// Returns those of a database with these options, if they are possible.
    pub(crate) fn of(
        words: WordOptions,
        embedder: Option<&dyn Embedder>,
        format: VectorFormat,
    ) -> Result<Self> {
        words.check()?;
        let mut vectors = None;
        if let Some(embedder) = embedder {
            Vectors::new(embedder.dimensions(), format)?;
            vectors = Some(VectorSettings::of(embedder, format));
        }
        Ok(Self { words, vectors })
    }

    /// Returns what the database stores of them.
    pub(crate) fn json(&self) -> String {
        // Texts and numbers always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Checks that a database made with `stored` may be opened with these.
    pub(crate) fn check(&self, stored: &str) -> Result<()> {
        let stored: Self = serde_json::from_str(stored).map_err(|error| {
            let message =
                "the settings of the passages are damaged: restore the database, or make another one";
            Error::new(ErrorKind::Corrupt, message).with_source(error)
        })?;
        let differences = [
            ("the embedder", format!("{:?}", stored.vectors), format!("{:?}", self.vectors)),
            ("words", format!("{:?}", stored.words), format!("{:?}", self.words)),
        ];
        for (what, here, given) in differences {
            if here != given {
                let message = format!(
                    "the passages were stored with other settings: {what} of the database: {here}; given: {given}. Open it with its \
                     own, or make another database"
                );
                return Err(Error::new(ErrorKind::Conflict, message));
            }
        }
        Ok(())
    }

    /// Returns the version of what words find, given the version of the passages.
    pub(crate) fn version_of_words(&self, passages: Digest) -> Digest {
        Digest::of(format!("words {:?} {passages}", self.words).as_bytes())
    }

    /// Returns the version of what vectors find.
    pub(crate) fn version_of_vectors(&self, passages: Digest, search: &str) -> Digest {
        Digest::of(format!("vectors {:?} {search} {passages}", self.vectors).as_bytes())
    }
}

/// Returns the error of a search or a change by vectors in a database without any.
pub(crate) fn no_vectors() -> Error {
    let message =
        "the passages have no vectors: open a database of its own with an embedder, or search by words";
    Error::new(ErrorKind::Unsupported, message)
}
