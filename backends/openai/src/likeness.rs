//! Whether two servers have the same model, by how likely they say tokens are.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::sampling::{SamplingOptions, TokenLogprob};
use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput};

use crate::description::RemoteDescription;
use crate::fault::Fault;
use crate::http::Http;
use crate::streamed::{DONE, StreamedAnswer, parsed};
use crate::wire::{Ask, Chunk, ChunkToken};

#[cfg(test)]
mod tests;

/// What the models continue. Common phrases have the same continuation in every model, so it has none.
const TEXT: &str = "In the early morning the baker opened her small shop, counted twelve loaves of bread, and wrote a letter to";

/// After how many parts of the text the next token is compared. They begin alike, so they take one slot of a server.
const PLACES: usize = 4;

/// How many likeliest tokens are compared. OpenAI's API has no more.
const TOP: usize = 5;

/// The least overlap of the distributions of one model. stories260k with its weights in 8, 4, 3 and 2 bits overlaps with itself by
/// 0.98, 0.94, 0.78 and 0.42, and with noise as large as the weights by 0.25. Larger models lose less. Other kernels change the
/// last digits alone.
const LEAST_OVERLAP: f64 = 0.6;

/// What a server says of the next token, at each place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Likeness {
    places: Vec<Place>,
}

#[derive(Clone, Debug, PartialEq)]
struct Place {
    /// The likeliest token.
    token: TokenId,
    /// The likeliest tokens; empty where the server does not say.
    top: Vec<TokenLogprob>,
}

/// Returns the prompts after which the next token is compared.
///
/// # Errors
/// [`alloquy_core::ErrorKind::Tokenize`].
pub(crate) fn prompts(tokenizer: &dyn Tokenizer, info: &ModelInfo) -> Result<Vec<Vec<TokenId>>> {
    let ids = tokenizer.encode(&[TokenizerInput::Literal(TEXT)])?;
    let mut prompts = Vec::with_capacity(PLACES);
    for place in 1..=PLACES {
        let mut prompt: Vec<TokenId> = info.bos.iter().map(|bos| bos.id).collect();
        prompt.extend(ids.iter().take(ids.len() * place / PLACES));
        prompts.push(prompt);
    }
    prompts.retain(|prompt| !prompt.is_empty());
    Ok(prompts)
}

/// Asks a server. Returns `None` if it refuses such requests, which says nothing of its model.
///
/// # Errors
/// A fault that passes.
pub(crate) async fn ask(
    http: &Arc<Http>,
    description: &RemoteDescription,
    prompts: &[Vec<TokenId>],
) -> Result<Option<Likeness>, Fault> {
    let mut places = Vec::with_capacity(prompts.len());
    for prompt in prompts {
        match next_token(http, description, prompt).await {
            Ok(Some(token)) => {
                let top = token.logprobs.map(|logprobs| logprobs.top).unwrap_or_default();
                places.push(Place { token: token.id, top });
            }
            Ok(None) => return Ok(None),
            Err(fault) if fault.is_passing => return Err(fault),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(Likeness { places }))
}

async fn next_token(
    http: &Arc<Http>,
    description: &RemoteDescription,
    prompt: &[TokenId],
) -> Result<Option<ChunkToken>, Fault> {
    let dialect = description.dialect;
    let mut sampling = SamplingOptions { logprobs: Some(TOP), ..SamplingOptions::default() };
    if dialect.ignored(&sampling).contains(&"logprobs") {
        sampling.logprobs = None;
    }
    let ask = Ask::next_token(&description.model, prompt, &sampling);
    let body = dialect.body(&ask)?.to_string();
    let mut answer = StreamedAnswer::open(http, dialect.path(), body, http.timeouts.first).await?;
    loop {
        let mut data = Vec::new();
        let read = answer.read(&mut data).await;
        for data in data.iter().filter(|data| *data != DONE) {
            let Chunk { tokens, end, .. } = dialect.chunk(&parsed(data)?, 0)?;
            let token = tokens.into_iter().next();
            if token.is_some() || end.is_some() {
                return Ok(token);
            }
        }
        read?;
        answer.check_time()?;
    }
}

impl Likeness {
    /// Compares with another server. Returns why it is another model, or nothing where both may be the same.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let pairs: Vec<(&Place, &Place)> = self.places.iter().zip(&other.places).collect();
        let count = pairs.len();
        if count == 0 {
            return None;
        }
        #[allow(clippy::cast_precision_loss)] // they are four
        let places = count as f64;
        if pairs.iter().all(|(one, other)| !one.top.is_empty() && !other.top.is_empty()) {
            let overlaps = pairs.iter().map(|(one, other)| overlap(&one.top, &other.top));
            let overlap = overlaps.sum::<f64>() / places;
            let message = format!(
                "the distributions of {count} tokens overlap by {overlap:.2}, where one model has at least {LEAST_OVERLAP}"
            );
            return (overlap < LEAST_OVERLAP).then_some(message);
        }
        // Less is known without probabilities: where several tokens are almost equally likely, 4 bits may change which is first.
        let is_any_equal = pairs.iter().any(|(one, other)| one.token == other.token);
        (!is_any_equal).then(|| format!("none of {count} likeliest tokens is the same"))
    }
}

/// Returns how much two distributions overlap, at most: their lists end, and the rest may be alike.
fn overlap(one: &[TokenLogprob], other: &[TokenLogprob]) -> f64 {
    let both = shared(one, other, Least::Found) + shared(other, one, Least::Other);
    let rest = (1.0 - listed(one)).min(1.0 - listed(other)).max(0.0);
    (both + rest).min(1.0)
}

/// Which tokens of a list are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Least {
    /// All.
    Found,
    /// Those that the other list does not have.
    Other,
}

/// Returns the probability that tokens of the list `one` have in both. A token that the list `other` does not have is at most as
/// likely as its last one.
fn shared(one: &[TokenLogprob], other: &[TokenLogprob], counted: Least) -> f64 {
    let last = other.iter().map(probability).fold(1.0, f64::min);
    let mut sum = 0.0;
    for token in one {
        let found = other.iter().find(|other| other.token == token.token);
        if counted == Least::Found || found.is_none() {
            sum += probability(token).min(found.map_or(last, probability));
        }
    }
    sum
}

fn listed(tokens: &[TokenLogprob]) -> f64 {
    tokens.iter().map(probability).sum()
}

fn probability(token: &TokenLogprob) -> f64 {
    f64::from(token.logprob).exp().clamp(0.0, 1.0)
}
