//! How likely texts are, by a server.

use std::sync::Arc;

use alloquy_core::sampling::TokenLogprob;
use alloquy_core::{Error, ErrorKind, Result};

use crate::dialect::Dialect;
use crate::pool::Pool;
use crate::request::RemoteRequest;

/// Returns the log-probabilities of the prompt's tokens after the first `known` ones. It runs on the thread of the decoder.
///
/// # Errors
/// [`ErrorKind::Unsupported`] where a server does not score texts, and what fails.
pub(crate) async fn score(
    pool: Arc<Pool>,
    request: RemoteRequest,
    known: usize,
) -> Result<Vec<TokenLogprob>> {
    for dialect in pool.dialects() {
        // Whichever server gets a request, the same must be possible.
        dialect.score_body("", &[], None).ok_or_else(|| no_scores(dialect))?;
    }
    let mut route = pool.first(&request).await?;
    let mut attempt = 1;
    loop {
        let server = Arc::clone(&route.place.description);
        let body =
            server.dialect.score_body(request.model(&server), &request.prompt, request.space.salt.as_deref());
        let body = body.ok_or_else(|| no_scores(server.dialect))?;
        let http = &route.place.endpoint.http;
        let fault = match http.post_within(http.timeouts.first, server.dialect.path(), &body).await {
            Ok(answer) => {
                route.place.succeed();
                route.place.complete();
                return server.dialect.scores(&answer, &request.prompt, known);
            }
            Err(fault) => fault,
        };
        // The only server is not asked again: a score is no reply, and its caller may repeat it.
        if pool.is_single() {
            return Err(fault.error);
        }
        pool.fail(&request, &route.place, &fault);
        drop(route);
        route = pool.next(&request, fault, attempt).await?;
        attempt += 1;
    }
}

fn no_scores(dialect: Dialect) -> Error {
    let message = format!(
        "a server of dialect {:?} does not score texts: use one of dialect \"vllm\", or a local model",
        dialect.as_str()
    );
    Error::new(ErrorKind::Unsupported, message)
}
