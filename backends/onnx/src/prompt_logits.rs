//! Of which tokens of a prompt logits are computed.

use std::borrow::Cow;
use std::fmt;

use alloquy_core::media::Digest;
use alloquy_core::{ErrorKind, Result};
use alloquy_model_files::bounded;
use ort::session::Session;

use crate::decoder::Loading;
use crate::graph_cache::{self, GraphCache, GraphCacheStatus, Made};
use crate::graph_edit::with_last_logits;
use crate::graph_optimization::GraphOptimization;
use crate::identity::GraphRuntime;
use crate::layout::Layout;
use crate::source::{Graph, Parts};

/// The longest file that is edited, in bytes: it is read into memory for that.
const MOST_BYTES: u64 = 1 << 30;

/// What an edited graph's digest is made of, beside the digests of the model's own graph.
const EDIT: &[u8] = b"logits of the last tokens, format 1";

/// Of which tokens of a prompt logits are computed, the scores of all words of the vocabulary. Only those of the last token are needed.
///
/// ```
/// use alloquy_onnx::PromptLogits;
///
/// let all = PromptLogits::All { reason: "graphs are not optimised".to_owned() };
/// assert_eq!(all.to_string(), "logits are computed for every token of a prompt: graphs are not optimised");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptLogits {
    /// Of the last tokens, as the model was exported.
    Exported,
    /// Of the last tokens, because the graph was edited when it was loaded.
    Edited,
    /// Of every token, which takes up to a third of the time for a prompt, and four bytes for each word of the vocabulary.
    All {
        /// Why the graph was not edited.
        reason: String,
    },
}

impl PromptLogits {
    /// Returns what holds for a graph that was edited or, with a reason, was not.
    pub(crate) fn of(unedited: Option<String>, layout: &Layout) -> Self {
        match unedited {
            None => Self::Edited,
            Some(_) if layout.num_logits_to_keep.is_some() => Self::Exported,
            Some(reason) => Self::All { reason },
        }
    }
}

impl fmt::Display for PromptLogits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exported => formatter.write_str("logits are computed for the last tokens of a prompt"),
            Self::Edited => formatter
                .write_str("logits are computed for the last tokens of a prompt, by an edit of the graph"),
            Self::All { reason } => {
                write!(formatter, "logits are computed for every token of a prompt: {reason}")
            }
        }
    }
}

/// A decoder's graph that was loaded, edited or as it is.
pub(crate) struct LoadedDecoder {
    pub(crate) session: Session,
    pub(crate) cache: GraphCacheStatus,
    /// The digests of what was loaded.
    pub(crate) digests: Vec<Digest>,
    /// Why it was not edited; `None` if it was.
    pub(crate) unedited: Option<String>,
}

/// A decoder's graph, and its edited form where there is one.
pub(crate) struct DecoderGraph<'a> {
    own: &'a Graph,
    digests: &'a [Digest],
    edited: Result<Graph, String>,
}

impl<'a> DecoderGraph<'a> {
    /// Edits the graph of a model, if that is wanted and possible.
    pub(crate) fn new(
        parts: &'a Parts,
        digests: &'a [Digest],
        optimization: GraphOptimization,
    ) -> Result<Self> {
        let own = &parts.decoder.graph;
        let edited = match optimization {
            GraphOptimization::Disable => Err("graphs are not optimised".to_owned()),
            _ => edited(parts)?,
        };
        Ok(Self { own, digests, edited })
    }

    /// Returns the bytes of the edited graph, or else of the model's own.
    pub(crate) fn bytes(&self) -> Result<Cow<'_, [u8]>> {
        match self.edited.as_ref().unwrap_or(self.own) {
            Graph::Bytes { bytes, .. } => Ok(Cow::Borrowed(bytes)),
            Graph::Edited { bytes, .. } => Ok(Cow::Borrowed(bytes)),
            Graph::File(path) => Ok(Cow::Owned(bounded::bytes(path, MOST_BYTES)?)),
        }
    }

    /// Returns why the graph was not edited; `None` if it was.
    pub(crate) fn unedited(&self) -> Option<String> {
        self.edited.as_ref().err().cloned()
    }

    /// Loads the edited graph, or else the model's own.
    pub(crate) fn load(
        &self,
        cache: Option<&GraphCache>,
        ran: GraphRuntime<'_>,
        loading: &Loading<'_>,
    ) -> Result<LoadedDecoder> {
        let unedited = match &self.edited {
            Ok(graph) => {
                let mut digests = self.digests.to_vec();
                digests.push(Digest::of(EDIT));
                let made = Made { graph, digests: &digests, ran };
                match graph_cache::load(cache, &made, loading) {
                    Ok((session, cache)) => {
                        return Ok(LoadedDecoder { session, cache, digests, unedited: None });
                    }
                    // Only a fault of the graph can be one of the edit.
                    Err(error) if error.kind() == ErrorKind::Model => format!("{error:#}"),
                    Err(error) => return Err(error),
                }
            }
            Err(reason) => reason.clone(),
        };
        let made = Made { graph: self.own, digests: self.digests, ran };
        let (session, cache) = graph_cache::load(cache, &made, loading)?;
        Ok(LoadedDecoder { session, cache, digests: self.digests.to_vec(), unedited: Some(unedited) })
    }
}

/// Returns the edited graph, or why there is none.
fn edited(parts: &Parts) -> Result<Result<Graph, String>> {
    let logits = parts.description.pointer("genai_config.json", "/model/decoder/outputs/logits");
    let logits = logits.and_then(serde_json::Value::as_str).unwrap_or("logits");
    let graph = &parts.decoder.graph;
    let bytes = match graph {
        Graph::Bytes { bytes, .. } => Cow::Borrowed(&**bytes),
        Graph::Edited { bytes, .. } => Cow::Borrowed(bytes.as_slice()),
        Graph::File(path) => {
            let (_, length) = bounded::open(path)?;
            if length > MOST_BYTES {
                return Ok(Err(format!("its file has {length} bytes, and at most {MOST_BYTES} are edited")));
            }
            Cow::Owned(bounded::bytes(path, MOST_BYTES)?)
        }
    };
    let edited = with_last_logits(&bytes, logits);
    Ok(edited.map(|bytes| graph.with_bytes(bytes)).map_err(str::to_owned))
}
