//! Computes vectors of texts on a server.

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_retrieval::{Embedder, Embeddings, TextKind};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::answer::{FRAME, by_index, cut};
use super::server::Server;
use crate::worker::Worker;

/// Where vectors are computed.
const PATH: &str = "/v1/embeddings";

/// How many numbers a vector has at most.
const MOST_DIMENSIONS: usize = 1 << 16;

/// How many bytes a number of an answer takes at most, with the white space around it.
const NUMBER: usize = 48;

/// The text of the first vectors.
const PROBE: &str = "Tea is grown in Assam, in Kenya, and on the slopes of Mount Fuji.";

/// The text that is in a batch with [`PROBE`]. A server that computes texts in steps of equal length, and pools only what is left of
/// the longer one, pools one or two tokens then.
const SHORTER: &str = "Tea is grown in Assam, in Kenya, and on the slopes of Mount";

/// How similar the vectors of a text alone and in a batch are at least. Numbers of 16 bits differ by less.
const SIMILAR: f64 = 0.99;

/// A model of embeddings on a server that has OpenAI's `/v1/embeddings`: vLLM, SGLang, llama.cpp, Ollama, and services.
///
/// Vectors always have a length of 1. A text that has no visible characters, its prefix included, is not sent, as some servers refuse
/// it: its vector is a fixed one, as is that of a text for which the server returns zeros. When the future of [`Embedder::embed`] is
/// dropped, its connection is closed.
///
/// ```no_run
/// use alloquy_openai::RemoteEmbedder;
/// use alloquy_retrieval::{Embedder, TextKind};
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let embedder = RemoteEmbedder::connect("http://localhost:8000").await?;
/// let passages = embedder.embed(&["Tea is grown in Assam.", "Rain falls in April."], TextKind::Passage).await?;
/// assert!(passages.vectors.iter().all(|vector| vector.len() == embedder.dimensions()));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// * [`ErrorKind::Backend`]: no server answers; or it returns another number of vectors, a vector of another length, a number that is
///   not finite, or an answer that is far longer than vectors are; or a text has another vector in a batch
/// * [`ErrorKind::Busy`]: the server is overloaded, after all attempts
/// * [`ErrorKind::ContextOverflow`]: a text is too long for the server
/// * the kinds of the server's other refusals, which [`RemoteBuilder`](crate::RemoteBuilder) has too
#[derive(Debug)]
pub struct RemoteEmbedder {
    worker: Worker,
    parts: Arc<EmbedderParts>,
    digest: Digest,
}

/// What is known of a model of embeddings on a server.
///
/// [`RemoteEmbedderBuilder`](crate::RemoteEmbedderBuilder) has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteEmbedderInfo {
    /// The address.
    pub url: String,
    /// The name by which the server knows the model.
    pub model: String,
    /// Which weights the model has, as the host says.
    pub revision: Option<String>,
    /// How many numbers a vector has.
    pub dimensions: usize,
    /// The prefix of a question.
    pub query_prefix: String,
    /// The prefix of a passage.
    pub passage_prefix: String,
    /// How many characters of a text are sent, without its prefix; all if there is none.
    pub max_characters: Option<usize>,
}

/// What computes, shared with the thread that asks.
#[derive(Debug)]
pub(super) struct EmbedderParts {
    pub(super) server: Server,
    pub(super) info: RemoteEmbedderInfo,
    /// How many numbers of a vector are requested.
    pub(super) asked: Option<usize>,
    pub(super) batch_size: usize,
}

/// An answer of a server.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

/// One vector of an answer.
#[derive(Deserialize)]
struct Item {
    index: usize,
    /// Some servers write `null` for a number that is not finite.
    embedding: Vec<Option<f32>>,
}

impl RemoteEmbedder {
    /// Computes first vectors, which show their length and whether a text has the same vector in a batch.
    pub(super) async fn probed(worker: Worker, mut parts: EmbedderParts) -> Result<Self> {
        let run = worker.run(async move {
            let shorter = parts.prefixed(SHORTER, TextKind::Passage);
            let long = parts.prefixed(PROBE, TextKind::Passage);
            let alone = parts.compute(&[&long]).await?;
            parts.info.dimensions = alone.first().map(Vec::len).unwrap_or_default();
            if parts.batch_size > 1 {
                let together = parts.compute(&[&shorter, &long]).await?;
                if let (Some(alone), Some(together)) = (alone.first(), together.last()) {
                    check_equal(alone, together, parts.server.address())?;
                }
            }
            Ok::<_, Error>(parts)
        });
        let parts = run.await??;
        let digest = parts.digest();
        Ok(Self { worker, parts: Arc::new(parts), digest })
    }

    /// Returns what is known of the model.
    pub fn info(&self) -> &RemoteEmbedderInfo {
        &self.parts.info
    }
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    /// Depends on the name of the model, its [revision](crate::RemoteEmbedderBuilder::revision), the prefixes, the dimensions and the longest
    /// text. It does not depend on the address. It cannot show that the server has other weights under the same name.
    fn digest(&self) -> Digest {
        self.digest
    }

    fn dimensions(&self) -> usize {
        self.parts.info.dimensions
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Embeddings> {
        let mut prefixed = Vec::with_capacity(texts.len());
        let mut shortened = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let start = cut(text, self.parts.info.max_characters);
            if start.is_some() {
                shortened.push(index);
            }
            prefixed.push(self.parts.prefixed(start.unwrap_or(text), kind));
        }
        // An index that adds no passages asks for none, and needs no thread.
        if prefixed.is_empty() {
            return Ok(Embeddings::default());
        }
        let parts = Arc::clone(&self.parts);
        let vectors = self.worker.run(async move { parts.embed(&prefixed).await }).await??;
        Ok(Embeddings { vectors, cut: shortened })
    }
}

impl EmbedderParts {
    /// Returns a text as the server is sent it.
    fn prefixed(&self, text: &str, kind: TextKind) -> String {
        let prefix = match kind {
            TextKind::Query => &self.info.query_prefix,
            TextKind::Passage => &self.info.passage_prefix,
        };
        format!("{prefix}{text}")
    }

    /// Computes the vectors of texts that have their prefix, a batch after the other.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let mut sent = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            if !text.trim().is_empty() {
                sent.push((index, text.as_str()));
            }
        }
        // What is not sent keeps this vector.
        let mut vectors = vec![normalized(vec![0.0; self.info.dimensions]); texts.len()];
        for batch in sent.chunks(self.batch_size.max(1)) {
            let inputs: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
            let computed = self.compute(&inputs).await?;
            for ((index, _), vector) in batch.iter().zip(computed) {
                if let Some(place) = vectors.get_mut(*index) {
                    *place = vector;
                }
            }
        }
        Ok(vectors)
    }

    /// Computes the vectors of one request.
    async fn compute(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut body = json!({"model": self.info.model, "input": texts, "encoding_format": "float"});
        if let (Some(dimensions), Some(fields)) = (self.asked, body.as_object_mut()) {
            fields.insert("dimensions".to_owned(), json!(dimensions));
        }
        let expected = match self.info.dimensions {
            0 => self.asked,
            known => Some(known),
        };
        // An answer that is longer than vectors can be is not read to its end.
        let numbers = expected.unwrap_or(MOST_DIMENSIONS).min(MOST_DIMENSIONS);
        let most = FRAME + texts.len() * (1024 + numbers * NUMBER);
        let answer: Answer = self.server.ask(PATH, &body, most).await?;
        let items = answer.data.into_iter().map(|item| (item.index, item.embedding));
        let mut vectors = Vec::with_capacity(texts.len());
        for numbers in by_index(items, texts.len(), self.server.address())? {
            vectors.push(normalized(self.checked(numbers, expected)?));
        }
        Ok(vectors)
    }

    /// Returns a vector of finite numbers, as many as expected.
    fn checked(&self, numbers: Vec<Option<f32>>, expected: Option<usize>) -> Result<Vec<f32>> {
        let address = self.server.address();
        let count = numbers.len();
        if count == 0 || count > MOST_DIMENSIONS || expected.is_some_and(|expected| expected != count) {
            let advice = match (self.info.dimensions, expected) {
                (0, Some(asked)) => format!("{asked} were requested, so leave `dimensions` out"),
                (0, None) => format!("a vector has from 1 to {MOST_DIMENSIONS}"),
                (known, _) => format!("it had {known} at connect, so connect again to another model"),
            };
            let message = format!("{address} returned a vector of {count} numbers: {advice}");
            return Err(Error::new(ErrorKind::Backend, message));
        }
        let mut vector = Vec::with_capacity(count);
        for number in numbers {
            let Some(number) = number.filter(|number| number.is_finite()) else {
                let message = format!(
                    "{address} returned a vector with a number that is not finite: run the model with other numbers, such as floats of 32 bits"
                );
                return Err(Error::new(ErrorKind::Backend, message));
            };
            vector.push(number);
        }
        Ok(vector)
    }

    fn digest(&self) -> Digest {
        let info = &self.info;
        let settings = [
            "remote embedder, format 1".to_owned(),
            format!("model {:?}, revision {:?}", info.model, info.revision),
            format!("prefixes {:?} {:?}", info.query_prefix, info.passage_prefix),
            format!("{} dimensions, characters {:?}", info.dimensions, info.max_characters),
        ];
        Digest::of(settings.join("\n").as_bytes())
    }
}

/// Checks that a text has about the same vector alone and in a batch.
fn check_equal(alone: &[f32], together: &[f32], address: &str) -> Result<()> {
    let products = alone.iter().zip(together).map(|(left, right)| f64::from(*left) * f64::from(*right));
    let cosine: f64 = products.sum();
    if cosine >= SIMILAR {
        return Ok(());
    }
    let message = format!(
        "{address} returns another vector for a text in a batch than for the text alone (their cosine is {cosine:.3}): start \
         llama.cpp with `--kv-unified` or `--parallel 1`, or set `batch_size` to 1"
    );
    Err(Error::new(ErrorKind::Backend, message))
}

/// Gives a vector a length of 1. A vector without a direction gets one.
fn normalized(mut vector: Vec<f32>) -> Vec<f32> {
    let square: f64 = vector.iter().map(|&number| f64::from(number) * f64::from(number)).sum();
    let length = square.sqrt();
    if length < 1e-12 {
        vector.fill(0.0);
        if let Some(first) = vector.first_mut() {
            *first = 1.0;
        }
        return vector;
    }
    for number in &mut vector {
        *number = (f64::from(*number) / length) as f32;
    }
    vector
}
